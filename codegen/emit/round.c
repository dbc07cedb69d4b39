/* Rounding f32 to bf16 and f16.
 *
 * To bf16 where the target has no instruction for it. LLVM's way has three
 * instructions that keep what is not a number so, whatever its bits: adding half of the last place
 * could carry into its exponent. Products and sums of bf16 and of integers need none of them: what
 * is not a number among those has nothing in the lower half, and stays what it is.
 *
 * To f16: LLVM computes in f16 what is rounded to it where no operand has a longer fraction than
 * f16. It forgets that bf16 has larger exponents: of 70000 - 69888 in bf16 it would make infinity
 * less infinity. What is made of bf16 is hidden from it, which costs no instruction. */
#include "codegen/emit/emit.h"
#include <math.h>

enum { MOST_DEEP = 6, HALF = 16, MOST_SEEN = 64 };

/* Are the lower sixteen bits of W zero? */
static bool is_upper_half(val w) {
    if (!LLVMIsAInstruction(w)) return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(w);
    val by = op == LLVMAnd || op == LLVMShl ? LLVMGetOperand(w, 1) : NULL;
    if (!by || !LLVMIsAConstantInt(by)) return false;
    uint64_t n = LLVMConstIntGetZExtValue(by);
    return op == LLVMShl ? n >= HALF : !(n & 0xffff);
}

static bool all_clean(val v, int n, int deep);

/* Where V, an f32, is not a number, are its lower bits zero? */
static bool is_clean(val v, int deep) {
    LLVMBool loses;
    if (LLVMIsAConstantFP(v)) return !isnan(LLVMConstRealGetDouble(v, &loses));
    if (!LLVMIsAInstruction(v) || deep == MOST_DEEP) return false;
    val of = LLVMGetNumOperands(v) ? LLVMGetOperand(v, 0) : NULL;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMSIToFP:
    case LLVMUIToFP:
        return true;
    case LLVMFPExt:
        return LLVMGetTypeKind(LLVMTypeOf(of)) == LLVMBFloatTypeKind;
    case LLVMBitCast:
        return is_upper_half(of);
    case LLVMFMul:
    case LLVMFAdd:
    case LLVMFSub:
        return all_clean(v, 2, deep);
    default:
        return false;
    }
}

static bool all_clean(val v, int n, int deep) {
    for (int i = 0; i < n; i++)
        if (!is_clean(LLVMGetOperand(v, (unsigned)i), deep + 1)) return false;
    return true;
}

/* Only arithmetic, which makes quiet what is not a number: of anything else the bits could change.
 */
static bool is_clean_result(val v) {
    if (!LLVMIsAInstruction(v)) return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    return (op == LLVMFMul || op == LLVMFAdd || op == LLVMFSub) && is_clean(v, 0);
}

val cg_to_bf16(cg *g, val v) {
    if (!g->t->no_bf16_rounding || !is_clean_result(v))
        return LLVMBuildFPTrunc(g->b, v, g->bf16, "");
    val bits = LLVMBuildBitCast(g->b, v, g->i32, "");
    val odd = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, bits, cg_i32(g, HALF), ""), cg_i32(g, 1), "");
    val sum = cg_add(g, cg_addi(g, bits, (1 << (HALF - 1)) - 1), odd);
    sum = LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, sum, cg_i32(g, HALF), ""), g->i16, "");
    return LLVMBuildBitCast(g->b, sum, g->bf16, "");
}

struct seen {
    val v[MOST_SEEN];
    int n;
    bool bf16; /* some are made of bf16, or there are too many to tell */
};

static LLVMTypeKind element_kind(val v) {
    LLVMTypeRef t = LLVMTypeOf(v);
    if (LLVMGetTypeKind(t) == LLVMVectorTypeKind) t = LLVMGetElementType(t);
    return LLVMGetTypeKind(t);
}

/* V and the floats it is computed of, as far as they are f32. */
static void look_for_bf16(struct seen *s, val v) {
    if (s->bf16 || !LLVMIsAInstruction(v) || element_kind(v) != LLVMFloatTypeKind) return;
    for (int i = 0; i < s->n; i++)
        if (s->v[i] == v) return;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    if (op == LLVMLoad) return;
    s->bf16 = s->n == MOST_SEEN ||
              (op == LLVMFPExt && element_kind(LLVMGetOperand(v, 0)) == LLVMBFloatTypeKind);
    if (s->bf16) return;
    s->v[s->n++] = v;
    int n = op == LLVMPHI ? (int)LLVMCountIncoming(v) : LLVMGetNumOperands(v);
    for (int i = 0; i < n; i++)
        look_for_bf16(s, op == LLVMPHI ? LLVMGetIncomingValue(v, (unsigned)i)
                                       : LLVMGetOperand(v, (unsigned)i));
}

/* May V be a product as it is? */
static bool is_product(val v, int deep) {
    if (!LLVMIsAInstruction(v)) return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    bool same = op == LLVMSelect || op == LLVMFNeg || op == LLVMInsertElement || op == LLVMPHI;
    if (op == LLVMFMul || (same && deep == MOST_DEEP)) return true;
    int n = op == LLVMPHI ? (int)LLVMCountIncoming(v) : same ? LLVMGetNumOperands(v) : 0;
    for (int i = 0; i < n; i++)
        if (is_product(op == LLVMPHI ? LLVMGetIncomingValue(v, (unsigned)i)
                                     : LLVMGetOperand(v, (unsigned)i),
                       deep + 1))
            return true;
    return false;
}

val cg_before_f16(cg *g, val v) {
    struct seen s = {.n = 0};
    look_for_bf16(&s, v);
    bool hide = s.bf16 || (g->family->rounds_products && is_product(v, 0));
    return hide ? g->family->opaque(g, v) : v;
}

val cg_to_f16(cg *g, val v) {
    return LLVMBuildFPTrunc(g->b, cg_before_f16(g, v), g->f16, "");
}

/* Not LLVM's copysign, nor what it takes to be one: rounded to bf16 that would take its sign from
 * an f16, which AMD's targets cannot do. */
val cg_with_sign(cg *g, val size, val sign) {
    val s = LLVMBuildAnd(g->b, LLVMBuildBitCast(g->b, sign, g->i32, ""), cg_i32(g, INT32_MIN), "");
    s = LLVMBuildOr(g->b, LLVMBuildBitCast(g->b, size, g->i32, ""), s, "");
    return LLVMBuildBitCast(g->b, s, g->f32, "");
}
