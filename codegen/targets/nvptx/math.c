/* Mathematical functions of f32, without libdevice: hardware instructions where they are accurate
 * enough, with arithmetic around them, or polynomials. README.md lists their errors, which
 * tests/targets/gpus (test_math.c) measures. Each is a function of the module, created at the first
 * call. */
#include "codegen/targets/nvptx/math.h"
#include "ir/base/diag.h"
#include <math.h>
#include <string.h>

/* ---- building blocks ---- */

val nvptx_poly(cg *g, LLVMTypeRef t, val x, int n, const double *c) {
    val sum = LLVMConstReal(t, c[n - 1]);
    for (int i = n - 2; i >= 0; i--)
        sum = cg_call(g, "llvm.fma", 1, &t, 3, (val[]){sum, x, LLVMConstReal(t, c[i])});
    return sum;
}

val nvptx_is(cg *g, LLVMRealPredicate p, val a, double b) {
    return LLVMBuildFCmp(g->b, p, a, LLVMConstReal(LLVMTypeOf(a), b), "");
}

val nvptx_bits(cg *g, val v) {
    return LLVMBuildBitCast(g->b, v, g->i32, "");
}

val nvptx_of_bits(cg *g, val v) {
    return LLVMBuildBitCast(g->b, v, g->f32, "");
}

static val fabs_of(cg *g, val x) {
    return cg_call(g, "llvm.fabs", 1, &g->f32, 1, &x);
}

static val with_sign(cg *g, val x, val sign) {
    return cg_call(g, "llvm.copysign", 1, &g->f32, 2, (val[]){x, sign});
}

/* V between LO and HI; NaN stays NaN. */
val nvptx_clamp(cg *g, val x, double lo, double hi) {
    LLVMTypeRef t = LLVMTypeOf(x);
    x = cg_select(g, nvptx_is(g, LLVMRealOLT, x, lo), LLVMConstReal(t, lo), x);
    return cg_select(g, nvptx_is(g, LLVMRealOGT, x, hi), LLVMConstReal(t, hi), x);
}

val nvptx_opaque(cg *g, val v) {
    LLVMTypeRef t = LLVMTypeOf(v);
    return cg_call(g, "llvm.arithmetic.fence", 1, &t, 1, &v);
}

/* To 2 ulp for all f32. */
val nvptx_divide(cg *g, val a, val b) {
    return cg_call(g, "llvm.nvvm.div.full", 0, NULL, 2, (val[]){a, b});
}

val nvptx_root(cg *g, val a) {
    return cg_call(g, "llvm.nvvm.sqrt.approx.f", 0, NULL, 1, &a);
}

/* Denormal results become zero; LLVM's llvm.exp2 would scale small arguments to keep them. */
val nvptx_exp2(cg *g, val a) {
    return cg_call(g, "llvm.nvvm.ex2.approx.ftz", 1, &g->f32, 1, &a);
}

/* ---- functions of the module ---- */

struct made {
    et_xop op;
    const char *name;
    val (*body)(cg *, const val *);
    bool large; /* not inlined: copies would fill the instruction cache */
};

static void attributes(cg *g, val fn, bool large) {
    const char *name = large ? "noinline" : "alwaysinline";
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(g->ctx, kind, 0));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
}

static val call(cg *g, const struct made *f, int n, val *args) {
    LLVMTypeRef t[2] = {g->f32, g->f32}, type = LLVMFunctionType(g->f32, t, (unsigned)n, false);
    val fn = LLVMGetNamedFunction(g->mod, f->name);
    if (!fn) {
        val outer = g->fn, x[2] = {NULL, NULL};
        block here = cg_here(g);
        g->fn = fn = LLVMAddFunction(g->mod, f->name, type);
        attributes(g, fn, f->large);
        for (int i = 0; i < n; i++)
            x[i] = LLVMGetParam(fn, (unsigned)i);
        cg_at(g, cg_block(g, "entry"));
        LLVMBuildRet(g->b, f->body(g, x));
        g->fn = outer;
        cg_at(g, here);
    }
    return LLVMBuildCall2(g->b, type, fn, args, (unsigned)n, "");
}

/* ---- exp, log ---- */

/* 2^(x / ln 2): the exponent is a rounded product plus the part that rounding lost. */
static val exponential(cg *g, const val *a) {
    const double log2e = 0x1.715476p0, rest = 0x1.4ae0cp-26;
    val x = nvptx_clamp(g, a[0], -105, 89), by = cg_f32(g, log2e);
    val high = LLVMBuildFMul(g->b, x, by, "");
    val low = cg_fma(g, x, by, LLVMBuildFNeg(g->b, high, ""));
    low = cg_fma(g, x, cg_f32(g, rest), low);
    val e = cg_call(g, "llvm.nvvm.ex2.approx", 1, &g->f32, 1, &high);
    return LLVMBuildFMul(g->b, e, cg_fma(g, low, cg_f32(g, M_LN2), cg_f32(g, 1)), "");
}

static const struct made exp_made = {ET_X_EXP, "etcc_exp", exponential, false};

static val call_exp(cg *g, val x) {
    return call(g, &exp_made, 1, &x);
}

