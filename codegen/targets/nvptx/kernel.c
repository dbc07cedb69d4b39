/* The kernel's declaration, its shared memory, and ids read from special registers. */
#include "codegen/targets/nvptx/nvptx.h"
#include <string.h>

enum { KERNEL = 71 };            /* calling convention */
enum { MAX_PARAMETERS = 32764 }; /* bytes, since PTX 8.1 */
enum {
    FUNCTION = -1,
    FIRST = 1
}; /* where an attribute belongs: the function, its first parameter */

static void attribute(cg *g, LLVMAttributeIndex at, const char *key, const char *value) {
    LLVMAddAttributeAtIndex(g->fn, at,
                            LLVMCreateStringAttribute(g->ctx, key, (unsigned)strlen(key), value,
                                                      (unsigned)strlen(value)));
}

static void enum_attribute(cg *g, val fn, LLVMAttributeIndex at, const char *name, uint64_t value) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(g->ctx, kind, value));
}

/* PTX reserves two names, which a kernel may not have. */
static void avoid_reserved(cg *g) {
    if (strcmp(g->symbol, "_") == 0 || strcmp(g->symbol, "WARP_SZ") == 0)
        g->symbol = et_printf(g->arena, "%s_", g->symbol);
}

/* The arguments are one parameter, passed by value. Registers are allocated for as many workgroups
 * per SM as the program says; that there are no more follows from their shared memory. */
void nvptx_declare_kernel(cg *g, size_t bytes) {
    if (bytes > MAX_PARAMETERS)
        cg_error(g, "the program's arguments are %zu bytes, %s takes %d", bytes, g->t->name,
                 MAX_PARAMETERS);
    avoid_reserved(g);
    LLVMTypeRef ptr = LLVMPointerTypeInContext(g->ctx, 0);
    g->fn = LLVMAddFunction(g->mod, g->symbol, LLVMFunctionType(g->none, &ptr, 1, false));
    LLVMSetFunctionCallConv(g->fn, KERNEL);
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
    LLVMAddAttributeAtIndex(g->fn, FIRST,
                            LLVMCreateTypeAttribute(g->ctx, byval, LLVMArrayType2(g->i8, bytes)));
    /* It is never written, so functions may read it through its address without a copy. */
    attribute(g, FIRST, "nvvm.grid_constant", "");
    enum_attribute(g, g->fn, FIRST, "align", 8);
    enum_attribute(g, g->fn, (LLVMAttributeIndex)FUNCTION, "nounwind", 0);
    char items[16];
    snprintf(items, sizeof items, "%d", cg_workitems(g));
    attribute(g, (LLVMAttributeIndex)FUNCTION, "nvvm.reqntid", items);
    snprintf(items, sizeof items, "%d", g->p->occupancy);
    attribute(g, (LLVMAttributeIndex)FUNCTION, "nvvm.minctasm", items);
}

void nvptx_declare_body(cg *g, val fn, unsigned divergent) {
    (void)divergent;
    static const char *const all[] = {"nounwind", "noinline", "convergent"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        enum_attribute(g, fn, (LLVMAttributeIndex)FUNCTION, all[i], 0);
}

void nvptx_call_body(cg *g, val call, unsigned divergent) {
    (void)g;
    (void)call;
    (void)divergent;
}

/* More than 48 KiB have to be requested at launch: the driver reads the size from the manifest. */
void nvptx_declare_local(cg *g) {
    g->lds = LLVMAddGlobalInAddressSpace(g->mod, LLVMArrayType2(g->i8, 0), "lds", g->family->local);
    LLVMSetLinkage(g->lds, LLVMExternalLinkage);
    LLVMSetAlignment(g->lds, 1024);
}

void nvptx_keep_local(cg *g) {
    (void)g;
}

/* Loads of parameters keep no registers occupied, and behind an opaque address LLVM would copy all
 * of them to the stack. */
val nvptx_hide(cg *g, val ptr) {
    (void)g;
    return ptr;
}

val nvptx_anew(cg *g, val v) {
    LLVMTypeRef of = LLVMTypeOf(v), type = LLVMFunctionType(of, &of, 1, false);
    static const char text[2][16] = {"mov.b32 $0, $1;", "mov.b64 $0, $1;"};
    bool wide = of == g->i64;
    val move = LLVMGetInlineAsm(type, text[wide], sizeof text[0] - 1, wide ? "=l,l" : "=r,r", 4,
                                true, false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(g->b, type, move, &v, 1, "");
}

/* ptxas 13.0 treats parameters as divergent, and all that depends on them: wgmma descriptors would
 * be computed in each lane. The result of a warp reduction it treats as uniform. */
val nvptx_same(cg *g, val v) {
    val args[] = {v, cg_i32(g, -1)};
    return cg_call(g, "llvm.nvvm.redux.sync.or", 0, NULL, 2, args);
}

static val read_register(cg *g, const char *name) {
    return cg_call(g, name, 0, NULL, 0, NULL);
}

val nvptx_workgroup(cg *g) {
    return read_register(g, "llvm.nvvm.read.ptx.sreg.ctaid.x");
}

val nvptx_workitem(cg *g) {
    return read_register(g, "llvm.nvvm.read.ptx.sreg.tid.x");
}

val nvptx_die(cg *g) {
    return cg_i32(g, 0);
}

val nvptx_hardware_id(cg *g) {
    return read_register(g, "llvm.nvvm.read.ptx.sreg.smid");
}
