/* How work-items share the iterations of a step, and lanes the places of a matrix. */
#include "codegen/step/step.h"

val cg_items_begin(cg *g, cg_items *s, val total, int64_t constant) {
    int wg = g->p->workgroup;
    *s = (cg_items){0};
    val item = g->tid;
    s->looped = constant < 0 || constant > wg;
    s->guarded = constant < 0 || constant % wg;
    if (s->looped) {
        val first =
            cg_for_begin(g, &s->loop, cg_i32(g, 0), total, cg_i32(g, wg), constant > 0, 0, NULL);
        item = cg_add(g, first, g->tid);
    }
    if (s->guarded) cg_if_begin(g, &s->guard, cg_icmp(g, LLVMIntULT, item, total));
    return item;
}

void cg_items_end(cg *g, cg_items *s) {
    if (s->guarded) cg_if_end(g, &s->guard);
    if (s->looped) cg_for_end(g, &s->loop, NULL);
}

void cg_decode(cg *g, val item, int n, const int *vars, const int64_t *extent) {
    for (int i = n - 1; i >= 0; i--) {
        if (extent[i] == 1) {
            cg_bind(g, vars[i], cg_i32(g, 0), false);
            continue;
        }
        bool top = true;
        for (int k = 0; k < i; k++)
            top &= extent[k] == 1;
        val size = cg_i32(g, extent[i]);
        cg_bind(g, vars[i], top ? item : LLVMBuildURem(g->b, item, size, ""), true);
        if (!top) item = LLVMBuildUDiv(g->b, item, size, "");
    }
}

val cg_dealt(cg *g, const et_deal *d) {
    val sum = cg_i32(g, 0);
    for (int i = 0; 1 << i < g->t->wave; i++) {
        if (!et_deal_lane(d, 1 << i)) continue;
        val bit =
            LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, g->lane, cg_i32(g, i), ""), cg_i32(g, 1), "");
        sum = cg_add(g, sum, cg_muli(g, bit, et_deal_lane(d, 1 << i)));
    }
    return sum;
}
