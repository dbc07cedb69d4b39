/* Counts, reach, scope and progress for all values of the symbols at once. */
#include "ir/base/diag.h"
#include "ir/verify/symbolic.h"

static const char *grid_name(const struct symbolic *s, int inst) {
    return s->v->p->grids[s->v->inst[inst].grid].name;
}

/* ---- counts ---- */

/* The counters that tasks of one grid notify, from lo to hi in each dimension, and how many tasks
 * do in one of them; over the event's own variables. */
struct arrivals {
    et_expr lo[ET_MAX_RANK], hi[ET_MAX_RANK], tasks;
};

/* E of a task of G, over T, is X over what comes out in OUT_BY: X counts, from 0, the tiles along
 * the coordinates that come up, row by row; how many there are is OUT_EXTENT. */
static bool counts_tiles(struct symbolic *s, const struct vf_grid *g, et_expr e, int64_t by,
                         unsigned *used, et_expr *out_extent, int64_t *out_by) {
    et_exprs *x = s->v->x;
    vl_sys *q = vs_system(s);
    int64_t unit = by, next, extent;
    unsigned left = 0, own = 0;
    vs_start(s);
    vs_enter(s, q, VS_EARLIER, &(struct vf_inst){.grid = (int)(g - s->v->grid)}, VS_A, false);
    vl_form f = vs_form(s, q, VS_EARLIER, e);
    if (!f.ok || f.k || !f.n) return false;
    for (int i = 0; i < f.n; i++) {
        if (f.var[i] < VS_A || f.var[i] >= VS_B || f.by[i] < 1) return false;
        left |= 1u << i;
        own |= 1u << (f.var[i] - VS_A);
        for (int64_t a = f.by[i]; a; a = next)
            next = unit % a, unit = a;
    }
    if (*used & own || by % unit) return false;
    /* The least factor moves on by one unit, the next by as many as the last has tiles, ... */
    for (int64_t want = unit; left;) {
        int i = 0;
        while (i < f.n && !((left >> i & 1) && f.by[i] == want))
            i++;
        if (i == f.n) return false;
        et_expr size = g->g->extent[f.var[i] - VS_A];
        left &= ~(1u << i);
        *out_extent = et_mul(x, size, et_int(x, want / unit));
        if (left && (!et_is_int(x, size, &extent) || __builtin_mul_overflow(want, extent, &want)))
            return false;
    }
    *used |= own;
    *out_by = by / unit;
    return true;
}

/* Index E of dimension D notifies for coordinates that no other index uses, alone or divided. */
static bool along(struct symbolic *s, const struct vf_grid *g, et_expr e, int event, int d,
                  unsigned *used, struct arrivals *a) {
    et_exprs *x = s->v->x;
    const et_node_x *n = et_x(x, e);
    int64_t by = 1;
    et_expr of = e, one = et_int(x, 1), at = et_var(x, s->counter[event][d]), extent = one;
    if (n->op == ET_X_IDIV && et_is_int(x, n->ops[1], &by)) of = n->ops[0];
    if (by < 1 || !counts_tiles(s, g, of, by, used, &extent, &by)) return false;
    et_expr t = et_int(x, by), rest = et_sub(x, extent, et_mul(x, at, t));
    a->lo[d] = et_int(x, 0);
    a->hi[d] = et_op2(x, ET_X_IDIV, et_sub(x, extent, one), t);
    if (by > 1) a->tasks = et_mul(x, a->tasks, et_op2(x, ET_X_MIN, t, rest));
    return true;
}

