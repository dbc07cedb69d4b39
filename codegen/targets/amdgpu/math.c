/* Mathematical functions from the ROCm device libraries' bitcode. */
#include "codegen/targets/amdgpu/amdgpu.h"
#include "ir/base/diag.h"
#include "runtime/files/input.h"
#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LIBRARY = 256 << 20 };

/* Allows errors of 2.5 ulp, so that the hardware's instructions, with scaling, are used. Constants
 * are returned as they are. */
static val loose(cg *g, val v) {
    if (!LLVMIsAInstruction(v)) return v;
    LLVMMetadataRef ulp = LLVMValueAsMetadata(LLVMConstReal(g->f32, 2.5));
    LLVMSetMetadata(v, LLVMGetMDKindIDInContext(g->ctx, "fpmath", 6),
                    LLVMMetadataAsValue(g->ctx, LLVMMDNodeInContext2(g->ctx, &ulp, 1)));
    LLVMSetFastMathFlags(v, LLVMFastMathAllowContract);
    return v;
}

/* Not llvm.arithmetic.fence: LLVM may allocate a scalar register for its result though the value is
 * divergent, and then fails to select an instruction. */
static val opaque_one(cg *g, val v) {
    LLVMTypeRef type = LLVMFunctionType(g->f32, &g->f32, 1, false);
    val copy =
        LLVMGetInlineAsm(type, "", 0, "=v,0", 4, false, false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(g->b, type, copy, &v, 1, "");
}

val amdgpu_opaque(cg *g, val v) {
    LLVMTypeRef t = LLVMTypeOf(v);
    if (t == g->f32) return opaque_one(g, v);
    val out = LLVMGetPoison(t);
    for (unsigned i = 0; i < LLVMGetVectorSize(t); i++) {
        val at = cg_i32(g, (int)i), one = opaque_one(g, LLVMBuildExtractElement(g->b, v, at, ""));
        out = LLVMBuildInsertElement(g->b, out, one, at, "");
    }
    return out;
}

val amdgpu_divide(cg *g, val a, val b) {
    return loose(g, LLVMBuildFDiv(g->b, a, b, ""));
}

val amdgpu_root(cg *g, val a) {
    return loose(g, cg_call(g, "llvm.sqrt", 1, &g->f32, 1, &a));
}

val amdgpu_exp2(cg *g, val a) {
    val v = cg_call(g, "llvm.exp2", 1, &g->f32, 1, &a);
    LLVMSetFastMathFlags(v, LLVMFastMathApproxFunc);
    return v;
}

val amdgpu_math(cg *g, et_xop op, int nargs, val *args) {
    static const struct {
        et_xop op;
        const char *name;
    } names[] = {{ET_X_EXP, "__ocml_exp_f32"},   {ET_X_LOG, "__ocml_log_f32"},
                 {ET_X_SIN, "__ocml_sin_f32"},   {ET_X_COS, "__ocml_cos_f32"},
                 {ET_X_TANH, "__ocml_tanh_f32"}, {ET_X_ERF, "__ocml_erf_f32"},
                 {ET_X_POW, "__ocml_pow_f32"}};
    const char *name = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].op == op) name = names[i].name;
    if (!name) et_bug("codegen knows no operator %s", et_xop_text(op));
    LLVMTypeRef t[] = {g->f32, g->f32};
    LLVMTypeRef type = LLVMFunctionType(g->f32, t, (unsigned)nargs, false);
    val fn = LLVMGetNamedFunction(g->mod, name);
    if (!fn) fn = LLVMAddFunction(g->mod, name, type);
    return LLVMBuildCall2(g->b, type, fn, args, (unsigned)nargs, "");
}

static bool wanted(cg *g) {
    for (val f = LLVMGetFirstFunction(g->mod); f; f = LLVMGetNextFunction(f))
        if (strncmp(LLVMGetValueName(f), "__ocml_", 7) == 0) return true;
    return false;
}

/* The variables by which the libraries are configured, which ROCm ships as one file per value.
 * Defined here, no file is needed for an ISA newer than the libraries. */
