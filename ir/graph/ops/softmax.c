#include "ir/graph/op_util.h"
#include <math.h>

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    int axis;
    if (!et_op_wants_float(g, n, 0, "the argument of softmax") ||
        !et_op_axis(g, n, et_arg_shape(g, n, 0)->rank, &axis))
        return false;
    *out_shape = *et_arg_shape(g, n, 0);
    out_shape->dtype = ET_F32;
    return true;
}

/* The argument with variable number WHICH along the axis. */
static et_expr along(et_lower *lo, const et_node *n, int which, const et_expr *index) {
    const et_shape *x = et_arg_shape(lo->g, n, 0);
    int axis = et_op_axis_of(lo->g, n);
    et_expr from[ET_MAX_RANK];
    for (int k = 0; k < x->rank; k++)
        from[k] = index[k];
    from[axis] = et_var(lo->g->exprs, et_node_var(lo->g, n, which, "r", x->dim[axis]));
    return et_arg_at(lo, n, 0, from);
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    et_expr size = et_arg_shape(lo->g, n, 0)->dim[et_op_axis_of(lo->g, n)];
    int of_max = et_node_var(lo->g, n, 0, "r", size), of_sum = et_node_var(lo->g, n, 1, "r", size);
    et_expr max = et_reduce_x(p, ET_RED_MAX, of_max, size, along(lo, n, 0, index));
    et_expr term = et_op1(p, ET_X_EXP, et_sub(p, along(lo, n, 1, index), max));
    et_expr sum = et_reduce_x(p, ET_RED_SUM, of_sum, size, term);
    et_expr own = et_op1(p, ET_X_EXP, et_sub(p, et_arg_at(lo, n, 0, index), max));
    return et_op2(p, ET_X_DIV, own, sum);
}

static void softmax(const float *x, float *y, int64_t n, int64_t step) {
    float max = -INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        max = fmaxf(max, x[i * step]);
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)x[i * step] - (double)max);
    for (int64_t i = 0; i < n; i++)
        y[i * step] = (float)(exp((double)x[i * step] - (double)max) / sum);
}

static bool interp(const et_interp_args *a) {
    int64_t outer, n, inner;
    et_split_axis(a->args[0], et_op_axis_of(a->g, a->node), &outer, &n, &inner);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            int64_t at_row = o * n * inner + i;
            softmax(a->args[0]->f + at_row, a->result->f + at_row, n, inner);
        }
    return true;
}

const et_op et_op_softmax = {
    ET_OP_ROW(softmax), .class = ET_CLASS_REDUCE, .shape = shape, .at = at, .interp = interp,
};
