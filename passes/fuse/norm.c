/* Norms that products compute for themselves though others read them from a tensor. A router takes
 * its row in f32, and what gathers rows for experts needs the tensor: with a norm of its own the
 * router waits for one task less, and the tensor has the type of the experts' products. */
#include "passes/fuse/lowering.h"

static bool is_f32(const et_lowering *lo, et_value v) {
    return et_val_of(lo->g, v)->shape.dtype == ET_F32;
}

static bool is_wide_product(const et_lowering *lo, const et_node *n) {
    return n->op->class == ET_CLASS_CONTRACT && is_f32(lo, n->args[0]) && is_f32(lo, n->args[1]);
}

/* Does anything but products of f32 read V? */
static bool has_others(const et_lowering *lo, et_value v) {
    for (int i = 0; i < lo->g->nnodes; i++) {
        const et_node *n = &lo->g->nodes[i];
        for (int a = 0; a < n->nargs; a++)
            if (n->args[a].id == v.id && (a > 0 || !is_wide_product(lo, n))) return true;
    }
    return false;
}

/* Is S one row, for which a task less is worth most, or so many that experts gain more by narrow
 * rows than the router loses? Between, the rows' sums take longer in each of its few tiles. */
static bool suits_rows(const et_lowering *lo, const et_shape *s) {
    enum { MANY = 64 };
    int64_t least, most, from = 1, to = 1;
    for (int d = 0; d < s->rank - 1; d++) {
        if (!et_bounds(lo->g->exprs, s->dim[d], &least, &most)) return false;
        from *= least, to *= most;
        if (to > INT32_MAX) to = INT32_MAX;
    }
    return to == 1 || from > MANY;
}

static bool computes_norm(const et_lowering *lo, const et_node *n) {
    const et_node *norm = et_node_of(lo->g, n->args[0]);
    int64_t least, most;
    if (!norm || (norm->op != &et_op_rmsnorm && norm->op != &et_op_layernorm)) return false;
    const et_shape *s = &et_val_of(lo->g, n->args[0])->shape;
    return is_wide_product(lo, n) && suits_rows(lo, s) && !lo->forced[n->args[0].id] &&
           et_bounds(lo->g->exprs, s->dim[s->rank - 1], &least, &most) &&
           most <= ET_RECOMPUTE_ROW && has_others(lo, n->args[0]);
}

et_expr et_left_at(et_lowering *lo, const et_node *n, const et_expr *index) {
    const et_node *norm = et_node_of(lo->g, n->args[0]);
    return computes_norm(lo, n) ? norm->op->at(&lo->lower, norm, index)
                                : et_arg_at(&lo->lower, n, 0, index);
}
