/* Loops of many iterations, shortened. A loop is uniform when its iterations speak of each other
 * only by distance: then KEPT of them, the first and the last few with the rest cut out, have every
 * pair of tasks that the whole loop has, as VERIFIER.md proves. A loop that is not uniform keeps
 * all of its iterations. */
#include "ir/base/diag.h"
#include "ir/verify/int.h"
#include <string.h>

enum { MAX_REACH = 2 };

/* Iterations kept of a loop whose waits and footprints reach back so far: the first, the last, and
 * between them enough to see that the middle repeats itself. */
static int enough(int reach) {
    return 2 + 2 * reach;
}

int64_t vf_label(const struct vf_loop *l, int at) {
    return l->shortened && at >= l->kept / 2 ? l->trips - l->kept + at : at;
}

/* Distance from the closer end at which the cut is made. */
static bool at_end(const struct vf_loop *l, int64_t i) {
    return i < l->kept / 2 || i >= l->trips - l->kept / 2;
}

bool vf_map_iteration(const struct verify *v, const struct vf_inst *in, int loop, int64_t i,
                      int64_t *out) {
    const struct vf_loop *l = &v->loop[loop];
    *out = i;
    if (!l->shortened) return true;
    const struct vf_grid *g = &v->grid[in->grid];
    for (int k = 0; k < g->depth; k++) {
        if (g->path[k] != loop) continue;
        int64_t away = i - vf_label(l, in->at[k]);
        if (away < -l->reach || away > l->reach) break;
        *out = in->at[k] + away;
        return *out >= 0 && *out < l->kept;
    }
    if (!at_end(l, i)) return false;
    *out = i < l->kept / 2 ? i : i - (l->trips - l->kept);
    return true;
}

/* ---- is a loop uniform? ---- */

/* E is the loop's variable plus a small constant. */
static bool is_near(struct verify *v, et_expr e, int loop, int64_t *out) {
    et_expr var = et_var(v->x, v->p->g->loops[loop].var);
    return et_is_int(v->x, et_sub(v->x, e, var), out) && *out >= -MAX_REACH && *out <= MAX_REACH;
}

static bool reaches(struct verify *v, et_expr e, int loop) {
    struct vf_loop *l = &v->loop[loop];
    int64_t by;
    if (!is_near(v, e, loop, &by)) return false;
    int far = (int)(by < 0 ? -by : by);
    l->reach = far > l->reach ? far : l->reach;
    return true;
}

/* A bound of a wait on a dimension that counts iterations. Inside the loop: near the variable,
 * clamped to the loop or not; the lower one may be the first iteration. Outside: the first or the
 * last. */
static bool uniform_bound(struct verify *v, et_expr e, int loop, bool inside, bool lower) {
    int64_t c, last = v->loop[loop].trips - 1;
    const et_node_x *n = et_x(v->x, e);
    if (!inside) return vf_is_int(v, e, &c) && (c == 0 || c == last);
    if (reaches(v, e, loop)) return true;
    if (vf_is_int(v, e, &c)) return lower && c == 0;
    if (n->op != ET_X_MAX && n->op != ET_X_MIN) return false;
    for (int i = 0; i < 2; i++) /* a clamp */
        if (vf_is_int(v, n->ops[i], &c) && c == (n->op == ET_X_MAX ? 0 : last))
            return reaches(v, n->ops[!i], loop);
    return false;
}

/* The loop whose iterations dimension D of an event counts: every notify there is its variable. */
static int counted_loop(struct verify *v, int event, int d) {
    const struct vf_uses *u = &v->notified[event];
    int loop = -1;
    for (int i = 0; i < u->n; i++) {
        const struct vf_grid *g = &v->grid[u->v[i].grid];
        int found = -1;
        for (int k = 0; k < g->depth; k++) {
            et_expr var = et_var(v->x, v->p->g->loops[g->path[k]].var);
            if (et_expr_eq(g->g->notifies[u->v[i].at].index[d], var)) found = g->path[k];
        }
        if (found < 0 || (loop >= 0 && loop != found)) return -1;
        loop = found;
    }
    int64_t n;
    bool whole =
        loop >= 0 && vf_is_int(v, v->p->events[event].dim[d], &n) && n == v->loop[loop].trips;
    return whole ? loop : -1;
}

