#include "ir/graph/op_util.h"
#include <math.h>
#include <string.h>

static et_reduce kind_of(const et_node *n) {
    return (et_reduce)et_op_attr(n, "kind", ET_A_INT)->i;
}

static bool is_mean(const et_node *n) {
    return et_attr_int(n, "mean", 0) != 0;
}

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *x = et_arg_shape(g, n, 0), *first = et_arg_shape(g, n, 1);
    int64_t lo, hi;
    if (!et_op_wants_i32(g, n, 1, "where segments begin")) return false;
    if (x->rank < 1)
        return et_op_error(g, n, "segments of a single number: it needs at least one dimension");
    if (first->rank != 1)
        return et_op_error(g, n, "where segments begin must have one dimension, found %s",
                           et_arg_text(g, n, 1));
    *out_shape = *x;
    if (is_mean(n) || et_dtype_is_float(x->dtype)) out_shape->dtype = ET_F32;
    out_shape->dim[0] = et_sub(g->exprs, first->dim[0], et_int(g->exprs, 1));
    if (et_bounds(g->exprs, out_shape->dim[0], &lo, &hi) && lo >= 1) return true;
    return et_op_error(g, n, "S segments are given by S + 1 places, found %s",
                       et_arg_text(g, n, 1));
}

static et_expr clamp(et_exprs *p, et_expr e, et_expr lo, et_expr hi) {
    return et_op2(p, ET_X_MAX, et_op2(p, ET_X_MIN, e, hi), lo);
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    const et_shape *x = et_arg_shape(lo->g, n, 0);
    et_expr one = et_int(p, 1), zero = et_int(p, 0), from[ET_MAX_RANK];
    et_expr next = et_add(p, index[0], one);
    et_expr begin = clamp(p, et_arg_at(lo, n, 1, index), zero, x->dim[0]);
    et_expr end = clamp(p, et_arg_at(lo, n, 1, &next), zero, x->dim[0]); /* for the difference */
    et_expr extent = et_op2(p, ET_X_MAX, et_sub(p, end, begin), zero);
    int var = et_node_var(lo->g, n, 0, "r", x->dim[0]);
    memcpy(from, index, (size_t)x->rank * sizeof *from);
    from[0] = clamp(p, et_add(p, begin, et_var(p, var)), zero, et_sub(p, x->dim[0], one));
    et_expr one_of = et_arg_at(lo, n, 0, from);
    if (is_mean(n)) one_of = et_op1(p, ET_X_TO_F32, one_of); /* a sum of integers may wrap around */
    et_expr all = et_reduce_x(p, kind_of(n), var, extent, one_of);
    if (!is_mean(n)) return all;
    et_expr count = et_op1(p, ET_X_TO_F32, et_op2(p, ET_X_MAX, extent, one));
    return et_op2(p, ET_X_DIV, all, count);
}

static double start_of(et_reduce kind, bool whole) {
    if (kind == ET_RED_SUM) return 0;
    double least = whole ? (double)INT32_MIN : -INFINITY;
    return kind == ET_RED_MAX ? least : whole ? (double)INT32_MAX : INFINITY;
}

static bool interp(const et_interp_args *a) {
    const et_tensor_data *x = a->args[0];
    const int32_t *first = a->args[1]->i;
    et_reduce kind = kind_of(a->node);
    bool whole = !et_dtype_is_float(x->dtype);
    int64_t rows = x->dim[0], inner = et_tensor_count(x) / rows;
    for (int64_t i = 0; i < et_tensor_count(a->result); i++) {
        int64_t s = i / inner, begin = et_clamp(first[s], 0, rows);
        int64_t end = first[s + 1] < rows ? first[s + 1] : rows;
        double v = start_of(kind, whole);
        for (int64_t r = begin; r < end; r++) {
            int64_t k = r * inner + i % inner;
            double e = whole ? (double)x->i[k] : (double)x->f[k];
            v = kind == ET_RED_SUM ? v + e : kind == ET_RED_MAX ? fmax(v, e) : fmin(v, e);
        }
        if (is_mean(a->node))
            a->result->f[i] = (float)(v / (double)(end > begin ? end - begin : 1));
        else if (whole)
            a->result->i[i] = kind == ET_RED_SUM ? (int32_t)(uint32_t)(int64_t)v : (int32_t)v;
        else
            a->result->f[i] = (float)v;
    }
    return true;
}

const et_op et_op_segment = {
    ET_OP_ROW(segment), .class = ET_CLASS_REDUCE, .shape = shape, .at = at, .interp = interp,
};
