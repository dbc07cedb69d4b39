#include "tests/unit/ir/random_graph.h"
#include <check.h>
#include <string.h>

static int64_t random_dim(fixture *f) {
    static const int64_t dim[] = {1, 2, 3, 4, 5, 7, 6, -1, -1, -2}; /* negative: a symbol */
    return dim[pick(f, 10)];
}

static et_shape random_shape(fixture *f, et_dtype dtype, int rank) {
    int64_t dim[ET_MAX_RANK];
    for (int k = 0; k < rank; k++)
        dim[k] = random_dim(f);
    return shape_of(f, dtype, rank, dim);
}

static et_dtype random_float(fixture *f) {
    static const et_dtype dtype[] = {ET_F32, ET_F32, ET_BF16, ET_F16};
    return dtype[pick(f, 4)];
}

static const et_shape *shape(fixture *f, et_value v) {
    return &et_val_of(f->g, v)->shape;
}

static bool is_float(fixture *f, et_value v) {
    return shape(f, v)->dtype != ET_I32;
}

/* ---- one operator each: NONE when the value does not suit it ---- */

static et_expr random_body(fixture *f, et_expr a, et_expr b) {
    et_exprs *p = f->p;
    a = et_op1(p, ET_X_TO_F32, a);
    switch (pick(f, 7)) {
    case 0:
        return et_add(p, a, b);
    case 5: { /* left out by chance */
        et_expr place = et_op1(p, ET_X_TO_I32, et_mul(p, b, et_float(p, 64)));
        et_expr bits = et_philox_x(p, et_int(p, 7), place, et_int(p, -1));
        return et_select(p, et_op2(p, ET_X_LT, bits, et_int(p, 0)), a, b);
    }
    case 1:
        return et_mul(p, a, et_op1(p, ET_X_TANH, b));
    case 2:
        return et_op2(p, ET_X_MAX, a, et_op1(p, ET_X_NEG, b));
    case 3:
        return et_sub(p, et_op1(p, ET_X_ABS, a), et_mul(p, b, et_float(p, 0.5)));
    case 4:
        return et_op1(p, ET_X_SQRT, et_add(p, et_mul(p, a, a), et_mul(p, b, b)));
    default:
        return et_op2(p, ET_X_DIV, a, et_add(p, et_op1(p, ET_X_EXP, b), et_float(p, 1)));
    }
}

static et_value add_map(fixture *f, et_value x) {
    et_shape s = *shape(f, x), other = {.dtype = random_float(f)};
    int skip = s.rank ? pick(f, s.rank + 1) : 0;
    for (int k = skip; k < s.rank; k++)
        other.dim[other.rank++] = pick(f, 3) ? s.dim[k] : et_int(f->p, 1);
    et_value y = input(f, NULL, other);
    bool swap = pick(f, 2) != 0;
    et_expr a = et_arg(f->p, swap, et_dtype_type(s.dtype));
    et_expr body = random_body(f, a, et_arg(f->p, !swap, ET_T_F32));
    et_value args[] = {swap ? y : x, swap ? x : y};
    return node(f, "map", 2, args,
                ATTRS(attr_expr("body", body), attr_int("dtype", random_float(f))));
}

static et_value add_contract(fixture *f, et_value x) {
    const et_shape *s = shape(f, x);
    if (s->rank < 2 || !is_float(f, x)) return ET_NO_VALUE;
    et_shape b = {.dtype = random_float(f)};
    if (s->dtype != ET_F32) b.dtype = pick(f, 2) ? s->dtype : ET_F32;
    for (int k = pick(f, s->rank - 1); k < s->rank - 2; k++)
        b.dim[b.rank++] = pick(f, 2) ? s->dim[k] : et_int(f->p, 1);
    int trans = pick(f, 2);
    et_expr n = random_shape(f, ET_F32, 1).dim[0];
    b.dim[b.rank + trans] = s->dim[s->rank - 1];
    b.dim[b.rank + !trans] = n;
    b.rank += 2;
    return node(f, "contract", ARGS(x, input(f, NULL, b)), ATTRS(attr_int("trans_b", trans)));
}

