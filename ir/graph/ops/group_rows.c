/* The row at each place, by blocks: the inverse of group_place, -1 where no row is. The group and
 * the block of rows that a place's row can be in are counted first, then the block is searched. */
#include "ir/graph/op_util.h"

static int64_t attr(const et_node *n, const char *name) {
    return et_op_attr(n, name, ET_A_INT)->i;
}

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *place = et_arg_shape(g, n, 0), *c = et_arg_shape(g, n, 1);
    const et_shape *f = et_arg_shape(g, n, 2);
    static const char *const what[] = {"the places of rows", "the counts of groups",
                                       "where groups begin"};
    for (int k = 0; k < 3; k++)
        if (!et_op_wants_i32(g, n, k, what[k])) return false;
    et_exprs *p = g->exprs;
    int64_t pad = attr(n, "pad");
    bool fits = place->rank == 1 && c->rank == 2 && f->rank == 1 && pad >= 1 && pad <= 4096 &&
                attr(n, "block") >= 1 &&
                et_expr_eq(et_add(p, c->dim[1], et_int(p, 1)), f->dim[0]) &&
                et_expr_eq(et_add(p, et_ceil_div(p, place->dim[0], et_int(p, attr(n, "block"))),
                                  et_int(p, 1)),
                           c->dim[0]);
    if (!fits)
        return et_op_error(g, n, "places %s, counts %s and beginnings %s do not belong together",
                           et_arg_text(g, n, 0), et_arg_text(g, n, 1), et_arg_text(g, n, 2));
    *out_shape = (et_shape){.dtype = ET_I32, .rank = 2};
    out_shape->dim[0] = et_op_exprs(n, "blocks", 1)[0];
    out_shape->dim[1] = et_int(p, pad);
    return true;
}

/* The number of elements of argument ARG, from OF(1) on in steps of one, that are at most V. */
static et_expr count_below(et_lower *lo, const et_node *n, int which, et_expr extent, int arg,
                           const et_expr *column, et_expr v) {
    et_exprs *p = lo->g->exprs;
    int var = et_node_var(lo->g, n, which, "r", extent);
    et_expr from[2] = {et_add(p, et_var(p, var), et_int(p, 1))};
    if (column) from[1] = *column;
    et_expr below = et_op2(p, ET_X_LE, et_arg_at(lo, n, arg, from), v);
    et_expr count =
        et_reduce_x(p, ET_RED_SUM, var, extent, et_select(p, below, et_int(p, 1), et_int(p, 0)));
    return et_op2(p, ET_X_MIN, count, et_sub(p, extent, et_int(p, 1)));
}

/* The block of the row at PLACE, in a block of places that begins with FIRST. */
static et_expr block_at(et_lower *lo, const et_node *n, et_expr place, et_expr first) {
    et_exprs *p = lo->g->exprs;
    const et_shape *c = et_arg_shape(lo->g, n, 1);
    et_expr blocks = et_sub(p, c->dim[0], et_int(p, 1));
    int64_t least, most;
    if (et_bounds(p, blocks, &least, &most) && most <= 1) return et_int(p, 0);
    et_expr group = count_below(lo, n, 0, c->dim[1], 2, NULL, first);
    /* Counts and beginnings are of rows that exist: 32 bits hold what is made of them. */
    et_expr nth = et_sub(p, place, et_arg_at(lo, n, 2, &group));
    nth = et_op1(p, ET_X_TO_I32, nth);
    return count_below(lo, n, 1, blocks, 1, &group, nth);
}

/* The first of the rows that are searched for the one at PLACE, in a block of places that begins
 * with FIRST: of its block of rows, or of as many that end with the last one. So all are side by
 * side, and there are so many where a launch has no fewer (WHOLE). */
static et_expr search_from(et_lower *lo, const et_node *n, et_expr place, et_expr first,
                           bool *out_whole) {
    et_exprs *p = lo->g->exprs;
    et_expr rows = et_arg_shape(lo->g, n, 0)->dim[0], block = et_int(p, attr(n, "block"));
    et_expr from = et_mul(p, block_at(lo, n, place, first), block);
    int64_t least, most;
    *out_whole = et_bounds(p, rows, &least, &most) && least >= attr(n, "block");
    if (!*out_whole) return from;
    from = et_op2(p, ET_X_MIN, from, et_sub(p, rows, block));
    return et_op2(p, ET_X_MAX, from,
                  et_int(p, 0)); /* always true; it tells the analysis of bounds */
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    et_expr rows = et_arg_shape(lo->g, n, 0)->dim[0], block = et_int(p, attr(n, "block"));
    et_expr place = et_add(p, et_mul(p, index[0], et_int(p, attr(n, "pad"))), index[1]);
    /* All of a block are of one. */
    et_expr first = et_mul(p, index[0], et_int(p, attr(n, "pad")));
    bool whole;
    et_expr from = search_from(lo, n, place, first, &whole);
    int var = et_node_var(lo->g, n, 2, "r", block);
    et_expr row = et_op1(p, ET_X_TO_I32, et_add(p, from, et_var(p, var)));
    if (!whole) row = et_op2(p, ET_X_MIN, row, et_sub(p, rows, et_int(p, 1)));
    if (!whole) row = et_op2(p, ET_X_MAX, row, et_int(p, 0)); /* the same */
    et_expr here = et_op2(p, ET_X_EQ, et_arg_at(lo, n, 0, &row), place);
    return et_reduce_x(p, ET_RED_MAX, var, block, et_select(p, here, row, et_int(p, -1)));
}

static bool interp(const et_interp_args *a) {
    int64_t places = et_tensor_count(a->result);
    for (int64_t r = 0; r < places; r++)
        a->result->i[r] = -1;
    for (int64_t m = 0; m < a->args[0]->dim[0]; m++) {
        int64_t r = a->args[0]->i[m];
        if (r >= 0 && r < places) a->result->i[r] = (int32_t)m;
    }
    return true;
}

const et_op et_op_group_rows = {
    ET_OP_ROW(group_rows), .class = ET_CLASS_REDUCE, .shape = shape, .at = at, .interp = interp,
};