static bool is_inside(const struct vf_grid *g, int loop) {
    for (int k = 0; k < g->depth; k++)
        if (g->path[k] == loop) return true;
    return false;
}

/* An extent of N variables depends on VAR. */
static bool moves(struct verify *v, int n, const int *vars, int var) {
    for (int i = 0; i < n; i++)
        if (et_expr_has_var(v->x, et_var_extent(v->x, vars[i]), var)) return true;
    return false;
}

/* A count that is not the same for the counters of all iterations. */
static bool count_moves(struct verify *v, int event, int loop) {
    const et_event *ev = &v->p->events[event];
    for (int d = 0; d < ev->rank; d++)
        if (v->event[event].loop[d] == loop && ev->var[d] &&
            et_expr_has_var(v->x, ev->count, ev->var[d] - 1))
            return true;
    return false;
}

static bool uniform_events(struct verify *v, int g, int loop) {
    const et_grid *gr = &v->p->grids[g];
    int var = v->p->g->loops[loop].var;
    bool inside = is_inside(&v->grid[g], loop);
    for (int i = 0; i < gr->nnotifies; i++)
        for (int d = 0; d < v->p->events[gr->notifies[i].event].rank; d++)
            if (v->event[gr->notifies[i].event].loop[d] != loop &&
                et_expr_has_var(v->x, gr->notifies[i].index[d], var))
                return false;
    for (int i = 0; i < gr->nnotifies; i++)
        if (moves(v, gr->notifies[i].nvars, gr->notifies[i].vars, var)) return false;
    for (int i = 0; i < gr->nwaits; i++) {
        const et_wait *w = &gr->waits[i];
        if (moves(v, w->nvars, w->vars, var)) return false;
        for (int d = 0; d < v->p->events[w->event].rank; d++) {
            bool counts = v->event[w->event].loop[d] == loop;
            if (counts && !inside && w->nvars) return false;
            if (counts
                    ? !uniform_bound(v, w->lo[d], loop, inside, true) ||
                          !uniform_bound(v, w->hi[d], loop, inside, false)
                    : et_expr_has_var(v->x, w->lo[d], var) || et_expr_has_var(v->x, w->hi[d], var))
                return false;
        }
    }
    return true;
}

/* How the loop's accesses to a tensor move with it. */
struct motion {
    bool seen;
    int dim;        /* the one that is the variable plus a constant; -1: none */
    int64_t lo, hi; /* of the constants */
};

static bool moving_dim(struct verify *v, const struct vf_access *a, int loop, struct motion *out) {
    *out = (struct motion){.seen = true, .dim = -1};
    for (int d = 0; d < v->p->tensors[a->tensor].shape.rank; d++) {
        int64_t by;
        if (!et_expr_has_var(v->x, a->index[d], v->p->g->loops[loop].var)) continue;
        if (out->dim >= 0 || !is_near(v, a->index[d], loop, &by)) return false;
        out->dim = d;
        out->lo = out->hi = by;
    }
    return true;
}

static bool add_motion(struct motion *m, const struct motion *by, struct vf_loop *l) {
    if (!m->seen) *m = *by;
    if (m->dim != by->dim) return false;
    m->lo = by->lo < m->lo ? by->lo : m->lo;
    m->hi = by->hi > m->hi ? by->hi : m->hi;
    if (m->hi - m->lo > l->reach) l->reach = (int)(m->hi - m->lo);
    return l->reach <= MAX_REACH;
}

/* An access of G outside the loop, to a tensor that moves with it in dimension D: if a task touches
 * slices of iterations that would be cut out, then the same one also touches those of some that are
 * kept and like them. */