/* x = 2^e (1 + f), f between -1/3 and 1/3. */
static val logarithm(cg *g, const val *a) {
    static const double c[] = {0.33333335743,  -0.24999820245, 0.19999597857,
                               -0.16679579373, 0.1430445475,   -0.1219576417,
                               0.10754250005,  -0.12845117458, 0.12007115136};
    const double infinity = (double)INFINITY;
    val small = nvptx_is(g, LLVMRealOLT, a[0], 0x1p-126);
    val x = cg_select(g, small, LLVMBuildFMul(g->b, a[0], cg_f32(g, 0x1p25), ""), a[0]);
    val from = cg_addi(g, nvptx_bits(g, x), -0x3f2aaaab); /* 2/3 */
    val e = LLVMBuildAShr(g->b, from, cg_i32(g, 23), "");
    val m = LLVMBuildSub(g->b, nvptx_bits(g, x),
                         LLVMBuildAnd(g->b, from, cg_i32(g, 0xff800000), ""), "");
    e = cg_select(g, small, cg_addi(g, e, -25), e);
    val f = LLVMBuildFSub(g->b, nvptx_of_bits(g, m), cg_f32(g, 1), "");
    val n = LLVMBuildSIToFP(g->b, e, g->f32, "");
    val p = cg_fma(g, f, nvptx_poly(g, g->f32, f, 9, c), cg_f32(g, -0.5));
    val s =
        cg_fma(g, n, cg_f32(g, -1.904654323148236e-09), /* the part of ln 2 that its f32 loses */
               LLVMBuildFMul(g->b, LLVMBuildFMul(g->b, f, f, ""), p, ""));
    val out = cg_fma(g, n, cg_f32(g, M_LN2), LLVMBuildFAdd(g->b, f, s, ""));
    out = cg_select(g, nvptx_is(g, LLVMRealOEQ, a[0], infinity), a[0], out);
    out = cg_select(g, nvptx_is(g, LLVMRealOEQ, a[0], 0), cg_f32(g, -infinity), out);
    return cg_select(g, nvptx_is(g, LLVMRealULT, a[0], 0), cg_f32(g, (double)NAN), out);
}

/* ---- tanh, erf ---- */

/* Near 0 an odd polynomial, else 1 - 2 / (e^2x + 1). */
static val hyperbolic_tangent(cg *g, const val *a) {
    static const double c[] = {-0.33333298004, 0.13331924145, -0.053783829532, 0.020795964896,
                               -0.0058951473265};
    val x = fabs_of(g, a[0]), one = cg_f32(g, 1), square = LLVMBuildFMul(g->b, x, x, "");
    val near = LLVMBuildFMul(g->b, x, square, "");
    near = cg_fma(g, near, nvptx_poly(g, g->f32, square, 5, c), x);
    val e = call_exp(g, nvptx_clamp(g, LLVMBuildFAdd(g->b, x, x, ""), 0, 40));
    val rest = nvptx_divide(g, cg_f32(g, 2), LLVMBuildFAdd(g->b, e, one, ""));
    val far = LLVMBuildFSub(g->b, one, rest, "");
    return with_sign(g, cg_select(g, nvptx_is(g, LLVMRealOLT, x, 0.6), near, far), a[0]);
}

/* Near 0 an odd polynomial, else 1 - e^-q with a polynomial q. */
static val error_function(cg *g, const val *a) {
    static const double c[] = {1.1283791668,    -0.3761263498,     0.11283715035,  -0.026860508533,
                               0.0052038592963, -0.00081756405981, 8.5131088401e-5};
    static const double q[] = {-0.00016920518978, 1.1294884078,   0.6334008457,
                               0.1082203925,      -0.02508062384, 0.0041562584265,
                               -0.00043139443582, 2.0828705537e-5};
    val x = fabs_of(g, a[0]), square = LLVMBuildFMul(g->b, x, x, "");
    val near = LLVMBuildFMul(g->b, x, nvptx_poly(g, g->f32, square, 7, c), "");
    val power = nvptx_poly(g, g->f32, nvptx_clamp(g, x, 0, 4), 8, q);
    val rest = call_exp(g, LLVMBuildFNeg(g->b, power, ""));
    val far = LLVMBuildFSub(g->b, cg_f32(g, 1), rest, "");
    return with_sign(g, cg_select(g, nvptx_is(g, LLVMRealOLT, x, 0.9), near, far), a[0]);
}

/* ---- */

val nvptx_math(cg *g, et_xop op, int nargs, val *args) {
    static const struct made f[] = {
        {ET_X_LOG, "etcc_log", logarithm, false},
        {ET_X_SIN, "etcc_sin", nvptx_sine, true},
        {ET_X_COS, "etcc_cos", nvptx_cosine, true},
        {ET_X_TANH, "etcc_tanh", hyperbolic_tangent, false},
        {ET_X_ERF, "etcc_erf", error_function, false},
        {ET_X_POW, "etcc_pow", nvptx_power, true},
    };
    if (op == ET_X_EXP) return call_exp(g, args[0]);
    for (size_t i = 0; i < sizeof f / sizeof *f; i++)
        if (f[i].op == op) return call(g, &f[i], nargs, args);
    et_bug("codegen knows no operator %s", et_xop_text(op));
}

bool nvptx_link_math(cg *g) {
    (void)g;
    return true;
}
