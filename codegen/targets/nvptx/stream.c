/* Streams of weights: barriers in shared memory (mbarrier), and copies to there that a barrier
 * hears of when they are done (cp.async). */
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

static void meet(cg *g) {
    val number = cg_i32(g, 0);
    nvptx_wave_meets(g);
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

static void copy(cg *g, val to, val from, int bytes) {
    static const char *const text[] = {"cp.async.ca.shared.global [$0], [$1], 4;",
                                       "cp.async.ca.shared.global [$0], [$1], 8;",
                                       "cp.async.cg.shared.global [$0], [$1], 16;"};
    assemble(g, g->none, text[bytes / 8], "r,l,~{memory}", 2, (val[]){to, from});
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

/* Registers are dealt to four warps at a time, so that with one more warp eight have no more than
 * twelve would. With four more, all but what these need may go to the eight. */
enum { WAVES = 4, LESS = 56, MORE = 224 };

static int waves(const cg *g) {
    return nvptx_of(g)->hand_over ? WAVES : 1;
}

static void registers(cg *g, bool less) {
    if (!nvptx_of(g)->hand_over) return;
    val n = cg_i32(g, less ? LESS : MORE);
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
    .copied = copied,
    .ask = ask,
    .drain = drain,
    .waves = waves,
    .registers = registers,
};
