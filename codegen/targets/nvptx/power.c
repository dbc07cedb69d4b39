/* x^y, computed in f64: it has the bits that a logarithm of f32 would lose in the product. */
#include "codegen/targets/nvptx/math.h"
#include <math.h>

static LLVMTypeRef f64(cg *g) {
    return LLVMDoubleTypeInContext(g->ctx);
}

static val fma64(cg *g, val a, val b, val c) {
    LLVMTypeRef t = f64(g);
    return cg_call(g, "llvm.fma", 1, &t, 3, (val[]){a, b, c});
}

/* log2 of X > 0 in the range of f32: x = 2^e (1 + f), f between -1/3 and 1/3. */
static val log2_of(cg *g, val x) {
    static const double c[] = {1.44269504088887527,   -0.721347520470493543, 0.480898347065304028,
                               -0.360673751556528779, 0.288538988801191808,  -0.240450006486499382,
                               0.206100682358627208,  -0.180301722808616976, 0.16025072554683308,
                               -0.145025587635823614, 0.13207266304598828,   -0.111644725901251238,
                               0.101540580537919088,  -0.150805157312041054, 0.144655017501887167};
    val bits = LLVMBuildBitCast(g->b, x, g->i64, "");
    val from = LLVMBuildSub(g->b, bits, cg_i64(g, 0x3fe5555555555555), ""); /* 2/3 */
    val e = LLVMBuildAShr(g->b, from, cg_i64(g, 52), "");
    val m = LLVMBuildSub(g->b, bits, LLVMBuildShl(g->b, e, cg_i64(g, 52), ""), "");
    m = LLVMBuildBitCast(g->b, m, f64(g), "");
    val f = LLVMBuildFSub(g->b, m, LLVMConstReal(f64(g), 1), "");
    val n = LLVMBuildSIToFP(g->b, LLVMBuildTrunc(g->b, e, g->i32, ""), f64(g), "");
    return fma64(g, f, nvptx_poly(g, f64(g), f, 15, c), n);
}

/* 2^T, for T in the range of exponents of f64. */
static val exp2_of(cg *g, val t) {
    static const double c[] = {0.999999999961670751,    0.693147180728448804,
                               0.240226511981815961,    0.0555041035347075341,
                               0.00961802725227442257,  0.00133339225304137014,
                               0.000154692914220786119, 0.0000152019313251241657};
    LLVMTypeRef d = f64(g);
    val n = cg_call(g, "llvm.rint", 1, &d, 1, &t);
    val p = nvptx_poly(g, d, LLVMBuildFSub(g->b, t, n, ""), 8, c);
    val e = LLVMBuildSExt(g->b, LLVMBuildFPToSI(g->b, n, g->i32, ""), g->i64, "");
    e = LLVMBuildShl(g->b, LLVMBuildAdd(g->b, e, cg_i64(g, 1023), ""), cg_i64(g, 52), "");
    return LLVMBuildFMul(g->b, p, LLVMBuildBitCast(g->b, e, d, ""), "");
}

/* Whether Y, an f32, is an integer, and whether it is odd. Large ones are even. */
static val is_integer(cg *g, val y) {
    val whole = cg_call(g, "llvm.floor", 1, &g->f32, 1, &y);
    return LLVMBuildFCmp(g->b, LLVMRealOEQ, whole, y, "");
}

static val is_odd(cg *g, val y) {
    val half = LLVMBuildFMul(g->b, y, cg_f32(g, 0.5), "");
    return LLVMBuildAnd(g->b, is_integer(g, y), LLVMBuildNot(g->b, is_integer(g, half), ""), "");
}

/* Special cases as in C. */
val nvptx_power(cg *g, const val *a) {
    const double infinity = (double)INFINITY;
    LLVMTypeRef d = f64(g);
    val x = a[0], y = a[1], size = cg_call(g, "llvm.fabs", 1, &g->f32, 1, &x);
    val l = log2_of(g, LLVMBuildFPExt(g->b, size, d, "")), nothing = LLVMConstReal(d, 0);
    l = cg_select(g, nvptx_is(g, LLVMRealOEQ, size, 0), LLVMConstReal(d, -infinity), l);
    l = cg_select(g, nvptx_is(g, LLVMRealOEQ, size, infinity), LLVMConstReal(d, infinity), l);
    val t = LLVMBuildFMul(g->b, l, LLVMBuildFPExt(g->b, y, d, ""), "");
    t = cg_select(g, nvptx_is(g, LLVMRealUNO, t, 0), nothing, t); /* decided below */
    val out = LLVMBuildFPTrunc(g->b, exp2_of(g, nvptx_clamp(g, t, -300, 300)), g->f32, "");
    val below = cg_icmp(g, LLVMIntSLT, nvptx_bits(g, x), cg_i32(g, 0));
    val turn = LLVMBuildAnd(g->b, below, is_odd(g, y), "");
    out = cg_select(g, turn, LLVMBuildFNeg(g->b, out, ""), out);
    val finite = LLVMBuildAnd(g->b, nvptx_is(g, LLVMRealOLT, x, 0),
                              nvptx_is(g, LLVMRealOGT, x, -infinity), "");
    val none = LLVMBuildAnd(g->b, finite, LLVMBuildNot(g->b, is_integer(g, y), ""), "");
    val unordered = LLVMBuildFCmp(g->b, LLVMRealUNO, x, y, "");
    none = LLVMBuildOr(g->b, none, unordered, "");
    out = cg_select(g, none, cg_f32(g, (double)NAN), out);
    val one = LLVMBuildOr(g->b, nvptx_is(g, LLVMRealOEQ, y, 0), nvptx_is(g, LLVMRealOEQ, x, 1), "");
    return cg_select(g, one, cg_f32(g, 1), out);
}
