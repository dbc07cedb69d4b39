#include "passes/cost/footprint.h"
#include "ir/program/step.h"

/* A variable of a step, and the footprint's variable in its place, below EXTENT: the least of the
 * bounds of the step and of its mask. */
struct point_var {
    int var, by;
    et_expr extent, limit[2];
};

struct context {
    et_program *p;
    et_exprs *x;
    const et_func *f;
    int loop;
    et_footprints *out;
    const et_step *step;
    struct point_var *point;
    int npoints, cpoints;
};

/* Coordinates and loop variables stay themselves; everything else ranges over its extent. */
static bool is_fixed(const struct context *c, int var) {
    for (int i = 0; i < c->f->ncoords; i++)
        if (c->f->coord[i] == var) return true;
    for (int l = c->loop; l >= 0; l = c->p->g->loops[l].parent)
        if (c->p->g->loops[l].var == var) return true;
    return false;
}

static et_interval whole(void) {
    return (et_interval){.whole = true};
}

static et_interval interval(struct context *c, et_expr e);

/* ---- loads: elements that a tensor names ---- */

struct leaves {
    const et_exprs *x;
    int vars[ET_MAX_VARS], n;
    bool loads, many;
};

static void find_leaf(void *ctx, et_expr e) {
    struct leaves *l = ctx;
    const et_node_x *n = et_x(l->x, e);
    l->loads |= n->op == ET_X_LOAD;
    if (n->op != ET_X_VAR) return;
    l->many |= l->n == ET_MAX_VARS;
    if (!l->many) l->vars[l->n++] = n->i;
}

/* Only coordinates, loops and symbols. */
static bool is_settled(const struct context *c, et_expr e) {
    struct leaves l = {.x = c->x};
    et_walk(c->x, e, find_leaf, &l);
    for (int i = 0; i < l.n; i++)
        if (!is_fixed(c, l.vars[i])) return false;
    return !l.loads && !l.many;
}

/* The bound of VAR by the conditions ANDed in MASK: one of them may be VAR + rest < E. */
static et_expr masked(const struct context *c, et_expr mask, int var) {
    if (!mask.id) return mask;
    et_node_x n = *et_x(c->x, mask);
    if (n.op == ET_X_AND) {
        et_expr left = masked(c, n.ops[0], var);
        return left.id ? left : masked(c, n.ops[1], var);
    }
    if (n.op != ET_X_LT || et_x(c->x, n.ops[0])->type != ET_T_I32) return ET_NO_EXPR;
    et_expr rest = et_sub(c->x, n.ops[0], et_var(c->x, var));
    if (!is_settled(c, rest) || !is_settled(c, n.ops[1])) return ET_NO_EXPR;
    return et_sub(c->x, n.ops[1], rest);
}

/* The footprint's variable for variable VAR of the step, which goes as far as the step says or,
 * MASKED, only as far as its mask says; -1 when it cannot be told how far. */
static int point_var(struct context *c, int var, bool use_mask) {
    et_expr own = et_step_extent(c->x, c->step, var),
            limit = use_mask ? masked(c, c->step->mask, var) : ET_NO_EXPR;
    et_expr extent = limit.id ? et_op2(c->x, ET_X_MIN, own, limit) : own;
    for (int i = 0; i < c->npoints; i++)
        if (c->point[i].var == var && et_expr_eq(c->point[i].extent, extent)) return c->point[i].by;
    if (!is_settled(c, extent)) return -1;
    ET_GROW(c->p->g->arena, c->point, c->npoints, c->cpoints);
    int by = et_var_add(c->x, et_var_name(c->x, var), extent);
    c->point[c->npoints++] = (struct point_var){var, by, extent, {own, limit.id ? limit : own}};
    return by;
}

static bool holds(const struct context *c, et_xop op, et_expr a, et_expr b) {
    const et_node_x *n = et_x(c->x, et_op2(c->x, op, a, b));
    return n->op == ET_X_INT && n->n;
}

/* E grows with every variable made for footprints and is less than DIM where each is at either of
 * its limits; FROM: those not yet there. */
static bool is_below(struct context *c, et_expr e, et_expr dim, int from) {
    et_exprs *x = c->x;
    et_expr zero = et_int(x, 0), one = et_int(x, 1);
    if (holds(c, ET_X_LT, e, dim)) return true;
    while (from < c->npoints && et_expr_eq(et_subst_var(x, e, c->point[from].by, zero), e))
        from++;
    if (from == c->npoints) return false;
    const struct point_var *v = &c->point[from];
    int64_t step;
    et_expr next = et_subst_var(x, e, v->by, et_add(x, et_var(x, v->by), one));
    if (!et_is_int(x, et_sub(x, next, e), &step) || step < 0) return false;
    for (int i = 0; i < 2; i++) {
        et_expr last = et_sub(x, c->point[from].limit[i], one);
        if (is_below(c, et_subst_var(x, e, c->point[from].by, last), dim, from + 1)) return true;
    }
    return false;
}

