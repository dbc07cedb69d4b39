/* Loops of many iterations, shortened. A loop is uniform when its iterations speak of each other
 * only by distance: then KEPT of them, the first and the last few with the rest cut out, have every
 * pair of tasks that the whole loop has, as VERIFIER.md proves. A loop that is not uniform keeps
 * all of its iterations. */
#include "diag.h"
#include "verify_int.h"
#include <string.h>

enum {
    KEPT = 6,
    REACH = 2, /* how far, in iterations, a wait or a footprint may reach */
};

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
        if (away < -REACH || away > REACH) break;
        *out = in->at[k] + away;
        return *out >= 0 && *out < l->kept;
    }
    if (!at_end(l, i)) return false;
    *out = i < l->kept / 2 ? i : i - (l->trips - l->kept);
    return true;
}

/* ---- is a loop uniform? ---- */

/* E is the variable plus a constant of at most REACH. */
static bool is_near(struct verify *v, et_expr e, int var) {
    int64_t c;
    return et_is_int(v->x, et_sub(v->x, e, et_var(v->x, var)), &c) && c >= -REACH && c <= REACH;
}

/* A bound of a wait on a dimension that counts iterations. Inside the loop: near the variable,
 * clamped to the loop or not; the lower one may be the first iteration. Outside: the first or the
 * last. */
static bool uniform_bound(struct verify *v, et_expr e, int loop, bool inside, bool lower) {
    int64_t c, last = v->loop[loop].trips - 1;
    const et_node_x *n = et_x(v->x, e);
    if (!inside) return et_is_int(v->x, e, &c) && (c == 0 || c == last);
    if (is_near(v, e, v->p->g->loops[loop].var)) return true;
    if (et_is_int(v->x, e, &c)) return lower && c == 0;
    if (n->op != ET_X_MAX && n->op != ET_X_MIN) return false;
    for (int i = 0; i < 2; i++) /* a clamp */
        if (et_is_int(v->x, n->ops[i], &c) && c == (n->op == ET_X_MAX ? 0 : last))
            return is_near(v, n->ops[!i], v->p->g->loops[loop].var);
    return false;
}

/* The loop whose iterations dimension D of an event counts: every notify there is its variable. */
static int counted_loop(struct verify *v, int event, int d) {
    int loop = -1;
    for (int g = 0; g < v->p->ngrids; g++) {
        const et_grid *gr = &v->p->grids[g];
        for (int i = 0; i < gr->nnotifies; i++) {
            if (gr->notifies[i].event != event) continue;
            int found = -1;
            for (int k = 0; k < v->grid[g].depth; k++) {
                int l = v->grid[g].path[k];
                et_expr var = et_var(v->x, v->p->g->loops[l].var);
                if (et_expr_eq(gr->notifies[i].index[d], var)) found = l;
            }
            if (found < 0 || (loop >= 0 && loop != found)) return -1;
            loop = found;
        }
    }
    int64_t n;
    bool whole =
        loop >= 0 && et_is_int(v->x, v->p->events[event].dim[d], &n) && n == v->loop[loop].trips;
    return whole ? loop : -1;
}

static bool is_inside(const struct vf_grid *g, int loop) {
    for (int k = 0; k < g->depth; k++)
        if (g->path[k] == loop) return true;
    return false;
}

static bool uniform_events(struct verify *v, int g, int loop) {
    const et_grid *gr = &v->p->grids[g];
    int var = v->p->g->loops[loop].var;
    bool inside = is_inside(&v->grid[g], loop);
    for (int i = 0; i < gr->nnotifies; i++)
        for (int d = 0; d < v->p->events[gr->notifies[i].event].rank; d++)
            if (v->event[gr->notifies[i].event].loop[d] != loop &&
                vf_has_var(v, gr->notifies[i].index[d], var))
                return false;
    for (int i = 0; i < gr->nwaits; i++) {
        const et_wait *w = &gr->waits[i];
        for (int d = 0; d < v->p->events[w->event].rank; d++) {
            bool counts = v->event[w->event].loop[d] == loop;
            if (counts ? !uniform_bound(v, w->lo[d], loop, inside, true) ||
                             !uniform_bound(v, w->hi[d], loop, inside, false)
                       : vf_has_var(v, w->lo[d], var) || vf_has_var(v, w->hi[d], var))
                return false;
        }
    }
    return true;
}

/* The dimension of the access that is the variable plus a constant, no other depending on it; -1
 * when none depends on it, -2 when it is used in another way. */
static int moving_dim(struct verify *v, const struct vf_access *a, int var) {
    int found = -1;
    for (int d = 0; d < v->p->tensors[a->tensor].shape.rank; d++) {
        if (!vf_has_var(v, a->index[d], var)) continue;
        if (found >= 0 || !is_near(v, a->index[d], var)) return -2;
        found = d;
    }
    return found;
}

