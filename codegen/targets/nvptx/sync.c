/* Barriers, the clock and naps, copies that are not waited for. */
#include "codegen/targets/nvptx/nvptx.h"
#include <string.h>

void nvptx_wave_meets(cg *g) {
    val everyone = cg_i32(g, -1);
    cg_call(g, "llvm.nvvm.bar.warp.sync", 0, NULL, 1, &everyone);
}

/* What it orders, a fence of the device by any one work-item covers afterwards: PTX's fences are
 * cumulative, so there is nothing to drain. The lanes of each warp meet first, as the barrier is
 * the one for warps that have not come apart. */
void nvptx_barrier(cg *g, bool drain) {
    (void)drain;
    val number = cg_i32(g, 0);
    nvptx_wave_meets(g);
    if (g->ring_stages) { /* the producer wave has no part in it */
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

/* Nanoseconds. Lanes may read it at different times, and what follows from it has to be the same in
 * all of them. */
val nvptx_clock(cg *g) {
    val now = cg_call(g, "llvm.nvvm.read.ptx.sreg.globaltimer", 0, NULL, 0, NULL);
    return nvptx_first_active(g, now);
}

/* About two clocks a nanosecond. */
void nvptx_nap(cg *g, int clocks) {
    val ns = cg_i32(g, clocks / 2);
    cg_call(g, "llvm.nvvm.nanosleep", 0, NULL, 1, &ns);
}

/* LLVM has no atomic loads of vectors. To PTX one is as many loads of its elements. */
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

/* ptxas orders them anew. */
void nvptx_order_loads(cg *g) {
    (void)g;
}

/* Past L1, which no other warp would find them in. What lies beside them is read next: memory gives
 * 256 bytes of a row at a time faster than twice 128. */
void nvptx_copy(cg *g, val to, val from, val bytes) {
    static const char text[] = "cp.async.cg.shared.global.L2::256B [$0], [$1], 16, $2;",
                      constraints[] = "r,l,r,~{memory}";
    val args[] = {to, from, bytes};
    LLVMTypeRef t[] = {LLVMTypeOf(to), LLVMTypeOf(from), g->i32};
    LLVMTypeRef type = LLVMFunctionType(g->none, t, 3, false);
    val copy = LLVMGetInlineAsm(type, text, sizeof text - 1, constraints, sizeof constraints - 1,
                                true, false, LLVMInlineAsmDialectATT, false);
    LLVMBuildCall2(g->b, type, copy, args, 3, "");
}

void nvptx_copy_group(cg *g) {
    cg_call(g, "llvm.nvvm.cp.async.commit.group", 0, NULL, 0, NULL);
}

void nvptx_copied(cg *g, int groups) {
    val n = cg_i32(g, groups);
    cg_call(g, "llvm.nvvm.cp.async.wait.group", 0, NULL, 1, &n);
}

/* LLVM has an intrinsic, but not for all that can. */
void nvptx_prefetch(cg *g, val at) {
    static const char text[] = "prefetch.global.L2 [$0];";
    LLVMTypeRef type = LLVMFunctionType(g->none, &g->gptr, 1, false);
    val ask = LLVMGetInlineAsm(type, text, sizeof text - 1, "l", 1, true, false,
                               LLVMInlineAsmDialectATT, false);
    LLVMBuildCall2(g->b, type, ask, &at, 1, "");
}
