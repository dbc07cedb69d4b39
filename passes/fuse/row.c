/* Products of few rows that are lowered to sums: of one row, and of up to eight by so few columns
 * that all CUs together read rows and columns for each sum in about the time of an event. A matrix
 * product of them has a tile for each sixteen columns, few CUs work, and each waits for one chunk
 * of k after the other. */
#include "passes/fuse/lowering.h"

bool et_is_row_of_sums(const et_lowering *lo, const et_node *n) {
    enum { LEAST_K = 1024, ROWS = 8, TERMS = 1 << 22 };
    const et_exprs *x = lo->g->exprs;
    const et_shape *a = &et_val_of(lo->g, n->args[0])->shape;
    const et_shape *b = &et_val_of(lo->g, n->args[1])->shape;
    int64_t lo_k, k, lo_m, m, lo_n, columns;
    if (lo->same_sums || a->rank != 2 || b->rank != 2 || a->dtype != ET_F32 || b->dtype != ET_F32 ||
        !et_bounds(x, a->dim[0], &lo_m, &m) || !et_bounds(x, a->dim[1], &lo_k, &k) || k < LEAST_K)
        return false;
    et_expr n_of = b->dim[et_attr_int(n, "trans_b", 0) ? 0 : 1];
    return m == 1 ||
           (m <= ROWS && et_bounds(x, n_of, &lo_n, &columns) && columns <= TERMS / (m * k));
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
