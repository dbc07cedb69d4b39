/* What LLVM would make wrong machine code of, written in another way once it has optimised.
 *
 * A negation of a vector: instruction selection moves it through roundings, choices and products
 * to where elements are words made by integer instructions, and takes these for the two halves of
 * one f64, of which only the last is negated. */
#include "codegen/targets/amdgpu/amdgpu.h"
#include <llvm-c/Core.h>

static bool negates_vector(val v) {
    return LLVMGetInstructionOpcode(v) == LLVMFNeg &&
           LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

static void negate_one_by_one(cg *g, val v) {
    val of = LLVMGetOperand(v, 0), out = LLVMGetPoison(LLVMTypeOf(v));
    LLVMPositionBuilderBefore(g->b, v);
    for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(v)); i++) {
        val at = cg_i32(g, (int)i);
        val one = LLVMBuildFNeg(g->b, LLVMBuildExtractElement(g->b, of, at, ""), "");
        out = LLVMBuildInsertElement(g->b, out, one, at, "");
    }
    LLVMReplaceAllUsesWith(v, out);
    LLVMInstructionEraseFromParent(v);
}

void amdgpu_mend(cg *g) {
    for (val f = LLVMGetFirstFunction(g->mod); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (val v = LLVMGetFirstInstruction(b), next; v; v = next) {
                next = LLVMGetNextInstruction(v);
                if (negates_vector(v)) negate_one_by_one(g, v);
            }
}
