/* Elementwise expressions: built lazily, so that a whole tree of them becomes one map node. */
#include "frontend/sema/sema.h"
#include <limits.h>
#include <math.h>
#include <string.h>

enum { MAX_BODY = 300 }; /* larger trees are cut: passes walk bodies as trees */

et_elem et_elem_value(et_sema *s, et_value v) {
    const et_shape *shape = &et_val_of(s->graph, v)->shape;
    et_type type = et_dtype_type(shape->dtype);
    return (et_elem){.type = type,
                     .shape = *shape,
                     .body = et_arg(s->x, (int)v.id, type),
                     .nargs = 1,
                     .args = {v},
                     .size = 1};
}

static et_elem scalar(et_sema *s, et_expr body) {
    et_type type = et_x(s->x, body)->type;
    return (et_elem){.type = type,
                     .shape = {.dtype = type == ET_T_I32 ? ET_I32 : ET_F32},
                     .body = body,
                     .size = 1};
}

et_elem et_elem_int(et_sema *s, int64_t i) {
    return scalar(s, et_int(s->x, i));
}

et_elem et_elem_float(et_sema *s, double f) {
    return scalar(s, et_float(s->x, f));
}

et_elem et_elem_scalar(et_sema *s, et_expr e) {
    return scalar(s, e);
}

bool et_elem_is_int(et_sema *s, const et_elem *e, int64_t *out) {
    return e->nargs == 0 && e->type == ET_T_I32 && et_is_int(s->x, e->body, out);
}

bool et_elem_is_number(et_sema *s, const et_elem *e, double *out) {
    const et_node_x *x = et_x(s->x, e->body);
    if (e->nargs > 0 || e->type == ET_T_PRED || (x->op != ET_X_INT && x->op != ET_X_FLOAT))
        return false;
    *out = x->op == ET_X_INT ? (double)x->n : x->f;
    return true;
}

/* ---- single elements ---- */

struct points {
    const et_sema *s;
    bool any;
};

static void find_point(void *ctx, et_expr e) {
    struct points *p = ctx;
    const et_node_x *x = et_x(p->s->x, e);
    bool loop = false;
    for (int l = 0; x->op == ET_X_VAR && l < p->s->graph->nloops; l++)
        loop |= p->s->graph->loops[l].var == x->i;
    p->any |= x->op == ET_X_LOAD || (x->op == ET_X_VAR && !loop);
    p->any |= x->op == ET_X_ARG && et_own_arg_name(x->i);
}

bool et_elem_is_point(et_sema *s, const et_elem *e) {
    struct points p = {s, false};
    if (s->points) et_walk(s->x, e->body, find_point, &p);
    return p.any;
}

/* ---- becoming a graph value ---- */

struct renumbering {
    const et_elem *e;
};

static et_expr renumber(void *ctx, et_exprs *p, et_expr leaf) {
    const et_elem *e = ((struct renumbering *)ctx)->e;
    const et_node_x *x = et_x(p, leaf);
    if (x->op != ET_X_ARG) return ET_NO_EXPR;
    for (int i = 0; i < e->nargs; i++)
        if ((int)e->args[i].id == x->i) return et_arg(p, i, x->type);
    et_bug("an argument is missing from an elementwise expression");
}

/* What a tensor of i32 keeps of an integer needs not be said. */
static et_expr stored(et_sema *s, et_expr body, et_dtype dtype) {
    const et_node_x *x = et_x(s->x, body);
    bool low = dtype == ET_I32 && x->op == ET_X_TO_I32 && et_x(s->x, x->ops[0])->type == ET_T_I32;
    return low ? x->ops[0] : body;
}