static bool arrivals_of(struct symbolic *s, const struct vf_grid *g, const et_notify *n,
                        struct arrivals *a) {
    et_exprs *x = s->v->x;
    const et_event *ev = &s->v->p->events[n->event];
    unsigned used = 0, loops = 0;
    a->tasks = et_int(x, 1);
    for (int c = 0; c < g->f->ncoords; c++) {
        int64_t lo, hi;
        if (!et_bounds(x, g->g->extent[c], &lo, &hi) || lo < 0) return false;
    }
    if (n->when != ET_ALWAYS || n->nvars) return false;
    for (int d = 0; d < ev->rank; d++) {
        int loop = s->v->event[n->event].loop[d];
        a->lo[d] = et_int(x, 0);
        a->hi[d] = et_sub(x, ev->dim[d], et_int(x, 1));
        for (int k = 0; k < g->depth; k++)
            if (g->path[k] == loop) loops |= 1u << k;
        if (loop >= 0) continue;
        if (et_expr_is_known(x, n->index[d]))
            a->lo[d] = a->hi[d] = n->index[d];
        else if (!along(s, g, n->index[d], n->event, d, &used, a))
            return false;
    }
    for (int c = 0; c < g->f->ncoords; c++)
        if (!(used >> c & 1)) a->tasks = et_mul(x, a->tasks, g->g->extent[c]);
    for (int k = 0; k < g->depth; k++) {
        const et_loop *l = &s->v->p->g->loops[g->path[k]];
        for (int c = 0; c < g->f->ncoords; c++)
            if (et_expr_has_var(x, g->g->extent[c], l->var)) return false;
        if (!(loops >> k & 1))
            a->tasks = et_mul(x, a->tasks, et_int(x, s->v->loop[g->path[k]].trips));
    }
    return true;
}

/* Variables of the event's counter, within what A says. */
static void enter_counter(struct symbolic *s, vl_sys *q, int event, const struct arrivals *a) {
    const et_event *ev = &s->v->p->events[event];
    int var[ET_MAX_RANK];
    vs_start(s);
    for (int d = 0; d < ev->rank; d++)
        var[d] = s->counter[event][d];
    vs_enter_vars(s, q, VS_LATER, ev->rank, var);
    for (int d = 0; d < ev->rank; d++) {
        vl_form at = vs_form(s, q, VS_LATER, et_var(s->v->x, var[d]));
        vl_form lo = vs_form(s, q, VS_LATER, a->lo[d]), hi = vs_form(s, q, VS_LATER, a->hi[d]);
        lo = vl_add(&at, &lo, -1);
        hi = vl_add(&hi, &at, -1);
        vl_push(q, &lo, false);
        vl_push(q, &hi, false);
    }
}

/* X and Y are equal at every counter of A. */
static bool always_equal(struct symbolic *s, int event, const struct arrivals *a, et_expr x,
                         et_expr y) {
    if (et_expr_eq(x, y)) return true;
    for (int sign = -1; sign <= 1; sign += 2) {
        vl_sys *q = vs_system(s);
        enter_counter(s, q, event, a);
        vl_form f = vs_form(s, q, VS_LATER, x), g = vs_form(s, q, VS_LATER, y);
        f = vl_add(&f, &g, -1);
        f = vl_scale(&f, sign);
        vl_shift(&f, -1);
        vl_push(q, &f, false);
        if (!f.ok || !vs_empty(s, q)) return false;
    }
    return true;
}

/* Without minima that are always the first of the two. */
struct minima {
    struct symbolic *s;
    int event;
    const struct arrivals *a;
    et_expr of, by;
};

static void find_minimum(void *ctx, et_expr e) {
    struct minima *m = ctx;
    const et_node_x *n = et_x(m->s->v->x, e);
    if (n->op != ET_X_MIN || m->of.id) return;
    et_expr op[2] = {n->ops[0], n->ops[1]};
    for (int i = 0; i < 2 && !m->of.id; i++)
        if (always_equal(m->s, m->event, m->a, e, op[i])) m->of = e, m->by = op[i];
}

static et_expr without_minima(struct symbolic *s, int event, const struct arrivals *a, et_expr e) {
    for (int i = 0; i < 8; i++) {
        struct minima m = {s, event, a, ET_NO_EXPR, ET_NO_EXPR};
        et_walk(s->v->x, e, find_minimum, &m);
        if (!m.of.id) break;
        e = et_replace(s->v->x, e, m.of, m.by);
    }
    return e;
}

