/* Values and bounds of expressions. */
#include "ir/base/diag.h"
#include "ir/expr/int_ops.h"
#include "ir/expr/pool.h"
#include <stdlib.h>

/* Most expressions are small, and walked as the trees they look like. One that shares parts may
 * have more paths than nodes by any factor: past PATIENCE steps what nodes are is remembered. */
enum { PATIENCE = 1000 };

/* What is known of an expression before a launch: a range; that it depends on what a tensor or a
 * float holds, which may be any i32; or nothing. */
enum state { NOT_YET, NOTHING, HELD, RANGE };

struct known {
    enum state state;
    et_range r; /* RANGE; or its value, as lo */
};

struct walk {
    const et_exprs *p;
    const int64_t *syms, *vars;
    int steps;
    struct known *known; /* by node id */
};

/* What is remembered of E, or where to remember it; NULL while it is not worth the trouble. */
static struct known *recall(struct walk *w, et_expr e) {
    if (!w->known && ++w->steps > PATIENCE)
        w->known = calloc((size_t)w->p->nnode, sizeof *w->known);
    return w->known ? &w->known[e.id] : NULL;
}

static enum state bounds(struct walk *w, et_expr e, et_range *out);
static int64_t eval(struct walk *w, et_expr e);

static enum state bounds_of(struct walk *w, et_expr e, et_range *out) {
    const et_exprs *p = w->p;
    const et_node_x *x = et_x(p, e);
    const et_range i32 = {INT32_MIN, INT32_MAX};
    et_range a = {0, 0}, b = {0, 0};
    enum state sa, sb = RANGE;
    switch (x->op) {
    case ET_X_INT:
        *out = (et_range){x->n, x->n};
        return x->n == ET_UNKNOWN ? NOTHING : RANGE;
    case ET_X_SYM:
        et_sym_range(p, x->i, &out->lo, &out->hi);
        return RANGE;
    case ET_X_VAR:
        sa = bounds(w, et_var_extent(p, x->i), &a);
        *out = (et_range){0, a.hi - 1};
        return sa;
    case ET_X_SELECT:
        sa = bounds(w, x->ops[1], &a);
        sb = bounds(w, x->ops[2], &b);
        *out = et_range_join(a, b);
        return x->type != ET_T_I32 ? HELD : sa < sb ? sa : sb;
    case ET_X_LOAD:
    case ET_X_CONTRACT:
    case ET_X_REDUCE:
        return HELD;
    default:
        break;
    }
    if (x->type != ET_T_I32 || x->nops < 1 || x->op == ET_X_TO_I32) return HELD;
    sa = bounds(w, x->ops[0], &a);
    if (x->nops > 1) sb = bounds(w, x->ops[1], &b);
    if (sa == RANGE && sb == RANGE) return et_range_apply(x->op, a, b, out) ? RANGE : NOTHING;
    if (sa == NOTHING || sb == NOTHING) return NOTHING;
    /* One known side may bound the result: a clamped load stays bounded. */
    bool clamps = sa != sb && (x->op == ET_X_MIN || x->op == ET_X_MAX);
    if (clamps && et_range_apply(x->op, sa == RANGE ? a : i32, sb == RANGE ? b : i32, out))
        return RANGE;
    if (x->op == ET_X_MOD && sb == RANGE && b.lo >= 1 && et_range_apply(x->op, i32, b, out))
        return RANGE;
    return HELD;
}

static int64_t eval_of(struct walk *w, et_expr e) {
    const et_node_x *x = et_x(w->p, e);
    if (x->op == ET_X_INT) return x->n;
    if (x->op == ET_X_SYM) return w->syms[x->i];
    if (x->op == ET_X_VAR) {
        et_check(w->vars);
        return w->vars[x->i];
    }
    if (x->nops < 1 || x->op == ET_X_LOAD) et_bug("cannot evaluate %s", et_xop_text(x->op));
    int64_t a = eval(w, x->ops[0]);
    if (x->op == ET_X_SELECT) return a == ET_UNKNOWN ? a : eval(w, x->ops[a ? 1 : 2]);
    return et_int_value(x->op, a, x->nops > 1 ? eval(w, x->ops[1]) : 0);
}

static enum state bounds(struct walk *w, et_expr e, et_range *out) {
    struct known *k = recall(w, e);
    if (!k) return bounds_of(w, e, out);
    if (k->state == NOT_YET) k->state = bounds_of(w, e, &k->r);
    *out = k->r;
    return k->state;
}

bool et_bounds(const et_exprs *p, et_expr e, int64_t *out_lo, int64_t *out_hi) {
    struct walk w = {.p = p};
    et_range r = {0, 0};
    bool ok = bounds(&w, e, &r) == RANGE;
    free(w.known);
    if (ok) *out_lo = r.lo, *out_hi = r.hi;
    return ok;
}

static int64_t eval(struct walk *w, et_expr e) {
    struct known *k = recall(w, e);
    if (!k) return eval_of(w, e);
    if (k->state == NOT_YET) {
        k->r.lo = eval_of(w, e);
        k->state = RANGE;
    }
    return k->r.lo;
}

int64_t et_eval(const et_exprs *p, et_expr e, const int64_t *syms, const int64_t *vars) {
    struct walk w = {.p = p, .syms = syms, .vars = vars};
    int64_t v = eval(&w, e);
    free(w.known);
    return v;
}
