/* Rounding f32 to bf16 where the target has no instruction for it. LLVM's way has three
 * instructions that keep what is not a number so, whatever its bits: adding half of the last place
 * could carry into its exponent. Products and sums of bf16 and of integers need none of them: what
 * is not a number among those has nothing in the lower half, and stays what it is. */
#include "codegen/emit/emit.h"
#include <math.h>

enum { MOST_DEEP = 6, HALF = 16 };

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
    if (!g->t->rounds_apart || !is_clean_result(v)) return LLVMBuildFPTrunc(g->b, v, g->bf16, "");
    val bits = LLVMBuildBitCast(g->b, v, g->i32, "");
    val odd = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, bits, cg_i32(g, HALF), ""), cg_i32(g, 1), "");
    val sum = cg_add(g, cg_addi(g, bits, (1 << (HALF - 1)) - 1), odd);
    sum = LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, sum, cg_i32(g, HALF), ""), g->i16, "");
    return LLVMBuildBitCast(g->b, sum, g->bf16, "");
}
