/* How many waves fill the stages of the weight stream (et_ring.producers): one for the whole
 * kernel, so all variants have as many. */
#include "ir/product/product.h"
#include "passes/product/product.h"

/* Why two waves cannot fill them in turn, or NULL. Of each tile that a router decides about both
 * bring some, so neither reads its choice when the next one is made. */
static const char *problem(et_program *whole, const et_product_options *o) {
    const et_program *p;
    bool routed = false;
    if (o->target->producers < 2) return "the target has one";
    if (o->resident) return "the kernel stays";
    if (o->zeros) return "pieces of zeros are left out";
    for (int k = 0; (p = et_program_part(whole, k)); k++) {
        if (p->ring.slots && p->ring.prefetch) return "a wave prefetches";
        for (int i = 0; i < p->ngrids; i++) {
            const et_func *f = &p->funcs[p->grids[i].func];
            int64_t none, most;
            if (!et_stream_is_routed(&p->grids[i])) continue;
            const et_step *s = &f->steps[et_stream_step(p, f)];
            et_span(p->g->exprs, s->kextent, &none, &most);
            if (most < 2 * s->plan[ET_PLAN_MAIN].chunk) return "tiles have one chunk";
            routed = true;
        }
    }
    return routed ? NULL : "no task waits for what decides where its weights are";
}

/* Instructions bound how fast one wave copies short rows. */
static bool gains(et_program *whole) {
    const et_program *p;
    for (int k = 0; (p = et_program_part(whole, k)); k++)
        for (int i = 0; i < p->ngrids; i++)
            if (et_stream_is_short(p, &p->grids[i])) return true;
    return false;
}

bool et_producers_plan(et_program *whole, const et_product_options *o) {
    const char *why = problem(whole, o);
    int given = 0;
    et_program *p;
    for (int k = 0; (p = et_program_part(whole, k)); k++)
        if (p->ring.producers > given) given = p->ring.producers;
    if (given > 1 && why) {
        et_diag(whole->g->diags, ET_ERROR, (et_loc){0},
                "the weight stream cannot have the %d producers that are given, for %s: %s", given,
                o->target->name, why);
        return false;
    }
    if (!given) given = !why && gains(whole) ? 2 : 1;
    for (int k = 0; (p = et_program_part(whole, k)); k++)
        if (p->ring.slots) p->ring.producers = given;
    return true;
}
