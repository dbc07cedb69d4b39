/* Which loads an operand is computed of, and whether that can be done in registers. */
#include "ir/weights/computed.h"

enum { MOST_RUN = 16, MOST_BITS = 128 };

struct finding {
    const et_exprs *x;
    int kvar;
    et_loads *l;
    bool odd; /* more than that, or some that only a choice makes */
};

static void find_loads(struct finding *f, et_expr e) {
    const et_node_x *x = et_x(f->x, e);
    et_loads *l = f->l;
    if (x->op == ET_X_SELECT || x->op == ET_X_AND || x->op == ET_X_OR) f->odd = true;
    if (!et_expr_has_var(f->x, e, f->kvar)) return;
    if (x->op != ET_X_LOAD) {
        for (int i = 0; i < x->nops; i++)
            find_loads(f, x->ops[i]);
        return;
    }
    f->odd |= x->i2 != ET_LOAD_TENSOR;
    for (int i = 0; i < l->n; i++)
        if (et_expr_eq(l->load[i], e)) return;
    if (l->n == ET_MOST_LOADS)
        f->odd = true;
    else
        l->load[l->n++] = e;
}

bool et_loads_of(const et_exprs *x, et_expr b, int kvar, et_loads *out) {
    struct finding f = {.x = x, .kvar = kvar, .l = out};
    out->n = 0;
    find_loads(&f, b);
    return !f.odd && out->n > 0;
}

et_growth et_growth_of(const et_exprs *x, et_expr e, int var) {
    const et_node_x *n = et_x(x, e);
    if (!et_expr_has_var(x, e, var)) return ET_STILL;
    if (n->op == ET_X_VAR) return ET_EVEN;
    if (n->type != ET_T_I32 || n->nops != 2) return ET_ANYHOW;
    et_growth a = et_growth_of(x, n->ops[0], var), b = et_growth_of(x, n->ops[1], var);
    et_growth most = a > b ? a : b;
    bool one = a == ET_STILL || b == ET_STILL;
    switch (n->op) {
    case ET_X_ADD:
    case ET_X_SUB:
        return most <= ET_EVEN || one ? most : ET_ANYHOW;
    case ET_X_MUL:
        return one ? most : ET_ANYHOW;
    case ET_X_IDIV:
        return b == ET_STILL && a <= ET_STEADY ? ET_STEADY : ET_ANYHOW;
    default:
        return ET_ANYHOW;
    }
}

static et_growth load_growth(const et_exprs *x, et_expr load, int var) {
    const et_node_x *n = et_x(x, load);
    et_growth most = ET_STILL;
    for (int d = 0; d < n->nops; d++) {
        et_growth g = et_growth_of(x, n->ops[d], var);
        most = g > most ? g : most;
    }
    return most;
}

/* Is VAR in E for nothing but loads that are the same at K and at LAST, and so between? */
static bool stays(et_exprs *x, et_expr e, int var, et_expr k, et_expr last) {
    et_node_x n = *et_x(x, e);
    if (!et_expr_has_var(x, e, var)) return true;
    if (n.op == ET_X_VAR) return false;
    if (n.op == ET_X_LOAD && load_growth(x, e, var) <= ET_STEADY)
        return et_expr_eq(et_subst_var(x, e, var, k), et_subst_var(x, e, var, last));
    for (int i = 0; i < n.nops; i++)
        if (!stays(x, n.ops[i], var, k, last)) return false;
    return true;
}

et_expr et_same_in_run(et_exprs *x, et_expr e, int var, et_expr k, int run) {
    et_expr first = et_subst_var(x, e, var, k);
    if (!et_expr_has_var(x, e, var)) return first;
    for (int j = 1; j < run; j++) {
        if (!et_expr_eq(et_subst_var(x, e, var, et_add(x, k, et_int(x, j))), first))
            return ET_NO_EXPR;
        if (j == 1 && stays(x, e, var, k, et_add(x, k, et_int(x, run - 1)))) break;
    }
    return first;
}

/* Are the elements of LOAD at RUN values of KVAR from K on side by side, from one that their number
 * divides? The first two tell of all where indices grow evenly. */
static bool is_run(const et_program *p, et_expr load, int kvar, et_expr k, int run) {
    et_exprs *x = p->g->exprs;
    int tensor = et_x(x, load)->i;
    et_expr from = ET_NO_EXPR;
    int64_t d;
    if (run * et_dtype_bits(p->tensors[tensor].shape.dtype) > MOST_BITS) return false;
    int looked_at = load_growth(x, load, kvar) <= ET_EVEN && run > 2 ? 2 : run;
    for (int j = 0; j < looked_at; j++) {
        et_node_x n = *et_x(x, et_subst_var(x, load, kvar, et_add(x, k, et_int(x, j))));
        et_expr off = et_access_offset(p, NULL, ET_LOAD_TENSOR, tensor, n.ops);
        if (!j) from = off;
        if (!et_is_int(x, et_sub(x, off, from), &d) || d != j) return false;
    }
    return et_divides(x, run, from);
}

int et_k_computed(const et_program *p, et_expr b, int kvar, int run, int round) {
    et_exprs *x = p->g->exprs;
    et_loads l;
    int64_t extent;
    if (run > MOST_RUN || !et_is_int(x, et_var_extent(x, kvar), &extent) || extent % round)
        return 0;
    if (!et_loads_of(x, b, kvar, &l)) return 0;
    int piece = et_var_add(x, "piece", et_int(x, extent / run));
    et_expr k = et_mul(x, et_var(x, piece), et_int(x, run));
    for (int i = 0; i < l.n; i++)
        if (!et_same_in_run(x, l.load[i], kvar, k, run).id && !is_run(p, l.load[i], kvar, k, run))
            return 0;
    return l.n;
}
