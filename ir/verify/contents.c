/* What is read was written before, and room for queued tasks, for all values of the symbols at
 * once. */
#include "ir/base/diag.h"
#include "ir/program/queue.h"
#include "ir/program/step.h"
#include "ir/verify/symbolic.h"

/* ---- the least box around what all tiles of an instance touch ---- */

struct span {
    bool any; /* no bounds are known */
    et_expr lo, hi;
};

struct region {
    et_expr lo[ET_MAX_RANK], hi[ET_MAX_RANK];
};

static struct span span_of(struct symbolic *s, const struct vf_inst *in, const et_step *st,
                           et_expr e, int depth);

static et_expr two(struct symbolic *s, et_xop op, et_expr a, et_expr b) {
    return et_op2(s->v->x, op, a, b);
}

static struct span of_var(struct symbolic *s, const struct vf_inst *in, const et_step *st,
                          et_expr e, int depth) {
    const struct vf_grid *g = &s->v->grid[in->grid];
    et_exprs *x = s->v->x;
    int var = et_x(x, e)->i;
    et_expr extent = st ? et_step_extent(x, st, var) : et_var_extent(x, var);
    for (int k = 0; k < g->depth; k++)
        if (s->v->p->g->loops[g->path[k]].var == var) {
            et_expr at = et_int(x, vf_label(&s->v->loop[g->path[k]], in->at[k]));
            return (struct span){false, at, at};
        }
    for (int c = 0; c < g->f->ncoords; c++)
        if (g->f->coord[c] == var) extent = g->g->extent[c];
    struct span most = span_of(s, in, st, extent, depth + 1);
    most.lo = et_int(x, 0);
    if (!most.any) most.hi = et_sub(x, most.hi, et_int(x, 1));
    return most;
}

/* Of two spans, an operation that grows with the first and grows (SIGN 1) or falls with the second.
 */
static struct span ends(struct symbolic *s, et_xop op, struct span a, struct span b, int sign) {
    if (a.any || b.any) return (struct span){.any = true};
    return (struct span){false, two(s, op, a.lo, sign > 0 ? b.lo : b.hi),
                         two(s, op, a.hi, sign > 0 ? b.hi : b.lo)};
}

static struct span of_two(struct symbolic *s, const et_node_x *n, struct span a, struct span b) {
    et_exprs *x = s->v->x;
    struct span none = {.any = true};
    int64_t k, by;
    switch (n->op) {
    case ET_X_ADD:
        return ends(s, n->op, a, b, 1);
    case ET_X_SUB:
        return ends(s, n->op, a, b, -1);
    case ET_X_MIN:
    case ET_X_MAX:
        return ends(s, n->op, a, b, 1);
    case ET_X_MUL:
        if (!et_is_int(x, n->ops[1], &k)) return none;
        if (a.any) return none;
        return k >= 0 ? (struct span){false, et_mul(x, a.lo, b.lo), et_mul(x, a.hi, b.lo)}
                      : (struct span){false, et_mul(x, a.hi, b.lo), et_mul(x, a.lo, b.lo)};
    case ET_X_IDIV:
        if (a.any || !et_is_int(x, n->ops[1], &by) || by < 1) return none;
        return ends(s, n->op, a, b, 1);
    case ET_X_MOD:
        if (!et_is_int(x, n->ops[1], &by) || by < 1) return none;
        return (struct span){false, et_int(x, 0), et_int(x, by - 1)};
    default:
        return none;
    }
}

static struct span span_of(struct symbolic *s, const struct vf_inst *in, const et_step *st,
                           et_expr e, int depth) {
    const et_node_x *n = et_x(s->v->x, e);
    et_node_x own = *n;
    struct span none = {.any = true};
    if (et_expr_is_known(s->v->x, e)) return (struct span){false, e, e};
    if (n->op == ET_X_VAR) return depth > 30 ? none : of_var(s, in, st, e, depth);
    if (n->op == ET_X_SELECT && n->type == ET_T_I32 && depth <= 30) {
        et_expr way[2] = {n->ops[1], n->ops[2]};
        struct span a = span_of(s, in, st, way[0], depth + 1);
        struct span b = span_of(s, in, st, way[1], depth + 1);
        if (a.any || b.any) return none;
        return (struct span){false, two(s, ET_X_MIN, a.lo, b.lo), two(s, ET_X_MAX, a.hi, b.hi)};
    }
    if (n->nops != 2 || n->type != ET_T_I32 || n->op == ET_X_LOAD || depth > 30) return none;
    et_expr ops[2] = {n->ops[0], n->ops[1]};
    own.ops = ops;
    struct span a = span_of(s, in, st, ops[0], depth + 1),
                b = span_of(s, in, st, ops[1], depth + 1);
    return of_two(s, &own, a, b);
}

