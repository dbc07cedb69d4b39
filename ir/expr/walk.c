/* Substitution and walking. */
#include "ir/base/diag.h"
#include "ir/expr/expr.h"
#include "ir/expr/pool.h"
#include <stdlib.h>

/* One traversal: shared subexpressions are visited once. Operands are older than what they are
 * operands of, so ids up to that of the root are all there are. */
struct visit {
    struct et_visit *v;
    uint64_t stamp;
    struct et_visit own; /* beyond ET_VISITS */
    uint64_t met;
};

static void make_room(et_arena *a, struct et_visit *v, int n) {
    v->stamp = a ? et_alloc(a, (size_t)n * sizeof *v->stamp) : calloc((size_t)n, sizeof *v->stamp);
    v->to = a ? et_alloc(a, (size_t)n * sizeof *v->to) : calloc((size_t)n, sizeof *v->to);
    if (!v->stamp || !v->to) et_no_memory();
    v->n = n;
}

static void visit_begin(const et_exprs *p, et_expr root, struct visit *t) {
    struct et_visits *all = p->visits;
    int depth = all->depth++, need = (int)root.id + 1;
    t->own = (struct et_visit){0};
    t->met = 0;
    t->v = depth < ET_VISITS ? &all->level[depth] : &t->own;
    if (t->v == &t->own)
        make_room(NULL, t->v, need);
    else if (t->v->n < need)
        make_room(p->arena, t->v, need < p->cnode ? p->cnode : need);
    t->stamp = ++all->last;
}

static void visit_end(const et_exprs *p, struct visit *t) {
    p->visits->depth--;
    p->visits->work += t->met;
    free(t->own.stamp);
    free(t->own.to);
}

static bool visited(const struct visit *t, et_expr e) {
    return t->v->stamp[e.id] == t->stamp;
}

static void remember(struct visit *t, et_expr e, et_expr to) {
    t->v->stamp[e.id] = t->stamp;
    t->v->to[e.id] = to;
    t->met++;
}

static et_expr rebuild(et_exprs *p, const et_node_x *x, const et_expr *ops) {
    switch (x->op) {
    case ET_X_LOAD:
        return et_load(p, x->i2, x->i, x->type, x->nops, ops);
    case ET_X_CONTRACT:
        return et_contract_x(p, x->i, x->nops, ops);
    case ET_X_REDUCE:
        return x->i == ET_RED_TOP ? et_top_x(p, x->i2, ops[0], ops[1], ops[2])
                                  : et_reduce_x(p, (et_reduce)x->i, x->i2, ops[0], ops[1]);
    case ET_X_SELECT:
        return et_select(p, ops[0], ops[1], ops[2]);
    case ET_X_PHILOX:
        return et_philox_x(p, ops[0], ops[1], ops[2]);
    default:
        return x->nops == 1 ? et_op1(p, x->op, ops[0]) : et_op2(p, x->op, ops[0], ops[1]);
    }
}

static bool is_leaf(et_xop op) {
    return op == ET_X_SYM || op == ET_X_VAR || op == ET_X_ARG || op == ET_X_LOAD ||
           op == ET_X_CONTRACT;
}

static et_expr subst(et_exprs *p, et_expr e, et_subst_fn fn, void *ctx, struct visit *t) {
    if (visited(t, e)) return t->v->to[e.id];
    const et_node_x *x = et_x_in(p, e); /* moves when nodes are made; its operands do not */
    const et_expr *from = x->ops;
    const et_xop op = x->op;
    const int n = x->nops;
    et_expr out = e, ops[ET_MAX_RANK];
    et_check(n <= ET_MAX_RANK);
    bool changed = false;
    for (int i = 0; i < n; i++) {
        ops[i] = subst(p, from[i], fn, ctx, t);
        changed |= ops[i].id != from[i].id;
    }
    if (changed) {
        et_node_x was = *et_x_in(p, e);
        out = rebuild(p, &was, ops);
    }
    if (is_leaf(op)) {
        et_expr by = fn(ctx, p, out);
        if (by.id) out = by;
    }
    remember(t, e, out);
    return out;
}

et_expr et_subst(et_exprs *p, et_expr e, et_subst_fn fn, void *ctx) {
    struct visit t;
    visit_begin(p, e, &t);
    et_expr out = subst(p, e, fn, ctx, &t);
    visit_end(p, &t);
    return out;
}

static et_expr keep_leaf(void *ctx, et_exprs *p, et_expr leaf) {
    (void)ctx, (void)p, (void)leaf;
    return ET_NO_EXPR;
}

