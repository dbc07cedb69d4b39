/* The place of each row when rows are sorted by group, equal ones in their order: behind what the
 * blocks before it put into the group, and behind the rows of its own block. Few rows in blocks of
 * one place each are compared with each other. */
#include "ir/graph/op_util.h"

static int64_t block_of(const et_node *n) {
    return et_op_attr(n, "block", ET_A_INT)->i;
}

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *i = et_arg_shape(g, n, 0), *c = et_arg_shape(g, n, 1);
    const et_shape *f = et_arg_shape(g, n, 2);
    static const char *const what[] = {"the groups of rows", "the counts of groups",
                                       "where groups begin"};
    for (int k = 0; k < 3; k++)
        if (!et_op_wants_i32(g, n, k, what[k])) return false;
    et_exprs *p = g->exprs;
    bool fits =
        i->rank == 1 && c->rank == 2 && f->rank == 1 && block_of(n) >= 1 &&
        et_expr_eq(et_add(p, c->dim[1], et_int(p, 1)), f->dim[0]) &&
        et_expr_eq(et_add(p, et_ceil_div(p, i->dim[0], et_int(p, block_of(n))), et_int(p, 1)),
                   c->dim[0]);
    if (!fits)
        return et_op_error(g, n, "rows %s, counts %s and beginnings %s do not belong together",
                           et_arg_text(g, n, 0), et_arg_text(g, n, 1), et_arg_text(g, n, 2));
    *out_shape = *i;
    return true;
}

/* Are there rows for one block at most, before which there is none? */
static bool is_one_block(const et_exprs *p, const et_node *n, et_expr rows) {
    int64_t lo, hi;
    return et_bounds(p, rows, &lo, &hi) && hi <= block_of(n);
}

static et_expr clamp(et_exprs *p, et_expr e, et_expr last) {
    return et_op2(p, ET_X_MAX, et_op2(p, ET_X_MIN, e, last), et_int(p, 0));
}

/* Does each place make a block of its own? Then rows are where they are sorted. */
static bool are_alone(const et_graph *g, const et_node *n) {
    const et_node *first = et_node_of(g, n->args[2]);
    return first && first->op == &et_op_group_first && et_op_attr(first, "pad", ET_A_INT)->i == 1 &&
           is_one_block(g->exprs, n, et_arg_shape(g, n, 0)->dim[0]);
}

/* The rows that belong to a group before that of row ROW, MINE, or to the same and are before it.
 */
static et_expr rows_before(et_lower *lo, const et_node *n, et_expr row, et_expr mine) {
    et_exprs *p = lo->g->exprs;
    et_expr rows = et_arg_shape(lo->g, n, 0)->dim[0], zero = et_int(p, 0);
    int var = et_node_var(lo->g, n, 0, "r", rows);
    et_expr at = et_var(p, var), group = et_arg_at(lo, n, 0, &at);
    et_expr before =
        et_op2(p, ET_X_AND, et_op2(p, ET_X_LE, zero, group), et_op2(p, ET_X_LT, group, mine));
    et_expr same =
        et_op2(p, ET_X_AND, et_op2(p, ET_X_EQ, group, mine), et_op2(p, ET_X_LT, at, row));
    et_expr is = et_op2(p, ET_X_OR, before, same);
    return et_reduce_x(p, ET_RED_SUM, var, rows, et_select(p, is, et_int(p, 1), zero));
}

/* The place of row INDEX, which is of group MINE, one of them. */
static et_expr place_of(et_lower *lo, const et_node *n, et_expr index, et_expr mine) {
    et_exprs *p = lo->g->exprs;
    et_expr zero = et_int(p, 0), one = et_int(p, 1), block = et_int(p, block_of(n));
    et_expr rows = et_arg_shape(lo->g, n, 0)->dim[0], groups = et_arg_shape(lo->g, n, 1)->dim[1];
    if (are_alone(lo->g, n)) return rows_before(lo, n, index, mine);
    et_expr group = clamp(p, mine, et_sub(p, groups, one));
    et_expr of = et_op2(p, ET_X_IDIV, index, block);
    int var = et_node_var(lo->g, n, 0, "r", block);
    et_expr other = et_add(p, et_mul(p, of, block), et_var(p, var));
    other = et_op2(p, ET_X_MIN, other, et_sub(p, rows, one));
    et_expr earlier = et_op2(p, ET_X_LT, et_var(p, var), et_op2(p, ET_X_MOD, index, block));
    earlier = et_op2(p, ET_X_AND, earlier, et_op2(p, ET_X_EQ, et_arg_at(lo, n, 0, &other), mine));
    et_expr place = et_reduce_x(p, ET_RED_SUM, var, block, et_select(p, earlier, one, zero));
    if (!is_one_block(p, n, rows))
        place = et_add(p, place, et_arg_at(lo, n, 1, (et_expr[]){of, group}));
    return et_add(p, place, et_arg_at(lo, n, 2, &group));
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    et_expr zero = et_int(p, 0), groups = et_arg_shape(lo->g, n, 1)->dim[1];
    et_expr mine = et_arg_at(lo, n, 0, index), place = place_of(lo, n, index[0], mine);
    et_expr in =
        et_op2(p, ET_X_AND, et_op2(p, ET_X_LE, zero, mine), et_op2(p, ET_X_LT, mine, groups));
    return et_select(p, in, place, et_int(p, -1));
}

static bool interp(const et_interp_args *a) {
    const et_tensor_data *index = a->args[0], *counts = a->args[1];
    int64_t groups = counts->dim[1], block = block_of(a->node);
    for (int64_t m = 0; m < index->dim[0]; m++) {
        int64_t e = index->i[m];
        a->result->i[m] = -1;
        if (e < 0 || e >= groups) continue;
        int64_t b = m / block, place = (int64_t)a->args[2]->i[e] + counts->i[b * groups + e];
        for (int64_t k = b * block; k < m; k++)
            place += index->i[k] == e;
        a->result->i[m] = (int32_t)place;
    }
    return true;
}

const et_op et_op_group_place = {
    ET_OP_ROW(group_place), .class = ET_CLASS_REDUCE, .shape = shape, .at = at, .interp = interp,
};