static bool sees_kept(struct verify *v, const struct vf_grid *g, const struct vf_access *a, int d,
                      int loop) {
    int64_t lo, hi, last = v->loop[loop].trips - 1;
    if (a->loops || vf_coords_in(v, g->f, a->index[d])) return false;
    if (vf_is_int(v, a->index[d], &lo)) return lo < 1 || lo >= last;
    if (vf_mentions_fixed(v, a->index[d])) return false; /* bounds are those of other values, too */
    if (!et_bounds(v->x, a->index[d], &lo, &hi)) return true; /* anything */
    return (lo <= 0 && hi >= 1 + MAX_REACH) || hi < 1 || lo >= last;
}

/* Of the loop's accesses to a tensor that is written, either all move with it in one dimension, or
 * none does. */
static bool uniform_accesses(struct verify *v, int loop) {
    int n = v->p->ntensors;
    struct motion *motion = et_alloc(v->arena, (size_t)(n + 1) * sizeof *motion), by;
    bool *written = et_alloc(v->arena, (size_t)n + 1);
    for (int g = 0; g < v->p->ngrids; g++)
        for (int i = 0; i < v->grid[g].naccess; i++)
            written[v->grid[g].access[i].tensor] |= v->grid[g].access[i].store;
    for (int g = 0; g < v->p->ngrids; g++)
        for (int i = 0; i < v->grid[g].naccess && is_inside(&v->grid[g], loop); i++) {
            const struct vf_access *a = &v->grid[g].access[i];
            if (!written[a->tensor]) continue;
            if (!moving_dim(v, a, loop, &by) ||
                !add_motion(&motion[a->tensor], &by, &v->loop[loop]))
                return false;
            /* What a cut-out iteration left in a temporary would be missed. */
            if (by.dim >= 0 && v->p->tensors[a->tensor].kind == ET_TENSOR_TEMP) return false;
        }
    for (int g = 0; g < v->p->ngrids; g++)
        for (int i = 0; i < v->grid[g].naccess && !is_inside(&v->grid[g], loop); i++) {
            const struct motion *m = &motion[v->grid[g].access[i].tensor];
            if (m->seen && m->dim >= 0 &&
                !sees_kept(v, &v->grid[g], &v->grid[g].access[i], m->dim, loop))
                return false;
        }
    return true;
}

static bool is_uniform(struct verify *v, int loop) {
    int var = v->p->g->loops[loop].var;
    for (int g = 0; g < v->p->ngrids; g++) {
        const struct vf_grid *gr = &v->grid[g];
        for (int c = 0; c < gr->f->ncoords; c++)
            if (et_expr_has_var(v->x, gr->g->extent[c], var)) return false;
        for (int s = 0; s < gr->f->nsteps; s++) {
            const et_step *st = &gr->f->steps[s];
            et_expr e[] = {st->mlive,   st->nlive, st->kextent,
                           st->rextent, st->ilive, st->part[ET_AT_END]};
            for (size_t i = 0; i < sizeof e / sizeof *e; i++)
                if (et_expr_has_var(v->x, e[i], var)) return false;
        }
        if (!uniform_events(v, g, loop)) return false;
    }
    for (int e = 0; e < v->p->nevents; e++)
        if (count_moves(v, e, loop)) return false;
    return uniform_accesses(v, loop);
}

void vf_shorten_loops(struct verify *v) {
    for (int e = 0; e < v->p->nevents; e++)
        for (int d = 0; d < v->p->events[e].rank; d++)
            v->event[e].loop[d] = counted_loop(v, e, d);
    for (int l = 0; l < v->p->g->nloops; l++) {
        struct vf_loop *loop = &v->loop[l];
        loop->reach = 1;
        if (loop->trips <= enough(1) || !is_uniform(v, l) || loop->trips <= enough(loop->reach))
            continue;
        loop->shortened = true;
        loop->kept = enough(loop->reach);
    }
}

/* ---- is the middle settled? ---- */