static bool map_node(et_sema *s, et_loc loc, const et_elem *e, et_dtype dtype, et_value *out) {
    if (et_elem_is_point(s, e)) {
        et_sema_error(
            s, loc,
            "this is the element for one value of each of a call's variables, not a tensor");
        et_sema_note(s, loc, "compute tensors before the call, and index them in it");
        return false;
    }
    et_attr attrs[] = {
        {.name = "body",
         .kind = ET_A_EXPR,
         .expr = et_subst(s->x, stored(s, e->body, dtype), renumber, &(struct renumbering){e})},
        et_attr_of_int("dtype", dtype),
    };
    return et_sema_node_in(s, s->loop, &et_op_map, loc, e->nargs, e->args, 2, attrs, out);
}

static bool constant(et_sema *s, et_loc loc, const et_elem *e, et_value *out) {
    double v;
    int64_t i;
    if (!et_elem_is_number(s, e, &v)) {
        et_sema_error(s, loc, "this is a single number and not a tensor");
        et_sema_note(s, loc, "a dim or a loop variable can be used beside a tensor, as in x * N");
        return false;
    }
    int32_t *data = et_alloc(s->arena, sizeof *data);
    if (et_elem_is_int(s, e, &i)) {
        if (i > INT32_MAX || i < INT32_MIN)
            return et_sema_error(s, loc, "%lld does not fit i32", (long long)i);
        *data = (int32_t)i;
    } else {
        float f = (float)v;
        if (isfinite(v) && !isfinite(f)) return et_sema_error(s, loc, "%g does not fit f32", v);
        memcpy(data, &f, sizeof f);
    }
    *out = et_graph_value(s->graph, ET_V_CONST, NULL, &e->shape, et_sema_loc(s, loc));
    et_val_of(s->graph, *out)->data = data;
    return true;
}

bool et_elem_place(et_sema *s, et_loc loc, const et_elem *e, et_value *out) {
    *out = ET_NO_VALUE;
    if (e->type == ET_T_PRED) {
        et_sema_error(s, loc, "a comparison is not a tensor");
        et_sema_note(s, loc, "write where(..., 1, 0) to make numbers of it");
        return false;
    }
    if (e->nargs == 0) return constant(s, loc, e, out);
    const et_node_x *x = et_x(s->x, e->body);
    if (e->nargs == 1 && x->op == ET_X_ARG &&
        et_shape_eq(&e->shape, &et_val_of(s->graph, e->args[0])->shape)) {
        *out = e->args[0];
        return true;
    }
    return map_node(s, loc, e, e->shape.dtype, out);
}

bool et_elem_copy(et_sema *s, et_loc loc, et_value v, et_value *out) {
    et_elem e = et_elem_value(s, v);
    return map_node(s, loc, &e, e.shape.dtype, out);
}

/* ---- combining ---- */

/* A node of its own for E, which becomes that node's value. */
static bool cut(et_sema *s, et_loc loc, et_elem *e) {
    et_value v;
    if (e->nargs == 0) return true;
    if (e->type != ET_T_PRED) {
        if (!et_elem_place(s, loc, e, &v)) return false;
        *e = et_elem_value(s, v);
        return true;
    }
    et_elem number = *e;
    number.type = ET_T_I32;
    number.shape.dtype = ET_I32;
    number.body = et_op1(s->x, ET_X_TO_I32, e->body);
    if (!map_node(s, loc, &number, ET_I32, &v)) return false;
    *e = et_elem_value(s, v);
    e->type = ET_T_PRED;
    e->body = et_op2(s->x, ET_X_NE, e->body, et_int(s->x, 0));
    e->size = 3;
    return true;
}

static bool has_arg(const et_elem *e, et_value v) {
    for (int i = 0; i < e->nargs; i++)
        if (e->args[i].id == v.id) return true;
    return false;
}

static bool too_large(int n, et_elem *const e[]) {
    int size = 1, nargs = 0;
    for (int k = 0; k < n; k++) {
        size += e[k]->size;
        for (int i = 0; i < e[k]->nargs; i++) {
            bool seen = false;
            for (int j = 0; j < k; j++)
                seen |= has_arg(e[j], e[k]->args[i]);
            nargs += !seen;
        }
    }
    return size > MAX_BODY || nargs > ET_MAX_ARGS;
}

