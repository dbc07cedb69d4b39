/* Exchange between the lanes of a warp: shuffles, votes. The instructions wait for all lanes in
 * their mask, so lanes that have diverged reconverge here. */
#include "codegen/targets/nvptx/nvptx.h"

static val everyone(cg *g) {
    return cg_i32(g, -1);
}

static val shuffle(cg *g, const char *name, val who, val v, val lane) {
    return cg_call(g, name, 0, NULL, 4, (val[]){who, v, lane, cg_i32(g, 31)});
}

static val broadcast(cg *g, val v, val lane) {
    return shuffle(g, "llvm.nvvm.shfl.sync.idx.i32", everyone(g), v, lane);
}

static val of_first(cg *g, val v) {
    return broadcast(g, v, cg_i32(g, 0));
}

/* Called where all lanes are active: the first is lane 0. */
val nvptx_first_active(cg *g, val v) {
    LLVMTypeRef t = LLVMTypeOf(v);
    if (t == g->i32) return of_first(g, v);
    if (t == g->i64) {
        val low = of_first(g, LLVMBuildTrunc(g->b, v, g->i32, ""));
        val high = LLVMBuildLShr(g->b, v, cg_i64(g, 32), "");
        high = of_first(g, LLVMBuildTrunc(g->b, high, g->i32, ""));
        high = LLVMBuildShl(g->b, LLVMBuildZExt(g->b, high, g->i64, ""), cg_i64(g, 32), "");
        return LLVMBuildOr(g->b, high, LLVMBuildZExt(g->b, low, g->i64, ""), "");
    }
    if (LLVMGetTypeKind(t) == LLVMPointerTypeKind)
        return LLVMBuildIntToPtr(
            g->b, nvptx_first_active(g, LLVMBuildPtrToInt(g->b, v, g->i64, "")), t, "");
    if (t == g->i1)
        return LLVMBuildTrunc(g->b, of_first(g, LLVMBuildZExt(g->b, v, g->i32, "")), t, "");
    return LLVMBuildBitCast(g->b, of_first(g, LLVMBuildBitCast(g->b, v, g->i32, "")), t, "");
}

val nvptx_read_lane(cg *g, val v, val lane) {
    return broadcast(g, v, lane);
}

/* Where lanes may be inactive, the mask contains only the two that exchange values. */
val nvptx_shuffle_xor(cg *g, val v, int mask) {
    val who = everyone(g);
    if (g->diverged) {
        val first = LLVMBuildAnd(g->b, g->lane, cg_i32(g, ~mask), "");
        who = LLVMBuildShl(g->b, cg_i32(g, 1 | (int64_t)1 << mask), first, "");
    }
    return shuffle(g, "llvm.nvvm.shfl.sync.bfly.i32", who, v, cg_i32(g, mask));
}

val nvptx_ballot(cg *g, val pred) {
    return cg_call(g, "llvm.nvvm.vote.ballot.sync", 0, NULL, 2, (val[]){everyone(g), pred});
}

val nvptx_lanes_before(cg *g, val mask) {
    val below = cg_call(g, "llvm.nvvm.read.ptx.sreg.lanemask.lt", 0, NULL, 0, NULL);
    return cg_count_lanes(g, LLVMBuildAnd(g->b, mask, below, ""));
}
