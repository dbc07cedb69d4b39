/* Substitution, walking and text. */
#include "diag.h"
#include "expr.h"
#include "expr_pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A map from node id to result, for one traversal: shared subexpressions are visited once. */
struct memo {
    et_expr *to;
    int n;
};

static et_expr rebuild(et_exprs *p, const et_node_x *x, const et_expr *ops) {
    switch (x->op) {
    case ET_X_LOAD:
        return et_load(p, x->i2, x->i, x->type, x->nops, ops);
    case ET_X_CONTRACT:
        return et_contract_x(p, x->i, x->nops, ops);
    case ET_X_REDUCE:
        return et_reduce_x(p, (et_reduce)x->i, x->i2, ops[0], ops[1]);
    case ET_X_SELECT:
        return et_select(p, ops[0], ops[1], ops[2]);
    default:
        return x->nops == 1 ? et_op1(p, x->op, ops[0]) : et_op2(p, x->op, ops[0], ops[1]);
    }
}

static bool is_leaf(et_xop op) {
    return op == ET_X_SYM || op == ET_X_VAR || op == ET_X_ARG || op == ET_X_LOAD ||
           op == ET_X_CONTRACT;
}

static et_expr subst(et_exprs *p, et_expr e, et_subst_fn fn, void *ctx, struct memo *m) {
    if ((int)e.id < m->n && m->to[e.id].id) return m->to[e.id];
    et_node_x x = *et_x(p, e);
    et_expr out = e, ops[ET_MAX_RANK];
    et_check(x.nops <= ET_MAX_RANK);
    bool changed = false;
    for (int i = 0; i < x.nops; i++) {
        ops[i] = subst(p, x.ops[i], fn, ctx, m);
        changed |= ops[i].id != x.ops[i].id;
    }
    if (changed) out = rebuild(p, &x, ops);
    if (is_leaf(x.op)) {
        et_expr by = fn(ctx, p, out);
        if (by.id) out = by;
    }
    if ((int)e.id < m->n) m->to[e.id] = out;
    return out;
}

et_expr et_subst(et_exprs *p, et_expr e, et_subst_fn fn, void *ctx) {
    struct memo m = {calloc((size_t)p->nnode, sizeof *m.to), p->nnode};
    if (!m.to) et_bug("out of memory");
    et_expr out = subst(p, e, fn, ctx, &m);
    free(m.to);
    return out;
}

static et_expr keep_leaf(void *ctx, et_exprs *p, et_expr leaf) {
    (void)ctx, (void)p, (void)leaf;
    return ET_NO_EXPR;
}