/* Where a variable's own extent goes past what the mask says, LOAD, as the step has it, is outside
 * its tensor: it can be seen from the load alone that the rest is not touched. */
static bool leaves_past_mask(struct context *c, const et_node_x *load) {
    et_exprs *x = c->x;
    const et_shape *s = &c->p->tensors[load->i].shape;
    for (int i = 0; i < c->npoints; i++) {
        const struct point_var *v = &c->point[i];
        bool used = false, out = et_expr_eq(v->limit[0], v->limit[1]);
        for (int d = 0; d < load->nops; d++) {
            et_expr e = et_subst_var(x, load->ops[d], v->var, v->limit[1]);
            used |= !et_expr_eq(e, load->ops[d]);
            for (int k = 0; k < c->npoints; k++)
                e = et_subst_var(x, e, c->point[k].var, et_int(x, 0));
            out |= holds(c, ET_X_LE, s->dim[d], e);
        }
        if (used && !out) return false;
    }
    return true;
}

/* E, a load, over variables of footprints, if it is inside its tensor everywhere; or none. */
static et_expr over_points(struct context *c, et_expr e, const struct leaves *l, bool use_mask) {
    et_node_x own = *et_x(c->x, e);
    for (int i = 0; i < l->n; i++) {
        if (is_fixed(c, l->vars[i])) continue;
        int by = point_var(c, l->vars[i], use_mask);
        if (by < 0) return ET_NO_EXPR;
        e = et_subst_var(c->x, e, l->vars[i], et_var(c->x, by));
    }
    et_node_x n = *et_x(c->x, e);
    const et_shape *s = &c->p->tensors[n.i].shape;
    for (int d = 0; d < n.nops; d++)
        if (!holds(c, ET_X_LE, et_int(c->x, 0), n.ops[d]) || !is_below(c, n.ops[d], s->dim[d], 0))
            return ET_NO_EXPR;
    return use_mask && !leaves_past_mask(c, &own) ? ET_NO_EXPR : e;
}

static et_interval of_load(struct context *c, et_expr e) {
    et_node_x n = *et_x(c->x, e);
    if (n.i2 != ET_LOAD_TENSOR || n.type != ET_T_I32) return whole();
    struct leaves l = {.x = c->x};
    for (int d = 0; d < n.nops; d++)
        et_walk(c->x, n.ops[d], find_leaf, &l);
    if (l.loads || l.many) return whole();
    et_expr load = over_points(c, e, &l, false);
    if (!load.id) load = over_points(c, e, &l, true);
    return load.id ? (et_interval){.lo = load, .hi = load, .load = load} : whole();
}

/* ---- arithmetic ---- */

static et_interval of_var(struct context *c, et_expr e, int var) {
    if (is_fixed(c, var)) return (et_interval){.lo = e, .hi = e};
    et_expr extent = et_var_extent(c->x, var);
    int64_t lo, hi;
    et_step_var v[ET_STEP_VARS];
    for (int i = 0, n = et_step_vars(c->x, c->step, v); i < n; i++)
        if (v[i].var == var && v[i].role == ET_VAR_SIDE && et_bounds(c->x, v[i].extent, &lo, &hi))
            extent = et_int(c->x, hi);
    et_interval n = interval(c, extent);
    if (n.whole) return n;
    return (et_interval){.lo = et_int(c->x, 0), .hi = et_sub(c->x, n.hi, et_int(c->x, 1))};
}

static et_interval of_product(struct context *c, et_interval a, et_interval b) {
    int64_t lo, hi;
    if (!et_expr_eq(b.lo, b.hi) || !et_bounds(c->x, b.lo, &lo, &hi)) return whole();
    et_expr u = et_mul(c->x, a.lo, b.lo), v = et_mul(c->x, a.hi, b.lo);
    if (lo >= 0) return (et_interval){.lo = u, .hi = v};
    return hi <= 0 ? (et_interval){.lo = v, .hi = u} : whole();
}

static et_interval of_division(struct context *c, et_xop op, et_interval a, et_interval b) {
    int64_t lo, hi;
    if (!et_expr_eq(b.lo, b.hi) || !et_bounds(c->x, b.lo, &lo, &hi) || lo < 1) return whole();
    if (op == ET_X_IDIV || et_expr_eq(a.lo, a.hi))
        return (et_interval){.lo = et_op2(c->x, op, a.lo, b.lo),
                             .hi = et_op2(c->x, op, a.hi, b.lo)};
    return (et_interval){.lo = et_int(c->x, 0), .hi = et_sub(c->x, b.lo, et_int(c->x, 1))};
}