static bool broadcast(et_sema *s, et_loc loc, et_elem *out, const et_elem *e) {
    const et_shape *a = &out->shape, *b = &e->shape;
    et_shape both = {.dtype = a->dtype, .rank = a->rank > b->rank ? a->rank : b->rank};
    et_expr one = et_int(s->x, 1);
    for (int k = 1; k <= both.rank; k++) {
        et_expr x = k <= a->rank ? a->dim[a->rank - k] : one;
        et_expr y = k <= b->rank ? b->dim[b->rank - k] : one;
        et_expr *d = &both.dim[both.rank - k];
        *d = et_expr_eq(x, one) ? y : x;
        if (!et_expr_eq(x, y) && !et_expr_eq(x, one) && !et_expr_eq(y, one))
            return et_sema_error(s, loc, "%s and %s do not broadcast: dimensions %s and %s differ",
                                 et_dims_text(s->x, a->rank, a->dim),
                                 et_dims_text(s->x, b->rank, b->dim), et_sema_text(s, x),
                                 et_sema_text(s, y));
    }
    out->shape = both;
    return true;
}

/* Arguments and shape of an expression of the N operands E, which may be cut on the way. */
static bool combine(et_sema *s, et_loc loc, int n, et_elem *const e[], et_elem *out) {
    if (too_large(n, e))
        for (int k = 0; k < n; k++) {
            if (et_elem_is_point(s, e[k]))
                return et_sema_error(s, loc,
                                     "more than %d operations or %d tensors in one part of a call",
                                     MAX_BODY, ET_MAX_ARGS);
            if (!cut(s, loc, e[k])) return false;
        }
    *out = (et_elem){.shape = {.dtype = ET_F32}, .size = 1};
    for (int k = 0; k < n; k++) {
        if (!broadcast(s, loc, out, e[k])) return false;
        out->size += e[k]->size;
        for (int i = 0; i < e[k]->nargs; i++)
            if (!has_arg(out, e[k]->args[i])) out->args[out->nargs++] = e[k]->args[i];
    }
    if (out->size > 2 * MAX_BODY) /* of numbers alone, which have no node to be cut at */
        return et_sema_error(s, loc, "an expression of numbers with more than %d parts", MAX_BODY);
    return true;
}

/* Elements of integers are kept in 32 bits after every operation, so that it does not matter what
 * is named and so made a tensor. */
static bool done(et_sema *s, et_expr body, et_elem *out) {
    if (et_x(s->x, body)->type == ET_T_I32 && out->nargs > 0)
        body = et_op1(s->x, ET_X_TO_I32, body);
    out->body = body;
    out->type = et_x(s->x, body)->type;
    out->shape.dtype = out->type == ET_T_I32 ? ET_I32 : ET_F32;
    return true;
}

static bool wants_number(et_sema *s, et_loc loc, const et_elem *e) {
    if (e->type != ET_T_PRED) return true;
    et_sema_error(s, loc, "a comparison is not a number");
    et_sema_note(s, loc, "write where(a < b, 1, 0) to make a number of it");
    return false;
}

/* An integer that meets a tensor is computed with as i32. */
static bool fits(et_sema *s, et_loc loc, const et_elem *e) {
    int64_t i;
    if (!et_elem_is_int(s, e, &i) || (i >= INT32_MIN && i <= INT32_MAX)) return true;
    return et_sema_error(s, loc, "%lld does not fit i32", (long long)i);
}

