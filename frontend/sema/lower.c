/* What the rows of builtins.c become in the graph. */
#include "frontend/sema/sema.h"

bool et_lower_op1(et_sema *s, const et_call *c, et_elem *out) {
    return et_elem_op1(s, c->loc, (et_xop)c->fn->op, &c->arg[0], out);
}

bool et_lower_op2(et_sema *s, const et_call *c, et_elem *out) {
    return et_elem_op2(s, c->loc, (et_xop)c->fn->op, &c->arg[0], &c->arg[1], out);
}

bool et_lower_where(et_sema *s, const et_call *c, et_elem *out) {
    return et_elem_select(s, c->loc, &c->arg[0], &c->arg[1], &c->arg[2], out);
}

bool et_lower_random(et_sema *s, const et_call *c, et_elem *out) {
    return et_elem_random(s, c->loc, &c->arg[0], &c->arg[1], &c->arg[2], out);
}

bool et_lower_cast(et_sema *s, const et_call *c, et_elem *out) {
    return et_elem_cast(s, c->loc, (et_dtype)c->fn->op, &c->arg[0], out);
}

static const et_shape *shape_of(et_sema *s, et_value v) {
    return &et_val_of(s->graph, v)->shape;
}

/* An axis keyword as a number from 0; negative ones count from the end. */
static bool axis_of(et_sema *s, const et_call *c, int kw, int rank, int64_t *out) {
    *out = c->kw[kw].i < 0 ? c->kw[kw].i + rank : c->kw[kw].i;
    if (*out >= 0 && *out < rank) return true;
    return et_sema_error(s, c->kw[kw].loc, "axis %lld of %s, which has %d dimension%s",
                         (long long)c->kw[kw].i, et_shape_text(s->x, shape_of(s, c->value[0])),
                         rank, rank == 1 ? "" : "s");
}

static bool reduce(et_sema *s, const et_call *c, et_reduce kind, int64_t *out_axis, et_elem *out) {
    if (!axis_of(s, c, 0, shape_of(s, c->value[0])->rank, out_axis)) return false;
    et_attr attrs[] = {et_attr_of_int("kind", kind), et_attr_of_int("axis", *out_axis),
                       et_attr_of_int("keep", c->kw[1].i != 0)};
    return et_sema_node(s, &et_op_reduce, c->loc, 1, c->value, 3, attrs, out);
}

bool et_lower_reduce(et_sema *s, const et_call *c, et_elem *out) {
    int64_t axis;
    return reduce(s, c, (et_reduce)c->fn->op, &axis, out);
}

bool et_lower_mean(et_sema *s, const et_call *c, et_elem *out) {
    int64_t axis, n;
    et_elem sum, extent;
    if (!reduce(s, c, ET_RED_SUM, &axis, &sum)) return false;
    extent = et_elem_scalar(s, shape_of(s, c->value[0])->dim[axis]);
    if (!et_elem_is_int(s, &extent, &n))
        return et_elem_op2(s, c->loc, ET_X_DIV, &sum, &extent, out);
    extent = et_elem_float(s, 1.0 / (double)n);
    return et_elem_op2(s, c->loc, ET_X_MUL, &sum, &extent, out);
}

bool et_lower_softmax(et_sema *s, const et_call *c, et_elem *out) {
    int64_t axis;
    if (!axis_of(s, c, 0, shape_of(s, c->value[0])->rank, &axis)) return false;
    et_attr attr = et_attr_of_int("axis", axis);
    return et_sema_node(s, &et_op_softmax, c->loc, 1, c->value, 1, &attr, out);
}

static bool norm(et_sema *s, const et_call *c, const et_op *op, et_elem *out) {
    if (!(c->kw[0].f >= 0))
        return et_sema_error(s, c->kw[0].loc, "eps must not be negative, this is %g", c->kw[0].f);
    et_attr attr = et_attr_of_float("eps", c->kw[0].f);
    return et_sema_node(s, op, c->loc, c->n, c->value, 1, &attr, out);
}

bool et_lower_rmsnorm(et_sema *s, const et_call *c, et_elem *out) {
    return norm(s, c, &et_op_rmsnorm, out);
}

bool et_lower_layernorm(et_sema *s, const et_call *c, et_elem *out) {
    return norm(s, c, &et_op_layernorm, out);
}

bool et_lower_gather(et_sema *s, const et_call *c, et_elem *out) {
    return et_sema_node(s, &et_op_gather, c->loc, 2, c->value, 0, NULL, out);
}

static bool list_fits(et_sema *s, const et_call *c) {
    if (c->list->n <= ET_MAX_RANK) return true;
    return et_sema_error(s, c->list->loc, "%d dimensions: at most %d", c->list->n, ET_MAX_RANK);
}

bool et_lower_reshape(et_sema *s, const et_call *c, et_elem *out) {
    et_expr dim[ET_MAX_RANK];
    bool ok = list_fits(s, c);
    if (!ok) return false;
    for (int i = 0; i < c->list->n; i++)
        ok &= et_sema_size(s, c->list->kid[i], &dim[i]);
    if (!ok) return false;
    et_attr attr = et_attr_of_exprs("shape", c->list->n, dim);
    return et_sema_node(s, &et_op_reshape, c->loc, 1, c->value, 1, &attr, out);
}

bool et_lower_transpose(et_sema *s, const et_call *c, et_elem *out) {
    int64_t perm[ET_MAX_RANK];
    bool ok = list_fits(s, c), seen[ET_MAX_RANK] = {false};
    if (!ok) return false;
    int rank = shape_of(s, c->value[0])->rank;
    for (int i = 0; i < c->list->n; i++)
        ok &= et_sema_int(s, c->list->kid[i], &perm[i]);
    if (!ok) return false;
    for (int i = 0; i < c->list->n; i++) {
        ok &= perm[i] >= 0 && perm[i] < rank && !seen[perm[i]];
        if (ok) seen[perm[i]] = true;
    }
    if (!ok || c->list->n != rank)
        return et_sema_error(s, c->list->loc, "a permutation of %s names each of 0..%d once",
                             et_shape_text(s->x, shape_of(s, c->value[0])), rank - 1);
    et_attr attr = et_attr_of_ints("perm", rank, perm);
    return et_sema_node(s, &et_op_transpose, c->loc, 1, c->value, 1, &attr, out);
}

bool et_lower_concat(et_sema *s, const et_call *c, et_elem *out) {
    int64_t axis;
    if (!axis_of(s, c, 0, shape_of(s, c->value[0])->rank, &axis)) return false;
    et_attr attr = et_attr_of_int("axis", axis);
    return et_sema_node(s, &et_op_concat, c->loc, c->n, c->value, 1, &attr, out);
}
