/* Waits for ranges that tensors decide. What a bound reads is an unknown number: every value that
 * keeps the range inside the event is tried, each making classes of its own, and an access whose
 * index holds the same expression moves with it. */
#include "diag.h"
#include "verify_int.h"
#include <string.h>

/* The term of a sum that reads a tensor; the others do not. None when there are two. */
static et_expr unknown_in(struct verify *v, et_expr e) {
    for (;;) {
        const et_node_x *n = et_x(v->x, e);
        if (n->op != ET_X_ADD && n->op != ET_X_SUB) return e;
        bool left = vf_has_load(v, n->ops[0]), right = vf_has_load(v, n->ops[1]);
        if (left == right || (right && n->op == ET_X_SUB)) return ET_NO_EXPR;
        e = n->ops[left ? 0 : 1];
    }
}

static bool note_bound(struct verify *v, struct vf_grid *g, int wait, int d, et_expr e) {
    if (!vf_has_load(v, e)) return true;
    et_expr u = unknown_in(v, e), rest = u.id ? et_sub(v->x, e, u) : e;
    int k = 0;
    while (k < g->nunknown && !et_expr_eq(g->unknown[k], u))
        k++;
    if (!u.id || vf_has_load(v, rest) || k == VF_UNKNOWNS || g->nbounds == VF_BOUNDS) return false;
    g->unknown[k] = u;
    if (k == g->nunknown) g->nunknown++;
    g->bound[g->nbounds++] = (struct vf_bound){k, g->g->waits[wait].event, d, rest};
    if (g->first_unknown < 0) g->first_unknown = wait;
    return true;
}

/* A load inside a bound is an access of the task, before the wait it is part of. */
static void note_load(void *ctx, et_expr e) {
    struct vf_reader *r = ctx;
    const et_node_x *n = et_x(r->v->x, e);
    if (n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR)
        vf_add_access(r->v, r->g, NULL, n->i, false, n->ops);
}

void vf_find_unknowns(struct verify *v, struct vf_grid *g) {
    g->first_unknown = -1;
    for (int w = 0; w < g->g->nwaits; w++)
        for (int d = 0; d < v->p->events[g->g->waits[w].event].rank; d++) {
            const et_expr e[] = {g->g->waits[w].lo[d], g->g->waits[w].hi[d]};
            for (int i = 0; i < 2; i++) {
                struct vf_reader r = {v, g};
                et_walk(v->x, e[i], note_load, &r);
                if (!note_bound(v, g, w, d, e[i])) g->untold = true;
            }
        }
}

/* An index that a tensor holds is taken to be less than 2^30 either way: what is added to it does
 * not wrap around. */
static struct vf_range sane(struct vf_range r) {
    const int64_t most = (int64_t)1 << 30;
    r.lo = r.lo < -most ? -most : r.lo;
    r.hi = r.hi > most ? most : r.hi;
    return r;
}

void vf_measure_unknowns(struct verify *v, struct vf_grid *g) {
    g->values = 1;
    if (!g->nunknown) return;
    for (int c = 0; c < g->f->ncoords; c++)
        v->var[g->f->coord[c]] = (struct vf_range){0, g->extent[c] - 1};
    for (int i = 0; i < g->depth; i++)
        v->var[v->p->g->loops[g->path[i]].var] =
            (struct vf_range){0, v->loop[g->path[i]].trips - 1};
    v->entered = NULL;
    for (int k = 0; k < g->nunknown; k++) {
        struct vf_range may = sane(vf_eval(v, g->unknown[k])), told = {INT64_MAX, INT64_MIN};
        for (int b = 0; b < g->nbounds; b++) {
            const struct vf_bound *bd = &g->bound[b];
            if (bd->unknown != k) continue;
            struct vf_range off = vf_eval(v, bd->rest);
            int64_t n = vf_eval(v, v->p->events[bd->event].dim[bd->dim]).hi;
            told.lo = -off.hi - 1 < told.lo ? -off.hi - 1 : told.lo;
            told.hi = n - off.lo > told.hi ? n - off.lo : told.hi;
        }
        /* What lies further out is one value more at either end: no bound tells it from the next.
         */
        g->from[k] = told.lo > may.hi ? may.hi : told.lo > may.lo ? told.lo : may.lo;
        int64_t to = told.hi < may.lo ? may.lo : told.hi < may.hi ? told.hi : may.hi;
        g->may[k] = may;
        g->among[k] = to - g->from[k] + 1;
        if (__builtin_mul_overflow(g->values, g->among[k], &g->values)) g->values = INT64_MAX;
    }
}

void vf_know(struct verify *v, const struct vf_grid *g, int64_t value) {
    v->entered = g->nunknown ? g : NULL;
    for (int k = g->nunknown - 1; k >= 0; k--) {
        int64_t at = value % g->among[k], near = g->from[k] + at;
        v->near[k] = near;
        v->known[k] = (struct vf_range){at == 0 ? g->may[k].lo : near,
                                        at == g->among[k] - 1 ? g->may[k].hi : near};
        value /= g->among[k];
    }
}

bool vf_lookup(const struct verify *v, et_expr e, struct vf_range *out) {
    for (int k = 0; k < v->entered->nunknown; k++)
        if (et_expr_eq(e, v->entered->unknown[k])) {
            *out = v->pointwise ? (struct vf_range){v->near[k], v->near[k]} : v->known[k];
            return true;
        }
    return false;
}