et_expr et_replace(et_exprs *p, et_expr e, et_expr from, et_expr by) {
    struct memo m = {calloc((size_t)p->nnode, sizeof *m.to), p->nnode};
    if (!m.to) et_bug("out of memory");
    m.to[from.id] = by;
    et_expr out = subst(p, e, keep_leaf, NULL, &m);
    free(m.to);
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

static void walk(const et_exprs *p, et_expr e, void (*fn)(void *, et_expr), void *ctx, char *seen) {
    if (seen[e.id]) return;
    seen[e.id] = 1;
    const et_node_x *x = et_x(p, e);
    for (int i = 0; i < x->nops; i++)
        walk(p, x->ops[i], fn, ctx, seen);
    fn(ctx, e);
}

void et_walk(const et_exprs *p, et_expr e, void (*fn)(void *, et_expr), void *ctx) {
    char *seen = calloc((size_t)p->nnode, 1);
    if (!seen) et_bug("out of memory");
    walk(p, e, fn, ctx, seen);
    free(seen);
}

/* ---- text ---- */

struct text {
    const et_exprs *p;
    et_name_fn name;
    void *ctx;
    char *buf;
    size_t n, cap;
};

static void put(struct text *t, const char *s) {
    size_t len = strlen(s);
    if (t->n + len + 1 > t->cap) {
        t->cap = (t->n + len + 1) * 2;
        t->buf = realloc(t->buf, t->cap);
        if (!t->buf) et_bug("out of memory");
    }
    memcpy(t->buf + t->n, s, len + 1);
    t->n += len;
}

static const char *infix(et_xop op) {
    switch (op) {
    case ET_X_ADD:
        return " + ";
    case ET_X_SUB:
        return " - ";
    case ET_X_MUL:
        return " * ";
    case ET_X_DIV:
    case ET_X_IDIV:
        return " / ";
    case ET_X_MOD:
        return " % ";
    case ET_X_LT:
        return " < ";
    case ET_X_LE:
        return " <= ";
    case ET_X_EQ:
        return " == ";
    case ET_X_NE:
        return " != ";
    case ET_X_AND:
        return " && ";
    case ET_X_OR:
        return " || ";
    default:
        return NULL;
    }
}

static void put_expr(struct text *t, et_expr e, bool nested);

static void put_list(struct text *t, const char *open, const et_node_x *x, const char *close) {
    put(t, open);
    for (int i = 0; i < x->nops; i++) {
        if (i) put(t, ", ");
        put_expr(t, x->ops[i], false);
    }
    put(t, close);
}

static void put_leaf(struct text *t, const et_node_x *x) {
    char b[64];
    switch (x->op) {
    case ET_X_INT:
        if (x->type == ET_T_PRED)
            snprintf(b, sizeof b, "%s", x->n ? "true" : "false");
        else
            snprintf(b, sizeof b, "%lld", (long long)x->n);
        break;
    case ET_X_FLOAT:
        snprintf(b, sizeof b, "%.9g", x->f);
        if (!strpbrk(b, ".en")) strcat(b, ".0");
        break;
    case ET_X_ARG:
        snprintf(b, sizeof b, "$%d", x->i);
        break;
    default:
        et_bug("not a leaf");
    }
    put(t, b);
}

static void put_expr(struct text *t, et_expr e, bool nested) {
    const et_node_x *x = et_x(t->p, e);
    char b[64];
    const char *name;
    switch (x->op) {
    case ET_X_INT:
    case ET_X_FLOAT:
    case ET_X_ARG:
        put_leaf(t, x);
        return;
    case ET_X_SYM:
        put(t, et_sym_name(t->p, x->i));
        return;
    case ET_X_VAR:
        put(t, et_var_name(t->p, x->i));
        return;
    case ET_X_LOAD:
        name = t->name ? t->name(t->ctx, x->i2, x->i) : NULL;
        snprintf(b, sizeof b, "%%t%d", x->i);
        put(t, name ? name : b);
        put_list(t, "[", x, "]");
        return;
    case ET_X_CONTRACT:
        snprintf(b, sizeof b, "p%d", x->i);
        put(t, b);
        put_list(t, "[", x, "]");
        return;
    case ET_X_REDUCE:
        put(t, et_reduce_text((et_reduce)x->i));
        put(t, "(");
        put(t, et_var_name(t->p, x->i2));
        put(t, " < ");
        put_expr(t, x->ops[0], false);
        put(t, " : ");
        put_expr(t, x->ops[1], false);
        put(t, ")");
        return;
    default:
        break;
    }
    const char *in = infix(x->op);
    if (!in) {
        put(t, et_xop_text(x->op));
        put_list(t, "(", x, ")");
        return;
    }
    if (nested) put(t, "(");
    put_expr(t, x->ops[0], true);
    put(t, in);
    put_expr(t, x->ops[1], true);
    if (nested) put(t, ")");
}

char *et_expr_text(const et_exprs *p, et_expr e, et_name_fn name, void *ctx) {
    struct text t = {.p = p, .name = name, .ctx = ctx};
    put(&t, "");
    put_expr(&t, e, false);
    char *out = et_strdup(p->arena, t.buf);
    free(t.buf);
    return out;
}