/* A task of instance TO waits for counters outside what A says, all but those that every task names
 * in dimensions that count iterations. */
static bool waits_inside(struct symbolic *s, int to, const et_wait *w, const struct arrivals *a) {
    const et_event *ev = &s->v->p->events[w->event];
    for (int d = 0; d < 2 * ev->rank; d++) {
        vl_sys *q = vs_system(s);
        if (s->v->event[w->event].loop[d / 2] >= 0) continue;
        vs_start(s);
        vs_enter(s, q, VS_LATER, &s->v->inst[to], VS_B, false);
        vs_enter_vars(s, q, VS_LATER, w->nvars, w->vars);
        vs_enter_vars(s, q, VS_LATER, ev->rank, s->counter[w->event]);
        for (int k = 0; k < ev->rank; k++) {
            if (s->v->event[w->event].loop[k] >= 0) continue;
            vl_form at = vs_form(s, q, VS_LATER, et_var(s->v->x, s->counter[w->event][k]));
            vl_form lo = vs_form(s, q, VS_LATER, w->lo[k]), hi = vs_form(s, q, VS_LATER, w->hi[k]);
            lo = vl_add(&at, &lo, -1);
            hi = vl_add(&hi, &at, -1);
            vl_push(q, &lo, false);
            vl_push(q, &hi, false);
        }
        vl_form x = vs_form(s, q, VS_LATER, et_var(s->v->x, s->counter[w->event][d / 2]));
        vl_form end = vs_form(s, q, VS_LATER, d % 2 ? a->hi[d / 2] : a->lo[d / 2]);
        end = d % 2 ? vs_minus_one(&x, &end) : vs_minus_one(&end, &x);
        vl_push(q, &end, false);
        if (!end.ok || !vs_empty(s, q)) return false;
    }
    return true;
}

static bool check_count(struct symbolic *s, int event) {
    const struct verify *v = s->v;
    const et_event *ev = &v->p->events[event];
    struct arrivals all = {.tasks = et_int(v->x, 0)}, a;
    bool some = false;
    if (et_expr_loads(v->x, ev->count)) return false;
    const struct vf_uses *u = &v->notified[event], *w = &v->awaited[event];
    for (int i = 0; i < u->n; i++) {
        const struct vf_grid *g = &v->grid[u->v[i].grid];
        const et_notify *n = &g->g->notifies[u->v[i].at];
        if (vf_is_loose(s->v, n) || !arrivals_of(s, g, n, &a)) return false;
        for (int d = 0; d < ev->rank && some; d++)
            if (!et_expr_eq(a.lo[d], all.lo[d]) || !et_expr_eq(a.hi[d], all.hi[d])) return false;
        a.tasks = et_add(v->x, a.tasks, all.tasks);
        all = a;
        some = true;
    }
    for (int i = 0; i < w->n; i++) {
        const et_wait *wt = &v->p->grids[w->v[i].grid].waits[w->v[i].at];
        const int *of;
        int n = vf_instances_of(v, w->v[i].grid, &of);
        for (int k = 0; k < n; k++)
            if (vf_applies(v, &v->inst[of[k]], wt->when) &&
                (!some || !waits_inside(s, of[k], wt, &all)))
                return false;
    }
    if (!some) return true;
    et_expr count = ev->count;
    for (int d = 0; d < ev->rank; d++)
        if (ev->var[d])
            count = et_subst_var(v->x, count, ev->var[d] - 1, et_var(v->x, s->counter[event][d]));
    count = without_minima(s, event, &all, count);
    return always_equal(s, event, &all, without_minima(s, event, &all, all.tasks), count);
}

bool vs_counts(struct symbolic *s) {
    for (int e = 0; e < s->v->p->nevents; e++)
        if (!check_count(s, e))
            return vs_fail(s, "that every counter of event %%%s gets the arrivals it counts",
                           s->v->p->events[e].name);
    return true;
}

