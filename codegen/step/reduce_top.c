/* REDUCE steps of TOP: which elements of a row are its largest. A maximum is looked for once for
 * each place, among what comes after the place before, so nothing that has been found is marked,
 * and values stay in registers where a lane has few. */
#include "codegen/step/reduce.h"
#include <limits.h>
#include <math.h>

struct top {
    const et_reduce_loop *r;
    val sub;      /* of the lanes that share a row */
    bool all;     /* the workgroup shares each row */
    bool guarded; /* lanes of a wave may have no row */
};

/* What all elements come after. */
static struct best before_all(cg *g, const et_reduce_loop *r) {
    return (struct best){r->real ? cg_f32(g, (double)INFINITY) : cg_i32(g, INT_MAX), cg_i32(g, -1)};
}

static struct best next_place(cg *g, const struct top *t, struct best behind) {
    const et_reduce_loop *r = t->r;
    int waves = g->p->workgroup / g->t->wave;
    struct best b;
    cg_reduce_parts(g, r, &behind, t->sub, &b);
    g->diverged = t->guarded;
    cg_reduce_fold(g, r, &b, 1, t->all ? g->t->wave : r->plan.lanes);
    g->diverged = false;
    if (!t->all) return b;
    cg_reduce_store_parts(g, r, cg_i32(g, 0), g->wave, waves, &b);
    cg_barrier(g);
    b = cg_reduce_waves(g, r, cg_i32(g, 0), waves);
    cg_barrier(g); /* partial results have been read */
    return b;
}

/* The places of the row that is bound. */
static void places(cg *g, const struct top *t) {
    const et_reduce_loop *r = t->r;
    struct best b = before_all(g, r);
    val v[2] = {b.v, b.at};
    cg_for f;
    cg_if first;
    val place = cg_for_begin(g, &f, cg_i32(g, 0), cg_i32(g, r->places), cg_i32(g, 1), true, 2, v);
    int mark = cg_scope(g);
    cg_bind(g, r->s->vars[r->s->nvars - 1], place, false);
    b = next_place(g, t, (struct best){v[0], v[1]});
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, t->sub, cg_i32(g, 0)));
    cg_reduce_store(g, r, b);
    cg_if_end(g, &first);
    cg_scope_end(g, mark);
    v[0] = b.v, v[1] = b.at;
    cg_for_end(g, &f, v);
}

static void top_row(cg *g, const struct top *t, val row) {
    const et_step *s = t->r->s;
    cg_if masked;
    int mark = cg_scope(g), n = s->nvars - 1;
    cg_decode(g, row, n, s->vars, t->r->row_extent);
    for (int i = 0; t->r->plan.lanes >= g->t->wave && i < n; i++)
        g->divergent[s->vars[i]] = false;
    if (s->mask.id) cg_if_begin(g, &masked, cg_emit(g, s->mask));
    int inner = cg_scope(g);
    places(g, t);
    cg_scope_end(g, inner);
    if (s->mask.id) cg_if_end(g, &masked);
    cg_scope_end(g, mark);
}

void cg_reduce_top(cg *g, const et_reduce_loop *r) {
    int lanes = r->plan.lanes;
    struct top t = {.r = r, .sub = g->tid, .all = lanes > g->t->wave};
    int64_t step = t.all ? 1 : et_reduce_beside(cg_cx(g), lanes);
    bool looped = r->rows > step, guarded = r->rows % step != 0;
    val row = cg_i32(g, 0), none = NULL;
    cg_for f;
    cg_if in;
    if (!t.all) {
        row = LLVMBuildUDiv(g->b, g->tid, cg_i32(g, lanes), "");
        t.sub = LLVMBuildURem(g->b, g->tid, cg_i32(g, lanes), "");
        t.guarded = lanes < g->t->wave && (guarded || r->s->mask.id);
    }
    if (looped)
        row = cg_add(
            g,
            cg_for_begin(g, &f, cg_i32(g, 0), cg_i32(g, r->rows), cg_i32(g, step), true, 0, &none),
            row);
    if (guarded) cg_if_begin(g, &in, cg_icmp(g, LLVMIntSLT, row, cg_i32(g, r->rows)));
    top_row(g, &t, row);
    if (guarded) cg_if_end(g, &in);
    if (looped) cg_for_end(g, &f, &none);
}
