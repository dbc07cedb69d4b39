#include "ir/graph/op_util.h"
#include <math.h>

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *x = et_arg_shape(g, n, 0), *w = et_arg_shape(g, n, 1);
    if (!et_op_wants_float(g, n, 0, "the first argument of rmsnorm") ||
        !et_op_wants_float(g, n, 1, "the weight of rmsnorm"))
        return false;
    if (x->rank < 1)
        return et_op_error(g, n, "rmsnorm of a scalar: it needs at least one dimension");
    if (w->rank != 1 || !et_expr_eq(w->dim[0], x->dim[x->rank - 1]))
        return et_op_error(
            g, n, "the weight of rmsnorm over %s must be [%s], found %s", et_arg_text(g, n, 0),
            et_expr_text(g->exprs, x->dim[x->rank - 1], NULL, NULL), et_arg_text(g, n, 1));
    *out_shape = *x;
    out_shape->dtype = ET_F32;
    return true;
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    int last = et_arg_shape(lo->g, n, 0)->rank - 1;
    et_expr size = et_arg_shape(lo->g, n, 0)->dim[last], from[ET_MAX_RANK];
    int var = et_node_var(lo->g, n, 0, "r", size);
    for (int k = 0; k < last; k++)
        from[k] = index[k];
    from[last] = et_var(p, var);
    et_expr v = et_arg_at(lo, n, 0, from);
    et_expr sum = et_reduce_x(p, ET_RED_SUM, var, size, et_mul(p, v, v));
    et_expr mean = et_op2(p, ET_X_DIV, sum, et_op1(p, ET_X_TO_F32, size));
    et_expr eps = et_float(p, et_attr_float(n, "eps", 1e-5));
    et_expr scale = et_op1(p, ET_X_RSQRT, et_add(p, mean, eps));
    et_expr y = et_mul(p, et_arg_at(lo, n, 0, index), scale);
    return et_mul(p, y, et_arg_at(lo, n, 1, &index[last]));
}

static bool interp(const et_interp_args *a) {
    const et_tensor_data *x = a->args[0];
    int64_t n = x->dim[x->rank - 1], rows = et_tensor_count(x) / n;
    double eps = et_attr_float(a->node, "eps", 1e-5);
    for (int64_t r = 0; r < rows; r++) {
        const float *v = x->f + r * n;
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += (double)v[i] * (double)v[i];
        double scale = 1 / sqrt(sum / (double)n + eps);
        for (int64_t i = 0; i < n; i++)
            a->result->f[r * n + i] = (float)((double)v[i] * scale * (double)a->args[1]->f[i]);
    }
    return true;
}

const et_op et_op_rmsnorm = {
    ET_OP_ROW(rmsnorm), .class = ET_CLASS_REDUCE, .shape = shape, .at = at, .interp = interp,
};