/* Of the loop's accesses to a tensor that it writes, either all move with it in one dimension, or
 * none does. */
static bool uniform_accesses(struct verify *v, int loop) {
    int var = v->p->g->loops[loop].var, n = v->p->ntensors;
    int *dim = et_alloc(v->arena, (size_t)(n + 1) * sizeof *dim);
    bool *written = et_alloc(v->arena, (size_t)n + 1);
    for (int pass = 0; pass < 2; pass++)
        for (int g = 0; g < v->p->ngrids; g++)
            for (int i = 0; i < v->grid[g].naccess; i++) {
                const struct vf_access *a = &v->grid[g].access[i];
                bool inside = is_inside(&v->grid[g], loop);
                if (pass == 0) written[a->tensor] |= a->store;
                if (pass == 0 || !inside || !written[a->tensor]) continue;
                int d = moving_dim(v, a, var) + 3; /* 0: not seen yet */
                if (d == 1 || (dim[a->tensor] && dim[a->tensor] != d)) return false;
                dim[a->tensor] = d;
            }
    return true;
}

static bool is_uniform(struct verify *v, int loop) {
    int var = v->p->g->loops[loop].var;
    for (int g = 0; g < v->p->ngrids; g++) {
        const struct vf_grid *gr = &v->grid[g];
        for (int c = 0; c < gr->f->ncoords; c++)
            if (vf_has_var(v, gr->g->extent[c], var)) return false;
        for (int s = 0; s < gr->f->nsteps; s++) {
            const et_step *st = &gr->f->steps[s];
            et_expr e[] = {st->mlive, st->nlive, st->kextent, st->rextent, st->pextent};
            for (size_t i = 0; i < sizeof e / sizeof *e; i++)
                if (vf_has_var(v, e[i], var)) return false;
        }
        if (!uniform_events(v, g, loop)) return false;
    }
    for (int e = 0; e < v->p->nevents; e++)
        if (vf_has_var(v, v->p->events[e].count, var)) return false;
    return uniform_accesses(v, loop);
}

void vf_shorten_loops(struct verify *v) {
    for (int e = 0; e < v->p->nevents; e++)
        for (int d = 0; d < v->p->events[e].rank; d++)
            v->event[e].loop[d] = counted_loop(v, e, d);
    for (int l = 0; l < v->p->g->nloops; l++) {
        struct vf_loop *loop = &v->loop[l];
        if (loop->trips <= KEPT || !is_uniform(v, l)) continue;
        loop->shortened = true;
        loop->kept = KEPT;
    }
}

/* ---- is the middle settled? ---- */

/* The instance of grid G that is in iteration AT of LOOP and elsewhere where LIKE is. */
static const struct vf_inst *sibling(const struct verify *v, const struct vf_inst *like, int depth,
                                     int at) {
    for (int i = 0; i < v->ninst; i++) {
        const struct vf_inst *in = &v->inst[i];
        bool same = in->grid == like->grid;
        for (int k = 0; same && k < v->grid[in->grid].depth; k++)
            same = in->at[k] == (k == depth ? at : like->at[k]);
        if (same) return in;
    }
    return NULL;
}

static bool same_groups(const struct verify *v, int klass, const struct vf_inst *a,
                        const struct vf_inst *b) {
    for (int g = 0; g < v->grid[a->grid].ngroups; g++)
        if (vf_done_before(v, klass, a->first_group + g) !=
            vf_done_before(v, klass, b->first_group + g))
            return false;
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

bool vf_loops_settled(struct verify *v) {
    for (int i = 0; i < v->ninst; i++) {
        const struct vf_inst *in = &v->inst[i];
        const struct vf_grid *g = &v->grid[in->grid];
        for (int k = 0; k < g->depth; k++) {
            const struct vf_loop *l = &v->loop[g->path[k]];
            if (!l->shortened || in->at[k] != 1) continue;
            /* Iterations 1, 2 and 3 are 4, 3 and 2 before the last. Waits reach back REACH = 2, so
             * what follows from two equal ones is equal again, for all in between. */
            const struct vf_inst *b = sibling(v, in, k, 2), *c = sibling(v, in, k, 3);
            for (int o = i + 1; b && c && o < v->ninst; o++) {
                const struct vf_inst *later = &v->inst[o];
                if (is_inside(&v->grid[later->grid], g->path[k])) continue;
                for (int w = 0; w < v->grid[later->grid].nclasses; w++)
                    if (!same_groups(v, later->first_class + w, in, b) ||
                        !same_groups(v, later->first_class + w, b, c))
                        return false;
            }
        }
    }
    return true;
}