et_expr et_replace(et_exprs *p, et_expr e, et_expr from, et_expr by) {
    if (from.id > e.id) return e;
    struct visit t;
    visit_begin(p, e, &t);
    remember(&t, from, by);
    et_expr out = subst(p, e, keep_leaf, NULL, &t);
    visit_end(p, &t);
    return out;
}

struct one_var {
    int var;
    et_expr by;
};

static et_expr replace_var(void *ctx, et_exprs *p, et_expr leaf) {
    const struct one_var *o = ctx;
    const et_node_x *x = et_x(p, leaf);
    return x->op == ET_X_VAR && x->i == o->var ? o->by : ET_NO_EXPR;
}

et_expr et_subst_var(et_exprs *p, et_expr e, int var, et_expr by) {
    return et_subst(p, e, replace_var, &(struct one_var){var, by});
}

static void walk(const et_exprs *p, et_expr e, void (*fn)(void *, et_expr), void *ctx,
                 struct visit *t) {
    if (visited(t, e)) return;
    remember(t, e, e);
    const et_node_x *x = et_x_in(p, e);
    for (int i = 0; i < x->nops; i++)
        walk(p, x->ops[i], fn, ctx, t);
    fn(ctx, e);
}

void et_walk(const et_exprs *p, et_expr e, void (*fn)(void *, et_expr), void *ctx) {
    struct visit t;
    visit_begin(p, e, &t);
    walk(p, e, fn, ctx, &t);
    visit_end(p, &t);
}

/* ---- what an expression depends on ---- */

static bool any(const et_exprs *p, et_expr e, bool (*is)(const void *, et_expr), const void *ctx,
                struct visit *t) {
    if (visited(t, e)) return false;
    remember(t, e, e);
    const et_node_x *x = et_x_in(p, e);
    for (int i = 0; i < x->nops; i++)
        if (any(p, x->ops[i], is, ctx, t)) return true;
    return is(ctx, e);
}

bool et_expr_any(const et_exprs *p, et_expr e, bool (*is)(const void *, et_expr), const void *ctx) {
    struct visit t;
    if (!e.id) return false;
    visit_begin(p, e, &t);
    bool found = any(p, e, is, ctx, &t);
    visit_end(p, &t);
    return found;
}

struct sought {
    const et_exprs *x;
    et_xop op;
    int i; /* or ET_ANY */
};

static bool is_sought(const void *ctx, et_expr e) {
    const struct sought *f = ctx;
    const et_node_x *n = et_x_in(f->x, e);
    return n->op == f->op && (f->i == ET_ANY || n->i == f->i);
}

bool et_expr_has(const et_exprs *p, et_expr e, et_xop op, int i_or_any) {
    return et_expr_any(p, e, is_sought, &(struct sought){p, op, i_or_any});
}

static bool is_load_of(const void *ctx, et_expr e) {
    const struct sought *f = ctx;
    return is_sought(ctx, e) && et_x(f->x, e)->i2 == ET_LOAD_TENSOR;
}

bool et_expr_loads_tensor(const et_exprs *p, et_expr e, int tensor) {
    return et_expr_any(p, e, is_load_of, &(struct sought){p, ET_X_LOAD, tensor});
}

bool et_expr_has_vars(const et_exprs *p, et_expr e, int n, const int *vars) {
    for (int i = 0; i < n; i++)
        if (et_expr_has_var(p, e, vars[i])) return true;
    return false;
}

bool et_expr_is_known(const et_exprs *p, et_expr e) {
    return !et_expr_has_op(p, e, ET_X_VAR) && !et_expr_loads(p, e);
}

bool et_divides(const et_exprs *p, int64_t by, et_expr e) {
    const et_node_x *x = et_x(p, e);
    if (by == 1) return true;
    switch (x->op) {
    case ET_X_INT:
        return x->n % by == 0;
    case ET_X_ADD:
    case ET_X_SUB:
    case ET_X_MIN:
    case ET_X_MAX:
        return et_divides(p, by, x->ops[0]) && et_divides(p, by, x->ops[1]);
    case ET_X_SELECT:
        return et_divides(p, by, x->ops[1]) && et_divides(p, by, x->ops[2]);
    case ET_X_MUL: {
        int64_t c;
        if (et_is_int(p, x->ops[1], &c) && c) {
            int64_t a = by, b = c < 0 ? -c : c;
            while (b) {
                int64_t r = a % b;
                a = b;
                b = r;
            }
            return et_divides(p, by / a, et_x(p, e)->ops[0]);
        }
        return et_divides(p, by, x->ops[0]) || et_divides(p, by, x->ops[1]);
    }
    case ET_X_MOD: {
        int64_t c;
        return et_is_int(p, x->ops[1], &c) && c % by == 0 && et_divides(p, by, x->ops[0]);
    }
    default:
        return false;
    }
}