static et_value add_gather(fixture *f, et_value x) {
    if (shape(f, x)->rank < 1 || shape(f, x)->rank > 3) return ET_NO_VALUE;
    et_value i = input(f, NULL, random_shape(f, ET_I32, pick(f, 3)));
    return node(f, "gather", ARGS(x, i), NO_ATTRS);
}

static et_value add_reduce(fixture *f, et_value x) {
    if (shape(f, x)->rank < 1) return ET_NO_VALUE;
    /* The place of a maximum is only as stable as exact numbers. */
    bool exact = et_val_of(f->g, x)->kind != ET_V_NODE;
    et_reduce kind = (et_reduce)pick(f, exact ? 4 : 3);
    int axis = pick(f, 2 * shape(f, x)->rank) - shape(f, x)->rank;
    return node(
        f, "reduce", ARGS(x),
        ATTRS(attr_int("kind", kind), attr_int("axis", axis), attr_int("keep", pick(f, 2))));
}

static et_value add_norm(fixture *f, et_value x) {
    const et_shape *s = shape(f, x);
    if (s->rank < 1 || !is_float(f, x)) return ET_NO_VALUE;
    et_shape w = {.dtype = random_float(f), .rank = 1, .dim = {s->dim[s->rank - 1]}};
    et_value g = input(f, NULL, w), b = input(f, NULL, w);
    if (pick(f, 2)) return node(f, "rmsnorm", ARGS(x, g), ATTRS(attr_float("eps", 0.125)));
    return node(f, "layernorm", ARGS(x, g, b), ATTRS(attr_float("eps", 0.125)));
}

static et_value add_softmax(fixture *f, et_value x) {
    int64_t lo, hi;
    if (shape(f, x)->rank < 1 || !is_float(f, x)) return ET_NO_VALUE;
    int axis = pick(f, shape(f, x)->rank);
    if (!et_bounds(f->p, shape(f, x)->dim[axis], &lo, &hi) || hi > 100) /* evaluated n * n times */
        return ET_NO_VALUE;
    return node(f, "softmax", ARGS(x), ATTRS(attr_int("axis", axis)));
}

static et_value add_rope(fixture *f, et_value x) {
    const et_shape *s = shape(f, x);
    int64_t d;
    if (s->rank < 2 || !is_float(f, x) || !et_is_int(f->p, s->dim[s->rank - 1], &d) || d % 2)
        return ET_NO_VALUE;
    et_value pos = input(f, NULL, (et_shape){.dtype = ET_I32, .rank = 1, .dim = {s->dim[0]}});
    et_value freq = INPUT(f, NULL, ET_F32, d / 2);
    et_expr small = et_op2(f->p, ET_X_MOD, et_arg(f->p, 0, ET_T_I32), et_int(f->p, 50));
    pos = node(f, "map", ARGS(pos), ATTRS(attr_expr("body", small), attr_int("dtype", ET_I32)));
    return node(f, "rope", ARGS(x, node(f, "rope_table", ARGS(pos, freq), NO_ATTRS)), NO_ATTRS);
}

/* Merge neighbours, split constants, sprinkle ones. */
static et_value add_reshape(fixture *f, et_value x) {
    const et_shape *s = shape(f, x);
    et_expr dim[ET_MAX_RANK];
    int rank = 0;
    for (int k = 0; k < s->rank && rank < ET_MAX_RANK - 2; k++) {
        int64_t d;
        if (rank > 0 && pick(f, 3) == 0) {
            dim[rank - 1] = et_mul(f->p, dim[rank - 1], s->dim[k]);
            continue;
        }
        dim[rank++] = s->dim[k];
        bool even = et_is_int(f->p, s->dim[k], &d) && d % 2 == 0;
        if (even && pick(f, 2)) {
            dim[rank - 1] = et_int(f->p, d / 2);
            dim[rank++] = et_int(f->p, 2);
        }
        if (pick(f, 4) == 0) dim[rank++] = et_int(f->p, 1);
        if (rank > 5) return ET_NO_VALUE;
    }
    return node(f, "reshape", ARGS(x), ATTRS(attr_exprs("shape", rank, dim)));
}

