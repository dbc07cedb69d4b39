#include "ir/graph/op_util.h"

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *x = et_arg_shape(g, n, 0);
    const et_attr *perm = et_op_attr(n, "perm", ET_A_INTS);
    bool seen[ET_MAX_RANK] = {0};
    if (perm->n != x->rank)
        return et_op_error(g, n, "a permutation of %d dimensions for %s, which has %d", perm->n,
                           et_arg_text(g, n, 0), x->rank);
    *out_shape = (et_shape){.dtype = x->dtype, .rank = x->rank};
    for (int k = 0; k < x->rank; k++) {
        int64_t from = perm->ints[k];
        if (from < 0 || from >= x->rank || seen[from])
            return et_op_error(g, n, "the permutation for %s must name each of 0 to %d once",
                               et_arg_text(g, n, 0), x->rank - 1);
        seen[from] = true;
        out_shape->dim[k] = x->dim[from];
    }
    return true;
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    int rank = et_arg_shape(lo->g, n, 0)->rank;
    const int64_t *perm = et_op_ints(n, "perm", rank);
    et_expr from[ET_MAX_RANK];
    for (int k = 0; k < rank; k++)
        from[perm[k]] = index[k];
    return et_arg_at(lo, n, 0, from);
}

static bool interp(const et_interp_args *a) {
    const et_tensor_data *x = a->args[0];
    const int64_t *perm = et_op_ints(a->node, "perm", x->rank);
    int64_t own[ET_MAX_RANK], stride[ET_MAX_RANK], index[ET_MAX_RANK] = {0}, to = 0;
    et_strides(x, own);
    for (int k = 0; k < x->rank; k++)
        stride[k] = own[perm[k]];
    do
        et_words(a->result)[to++] = et_words(x)[et_offset(x->rank, stride, index)];
    while (et_next_index(x->rank, a->result->dim, index));
    return true;
}

const et_op et_op_transpose = {
    ET_OP_ROW(transpose), .class = ET_CLASS_VIEW, .shape = shape, .at = at, .interp = interp,
};
