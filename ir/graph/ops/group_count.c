/* Counting rows by group, in blocks of rows: how many of each block belong to each group; and how
 * many of the rows before each block do, where the last row of the result counts all. */
#include "ir/graph/op_util.h"

static int64_t attr(const et_node *n, const char *name) {
    return et_op_attr(n, name, ET_A_INT)->i;
}

/* One row for each block, and MORE. */
static bool shape_of(et_graph *g, const et_node *n, int more, et_shape *out_shape) {
    const et_shape *i = et_arg_shape(g, n, 0);
    int64_t groups = attr(n, "groups"), block = attr(n, "block");
    if (!et_op_wants_i32(g, n, 0, "the groups of rows")) return false;
    if (i->rank != 1)
        return et_op_error(g, n, "the groups of rows must have one dimension, found %s",
                           et_arg_text(g, n, 0));
    if (groups < 1 || groups > 1 << 20 || block < 1 || block > 1 << 20)
        return et_op_error(g, n, "%lld groups, blocks of %lld: each from 1 to %d",
                           (long long)groups, (long long)block, 1 << 20);
    et_expr blocks = et_ceil_div(g->exprs, i->dim[0], et_int(g->exprs, block));
    *out_shape = (et_shape){.dtype = ET_I32, .rank = 2};
    out_shape->dim[0] = et_add(g->exprs, blocks, et_int(g->exprs, more));
    out_shape->dim[1] = et_int(g->exprs, groups);
    return true;
}

/* ---- of each block ---- */

static bool tally_shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    return shape_of(g, n, 0, out_shape);
}

static et_expr tally_at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    et_expr rows = et_arg_shape(lo->g, n, 0)->dim[0], block = et_int(p, attr(n, "block"));
    int var = et_node_var(lo->g, n, 0, "r", block);
    et_expr row = et_add(p, et_mul(p, index[0], block), et_var(p, var));
    et_expr last = et_op2(p, ET_X_MIN, row, et_sub(p, rows, et_int(p, 1)));
    et_expr mine = et_op2(p, ET_X_AND, et_op2(p, ET_X_LT, row, rows),
                          et_op2(p, ET_X_EQ, et_arg_at(lo, n, 0, &last), index[1]));
    return et_reduce_x(p, ET_RED_SUM, var, block, et_select(p, mine, et_int(p, 1), et_int(p, 0)));
}

static bool tally_interp(const et_interp_args *a) {
    const et_tensor_data *index = a->args[0];
    int64_t groups = a->result->dim[1], block = attr(a->node, "block");
    for (int64_t i = 0; i < a->result->dim[0] * groups; i++)
        a->result->i[i] = 0;
    for (int64_t m = 0; m < index->dim[0]; m++)
        if (index->i[m] >= 0 && index->i[m] < groups)
            a->result->i[m / block * groups + index->i[m]]++;
    return true;
}

const et_op et_op_group_tally = {
    ET_OP_ROW(group_tally), .class = ET_CLASS_REDUCE, .shape = tally_shape,
    .at = tally_at,         .interp = tally_interp,
};

/* ---- before each block ---- */

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    return shape_of(g, n, 1, out_shape);
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    et_expr rows = et_arg_shape(lo->g, n, 0)->dim[0];
    et_expr block = et_int(p, attr(n, "block"));
    int var = et_node_var(lo->g, n, 0, "r", rows);
    et_expr before = et_op2(p, ET_X_MIN, et_mul(p, index[0], block), rows), row = et_var(p, var);
    et_expr mine = et_op2(p, ET_X_EQ, et_arg_at(lo, n, 0, &row), index[1]);
    return et_reduce_x(p, ET_RED_SUM, var, before, et_select(p, mine, et_int(p, 1), et_int(p, 0)));
}

static bool interp(const et_interp_args *a) {
    int64_t rows = a->args[0]->dim[0], groups = a->result->dim[1];
    int64_t block = attr(a->node, "block");
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
