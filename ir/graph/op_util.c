#include "ir/graph/op_util.h"
#include <stdarg.h>
#include <stdio.h>

const et_shape *et_arg_shape(const et_graph *g, const et_node *n, int i) {
    et_check(i >= 0 && i < n->nargs);
    return &et_val_of(g, n->args[i])->shape;
}

const char *et_arg_text(et_graph *g, const et_node *n, int i) {
    const et_shape *s = et_arg_shape(g, n, i);
    return et_dims_text(g->exprs, s->rank, s->dim);
}

bool et_op_error(et_graph *g, const et_node *n, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *text = et_vprintf(g->arena, fmt, ap);
    va_end(ap);
    et_diag(g->diags, ET_ERROR, n->loc, "%s", text);
    return false;
}

bool et_op_wants_i32(et_graph *g, const et_node *n, int i, const char *what) {
    const et_shape *s = et_arg_shape(g, n, i);
    if (s->dtype == ET_I32) return true;
    return et_op_error(g, n, "%s must be i32, found %s", what, et_shape_text(g->exprs, s));
}

bool et_op_wants_float(et_graph *g, const et_node *n, int i, const char *what) {
    const et_shape *s = et_arg_shape(g, n, i);
    if (et_dtype_multiplies(s->dtype)) return true;
    return et_op_error(g, n, "%s must be f32, f16 or bf16, found %s: convert with f32(...)", what,
                       et_shape_text(g->exprs, s));
}

bool et_op_axis(et_graph *g, const et_node *n, int rank, int *out_axis) {
    int64_t axis = et_attr_int(n, "axis", -1);
    if (axis < -rank || axis >= rank) {
        if (rank == 0) return et_op_error(g, n, "a scalar has no axis %lld", (long long)axis);
        return et_op_error(g, n, "axis %lld is out of range for %d dimension%s: %d to %d",
                           (long long)axis, rank, rank == 1 ? "" : "s", -rank, rank - 1);
    }
    *out_axis = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

int et_op_axis_of(const et_graph *g, const et_node *n) {
    int64_t axis = et_attr_int(n, "axis", -1);
    return (int)(axis < 0 ? axis + et_arg_shape(g, n, 0)->rank : axis);
}

bool et_is_one(const et_exprs *p, et_expr e) {
    int64_t v;
    return et_is_int(p, e, &v) && v == 1;
}

bool et_broadcast_dim(const et_exprs *p, et_expr a, et_expr b, et_expr *out_dim) {
    *out_dim = et_is_one(p, a) ? b : a;
    return et_expr_eq(a, b) || et_is_one(p, a) || et_is_one(p, b);
}

const et_attr *et_op_attr(const et_node *n, const char *name, int kind) {
    const et_attr *a = et_attr_find(n, name);
    if (!a || (int)a->kind != kind) et_bug("%s needs the attribute '%s'", n->op->name, name);
    return a;
}

const int64_t *et_op_ints(const et_node *n, const char *name, int count) {
    const et_attr *a = et_op_attr(n, name, ET_A_INTS);
    if (a->n != count)
        et_bug("%s: attribute '%s' has %d values, not %d", n->op->name, name, a->n, count);
    return a->ints;
}

const et_expr *et_op_exprs(const et_node *n, const char *name, int count) {
    const et_attr *a = et_op_attr(n, name, ET_A_EXPRS);
    if (a->n != count)
        et_bug("%s: attribute '%s' has %d values, not %d", n->op->name, name, a->n, count);
    return a->exprs;
}

/* ---- reference evaluation ---- */

bool et_interp_error(const et_interp_args *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(a->err, 256, fmt, ap);
    va_end(ap);
    return false;
}

int64_t et_tensor_count(const et_tensor_data *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

void et_strides(const et_tensor_data *t, int64_t stride[ET_MAX_RANK]) {
    int64_t s = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        stride[i] = s;
        s *= t->dim[i];
    }
}

bool et_next_index(int rank, const int64_t *dim, int64_t *index) {
    for (int i = rank - 1; i >= 0; i--) {
        if (++index[i] < dim[i]) return true;
        index[i] = 0;
    }
    return false;
}

int64_t et_offset(int rank, const int64_t *stride, const int64_t *index) {
    int64_t o = 0;
    for (int i = 0; i < rank; i++)
        o += stride[i] * index[i];
    return o;
}

int64_t et_clamp(int64_t v, int64_t lo, int64_t hi) {
    return v < lo ? lo : v > hi ? hi : v;
}

void et_split_axis(const et_tensor_data *t, int axis, int64_t *out_outer, int64_t *out_n,
                   int64_t *out_inner) {
    *out_outer = *out_inner = 1;
    *out_n = t->dim[axis];
    for (int i = 0; i < axis; i++)
        *out_outer *= t->dim[i];
    for (int i = axis + 1; i < t->rank; i++)
        *out_inner *= t->dim[i];
}

int64_t et_op_step(const et_node *n, int k) {
    const et_attr *a = et_attr_find(n, "step");
    return a ? a->ints[k] : 1;
}

bool et_op_in_range(et_graph *g, const et_node *n, int k, et_expr start, et_expr size) {
    et_exprs *p = g->exprs;
    const et_shape *x = et_arg_shape(g, n, 0);
    int64_t lo, hi, step = et_op_step(n, k);
    et_expr one = et_int(p, 1);
    et_expr taken = et_add(p, et_mul(p, et_sub(p, size, one), et_int(p, step)), one);
    et_expr end = et_add(p, start, taken);
    bool ends = et_bounds(p, et_sub(p, x->dim[k], end), &lo, &hi) && lo >= 0;
    bool begins = et_bounds(p, start, &lo, &hi) && lo >= 0;
    if ((begins || et_prove_le(p, et_int(p, 0), start)) && (ends || et_prove_le(p, end, x->dim[k])))
        return true;
    if (et_is_one(p, size))
        return et_op_error(g, n, "index %s may leave dimension %d of %s",
                           et_expr_text(p, start, NULL, NULL), k, et_arg_text(g, n, 0));
    return et_op_error(g, n, "%s:%s may leave dimension %d of %s",
                       et_expr_text(p, start, NULL, NULL), et_expr_text(p, end, NULL, NULL), k,
                       et_arg_text(g, n, 0));
}
