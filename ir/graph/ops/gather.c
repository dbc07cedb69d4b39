#include "ir/graph/op_util.h"
#include <string.h>

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *t = et_arg_shape(g, n, 0), *i = et_arg_shape(g, n, 1);
    if (!et_op_wants_i32(g, n, 1, "the indices of gather")) return false;
    if (t->rank < 1)
        return et_op_error(g, n, "gather from a scalar: the table needs at least one dimension");
    int rank = i->rank + t->rank - 1;
    if (rank > ET_MAX_RANK)
        return et_op_error(g, n, "gather of %s by %s has %d dimensions, more than %d",
                           et_arg_text(g, n, 0), et_arg_text(g, n, 1), rank, ET_MAX_RANK);
    *out_shape = (et_shape){.dtype = t->dtype, .rank = rank};
    memcpy(out_shape->dim, i->dim, (size_t)i->rank * sizeof *i->dim);
    memcpy(out_shape->dim + i->rank, t->dim + 1, (size_t)(t->rank - 1) * sizeof *t->dim);
    return true;
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    const et_shape *t = et_arg_shape(lo->g, n, 0), *i = et_arg_shape(lo->g, n, 1);
    et_expr from[ET_MAX_RANK], last = et_sub(p, t->dim[0], et_int(p, 1));
    from[0] = et_op2(p, ET_X_MIN, et_arg_at(lo, n, 1, index), last);
    from[0] = et_op2(p, ET_X_MAX, from[0], et_int(p, 0));
    for (int k = 1; k < t->rank; k++)
        from[k] = index[i->rank + k - 1];
    return et_arg_at(lo, n, 0, from);
}

static bool interp(const et_interp_args *a) {
    const et_tensor_data *t = a->args[0], *index = a->args[1];
    int64_t rows = t->dim[0], row = et_tensor_count(t) / rows, n = et_tensor_count(index);
    for (int64_t i = 0; i < n; i++)
        memcpy(a->result->f + i * row, t->f + et_clamp(index->i[i], 0, rows - 1) * row,
               (size_t)row * sizeof *t->f);
    return true;
}

const et_op et_op_gather = {
    ET_OP_ROW(gather), .class = ET_CLASS_VIEW, .shape = shape, .at = at, .interp = interp,
};
