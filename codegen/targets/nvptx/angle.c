/* Sine and cosine: the angle is reduced to quarter turns and a remainder, of which polynomials are
 * computed. */
#include "codegen/targets/nvptx/math.h"
#include <math.h>

/* Cody-Waite reduction: a quarter turn is the sum of three f32. As long as the number of turns is
 * exact, subtracting its products with them one by one loses nothing. */
enum { FEW = 1 << 17 };
static const double quarter[] = {1.5707963705062866, -4.371138828673793e-08,
                                 -1.7151245100059406e-15};

struct angle {
    val turns; /* quarter turns, i32; correct modulo 4 */
    val rest;  /* between -pi / 4 and pi / 4, or a little beyond */
};

static struct angle reduce_small(cg *g, val x) {
    val n = LLVMBuildFMul(g->b, x, cg_f32(g, M_2_PI), "");
    n = cg_call(g, "llvm.rint", 1, &g->f32, 1, &n);
    for (int i = 0; i < 3; i++)
        x = cg_fma(g, n, cg_f32(g, -quarter[i]), x);
    return (struct angle){LLVMBuildFPToSI(g->b, n, g->i32, ""), x};
}

/* The binary digits of 2 / pi, after a word of zeros. */
static val table(cg *g) {
    static const uint32_t words[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                     0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
    enum { N = sizeof words / sizeof *words };
    val v[N], t = LLVMGetNamedGlobal(g->mod, "etcc_two_by_pi");
    if (t) return t;
    for (int i = 0; i < N; i++)
        v[i] = cg_i32(g, words[i]);
    t = LLVMAddGlobalInAddressSpace(g->mod, LLVMArrayType2(g->i32, N), "etcc_two_by_pi",
                                    g->family->global);
    LLVMSetInitializer(t, LLVMConstArray2(g->i32, v, N));
    LLVMSetGlobalConstant(t, true);
    LLVMSetLinkage(t, LLVMInternalLinkage);
    return t;
}

static val wide(cg *g, val v) {
    return LLVMBuildZExt(g->b, v, g->i64, "");
}

/* 32 bits of the table from bit FIRST + 32 I on. */
static val window(cg *g, val first, int i) {
    val word = cg_addi(g, LLVMBuildLShr(g->b, first, cg_i32(g, 5), ""), i), pair[2];
    for (int k = 0; k < 2; k++) {
        val at = wide(g, cg_muli(g, cg_addi(g, word, k), 4));
        pair[k] = LLVMBuildLoad2(g->b, g->i32, cg_gep(g, table(g), at), "");
        LLVMSetAlignment(pair[k], 4);
    }
    val args[] = {pair[0], pair[1], LLVMBuildAnd(g->b, first, cg_i32(g, 31), "")};
    return cg_call(g, "llvm.fshl", 1, &g->i32, 3, args);
}

/* Payne-Hanek reduction: X = m 2^(e - 23), and m times 2 / pi is needed modulo 4 and down to the
 * bit 2^-62. So digits of 2 / pi that only make multiples of 4 are left out, and so are those after
 * the following 96. */
static struct angle reduce_large(cg *g, val x) {
    val bits = nvptx_bits(g, x), one = cg_i64(g, 1);
    val e = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, bits, cg_i32(g, 23), ""), cg_i32(g, 255), "");
    val m = LLVMBuildAnd(g->b, bits, cg_i32(g, 0x7fffff), ""), product = NULL;
    m = wide(g, LLVMBuildOr(g->b, m, cg_i32(g, 0x800000), ""));
    val first = cg_addi(g, e, 7 - 127);
    for (int i = 0; i < 3; i++) {
        val part = LLVMBuildMul(g->b, m, wide(g, window(g, first, i)), "");
        if (i == 0) part = LLVMBuildShl(g->b, part, cg_i64(g, 32), "");
        if (i == 2) part = LLVMBuildLShr(g->b, part, cg_i64(g, 32), "");
        product = product ? LLVMBuildAdd(g->b, product, part, "") : part;
    }
    LLVMTypeRef f64 = LLVMDoubleTypeInContext(g->ctx);
    val half = LLVMBuildShl(g->b, one, cg_i64(g, 61), "");
    val n = LLVMBuildLShr(g->b, LLVMBuildAdd(g->b, product, half, ""), cg_i64(g, 62), "");
    val rest = LLVMBuildShl(g->b, product, cg_i64(g, 2), "");
    rest = LLVMBuildSIToFP(g->b, rest, f64, "");
    rest = LLVMBuildFMul(g->b, rest, LLVMConstReal(f64, M_PI_2 * 0x1p-64), "");
    struct angle a = {LLVMBuildTrunc(g->b, n, g->i32, ""),
                      LLVMBuildFPTrunc(g->b, rest, g->f32, "")};
    val negative = cg_icmp(g, LLVMIntSLT, bits, cg_i32(g, 0));
    a.turns = cg_select(g, negative, LLVMBuildNeg(g->b, a.turns, ""), a.turns);
    a.rest = cg_select(g, negative, LLVMBuildFNeg(g->b, a.rest, ""), a.rest);
    return a;
}

