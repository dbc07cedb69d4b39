/* The first weights of a product where a tensor says which they are. */
#include "codegen/step/product/weights.h"
#include "ir/base/diag.h"
#include <string.h>

/* The first weights, in flight by a guess (ir/product/early.c). */
struct et_early {
    et_guess of;
    val was[ET_MOST_GUESSED]; /* what each of its loads brought */
};

static void load_first(cg *g, et_contract *c) {
    cg_contract_load(g, c, cg_i32(g, 0), ET_FROM_BOTH, c->now.first[0]);
    if (c->p.deep) cg_contract_load(g, c, cg_i32(g, 1), ET_FROM_BOTH, c->now.first[1]);
}

/* FIRST of C where control comes from WAY, which has just ended, else OTHER's; NULL: undefined. */
static void either(cg *g, et_contract *c, const cg_if *way, val other[ET_DEEP][ET_MAX_FRAGMENTS]) {
    for (int d = 0; d < (c->p.deep ? ET_DEEP : 1); d++)
        for (int i = 0; i < c->p.nload; i++) {
            val v = c->now.first[d][i];
            val phi = LLVMBuildPhi(g->b, LLVMTypeOf(v), "");
            val o = other ? other[d][i] : LLVMGetPoison(LLVMTypeOf(v));
            LLVMAddIncoming(phi, (val[]){v, o}, (block[]){way->then, way->otherwise}, 2);
            c->now.first[d][i] = phi;
        }
}

void cg_contract_guess(cg *g, et_contract *c) {
    struct et_early *u = c->now.guess = et_alloc(g->arena, sizeof *u);
    et_check(et_early_guess(cg_cx(g), &c->p, &u->of));
    int mark = cg_scope(g);
    for (int i = 0; i < u->of.n; i++)
        u->was[i] = cg_emit(g, u->of.load[i]); /* and so it is in this scope */
    val any = LLVMBuildZExt(g->b, cg_emit(g, c->p.cond), g->i32, "");
    cg_if some;
    cg_if_begin(g, &some, cg_icmp(g, LLVMIntNE, cg_uniform(g, any), cg_i32(g, 0)));
    int inner = cg_scope(g);
    c->now.kend = cg_emit_i32(g, c->p.extent);
    cg_contract_rows(g, c);
    load_first(g, c);
    cg_scope_end(g, inner);
    cg_if_end(g, &some);
    either(g, c, &some, NULL);
    cg_scope_end(g, mark);
}

void cg_contract_guessed(cg *g, et_contract *c) {
    const struct et_early *u = c->now.guess;
    val was[ET_DEEP][ET_MAX_FRAGMENTS], other = LLVMConstInt(g->i1, 0, false);
    for (int i = 0; i < u->of.n; i++) {
        val differs = cg_icmp(g, LLVMIntNE, u->was[i], cg_emit(g, u->of.load[i]));
        other = LLVMBuildOr(g->b, other, differs, "");
    }
    memcpy(was, c->now.first, sizeof was);
    other = LLVMBuildZExt(g->b, other, g->i32, "");
    cg_if miss;
    cg_if_begin(g, &miss, cg_icmp(g, LLVMIntNE, cg_uniform(g, other), cg_i32(g, 0)));
    int mark = cg_scope(g);
    load_first(g, c);
    cg_scope_end(g, mark);
    cg_if_end(g, &miss);
    either(g, c, &miss, was);
}
