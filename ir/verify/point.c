/* Waits with variables whose index reads a tensor: `wait %e[f(%t[g(j)])] for j < J`. Each of the
 * values that %t holds there may be anything, one apart from the others. An access whose index
 * holds the same load, with variables that stay below the extents of the wait's, touches for each
 * value only what goes with it, and the wait is for the counters that go with it too: so each value
 * is looked at by itself.
 *
 * Where the wait depends on the load by its remainder alone, that is what is looked at in its
 * place: it has few values.
 *
 * Nothing else follows from such a wait: there may be no value at all. */
#include "ir/base/diag.h"
#include "ir/program/step.h"
#include "ir/verify/int.h"

enum { MAX_VALUE = 1 << 30, MOST_NUMBERS = 16, MOST_LOADS = 16 };

/* ---- points ---- */

struct last_load {
    const et_exprs *x;
    et_expr load;
};

/* Operands come first: the last one found is not inside another. */
static void note_load(void *ctx, et_expr e) {
    struct last_load *l = ctx;
    const et_node_x *n = et_x(l->x, e);
    if (n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR) l->load = e;
}

static et_expr load_in(const struct verify *v, et_expr e) {
    struct last_load l = {v->x, ET_NO_EXPR};
    et_walk(v->x, e, note_load, &l);
    return l.load;
}

struct first_mod {
    et_exprs *x;
    et_expr load, mod;
};

/* Operands come first: the first one found is the innermost. */
static void note_mod(void *ctx, et_expr e) {
    struct first_mod *m = ctx;
    const et_node_x *n = et_x(m->x, e);
    int64_t least, most;
    if (m->mod.id || n->op != ET_X_MOD || et_expr_has(m->x, n->ops[1], ET_X_VAR, ET_ANY) ||
        et_expr_loads(m->x, n->ops[1]) || !et_bounds(m->x, n->ops[1], &least, &most) || least <= 0)
        return;
    if (!et_expr_eq(et_replace(m->x, e, m->load, et_int(m->x, 0)), e)) m->mod = e;
}

/* Nothing but E in the wait reads a tensor or has a variable of the wait. */
static bool is_all(struct verify *v, const et_wait *w, et_expr e) {
    for (int d = 0; d < v->p->events[w->event].rank; d++)
        for (int i = 0; i < 2; i++) {
            et_expr rest = et_replace(v->x, i ? w->hi[d] : w->lo[d], e, et_int(v->x, 0));
            if (et_expr_loads(v->x, rest) || et_expr_has_vars(v->x, rest, w->nvars, w->vars))
                return false;
        }
    return true;
}

static bool depends(struct verify *v, const struct vf_grid *g, et_expr e, et_expr load) {
    return vf_coords_in(v, g->f, et_replace(v->x, e, load, et_int(v->x, 0))) != 0;
}

bool vf_find_point(struct verify *v, struct vf_grid *g, int wait) {
    const et_wait *w = &g->g->waits[wait];
    int rank = v->p->events[w->event].rank;
    struct last_load l = {v->x, ET_NO_EXPR};
    for (int d = 0; d < rank; d++) {
        et_walk(v->x, w->lo[d], note_load, &l);
        et_walk(v->x, w->hi[d], note_load, &l);
    }
    if (!l.load.id || g->npoints == VF_POINTS) return false;
    struct first_mod m = {v->x, l.load, ET_NO_EXPR};
    for (int d = 0; d < rank; d++) {
        et_walk(v->x, w->lo[d], note_mod, &m);
        et_walk(v->x, w->hi[d], note_mod, &m);
    }
    et_expr load = m.mod.id && is_all(v, w, m.mod) ? m.mod : l.load;
    if (!is_all(v, w, load)) return false;
    bool moves = false;
    for (int d = 0; d < rank; d++)
        moves |= depends(v, g, w->lo[d], load) || depends(v, g, w->hi[d], load);
    g->point[g->npoints++] = (struct vf_point){wait, load, !moves};
    return true;
}

/* ---- the same load in an access ---- */

struct search {
    struct verify *v;
    const et_step *step;
    const et_wait *w;
    int var[ET_MAX_VARS]; /* in place of those of the wait, which may be those of the step too */
    et_expr want, *by;
};

