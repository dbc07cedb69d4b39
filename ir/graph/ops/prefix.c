/* Sums of what comes before: element k along the axis is the sum of the first k, so there is one
 * more of them. Each is summed by itself: for axes of hundreds, not of millions. */
#include "ir/graph/op_util.h"

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *x = et_arg_shape(g, n, 0);
    int axis;
    if (!et_op_axis(g, n, x->rank, &axis)) return false;
    *out_shape = *x;
    out_shape->dtype = et_dtype_is_float(x->dtype) ? ET_F32 : ET_I32;
    out_shape->dim[axis] = et_add(g->exprs, x->dim[axis], et_int(g->exprs, 1));
    return true;
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    const et_shape *x = et_arg_shape(lo->g, n, 0);
    int axis = et_op_axis_of(lo->g, n);
    et_expr from[ET_MAX_RANK];
    int var = et_node_var(lo->g, n, 0, "r", x->dim[axis]);
    for (int k = 0; k < x->rank; k++)
        from[k] = k == axis ? et_var(p, var) : index[k];
    return et_reduce_x(p, ET_RED_SUM, var, index[axis], et_arg_at(lo, n, 0, from));
}

static void sums(const et_tensor_data *x, et_tensor_data *to, int64_t from, int64_t n, int64_t step,
                 int64_t at) {
    double real = 0;
    uint32_t whole = 0; /* wraps as the device does */
    for (int64_t k = 0; k <= n; k++, from += step, at += step) {
        if (et_dtype_is_float(x->dtype))
            to->f[at] = (float)real;
        else
            to->i[at] = (int32_t)whole;
        if (k == n) return;
        if (et_dtype_is_float(x->dtype))
            real += (double)x->f[from];
        else
            whole += (uint32_t)x->i[from];
    }
}

static bool interp(const et_interp_args *a) {
    int64_t outer, n, inner;
    et_split_axis(a->args[0], et_op_axis_of(a->g, a->node), &outer, &n, &inner);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++)
            sums(a->args[0], a->result, o * n * inner + i, n, inner, o * (n + 1) * inner + i);
    return true;
}

const et_op et_op_prefix = {
    ET_OP_ROW(prefix), .class = ET_CLASS_REDUCE, .shape = shape, .at = at, .interp = interp,
};
