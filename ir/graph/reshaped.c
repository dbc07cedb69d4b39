/* Reshape matches the dimensions in groups: boundaries lie where the products of the leading
 * dimensions of both shapes are the same expression, and an index only moves within its group. */
#include "ir/graph/ops.h"

static et_expr product(et_exprs *p, const et_expr *dim, int from, int to) {
    et_expr e = et_int(p, 1);
    for (int k = from; k < to; k++)
        e = et_mul(p, e, dim[k]);
    return e;
}

struct group {
    int x0, x1, y0, y1; /* dimensions [x0, x1) of the argument are [y0, y1) of the result */
};

/* The smallest group that starts at (x0, y0). Dimensions of one are part of whichever comes. */
static struct group next_group(et_exprs *p, const et_shape *x, const et_shape *y, int x0, int y0) {
    for (int size = 2; size <= 2 * ET_MAX_RANK; size++)
        for (int nx = 1; nx < size; nx++) {
            int x1 = x0 + nx, y1 = y0 + size - nx;
            if (x1 > x->rank || y1 > y->rank) continue;
            if (et_expr_eq(product(p, x->dim, x0, x1), product(p, y->dim, y0, y1)))
                return (struct group){x0, x1, y0, y1};
        }
    return (struct group){x0, x->rank, y0, y->rank};
}

/* What is in range but that may be hard to show: sizes are products of dims. */
static et_expr clamped(et_exprs *p, et_expr index, et_expr size) {
    et_expr last = et_sub(p, size, et_int(p, 1));
    return et_op2(p, ET_X_MIN, et_op2(p, ET_X_MAX, index, et_int(p, 0)), last);
}

static void map_group(et_lower *lo, const et_shape *x, const et_shape *y, struct group s,
                      const et_expr *index, et_expr *out_from) {
    et_exprs *p = lo->g->exprs;
    et_expr linear = et_int(p, 0);
    for (int k = s.y0; k < s.y1; k++)
        linear = et_add(p, et_mul(p, linear, y->dim[k]), index[k]);
    for (int k = s.x1 - 1; k >= s.x0; k--) {
        bool outermost = k == s.x0;
        out_from[k] = outermost ? linear : et_op2(p, ET_X_MOD, linear, x->dim[k]);
        linear = outermost ? linear : et_op2(p, ET_X_IDIV, linear, x->dim[k]);
        if (outermost && lo->clamps) out_from[k] = clamped(p, out_from[k], x->dim[k]);
    }
}

void et_reshaped_index(et_lower *lo, const et_shape *x, const et_shape *y, const et_expr *index,
                       et_expr *out_from) {
    et_exprs *p = lo->g->exprs;
    int i = 0, j = 0;
    while (i < x->rank && j < y->rank) {
        struct group s = next_group(p, x, y, i, j);
        map_group(lo, x, y, s, index, out_from);
        i = s.x1;
        j = s.y1;
    }
    for (; i < x->rank; i++) /* what is left over has one element */
        out_from[i] = et_int(p, 0);
}
