/* Where each group begins when every group is given whole blocks of places; last, where all end.
 * With the groups of rows beside the counts, few rows in blocks of one place each are counted
 * themselves. */
#include "ir/graph/op_util.h"

static int64_t pad_of(const et_node *n) {
    return et_op_attr(n, "pad", ET_A_INT)->i;
}

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *c = et_arg_shape(g, n, 0);
    if (!et_op_wants_i32(g, n, 0, "the counts of groups")) return false;
    if (n->nargs > 1 && !et_op_wants_i32(g, n, 1, "the groups of rows")) return false;
    if (n->nargs > 1 && et_arg_shape(g, n, 1)->rank != 1)
        return et_op_error(g, n, "the groups of rows must be [rows], found %s",
                           et_arg_text(g, n, 1));
    if (c->rank != 2)
        return et_op_error(g, n, "the counts of groups must be [blocks, groups], found %s",
                           et_arg_text(g, n, 0));
    if (pad_of(n) < 1 || pad_of(n) > 4096)
        return et_op_error(g, n, "groups padded to %lld rows: from 1 to 4096",
                           (long long)pad_of(n));
    *out_shape = (et_shape){.dtype = ET_I32, .rank = 1};
    out_shape->dim[0] = et_add(g->exprs, c->dim[1], et_int(g->exprs, 1));
    return true;
}

/* Are there no more rows than groups, of one place each? */
static bool counts_rows(const et_lower *lo, const et_node *n) {
    int64_t least, rows, groups;
    return n->nargs > 1 && pad_of(n) == 1 &&
           et_bounds(lo->g->exprs, et_arg_shape(lo->g, n, 1)->dim[0], &least, &rows) &&
           et_is_int(lo->g->exprs, et_arg_shape(lo->g, n, 0)->dim[1], &groups) && rows <= groups;
}

/* The rows of groups before INDEX. */
static et_expr rows_before(et_lower *lo, const et_node *n, et_expr index) {
    et_exprs *p = lo->g->exprs;
    et_expr rows = et_arg_shape(lo->g, n, 1)->dim[0];
    int var = et_node_var(lo->g, n, 0, "r", rows);
    et_expr at = et_var(p, var), group = et_arg_at(lo, n, 1, &at);
    et_expr before = et_op2(p, ET_X_AND, et_op2(p, ET_X_LE, et_int(p, 0), group),
                            et_op2(p, ET_X_LT, group, index));
    return et_reduce_x(p, ET_RED_SUM, var, rows, et_select(p, before, et_int(p, 1), et_int(p, 0)));
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    if (counts_rows(lo, n)) return rows_before(lo, n, index[0]);
    et_exprs *p = lo->g->exprs;
    const et_shape *c = et_arg_shape(lo->g, n, 0);
    et_expr pad = et_int(p, pad_of(n));
    int var = et_node_var(lo->g, n, 0, "r", c->dim[1]);
    et_expr from[] = {et_sub(p, c->dim[0], et_int(p, 1)), et_var(p, var)};
    et_expr blocks = et_ceil_div(p, et_arg_at(lo, n, 0, from), pad);
    return et_reduce_x(p, ET_RED_SUM, var, index[0], et_mul(p, blocks, pad));
}

static bool interp(const et_interp_args *a) {
    const et_tensor_data *c = a->args[0];
    int64_t groups = c->dim[1], pad = pad_of(a->node);
    const int32_t *total = c->i + (c->dim[0] - 1) * groups;
    int64_t sum = 0;
    for (int64_t e = 0; e <= groups; e++) {
        a->result->i[e] = (int32_t)sum;
        if (e < groups) sum += (total[e] / pad + (total[e] % pad > 0)) * pad;
    }
    return true;
}

const et_op et_op_group_first = {
    ET_OP_ROW(group_first), .class = ET_CLASS_REDUCE, .shape = shape, .at = at, .interp = interp,
};
