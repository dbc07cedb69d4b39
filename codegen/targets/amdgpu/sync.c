/* Barriers, fences that LLVM has no IR for, the clock, and hints for scheduler and trace. */
#include "codegen/targets/amdgpu/amdgpu.h"
#include <string.h>

/* An instruction that memory operations are not moved across. */
static void instruction(cg *g, const char *text) {
    LLVMTypeRef type = LLVMFunctionType(g->none, NULL, 0, false);
    val code = LLVMGetInlineAsm(type, text, strlen(text), "~{memory}", 10, true, false,
                                LLVMInlineAsmDialectATT, false);
    LLVMBuildCall2(g->b, type, code, NULL, 0, "");
}

/* LLVM's release at workgroup scope does not wait until other waves' stores have reached the L2. */
void amdgpu_barrier(cg *g, bool drain) {
    unsigned scope = g->sync[ET_SCOPE_WORKGROUP];
    LLVMBuildFenceSyncScope(g->b, LLVMAtomicOrderingRelease, scope, "");
    if (drain) instruction(g, amdgpu_of(g)->drain);
    cg_call(g, "llvm.amdgcn.s.barrier", 0, NULL, 0, NULL);
    LLVMBuildFenceSyncScope(g->b, LLVMAtomicOrderingAcquire, scope, "");
}

void amdgpu_die_acquire(cg *g) {
    instruction(g, amdgpu_of(g)->die_acquire);
}

val amdgpu_clock(cg *g) {
    val message = cg_i32(g, amdgpu_of(g)->clock_message);
    int n = amdgpu_of(g)->clock_message != 0;
    return cg_call(g, amdgpu_of(g)->clock, n, &g->i64, n, &message);
}

void amdgpu_nap(cg *g, int clocks) {
    val n = cg_i32(g, clocks / 64);
    cg_call(g, "llvm.amdgcn.s.sleep", 0, NULL, 1, &n);
}

void amdgpu_mark(cg *g, val word) {
    cg_call(g, "llvm.amdgcn.s.ttracedata", 0, NULL, 1, &word);
}

void amdgpu_order_loads(cg *g) {
    val nothing_passes = cg_i32(g, 0);
    cg_call(g, "llvm.amdgcn.sched.barrier", 0, NULL, 1, &nothing_passes);
}

static void group(cg *g, int mask, int n) {
    const val args[] = {cg_i32(g, mask), cg_i32(g, n), cg_i32(g, 0)};
    if (n) cg_call(g, "llvm.amdgcn.sched.group.barrier", 0, NULL, 3, (val *)args);
}

void amdgpu_mix(cg *g, const et_fragment *fr, int lane_k, const et_mix *m) {
    enum { PRODUCT = 0x8, LOAD = 0x20, READ = 0x100, WRITE = 0x200 }; /* LLVM's masks */
    const struct { int mask, n; } kind[] = {{READ, m->reads}, {WRITE, m->writes}, {LOAD, m->loads}};
    int products = m->products * lane_k / fr->lane_k, rest = m->reads + m->writes + m->loads;
    for (int k = 0, done = 0, made = 0; k < 3; k++)
        for (int i = 0; i < kind[k].n; i++) {
            int due = ++done * products / rest;
            group(g, kind[k].mask, 1);
            group(g, PRODUCT, due - made);
            made = due;
        }
}
