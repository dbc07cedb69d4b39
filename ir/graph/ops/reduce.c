#include "ir/graph/op_util.h"
#include <math.h>

static et_reduce kind_of(const et_node *n) {
    return (et_reduce)et_op_attr(n, "kind", ET_A_INT)->i;
}

/* Elements along the axis, where it is kept: of TOP its first places. */
static int64_t kept(const et_node *n) {
    return kind_of(n) == ET_RED_TOP ? et_attr_int(n, "count", 0) : 1;
}

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_shape *x = et_arg_shape(g, n, 0);
    int axis;
    if (!et_op_axis(g, n, x->rank, &axis)) return false;
    *out_shape = (et_shape){.dtype = ET_F32};
    if (kind_of(n) >= ET_RED_ARGMAX || !et_dtype_is_float(x->dtype)) out_shape->dtype = ET_I32;
    for (int k = 0; k < x->rank; k++)
        if (k != axis)
            out_shape->dim[out_shape->rank++] = x->dim[k];
        else if (et_attr_int(n, "keep", 0))
            out_shape->dim[out_shape->rank++] = et_int(g->exprs, kept(n));
    int64_t all;
    return kind_of(n) != ET_RED_TOP ||
           (kept(n) > 0 && et_attr_int(n, "keep", 0) && et_is_int(g->exprs, x->dim[axis], &all) &&
            all >= kept(n)) ||
           et_op_error(g, n, "the largest %lld along axis %d of %s, which needs keep=1",
                       (long long)kept(n), axis, et_arg_text(g, n, 0));
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    const et_shape *x = et_arg_shape(lo->g, n, 0);
    int axis = et_op_axis_of(lo->g, n), keep = et_attr_int(n, "keep", 0) != 0;
    et_expr extent = x->dim[axis], from[ET_MAX_RANK];
    int var = et_node_var(lo->g, n, 0, "r", extent);
    for (int k = 0; k < x->rank; k++)
        from[k] = k == axis ? et_var(p, var) : index[k - (k > axis && !keep)];
    et_expr each = et_arg_at(lo, n, 0, from);
    if (kind_of(n) == ET_RED_TOP) return et_top_x(p, var, extent, each, index[axis]);
    return et_reduce_x(p, kind_of(n), var, extent, each);
}

static float reduce_f(et_reduce kind, const float *x, int64_t n, int64_t step) {
    double sum = 0;
    float best = kind == ET_RED_MIN ? INFINITY : -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        float v = x[i * step];
        sum += (double)v;
        best = kind == ET_RED_MIN ? fminf(best, v) : fmaxf(best, v);
    }
    return kind == ET_RED_SUM ? (float)sum : best;
}

static int32_t reduce_i(et_reduce kind, const int32_t *x, int64_t n, int64_t step) {
    uint32_t sum = 0; /* wraps as the device does */
    int32_t best = x[0];
    for (int64_t i = 0; i < n; i++) {
        int32_t v = x[i * step];
        sum += (uint32_t)v;
        best = kind == ET_RED_MIN ? (v < best ? v : best) : (v > best ? v : best);
    }
    return kind == ET_RED_SUM ? (int32_t)sum : best;
}

static double number(const et_tensor_data *t, int64_t at) {
    double v = et_dtype_is_float(t->dtype) ? (double)t->f[at] : (double)t->i[at];
    return isnan(v) ? -INFINITY : v;
}

/* The first position of the largest number; 0 when nothing exceeds minus infinity. */
static int32_t argmax(const et_tensor_data *t, int64_t at, int64_t n, int64_t step) {
    int64_t where = 0;
    double best = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double v = number(t, at + i * step);
        if (v > best) {
            best = v;
            where = i;
        }
    }
    return (int32_t)where;
}

/* The positions of the COUNT largest, in their order. */
static void top(const et_tensor_data *t, int64_t at, int64_t n, int64_t step, int64_t count,
                int32_t *to) {
    for (int64_t i = 0; i < n; i++) {
        double v = number(t, at + i * step);
        int64_t place = 0;
        for (int64_t k = 0; k < n; k++) {
            double w = number(t, at + k * step);
            place += w > v || (w == v && k < i);
        }
        if (place < count) to[place * step] = (int32_t)i;
    }
}

static bool interp(const et_interp_args *a) {
    const et_tensor_data *x = a->args[0];
    et_reduce kind = kind_of(a->node);
    int64_t outer, n, inner;
    et_split_axis(x, et_op_axis_of(a->g, a->node), &outer, &n, &inner);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            int64_t from = o * n * inner + i, to = o * kept(a->node) * inner + i;
            if (kind == ET_RED_TOP)
                top(x, from, n, inner, kept(a->node), a->result->i + to);
            else if (kind == ET_RED_ARGMAX)
                a->result->i[to] = argmax(x, from, n, inner);
            else if (!et_dtype_is_float(x->dtype))
                a->result->i[to] = reduce_i(kind, x->i + from, n, inner);
            else
                a->result->f[to] = reduce_f(kind, x->f + from, n, inner);
        }
    return true;
}

const et_op et_op_reduce = {
    ET_OP_ROW(reduce), .class = ET_CLASS_REDUCE, .shape = shape, .at = at, .interp = interp,
};

/* ---- exchange ----
 * In a graph that several devices run: what each of them computes for the argument is a part of a
 * sum, which all of them get, added in the order of their numbers. How what an element is made of
 * gets to all devices is the affair of the argument's tensor (ir/program/tags.h). With "own", a
 * dimension with an index for each device, it is no sum: an element is what the device of that
 * number computes. */

static bool exchange_shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    int64_t each;
    *out_shape = *et_arg_shape(g, n, 0);
    if (et_attr_find(n, "own")) {
        int own = (int)et_attr_int(n, "own", 0);
        if (own < 0 || own >= out_shape->rank || !et_is_int(g->exprs, out_shape->dim[own], &each) ||
            each != g->devices)
            return et_op_error(g, n, "exchange needs a dimension with an index for each device");
    }
    return et_op_wants_float(g, n, 0, "the argument of exchange");
}

static et_expr exchange_at(et_lower *lo, const et_node *n, const et_expr *index) {
    return et_arg_at(lo, n, 0, index);
}

/* One device alone has the sum. */
static bool exchange_interp(const et_interp_args *a) {
    if (a->g->devices > 1)
        return et_interp_error(a, "one of %d devices does not know the sum over all of them",
                               a->g->devices);
    memcpy(a->result->p, a->args[0]->p, (size_t)et_tensor_count(a->args[0]) * sizeof(float));
    return true;
}

const et_op et_op_exchange = {
    ET_OP_ROW(exchange), .class = ET_CLASS_VIEW,    .shape = exchange_shape,
    .at = exchange_at,   .interp = exchange_interp,
};