/* The instance of grid G that is in iteration AT of LOOP and elsewhere where LIKE is. */
static const struct vf_inst *sibling(const struct verify *v, const struct vf_inst *like, int depth,
                                     int at) {
    const int *of;
    int n = vf_instances_of(v, like->grid, &of);
    for (int i = 0; i < n; i++) {
        const struct vf_inst *in = &v->inst[of[i]];
        bool same = true;
        for (int k = 0; same && k < v->grid[in->grid].depth; k++)
            same = in->at[k] == (k == depth ? at : like->at[k]);
        if (same) return in;
    }
    return NULL;
}

/* COUNT (at most 64) bits of a set from bit AT on. */
static uint64_t bits_at(const uint64_t *set, int at, int count) {
    uint64_t low = set[at >> 6] >> (at & 63);
    if ((at & 63) + count > 64) low |= set[(at >> 6) + 1] << (64 - (at & 63));
    return count < 64 ? low & (((uint64_t)1 << count) - 1) : low;
}

static bool same_bits(const uint64_t *a, int at, const uint64_t *b, int bt, int count) {
    for (int i = 0; i < count; i += 64) {
        int n = count - i < 64 ? count - i : 64;
        if (bits_at(a, at + i, n) != bits_at(b, bt + i, n)) return false;
    }
    return true;
}

bool vf_translated(const struct verify *v, const struct vf_inst *a, const struct vf_inst *b) {
    const struct vf_grid *g = &v->grid[a->grid], *h = &v->grid[b->grid];
    for (int k = 0; k < g->depth && k < h->depth && g->path[k] == h->path[k]; k++) {
        const struct vf_loop *l = &v->loop[g->path[k]];
        if (l->shortened && a->at[k] >= 2 && b->at[k] < l->kept - 1) return true;
        if (a->at[k] != b->at[k]) break;
    }
    return false;
}

/* B is in the same run of the loop that A is in at DEPTH. */
static bool same_run(const struct verify *v, const struct vf_inst *a, const struct vf_inst *b,
                     int depth) {
    const struct vf_grid *g = &v->grid[a->grid], *h = &v->grid[b->grid];
    if (h->depth <= depth) return false;
    for (int k = 0; k <= depth; k++)
        if (g->path[k] != h->path[k] || (k < depth && a->at[k] != b->at[k])) return false;
    return true;
}

/* Whatever follows this run of the loop has A's groups and B's alike in its past, and whatever
 * comes before it is alike in the pasts of A's classes and B's. */
static bool alike(struct verify *v, const struct vf_inst *a, const struct vf_inst *b, int depth) {
    const struct vf_grid *g = &v->grid[a->grid];
    for (int o = 0; o < v->ninst; o++) {
        const struct vf_inst *other = &v->inst[o];
        const struct vf_grid *h = &v->grid[other->grid];
        if (same_run(v, a, other, depth)) continue;
        bool later = other > a;
        int n = later ? h->nclasses : g->nclasses;
        for (int k = 0; k < n; k++) {
            const uint64_t *p = v->past[later ? other->first_class + k : a->first_class + k];
            const uint64_t *q = later ? p : v->past[b->first_class + k];
            if (!(later ? same_bits(p, a->first_group, p, b->first_group, g->ngroups)
                        : same_bits(p, other->first_group, q, other->first_group, h->ngroups)))
                return false;
        }
        v->report->work += n;
    }
    return true;
}

bool vf_loops_settled(struct verify *v) {
    for (int i = 0; i < v->ninst; i++) {
        const struct vf_inst *in = &v->inst[i];
        const struct vf_grid *g = &v->grid[in->grid];
        for (int k = 0; k < g->depth; k++) {
            const struct vf_loop *l = &v->loop[g->path[k]];
            if (!l->shortened || in->at[k] != 1) continue;
            for (int at = 2; at <= 1 + l->reach; at++)
                if (!alike(v, in, sibling(v, in, k, at), k)) return false;
        }
    }
    return true;
}