static struct angle reduced(cg *g, val x) {
    block few = cg_block(g, "few"), many = cg_block(g, "many"), out = cg_block(g, "reduced");
    val size = cg_call(g, "llvm.fabs", 1, &g->f32, 1, &x);
    cg_cond(g, nvptx_is(g, LLVMRealOLT, size, FEW), few, many);
    cg_at(g, few);
    struct angle a = reduce_small(g, x);
    cg_br(g, out);
    cg_at(g, many);
    struct angle b = reduce_large(g, x);
    cg_br(g, out);
    cg_at(g, out);
    struct angle r = {LLVMBuildPhi(g->b, g->i32, ""), LLVMBuildPhi(g->b, g->f32, "")};
    LLVMAddIncoming(r.turns, (val[]){a.turns, b.turns}, (block[]){few, many}, 2);
    LLVMAddIncoming(r.rest, (val[]){a.rest, b.rest}, (block[]){few, many}, 2);
    val number = nvptx_is(g, LLVMRealOLT, size, (double)INFINITY);
    r.rest = cg_select(g, number, r.rest, cg_f32(g, (double)NAN));
    return r;
}

/* The sine of X plus QUARTERS quarter turns. */
static val sine_shifted(cg *g, val x, int quarters) {
    static const double s[] = {-0.16666666637, 0.0083333288325, -0.00019839162365, 2.7167121399e-6};
    static const double c[] = {0.041666666616, -0.0013888883156, 2.4799362671e-5, -2.7197297562e-7};
    struct angle a = reduced(g, x);
    val r = a.rest, square = LLVMBuildFMul(g->b, r, r, ""), turns = cg_addi(g, a.turns, quarters);
    val sine = LLVMBuildFMul(g->b, r, square, "");
    sine = cg_fma(g, sine, nvptx_poly(g, g->f32, square, 4, s), r);
    val cosine = cg_fma(g, square, nvptx_poly(g, g->f32, square, 4, c), cg_f32(g, -0.5));
    cosine = cg_fma(g, square, cosine, cg_f32(g, 1));
    val odd = LLVMBuildTrunc(g->b, turns, g->i1, "");
    val sign =
        LLVMBuildAnd(g->b, LLVMBuildShl(g->b, turns, cg_i32(g, 30), ""), cg_i32(g, INT32_MIN), "");
    val out = nvptx_bits(g, cg_select(g, odd, cosine, sine));
    return nvptx_of_bits(g, LLVMBuildXor(g->b, out, sign, ""));
}

val nvptx_sine(cg *g, const val *x) {
    return sine_shifted(g, x[0], 0);
}

val nvptx_cosine(cg *g, const val *x) {
    return sine_shifted(g, x[0], 1);
}