bool et_elem_op1(et_sema *s, et_loc loc, et_xop op, const et_elem *a, et_elem *out) {
    et_elem e = *a;
    double v;
    int64_t i;
    bool folded = false;
    if (op == ET_X_NOT && e.type != ET_T_PRED)
        return et_sema_error(s, loc, "'not' takes a comparison, this is %s",
                             et_sema_shape_text(s, &e));
    if (op != ET_X_NOT && !wants_number(s, loc, &e)) return false;
    if (et_elem_is_int(s, &e, &i) && (op == ET_X_NEG || op == ET_X_ABS)) {
        *out = et_elem_int(s, op == ET_X_NEG || i < 0 ? -i : i);
        return true;
    }
    if (et_elem_is_number(s, &e, &v)) {
        if (!et_scalar_fold1(s, loc, op, v, &v, &folded)) return false;
        if (folded) {
            *out = et_elem_float(s, v);
            return true;
        }
    }
    if (e.nargs == 0 && e.type == ET_T_I32 && (op == ET_X_NEG || op == ET_X_ABS)) {
        et_expr minus, body;
        if (!et_scalar_int(s, loc, ET_X_SUB, et_int(s->x, 0), e.body, &minus)) return false;
        body = op == ET_X_NEG ? minus : et_op2(s->x, ET_X_MAX, e.body, minus);
        *out = et_elem_scalar(s, body);
        return true;
    }
    return combine(s, loc, 1, (et_elem *[]){&e}, out) && done(s, et_op1(s->x, op, e.body), out);
}

static bool is_integer_op(et_xop op) {
    return op == ET_X_ADD || op == ET_X_SUB || op == ET_X_MUL || op == ET_X_IDIV ||
           op == ET_X_MOD || op == ET_X_MIN || op == ET_X_MAX;
}

static bool is_logic(et_xop op) {
    return op == ET_X_AND || op == ET_X_OR;
}

/* Both are numbers without tensors; *out_done when the result is in *out. */
static bool op2_scalars(et_sema *s, et_loc loc, et_xop op, const et_elem *a, const et_elem *b,
                        et_elem *out, bool *out_done) {
    double x, y, v;
    *out_done = true;
    if (a->type == ET_T_I32 && b->type == ET_T_I32 && is_integer_op(op)) {
        et_expr body;
        if (!et_scalar_int(s, loc, op, a->body, b->body, &body)) return false;
        *out = et_elem_scalar(s, body);
        return true;
    }
    if (et_elem_is_number(s, a, &x) && et_elem_is_number(s, b, &y)) {
        if (!et_scalar_fold2(s, loc, op, x, y, &v, out_done)) return false;
        bool exact = a->type == ET_T_I32 && b->type == ET_T_I32 && op == ET_X_DIV;
        if (*out_done)
            *out = exact && v == floor(v) ? et_elem_int(s, (int64_t)v) : et_elem_float(s, v);
        return true;
    }
    *out_done = false;
    return true;
}

static bool divides(et_sema *s, et_loc loc, et_xop op, const et_elem *a, const et_elem *b) {
    double v;
    int64_t lo, hi;
    if (op != ET_X_DIV && op != ET_X_IDIV && op != ET_X_MOD) return true;
    if (et_elem_is_number(s, b, &v) && v == 0) return et_sema_error(s, loc, "division by zero");
    if (op == ET_X_DIV) return true;
    if (a->type != ET_T_I32 || b->type != ET_T_I32)
        return et_sema_error(s, loc, "whole-number division takes i32, not %s and %s",
                             et_sema_shape_text(s, a), et_sema_shape_text(s, b));
    if (b->nargs == 0 && et_bounds(s->x, b->body, &lo, &hi) && lo >= 1) return true;
    const char *where;
    if (b->nargs == 0 && et_find_zero(s->x, b->body, &where) == ET_ZERO_AT)
        return et_sema_error(s, loc, "division by zero: the divisor %s is 0 where %s",
                             et_sema_text(s, b->body), where);
    return et_sema_error(s, loc,
                         "whole-number division needs a positive divisor known to be so: a "
                         "const, a dim or an expression of these");
}

