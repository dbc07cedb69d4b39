#include "ir/graph/op_util.h"
#include <string.h>

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *x = et_arg_shape(g, n, 0);
    const et_expr *start = et_op_exprs(n, "start", x->rank);
    const et_expr *size = et_op_exprs(n, "size", x->rank);
    const int64_t *drop = et_op_ints(n, "drop", x->rank);
    *out_shape = (et_shape){.dtype = x->dtype};
    for (int k = 0; k < x->rank; k++) {
        if (!et_op_in_range(g, n, k, start[k], size[k])) return false;
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
        if (drop[k]) {
            from[k] = start[k];
        } else {
            et_expr i = et_mul(lo->g->exprs, index[kept++], et_int(lo->g->exprs, et_op_step(n, k)));
            from[k] = et_add(lo->g->exprs, start[k], i);
        }
    return et_arg_at(lo, n, 0, from);
}

static bool leaves(const et_interp_args *a, int k, int64_t first, int64_t count) {
    int64_t dim = a->args[0]->dim[k], step = et_op_step(a->node, k);
    if (first >= 0 && count >= 1 && first < dim && (count - 1) <= (dim - 1 - first) / step)
        return false;
    et_interp_error(a, "slice %lld:%lld:%lld leaves dimension %d of size %lld", (long long)first,
                    (long long)(first + (count - 1) * step + 1), (long long)step, k,
                    (long long)dim);
    return true;
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
        if (leaves(a, k, first[k], dim[k])) return false;
    }
    int outer = x->rank; /* dimensions before those that are one run of memory */
    int64_t run = 1;
    for (bool whole = true; whole && outer > 0 && et_op_step(a->node, outer - 1) == 1;) {
        outer--;
        run *= dim[outer];
        whole = dim[outer] == x->dim[outer];
    }
    const et_word *from = et_words(x) + et_offset(x->rank, stride, first);
    et_word *to = et_words(a->result);
    for (int k = 0; k < outer; k++)
        stride[k] *= et_op_step(a->node, k);
    do {
        memcpy(to, from + et_offset(outer, stride, index), (size_t)run * sizeof *to);
        to += run;
    } while (et_next_index(outer, dim, index));
    return true;
}

const et_op et_op_slice = {
    ET_OP_ROW(slice), .class = ET_CLASS_VIEW, .shape = shape, .at = at, .interp = interp,
};