/* Of what is not known nor read from a tensor, all where it is read and nothing where it is
 * written.
 */
static void region_of(struct symbolic *s, const struct vf_inst *in, const struct vf_access *a,
                      struct region *out) {
    et_exprs *x = s->v->x;
    const et_shape *shape = &s->v->p->tensors[a->tensor].shape;
    for (int d = 0; d < shape->rank; d++) {
        struct span r = span_of(s, in, a->step, a->index[d], 0);
        et_expr zero = et_int(x, 0), last = et_sub(x, shape->dim[d], et_int(x, 1));
        out->lo[d] = r.any ? zero : two(s, ET_X_MAX, r.lo, zero);
        out->hi[d] = r.any ? last : two(s, ET_X_MIN, r.hi, last);
        et_expr end = a->step ? et_step_masked_end(x, a->step, a->index[d]) : ET_NO_EXPR;
        struct span most = end.id ? span_of(s, in, a->step, end, 0) : (struct span){.any = true};
        if (!most.any) out->hi[d] = two(s, ET_X_MIN, out->hi[d], et_sub(x, most.hi, et_int(x, 1)));
        if (r.any && a->store && !et_expr_loads(x, a->index[d])) out->hi[d] = et_int(x, -1);
    }
}

/* ---- contents ---- */

struct write {
    int inst;
    struct region r;
};

struct writes {
    struct write *v;
    int n, cap;
};

enum { MOST = 16 };

/* Points of Q, which are elements of the tensor, that no write from number AT down to those of
 * instance AFTER has been to: there are none. */
static bool all_written(struct symbolic *s, vl_sys *q, const struct writes *w, int at, int after,
                        const vl_form *x, int rank, int left) {
    if (vs_empty(s, q)) return true;
    if (at < 0 || w->v[at].inst <= after || !left) return false;
    const struct vf_grid *g = &s->v->grid[s->v->inst[w->v[at].inst].grid];
    int n = q->n;
    vl_form zero = vl_const(0), none;
    bool ok = true;
    for (int c = 0; c < g->f->ncoords && ok; c++) { /* it has no tiles */
        none = vs_form(s, q, VS_LATER, g->g->extent[c]);
        n = q->n;
        none = vl_add(&zero, &none, -1);
        vl_push(q, &none, false);
        ok = vs_empty(s, q) || all_written(s, q, w, at - 1, after, x, rank, left - 1);
        q->n = n;
    }
    for (int d = 0; d < 2 * rank && ok; d++) {
        vl_form end = vs_form(s, q, VS_LATER, d % 2 ? w->v[at].r.hi[d / 2] : w->v[at].r.lo[d / 2]);
        n = q->n;
        end = d % 2 ? vs_minus_one(&x[d / 2], &end) : vs_minus_one(&end, &x[d / 2]);
        vl_push(q, &end, false);
        ok = end.ok && (vs_empty(s, q) || all_written(s, q, w, at - 1, after, x, rank, left - 1));
        q->n = n;
    }
    return ok;
}

static bool check_read(struct symbolic *s, const struct writes *all, int inst,
                       const struct vf_access *a) {
    const struct verify *v = s->v;
    const struct vf_grid *g = &v->grid[v->inst[inst].grid];
    int rank = v->p->tensors[a->tensor].shape.rank, after = -1;
    struct region r;
    vl_form x[ET_MAX_RANK];
    vl_sys *q = vs_system(s);
    for (int o = 0; o < v->p->ntensors; o++)
        if (all[o].n && vf_share_memory(v->p, o, a->tensor)) {
            int last = all[o].v[all[o].n - 1].inst;
            after = last > after ? last : after;
        }
    region_of(s, &v->inst[inst], a, &r);
    vs_start(s);
    for (int c = 0; c < g->f->ncoords; c++) { /* it has tiles */
        vl_form some = vs_form(s, q, VS_LATER, g->g->extent[c]);
        vl_shift(&some, -1);
        vl_push(q, &some, false);
    }
    for (int d = 0; d < rank; d++) {
        x[d] = vl_var(vs_temp(s));
        vl_form lo = vs_form(s, q, VS_LATER, r.lo[d]), hi = vs_form(s, q, VS_LATER, r.hi[d]);
        lo = vl_add(&x[d], &lo, -1);
        hi = vl_add(&hi, &x[d], -1);
        vl_push(q, &lo, false);
        vl_push(q, &hi, false);
    }
    const struct writes *w = &all[a->tensor];
    return all_written(s, q, w, w->n - 1, after, x, rank, MOST) ||
           vs_fail(s, "that all task %s reads of %%%s was written, and not overwritten since",
                   g->g->name, v->p->tensors[a->tensor].name);
}

