/* Codes of weights, as they lie in words, to numbers, and numbers rounded to those that have a
 * code. Shifts, masks and a multiplication each: where the bits of a small float stand in an f32,
 * sign at the sign and exponent at the low end of the exponent, the f32 is the value but for a
 * power of two, subnormal values included. */
#include "codegen/emit/emit.h"
#include "ir/base/diag.h"
#include <math.h>

/* The BITS at AT moved to the top of the word, and from there down by DOWN, with copies of the sign
 * in between. */
static val signed_at(cg *g, val word, val at, int bits, int down) {
    val up = LLVMBuildSub(g->b, cg_i32(g, 32 - bits), at, "");
    return LLVMBuildAShr(g->b, LLVMBuildShl(g->b, word, up, ""), cg_i32(g, down), "");
}

static val unsigned_at(cg *g, val word, val at, int bits) {
    return LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, word, at, ""), cg_i32(g, (1 << bits) - 1), "");
}

/* A float of BITS, FRACTION of them of fraction: what it is in an f32, times 2^SCALE. */
static val small_float(cg *g, val word, val at, int bits, int fraction, int scale) {
    int down = 9 - (bits - fraction); /* from the top to the low end of the exponent */
    uint32_t magnitude = ((1u << (bits - 1)) - 1) << (23 - fraction);
    val v = signed_at(g, word, at, bits, down);
    v = LLVMBuildAnd(g->b, v, cg_i32(g, 0x80000000u | magnitude), "");
    return cg_fmul(g, LLVMBuildBitCast(g->b, v, g->f32, ""), cg_f32(g, ldexp(1, scale)));
}

static val half_of(cg *g, val word, val at) {
    val v = LLVMBuildShl(g->b, LLVMBuildLShr(g->b, word, at, ""), cg_i32(g, 8), "");
    v = LLVMBuildBitCast(g->b, LLVMBuildTrunc(g->b, v, g->i16, ""), g->f16, "");
    return LLVMBuildFPExt(g->b, v, g->f32, "");
}

static val power_of_two(cg *g, val word, val at) {
    val code = unsigned_at(g, word, at, 8), v = LLVMBuildShl(g->b, code, cg_i32(g, 23), "");
    v = cg_select(g, cg_icmp(g, LLVMIntEQ, code, cg_i32(g, 0)), cg_i32(g, 0x00400000), v);
    v = cg_select(g, cg_icmp(g, LLVMIntEQ, code, cg_i32(g, 255)), cg_i32(g, 0x7fc00000), v);
    return LLVMBuildBitCast(g->b, v, g->f32, "");
}

/* A byte of the sixteen of iq4. */
static val of_table(cg *g, val code) {
    val high = cg_icmp(g, LLVMIntUGE, code, cg_i32(g, 8));
    val table = cg_select(g, high, LLVMConstInt(g->i64, ETRT_IQ4_HIGH, false),
                          LLVMConstInt(g->i64, ETRT_IQ4_LOW, false));
    val at = LLVMBuildShl(g->b, LLVMBuildAnd(g->b, code, cg_i32(g, 7), ""), cg_i32(g, 3), "");
    val v = LLVMBuildLShr(g->b, table, LLVMBuildZExt(g->b, at, g->i64, ""), "");
    v = LLVMBuildTrunc(g->b, v, g->i32, "");
    return signed_at(g, v, cg_i32(g, 0), 8, 24);
}

val cg_code(cg *g, et_dtype t, val word, val at) {
    switch (t) {
    case ET_E4M3: /* no code is NaN: the runtime refuses such weights */
        return small_float(g, word, at, 8, 3, 120);
    case ET_E2M1:
        return small_float(g, word, at, 4, 1, 126);
    case ET_E5M2:
        return half_of(g, word, at);
    case ET_UE8M0:
        return power_of_two(g, word, at);
    case ET_I8:
    case ET_I4:
        return signed_at(g, word, at, et_dtype_bits(t), 32 - et_dtype_bits(t));
    case ET_U8:
    case ET_U4:
    case ET_U2:
    case ET_U1:
        return unsigned_at(g, word, at, et_dtype_bits(t));
    case ET_IQ4:
        return of_table(g, unsigned_at(g, word, at, 4));
    default:
        et_bug("%s is no code", et_dtype_name(t));
    }
}

/* V as it is after adding and taking away what makes its last bit count as much as that of an e4m3
 * of V's size: 2^20 times V's power of two, or that of the least normal number. Both steps round
 * once, and neither may become a part of another operation. */
val cg_round_e4m3(cg *g, val v) {
    enum { EXPONENT = 0x7f800000, LEAST = (127 - 6) << 23, UP = (23 - 3) << 23 };
    val size = cg_call(g, "llvm.fabs", 1, &g->f32, 1, &v);
    val most = cg_f32(g, 448), none = LLVMBuildFCmp(g->b, LLVMRealUNO, v, v, "");
    val m = cg_select(g, LLVMBuildFCmp(g->b, LLVMRealOLT, size, most, ""), size, most);
    val power = LLVMBuildAnd(g->b, LLVMBuildBitCast(g->b, m, g->i32, ""), cg_i32(g, EXPONENT), "");
    power = cg_call(g, "llvm.umax", 1, &g->i32, 2, (val[]){power, cg_i32(g, LEAST)});
    val add = LLVMBuildBitCast(g->b, cg_addi(g, power, UP), g->f32, "");
    m = LLVMBuildFSub(g->b, LLVMBuildFAdd(g->b, m, add, ""), add, "");
    return cg_select(g, none, v, cg_with_sign(g, m, v));
}
