#include "ir/graph/op_util.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool check_cache(et_graph *g, const et_node *n) {
    const et_shape *q = et_arg_shape(g, n, 0), *k = et_arg_shape(g, n, 1);
    const et_shape *v = et_arg_shape(g, n, 2);
    int64_t heads, kv_heads, d;
    if (q->rank != 3)
        return et_op_error(g, n, "the queries of attention must be [tokens, heads, D], found %s",
                           et_arg_text(g, n, 0));
    if (k->rank != 4)
        return et_op_error(
            g, n, "the key cache of attention must be [slots, heads, context, D], found %s",
            et_arg_text(g, n, 1));
    if (!et_shape_eq(k, v))
        return et_op_error(g, n,
                           "the key cache is %s and the value cache %s: they must be the same",
                           et_shape_text(g->exprs, k), et_shape_text(g->exprs, v));
    if (!et_is_int(g->exprs, q->dim[2], &d) || !et_expr_eq(q->dim[2], k->dim[3]))
        return et_op_error(g, n,
                           "queries %s and key cache %s: the last dimensions must be the same "
                           "constant",
                           et_arg_text(g, n, 0), et_arg_text(g, n, 1));
    if (!et_is_int(g->exprs, q->dim[1], &heads) || !et_is_int(g->exprs, k->dim[1], &kv_heads) ||
        heads % kv_heads != 0)
        return et_op_error(g, n, "%s query heads must be a multiple of %s cached heads",
                           et_expr_text(g->exprs, q->dim[1], NULL, NULL),
                           et_expr_text(g->exprs, k->dim[1], NULL, NULL));
    return true;
}

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    static const char *const what[] = {"the queries of attention", "the key cache of attention",
                                       "the value cache of attention", "the slots of attention",
                                       "the positions of attention"};
    for (int i = 0; i < 5; i++)
        if (!(i < 3 ? et_op_wants_float : et_op_wants_i32)(g, n, i, what[i])) return false;
    if (!check_cache(g, n)) return false;
    const et_shape *q = et_arg_shape(g, n, 0);
    for (int i = 3; i < 5; i++) {
        const et_shape *s = et_arg_shape(g, n, i);
        if (s->rank != 1 || !et_expr_eq(s->dim[0], q->dim[0]))
            return et_op_error(g, n, "%s must be [%s], one per query, found %s", what[i],
                               et_expr_text(g->exprs, q->dim[0], NULL, NULL), et_arg_text(g, n, i));
    }
    *out_shape = *q;
    out_shape->dtype = ET_F32;
    return true;
}

/* One head of one token over COUNT cached rows; the weights are built in W. */
static void attend(const float *q, const float *keys, const float *values, int64_t count,
                   int64_t size, double scale, double *w, float *out) {
    double max = -INFINITY, sum = 0;
    for (int64_t p = 0; p < count; p++) {
        double s = 0;
        for (int64_t d = 0; d < size; d++)
            s += (double)q[d] * (double)keys[p * size + d];
        w[p] = s * scale;
        max = fmax(max, w[p]);
    }
    for (int64_t p = 0; p < count; p++) {
        w[p] = exp(w[p] - max);
        sum += w[p];
    }
    for (int64_t d = 0; d < size; d++) {
        double s = 0;
        for (int64_t p = 0; p < count; p++)
            s += w[p] * (double)values[p * size + d];
        out[d] = count ? (float)(s / sum) : 0;
    }
}

static bool interp(const et_interp_args *a) {
    const et_tensor_data *q = a->args[0], *k = a->args[1];
    const int32_t *slots = a->args[3]->i, *positions = a->args[4]->i;
    int64_t heads = q->dim[1], size = q->dim[2], context = k->dim[2];
    int64_t group = heads / k->dim[1];
    double scale = et_attr_float(a->node, "scale", 1);
    double *w = malloc((size_t)context * sizeof *w);
    if (!w) return et_interp_error(a, "out of memory");
    for (int64_t i = 0; i < q->dim[0]; i++) {
        int64_t slot = et_clamp(slots[i], 0, k->dim[0] - 1);
        int64_t count = et_clamp(positions[i], -1, context - 1) + 1;
        for (int64_t h = 0; h < heads; h++) {
            int64_t cache = (slot * k->dim[1] + h / group) * context * size;
            int64_t at = (i * heads + h) * size;
            attend(q->f + at, k->f + cache, a->args[2]->f + cache, count, size, scale, w,
                   a->result->f + at);
        }
    }
    free(w);
    return true;
}

const et_op et_op_attention = {
    ET_OP_ROW(attention), .class = ET_CLASS_ATTENTION, .shape = shape, .at = NULL, .interp = interp,
};
