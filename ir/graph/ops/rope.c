#include "ir/graph/op_util.h"
#include <math.h>

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *x = et_arg_shape(g, n, 0), *t = et_arg_shape(g, n, 1);
    int64_t d;
    if (!et_op_wants_float(g, n, 0, "the first argument of rope") ||
        !et_op_wants_float(g, n, 1, "the table of rope"))
        return false;
    if (x->rank < 2)
        return et_op_error(g, n, "rope of %s: it needs [tokens, ..., head dimension]",
                           et_arg_text(g, n, 0));
    if (!et_is_int(g->exprs, x->dim[x->rank - 1], &d) || d % 2 != 0)
        return et_op_error(g, n, "rope of %s: the last dimension must be an even constant",
                           et_arg_text(g, n, 0));
    if (t->rank != 2 || !et_expr_eq(t->dim[0], x->dim[0]) ||
        !et_expr_eq(t->dim[1], x->dim[x->rank - 1]))
        return et_op_error(g, n,
                           "rope of %s needs positions [%s] and %lld frequencies, found a "
                           "table of %s",
                           et_arg_text(g, n, 0), et_expr_text(g->exprs, x->dim[0], NULL, NULL),
                           (long long)(d / 2), et_arg_text(g, n, 1));
    *out_shape = *x;
    out_shape->dtype = ET_F32;
    return true;
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    int last = et_arg_shape(lo->g, n, 0)->rank - 1;
    et_expr size = et_arg_shape(lo->g, n, 0)->dim[last], d = index[last], from[ET_MAX_RANK];
    et_expr half = et_op2(p, ET_X_IDIV, size, et_int(p, 2));
    et_expr pair = et_op2(p, ET_X_MOD, d, half);
    et_expr cos = et_arg_at(lo, n, 1, (et_expr[]){index[0], pair});
    et_expr sin = et_arg_at(lo, n, 1, (et_expr[]){index[0], et_add(p, pair, half)});
    for (int k = 0; k < last; k++)
        from[k] = index[k];
    from[last] = et_op2(p, ET_X_MOD, et_add(p, d, half), size); /* in range on both sides */
    et_expr own = et_mul(p, et_arg_at(lo, n, 0, index), cos);
    et_expr other = et_mul(p, et_arg_at(lo, n, 0, from), sin);
    other = et_select(p, et_op2(p, ET_X_LT, d, half), et_op1(p, ET_X_NEG, other), other);
    return et_add(p, own, other);
}

static void rotate(const float *x, const float *table, int64_t half, float *y) {
    for (int64_t d = 0; d < half; d++) {
        double a = (double)x[d], b = (double)x[d + half];
        double c = (double)table[d], s = (double)table[d + half];
        y[d] = (float)(a * c - b * s);
        y[d + half] = (float)(b * c + a * s);
    }
}

static bool interp(const et_interp_args *a) {
    const et_tensor_data *x = a->args[0];
    int64_t tokens = x->dim[0], size = x->dim[x->rank - 1];
    int64_t heads = et_tensor_count(x) / tokens / size;
    for (int64_t i = 0; i < tokens; i++)
        for (int64_t h = 0; h < heads; h++) {
            int64_t at_head = (i * heads + h) * size;
            rotate(x->f + at_head, a->args[1]->f + i * size, size / 2, a->result->f + at_head);
        }
    return true;
}

const et_op et_op_rope = {
    ET_OP_ROW(rope), .class = ET_CLASS_MAP, .shape = shape, .at = at, .interp = interp,
};

/* ---- the table ---- */

static bool table_shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *pos = et_arg_shape(g, n, 0), *freq = et_arg_shape(g, n, 1);
    if (!et_op_wants_i32(g, n, 0, "the positions of rope") ||
        !et_op_wants_float(g, n, 1, "the frequencies of rope"))
        return false;
    if (pos->rank != 1)
        return et_op_error(g, n, "the positions of rope must have one dimension, found %s",
                           et_arg_text(g, n, 0));
    if (freq->rank != 1)
        return et_op_error(g, n, "the frequencies of rope must have one dimension, found %s",
                           et_arg_text(g, n, 1));
    *out_shape = (et_shape){.dtype = ET_F32, .rank = 2, .dim = {pos->dim[0]}};
    out_shape->dim[1] = et_mul(g->exprs, freq->dim[0], et_int(g->exprs, 2));
    return true;
}

static et_expr table_at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    et_expr half = et_arg_shape(lo->g, n, 1)->dim[0];
    et_expr pair = et_op2(p, ET_X_MOD, index[1], half);
    et_expr position = et_op1(p, ET_X_TO_F32, et_arg_at(lo, n, 0, index));
    et_expr angle = et_mul(p, position, et_arg_at(lo, n, 1, &pair));
    return et_select(p, et_op2(p, ET_X_LT, index[1], half), et_op1(p, ET_X_COS, angle),
                     et_op1(p, ET_X_SIN, angle));
}

static bool table_interp(const et_interp_args *a) {
    const et_tensor_data *pos = a->args[0], *freq = a->args[1];
    int64_t half = freq->dim[0];
    for (int64_t i = 0; i < pos->dim[0]; i++)
        for (int64_t d = 0; d < half; d++) {
            float angle = (float)pos->i[i] * freq->f[d]; /* rounded to f32, as models define it */
            a->result->f[i * 2 * half + d] = (float)cos((double)angle);
            a->result->f[i * 2 * half + half + d] = (float)sin((double)angle);
        }
    return true;
}

const et_op et_op_rope_table = {
    ET_OP_ROW(rope_table), .class = ET_CLASS_MAP,  .shape = table_shape,
    .at = table_at,        .interp = table_interp,
};
