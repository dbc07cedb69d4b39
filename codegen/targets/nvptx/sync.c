/* Barriers, the clock, sleep, and asynchronous copies. */
#include "codegen/targets/nvptx/nvptx.h"
#include <string.h>

void nvptx_wave_meets(cg *g) {
    val everyone = cg_i32(g, -1);
    cg_call(g, "llvm.nvvm.bar.warp.sync", 0, NULL, 1, &everyone);
}

/* PTX's fences are cumulative: a later device fence by any thread covers what this barrier orders,
 * so nothing has to be drained. The lanes of each warp reconverge first, since bar.sync counts
 * converged warps. */
void nvptx_barrier(cg *g, bool drain) {
    (void)drain;
    val number = cg_i32(g, 0);
    nvptx_wave_meets(g);
    if (g->ring_stages || g->send_at) { /* waves beside those that run tiles do not take part */
        val count = cg_i32(g, g->p->workgroup);
        cg_call(g, "llvm.nvvm.barrier.cta.sync.aligned.count", 0, NULL, 2,
                (val[]){cg_i32(g, 1), count});
        return;
    }
    cg_call(g, "llvm.nvvm.barrier.cta.sync.aligned.all", 0, NULL, 1, &number);
}

void nvptx_die_acquire(cg *g) {
    (void)g;
}

/* Nanoseconds. Lanes may read different times, but what is computed from it must be uniform. */
val nvptx_clock(cg *g) {
    val now = cg_call(g, "llvm.nvvm.read.ptx.sreg.globaltimer", 0, NULL, 0, NULL);
    return nvptx_first_active(g, now);
}

/* At about two clocks per nanosecond. */
void nvptx_nap(cg *g, int clocks) {
    val ns = cg_i32(g, clocks / 2);
    cg_call(g, "llvm.nvvm.nanosleep", 0, NULL, 1, &ns);
}

/* LLVM has no atomic loads of vectors. In PTX a vector load counts as a load of each element. */
void nvptx_load_words(cg *g, LLVMTypeRef t, val ptr, int n, bool system, val *words) {
    static const char *const text[2][2] = {
        {"ld.relaxed.gpu.global.v2.b32 {$0, $1}, [$2];",
         "ld.relaxed.gpu.global.v4.b32 {$0, $1, $2, $3}, [$4];"},
        {"ld.relaxed.gpu.global.v2.b64 {$0, $1}, [$2];"},
    };
    bool wide = t == g->i64;
    const char *code =
        system && wide ? "ld.relaxed.sys.global.v2.b64 {$0, $1}, [$2];" : text[wide][n > 2];
    const char *constraints = wide    ? "=l,=l,l,~{memory}"
                              : n > 2 ? "=r,=r,=r,=r,l,~{memory}"
                                      : "=r,=r,l,~{memory}";
    LLVMTypeRef each[] = {t, t, t, t}, at = LLVMTypeOf(ptr);
    LLVMTypeRef all = LLVMStructTypeInContext(g->ctx, each, (unsigned)n, false);
    LLVMTypeRef type = LLVMFunctionType(all, &at, 1, false);
    val load = LLVMGetInlineAsm(type, code, strlen(code), constraints, strlen(constraints), true,
                                false, LLVMInlineAsmDialectATT, false);
    val v = LLVMBuildCall2(g->b, type, load, &ptr, 1, "");
    for (int i = 0; i < n; i++)
        words[i] = LLVMBuildExtractValue(g->b, v, (unsigned)i, "");
}

void nvptx_mark(cg *g, val word) {
    (void)g, (void)word;
}

/* ptxas reorders instructions anyway. */
void nvptx_order_loads(cg *g) {
    (void)g;
}

static void copy_by(cg *g, const char *text, val to, val from, val bytes) {
    static const char constraints[] = "r,l,r,~{memory}";
    val args[] = {to, from, bytes};
    LLVMTypeRef t[] = {LLVMTypeOf(to), LLVMTypeOf(from), g->i32};
    LLVMTypeRef type = LLVMFunctionType(g->none, t, 3, false);
    val copy = LLVMGetInlineAsm(type, text, strlen(text), constraints, sizeof constraints - 1, true,
                                false, LLVMInlineAsmDialectATT, false);
    LLVMBuildCall2(g->b, type, copy, args, 3, "");
}

/* Bypasses the L1, where no other warp would find the data. The L2 prefetches 256 bytes, since what
 * lies next is read next: memory delivers 256 bytes of a row faster than twice 128. */
void nvptx_copy(cg *g, val to, val from, val bytes) {
    copy_by(g, "cp.async.cg.shared.global.L2::256B [$0], [$1], 16, $2;", to, from, bytes);
}

/* Through the L1, as such copies go. */
void nvptx_copy_few(cg *g, val to, val from, int of, val bytes) {
    copy_by(g,
            of == 8 ? "cp.async.ca.shared.global.L2::128B [$0], [$1], 8, $2;"
                    : "cp.async.ca.shared.global.L2::128B [$0], [$1], 4, $2;",
            to, from, bytes);
}

void nvptx_copy_group(cg *g) {
    cg_call(g, "llvm.nvvm.cp.async.commit.group", 0, NULL, 0, NULL);
}

void nvptx_copied(cg *g, int groups) {
    val n = cg_i32(g, groups);
    cg_call(g, "llvm.nvvm.cp.async.wait.group", 0, NULL, 1, &n);
}

/* Inline assembly: LLVM has an intrinsic only for sm_90 and later. */
void nvptx_prefetch(cg *g, val at) {
    static const char text[] = "prefetch.global.L2 [$0];";
    LLVMTypeRef type = LLVMFunctionType(g->none, &g->gptr, 1, false);
    val ask = LLVMGetInlineAsm(type, text, sizeof text - 1, "l", 1, true, false,
                               LLVMInlineAsmDialectATT, false);
    LLVMBuildCall2(g->b, type, ask, &at, 1, "");
}
