/* Where a wave and a lane are in a product: their part of the tile, of k and of a fragment. */
#include "codegen/step/operand/operand.h"
#include "ir/base/diag.h"

void cg_contract_plan(cg *g, const et_step *s, et_contract *out) {
    const char *why;
    *out = (et_contract){.other = NULL};
    if (!et_mainloop_of(cg_cx(g), s, cg_plan_of(g, s), &out->p, &why))
        et_bug("%s: %s", g->f->name, why);
}

/* The part of a place that the number of this lane has. Where the numbers of neighbouring bits
 * double from one to the next they are moved there together. */
val cg_contract_dealt(cg *g, const et_deal *d) {
    val place = NULL;
    int most = 0, lanes = g->t->wave == 64 ? 6 : 5;
    for (int i = 0, n; i < lanes; i += n) {
        for (n = 1; i + n < lanes && d->lane[i + n] == d->lane[i] << n; n++) {
        }
        if (!d->lane[i]) continue;
        bool low = i + n <= 4; /* most are of the lane's place among sixteen: a value to share */
        val part = low ? LLVMBuildAnd(g->b, g->lane, cg_i32(g, 15), "") : g->lane;
        if (i) part = LLVMBuildLShr(g->b, part, cg_i32(g, i), "");
        if (i + n < (low ? 4 : lanes)) part = LLVMBuildAnd(g->b, part, cg_i32(g, (1 << n) - 1), "");
        part = cg_muli(g, part, d->lane[i]);
        place = place ? cg_add(g, part, place) : part;
        most += d->lane[i] * ((1 << n) - 1);
    }
    if (most > 15) place = LLVMBuildAnd(g->b, place, cg_i32(g, 15), "");
    return place ? place : cg_i32(g, 0);
}

int cg_contract_sum(const et_contract *c, int i, int ms, int ns) {
    if (c->p.warpgroup == ET_WARPGROUP_N) return (i * c->p.nsub + ns) * c->p.msub + ms;
    return (i * c->p.msub + ms) * c->p.nsub + ns;
}

/* REST modulo N, of which the quotient is left. */
static val digit(cg *g, val *rest, int n) {
    val by = cg_i32(g, n), all = *rest;
    if (n == 1) return cg_i32(g, 0);
    *rest = LLVMBuildUDiv(g->b, all, by, "");
    return LLVMBuildURem(g->b, all, by, "");
}

/* Where this wave and lane are in it. */
void cg_contract_place(cg *g, et_contract *c) {
    const et_step *s = c->p.s;
    val rest = g->wave, ng;
    if (c->p.warpgroup == ET_WARPGROUP_M) { /* neighbouring waves have neighbouring rows */
        c->at.m0 = digit(g, &rest, s->wm);
        ng = digit(g, &rest, s->wn);
    } else {
        ng = digit(g, &rest, s->wn);
        c->at.m0 = digit(g, &rest, s->wm);
    }
    c->at.ks = digit(g, &rest, s->wk); /* waves that are left do what others do, and store none */
    c->at.m0 = cg_muli(g, c->at.m0, c->p.bands > 1 ? 16 : (int64_t)c->p.msub * 16);
    c->at.n0 = cg_muli(g, ng, (int64_t)c->p.nsub * 16);
    if (c->p.next_n > 16) { /* pieces of a group's waves are beside each other */
        val first = LLVMBuildURem(g->b, ng, cg_i32(g, g->t->warpgroup->waves), "");
        c->at.n0 = cg_muli(g, LLVMBuildSub(g->b, ng, first, ""), (int64_t)c->p.nsub * 16);
        c->at.n0 = cg_add(g, c->at.n0, cg_muli(g, first, 16));
    }
    if (c->p.products < s->nacc && !c->p.side_by_side) {
        val columns = cg_i32(g, s->tn);
        c->at.product = LLVMBuildUDiv(g->b, c->at.n0, columns, "");
        c->at.n0 = LLVMBuildURem(g->b, c->at.n0, columns, "");
    }
    const et_layout *l = c->p.fr->layout;
    val group = c->at.group = cg_contract_dealt(g, &l->k);
    c->at.lane_m = cg_contract_dealt(g, &l->m);
    c->at.lane_n = cg_contract_dealt(g, &l->n);
    c->at.lane_k0 = cg_muli(g, group, c->p.in_steps ? c->p.lane_k / 2 : c->p.lane_k);
    c->at.out_n = cg_contract_dealt(g, &c->p.sums->sum_n);
    c->at.out_m = cg_contract_dealt(g, &c->p.sums->sum_m);
    c->at.kpart = cg_muli(g, c->at.ks, c->p.kc / s->wk);
}
