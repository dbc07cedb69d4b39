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
 * rows than the router loses? Between, the rows' sums take longer in each of its few tiles, except
 * where it has tiles of one row each (row.c). */
static bool suits_rows(const et_lowering *lo, const et_shape *s) {
    enum { MANY = 256 };
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
    bool suits = suits_rows(lo, s) || et_is_row_of_sums(lo, n);
    return is_wide_product(lo, n) && suits && !lo->forced[n->args[0].id] &&
           lo->info[n->args[0].id].loop == lo->info[n->result.id].loop &&
           et_bounds(lo->g->exprs, s->dim[s->rank - 1], &least, &most) &&
           most <= ET_RECOMPUTE_ROW && has_others(lo, n->args[0]);
}

struct reads {
    const et_lowering *lo;
    bool lasting;
};

static void note_load(void *ctx, et_expr e) {
    struct reads *r = ctx;
    const et_node_x *n = et_x(r->lo->g->exprs, e);
    if (n->op != ET_X_LOAD || n->i2 != ET_LOAD_TENSOR) return;
    const et_tensor *t = &r->lo->p->tensors[n->i];
    r->lasting &= t->kind == ET_TENSOR_WEIGHT || t->kind == ET_TENSOR_CONST ||
                  t->kind == ET_TENSOR_INPUT || (t->kind == ET_TENSOR_TEMP && !t->carried);
}

/* Has all that E reads the same value wherever it is read in an iteration? States and carried
 * values may be overwritten between the norm and the router. */
static bool lasts(const et_lowering *lo, et_expr e) {
    struct reads r = {lo, true};
    et_walk(lo->g->exprs, e, note_load, &r);
    return r.lasting;
}

et_expr et_left_at(et_lowering *lo, const et_node *n, const et_expr *index) {
    const et_node *norm = et_node_of(lo->g, n->args[0]);
    if (!computes_norm(lo, n)) return et_arg_at(&lo->lower, n, 0, index);
    et_expr own = norm->op->at(&lo->lower, norm, index);
    return lasts(lo, own) ? own : et_arg_at(&lo->lower, n, 0, index);
}

bool et_feeds_router(const et_lowering *lo, et_value v) {
    for (int i = 0; i < lo->g->nnodes; i++) {
        const et_node *n = &lo->g->nodes[i];
        const et_node *norm = n->nargs > 1 ? et_node_of(lo->g, n->args[0]) : NULL;
        if (norm && norm->nargs && norm->args[0].id == v.id && computes_norm(lo, n)) return true;
    }
    return false;
}
