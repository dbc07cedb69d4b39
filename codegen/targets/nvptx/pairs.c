/* Quantised weights converted to vectors of two bf16, which the target has arithmetic for. If the
 * bits of a small float are placed in a bf16, sign at the sign and exponent at the low end of the
 * exponent, the result is its value times a power of two. The same holds for an integer in the
 * lowest eight bits of a bf16: all values up to twice the least normal number are multiples of
 * 2^-133. */
#include "codegen/targets/nvptx/nvptx.h"

enum { LOW = 0x000f000f, HIGH = 0x00f000f0, SIGNS = (int)0x88888888, UNIT = 133 };

static int power(et_dtype code, int p) {
    if (code == ET_E4M3) return 120;
    if (code == ET_E2M1) return 126;
    return p % 2 ? UNIT - 4 : UNIT;
}

/* With the sign bit flipped, signed integers of four bits count from -8 on, of eight, as values of
 * a table are, from -128. */
static int excess(et_dtype code) {
    return code == ET_I4 ? 8 : code == ET_I8 || code == ET_IQ4 ? 128 : 0;
}

/* The bytes of LOW and HIGH that WHICH has the numbers of. */
static val pick(cg *g, val low, val high, val which) {
    return cg_call(g, "llvm.nvvm.prmt", 0, NULL, 3, (val[]){low, high, which});
}

static val two_of(cg *g, val word) {
    return LLVMBuildBitCast(g->b, word, LLVMVectorType(g->bf16, 2), "");
}

/* Bytes 2 P and 2 P + 1, each sign-extended to 16 bits and shifted to its place in a bf16. */
static val e4m3(cg *g, val word, int p) {
    static const int spread[] = {0x9180, 0xb3a2};
    val w = pick(g, word, cg_i32(g, 0), cg_i32(g, spread[p]));
    w = LLVMBuildAnd(g->b, LLVMBuildShl(g->b, w, cg_i32(g, 4), ""), cg_i32(g, 0x87f087f0), "");
    return two_of(g, w);
}

/* The values of WORD under MASK, at BIT and 16 bits above. One integer product makes two copies of
 * each: one provides the sign, the other the rest. */
static val e2m1(cg *g, val word, int mask, int bit) {
    enum { REST = 6, SIGN = 12, KEPT = (int)0x81c081c0 };
    val w = LLVMBuildAnd(g->b, word, cg_i32(g, mask), "");
    w = cg_muli(g, w, (1 << (SIGN - bit)) + (1 << (REST - bit)));
    return two_of(g, LLVMBuildAnd(g->b, w, cg_i32(g, KEPT), ""));
}

static void take(cg *g, et_dtype code, val word, val *out) {
    if (code == ET_I4) word = LLVMBuildXor(g->b, word, cg_i32(g, SIGNS), "");
    for (int p = 0; p < 16 / et_dtype_bits(code); p++) {
        if (code == ET_E4M3) {
            out[p] = e4m3(g, word, p);
            continue;
        }
        if (p == 2) word = LLVMBuildLShr(g->b, word, cg_i32(g, 8), "");
        if (code == ET_E2M1) {
            out[p] = e2m1(g, word, p % 2 ? HIGH : LOW, p % 2 * 4);
            continue;
        }
        out[p] = two_of(g, LLVMBuildAnd(g->b, word, cg_i32(g, p % 2 ? HIGH : LOW), ""));
    }
}

enum { SEVEN = 0x007f007f, TOP = 0x00800080 };
enum { F16_1024 = 0x64006400, BF16_128 = 0x43004300, BF16_MINUS_128 = (int)0xc300c300 };

/* In an f16 from 1024 on the lowest bit counts ones: values are put there, and 4 bits higher. In a
 * bf16 from 128 on, likewise, but there are no more than 7 bits. */
static int above(et_dtype operand, et_dtype code) {
    if (operand == ET_BF16) return code == ET_I8 || code == ET_IQ4 ? -128 : 128;
    return code == ET_E4M3 ? 0 : 1024;
}

/* The bits of WORD in MASK combined with those of ABOVE, by one lop3. Of two operations with a
 * constant each ptxas emits two instructions, rather than keep a constant in a register. */
static val put_above(cg *g, val word, int mask, int above) {
    static const char text[] = "lop3.b32 $0, $1, $2, $3, 0xea;", where[] = "=r,r,n,n";
    LLVMTypeRef t[] = {g->i32, g->i32, g->i32}, type = LLVMFunctionType(g->i32, t, 3, false);
    val lop = LLVMGetInlineAsm(type, text, sizeof text - 1, where, sizeof where - 1, false, false,
                               LLVMInlineAsmDialectATT, false);
    val in[] = {word, cg_i32(g, mask), cg_i32(g, above)};
    return LLVMBuildCall2(g->b, type, lop, in, 3, "");
}

/* The bytes of a table of sixteen that the values of WORD are the numbers of: OUT[0] those of the
 * lower four. FLIP: with all their signs flipped. `prmt` picks one of eight by three bits, and the
 * fourth says of which half. */
