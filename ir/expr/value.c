/* Values and bounds of expressions. */
#include "ir/base/diag.h"
#include "ir/expr/pool.h"
#include <stdlib.h>

/* Most expressions are small, and walked as the trees they look like. One that shares parts may
 * have more paths than nodes by any factor: past PATIENCE steps what nodes are is remembered. */
enum { PATIENCE = 1000 };

struct known {
    enum { NOT_YET, NOTHING, SOMETHING } state;
    int64_t lo, hi;
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

/* Arithmetic that wraps: the front end keeps what programs compute far below, but a value that
 * nothing will look at may still be asked for. */
static int64_t wrap(et_xop op, int64_t a, int64_t b) {
    uint64_t u = (uint64_t)a, v = (uint64_t)b;
    return (int64_t)(op == ET_X_ADD ? u + v : op == ET_X_SUB ? u - v : u * v);
}

static bool bounds(struct walk *w, et_expr e, int64_t *out_lo, int64_t *out_hi);
static int64_t eval(struct walk *w, et_expr e);

static bool corners(int64_t alo, int64_t ahi, int64_t blo, int64_t bhi, int64_t *lo, int64_t *hi) {
    int64_t v[4];
    if (__builtin_mul_overflow(alo, blo, &v[0]) || __builtin_mul_overflow(alo, bhi, &v[1]) ||
        __builtin_mul_overflow(ahi, blo, &v[2]) || __builtin_mul_overflow(ahi, bhi, &v[3]))
        return false;
    *lo = *hi = v[0];
    for (int i = 1; i < 4; i++) {
        *lo = v[i] < *lo ? v[i] : *lo;
        *hi = v[i] > *hi ? v[i] : *hi;
    }
    return true;
}

static bool bounds2(et_xop op, int64_t alo, int64_t ahi, int64_t blo, int64_t bhi, int64_t *lo,
                    int64_t *hi) {
    switch (op) {
    case ET_X_ADD:
        return !__builtin_add_overflow(alo, blo, lo) && !__builtin_add_overflow(ahi, bhi, hi);
    case ET_X_SUB:
        return !__builtin_sub_overflow(alo, bhi, lo) && !__builtin_sub_overflow(ahi, blo, hi);
    case ET_X_MUL:
        return corners(alo, ahi, blo, bhi, lo, hi);
    case ET_X_IDIV:
        if (blo < 1) return false;
        *lo = et_floor_div(alo, alo < 0 ? blo : bhi);
        *hi = et_floor_div(ahi, ahi < 0 ? bhi : blo);
        return true;
    case ET_X_MOD:
        if (blo < 1) return false;
        *lo = 0;
        *hi = alo >= 0 && ahi < bhi - 1 ? ahi : bhi - 1;
        return true;
    case ET_X_MIN:
        *lo = alo < blo ? alo : blo;
        *hi = ahi < bhi ? ahi : bhi;
        return true;
    case ET_X_MAX:
        *lo = alo > blo ? alo : blo;
        *hi = ahi > bhi ? ahi : bhi;
        return true;
    default:
        return false;
    }
}

static bool bounds_of(struct walk *w, et_expr e, int64_t *out_lo, int64_t *out_hi) {
    const et_exprs *p = w->p;
    const et_node_x *x = et_x(p, e);
    int64_t alo, ahi, blo, bhi;
    switch (x->op) {
    case ET_X_INT:
        *out_lo = *out_hi = x->n;
        return true;
    case ET_X_SYM:
        et_sym_range(p, x->i, out_lo, out_hi);
        return true;
    case ET_X_VAR:
        if (!bounds(w, et_var_extent(p, x->i), &alo, &ahi)) return false;
        *out_lo = 0;
        *out_hi = ahi - 1;
        return true;
    case ET_X_SELECT:
        if (x->type != ET_T_I32 || !bounds(w, x->ops[1], &alo, &ahi) ||
            !bounds(w, x->ops[2], &blo, &bhi))
            return false;
        *out_lo = alo < blo ? alo : blo;
        *out_hi = ahi > bhi ? ahi : bhi;
        return true;
    case ET_X_ABS:
        if (x->type != ET_T_I32 || !bounds(w, x->ops[0], &alo, &ahi) || alo == INT64_MIN)
            return false;
        *out_lo = alo > 0 ? alo : ahi < 0 ? -ahi : 0;
        *out_hi = -alo > ahi ? -alo : ahi;
        return true;
    case ET_X_MIN:
    case ET_X_MAX: { /* one known side bounds one end: a clamped load stays bounded */
        bool a = bounds(w, x->ops[0], &alo, &ahi), b = bounds(w, x->ops[1], &blo, &bhi);
        if (a && b) return bounds2(x->op, alo, ahi, blo, bhi, out_lo, out_hi);
        if (!a && !b) return false;
        int64_t lo = a ? alo : blo, hi = a ? ahi : bhi;
        *out_lo = x->op == ET_X_MIN && lo > INT32_MIN ? INT32_MIN : lo;
        *out_hi = x->op == ET_X_MAX && hi < INT32_MAX ? INT32_MAX : hi;
        return x->type == ET_T_I32;
    }
    default:
        if (x->type != ET_T_I32 || x->nops != 2) return false;
        if (!bounds(w, x->ops[1], &blo, &bhi)) return false;
        if (x->op == ET_X_MOD && blo >= 1 && !bounds(w, x->ops[0], &alo, &ahi)) {
            *out_lo = 0;
            *out_hi = bhi - 1;
            return true;
        }
        return bounds(w, x->ops[0], &alo, &ahi) &&
               bounds2(x->op, alo, ahi, blo, bhi, out_lo, out_hi);
    }
}

static int64_t eval_of(struct walk *w, et_expr e) {
    const et_node_x *x = et_x(w->p, e);
    if (x->op == ET_X_INT) return x->n;
    if (x->op == ET_X_SYM) return w->syms[x->i];
    if (x->op == ET_X_VAR) {
        et_check(w->vars);
        return w->vars[x->i];
    }
    et_check(x->nops > 0);
    int64_t a = eval(w, x->ops[0]);
    if (x->op == ET_X_SELECT || x->op == ET_X_NOT || x->op == ET_X_ABS) {
        if (x->op == ET_X_SELECT) return eval(w, x->ops[a ? 1 : 2]);
        return x->op == ET_X_NOT ? !a : a < 0 ? wrap(ET_X_SUB, 0, a) : a;
    }
    et_check(x->nops == 2);
    int64_t b = eval(w, x->ops[1]);
    switch (x->op) {
    case ET_X_ADD:
    case ET_X_SUB:
    case ET_X_MUL:
        return wrap(x->op, a, b);
    case ET_X_IDIV:
        et_check(b);
        return et_floor_div(a, b);
    case ET_X_MOD:
        et_check(b);
        return et_floor_mod(a, b);
    case ET_X_MIN:
        return a < b ? a : b;
    case ET_X_MAX:
        return a > b ? a : b;
    case ET_X_AND:
        return a && b;
    case ET_X_OR:
        return a || b;
    case ET_X_LT:
        return a < b;
    case ET_X_LE:
        return a <= b;
    case ET_X_EQ:
        return a == b;
    case ET_X_NE:
        return a != b;
    default:
        et_bug("cannot evaluate %s", et_xop_text(x->op));
    }
}

static bool bounds(struct walk *w, et_expr e, int64_t *out_lo, int64_t *out_hi) {
    struct known *k = recall(w, e);
    if (k && k->state == NOT_YET) k->state = bounds_of(w, e, &k->lo, &k->hi) ? SOMETHING : NOTHING;
    if (!k) return bounds_of(w, e, out_lo, out_hi);
    *out_lo = k->lo;
    *out_hi = k->hi;
    return k->state == SOMETHING;
}

bool et_bounds(const et_exprs *p, et_expr e, int64_t *out_lo, int64_t *out_hi) {
    struct walk w = {.p = p};
    bool ok = bounds(&w, e, out_lo, out_hi);
    free(w.known);
    return ok;
}

static int64_t eval(struct walk *w, et_expr e) {
    struct known *k = recall(w, e);
    if (!k) return eval_of(w, e);
    if (k->state == NOT_YET) {
        k->lo = eval_of(w, e);
        k->state = SOMETHING;
    }
    return k->lo;
}

int64_t et_eval(const et_exprs *p, et_expr e, const int64_t *syms, const int64_t *vars) {
    struct walk w = {.p = p, .syms = syms, .vars = vars};
    int64_t v = eval(&w, e);
    free(w.known);
    return v;
}
