#include "ir/graph/op_util.h"
#include <math.h>

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
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

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    et_expr half = et_arg_shape(lo->g, n, 1)->dim[0];
    et_expr pair = et_op2(p, ET_X_MOD, index[1], half);
    et_expr position = et_op1(p, ET_X_TO_F32, et_arg_at(lo, n, 0, index));
    et_expr angle = et_mul(p, position, et_arg_at(lo, n, 1, &pair));
    return et_select(p, et_op2(p, ET_X_LT, index[1], half), et_op1(p, ET_X_COS, angle),
                     et_op1(p, ET_X_SIN, angle));
}

static bool interp(const et_interp_args *a) {
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
    ET_OP_ROW(rope_table), .class = ET_CLASS_MAP, .shape = shape, .at = at, .interp = interp,
};
