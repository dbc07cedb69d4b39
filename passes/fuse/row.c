/* Products of one row that are lowered to sums. */
#include "passes/fuse/lowering.h"

bool et_is_row_of_sums(et_lowering *lo, const et_node *n) {
    enum { LEAST_K = 1024 };
    const et_exprs *x = lo->g->exprs;
    const et_shape *a = &et_val_of(lo->g, n->args[0])->shape;
    const et_shape *b = &et_val_of(lo->g, n->args[1])->shape;
    int64_t lo_k, k, lo_m, m;
    return a->rank == 2 && b->rank == 2 && a->dtype == ET_F32 && b->dtype == ET_F32 &&
           et_bounds(x, a->dim[0], &lo_m, &m) && m == 1 && et_bounds(x, a->dim[1], &lo_k, &k) &&
           k >= LEAST_K;
}

et_expr et_row_of_sums(et_lowering *lo, const et_node *n, const et_expr *index) {
    et_exprs *x = lo->g->exprs;
    et_expr extent = et_val_of(lo->g, n->args[0])->shape.dim[1];
    int k = et_graph_var(lo->g, "k", extent);
    bool trans = et_attr_int(n, "trans_b", 0);
    et_expr a[] = {index[0], et_var(x, k)}, b[] = {et_var(x, k), index[1]};
    if (trans) b[0] = index[1], b[1] = et_var(x, k);
    et_expr term = et_mul(x, et_left_at(lo, n, a), et_arg_at(&lo->lower, n, 1, b));
    return et_reduce_x(x, ET_RED_SUM, k, extent, term);
}
