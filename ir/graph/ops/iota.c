#include "ir/graph/op_util.h"

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_expr *dim = et_op_exprs(n, "shape", 1);
    *out_shape = (et_shape){.dtype = ET_I32, .rank = 1, .dim = {dim[0]}};
    int64_t lo, hi;
    if (et_bounds(g->exprs, dim[0], &lo, &hi) && lo >= 1 && hi <= INT32_MAX) return true;
    return et_op_error(g, n, "iota of %s elements: at least 1 and at most %d",
                       et_expr_text(g->exprs, dim[0], NULL, NULL), INT32_MAX);
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    (void)lo, (void)n;
    return index[0];
}

static bool interp(const et_interp_args *a) {
    for (int64_t i = 0; i < a->result->dim[0]; i++)
        a->result->i[i] = (int32_t)i;
    return true;
}

const et_op et_op_iota = {
    ET_OP_ROW(iota), .class = ET_CLASS_VIEW, .shape = shape, .at = at, .interp = interp,
};