static et_interval of_op2(struct context *c, const et_node_x *n) {
    et_interval a = interval(c, n->ops[0]), b = interval(c, n->ops[1]);
    if (a.whole || b.whole) return whole();
    switch (n->op) {
    case ET_X_ADD:
    case ET_X_MIN:
    case ET_X_MAX:
        return (et_interval){.lo = et_op2(c->x, n->op, a.lo, b.lo),
                             .hi = et_op2(c->x, n->op, a.hi, b.hi)};
    case ET_X_SUB:
        return (et_interval){.lo = et_sub(c->x, a.lo, b.hi), .hi = et_sub(c->x, a.hi, b.lo)};
    case ET_X_MUL:
        return et_expr_eq(b.lo, b.hi) ? of_product(c, a, b) : of_product(c, b, a);
    case ET_X_IDIV:
    case ET_X_MOD:
        return of_division(c, n->op, a, b);
    default:
        return whole();
    }
}

static et_interval interval_of(struct context *c, et_expr e) {
    const et_node_x *n = et_x(c->x, e);
    if (n->op == ET_X_INT || n->op == ET_X_SYM) return (et_interval){.lo = e, .hi = e};
    if (n->op == ET_X_VAR) return of_var(c, e, n->i);
    if (n->op == ET_X_SELECT) {
        et_interval a = interval(c, n->ops[1]), b = interval(c, n->ops[2]);
        if (a.whole || b.whole) return whole();
        return (et_interval){.lo = et_op2(c->x, ET_X_MIN, a.lo, b.lo),
                             .hi = et_op2(c->x, ET_X_MAX, a.hi, b.hi)};
    }
    if (n->op == ET_X_LOAD) return of_load(c, e);
    return n->type == ET_T_I32 && n->nops == 2 ? of_op2(c, n) : whole();
}

struct seen {
    const et_exprs *x;
    et_expr load;
    bool two;
};

static void see_load(void *ctx, et_expr e) {
    struct seen *s = ctx;
    if (et_x(s->x, e)->op != ET_X_LOAD) return;
    s->two |= s->load.id && !et_expr_eq(s->load, e);
    s->load = e;
}

/* With the one load it depends on; waits support no more. */
static et_interval interval(struct context *c, et_expr e) {
    et_interval i = interval_of(c, e);
    struct seen s = {c->x, ET_NO_EXPR, false};
    if (i.whole) return i;
    et_walk(c->x, i.lo, see_load, &s);
    et_walk(c->x, i.hi, see_load, &s);
    i.load = s.load;
    return s.two ? whole() : i;
}

static bool same(const et_footprint *a, const et_footprint *b, int rank) {
    if (a->tensor != b->tensor || a->is_store != b->is_store) return false;
    for (int d = 0; d < rank; d++)
        if (a->dim[d].whole != b->dim[d].whole || !et_expr_eq(a->dim[d].load, b->dim[d].load) ||
            !et_expr_eq(a->dim[d].lo, b->dim[d].lo) || !et_expr_eq(a->dim[d].hi, b->dim[d].hi))
            return false;
    return true;
}

static void note(void *ctx, const et_step *step, int tensor, bool is_store, const et_expr *index) {
    struct context *c = ctx;
    c->step = step;
    int rank = c->p->tensors[tensor].shape.rank;
    et_footprint fp = {.tensor = tensor, .is_store = is_store};
    for (int d = 0; d < rank; d++) {
        fp.dim[d] = interval(c, index[d]);
        et_interval *i = &fp.dim[d];
        et_expr last = et_sub(c->x, c->p->tensors[tensor].shape.dim[d], et_int(c->x, 1));
        if (!i->whole && et_expr_eq(i->hi, last) && et_expr_eq(i->lo, et_int(c->x, 0)))
            *i = whole();
        i->whole |= i->load.id != 0;
    }
    for (int k = 0; k < c->out->n; k++)
        if (same(&c->out->v[k], &fp, rank)) return;
    ET_GROW(c->p->g->arena, c->out->v, c->out->n, c->out->cap);
    c->out->v[c->out->n++] = fp;
}

void et_grid_footprints(et_program *p, const et_grid *g, et_footprints *out) {
    struct context c = {
        .p = p, .x = p->g->exprs, .f = &p->funcs[g->func], .loop = g->loop, .out = out};
    et_func_accesses(p, c.f, note, &c);
}
