#include "ir/graph/op_util.h"
#include <string.h>

static bool in_range(et_graph *g, const et_node *n, int k, et_expr start, et_expr size) {
    et_exprs *p = g->exprs;
    const et_shape *x = et_arg_shape(g, n, 0);
    int64_t lo, hi;
    et_expr end = et_add(p, start, size);
    if (et_bounds(p, start, &lo, &hi) && lo >= 0 &&
        et_bounds(p, et_sub(p, x->dim[k], end), &lo, &hi) && lo >= 0)
        return true;
    if (et_is_one(p, size))
        return et_op_error(g, n, "index %s may leave dimension %d of %s",
                           et_expr_text(p, start, NULL, NULL), k, et_arg_text(g, n, 0));
    return et_op_error(g, n, "%s:%s may leave dimension %d of %s",
                       et_expr_text(p, start, NULL, NULL), et_expr_text(p, end, NULL, NULL), k,
                       et_arg_text(g, n, 0));
}

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *x = et_arg_shape(g, n, 0);
    const et_expr *start = et_op_exprs(n, "start", x->rank);
    const et_expr *size = et_op_exprs(n, "size", x->rank);
    const int64_t *drop = et_op_ints(n, "drop", x->rank);
    *out_shape = (et_shape){.dtype = x->dtype};
    for (int k = 0; k < x->rank; k++) {
        if (!in_range(g, n, k, start[k], size[k])) return false;
        if (drop[k])
            et_check(et_is_one(g->exprs, size[k]));
        else
            out_shape->dim[out_shape->rank++] = size[k];
    }
    return true;
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    int rank = et_arg_shape(lo->g, n, 0)->rank, kept = 0;
    const et_expr *start = et_op_exprs(n, "start", rank);
    const int64_t *drop = et_op_ints(n, "drop", rank);
    et_expr from[ET_MAX_RANK];
    for (int k = 0; k < rank; k++)
        from[k] = drop[k] ? start[k] : et_add(lo->g->exprs, start[k], index[kept++]);
    return et_arg_at(lo, n, 0, from);
}

static bool interp(const et_interp_args *a) {
    const et_tensor_data *x = a->args[0];
    const et_expr *start = et_op_exprs(a->node, "start", x->rank);
    const et_expr *size = et_op_exprs(a->node, "size", x->rank);
    int64_t stride[ET_MAX_RANK], first[ET_MAX_RANK], dim[ET_MAX_RANK], index[ET_MAX_RANK] = {0};
    et_strides(x, stride);
    for (int k = 0; k < x->rank; k++) {
        first[k] = et_eval(a->g->exprs, start[k], a->syms, a->vars);
        dim[k] = et_eval(a->g->exprs, size[k], a->syms, a->vars);
        if (first[k] < 0 || dim[k] < 1 || first[k] > x->dim[k] - dim[k])
            return et_interp_error(a, "slice %lld:%lld leaves dimension %d of size %lld",
                                   (long long)first[k], (long long)(first[k] + dim[k]), k,
                                   (long long)x->dim[k]);
    }
    int outer = x->rank; /* dimensions before those that are one run of memory */
    int64_t run = 1;
    for (bool whole = true; whole && outer > 0;) {
        outer--;
        run *= dim[outer];
        whole = dim[outer] == x->dim[outer];
    }
    const et_word *from = et_words(x) + et_offset(x->rank, stride, first);
    et_word *to = et_words(a->result);
    do {
        memcpy(to, from + et_offset(outer, stride, index), (size_t)run * sizeof *to);
        to += run;
    } while (et_next_index(outer, dim, index));
    return true;
}

const et_op et_op_slice = {
    ET_OP_ROW(slice), .class = ET_CLASS_VIEW, .shape = shape, .at = at, .interp = interp,
};