static et_value add_slice(fixture *f, et_value x) {
    const et_shape *s = shape(f, x);
    et_expr start[ET_MAX_RANK], size[ET_MAX_RANK];
    int64_t drop[ET_MAX_RANK], step[ET_MAX_RANK], d;
    for (int k = 0; k < s->rank; k++) {
        step[k] = 1 + pick(f, 3);
        start[k] = et_int(f->p, 0);
        size[k] = s->dim[k];
        drop[k] = pick(f, 4) == 0;
        if (drop[k]) size[k] = et_int(f->p, 1);
        if (et_is_int(f->p, s->dim[k], &d) && pick(f, 2)) {
            int64_t from = pick(f, (int)d);
            start[k] = et_int(f->p, from);
            int most = (int)((d - 1 - from) / step[k]) + 1;
            if (!drop[k]) size[k] = et_int(f->p, 1 + pick(f, most));
        } else if (drop[k]) {
            start[k] = et_sub(f->p, s->dim[k], size[k]); /* the last one */
        } else {
            size[k] = et_ceil_div(f->p, s->dim[k], et_int(f->p, step[k]));
        }
    }
    return node(f, "slice", ARGS(x),
                ATTRS(attr_exprs("start", s->rank, start), attr_exprs("size", s->rank, size),
                      attr_ints("drop", s->rank, drop), attr_ints("step", s->rank, step)));
}

static et_value add_transpose(fixture *f, et_value x) {
    int rank = shape(f, x)->rank;
    int64_t perm[ET_MAX_RANK];
    for (int k = 0; k < rank; k++) {
        int j = pick(f, k + 1);
        perm[k] = perm[j];
        perm[j] = k;
    }
    return node(f, "transpose", ARGS(x), ATTRS(attr_ints("perm", rank, perm)));
}

static et_value add_concat(fixture *f, et_value x) {
    const et_shape *s = shape(f, x);
    if (s->rank < 1) return ET_NO_VALUE;
    int axis = pick(f, s->rank), n = 1 + pick(f, 3);
    et_value args[4];
    for (int i = 0; i < n; i++) {
        et_shape part = *s;
        part.dim[axis] = random_shape(f, ET_F32, 1).dim[0];
        args[i] = input(f, NULL, part);
    }
    args[pick(f, n)] = x;
    return node(f, "concat", n, args, ATTRS(attr_int("axis", axis)));
}

static et_value add_attention(fixture *f, et_value x) {
    const et_shape *s = shape(f, x);
    int64_t heads, d;
    if (s->rank != 3 || !is_float(f, x) || !et_is_int(f->p, s->dim[1], &heads) ||
        !et_is_int(f->p, s->dim[2], &d))
        return ET_NO_VALUE;
    int64_t kv = heads % 2 ? 1 : heads / 2;
    et_value k = INPUT(f, NULL, ET_BF16, 3, kv, 5, d), v = INPUT(f, NULL, ET_BF16, 3, kv, 5, d);
    et_shape of_token = {.dtype = ET_I32, .rank = 1, .dim = {s->dim[0]}};
    et_value slots = input(f, NULL, of_token), positions = input(f, NULL, of_token);
    return attention(f, x, k, v, slots, positions, 0.5);
}

static et_value add_take(fixture *f, et_value x) {
    if (shape(f, x)->rank < 1) return ET_NO_VALUE;
    et_shape i = *shape(f, x);
    i.dtype = ET_I32;
    i.dim[i.rank - 1] = random_shape(f, ET_F32, 1).dim[0];
    return node(f, "take", ARGS(x, input(f, NULL, i)), NO_ATTRS);
}

