#include "footprint.h"

struct context {
    et_program *p;
    et_exprs *x;
    const et_func *f;
    int loop;
    et_footprints *out;
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

static et_interval interval(const struct context *c, et_expr e);

static et_interval of_var(const struct context *c, et_expr e, int var) {
    if (is_fixed(c, var)) return (et_interval){.lo = e, .hi = e};
    et_interval n = interval(c, et_var_extent(c->x, var));
    if (n.whole) return n;
    return (et_interval){.lo = et_int(c->x, 0), .hi = et_sub(c->x, n.hi, et_int(c->x, 1))};
}

static et_interval of_product(const struct context *c, et_interval a, et_interval b) {
    int64_t lo, hi;
    if (!et_expr_eq(b.lo, b.hi) || !et_bounds(c->x, b.lo, &lo, &hi)) return whole();
    et_expr u = et_mul(c->x, a.lo, b.lo), v = et_mul(c->x, a.hi, b.lo);
    if (lo >= 0) return (et_interval){.lo = u, .hi = v};
    return hi <= 0 ? (et_interval){.lo = v, .hi = u} : whole();
}

static et_interval of_division(const struct context *c, et_xop op, et_interval a, et_interval b) {
    int64_t lo, hi;
    if (!et_expr_eq(b.lo, b.hi) || !et_bounds(c->x, b.lo, &lo, &hi) || lo < 1) return whole();
    if (op == ET_X_IDIV || et_expr_eq(a.lo, a.hi))
        return (et_interval){.lo = et_op2(c->x, op, a.lo, b.lo),
                             .hi = et_op2(c->x, op, a.hi, b.lo)};
    return (et_interval){.lo = et_int(c->x, 0), .hi = et_sub(c->x, b.lo, et_int(c->x, 1))};
}

static et_interval of_op2(const struct context *c, const et_node_x *n) {
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

static et_interval interval(const struct context *c, et_expr e) {
    const et_node_x *n = et_x(c->x, e);
    if (n->op == ET_X_INT || n->op == ET_X_SYM) return (et_interval){.lo = e, .hi = e};
    if (n->op == ET_X_VAR) return of_var(c, e, n->i);
    if (n->op == ET_X_SELECT) {
        et_interval a = interval(c, n->ops[1]), b = interval(c, n->ops[2]);
        if (a.whole || b.whole) return whole();
        return (et_interval){.lo = et_op2(c->x, ET_X_MIN, a.lo, b.lo),
                             .hi = et_op2(c->x, ET_X_MAX, a.hi, b.hi)};
    }
    return n->type == ET_T_I32 && n->nops == 2 && n->op != ET_X_LOAD ? of_op2(c, n) : whole();
}

static bool same(const et_footprint *a, const et_footprint *b, int rank) {
    if (a->tensor != b->tensor || a->is_store != b->is_store) return false;
    for (int d = 0; d < rank; d++)
        if (a->dim[d].whole != b->dim[d].whole || !et_expr_eq(a->dim[d].lo, b->dim[d].lo) ||
            !et_expr_eq(a->dim[d].hi, b->dim[d].hi))
            return false;
    return true;
}

static void note(void *ctx, const et_step *step, int tensor, bool is_store, const et_expr *index) {
    (void)step;
    struct context *c = ctx;
    int rank = c->p->tensors[tensor].shape.rank;
    et_footprint fp = {.tensor = tensor, .is_store = is_store};
    for (int d = 0; d < rank; d++) {
        fp.dim[d] = interval(c, index[d]);
        et_interval *i = &fp.dim[d];
        et_expr last = et_sub(c->x, c->p->tensors[tensor].shape.dim[d], et_int(c->x, 1));
        if (!i->whole && et_expr_eq(i->hi, last) && et_expr_eq(i->lo, et_int(c->x, 0)))
            *i = whole();
    }
    for (int k = 0; k < c->out->n; k++)
        if (same(&c->out->v[k], &fp, rank)) return;
    ET_GROW(c->p->g->arena, c->out->v, c->out->n, c->out->cap);
    c->out->v[c->out->n++] = fp;
}

void et_grid_footprints(et_program *p, const et_grid *g, et_footprints *out) {
    struct context c = {p, p->g->exprs, &p->funcs[g->func], g->loop, out};
    et_func_accesses(p, c.f, note, &c);
}
