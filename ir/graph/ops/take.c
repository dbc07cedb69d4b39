#include "ir/graph/op_util.h"
#include <string.h>

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *x = et_arg_shape(g, n, 0), *i = et_arg_shape(g, n, 1);
    if (!et_op_wants_i32(g, n, 1, "the indices of take")) return false;
    bool same = x->rank >= 1 && i->rank == x->rank;
    for (int k = 0; same && k + 1 < x->rank; k++)
        same = et_expr_eq(x->dim[k], i->dim[k]);
    if (!same)
        return et_op_error(g, n, "take from %s by %s: all dimensions but the last must be equal",
                           et_arg_text(g, n, 0), et_arg_text(g, n, 1));
    *out_shape = *i;
    out_shape->dtype = x->dtype;
    return true;
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    const et_shape *x = et_arg_shape(lo->g, n, 0);
    et_expr from[ET_MAX_RANK], last = et_sub(p, x->dim[x->rank - 1], et_int(p, 1));
    memcpy(from, index, (size_t)x->rank * sizeof *from);
    et_expr column = et_op2(p, ET_X_MIN, et_arg_at(lo, n, 1, index), last);
    from[x->rank - 1] = et_op2(p, ET_X_MAX, column, et_int(p, 0));
    return et_arg_at(lo, n, 0, from);
}

static bool interp(const et_interp_args *a) {
    const et_tensor_data *x = a->args[0], *index = a->args[1];
    int64_t columns = x->dim[x->rank - 1], each = index->dim[index->rank - 1];
    for (int64_t i = 0; i < et_tensor_count(index); i++)
        et_words(a->result)[i] =
            et_words(x)[i / each * columns + et_clamp(index->i[i], 0, columns - 1)];
    return true;
}

const et_op et_op_take = {
    ET_OP_ROW(take), .class = ET_CLASS_VIEW, .shape = shape, .at = at, .interp = interp,
};