/* Which of two is larger is only as stable as exact numbers. */
static et_value add_rank(fixture *f, et_value x) {
    if (shape(f, x)->rank < 1 || et_val_of(f->g, x)->kind == ET_V_NODE) return ET_NO_VALUE;
    return node(f, "rank", ARGS(x), NO_ATTRS);
}

static et_value add_segment(fixture *f, et_value x) {
    if (shape(f, x)->rank < 1) return ET_NO_VALUE;
    et_value first = INPUT(f, NULL, ET_I32, 2 + pick(f, 4));
    int kind = pick(f, 4);
    bool mean = kind == 3 && is_float(f, x);
    return node(f, "segment", ARGS(x, first),
                ATTRS(attr_int("kind", kind == 3 ? ET_RED_SUM : kind), attr_int("axis", 0),
                      attr_int("mean", mean)));
}

static et_value add_prefix(fixture *f, et_value x) {
    const et_shape *s = shape(f, x);
    if (s->rank < 1) return ET_NO_VALUE;
    return node(f, "prefix", ARGS(x), ATTRS(attr_int("axis", pick(f, s->rank))));
}

/* Rows of X sorted by the group that a tensor names for each, in blocks. */
static et_value add_group(fixture *f, et_value x) {
    if (shape(f, x)->rank < 1 || shape(f, x)->rank > 3) return ET_NO_VALUE;
    et_expr rows = shape(f, x)->dim[0], stretch = et_int(f->p, 1 + pick(f, 5));
    int groups = 1 + pick(f, 4), block = 1 + pick(f, 4), pad = 1 + pick(f, 3);
    et_value index = input(f, NULL, (et_shape){.dtype = ET_I32, .rank = 1, .dim = {rows}});
    et_value step = node(f, "iota", 0, NULL, ATTRS(attr_exprs("shape", 1, &rows)));
    et_expr some = et_op2(f->p, ET_X_IDIV, et_arg(f->p, 1, ET_T_I32), stretch);
    et_expr all = et_int(f->p, groups + 1); /* one too many: in no group */
    some = et_add(f->p, et_op2(f->p, ET_X_MOD, et_arg(f->p, 0, ET_T_I32), all), some);
    some = et_op2(f->p, ET_X_MOD, some, all);
    index = node(f, "map", ARGS(index, step),
                 ATTRS(attr_expr("body", some), attr_int("dtype", ET_I32)));
    et_expr blocks = et_add(f->p, rows, et_int(f->p, groups));
    bool twice = pick(f, 2);
    et_value count = node(f, twice ? "group_tally" : "group_count", ARGS(index),
                          ATTRS(attr_int("groups", groups), attr_int("block", block)));
    if (twice) count = node(f, "prefix", ARGS(count), ATTRS(attr_int("axis", 0)));
    et_value first = pad == 1
                         ? node(f, "group_first", ARGS(count, index), ATTRS(attr_int("pad", 1)))
                         : node(f, "group_first", ARGS(count), ATTRS(attr_int("pad", pad)));
    et_value place =
        node(f, "group_place", ARGS(index, count, first), ATTRS(attr_int("block", block)));
    et_value at = node(
        f, "group_rows", ARGS(place, count, first),
        ATTRS(attr_int("block", block), attr_int("pad", pad), attr_exprs("blocks", 1, &blocks)));
    et_attr by[] = {attr_int("pad", pad), attr_exprs("blocks", 1, &blocks)};
    et_value owner = pad == 1 ? node(f, "group_owner", ARGS(first, place, index), 2, by)
                              : node(f, "group_owner", ARGS(first), 2, by);
    return node(f, "gather", ARGS(node(f, "gather", ARGS(x, owner), NO_ATTRS), at), NO_ATTRS);
}

static et_value (*const add[])(fixture *, et_value) = {
    add_map,  add_contract, add_gather,  add_reduce,    add_norm,   add_softmax,
    add_rope, add_reshape,  add_slice,   add_transpose, add_concat, add_attention,
    add_take, add_rank,     add_segment, add_group,     add_prefix,
};

