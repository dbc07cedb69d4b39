/* The kernel's declaration, its local memory, and what its hardware tells it of itself. */
#include "codegen/targets/amdgpu/amdgpu.h"
#include <string.h>

enum { KERNEL = 91, ARGUMENTS = 4 }; /* calling convention; address space of a kernel's arguments */

static void attribute(cg *g, const char *key, const char *value) {
    LLVMAddAttributeAtIndex(g->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(g->ctx, key, (unsigned)strlen(key), value,
                                                      (unsigned)strlen(value)));
}

static void enum_attribute(cg *g, LLVMAttributeIndex at, const char *name, uint64_t value) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(g->fn, at, LLVMCreateEnumAttribute(g->ctx, kind, value));
}

void amdgpu_declare_kernel(cg *g, size_t bytes) {
    LLVMTypeRef ptr = LLVMPointerTypeInContext(g->ctx, ARGUMENTS);
    g->fn = LLVMAddFunction(g->mod, g->symbol, LLVMFunctionType(g->none, &ptr, 1, false));
    LLVMSetFunctionCallConv(g->fn, KERNEL);
    LLVMSetVisibility(g->fn, LLVMProtectedVisibility);
    unsigned byref = LLVMGetEnumAttributeKindForName("byref", 5);
    LLVMAddAttributeAtIndex(g->fn, 1,
                            LLVMCreateTypeAttribute(g->ctx, byref, LLVMArrayType2(g->i8, bytes)));
    enum_attribute(g, 1, "align", 8);
    enum_attribute(g, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "nounwind", 0);
    char range[32];
    int items = g->p->workgroup;
    snprintf(range, sizeof range, "%d,%d", items, items);
    attribute(g, "amdgpu-flat-work-group-size", range);
    int waves = (items / g->t->wave + g->t->simds - 1) / g->t->simds;
    snprintf(range, sizeof range, "%d,%d", waves, waves);
    attribute(g, "amdgpu-waves-per-eu", range); /* the LDS size lets one workgroup per CU in */
    attribute(g, "uniform-work-group-size", "true");
    attribute(g, "amdgpu-implicitarg-num-bytes", "0");
    static const char *const no[] = {
        "amdgpu-no-dispatch-id",        "amdgpu-no-dispatch-ptr",   "amdgpu-no-implicitarg-ptr",
        "amdgpu-no-queue-ptr",          "amdgpu-no-workgroup-id-y", "amdgpu-no-workgroup-id-z",
        "amdgpu-no-workitem-id-y",      "amdgpu-no-workitem-id-z",  "amdgpu-no-hostcall-ptr",
        "amdgpu-no-heap-ptr",           "amdgpu-no-default-queue",  "amdgpu-no-completion-action",
        "amdgpu-no-multigrid-sync-arg", "amdgpu-no-lds-kernel-id",  "amdgpu-no-flat-scratch-init"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        attribute(g, no[i], "");
    attribute(g, "target-cpu", g->t->name);
    attribute(g, "target-features", amdgpu_of(g)->features);
}

void amdgpu_declare_local(cg *g) {
    LLVMTypeRef t = LLVMArrayType2(g->i8, (uint64_t)g->lds_bytes);
    g->lds = LLVMAddGlobalInAddressSpace(g->mod, t, "lds", g->family->local);
    LLVMSetInitializer(g->lds, LLVMGetPoison(t));
    LLVMSetLinkage(g->lds, LLVMInternalLinkage);
    LLVMSetAlignment(g->lds, 16);
}

/* An instruction that takes its address. */
void amdgpu_keep_local(cg *g) {
    LLVMTypeRef type = LLVMFunctionType(g->none, &g->lptr, 1, false);
    val hold = LLVMGetInlineAsm(type, "", 0, "s", 1, true, false, LLVMInlineAsmDialectATT, false);
    LLVMBuildCall2(g->b, type, hold, &g->lds, 1, "");
}

val amdgpu_hide(cg *g, val ptr) {
    LLVMTypeRef t = LLVMTypeOf(ptr), type = LLVMFunctionType(t, &t, 1, false);
    val hide =
        LLVMGetInlineAsm(type, "", 0, "=s,0", 4, true, false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(g->b, type, hide, &ptr, 1, "");
}

val amdgpu_workgroup(cg *g) {
    return cg_call(g, "llvm.amdgcn.workgroup.id.x", 0, NULL, 0, NULL);
}

val amdgpu_workitem(cg *g) {
    return cg_call(g, "llvm.amdgcn.workitem.id.x", 0, NULL, 0, NULL);
}

static val read_register(cg *g, struct amdgpu_register r) {
    if (!r.bits) return cg_i32(g, 0);
    val imm = cg_i32(g, r.id | r.offset << 6 | (r.bits - 1) << 11);
    return cg_call(g, "llvm.amdgcn.s.getreg", 0, NULL, 1, &imm);
}

val amdgpu_die(cg *g) {
    return read_register(g, amdgpu_of(g)->die);
}

val amdgpu_hardware_id(cg *g) {
    return read_register(g, amdgpu_of(g)->hw_id);
}
