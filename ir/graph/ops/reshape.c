#include "ir/graph/op_util.h"
#include <string.h>

static int attr_shape(const et_node *n, const et_expr **out_dim) {
    const et_attr *a = et_op_attr(n, "shape", ET_A_EXPRS);
    *out_dim = a->exprs;
    return a->n;
}

static et_expr product(et_exprs *p, const et_expr *dim, int from, int to) {
    et_expr e = et_int(p, 1);
    for (int k = from; k < to; k++)
        e = et_mul(p, e, dim[k]);
    return e;
}

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *x = et_arg_shape(g, n, 0);
    const et_expr *dim;
    int rank = attr_shape(n, &dim);
    et_check(rank <= ET_MAX_RANK);
    if (!et_expr_eq(product(g->exprs, x->dim, 0, x->rank), product(g->exprs, dim, 0, rank)))
        return et_op_error(
            g, n, "cannot reshape %s to %s: %s and %s elements", et_arg_text(g, n, 0),
            et_dims_text(g->exprs, rank, dim),
            et_expr_text(g->exprs, product(g->exprs, x->dim, 0, x->rank), NULL, NULL),
            et_expr_text(g->exprs, product(g->exprs, dim, 0, rank), NULL, NULL));
    *out_shape = (et_shape){.dtype = x->dtype, .rank = rank};
    memcpy(out_shape->dim, dim, (size_t)rank * sizeof *dim);
    return true;
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_expr from[ET_MAX_RANK];
    et_reshaped_index(lo, et_arg_shape(lo->g, n, 0), &et_val_of(lo->g, n->result)->shape, index,
                      from);
    return et_arg_at(lo, n, 0, from);
}

static bool interp(const et_interp_args *a) {
    memcpy(a->result->p, a->args[0]->p, (size_t)et_tensor_count(a->args[0]) * sizeof(float));
    return true;
}

const et_op et_op_reshape = {
    ET_OP_ROW(reshape), .class = ET_CLASS_VIEW, .shape = shape, .at = at, .interp = interp,
};