/* ---- waits and notifies: inside, in order, in scope ---- */

/* E of tasks in Q is below 0 or above LAST: never. */
static bool stays(struct symbolic *s, vl_sys *q, vs_side side, et_expr e, et_expr size) {
    int n = q->n;
    vl_form at = vs_form(s, q, side, e), end = vs_form(s, q, side, size), low = vl_scale(&at, -1);
    vl_shift(&low, -1);
    end = vl_add(&at, &end, -1);
    n = q->n; /* what it takes to say so stays */
    vl_push(q, &low, false);
    bool fits = low.ok && vs_empty(s, q);
    q->n = n;
    vl_push(q, &end, false);
    fits = fits && end.ok && vs_empty(s, q);
    q->n = n;
    return fits;
}

static bool notify_inside(struct symbolic *s, int inst, const et_notify *n) {
    const et_event *ev = &s->v->p->events[n->event];
    vl_sys *q = vs_system(s);
    vs_start(s);
    vs_enter(s, q, VS_EARLIER, &s->v->inst[inst], VS_A, false);
    for (int d = 0; d < ev->rank; d++)
        if (!stays(s, q, VS_EARLIER, n->index[d], ev->dim[d])) return false;
    return true;
}

/* Boxes that are not empty lie inside the event, and none runs backwards by more than one. */
static bool wait_inside(struct symbolic *s, int inst, const et_wait *w) {
    const et_event *ev = &s->v->p->events[w->event];
    vl_sys *q = vs_system(s);
    bool loads = false;
    for (int d = 0; d < ev->rank; d++)
        loads |= et_expr_loads(s->v->x, w->lo[d]) || et_expr_loads(s->v->x, w->hi[d]);
    if (loads || w->nvars) return true; /* clipped, or not considered */
    vs_start(s);
    vs_enter(s, q, VS_LATER, &s->v->inst[inst], VS_B, false);
    for (int d = 0; d < ev->rank; d++) {
        vl_form lo = vs_form(s, q, VS_LATER, w->lo[d]), hi = vs_form(s, q, VS_LATER, w->hi[d]);
        vl_form back = vs_minus_one(&lo, &hi);
        vl_shift(&back, -1);
        int n = q->n;
        vl_push(q, &back, false);
        if (!back.ok || !vs_empty(s, q)) return false;
        q->n = n;
    }
    for (int d = 0; d < ev->rank; d++) {
        vl_form lo = vs_form(s, q, VS_LATER, w->lo[d]), hi = vs_form(s, q, VS_LATER, w->hi[d]);
        hi = vl_add(&hi, &lo, -1);
        vl_push(q, &hi, false);
    }
    for (int d = 0; d < ev->rank; d++)
        if (!stays(s, q, VS_LATER, w->lo[d], ev->dim[d]) ||
            !stays(s, q, VS_LATER, w->hi[d], ev->dim[d]))
            return false;
    return true;
}

/* What waits and notifies read is inside its tensor. */
static bool reads_inside(struct symbolic *s, int inst) {
    const struct vf_grid *g = &s->v->grid[s->v->inst[inst].grid];
    for (int i = 0; i < g->naccess; i++) {
        const struct vf_access *a = &g->access[i];
        const et_shape *shape = &s->v->p->tensors[a->tensor].shape;
        vl_sys *q = vs_system(s);
        if (a->step || a->data) continue;
        vs_start(s);
        vs_enter(s, q, VS_LATER, &s->v->inst[inst], VS_B, false);
        vs_enter_vars(s, q, VS_LATER, a->nvars, a->vars);
        for (int d = 0; d < shape->rank; d++)
            if (!stays(s, q, VS_LATER, a->index[d], shape->dim[d])) return false;
    }
    return true;
}

