/* Codes of weights to vectors of two bf16, whose products and sums are instructions of the target.
 *
 * Where the bits of a small float stand in a bf16, sign at the sign and exponent at the low end of
 * the exponent, that is its value but for a power of two. A code of four bits as the last ones of
 * 128 in bf16, whose last bit counts 1, makes 128 and the code. */
#include "codegen/targets/nvptx/nvptx.h"
#include <math.h>

enum { BASE = 128, BASE_BITS = 0x43004300, CODES = 0x000f000f, SIGNS = 0x00080008 };

static int apart(const cg *g, et_dtype code) {
    if (!nvptx_of(g)->pairs) return 0;
    return code == ET_E4M3 ? 1 : code == ET_U4 || code == ET_I4 ? 4 : 0;
}

static val two_of(cg *g, val word) {
    return LLVMBuildBitCast(g->b, word, LLVMVectorType(g->bf16, 2), "");
}

static val both(cg *g, double number) {
    val v = LLVMConstReal(g->bf16, number);
    return LLVMConstVector((val[]){v, v}, 2);
}

/* Bytes 2 P and 2 P + 1, each spread over 16 bits with copies of its sign, moved to where a bf16
 * has them. */
static val e4m3(cg *g, val word, int p) {
    static const int spread[] = {0x9180, 0xb3a2};
    val args[] = {word, cg_i32(g, 0), cg_i32(g, spread[p])};
    val w = cg_call(g, "llvm.nvvm.prmt", 0, NULL, 3, args);
    w = LLVMBuildAnd(g->b, LLVMBuildShl(g->b, w, cg_i32(g, 4), ""), cg_i32(g, 0x87f087f0), "");
    return LLVMBuildFMul(g->b, two_of(g, w), both(g, ldexp(1, 120)), "");
}

/* With SIGNS turned around a signed code counts from -8 on. */
static val four_bits(cg *g, val word, int p, bool is_signed, int bias) {
    val w = LLVMBuildLShr(g->b, word, cg_i32(g, 4 * p), "");
    w = LLVMBuildAnd(g->b, w, cg_i32(g, CODES), "");
    w = LLVMBuildXor(g->b, w, cg_i32(g, BASE_BITS | (is_signed ? SIGNS : 0)), "");
    return LLVMBuildFAdd(g->b, two_of(g, w), both(g, bias - BASE - (is_signed ? 8 : 0)), "");
}

static void take(cg *g, et_dtype code, val word, int bias, val *out) {
    for (int p = 0; p < 16 / et_dtype_bits(code); p++)
        out[p] = code == ET_E4M3 ? e4m3(g, word, p) : four_bits(g, word, p, code == ET_I4, bias);
}

const et_pairs_family nvptx_pairs = {.apart = apart, .take = take};
