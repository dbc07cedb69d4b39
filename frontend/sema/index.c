/* x[i, a:b, :] as a value, and as the target of a state update. */
#include "frontend/sema/sema.h"

typedef enum { WHOLE, RANGE, SCALAR, TENSOR, POINT } item_kind;
typedef struct {
    item_kind kind;
    et_expr start, size; /* start: also the scalar index */
    int64_t step;        /* of a RANGE */
    et_value tensor;
    et_elem point; /* what the index is made of */
} item;

static const char *text(et_sema *s, et_expr e) {
    return et_sema_text(s, e);
}

static bool at_least(et_sema *s, et_expr a, et_expr b, int64_t least) {
    int64_t lo, hi;
    if (et_bounds(s->x, et_sub(s->x, a, b), &lo, &hi) && lo >= least) return true;
    /* A loop's variable is below what ends the loop, which bounds do not tell. */
    return et_prove_le(s->x, et_add(s->x, b, et_int(s->x, least)), a);
}

static bool outside(et_sema *s, et_loc loc, et_expr i, et_expr dim, int axis) {
    int64_t lo, hi;
    if (et_bounds(s->x, i, &lo, &hi) && lo < hi)
        return et_sema_error(s, loc,
                             "%s, which runs from %lld to %lld, may leave dimension %d of size %s",
                             text(s, i), (long long)lo, (long long)hi, axis, text(s, dim));
    return et_sema_error(s, loc, "%s is outside dimension %d of size %s", text(s, i), axis,
                         text(s, dim));
}

/* A negative constant counts from the end. */
static bool from_end(et_sema *s, et_loc loc, et_expr dim, int axis, et_expr *i) {
    int64_t v;
    if (!et_is_int(s->x, *i, &v) || v >= 0) return true;
    et_expr sum = et_add(s->x, dim, *i);
    if (!at_least(s, sum, et_int(s->x, 0), 0)) return outside(s, loc, *i, dim, axis);
    *i = sum;
    return true;
}

static bool position(et_sema *s, const et_ast *e, et_expr dim, int axis, et_expr *out) {
    return et_sema_size(s, e, out) && from_end(s, e->loc, dim, axis, out);
}

static bool range_item(et_sema *s, const et_ast *e, et_expr dim, int axis, item *out) {
    et_expr lo = et_int(s->x, 0), hi = dim;
    bool ok = !e->kid[0] || position(s, e->kid[0], dim, axis, &lo);
    ok &= !e->kid[1] || position(s, e->kid[1], dim, axis, &hi);
    if (!ok) return false;
    et_expr zero = et_int(s->x, 0);
    if (!at_least(s, lo, zero, 0)) return outside(s, e->kid[0]->loc, lo, dim, axis);
    if (!at_least(s, dim, hi, 0)) return outside(s, e->kid[1]->loc, hi, dim, axis);
    if (!at_least(s, hi, lo, 1))
        return et_sema_error(s, e->loc, "%s:%s may be empty", text(s, lo), text(s, hi));
    int64_t step = 1;
    if (e->kid[2] && !et_sema_int(s, e->kid[2], &step)) return false;
    if (step < 1 || step > INT32_MAX)
        return et_sema_error(s, e->kid[2]->loc, "a step is from 1 to %d, this is %lld", INT32_MAX,
                             (long long)step);
    bool whole = et_expr_eq(lo, zero) && et_expr_eq(hi, dim) && step == 1;
    et_expr size = et_ceil_div(s->x, et_sub(s->x, hi, lo), et_int(s->x, step));
    *out = (item){.kind = whole ? WHOLE : RANGE, .start = lo, .size = size, .step = step};
    return true;
}

struct tensors {
    const et_exprs *x;
    bool any;
};

static void find_tensor(void *ctx, et_expr e) {
    struct tensors *t = ctx;
    et_xop op = et_x(t->x, e)->op;
    t->any |= op == ET_X_ARG || op == ET_X_LOAD;
}

/* A number by itself, as `mod(t[i], 1)` is, whatever tensors it is written with. */
static bool reads_nothing(const et_sema *s, const et_elem *v) {
    struct tensors t = {s->x, false};
    et_walk(s->x, v->body, find_tensor, &t);
    return !t.any;
}