static void of_table(cg *g, val word, bool flip, val *out) {
    val table[4];
    for (int i = 0; i < 4; i++) {
        uint64_t half = i < 2 ? ETRT_IQ4_LOW : ETRT_IQ4_HIGH;
        table[i] = cg_i32(g, (int32_t)((uint32_t)(half >> i % 2 * 32) ^ (flip ? 0x80808080u : 0)));
    }
    val low = LLVMBuildAnd(g->b, word, cg_i32(g, 0x77777777), "");
    val which = LLVMBuildLShr(g->b, word, cg_i32(g, 1), "");
    which = LLVMBuildAnd(g->b, which, cg_i32(g, 0x44444444), "");
    which = LLVMBuildOr(g->b, which, cg_i32(g, 0x32103210), "");
    for (int i = 0; i < 2; i++) {
        val by = i ? LLVMBuildLShr(g->b, low, cg_i32(g, 16), "") : low;
        val half = i ? LLVMBuildLShr(g->b, which, cg_i32(g, 16), "") : which;
        out[i] = pick(g, pick(g, table[0], table[1], by), pick(g, table[2], table[3], by), half);
    }
}

/* Bytes, from -128 on and with their signs flipped, as the low ends of two f16 each. */
static void bytes_above(cg *g, val word, val *out) {
    static const int spread[] = {0x4140, 0x4342};
    for (int p = 0; p < 2; p++)
        out[p] = pick(g, word, cg_i32(g, 0x64646464), cg_i32(g, spread[p]));
}

static void halves(cg *g, et_dtype code, val word, val *out) {
    val two = LLVMBuildBitCast(g->b, word, LLVMVectorType(g->i16, 2), "");
    if (code == ET_I8) {
        bytes_above(g, LLVMBuildXor(g->b, word, cg_i32(g, (int)0x80808080), ""), out);
        return;
    }
    if (code == ET_IQ4) {
        val bytes[2];
        of_table(g, word, true, bytes);
        bytes_above(g, bytes[0], out);
        bytes_above(g, bytes[1], out + 2);
        return;
    }
    if (code == ET_I4) word = LLVMBuildXor(g->b, word, cg_i32(g, SIGNS), "");
    for (int p = 0; p < 4 && code != ET_E4M3; p++) {
        if (p == 2) word = LLVMBuildLShr(g->b, word, cg_i32(g, 8), "");
        out[p] = put_above(g, word, p % 2 ? HIGH : LOW, F16_1024);
    }
    if (code != ET_E4M3) return;
    for (int i = 0; i < 2; i++) {
        val codes = cg_extract(g, two, i);
        val v = cg_call(g, "llvm.nvvm.e4m3x2.to.f16x2.rn", 0, NULL, 1, &codes);
        out[i] = LLVMBuildBitCast(g->b, v, g->i32, "");
    }
}

/* Of a signed byte the lower bits count from 128 on, and the highest one says whether 128 or 256 is
 * subtracted. */
static void bytes_bf16(cg *g, val word, val *out) {
    static const int spread[] = {0x4140, 0x4342};
    for (int p = 0; p < 2; p++) {
        val w = pick(g, word, cg_i32(g, 0), cg_i32(g, spread[p]));
        val low = two_of(g, put_above(g, w, SEVEN, BF16_128));
        val high = two_of(g, put_above(g, w, TOP, BF16_MINUS_128));
        out[p] = LLVMBuildBitCast(g->b, LLVMBuildFAdd(g->b, low, high, ""), g->i32, "");
    }
}

static void of_bf16(cg *g, et_dtype code, val word, val *out) {
    if (code == ET_I8) {
        bytes_bf16(g, word, out);
        return;
    }
    if (code == ET_IQ4) {
        val bytes[2];
        of_table(g, word, false, bytes);
        bytes_bf16(g, bytes[0], out);
        bytes_bf16(g, bytes[1], out + 2);
        return;
    }
    if (code == ET_I4) word = LLVMBuildXor(g->b, word, cg_i32(g, SIGNS), "");
    for (int p = 0; p < 4; p++) {
        val w = p ? LLVMBuildLShr(g->b, word, cg_i32(g, 4 * p), "") : word;
        out[p] = put_above(g, w, LOW, BF16_128);
    }
}

/* V moved up by N bits. */
static val up(cg *g, val v, int n) {
    return n ? LLVMBuildShl(g->b, v, cg_i32(g, n), "") : v;
}

/* Values p and p + 4 to the halves of a word, then above four bits of those, or of sixteen times
 * those. */
static void high(cg *g, et_dtype operand, int bits, val values, val *out) {
    int one = (1 << bits) - 1, both = one << 16 | one;
    val w = LLVMBuildOr(g->b, values, up(g, values, 16 - 4 * bits), "");
    for (int p = 0; p < 4; p++) {
        int to = p % 2 && operand == ET_F16 ? 8 : 4, from = bits * p;
        val v = to > from ? up(g, w, to - from) : LLVMBuildLShr(g->b, w, cg_i32(g, from - to), "");
        v = LLVMBuildAnd(g->b, v, cg_i32(g, both << to), "");
        out[p] = LLVMBuildOr(g->b, out[p], v, "");
    }
}

static val most(cg *g, val word) {
    return cg_call(g, "llvm.nvvm.redux.sync.umax", 0, NULL, 2, (val[]){word, cg_i32(g, -1)});
}

const et_pairs_family nvptx_pairs = {.power = power,
                                     .excess = excess,
                                     .convert = take,
                                     .convert_f16 = halves,
                                     .convert_bf16 = of_bf16,
                                     .above = above,
                                     .high = high,
                                     .most = most};