static void define_switches(cg *g) {
    const struct {
        const char *name;
        int value;
        bool wide;
    } sw[] = {{"__oclc_finite_only_opt", 0, false},
              {"__oclc_unsafe_math_opt", 0, false},
              {"__oclc_daz_opt", 0, false},
              {"__oclc_correctly_rounded_sqrt32", 0, false},
              {"__oclc_wavefrontsize64", g->t->wave == 64, false},
              {"__oclc_wavefrontsize_log2", g->t->wave == 64 ? 6 : 5, false},
              {"__oclc_ISA_version", amdgpu_of(g)->oclc_isa, true},
              {"__oclc_ABI_version", 500, true}};
    for (size_t i = 0; i < sizeof sw / sizeof *sw; i++) {
        val v = LLVMGetNamedGlobal(g->mod, sw[i].name);
        if (!v) continue;
        LLVMSetInitializer(v, LLVMConstInt(sw[i].wide ? g->i32 : g->i8, (unsigned)sw[i].value, 0));
        LLVMSetGlobalConstant(v, true);
        LLVMSetLinkage(v, LLVMInternalLinkage);
        LLVMSetVisibility(v, LLVMDefaultVisibility);
    }
}

/* Everything but the kernels becomes internal and is inlined. Attributes that name another
 * processor would forbid that, and are removed. */
static void own_functions(cg *g) {
    static const char *const foreign[] = {"target-cpu", "target-features", "frame-pointer",
                                          "no-trapping-math", "stack-protector-buffer-size"};
    unsigned always = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
    unsigned noinline = LLVMGetEnumAttributeKindForName("noinline", 8);
    LLVMAttributeIndex at = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    for (val f = LLVMGetFirstFunction(g->mod); f; f = LLVMGetNextFunction(f)) {
        bool kernel = LLVMGetFunctionCallConv(f) == LLVMGetFunctionCallConv(g->fn);
        if (kernel || amdgpu_is_body(f) || LLVMIsDeclaration(f)) continue;
        LLVMSetLinkage(f, LLVMInternalLinkage);
        LLVMSetVisibility(f, LLVMDefaultVisibility);
        for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
            LLVMRemoveStringAttributeAtIndex(f, at, foreign[i], (unsigned)strlen(foreign[i]));
        LLVMRemoveEnumAttributeAtIndex(f, at, noinline);
        unsigned optnone = LLVMGetEnumAttributeKindForName("optnone", 7);
        LLVMRemoveEnumAttributeAtIndex(f, at, optnone);
        LLVMAddAttributeAtIndex(f, at, LLVMCreateEnumAttribute(g->ctx, always, 0));
        const char *own[][2] = {{"target-cpu", g->t->name},
                                {"target-features", amdgpu_of(g)->features}};
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            LLVMAddAttributeAtIndex(
                f, at,
                LLVMCreateStringAttribute(g->ctx, own[i][0], (unsigned)strlen(own[i][0]), own[i][1],
                                          (unsigned)strlen(own[i][1])));
    }
}

bool amdgpu_link_math(cg *g) {
    if (!wanted(g)) return true;
    const char *dir = g->opt->device_libs ? g->opt->device_libs : ETCC_DEVICE_LIBS;
    const char *path = et_printf(g->arena, "%s/ocml.bc", dir);
    LLVMMemoryBufferRef mem;
    LLVMModuleRef lib;
    char why[ET_WHY];
    size_t bytes;
    char *text = et_file_read(path, MAX_LIBRARY, &bytes, why);
    if (!text) {
        cg_error(g, "cannot read the ROCm device library %s: %s", path, why);
        et_diag(g->p->g->diags, ET_NOTE, (et_loc){0},
                "--rocm-device-lib-path names the folder that holds ocml.bc");
        return false;
    }
    mem = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, bytes, path);
    free(text);
    if (LLVMParseBitcodeInContext2(g->ctx, mem, &lib)) {
        cg_error(g, "%s is not LLVM bitcode this compiler can read", path);
        LLVMDisposeMemoryBuffer(mem);
        return false;
    }
    LLVMDisposeMemoryBuffer(mem);
    LLVMSetTarget(lib, LLVMGetTarget(g->mod));
    LLVMSetDataLayout(lib, LLVMGetDataLayoutStr(g->mod));
    if (LLVMLinkModules2(g->mod, lib)) {
        cg_error(g, "cannot link %s", path);
        return false;
    }
    define_switches(g);
    own_functions(g);
    for (val f = LLVMGetFirstFunction(g->mod); f; f = LLVMGetNextFunction(f))
        if (LLVMIsDeclaration(f) && LLVMGetFirstUse(f) &&
            strncmp(LLVMGetValueName(f), "llvm.", 5) != 0) {
            cg_error(g, "%s does not define %s", path, LLVMGetValueName(f));
            return false;
        }
    return true;
}