static bool point_item(et_sema *s, const et_ast *e, et_expr dim, int axis, item *out) {
    et_elem v;
    if (!et_sema_eval(s, e, ET_IN_SIZE, &v)) return false;
    if (s->points && v.nargs && reads_nothing(s, &v)) v.nargs = 0;
    if (!v.nargs && !et_elem_is_point(s, &v) && !et_sema_settled(s, e->loc, v.body)) return false;
    if (v.type != ET_T_I32)
        return et_sema_error(s, e->loc, "an index must be i32, this is %s",
                             et_sema_shape_text(s, &v));
    *out = (item){.kind = v.nargs ? TENSOR : SCALAR, .size = et_int(s->x, 1), .point = v};
    /* A tensor without dimensions is one number wherever it is read. */
    bool one = s->points && v.nargs && !v.shape.rank;
    if (one || et_elem_is_point(s, &v)) out->kind = POINT;
    if (out->kind == POINT) { /* what tensors hold is clamped into range */
        out->start = v.body;
        if (!v.nargs && at_least(s, v.body, et_int(s->x, 0), 0) && at_least(s, dim, v.body, 1))
            return true;
        out->start = et_op2(s->x, ET_X_MAX, v.body, et_int(s->x, 0));
        out->start = et_op2(s->x, ET_X_MIN, out->start, et_sub(s->x, dim, et_int(s->x, 1)));
        return v.nargs || et_expr_eq(out->start, v.body) || outside(s, e->loc, v.body, dim, axis);
    }
    if (v.nargs) return et_elem_place(s, e->loc, &v, &out->tensor);
    out->start = v.body;
    if (!from_end(s, e->loc, dim, axis, &out->start)) return false;
    if (!at_least(s, out->start, et_int(s->x, 0), 0) || !at_least(s, dim, out->start, 1))
        return outside(s, e->loc, out->start, dim, axis);
    return true;
}

/* One item per dimension of SHAPE; dimensions not written are whole. */
static bool items(et_sema *s, const et_ast *e, const et_shape *shape, item out[ET_MAX_RANK]) {
    if (e->n - 1 > shape->rank)
        return et_sema_error(s, e->kid[shape->rank + 1]->loc, "%d indices for %s", e->n - 1,
                             et_shape_text(s->x, shape));
    bool ok = true;
    for (int i = 0; i < shape->rank; i++) {
        et_ast whole = {.kind = ET_E_SLICE, .kid = (et_ast *[]){NULL, NULL, NULL}, .n = 3};
        const et_ast *kid = i + 1 < e->n ? e->kid[i + 1] : &whole;
        ok &=
            (kid->kind == ET_E_SLICE ? range_item : point_item)(s, kid, shape->dim[i], i, &out[i]);
    }
    return ok;
}

/* x[i, h, d] over variables: one element. */
static bool element(et_sema *s, const et_ast *e, et_value v, const item *it, et_elem *out) {
    const et_shape *shape = &et_val_of(s->graph, v)->shape;
    et_expr index[ET_MAX_RANK];
    *out = et_elem_value(s, v);
    for (int i = 0; i < shape->rank; i++) {
        if (it[i].kind != SCALAR && it[i].kind != POINT) {
            et_loc loc = i + 1 < e->n ? e->kid[i + 1]->loc : e->loc;
            et_sema_error(s, loc, "dimension %d of %s needs an index that is one number", i,
                          et_shape_text(s->x, shape));
            return false;
        }
        index[i] = it[i].start;
        s->place[i] = it[i].start;
        s->unclamped[i] = it[i].kind == POINT ? it[i].point.body : it[i].start;
        out->size += it[i].point.size;
        for (int a = 0; a < it[i].point.nargs; a++) {
            int k = 0;
            while (k < out->nargs && out->args[k].id != it[i].point.args[a].id)
                k++;
            if (k == ET_MAX_ARGS)
                return et_sema_error(s, e->loc, "more than %d tensors in one index", ET_MAX_ARGS);
            if (k == out->nargs) out->args[out->nargs++] = it[i].point.args[a];
        }
    }
    s->indexed = v;
    out->shape = (et_shape){.dtype = shape->dtype};
    out->body = et_load(s->x, ET_LOAD_ARG, (int)v.id, out->type, shape->rank, index);
    return true;
}

bool et_sema_index(et_sema *s, const et_ast *e, et_elem *out) {
    et_elem base;
    et_value v;
    if (!et_sema_eval(s, e->kid[0], ET_IN_VALUE, &base)) return false;
    if (base.nargs == 0) return et_sema_error(s, e->loc, "a number cannot be indexed");
    if (!et_elem_place(s, e->loc, &base, &v)) return false;
    et_shape shape = et_val_of(s->graph, v)->shape;
    item it[ET_MAX_RANK];
    if (!items(s, e, &shape, it)) return false;
    bool point = false, numbers = s->points > 0; /* as a variable is that takes one value only */
    for (int i = 0; i < shape.rank; i++) {
        point |= it[i].kind == POINT;
        numbers &= it[i].kind == SCALAR;
    }
    if (point || numbers) return element(s, e, v, it, out);
    et_expr start[ET_MAX_RANK], size[ET_MAX_RANK];
    int64_t drop[ET_MAX_RANK], step[ET_MAX_RANK];
    bool all = true, steps = false;
    for (int i = 0; i < shape.rank; i++) {
        if (it[i].kind == TENSOR) {
            et_sema_error(s, e->kid[i + 1]->loc, "a tensor cannot be an index here");
            et_sema_note(s, e->kid[i + 1]->loc,
                         "gather(table, indices) picks rows of a table by a tensor");
            return false;
        }
        start[i] = it[i].start;
        size[i] = it[i].size;
        drop[i] = it[i].kind == SCALAR;
        step[i] = it[i].kind == RANGE ? it[i].step : 1;
        steps |= step[i] != 1;
        all &= it[i].kind == WHOLE;
    }
    *out = et_elem_value(s, v);
    et_attr attrs[] = {
        et_attr_of_exprs("start", shape.rank, start),
        et_attr_of_exprs("size", shape.rank, size),
        et_attr_of_ints("drop", shape.rank, drop),
        et_attr_of_ints("step", shape.rank, step),
    };
    return all || et_sema_node(s, &et_op_slice, e->loc, 1, &v, steps ? 4 : 3, attrs, out);
}