/* Put something for each variable from number K on into HAVE, so that it becomes WANT. */
static bool find_values(struct search *s, int k, et_expr have) {
    et_exprs *x = s->v->x;
    et_step_var var[ET_STEP_VARS];
    int n = et_step_vars(x, s->step, var);
    int64_t extent;
    if (k == s->w->nvars) return et_expr_eq(have, s->want);
    if (!et_expr_has_var(s->v->x, have, s->var[k])) {
        s->by[k] = et_int(x, 0);
        return find_values(s, k + 1, have);
    }
    for (int i = 0; i < n; i++) {
        s->by[k] = et_var(x, var[i].var);
        if (find_values(s, k + 1, et_subst_var(x, have, s->var[k], s->by[k]))) return true;
    }
    if (!et_is_int(x, et_var_extent(x, s->w->vars[k]), &extent) || extent > MOST_NUMBERS)
        extent = 0;
    for (int64_t i = 0; i < extent; i++) {
        s->by[k] = et_int(x, i);
        if (find_values(s, k + 1, et_subst_var(x, have, s->var[k], s->by[k]))) return true;
    }
    return false;
}

struct loads {
    const et_exprs *x;
    et_xop op;
    int n;
    et_expr v[MOST_LOADS];
};

static void collect(void *ctx, et_expr e) {
    struct loads *l = ctx;
    if (et_x(l->x, e)->op == l->op && et_expr_loads(l->x, e) && l->n < MOST_LOADS) l->v[l->n++] = e;
}

static bool alike(struct verify *v, const struct vf_grid *g, const struct vf_access *a,
                  const struct vf_point *pt, et_expr load) {
    bool any = g->nunknown > 0 || !pt->alike || vf_coords_of_extents(v, g->f, a->step);
    for (int d = 0; d < v->p->tensors[a->tensor].shape.rank; d++)
        any |= depends(v, g, a->index[d], load);
    return !any;
}

static void match(struct verify *v, const struct vf_grid *g, struct vf_access *a, int point) {
    const struct vf_point *pt = &g->point[point];
    struct vf_match *m = &a->match[point];
    struct search s = {v, a->step, &g->g->waits[pt->wait], {0}, ET_NO_EXPR, m->by};
    struct loads l = {.x = v->x, .op = et_x(v->x, pt->load)->op};
    et_expr load = pt->load;
    for (int d = 0; d < v->p->tensors[a->tensor].shape.rank; d++)
        et_walk(v->x, a->index[d], collect, &l);
    for (int i = 0; i < s.w->nvars && l.n; i++) {
        s.var[i] = et_var_add(v->x, "q", et_int(v->x, 1 << 20));
        load = et_subst_var(v->x, load, s.w->vars[i], et_var(v->x, s.var[i]));
    }
    for (int i = 0; i < l.n && !m->load.id; i++) {
        s.want = l.v[i];
        if (find_values(&s, 0, load)) m->load = l.v[i];
    }
    m->alike = m->load.id && alike(v, g, a, pt, m->load);
}

void vf_match_points(struct verify *v, struct vf_grid *g) {
    for (int i = 0; i < g->naccess; i++)
        for (int k = 0; k < g->npoints && g->access[i].step; k++)
            match(v, g, &g->access[i], k);
}

/* ---- does the wait cover the access? ---- */

/* The load is outside its tensor: there the step's mask is false. */
static bool is_outside(struct verify *v, et_expr load) {
    const et_node_x *n = et_x(v->x, load_in(v, load));
    const et_shape *s = &v->p->tensors[n->i].shape;
    for (int d = 0; d < n->nops; d++) {
        struct vf_range at = vf_eval(v, n->ops[d]);
        if (at.lo >= vf_eval(v, s->dim[d]).hi || at.hi < 0) return true;
    }
    return false;
}

/* The entered tasks: what stands for variable VAR of the wait is less than its extent, or the load
 * is not done. */
static bool stays_below(struct verify *v, const et_step *s, const struct vf_match *m, et_expr by,
                        int var) {
    et_expr extent = et_var_extent(v->x, var);
    struct vf_range r = vf_eval(v, by), most = vf_eval(v, extent);
    const et_node_x *n = et_x(v->x, by);
    if (r.hi < most.lo) return true;
    if (n->op != ET_X_VAR) return false;
    if (et_expr_eq(et_step_extent(v->x, s, n->i), extent)) return true;
    int own = n->i;
    v->var[own] = (struct vf_range){most.lo > 0 ? most.lo : 0, r.hi};
    bool outside = is_outside(v, m->load);
    v->var[own] = r;
    return outside;
}

