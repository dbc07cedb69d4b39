/* Predicated loads. */
#include "codegen/targets/amdgpu/amdgpu.h"

static LLVMTypeRef words(cg *g) {
    return LLVMVectorType(g->i32, 4);
}

/* Through a buffer descriptor, whose size is 0 where the predicate is false. Its addresses take no
 * vector instructions either. */
static val from_buffer(cg *g, val cond, val base, val advance, val offset) {
    /* Not all ones: LLVM would compute the select of COND in vector registers, and emit a loop
     * around each load. */
    const uint64_t all = UINT32_MAX - 15;
    val from = cg_gep(g, base, advance);
    val none = LLVMConstInt(g->i64, 0, false);
    val records = cg_select(g, cond, LLVMConstInt(g->i64, all, false), none);
    val stride = LLVMConstInt(g->i16, 0, false), word = cg_i32(g, amdgpu_of(g)->buffer);
    LLVMTypeRef descriptor = LLVMPointerTypeInContext(g->ctx, 8), type = words(g);
    val args[] = {from, stride, records, word};
    val buffer = cg_call(g, "llvm.amdgcn.make.buffer.rsrc", 2,
                         (LLVMTypeRef[]){descriptor, LLVMTypeOf(base)}, 4, args);
    return cg_call(g, "llvm.amdgcn.raw.ptr.buffer.load", 1, &type, 4,
                   (val[]){buffer, offset, cg_i32(g, 0), cg_i32(g, 0)});
}

val amdgpu_load_if(cg *g, val cond, val base, val advance, val offset) {
    if (amdgpu_of(g)->buffer) return from_buffer(g, cond, base, advance, offset);
    /* Where COND is false all lanes load from the same place. */
    advance = cg_select(g, cond, advance, LLVMConstInt(g->i64, 0, false));
    offset = LLVMBuildZExt(g->b, cg_select(g, cond, offset, cg_i32(g, 0)), g->i64, "");
    val v = LLVMBuildLoad2(g->b, words(g), cg_gep(g, cg_gep(g, base, advance), offset), "");
    LLVMSetAlignment(v, 16);
    return v;
}
