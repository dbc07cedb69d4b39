/* Waits for ranges that tensors decide. What a bound reads is an unknown number: every value that
 * keeps the range inside the event is tried, each making classes of its own, and an access whose
 * index holds the same expression moves with it. */
#include "ir/base/diag.h"
#include "ir/verify/int.h"
#include <string.h>

/* The term of a sum that reads a tensor; the others do not. None when there are two. */
static et_expr unknown_in(struct verify *v, et_expr e) {
    for (;;) {
        const et_node_x *n = et_x(v->x, e);
        if (n->op != ET_X_ADD && n->op != ET_X_SUB) return e;
        bool left = et_expr_loads(v->x, n->ops[0]), right = et_expr_loads(v->x, n->ops[1]);
        if (left == right || (right && n->op == ET_X_SUB)) return ET_NO_EXPR;
        e = n->ops[left ? 0 : 1];
    }
}

static bool note_bound(struct verify *v, struct vf_grid *g, int wait, int d, et_expr e) {
    if (!et_expr_loads(v->x, e)) return true;
    et_expr u = unknown_in(v, e), rest = u.id ? et_sub(v->x, e, u) : e;
    int k = 0;
    while (k < g->nunknown && !et_expr_eq(g->unknown[k], u))
        k++;
    if (!u.id || et_expr_loads(v->x, rest) || k == VF_UNKNOWNS || g->nbounds == VF_BOUNDS)
        return false;
    g->unknown[k] = u;
    if (k == g->nunknown) g->nunknown++;
    g->bound[g->nbounds++] = (struct vf_bound){k, g->g->waits[wait].event, d, rest};
    return true;
}

/* Some index of the grid's steps holds U. */
static bool comes_up(struct verify *v, const struct vf_grid *g, et_expr u) {
    for (int i = 0; i < g->naccess; i++)
        for (int d = 0; d < v->p->tensors[g->access[i].tensor].shape.rank; d++) {
            et_expr e = g->access[i].index[d];
            if (g->access[i].step && !et_expr_eq(et_replace(v->x, e, u, et_int(v->x, 0)), e))
                return true;
        }
    return false;
}

/* The bounds of a wait, all or none. STRICTLY: unknown numbers are loads, or come up in an index.
 */
static bool note_bounds(struct verify *v, struct vf_grid *g, int wait, bool strictly) {
    const et_wait *w = &g->g->waits[wait];
    int unknowns = g->nunknown, bounds = g->nbounds;
    bool all = true;
    for (int d = 0; d < v->p->events[w->event].rank && all; d++)
        all = note_bound(v, g, wait, d, w->lo[d]) && note_bound(v, g, wait, d, w->hi[d]);
    for (int k = unknowns; k < g->nunknown && all && strictly; k++)
        all = et_x(v->x, g->unknown[k])->op == ET_X_LOAD || comes_up(v, g, g->unknown[k]);
    if (all) return true;
    g->nunknown = unknowns;
    g->nbounds = bounds;
    return false;
}

/* ---- what waits, notifies and counts read ---- */

struct reader {
    struct verify *v;
    struct vf_grid *g;
    struct vf_access like;
    bool found;
};

/* The load is an access of the task. */
static void note_load(void *ctx, et_expr e) {
    struct reader *r = ctx;
    const et_node_x *n = et_x(r->v->x, e);
    if (n->op != ET_X_LOAD || n->i2 != ET_LOAD_TENSOR) return;
    r->found = true;
    r->like.tensor = n->i;
    memcpy(r->like.index, n->ops, (size_t)n->nops * sizeof *n->ops);
    vf_add_access(r->v, r->g, &r->like);
}

static void read_extents(struct reader *r) {
    for (int i = 0; i < r->like.nvars; i++)
        et_walk(r->v->x, et_var_extent(r->v->x, r->like.vars[i]), note_load, r);
}

static bool read_count(struct verify *v, struct vf_grid *g, const et_event *ev, bool early) {
    struct reader r = {.v = v, .g = g, .like = {.early = early}};
    int *vars = et_alloc(v->arena, sizeof(int[ET_MAX_RANK]));
    for (int d = 0; d < ev->rank; d++)
        if (ev->var[d]) vars[r.like.nvars++] = ev->var[d] - 1;
    r.like.vars = vars;
    et_walk(v->x, ev->count, note_load, &r);
    return r.found;
}

static void read_wait(struct verify *v, struct vf_grid *g, int w) {
    const et_wait *wt = &g->g->waits[w];
    const et_event *ev = &v->p->events[wt->event];
    struct reader r = {
        .v = v, .g = g, .like = {.early = true, .nvars = wt->nvars, .vars = wt->vars}};
    for (int d = 0; d < ev->rank; d++) {
        et_walk(v->x, wt->lo[d], note_load, &r);
        et_walk(v->x, wt->hi[d], note_load, &r);
    }
    read_extents(&r);
    bool bounds = !wt->nvars;
    bool known = !r.found || (bounds && note_bounds(v, g, w, true)) || vf_find_point(v, g, w) ||
                 (bounds && note_bounds(v, g, w, false));
    g->untold |= !known;
    if (read_count(v, g, ev, true)) r.found = true;
    if (r.found && g->first_unknown < 0) g->first_unknown = w;
}

static void read_notify(struct verify *v, struct vf_grid *g, const et_notify *no) {
    const et_event *ev = &v->p->events[no->event];
    struct reader r = {.v = v, .g = g, .like = {.nvars = no->nvars, .vars = no->vars}};
    for (int d = 0; d < ev->rank; d++)
        et_walk(v->x, no->index[d], note_load, &r);
    read_extents(&r);
    read_count(v, g, ev, false);
}

void vf_find_unknowns(struct verify *v, struct vf_grid *g) {
    g->first_unknown = -1;
    for (int w = 0; w < g->g->nwaits; w++)
        read_wait(v, g, w);
    for (int n = 0; n < g->g->nnotifies; n++)
        read_notify(v, g, &g->g->notifies[n]);
    vf_match_points(v, g);
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
