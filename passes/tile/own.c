/* Products whose waves each have a part of k to themselves, and all of a tile's columns.
 *
 * Where weights come ahead of a task, what it waits for are its rows. These go straight to the
 * registers of the wave whose k they have then, more of them in flight than local memory has
 * room for (codegen/step/product/rows_own.c). It takes sums of each wave. Weights that are read
 * packed want them in another order than memory has them, so they go through local memory then. */
#include "passes/pipeline/pipeline.h"
#include "passes/tile/tiler.h"

enum {
    MOST_ROWS = 32,    /* of a tile */
    MOST_COLUMNS = 48, /* of all its products */
    TOGETHER = 4,      /* rows that are staged together whatever waves do */
};

/* Does E, an element of a tensor of the operands' type, lie behind the one before for each k, be
 * that in two digits? */
static bool along_k(const et_tiler *t, const et_step *s, et_expr e) {
    et_exprs *x = t->x;
    int64_t k, last;
    et_node_x n = *et_x(x, e);
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_TENSOR) return false;
    const et_shape *of = &t->p->tensors[n.i].shape;
    if (of->dtype != s->operand || !et_is_int(x, s->kextent, &k)) return false;
    if (et_k_contiguous(t->p, e, s->kvar, s->operand)) return true;
    if (n.nops < 2 || !et_is_int(x, of->dim[n.nops - 1], &last) || k % last ||
        last % (16 / et_dtype_bytes(of->dtype)))
        return false;
    int high = et_graph_var(t->p->g, "high", et_int(x, k / last));
    int low = et_graph_var(t->p->g, "low", et_int(x, last));
    et_expr both = et_add(x, et_mul(x, et_var(x, high), et_int(x, last)), et_var(x, low));
    n = *et_x(x, et_subst_var(x, e, s->kvar, both));
    if (!et_expr_eq(n.ops[n.nops - 1], et_var(x, low))) return false;
    bool ok = true;
    for (int d = 0; d + 1 < n.nops; d++) {
        et_expr at = d + 2 < n.nops ? n.ops[d] : et_sub(x, n.ops[d], et_var(x, high));
        ok &= !et_expr_has_var(x, at, high) && !et_expr_has_var(x, at, low);
    }
    return ok;
}

bool et_tile_own_rows(const et_tiler *t, const et_step *s) {
    const et_machine *m = t->opt->machine;
    int unit = m->waves * m->k_bytes / et_dtype_bytes(s->operand);
    int64_t lo, rows, k;
    return et_may_stream(t->opt) && !t->opt->packed && s->tm <= MOST_ROWS &&
           s->nacc * s->tn <= MOST_COLUMNS && et_bounds(t->x, s->mlive, &lo, &rows) &&
           rows > TOGETHER && et_is_int(t->x, s->kextent, &k) && k % unit == 0 &&
           along_k(t, s, s->a);
}