bool vs_contents(struct symbolic *s) {
    const struct verify *v = s->v;
    struct writes *all = et_alloc(s->arena, (size_t)(v->p->ntensors + 1) * sizeof *all);
    for (int i = 0; i < v->ninst; i++) {
        const struct vf_grid *g = &v->grid[v->inst[i].grid];
        for (int k = 0; k < g->naccess; k++) {
            struct writes *w = &all[g->access[k].tensor];
            if (!g->access[k].store) continue;
            ET_GROW(s->arena, w->v, w->n, w->cap);
            w->v[w->n].inst = i;
            region_of(s, &v->inst[i], &g->access[k], &w->v[w->n++].r);
        }
        for (int k = 0; k < g->naccess; k++) {
            et_tensor_kind kind = v->p->tensors[g->access[k].tensor].kind;
            if (g->access[k].store || (kind != ET_TENSOR_TEMP && kind != ET_TENSOR_OUTPUT))
                continue;
            if (!check_read(s, all, i, &g->access[k])) return false;
            if (vl_spent(s->work)) return vs_fail(s, "anything in the time there is");
        }
    }
    return true;
}

/* ---- queues ---- */

/* Every task of the instance waits for some counter that takes an arrival to complete. */
static bool awaits_arrival(struct symbolic *s, int inst) {
    const et_grid *g = s->v->grid[s->v->inst[inst].grid].g;
    for (int i = 0; i < g->nwaits; i++) {
        const et_wait *w = &g->waits[i];
        const et_event *e = &s->v->p->events[w->event];
        if (!vf_applies(s->v, &s->v->inst[inst], w->when) || w->nvars) continue;
        vl_sys *q = vs_system(s);
        vs_start(s);
        vs_enter(s, q, VS_LATER, &s->v->inst[inst], VS_B, false);
        for (int d = 0; d < e->rank; d++)
            if (e->var[d]) vs_enter_vars(s, q, VS_LATER, 1, (int[]){e->var[d] - 1});
        vl_form none = vs_form(s, q, VS_LATER, e->count);
        int n = q->n;
        none = vl_scale(&none, -1);
        vl_push(q, &none, false);
        bool some = none.ok && vs_empty(s, q);
        q->n = n;
        for (int d = 0; d < e->rank && some; d++) {
            vl_form lo = vs_form(s, q, VS_LATER, w->lo[d]), hi = vs_form(s, q, VS_LATER, w->hi[d]);
            n = q->n;
            lo = vs_minus_one(&lo, &hi);
            vl_push(q, &lo, false);
            some = lo.ok && vs_empty(s, q);
            q->n = n;
        }
        if (some) return true;
    }
    return false;
}

/* Tiles and cells at the upper bounds are no more than was laid out. */
static bool has_room(struct symbolic *s, const et_queues *q, int grid, int64_t *tasks) {
    const struct vf_grid *g = &s->v->grid[grid];
    const et_queue_grid *k = &q->grid[grid];
    int64_t tiles = 1, cells = 1, runs = 1, lo, hi;
    for (int c = 0; c < g->f->ncoords; c++) {
        if (!et_bounds(s->v->x, g->g->extent[c], &lo, &hi) || hi < 0 ||
            __builtin_mul_overflow(tiles, hi, &tiles))
            return false;
        if (k->fixed >> c & 1) cells *= hi;
    }
    for (int l = 0; l < g->depth; l++)
        runs *= s->v->loop[g->path[l]].trips;
    return tiles <= k->tiles && runs <= k->iterations && cells <= k->cells &&
           !__builtin_mul_overflow(tiles, runs, &runs) &&
           !__builtin_add_overflow(*tasks, runs, tasks);
}

bool vs_queues(struct symbolic *s) {
    struct verify *v = s->v;
    et_queues q;
    bool any = false;
    for (int g = 0; g < v->p->ngrids; g++)
        any |= v->p->grids[g].dynamic;
    if (!any) return true;
    if (et_queues_plan(s->arena, v->p, &q) || !vf_queue_plan(v, &q))
        return vs_fail(s, "that queues make progress");
    for (int r = 0; r < q.nregions; r++) {
        int64_t tasks = 0;
        bool fits = true;
        for (int g = 0; g < v->p->ngrids; g++)
            if (q.grid[g].region == r) fits &= has_room(s, &q, g, &tasks);
        if (!fits || tasks > q.region[r].slots)
            return vs_fail(s, "that there is room for queued tasks");
    }
    for (int i = 0; i < v->ninst; i++) {
        const et_grid *g = v->grid[v->inst[i].grid].g;
        if (g->dynamic && !q.grid[v->inst[i].grid].seeded && !awaits_arrival(s, i))
            return vs_fail(s, "that task %s is queued", g->name);
    }
    return true;
}