/* The value's shape: the index tensors' common dimension, if any, then every range in order. */
static bool expected_shape(et_sema *s, const et_ast *e, const et_shape *state, const item *it,
                           et_shape *out) {
    *out = (et_shape){.dtype = state->dtype};
    for (int i = 0; i < state->rank; i++) {
        et_loc loc = i + 1 < e->n ? e->kid[i + 1]->loc : e->loc;
        if (it[i].kind != TENSOR) continue;
        et_shape index = et_val_of(s->graph, it[i].tensor)->shape;
        if (index.rank != 1)
            return et_sema_error(s, loc, "an index tensor has one dimension, this is %s",
                                 et_shape_text(s->x, &index));
        if (out->rank && !et_expr_eq(out->dim[0], index.dim[0]))
            return et_sema_error(s, loc, "index tensors of %s and %s elements",
                                 text(s, out->dim[0]), text(s, index.dim[0]));
        out->rank = 1;
        out->dim[0] = index.dim[0];
    }
    for (int i = 0; i < state->rank; i++)
        if (it[i].kind == WHOLE || it[i].kind == RANGE) out->dim[out->rank++] = it[i].size;
    return true;
}

static bool check_value(et_sema *s, const et_stm *stm, et_value value, const et_shape *want) {
    et_shape have = et_val_of(s->graph, value)->shape;
    if (et_dtype_is_float(have.dtype) != et_dtype_is_float(want->dtype))
        return et_sema_error(s, stm->expr->loc, "a state of %s is not written with %s",
                             et_dtype_name(want->dtype), et_dtype_name(have.dtype));
    have.dtype = want->dtype;
    if (et_shape_eq(&have, want)) return true;
    return et_sema_error(s, stm->expr->loc, "%s[...] takes a value of shape %s, this is %s",
                         stm->names[0].text, et_dims_text(s->x, want->rank, want->dim),
                         et_dims_text(s->x, have.rank, have.dim));
}

static void update_node(et_sema *s, const et_stm *stm, et_value state, et_value value,
                        const item *it, int rank) {
    et_value args[ET_MAX_ARGS] = {state, value};
    int nargs = 2;
    int64_t index[ET_MAX_RANK], step[ET_MAX_RANK];
    et_expr at[ET_MAX_RANK], size[ET_MAX_RANK];
    bool ranges = false, steps = false;
    for (int i = 0; i < rank; i++) {
        bool range = it[i].kind == RANGE;
        index[i] = it[i].kind == WHOLE ? -1 : it[i].kind == SCALAR ? -2 : range ? -3 : nargs - 2;
        at[i] = it[i].kind == SCALAR || range ? it[i].start : et_int(s->x, 0);
        size[i] = range ? it[i].size : ET_NO_EXPR;
        step[i] = range ? it[i].step : 1;
        ranges |= range;
        steps |= step[i] != 1;
        if (it[i].kind == TENSOR) args[nargs++] = it[i].tensor;
    }
    et_attr attrs[] = {
        et_attr_of_ints("index", rank, index),
        et_attr_of_exprs("scalar", rank, at),
        et_attr_of_exprs("size", rank, size),
        et_attr_of_ints("step", rank, step),
    };
    et_elem none;
    s->has_effect |= et_sema_node(s, &et_op_update, stm->target->loc, nargs, args,
                                  steps    ? 4
                                  : ranges ? 3
                                           : 2,
                                  attrs, &none);
}

void et_sema_update(et_sema *s, const et_stm *stm) {
    et_elem v = {0};
    bool ok = stm->expr && et_sema_eval(s, stm->expr, ET_IN_VALUE, &v);
    const et_ident *id = &stm->names[0];
    const et_binding *b = et_name_find(s, id->text);
    if (!b) {
        et_name_unknown(s, id->text, id->loc);
        return;
    }
    if (b->poison) return;
    if (b->kind != ET_N_STATE) {
        et_sema_error(s, id->loc, "'%s' is %s: only a state can be assigned in part", id->text,
                      et_name_kind_text(b->kind));
        return;
    }
    et_value state = b->elem.args[0], value;
    et_shape shape = b->elem.shape, want;
    item it[ET_MAX_RANK];
    s->has_effect = true;
    if (!items(s, stm->target, &shape, it) || !ok) return;
    if (!expected_shape(s, stm->target, &shape, it, &want)) return;
    if (!et_elem_place(s, stm->expr->loc, &v, &value)) return;
    if (check_value(s, stm, value, &want)) update_node(s, stm, state, value, it, shape.rank);
}