/* Two tasks of Q, of which the second waits for the first: are in slices of one number. */
static bool one_die(struct symbolic *s, vl_sys *q, const struct vf_grid *a,
                    const struct vf_grid *b) {
    et_exprs *x = s->v->x;
    const struct vf_grid *g[2] = {a, b};
    vl_form at[2];
    for (int i = 0; i < 2; i++) {
        et_slice sl = g[i]->g->slice;
        int64_t extent;
        if (!sl.count || g[i]->g->dynamic || !et_is_int(x, g[i]->g->extent[sl.coord], &extent))
            return false;
        et_expr c = et_mul(x, et_var(x, g[i]->f->coord[sl.coord]), et_int(x, sl.count));
        at[i] =
            vs_form(s, q, i ? VS_LATER : VS_EARLIER, et_op2(x, ET_X_IDIV, c, et_int(x, extent)));
    }
    for (int sign = 0; sign < 2; sign++) {
        int n = q->n;
        vl_form d = vs_minus_one(&at[sign], &at[!sign]);
        vl_push(q, &d, false);
        bool never = d.ok && vs_empty(s, q);
        q->n = n;
        if (!never) return false;
    }
    return true;
}

static bool in_scope(struct symbolic *s, const struct vs_edge *e, int to) {
    const struct vf_grid *a = &s->v->grid[s->v->inst[e->from].grid];
    const struct vf_grid *b = &s->v->grid[s->v->inst[to].grid];
    et_scope scope = s->v->p->events[b->g->waits[e->wait].event].scope;
    if (scope >= ET_SCOPE_DEVICE || (scope == ET_SCOPE_DIE && s->v->opt->dies == 1)) return true;
    vl_sys *q = vs_system(s);
    vs_may_wait(s, q, e, to);
    return scope == ET_SCOPE_DIE && one_die(s, q, a, b);
}

/* A task that arrives comes before one that waits, in the order of one workgroup. */
static bool comes_before(struct symbolic *s, const struct vs_edge *e, int to) {
    const struct vf_grid *g = &s->v->grid[s->v->inst[to].grid];
    vl_sys *q = vs_system(s);
    if (e->from < to) return true;
    vs_may_wait(s, q, e, to);
    if (e->from > to || g->g->slice.count || et_order_is_own(g->g->order)) return vs_empty(s, q);
    for (int c = 0; c <= g->f->ncoords; c++) { /* equal up to C, and no less there */
        int n = q->n;
        for (int o = 0; o <= c && o < g->f->ncoords; o++) {
            vl_form x = vl_var(VS_A + o), y = vl_var(VS_B + o);
            vl_form d = o < c ? vl_add(&x, &y, -1) : vs_minus_one(&x, &y);
            vl_push(q, &d, o < c);
        }
        bool never = vs_empty(s, q);
        q->n = n;
        if (!never) return false;
    }
    return true;
}

bool vs_waits(struct symbolic *s) {
    const struct verify *v = s->v;
    for (int i = 0; i < v->ninst; i++) {
        const struct vf_grid *g = &v->grid[v->inst[i].grid];
        if (g->untold || !reads_inside(s, i))
            return vs_fail(s, "what the waits and notifies of task %s read", grid_name(s, i));
        for (int k = 0; k < g->g->nnotifies; k++)
            if (!notify_inside(s, i, &g->g->notifies[k]))
                return vs_fail(s, "that task %s notifies counters there are", grid_name(s, i));
        for (int k = 0; k < g->g->nwaits; k++)
            if (vf_applies(v, &v->inst[i], g->g->waits[k].when) &&
                !wait_inside(s, i, &g->g->waits[k]))
                return vs_fail(s, "that task %s waits for counters there are", grid_name(s, i));
        for (int e = s->first_edge[i]; e >= 0; e = s->edge[e].next) {
            if (!comes_before(s, &s->edge[e], i))
                return vs_fail(s, "that task %s waits for no later task", grid_name(s, i));
            if (!in_scope(s, &s->edge[e], i))
                return vs_fail(s, "that the scope of what task %s waits for reaches it",
                               grid_name(s, i));
        }
    }
    return true;
}
