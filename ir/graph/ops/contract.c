#include "ir/graph/op_util.h"
#include <stdlib.h>
#include <string.h>

static bool trans_b(const et_node *n) {
    return et_attr_int(n, "trans_b", 0) != 0;
}

/* The right operand's dimensions as the user multiplies them: [..., K, N]. */
static et_shape right(const et_graph *g, const et_node *n) {
    et_shape b = *et_arg_shape(g, n, 1);
    if (trans_b(n) && b.rank >= 2) {
        et_expr t = b.dim[b.rank - 1];
        b.dim[b.rank - 1] = b.dim[b.rank - 2];
        b.dim[b.rank - 2] = t;
    }
    return b;
}

static const char *product_text(et_graph *g, const et_node *n) {
    et_shape b = right(g, n);
    return et_printf(g->arena, "%s @ %s", et_arg_text(g, n, 0),
                     et_dims_text(g->exprs, b.rank, b.dim));
}

static bool check_dtypes(et_graph *g, const et_node *n) {
    const et_shape *a = et_arg_shape(g, n, 0), *b = et_arg_shape(g, n, 1);
    if (!et_op_wants_float(g, n, 0, "the left side of @") ||
        !et_op_wants_float(g, n, 1, "the right side of @"))
        return false;
    if (a->dtype != b->dtype && a->dtype != ET_F32 && b->dtype != ET_F32)
        return et_op_error(g, n, "%s @ %s has no common type: convert one side, as in %s(...)",
                           et_dtype_name(a->dtype), et_dtype_name(b->dtype),
                           et_dtype_name(b->dtype));
    return true;
}

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *a = et_arg_shape(g, n, 0);
    et_shape b = right(g, n);
    et_exprs *p = g->exprs;
    if (!check_dtypes(g, n)) return false;
    if (a->rank < 2 || b.rank < 2)
        return et_op_error(g, n, "%s: both sides need at least two dimensions", product_text(g, n));
    if (!et_expr_eq(a->dim[a->rank - 1], b.dim[b.rank - 2]))
        return et_op_error(g, n, "%s: inner dimensions %s and %s differ", product_text(g, n),
                           et_expr_text(p, a->dim[a->rank - 1], NULL, NULL),
                           et_expr_text(p, b.dim[b.rank - 2], NULL, NULL));
    int rank = a->rank > b.rank ? a->rank : b.rank;
    *out_shape = (et_shape){.dtype = ET_F32, .rank = rank};
    for (int k = 3; k <= rank; k++) {
        et_expr one = et_int(p, 1), x = k <= a->rank ? a->dim[a->rank - k] : one;
        et_expr y = k <= b.rank ? b.dim[b.rank - k] : one;
        if (!et_broadcast_dim(p, x, y, &out_shape->dim[rank - k]))
            return et_op_error(g, n, "%s: batch dimensions %s and %s differ", product_text(g, n),
                               et_expr_text(p, x, NULL, NULL), et_expr_text(p, y, NULL, NULL));
    }
    out_shape->dim[rank - 2] = a->dim[a->rank - 2];
    out_shape->dim[rank - 1] = b.dim[b.rank - 1];
    return true;
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    int rank = et_val_of(lo->g, n->result)->shape.rank;
    return et_contract_x(lo->g->exprs, (int)n->result.id, rank, index);
}

/* The operand's numbers as they are multiplied; *out_own is to be freed. */
static const float *operand(const et_tensor_data *t, et_dtype stored, et_dtype other,
                            float **out_own) {
    *out_own = NULL;
    if (stored != ET_F32 || other == ET_F32) return t->f;
    int64_t count = et_tensor_count(t);
    float *own = *out_own = malloc((size_t)count * sizeof *own);
    for (int64_t i = 0; own && i < count; i++)
        own[i] = et_round_to(other, t->f[i]);
    return own;
}

enum { LANES = 8 }; /* independent partial sums, so that the loop vectorises */

static double dot(const float *a, const float *b, int64_t n) {
    double sum[LANES] = {0}, total = 0;
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (int l = 0; l < LANES; l++)
            sum[l] += (double)a[k + l] * (double)b[k + l];
    for (; k < n; k++)
        total += (double)a[k] * (double)b[k];
    for (int l = 0; l < LANES; l++)
        total += sum[l];
    return total;
}

struct matrices {
    int64_t m, n, k;
    bool trans_b;
    double *row; /* n sums */
};

static void multiply(const struct matrices *s, const float *a, const float *b, float *c) {
    if (s->trans_b) {
        for (int64_t n = 0; n < s->n; n++)
            for (int64_t m = 0; m < s->m; m++)
                c[m * s->n + n] = (float)dot(a + m * s->k, b + n * s->k, s->k);
        return;
    }
    for (int64_t m = 0; m < s->m; m++) {
        memset(s->row, 0, (size_t)s->n * sizeof *s->row);
        for (int64_t k = 0; k < s->k; k++)
            for (int64_t n = 0; n < s->n; n++)
                s->row[n] += (double)a[m * s->k + k] * (double)b[k * s->n + n];
        for (int64_t n = 0; n < s->n; n++)
            c[m * s->n + n] = (float)s->row[n];
    }
}

/* Which matrix of T the batch INDEX (of RANK dimensions) falls on. */
static int64_t batch_of(const et_tensor_data *t, int rank, const int64_t *index) {
    int64_t at = 0;
    for (int k = 0; k < t->rank - 2; k++) {
        int64_t i = index[rank - (t->rank - 2) + k];
        at = at * t->dim[k] + (t->dim[k] == 1 ? 0 : i);
    }
    return at;
}

static bool interp(const et_interp_args *args) {
    const et_tensor_data *ta = args->args[0], *tb = args->args[1], *tc = args->result;
    et_dtype da = et_arg_shape(args->g, args->node, 0)->dtype;
    et_dtype db = et_arg_shape(args->g, args->node, 1)->dtype;
    float *own_a, *own_b;
    const float *a = operand(ta, da, db, &own_a), *b = operand(tb, db, da, &own_b);
    int rank = tc->rank - 2;
    struct matrices s = {.m = tc->dim[rank], .n = tc->dim[rank + 1], .k = ta->dim[ta->rank - 1]};
    s.trans_b = trans_b(args->node);
    s.row = malloc((size_t)s.n * sizeof *s.row);
    bool ok = a && b && s.row;
    int64_t index[ET_MAX_RANK] = {0}, batch = 0;
    if (ok) do
            multiply(&s, a + batch_of(ta, rank, index) * s.m * s.k,
                     b + batch_of(tb, rank, index) * s.k * s.n, tc->f + batch++ * s.m * s.n);
        while (et_next_index(rank, tc->dim, index));
    free(own_a);
    free(own_b);
    free(s.row);
    return ok || et_interp_error(args, "out of memory");
}

const et_op et_op_contract = {
    ET_OP_ROW(contract), .class = ET_CLASS_CONTRACT, .shape = shape, .at = at, .interp = interp,
};
