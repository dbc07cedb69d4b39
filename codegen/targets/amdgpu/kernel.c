/* The kernel's declaration, its local memory, and ids read from hardware registers. */
#include "codegen/targets/amdgpu/amdgpu.h"
#include <string.h>

enum { KERNEL = 91, ARGUMENTS = 4 }; /* calling convention; address space of a kernel's arguments */

static void attribute(cg *g, val fn, const char *key, const char *value) {
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(g->ctx, key, (unsigned)strlen(key), value,
                                                      (unsigned)strlen(value)));
}

static LLVMAttributeRef enum_attribute(cg *g, const char *name, uint64_t value) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    return LLVMCreateEnumAttribute(g->ctx, kind, value);
}

static void function_attribute(cg *g, val fn, const char *name) {
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            enum_attribute(g, name, 0));
}

/* Attributes of the launch, which functions that the kernel calls need as well. */
static void declare(cg *g, val fn) {
    function_attribute(g, fn, "nounwind");
    char range[32];
    int items = g->p->workgroup;
    snprintf(range, sizeof range, "%d,%d", items, items);
    attribute(g, fn, "amdgpu-flat-work-group-size", range);
    int waves = (items / g->t->wave * g->p->occupancy + g->t->simds - 1) / g->t->simds;
    snprintf(range, sizeof range, "%d,%d", waves, waves);
    attribute(g, fn, "amdgpu-waves-per-eu", range); /* its LDS keeps more workgroups out */
    attribute(g, fn, "uniform-work-group-size", "true");
    attribute(g, fn, "amdgpu-implicitarg-num-bytes", "0");
    static const char *const no[] = {
        "amdgpu-no-dispatch-id",        "amdgpu-no-dispatch-ptr",   "amdgpu-no-implicitarg-ptr",
        "amdgpu-no-queue-ptr",          "amdgpu-no-workgroup-id-y", "amdgpu-no-workgroup-id-z",
        "amdgpu-no-workitem-id-y",      "amdgpu-no-workitem-id-z",  "amdgpu-no-hostcall-ptr",
        "amdgpu-no-heap-ptr",           "amdgpu-no-default-queue",  "amdgpu-no-completion-action",
        "amdgpu-no-multigrid-sync-arg", "amdgpu-no-lds-kernel-id",  "amdgpu-no-flat-scratch-init"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        attribute(g, fn, no[i], "");
    attribute(g, fn, "target-cpu", g->t->name);
    attribute(g, fn, "target-features", amdgpu_of(g)->features);
}

void amdgpu_declare_kernel(cg *g, size_t bytes) {
    LLVMTypeRef ptr = LLVMPointerTypeInContext(g->ctx, ARGUMENTS);
    g->fn = LLVMAddFunction(g->mod, g->symbol, LLVMFunctionType(g->none, &ptr, 1, false));
    LLVMSetFunctionCallConv(g->fn, KERNEL);
    LLVMSetVisibility(g->fn, LLVMProtectedVisibility);
    unsigned byref = LLVMGetEnumAttributeKindForName("byref", 5);
    LLVMAddAttributeAtIndex(g->fn, 1,
                            LLVMCreateTypeAttribute(g->ctx, byref, LLVMArrayType2(g->i8, bytes)));
    LLVMAddAttributeAtIndex(g->fn, 1, enum_attribute(g, "align", 8));
    declare(g, g->fn);
}

/* ---- functions that it calls ---- */

static const char body[] = "etcc-body";

static bool is_scalar(cg *g, unsigned i, unsigned divergent) {
    return i != divergent && divergent != ET_ALL_DIVERGENT && !amdgpu_of(g)->vector_arguments;
}

void amdgpu_declare_body(cg *g, val fn, unsigned divergent) {
    declare(g, fn);
    function_attribute(g, fn, "noinline");
    function_attribute(g, fn, "convergent");
    attribute(g, fn, "amdgpu-no-workgroup-id-x", "");
    attribute(g, fn, "amdgpu-no-workitem-id-x", "");
    attribute(g, fn, body, "");
    for (unsigned i = 0; i < LLVMCountParams(fn); i++)
        if (is_scalar(g, i, divergent))
            LLVMAddAttributeAtIndex(fn, i + 1, enum_attribute(g, "inreg", 0));
}

void amdgpu_call_body(cg *g, val call, unsigned divergent) {
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
        if (is_scalar(g, i, divergent))
            LLVMAddCallSiteAttribute(call, i + 1, enum_attribute(g, "inreg", 0));
}

bool amdgpu_is_body(val fn) {
    return LLVMGetStringAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, body,
                                         sizeof body - 1) != NULL;
}

/* ---- local memory ---- */

void amdgpu_declare_local(cg *g) {
    LLVMTypeRef t = LLVMArrayType2(g->i8, (uint64_t)g->lds_bytes);
    g->lds = LLVMAddGlobalInAddressSpace(g->mod, t, "lds", g->family->local);
    LLVMSetInitializer(g->lds, LLVMGetPoison(t));
    LLVMSetLinkage(g->lds, LLVMInternalLinkage);
    LLVMSetAlignment(g->lds, 16);
}

/* An empty instruction with its address as an operand. */
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
