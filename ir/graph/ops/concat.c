#include "ir/graph/op_util.h"
#include <string.h>

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *first = et_arg_shape(g, n, 0);
    int axis;
    if (!et_op_axis(g, n, first->rank, &axis)) return false;
    *out_shape = *first;
    for (int i = 1; i < n->nargs; i++) {
        const et_shape *s = et_arg_shape(g, n, i);
        if (s->dtype != first->dtype)
            return et_op_error(g, n, "concat of %s and %s: convert one of them",
                               et_shape_text(g->exprs, first), et_shape_text(g->exprs, s));
        bool same = s->rank == first->rank;
        for (int k = 0; same && k < s->rank; k++)
            same = k == axis || et_expr_eq(s->dim[k], first->dim[k]);
        if (!same)
            return et_op_error(g, n,
                               "concat of %s and %s along axis %d: the other dimensions must "
                               "be the same",
                               et_arg_text(g, n, 0), et_arg_text(g, n, i), axis);
        out_shape->dim[axis] = et_add(g->exprs, out_shape->dim[axis], s->dim[axis]);
    }
    return true;
}

/* A chain of selects over the axis. Every branch reads inside its argument, chosen or not, because
 * both sides of a select may be evaluated. */
static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    int axis = et_op_axis_of(lo->g, n), rank = et_arg_shape(lo->g, n, 0)->rank;
    et_expr from[ET_MAX_RANK], begin[ET_MAX_ARGS], out = ET_NO_EXPR;
    memcpy(from, index, (size_t)rank * sizeof *index);
    begin[0] = et_int(p, 0);
    for (int i = 1; i < n->nargs; i++)
        begin[i] = et_add(p, begin[i - 1], et_arg_shape(lo->g, n, i - 1)->dim[axis]);
    for (int i = n->nargs - 1; i >= 0; i--) {
        et_expr last = et_sub(p, et_arg_shape(lo->g, n, i)->dim[axis], et_int(p, 1));
        from[axis] = et_op2(p, ET_X_MAX, et_sub(p, index[axis], begin[i]), et_int(p, 0));
        from[axis] = et_op2(p, ET_X_MIN, from[axis], last);
        et_expr v = et_arg_at(lo, n, i, from);
        out = out.id ? et_select(p, et_op2(p, ET_X_LT, index[axis], begin[i + 1]), v, out) : v;
    }
    return out;
}

static bool interp(const et_interp_args *a) {
    int axis = et_op_axis_of(a->g, a->node);
    int64_t outer, total, inner, done = 0;
    et_split_axis(a->result, axis, &outer, &total, &inner);
    for (int i = 0; i < a->node->nargs; i++) {
        int64_t n = a->args[i]->dim[axis];
        for (int64_t o = 0; o < outer; o++)
            memcpy(a->result->f + (o * total + done) * inner, a->args[i]->f + o * n * inner,
                   (size_t)(n * inner) * sizeof(float));
        done += n;
    }
    return true;
}

const et_op et_op_concat = {
    ET_OP_ROW(concat), .class = ET_CLASS_VIEW, .shape = shape, .at = at, .interp = interp,
};
