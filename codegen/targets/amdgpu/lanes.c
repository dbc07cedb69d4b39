/* Exchange between the lanes of a wave: shuffles, votes, reads of another lane. */
#include "codegen/targets/amdgpu/amdgpu.h"

val amdgpu_first_active(cg *g, val v) {
    LLVMTypeRef t = LLVMTypeOf(v);
    return cg_call(g, "llvm.amdgcn.readfirstlane", 1, &t, 1, &v);
}

val amdgpu_read_lane(cg *g, val v, val lane) {
    return cg_call(g, "llvm.amdgcn.readlane", 1, &g->i32, 2, (val[]){v, lane});
}

val amdgpu_pick(cg *g, val v, val lane) {
    return cg_call(g, "llvm.amdgcn.ds.bpermute", 0, NULL, 2, (val[]){cg_muli(g, lane, 4), v});
}

val amdgpu_shuffle_xor(cg *g, val v, int mask) {
    if (mask == 1 || mask == 2) { /* within four lanes: a DPP permutation, which becomes part of the
                                     instruction that uses it */
        val args[] = {LLVMGetPoison(g->i32),
                      v,
                      cg_i32(g, mask == 1 ? 0xB1 : 0x4E),
                      cg_i32(g, 15),
                      cg_i32(g, 15),
                      LLVMConstInt(g->i1, 1, false)};
        return cg_call(g, "llvm.amdgcn.update.dpp", 1, &g->i32, 6, args);
    }
    if (mask < 32)
        return cg_call(g, "llvm.amdgcn.ds.swizzle", 0, NULL, 2,
                       (val[]){v, cg_i32(g, mask << 10 | 31)});
    return amdgpu_pick(g, v, LLVMBuildXor(g->b, g->lane, cg_i32(g, mask), ""));
}

val amdgpu_ballot(cg *g, val pred) {
    return cg_call(g, "llvm.amdgcn.ballot", 1, &g->mask, 1, &pred);
}

val amdgpu_lanes_before(cg *g, val mask) {
    bool wide = g->mask == g->i64;
    val low = wide ? LLVMBuildTrunc(g->b, mask, g->i32, "") : mask;
    val n = cg_call(g, "llvm.amdgcn.mbcnt.lo", 0, NULL, 2, (val[]){low, cg_i32(g, 0)});
    if (!wide) return n;
    val high = LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, mask, cg_i64(g, 32), ""), g->i32, "");
    return cg_call(g, "llvm.amdgcn.mbcnt.hi", 0, NULL, 2, (val[]){high, n});
}