/* X through nodes that keep its shape: what a loop may carry. */
static et_value loop_body(fixture *f, et_value x, int loop) {
    et_shape s = *shape(f, x), w = s;
    int64_t drop[ET_MAX_RANK] = {1};
    et_expr start[ET_MAX_RANK], size[ET_MAX_RANK];
    et_value y = x;
    const et_loop *l = &f->g->loops[loop];
    w.rank = s.rank + 1;
    start[0] = et_var(f->p, f->g->loops[loop].var);
    size[0] = et_int(f->p, 1);
    w.dim[0] = pick(f, 2) ? l->trips : et_int(f->p, l->hi - l->lo);
    for (int k = 0; k < s.rank; k++) {
        w.dim[k + 1] = size[k + 1] = s.dim[k];
        start[k + 1] = et_int(f->p, 0);
    }
    et_value weight =
        node(f, "slice", ARGS(input(f, NULL, w)),
             ATTRS(attr_exprs("start", w.rank, start), attr_exprs("size", w.rank, size),
                   attr_ints("drop", w.rank, drop)));
    if (s.rank > 0) y = node(f, "softmax", ARGS(y), ATTRS(attr_int("axis", -1)));
    return map2(f, ET_X_ADD, y, weight);
}

/* Runs so often, or as often as a symbol says. */
static int some_loop(fixture *f, const char *name, int outer, int64_t lo, int64_t trips) {
    int64_t least;
    et_expr n = et_int(f->p, trips);
    if (pick(f, 3) == 0) {
        n = et_sym(f->p, pick(f, 2));
        if (pick(f, 3) == 0) n = et_ceil_div(f->p, n, et_int(f->p, 2));
        et_bounds(f->p, n, &least, &trips);
        trips += pick(f, 2);
    }
    return et_graph_loop_until(f->g, f->block, name, outer, lo, lo + trips, n, (et_loc){0});
}

static et_value add_loop(fixture *f, et_value x) {
    if (shape(f, x)->dtype != ET_F32 || shape(f, x)->rank == ET_MAX_RANK) return ET_NO_VALUE;
    et_value result, inner;
    int outer = some_loop(f, "l", -1, 2, 1 + pick(f, 3));
    et_value in = et_graph_carry(f->g, outer, x);
    f->block = et_graph_loop_body(f->g, outer);
    inner = loop_body(f, in, outer);
    if (pick(f, 2)) {
        int loop = some_loop(f, "m", outer, 0, 2);
        et_value carried = et_graph_carry(f->g, loop, inner);
        f->block = et_graph_loop_body(f->g, loop);
        et_value left = map2(f, ET_X_SUB, loop_body(f, carried, loop), in);
        ck_assert(et_graph_carry_close(f->g, loop, carried, left, (et_loc){0}, &inner));
    }
    ck_assert(et_graph_carry_close(f->g, outer, in, inner, (et_loc){0}, &result));
    f->block = &f->g->body;
    return result;
}

void random_graph(fixture *f, int nodes) {
    et_sym_add(f->p, "N", 1, 9);
    et_sym_add(f->p, "M", 2, 5);
    f->syms[0] = 1 + pick(f, 9);
    f->syms[1] = 2 + pick(f, 4);
    et_value x =
        input(f, "x", random_shape(f, pick(f, 6) ? random_float(f) : ET_I32, 1 + pick(f, 4)));
    for (int i = 0; i < nodes; i++) {
        int which = pick(f, (int)(sizeof add / sizeof *add) + 1);
        et_value y = which ? add[which - 1](f, x) : add_loop(f, x);
        ck_assert_msg(et_diag_errors(f->diags) == 0, "%s", messages(f));
        if (y.id) x = y;
        if (shape(f, x)->rank > 5) /* keep what is enumerated small */
            return;
    }
    if (is_float(f, x)) node(f, "exchange", ARGS(x), NO_ATTRS); /* of one device: what it has */
}
