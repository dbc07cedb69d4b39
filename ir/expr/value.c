/* Values and bounds of expressions. */
#include "ir/base/diag.h"
#include "ir/expr/int_ops.h"
#include "ir/expr/philox.h"
#include "ir/expr/pool.h"
#include <stdlib.h>

/* ---- bounds ---- */

static et_range range_of(const et_node_x *x) {
    return (et_range){x->lo, x->hi};
}

static void note(et_node_x *x, et_known known, et_range r) {
    if (known == ET_UNSURE) r = ET_ALL_INTS;
    x->known = known;
    x->lo = r.lo;
    x->hi = r.hi;
}

static const et_range i32 = {INT32_MIN, INT32_MAX};

/* An operator of integers. One operand that the launch bounds may bound the result: a clamped load
 * is as good as an index. */
static void note_operator(const et_exprs *p, et_node_x *x) {
    const et_node_x *a = et_x_in(p, x->ops[0]), *b = x->nops > 1 ? et_x_in(p, x->ops[1]) : a;
    et_range r, ra = range_of(a), rb = range_of(b);
    et_known least = a->known < b->known ? a->known : b->known;
    if (least == ET_UNSURE) {
        note(x, ET_UNSURE, ET_ALL_INTS);
    } else if (least == ET_FROM_LAUNCH) {
        bool sure = et_range_apply(x->op, ra, rb, &r);
        note(x, sure ? ET_FROM_LAUNCH : ET_UNSURE, sure ? r : ET_ALL_INTS);
    } else {
        bool clamps = a->known != b->known && (x->op == ET_X_MIN || x->op == ET_X_MAX);
        bool cycles = x->op == ET_X_MOD && b->known == ET_FROM_LAUNCH && b->lo >= 1;
        note(x, clamps || cycles ? ET_FROM_LAUNCH : ET_FROM_DATA, et_range_total(x->op, ra, rb));
    }
}

void et_note_range(const et_exprs *p, et_node_x *x) {
    const et_node_x *a, *b;
    et_range r;
    switch (x->op) {
    case ET_X_INT:
        note(x, x->n == ET_UNKNOWN ? ET_UNSURE : ET_FROM_LAUNCH, (et_range){x->n, x->n});
        return;
    case ET_X_SYM:
        et_sym_range(p, x->i, &r.lo, &r.hi);
        note(x, ET_FROM_LAUNCH, r);
        return;
    case ET_X_VAR:
        a = et_x_in(p, et_var_extent(p, x->i));
        note(x, a->known, (et_range){0, a->hi == INT64_MIN ? a->hi : a->hi - 1});
        return;
    case ET_X_SELECT:
        a = et_x_in(p, x->ops[1]);
        b = et_x_in(p, x->ops[2]);
        if (x->type == ET_T_I32)
            note(x, a->known < b->known ? a->known : b->known,
                 et_range_join(range_of(a), range_of(b)));
        else
            note(x, ET_FROM_DATA, i32);
        return;
    case ET_X_LOAD:
    case ET_X_CONTRACT:
    case ET_X_REDUCE:
    case ET_X_PHILOX: /* as if a tensor held it: nothing is known of it, and no size is made of it
                       */
        note(x, ET_FROM_DATA, i32);
        return;
    default:
        break;
    }
    bool whole = x->type == ET_T_I32 && x->nops >= 1 && et_x_in(p, x->ops[0])->type == ET_T_I32;
    if (whole)
        note_operator(p, x);
    else
        note(x, ET_FROM_DATA, i32);
}

bool et_bounds(const et_exprs *p, et_expr e, int64_t *out_lo, int64_t *out_hi) {
    const et_node_x *x = et_x_in(p, e);
    if (x->known != ET_FROM_LAUNCH) return false;
    *out_lo = x->lo;
    *out_hi = x->hi;
    return true;
}

void et_span(const et_exprs *p, et_expr e, int64_t *out_lo, int64_t *out_hi) {
    const et_node_x *x = et_x_in(p, e);
    *out_lo = x->lo;
    *out_hi = x->hi;
}

bool et_may_wrap(const et_exprs *p, et_expr e) {
    const et_node_x *x = et_x_in(p, e);
    return x->lo == INT64_MIN && x->hi == INT64_MAX;
}

/* ---- values ---- */

/* Most expressions are small, and walked as the trees they look like. One that shares parts may
 * have more paths than nodes by any factor: past PATIENCE steps the values of nodes are remembered.
 */
enum { PATIENCE = 1000 };

struct known {
    bool yes;
    int64_t value;
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

static int64_t eval(struct walk *w, et_expr e);

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
    if (x->op == ET_X_PHILOX) {
        int64_t i = eval(w, x->ops[1]), j = eval(w, x->ops[2]);
        bool none = a == ET_UNKNOWN || i == ET_UNKNOWN || j == ET_UNKNOWN;
        return none ? ET_UNKNOWN : et_philox_value(a, i, j);
    }
    return et_int_value(x->op, a, x->nops > 1 ? eval(w, x->ops[1]) : 0);
}

static int64_t eval(struct walk *w, et_expr e) {
    struct known *k = recall(w, e);
    if (!k) return eval_of(w, e);
    if (!k->yes) {
        k->value = eval_of(w, e);
        k->yes = true;
    }
    return k->value;
}

int64_t et_eval(const et_exprs *p, et_expr e, const int64_t *syms, const int64_t *vars) {
    struct walk w = {.p = p, .syms = syms, .vars = vars};
    int64_t v = eval(&w, e);
    free(w.known);
    return v;
}
