/* Random numbers from a counter, as ir/expr/philox.h has them: ten rounds of two products each.
 * What of it does not depend on the element, LLVM finds. Each is some 130 instructions, and LLVM's
 * time grows faster than a block: a program of very many calls a function for those that follow. */
#include "ir/expr/philox.h"
#include "codegen/emit/emit.h"

/* Random numbers of a program that are emitted where they are needed. */
enum { INLINE = 32 };

struct product {
    val high, low;
};

static struct product multiply(cg *g, uint32_t by, val word) {
    val wide = LLVMBuildZExt(g->b, word, g->i64, "");
    val p = LLVMBuildMul(g->b, wide, LLVMConstInt(g->i64, by, false), "");
    val high = LLVMBuildLShr(g->b, p, LLVMConstInt(g->i64, 32, false), "");
    return (struct product){LLVMBuildTrunc(g->b, high, g->i32, ""),
                            LLVMBuildTrunc(g->b, p, g->i32, "")};
}

/* The HIGH half of a product, a word of the counter and one of the key. */
static val mix(cg *g, val high, val word, val key) {
    return LLVMBuildXor(g->b, LLVMBuildXor(g->b, high, word, ""), key, "");
}

static val rounds(cg *g, val seed, val i, val j) {
    val zero = LLVMConstNull(g->i32), c[4] = {i, j, zero, zero}, k0 = seed, k1 = zero;
    for (int round = 0; round < ET_PHILOX_ROUNDS; round++) {
        struct product p0 = multiply(g, ET_PHILOX_M0, c[0]), p1 = multiply(g, ET_PHILOX_M1, c[2]);
        c[0] = mix(g, p1.high, c[1], k0);
        c[1] = p1.low;
        c[2] = mix(g, p0.high, c[3], k1);
        c[3] = p0.low;
        k0 = cg_add(g, k0, LLVMConstInt(g->i32, ET_PHILOX_W0, false));
        k1 = cg_add(g, k1, LLVMConstInt(g->i32, ET_PHILOX_W1, false));
    }
    return c[0];
}

struct cg_random {
    int n;  /* emitted so far */
    val fn; /* for those after INLINE */
    LLVMTypeRef type;
};

static void make(cg *g) {
    struct cg_random *r = g->random;
    LLVMTypeRef word[] = {g->i32, g->i32, g->i32};
    block here = cg_here(g);
    r->type = LLVMFunctionType(g->i32, word, 3, false);
    r->fn = LLVMAddFunction(g->mod, "random_bits", r->type);
    LLVMSetLinkage(r->fn, LLVMInternalLinkage);
    g->family->declare_body(g, r->fn, ET_ALL_DIVERGENT);
    cg_at(g, LLVMAppendBasicBlockInContext(g->ctx, r->fn, "entry"));
    val seed = LLVMGetParam(r->fn, 0), i = LLVMGetParam(r->fn, 1), j = LLVMGetParam(r->fn, 2);
    LLVMBuildRet(g->b, rounds(g, seed, i, j));
    cg_at(g, here);
}

void cg_begin_random(cg *g) {
    g->random = et_alloc(g->arena, sizeof *g->random);
}

val cg_philox(cg *g, val seed, val i, val j) {
    struct cg_random *r = g->random;
    val arg[] = {seed, i, j};
    if (r->n++ < INLINE) return rounds(g, seed, i, j);
    if (!r->fn) make(g);
    val bits = LLVMBuildCall2(g->b, r->type, r->fn, arg, 3, "");
    g->family->call_body(g, bits, ET_ALL_DIVERGENT);
    return bits;
}