bool et_elem_op2(et_sema *s, et_loc loc, et_xop op, const et_elem *a, const et_elem *b,
                 et_elem *out) {
    et_elem x = *a, y = *b;
    if (is_logic(op)) {
        const et_elem *wrong = x.type != ET_T_PRED ? &x : y.type != ET_T_PRED ? &y : NULL;
        if (wrong)
            return et_sema_error(s, loc, "'%s' joins comparisons, this is %s", et_xop_text(op),
                                 et_sema_shape_text(s, wrong));
    } else if (!wants_number(s, loc, &x) || !wants_number(s, loc, &y)) {
        return false;
    }
    if (!divides(s, loc, op, &x, &y)) return false;
    if (x.nargs == 0 && y.nargs == 0 && !is_logic(op)) {
        bool is_done;
        if (!op2_scalars(s, loc, op, &x, &y, out, &is_done)) return false;
        if (is_done) return true;
    }
    return fits(s, loc, &x) && fits(s, loc, &y) && combine(s, loc, 2, (et_elem *[]){&x, &y}, out) &&
           done(s, et_op2(s->x, op, x.body, y.body), out);
}

bool et_elem_select(et_sema *s, et_loc loc, const et_elem *c, const et_elem *a, const et_elem *b,
                    et_elem *out) {
    et_elem x = *c, y = *a, z = *b;
    if (!wants_number(s, loc, &y) || !wants_number(s, loc, &z) || !fits(s, loc, &y) ||
        !fits(s, loc, &z) || !combine(s, loc, 3, (et_elem *[]){&x, &y, &z}, out))
        return false;
    et_expr body = et_select(s->x, x.body, y.body, z.body);
    bool whole = y.type == ET_T_I32 && z.type == ET_T_I32;
    if (!whole && et_x(s->x, body)->type == ET_T_I32) /* the other is left out: it holds always */
        body = et_op1(s->x, ET_X_TO_F32, body);
    return done(s, body, out);
}

bool et_elem_random(et_sema *s, et_loc loc, const et_elem *seed, const et_elem *i, const et_elem *j,
                    et_elem *out) {
    et_elem e[] = {*seed, *i, *j};
    for (int k = 0; k < 3; k++) {
        if (!wants_number(s, loc, &e[k])) return false;
        if (e[k].type != ET_T_I32)
            return et_sema_error(s, loc, "a seed and a counter are i32, this is %s",
                                 et_sema_shape_text(s, &e[k]));
        if (!fits(s, loc, &e[k])) return false;
    }
    return combine(s, loc, 3, (et_elem *[]){&e[0], &e[1], &e[2]}, out) &&
           done(s, et_philox_x(s->x, e[0].body, e[1].body, e[2].body), out);
}

bool et_elem_cast(et_sema *s, et_loc loc, et_dtype dtype, const et_elem *a, et_elem *out) {
    static const et_xop op[] = {ET_X_TO_F32, ET_X_TO_F16, ET_X_TO_BF16, ET_X_TO_I32, ET_X_TO_E4M3};
    et_elem e = *a;
    double v;
    if (e.type != ET_T_PRED && e.nargs > 0 && e.shape.dtype == dtype) {
        *out = e;
        return true;
    }
    if (et_elem_is_number(s, &e, &v) && (dtype == ET_F32 || dtype == ET_I32)) {
        if (dtype == ET_I32 && fabs(v) > INT32_MAX)
            return et_sema_error(s, loc, "%g does not fit i32", v);
        *out = dtype == ET_F32 ? et_elem_float(s, v) : et_elem_int(s, (int64_t)v);
        return true;
    }
    int64_t lo, hi;
    if (dtype == ET_I32 && e.nargs == 0 && et_bounds(s->x, e.body, &lo, &hi)) {
        *out = e;
        if (lo >= INT32_MIN && hi <= INT32_MAX) return true;
        return et_sema_error(s, loc, "this integer may not fit i32: it is from %lld to %lld",
                             (long long)lo, (long long)hi);
    }
    if (!combine(s, loc, 1, (et_elem *[]){&e}, out)) return false;
    done(s, et_op1(s->x, op[dtype], e.body), out);
    out->shape.dtype = dtype == ET_E4M3 ? ET_BF16 : dtype; /* which has all of its values */
    return true;
}
