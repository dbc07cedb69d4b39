/* Quantised values: operands in e4m3 of fp8 x fp8 products, and conversion of weights to f32 by the
 * target's instructions. */
#include "codegen/targets/amdgpu/amdgpu.h"

/* Bit 7 of each byte of the sum is set where bits 0 to 6 are not all zero. */
val amdgpu_clean_codes(cg *g, val word) {
    val rest = cg_i32(g, 0x7f7f7f7f), sum = cg_add(g, LLVMBuildAnd(g->b, word, rest, ""), rest);
    return LLVMBuildAnd(g->b, word, LLVMBuildOr(g->b, sum, rest, ""), "");
}

/* Where an encoding stands for half the value (fnuz), half of each value is encoded; zeros lose
 * their sign. */
val amdgpu_codes(cg *g, const val v[4]) {
    val word = cg_i32(g, 0), half[4];
    for (int i = 0; i < 4; i++)
        half[i] = g->t->fp8_times == 1 ? v[i] : cg_fma(g, v[i], cg_f32(g, 0.5), cg_f32(g, 0));
    for (int i = 0; i < 2; i++) {
        val args[] = {half[2 * i], half[2 * i + 1], word, LLVMConstInt(g->i1, (unsigned)i, false)};
        word = cg_call(g, "llvm.amdgcn.cvt.pk.fp8.f32", 0, NULL, 4, args);
    }
    return word;
}

/* ---- of weights ---- */

enum { SIGNS = (int)0x88888888, UPPER_HALVES = 0x07060302 };

/* The product of the target's own e4m3, or NULL where it has none. */
static const struct amdgpu_product *e4m3_of(const cg *g) {
    const et_fragment *f = et_target_fragment(g->t, ET_E4M3);
    return f ? f->own : NULL;
}

static void take_e4m3(cg *g, val word, val *out) {
    if (e4m3_of(g)->element == AMDGPU_FNUZ) word = amdgpu_clean_codes(g, word);
    for (int i = 0; i < 4; i++) {
        val args[] = {word, LLVMConstInt(g->i1, (unsigned)i / 2, false)};
        val two = cg_call(g, "llvm.amdgcn.cvt.pk.f32.fp8", 0, NULL, 2, args);
        out[i] = cg_extract(g, two, i % 2);
    }
}

/* V >> 4, hidden from LLVM so that it is not merged with other shifts: instructions that select a
 * byte of their operand then need no further shift. */
static val fours_up(cg *g, val v) {
    static const char text[] = "v_lshrrev_b32 $0, 4, $1", where[] = "=v,v";
    LLVMTypeRef type = LLVMFunctionType(g->i32, &g->i32, 1, false);
    val shift = LLVMGetInlineAsm(type, text, sizeof text - 1, where, sizeof where - 1, false, false,
                                 LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(g->b, type, shift, &v, 1, "");
}

/* v_cvt_off_f32_i4 converts a signed 4-bit integer to sixteenths. */
static void take_fours(cg *g, et_dtype code, val word, val *out) {
    if (code == ET_U4) word = LLVMBuildXor(g->b, word, cg_i32(g, SIGNS), "");
    val half[] = {word, fours_up(g, word)};
    for (int i = 0; i < 8; i++) {
        val at = LLVMBuildLShr(g->b, half[i % 2], cg_i32(g, i / 2 * 8), "");
        at = LLVMBuildAnd(g->b, at, cg_i32(g, 0xff), "");
        out[i] = cg_call(g, "llvm.amdgcn.cvt.off.f32.i4", 0, NULL, 1, &at);
    }
}

static int less(et_dtype code) {
    return code == ET_U4 ? 8 : 0;
}

static void take(cg *g, et_dtype code, val word, val *out) {
    int bits = et_dtype_bits(code);
    if (bits == 4 && code != ET_E2M1)
        take_fours(g, code, word, out);
    else if (code == ET_E4M3 && e4m3_of(g))
        take_e4m3(g, word, out);
    else
        for (int i = 0; i < 32 / bits; i++)
            out[i] = cg_to_f32(g, cg_code(g, code, word, cg_i32(g, bits * i)));
}

static val pack(cg *g, et_dtype operand, val low, val high) {
    if (operand == ET_F16) {
        val two = cg_call(g, "llvm.amdgcn.cvt.pkrtz", 0, NULL, 2, (val[]){low, high});
        return LLVMBuildBitCast(g->b, two, g->i32, "");
    }
    val args[] = {LLVMBuildBitCast(g->b, high, g->i32, ""), LLVMBuildBitCast(g->b, low, g->i32, ""),
                  cg_i32(g, UPPER_HALVES)};
    return cg_call(g, "llvm.amdgcn.perm", 0, NULL, 3, args);
}

static val pick(cg *g, val v, val lane) {
    v = amdgpu_pick(g, LLVMBuildBitCast(g->b, v, g->i32, ""), lane);
    return LLVMBuildBitCast(g->b, v, g->f32, "");
}

const et_unscaled_family amdgpu_bare = {.convert = take, .less = less, .pack = pack, .pick = pick};
