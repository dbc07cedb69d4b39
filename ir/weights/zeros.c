/* Which products can leave out pieces of weights. */
#include "ir/weights/zeros.h"
#include "ir/program/step.h"

bool et_zeros_of(const et_program *p, int tensor, et_zeros *out) {
    const et_tensor *t = &p->tensors[tensor];
    const et_shape *s = &t->shape;
    int64_t count = 1, n;
    if (t->kind != ET_TENSOR_WEIGHT || t->host || s->rank - t->nloops < 2) return false;
    for (int d = 0; d < s->rank; d++) {
        if (!et_is_int(p->g->exprs, s->dim[d], &n) || n < 1) return false;
        count *= n;
        out->rows = d + 2 == s->rank ? n : out->rows;
        out->k = n;
    }
    if (out->k * et_dtype_bits(s->dtype) % 8) return false;
    out->groups = (out->rows + ET_ZERO_ROWS - 1) / ET_ZERO_ROWS;
    out->log2_columns = 6;
    while (out->k > (int64_t)ET_ZERO_BITS << out->log2_columns)
        out->log2_columns++;
    out->at = (et_dtype_size(s->dtype, count) + 15) / 16 * 16;
    return true;
}

/* A load of E that walks along K, and without which E is zero. */
static et_expr factor(const et_program *p, et_expr e, int k) {
    et_exprs *x = p->g->exprs;
    const et_node_x n = *et_x(x, e);
    switch (n.op) {
    case ET_X_LOAD:
        if (n.i2 != ET_LOAD_TENSOR || p->tensors[n.i].kind != ET_TENSOR_WEIGHT || n.nops < 2 ||
            p->tensors[n.i].shape.dtype == ET_UE8M0) /* of which no code is zero */
            return ET_NO_EXPR;
        for (int i = 0; i + 1 < n.nops; i++)
            if (et_expr_has_var(x, n.ops[i], k)) return ET_NO_EXPR;
        return et_expr_eq(n.ops[n.nops - 1], et_var(x, k)) ? e : ET_NO_EXPR;
    case ET_X_MUL: {
        et_expr one = factor(p, n.ops[0], k);
        return one.id ? one : factor(p, n.ops[1], k);
    }
    case ET_X_NEG:
    case ET_X_TO_F32:
    case ET_X_TO_BF16:
    case ET_X_TO_I32:
        return factor(p, n.ops[0], k);
    default:
        return ET_NO_EXPR;
    }
}

/* Are the rows of a tile, sixteen by sixteen, next to each other in one matrix? */
static bool rows_together(const et_program *p, const et_step *s, const et_node_x *load) {
    et_exprs *x = p->g->exprs;
    et_expr row = load->ops[load->nops - 2];
    int64_t offset;
    for (int i = 0; i + 2 < load->nops; i++)
        if (et_expr_has_var(x, load->ops[i], s->nvar)) return false;
    for (int n = 0; n < s->tn; n++) {
        et_expr first = et_subst_var(x, row, s->nvar, et_int(x, n / ET_ZERO_ROWS * ET_ZERO_ROWS));
        et_expr by = et_sub(x, et_subst_var(x, row, s->nvar, et_int(x, n)), first);
        if (!et_is_int(x, by, &offset) || offset != n % ET_ZERO_ROWS) return false;
    }
    return true;
}

/* The k of a step that has any. */
static et_expr extent(et_exprs *x, const et_step *s) {
    const et_node_x n = *et_x(x, s->kextent);
    int64_t none;
    return n.op == ET_X_SELECT && et_is_int(x, n.ops[2], &none) && !none ? n.ops[1] : s->kextent;
}

et_expr et_zeros_load(const et_program *p, const et_step *s, int i) {
    et_zeros z;
    int64_t k;
    et_expr load = factor(p, s->b[i], s->kvar);
    if (!load.id || s->tn % ET_ZERO_ROWS) return ET_NO_EXPR;
    const et_node_x n = *et_x(p->g->exprs, load);
    bool fits = et_zeros_of(p, n.i, &z) && et_is_int(p->g->exprs, extent(p->g->exprs, s), &k) &&
                k == z.k && rows_together(p, s, &n);
    return fits ? load : ET_NO_EXPR;
}

bool et_zeros_used(const et_program *p, int tensor) {
    for (int f = 0; f < p->nfuncs; f++)
        for (int i = 0; i < p->funcs[f].nsteps; i++) {
            const et_step *s = &p->funcs[f].steps[i];
            for (int b = 0; s->kind == ET_STEP_CONTRACT && b < s->nacc; b++) {
                et_expr load = et_zeros_load(p, s, b);
                if (load.id && et_x(p->g->exprs, load)->i == tensor) return true;
            }
        }
    return false;
}
