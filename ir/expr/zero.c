/* Where an integer expression is zero: what it is divided by must not be. */
#include "ir/base/diag.h"
#include "ir/expr/expr.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_LEAVES = 16, MAX_TRIES = 1 << 16 };

/* A dim or a variable. */
struct leaf {
    et_expr e;
    int64_t lo, hi, at; /* at its bounds over everything, and now */
    int64_t *value;     /* where et_eval looks for it */
};

struct search {
    et_exprs *p;
    et_expr e;
    struct leaf leaf[MAX_LEAVES];
    int n;
    bool data; /* it depends on more than dims and variables */
    bool many; /* more of them than are listed */
    int64_t *syms, *vars;
};

static void note_leaf(void *ctx, et_expr e) {
    struct search *s = ctx;
    const et_node_x *x = et_x(s->p, e);
    if (x->nops > 0 && x->op != ET_X_LOAD && x->op != ET_X_REDUCE && x->op != ET_X_CONTRACT) return;
    if (x->op == ET_X_INT) return;
    s->data |= x->op != ET_X_SYM && x->op != ET_X_VAR;
    for (int i = 0; i < s->n; i++)
        if (et_expr_eq(s->leaf[i].e, e)) return;
    s->many |= s->n == MAX_LEAVES;
    if (s->data || s->many) return;
    struct leaf *l = &s->leaf[s->n++];
    *l = (struct leaf){.e = e, .lo = x->lo, .hi = x->hi};
    l->value = x->op == ET_X_SYM ? &s->syms[x->i] : &s->vars[x->i];
    if (x->op != ET_X_VAR) return;
    bool data = s->data; /* an extent that a tensor decides says nothing */
    et_walk(s->p, et_var_extent(s->p, x->i), note_leaf, s);
    s->data = data;
}

bool et_expr_of_launch(const et_exprs *p, et_expr e) {
    return !et_expr_has_op(p, e, ET_X_LOAD) && !et_expr_has_op(p, e, ET_X_ARG) &&
           !et_expr_has_op(p, e, ET_X_CONTRACT) && !et_expr_has_op(p, e, ET_X_REDUCE);
}

/* Does a variable stay below its extent at these values? One that a tensor bounds may. */
static bool possible(const struct search *s) {
    for (int i = 0; i < s->n; i++) {
        const et_node_x *x = et_x(s->p, s->leaf[i].e);
        if (x->op != ET_X_VAR) continue;
        et_expr extent = et_var_extent(s->p, x->i);
        if (!et_expr_of_launch(s->p, extent)) continue;
        int64_t most = et_eval(s->p, extent, s->syms, s->vars);
        if (most != ET_UNKNOWN && s->leaf[i].at >= most) return false;
    }
    return true;
}

static int64_t value(const struct search *s) {
    for (int i = 0; i < s->n; i++)
        *s->leaf[i].value = s->leaf[i].at;
    return et_eval(s->p, s->e, s->syms, s->vars);
}

static bool is_zero(const struct search *s) {
    return value(s) == 0 && possible(s);
}

/* Every combination there is; false when there are too many. */
static bool try_all(struct search *s, bool *out_found) {
    int64_t n = 1;
    for (int i = 0; i < s->n; i++) {
        if (s->leaf[i].hi < s->leaf[i].lo) return true;
        if (s->leaf[i].hi - s->leaf[i].lo >= MAX_TRIES) return false;
        if ((n *= s->leaf[i].hi - s->leaf[i].lo + 1) > MAX_TRIES) return false;
        s->leaf[i].at = s->leaf[i].lo;
    }
    for (; n > 0; n--) {
        if ((*out_found = is_zero(s))) return true;
        int i = 0;
        while (i < s->n && ++s->leaf[i].at > s->leaf[i].hi)
            s->leaf[i].at = s->leaf[i].lo, i++;
    }
    return true;
}

/* With all others where they are, leaf L near its ends, and where the sign changes in between. */
static bool try_one(struct search *s, struct leaf *l) {
    enum { NEAR = 16 };
    for (int64_t d = 0; d < NEAR && l->lo + d <= l->hi; d++) {
        l->at = l->lo + d;
        if (is_zero(s)) return true;
        l->at = l->hi - d;
        if (is_zero(s)) return true;
    }
    int64_t lo = l->lo, hi = l->hi;
    l->at = lo;
    bool negative = value(s) < 0;
    l->at = hi;
    if ((value(s) < 0) == negative) return false;
    while (hi - lo > 1) {
        l->at = lo + (hi - lo) / 2;
        *((value(s) < 0) == negative ? &lo : &hi) = l->at;
    }
    for (l->at = lo; l->at <= hi; l->at++)
        if (is_zero(s)) return true;
    return false;
}

/* Every leaf in turn, with the others at either end. */
static bool try_some(struct search *s) {
    for (unsigned ends = 0; ends < 1u << (s->n < 6 ? s->n : 6); ends++)
        for (int k = 0; k < s->n; k++) {
            for (int i = 0; i < s->n; i++)
                s->leaf[i].at = ends >> i & 1 ? s->leaf[i].hi : s->leaf[i].lo;
            if (try_one(s, &s->leaf[k])) return true;
        }
    return false;
}

static const char *where(const struct search *s, et_arena *a) {
    const char *text = "";
    for (int i = 0; i < s->n; i++) {
        const et_node_x *x = et_x(s->p, s->leaf[i].e);
        const char *name = x->op == ET_X_SYM ? et_sym_name(s->p, x->i) : et_var_name(s->p, x->i);
        text = et_printf(a, "%s%s%s = %lld", text, i ? ", " : "", name, (long long)s->leaf[i].at);
    }
    return text;
}

et_zero et_find_zero(et_exprs *p, et_expr e, const char **out_where) {
    int64_t n;
    *out_where = "";
    if (et_is_int(p, e, &n)) return n ? ET_ZERO_NEVER : ET_ZERO_AT;
    if (!et_expr_of_launch(p, e)) return ET_ZERO_DATA;
    if (et_prove_le(p, et_int(p, 1), e) || et_prove_le(p, e, et_int(p, -1))) return ET_ZERO_NEVER;
    struct search s = {.p = p, .e = e};
    s.syms = calloc((size_t)et_sym_count(p) + 1, sizeof *s.syms);
    s.vars = calloc((size_t)et_var_count(p) + 1, sizeof *s.vars);
    if (!s.syms || !s.vars) et_no_memory();
    et_walk(p, e, note_leaf, &s);
    bool search = !s.many && !s.data, found = false, all = search && try_all(&s, &found);
    if (!all && search) found = try_some(&s);
    if (found) *out_where = where(&s, et_exprs_arena(p));
    free(s.syms);
    free(s.vars);
    if (s.data) return ET_ZERO_DATA; /* a number that is not whole has a part in it */
    return found ? ET_ZERO_AT : all ? ET_ZERO_NEVER : ET_ZERO_MAYBE;
}
