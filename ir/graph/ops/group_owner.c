/* The group that each block of places belongs to, -1 past the last one that is used. With places
 * and groups of rows beside where groups begin, few rows in blocks of one place each are looked
 * for. */
#include "ir/graph/op_util.h"

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *f = et_arg_shape(g, n, 0);
    int64_t groups, pad = et_op_attr(n, "pad", ET_A_INT)->i;
    static const char *const what[] = {"where groups begin", "the places of rows",
                                       "the groups of rows"};
    for (int k = 0; k < n->nargs; k++)
        if (!et_op_wants_i32(g, n, k, what[k])) return false;
    if (n->nargs > 1 &&
        (n->nargs < 3 || et_arg_shape(g, n, 1)->rank != 1 || et_arg_shape(g, n, 2)->rank != 1 ||
         !et_expr_eq(et_arg_shape(g, n, 1)->dim[0], et_arg_shape(g, n, 2)->dim[0])))
        return et_op_error(g, n,
                           "beside where groups begin stand places and groups of the same "
                           "rows, both [rows]");
    if (f->rank != 1 || !et_is_int(g->exprs, f->dim[0], &groups) || groups < 2)
        return et_op_error(g, n, "where groups begin must be [groups + 1], found %s",
                           et_arg_text(g, n, 0));
    if (pad < 1 || pad > 4096)
        return et_op_error(g, n, "groups padded to %lld rows: from 1 to 4096", (long long)pad);
    *out_shape = (et_shape){.dtype = ET_I32, .rank = 1};
    out_shape->dim[0] = et_op_exprs(n, "blocks", 1)[0];
    return true;
}

/* Are there few rows, each a block of its own? */
static bool are_alone(const et_graph *g, const et_node *n) {
    enum { FEW = 64 };
    int64_t least, rows;
    return n->nargs > 1 && et_op_attr(n, "pad", ET_A_INT)->i == 1 &&
           et_bounds(g->exprs, et_arg_shape(g, n, 1)->dim[0], &least, &rows) && rows <= FEW;
}

/* One more than the group of the row at PLACE; 0 where none is. */
static et_expr of_row(et_lower *lo, const et_node *n, et_expr place) {
    et_exprs *p = lo->g->exprs;
    et_expr rows = et_arg_shape(lo->g, n, 1)->dim[0];
    int var = et_node_var(lo->g, n, 0, "r", rows);
    et_expr at = et_var(p, var), is = et_op2(p, ET_X_EQ, et_arg_at(lo, n, 1, &at), place);
    et_expr group = et_add(p, et_arg_at(lo, n, 2, &at), et_int(p, 1));
    return et_reduce_x(p, ET_RED_SUM, var, rows, et_select(p, is, group, et_int(p, 0)));
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    if (are_alone(lo->g, n)) return et_sub(p, of_row(lo, n, index[0]), et_int(p, 1));
    et_expr one = et_int(p, 1), groups = et_sub(p, et_arg_shape(lo->g, n, 0)->dim[0], one);
    int var = et_node_var(lo->g, n, 0, "r", groups);
    et_expr place = et_mul(p, index[0], et_int(p, et_op_attr(n, "pad", ET_A_INT)->i));
    et_expr end = et_add(p, et_var(p, var), one);
    et_expr over = et_op2(p, ET_X_LE, et_arg_at(lo, n, 0, &end), place);
    et_expr owner = et_reduce_x(p, ET_RED_SUM, var, groups, et_select(p, over, one, et_int(p, 0)));
    et_expr used = et_op2(p, ET_X_LT, place, et_arg_at(lo, n, 0, &groups));
    return et_select(p, used, owner, et_int(p, -1));
}

static bool interp(const et_interp_args *a) {
    const et_tensor_data *first = a->args[0];
    int64_t groups = first->dim[0] - 1, pad = et_op_attr(a->node, "pad", ET_A_INT)->i;
    for (int64_t t = 0; t < a->result->dim[0]; t++) {
        int32_t e = 0;
        while (e < groups && first->i[e + 1] <= t * pad)
            e++;
        a->result->i[t] = t * pad < first->i[groups] ? e : -1;
    }
    return true;
}

const et_op et_op_group_owner = {
    ET_OP_ROW(group_owner), .class = ET_CLASS_REDUCE, .shape = shape, .at = at, .interp = interp,
};
