#include "ir/graph/op_util.h"
#include <math.h>

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    static const char *const what[] = {"the first argument of layernorm", "the weight of layernorm",
                                       "the bias of layernorm"};
    const et_shape *x = et_arg_shape(g, n, 0);
    for (int i = 0; i < 3; i++)
        if (!et_op_wants_float(g, n, i, what[i])) return false;
    if (x->rank < 1)
        return et_op_error(g, n, "layernorm of a scalar: it needs at least one dimension");
    for (int i = 1; i < 3; i++) {
        const et_shape *w = et_arg_shape(g, n, i);
        if (w->rank != 1 || !et_expr_eq(w->dim[0], x->dim[x->rank - 1]))
            return et_op_error(
                g, n, "%s over %s must be [%s], found %s", what[i], et_arg_text(g, n, 0),
                et_expr_text(g->exprs, x->dim[x->rank - 1], NULL, NULL), et_arg_text(g, n, i));
    }
    *out_shape = *x;
    out_shape->dtype = ET_F32;
    return true;
}

/* The mean over the last axis of the first argument, or of its squared distance to CENTER. */
static et_expr mean_at(et_lower *lo, const et_node *n, int which, const et_expr *index,
                       et_expr center) {
    et_exprs *p = lo->g->exprs;
    int last = et_arg_shape(lo->g, n, 0)->rank - 1;
    et_expr size = et_arg_shape(lo->g, n, 0)->dim[last], from[ET_MAX_RANK];
    int var = et_node_var(lo->g, n, which, "r", size);
    for (int k = 0; k < last; k++)
        from[k] = index[k];
    from[last] = et_var(p, var);
    et_expr v = et_arg_at(lo, n, 0, from);
    if (center.id) {
        v = et_sub(p, v, center);
        v = et_mul(p, v, v);
    }
    et_expr sum = et_reduce_x(p, ET_RED_SUM, var, size, v);
    return et_op2(p, ET_X_DIV, sum, et_op1(p, ET_X_TO_F32, size));
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    int last = et_arg_shape(lo->g, n, 0)->rank - 1;
    et_expr mean = mean_at(lo, n, 0, index, ET_NO_EXPR);
    et_expr var = mean_at(lo, n, 1, index, mean);
    et_expr eps = et_float(p, et_attr_float(n, "eps", 1e-5));
    et_expr y = et_mul(p, et_sub(p, et_arg_at(lo, n, 0, index), mean),
                       et_op1(p, ET_X_RSQRT, et_add(p, var, eps)));
    return et_add(p, et_mul(p, y, et_arg_at(lo, n, 1, &index[last])),
                  et_arg_at(lo, n, 2, &index[last]));
}

static bool interp(const et_interp_args *a) {
    const et_tensor_data *x = a->args[0];
    const float *g = a->args[1]->f, *b = a->args[2]->f;
    int64_t n = x->dim[x->rank - 1], rows = et_tensor_count(x) / n;
    double eps = et_attr_float(a->node, "eps", 1e-5);
    for (int64_t r = 0; r < rows; r++) {
        const float *v = x->f + r * n;
        double mean = 0, var = 0;
        for (int64_t i = 0; i < n; i++)
            mean += (double)v[i];
        mean /= (double)n;
        for (int64_t i = 0; i < n; i++)
            var += ((double)v[i] - mean) * ((double)v[i] - mean);
        double scale = 1 / sqrt(var / (double)n + eps);
        for (int64_t i = 0; i < n; i++)
            a->result->f[r * n + i] =
                (float)(((double)v[i] - mean) * scale * (double)g[i] + (double)b[i]);
    }
    return true;
}

const et_op et_op_layernorm = {
    ET_OP_ROW(layernorm), .class = ET_CLASS_REDUCE, .shape = shape, .at = at, .interp = interp,
};