unsigned vf_covering(struct verify *v, const struct vf_inst *in, int klass,
                     const struct vf_access *a) {
    const struct vf_grid *g = &v->grid[in->grid];
    unsigned set = 0;
    et_expr load = ET_NO_EXPR;
    for (int k = 0; k < g->npoints && a->step; k++) {
        const et_wait *w = &g->g->waits[g->point[k].wait];
        const struct vf_match *m = &a->match[k];
        if (!m->load.id || vf_is_out(v, w->event) || !vf_applies(v, in, w->when)) continue;
        if (load.id && !et_expr_eq(load, m->load)) continue;
        vf_enter_class(v, in, klass);
        vf_enter_step(v, a->step);
        bool all = true;
        for (int i = 0; i < w->nvars; i++)
            all &= stays_below(v, a->step, m, m->by[i], w->vars[i]);
        if (!all) continue;
        load = m->load;
        set |= 1u << k;
    }
    return set;
}

/* ---- what the load may hold, in ranges ---- */

enum { NONE, ONE, SEVERAL };

/* The boxes of point K where its load is in cut->x, inside the event. */
static int boxes_of(struct verify *v, struct vf_cut *c, int k) {
    const struct vf_grid *g = &v->grid[c->in->grid];
    const et_wait *w = &g->g->waits[g->point[k].wait];
    const et_event *ev = &v->p->events[w->event];
    int found = ONE, glued = v->glued;
    v->glued = 0; /* counters are told by the iterations there are */
    vf_enter_class(v, c->in, c->klass);
    v->glued = glued;
    v->at = g->point[k].load;
    v->at_range = c->x;
    v->pointwise = true;
    for (int d = 0; d < ev->rank; d++) {
        struct vf_range lo = vf_eval(v, w->lo[d]), hi = vf_eval(v, w->hi[d]);
        int64_t last = v->event[w->event].dim[d] - 1;
        if (lo.lo > last || hi.hi < 0) found = NONE;
        if (found == ONE && (lo.lo != lo.hi || hi.lo != hi.hi)) found = SEVERAL;
        c->box[k].d[d] = (struct vf_range){lo.lo > 0 ? lo.lo : 0, hi.hi < last ? hi.hi : last};
        if (found == ONE && c->box[k].d[d].lo > c->box[k].d[d].hi) found = NONE;
    }
    v->pointwise = false;
    v->at = ET_NO_EXPR;
    c->box[k].empty = found == NONE;
    v->report->work += 4;
    return found;
}

static bool cut(struct verify *v, struct vf_cut *c, vf_cut_fn fn, void *ctx) {
    const struct vf_grid *g = &v->grid[c->in->grid];
    if (v->report->work > v->limit) return true; /* nothing counts as looked at then */
    for (int k = 0; k < g->npoints; k++) {
        if (!(c->points >> k & 1) || boxes_of(v, c, k) != SEVERAL) continue;
        struct vf_range all = c->x;
        if (all.lo == all.hi) {
            vf_error(v, c->in->grid,
                     "a task of %s waits for a range of event %%%s that cannot be told before the "
                     "launch",
                     g->g->name, v->p->events[g->g->waits[g->point[k].wait].event].name);
            return false;
        }
        int64_t mid = all.lo + (all.hi - all.lo) / 2;
        if (all.lo < 0 && all.hi >= 0) mid = -1;
        c->x = (struct vf_range){all.lo, mid};
        if (!cut(v, c, fn, ctx)) return false;
        c->x = (struct vf_range){mid + 1, all.hi};
        return cut(v, c, fn, ctx);
    }
    return fn(ctx, v, c);
}

bool vf_each_cut(struct verify *v, const struct vf_inst *in, int klass, unsigned points,
                 vf_cut_fn fn, void *ctx) {
    struct vf_cut c = {.in = in, .klass = klass, .points = points, .x = {-MAX_VALUE, MAX_VALUE}};
    for (int k = 0; k < v->grid[in->grid].npoints; k++) {
        const et_node_x *n = et_x(v->x, v->grid[in->grid].point[k].load);
        if (!(points >> k & 1) || n->op != ET_X_MOD) continue;
        int64_t by = vf_eval(v, n->ops[1]).hi;
        if (by <= MAX_VALUE) c.x = (struct vf_range){0, by - 1};
    }
    return cut(v, &c, fn, ctx);
}
