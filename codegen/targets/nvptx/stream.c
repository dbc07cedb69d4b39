/* The weight stream: mbarriers in shared memory, and copies (cp.async) whose completion arrives at
 * them. */
#include "codegen/targets/nvptx/nvptx.h"
#include <string.h>

static val assemble(cg *g, LLVMTypeRef result, const char *text, const char *constraints, int n,
                    val *args) {
    LLVMTypeRef t[4];
    for (int i = 0; i < n; i++)
        t[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(result, t, (unsigned)n, false);
    val a = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), true,
                             false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(g->b, type, a, args, (unsigned)n, "");
}

static void init(cg *g, val barrier, int count) {
    assemble(g, g->none, "mbarrier.init.shared.b64 [$0], $1;", "r,r,~{memory}", 2,
             (val[]){barrier, cg_i32(g, count)});
}

static void meet(cg *g, int waves) {
    enum { OWN = 2 };
    val number = cg_i32(g, 0), some[] = {cg_i32(g, OWN), cg_i32(g, waves * g->t->wave)};
    nvptx_wave_meets(g);
    if (waves) {
        cg_call(g, "llvm.nvvm.barrier.cta.sync.aligned.count", 0, NULL, 2, some);
        return;
    }
    cg_call(g, "llvm.nvvm.barrier.cta.sync.aligned.all", 0, NULL, 1, &number);
}

static val passed(cg *g, val barrier, val parity) {
    static const char sm_90[] = "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [$1], $2; "
                                "selp.b32 $0, 1, 0, p; }";
    static const char sm_80[] = "{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [$1], $2; "
                                "selp.b32 $0, 1, 0, p; }";
    val is = assemble(g, g->i32, nvptx_of(g)->try_wait ? sm_90 : sm_80, "=r,r,r,~{memory}", 2,
                      (val[]){barrier, parity});
    return cg_icmp(g, LLVMIntNE, is, cg_i32(g, 0));
}

static val is_past(cg *g, val barrier, val parity) {
    val is = assemble(g, g->i32,
                      "{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [$1], $2; "
                      "selp.b32 $0, 1, 0, p; }",
                      "=r,r,r,~{memory}", 2, (val[]){barrier, parity});
    return cg_icmp(g, LLVMIntNE, is, cg_i32(g, 0));
}

static void arrive(cg *g, val barrier) {
    assemble(g, g->none, "{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [$0]; }", "r,~{memory}", 1,
             &barrier);
}

/* The L2 policy of data that is read once: evict first. Otherwise it would displace what tasks
 * write for each other, and keys and values, which the next launch reads again. */
val nvptx_once(cg *g) {
    static const char text[] = "createpolicy.fractional.L2::evict_first.b64 $0, 1.0;";
    LLVMTypeRef type = LLVMFunctionType(g->i64, NULL, 0, false);
    val a = LLVMGetInlineAsm(type, text, strlen(text), "=l", 2, false, false,
                             LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(g->b, type, a, NULL, 0, "");
}

static void copy(cg *g, val to, val from, int bytes, bool once) {
    static const char *const text[] = {"cp.async.ca.shared.global [$0], [$1], 4;",
                                       "cp.async.ca.shared.global [$0], [$1], 8;",
                                       "cp.async.cg.shared.global [$0], [$1], 16;"};
    if (bytes == 16 && once)
        assemble(g, g->none, "cp.async.cg.shared.global.L2::cache_hint [$0], [$1], 16, $2;",
                 "r,l,l,~{memory}", 3, (val[]){to, from, nvptx_once(g)});
    else
        assemble(g, g->none, text[bytes / 8], "r,l,~{memory}", 2, (val[]){to, from});
}

static void copy_part(cg *g, val to, val from, val bytes, bool once) {
    if (once)
        assemble(g, g->none, "cp.async.cg.shared.global.L2::cache_hint [$0], [$1], 16, $2, $3;",
                 "r,l,r,l,~{memory}", 4, (val[]){to, from, bytes, nvptx_once(g)});
    else
        assemble(g, g->none, "cp.async.cg.shared.global [$0], [$1], 16, $2;", "r,l,r,~{memory}", 3,
                 (val[]){to, from, bytes});
}

static void copy_some(cg *g, val to, val from, val bytes) {
    assemble(g, g->none,
             "cp.async.cg.shared.global.L2::cache_hint.L2::256B [$0], [$1], 16, $2, $3;",
             "r,l,r,l,~{memory}", 4, (val[]){to, from, bytes, nvptx_once(g)});
}

/* ptxas 13.0 splits an address in shared memory into a uniform part and a divergent one, which the
 * copy adds; together with an L2 policy it then encodes an instruction that does not exist. An
 * address computed from another lane's value is not taken to be uniform. */
static val own(cg *g, val v) {
    enum { NEXT = 1 };
    val other = LLVMBuildXor(g->b, g->lane, cg_i32(g, NEXT), "");
    return LLVMBuildSub(g->b, cg_shuffle_xor(g, cg_add(g, v, g->lane), NEXT), other, "");
}

static void ask(cg *g, val to, val from) {
    assemble(g, g->none, "cp.async.cg.shared.global.L2::256B [$0], [$1], 16;", "r,l,~{memory}", 2,
             (val[]){to, from});
}

static void copied(cg *g, val barrier) {
    assemble(g, g->none, "cp.async.mbarrier.arrive.noinc.shared.b64 [$0];", "r,~{memory}", 1,
             &barrier);
}

static void drain(cg *g) {
    assemble(g, g->none, "cp.async.wait_all;", "~{memory}", 0, NULL);
}

/* Registers are allocated to four warps at a time: with one more warp than eight each has no more
 * than with twelve. So four are added, and the eight may have all registers but the few that these
 * need. */
enum { WAVES = 4, LESS = 56, EIGHTS = ~7 };

/* What a thread of the others may have: what the assembler gives each of them all, but LESS. */
static int more(const cg *g) {
    enum { REGISTERS = 65536, MOST = 256 }; /* of an SM, of a thread */
    int wave = g->t->wave, others = g->p->workgroup / wave, all = others + WAVES;
    int each = REGISTERS / g->p->occupancy / (all * wave) & EIGHTS;
    int n = ((each < MOST ? each : MOST) * all - LESS * WAVES) / others & EIGHTS;
    return n < MOST ? n : MOST;
}

static int waves(const cg *g) {
    return nvptx_of(g)->hand_over ? WAVES : 1;
}

static void registers(cg *g, bool less) {
    if (!nvptx_of(g)->hand_over) return;
    val n = cg_i32(g, less ? LESS : more(g));
    cg_call(g,
            less ? "llvm.nvvm.setmaxnreg.dec.sync.aligned.u32"
                 : "llvm.nvvm.setmaxnreg.inc.sync.aligned.u32",
            0, NULL, 1, &n);
}

const et_stream_family nvptx_stream = {
    .init = init,
    .meet = meet,
    .passed = passed,
    .is_past = is_past,
    .arrive = arrive,
    .copy = copy,
    .copy_part = copy_part,
    .copy_some = copy_some,
    .own = own,
    .copied = copied,
    .prefetch = ask,
    .drain = drain,
    .waves = waves,
    .registers = registers,
};
