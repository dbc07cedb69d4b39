/* How many of the rows before each block of rows belong to each group; the last row of the result
 * counts all. */
#include "ir/graph/op_util.h"

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *i = et_arg_shape(g, n, 0);
    int64_t groups = et_op_attr(n, "groups", ET_A_INT)->i;
    int64_t block = et_op_attr(n, "block", ET_A_INT)->i;
    if (!et_op_wants_i32(g, n, 0, "the groups of rows")) return false;
    if (i->rank != 1)
        return et_op_error(g, n, "the groups of rows must have one dimension, found %s",
                           et_arg_text(g, n, 0));
    if (groups < 1 || groups > 1 << 20 || block < 1 || block > 1 << 20)
        return et_op_error(g, n, "%lld groups, blocks of %lld: each from 1 to %d",
                           (long long)groups, (long long)block, 1 << 20);
    et_expr blocks = et_ceil_div(g->exprs, i->dim[0], et_int(g->exprs, block));
    *out_shape = (et_shape){.dtype = ET_I32, .rank = 2};
    out_shape->dim[0] = et_add(g->exprs, blocks, et_int(g->exprs, 1));
    out_shape->dim[1] = et_int(g->exprs, groups);
    return true;
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    et_expr rows = et_arg_shape(lo->g, n, 0)->dim[0];
    et_expr block = et_int(p, et_op_attr(n, "block", ET_A_INT)->i);
    int var = et_node_var(lo->g, n, 0, "r", rows);
    et_expr before = et_op2(p, ET_X_MIN, et_mul(p, index[0], block), rows), row = et_var(p, var);
    et_expr mine = et_op2(p, ET_X_EQ, et_arg_at(lo, n, 0, &row), index[1]);
    return et_reduce_x(p, ET_RED_SUM, var, before, et_select(p, mine, et_int(p, 1), et_int(p, 0)));
}

static bool interp(const et_interp_args *a) {
    int64_t rows = a->args[0]->dim[0], groups = a->result->dim[1];
    int64_t block = et_op_attr(a->node, "block", ET_A_INT)->i;
    for (int64_t b = 0; b < a->result->dim[0]; b++)
        for (int64_t e = 0; e < groups; e++) {
            int32_t *count = &a->result->i[b * groups + e];
            *count = b ? count[-groups] : 0;
            for (int64_t m = (b - 1) * block; b && m < b * block && m < rows; m++)
                *count += a->args[0]->i[m] == e;
        }
    return true;
}

const et_op et_op_group_count = {
    ET_OP_ROW(group_count), .class = ET_CLASS_REDUCE, .shape = shape, .at = at, .interp = interp,
};
