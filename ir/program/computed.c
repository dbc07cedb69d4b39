/* Right operands of products that are computed of what they load: quantised weights, above all. */
#include "ir/program/program.h"

enum { MOST_LOADS = 8, MOST_RUN = 16, MOST_BITS = 128 };

struct loads {
    const et_exprs *x;
    int kvar, n;
    et_expr load[MOST_LOADS];
    bool odd; /* more than that, or some that only a choice makes */
};

static void find_loads(struct loads *l, et_expr e) {
    const et_node_x *x = et_x(l->x, e);
    if (x->op == ET_X_SELECT || x->op == ET_X_AND || x->op == ET_X_OR) l->odd = true;
    if (!et_expr_has_var(l->x, e, l->kvar)) return;
    if (x->op != ET_X_LOAD) {
        for (int i = 0; i < x->nops; i++)
            find_loads(l, x->ops[i]);
        return;
    }
    l->odd |= x->i2 != ET_LOAD_TENSOR;
    for (int i = 0; i < l->n; i++)
        if (et_expr_eq(l->load[i], e)) return;
    if (l->n == MOST_LOADS)
        l->odd = true;
    else
        l->load[l->n++] = e;
}

static et_expr offset(et_exprs *x, const et_shape *s, const et_expr *index) {
    et_expr off = et_int(x, 0), stride = et_int(x, 1);
    for (int d = s->rank - 1; d >= 0; d--) {
        off = et_add(x, off, et_mul(x, index[d], stride));
        stride = et_mul(x, stride, s->dim[d]);
    }
    return off;
}

/* LOAD at RUN values of KVAR that begin at K: one element, or so many side by side from one that
 * their number divides. */
static bool is_run(const et_program *p, et_expr load, int kvar, et_expr k, int run) {
    et_exprs *x = p->g->exprs;
    const et_shape *s = &p->tensors[et_x(x, load)->i].shape;
    bool same = true, apart = run * et_dtype_bits(s->dtype) > MOST_BITS;
    et_expr first = ET_NO_EXPR, from = ET_NO_EXPR;
    int64_t d;
    for (int j = 0; j < run; j++) {
        et_expr at = et_subst_var(x, load, kvar, et_add(x, k, et_int(x, j)));
        et_node_x n = *et_x(x, at);
        et_expr off = offset(x, s, n.ops);
        if (!j) first = at, from = off;
        same &= et_expr_eq(at, first);
        apart |= !et_is_int(x, et_sub(x, off, from), &d) || d != j;
    }
    if (same || apart) return same;
    return et_divides(x, run, from);
}

int et_k_computed(const et_program *p, et_expr b, int kvar, int run, int round) {
    et_exprs *x = p->g->exprs;
    struct loads l = {.x = x, .kvar = kvar};
    int64_t extent;
    if (run > MOST_RUN || !et_is_int(x, et_var_extent(x, kvar), &extent) || extent % round)
        return 0;
    find_loads(&l, b);
    if (l.odd) return 0;
    int piece = et_var_add(x, "piece", et_int(x, extent / run));
    et_expr k = et_mul(x, et_var(x, piece), et_int(x, run));
    for (int i = 0; i < l.n; i++)
        if (!is_run(p, l.load[i], kvar, k, run)) return 0;
    return l.n;
}
