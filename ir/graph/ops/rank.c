#include "ir/graph/op_util.h"
#include <math.h>
#include <string.h>

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    *out_shape = *et_arg_shape(g, n, 0);
    out_shape->dtype = ET_I32;
    return out_shape->rank >= 1 ||
           et_op_error(g, n, "rank of a single number: it needs at least one dimension");
}

/* NaN counts as minus infinity. */
static et_expr counted(et_lower *lo, const et_node *n, const et_expr *index) {
    et_expr e = et_arg_at(lo, n, 0, index);
    if (!et_dtype_is_float(et_arg_shape(lo->g, n, 0)->dtype)) return e;
    return et_op2(lo->g->exprs, ET_X_MAX, e, et_float(lo->g->exprs, -INFINITY));
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    const et_shape *x = et_arg_shape(lo->g, n, 0);
    int last = x->rank - 1, var = et_node_var(lo->g, n, 0, "r", x->dim[last]);
    et_expr from[ET_MAX_RANK], other = et_var(p, var);
    memcpy(from, index, (size_t)x->rank * sizeof *from);
    from[last] = other;
    et_expr mine = counted(lo, n, index), its = counted(lo, n, from);
    et_expr before =
        et_op2(p, ET_X_AND, et_op2(p, ET_X_EQ, its, mine), et_op2(p, ET_X_LT, other, index[last]));
    before = et_op2(p, ET_X_OR, et_op2(p, ET_X_LT, mine, its), before);
    return et_reduce_x(p, ET_RED_SUM, var, x->dim[last],
                       et_select(p, before, et_int(p, 1), et_int(p, 0)));
}

static double element(const et_tensor_data *t, int64_t i) {
    double v = et_dtype_is_float(t->dtype) ? (double)t->f[i] : (double)t->i[i];
    return isnan(v) ? -INFINITY : v;
}

static bool interp(const et_interp_args *a) {
    const et_tensor_data *x = a->args[0];
    int64_t n = x->dim[x->rank - 1];
    for (int64_t row = 0; row < et_tensor_count(x); row += n)
        for (int64_t i = 0; i < n; i++) {
            double mine = element(x, row + i);
            int32_t place = 0;
            for (int64_t k = 0; k < n; k++) {
                double its = element(x, row + k);
                place += its > mine || (k < i && its == mine);
            }
            a->result->i[row + i] = place;
        }
    return true;
}

const et_op et_op_rank = {
    ET_OP_ROW(rank), .class = ET_CLASS_REDUCE, .shape = shape, .at = at, .interp = interp,
};
