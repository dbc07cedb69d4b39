/* The text of an expression. Reading it back through the builders of expr.h gives the same node:
 * what the builders have simplified they leave alone, and the order of sums and products does not
 * depend on ids. */
#include "ir/base/text.h"
#include "ir/base/diag.h"
#include "ir/expr/pool.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        if (!t->buf) et_no_memory();
    }
    memcpy(t->buf + t->n, s, len + 1);
    t->n += len;
}

static void put_int(struct text *t, int64_t v) {
    char b[24];
    snprintf(b, sizeof b, "%" PRId64, v);
    put(t, b);
}

/* How tightly an operator binds; CALL for what is written as a call or a leaf. */
enum { OR = 1, AND, COMPARE, SUM, PRODUCT, CALL };

static int level(et_xop op, const char **out_infix) {
    static const struct {
        et_xop op;
        int level;
        const char *infix;
    } in[] = {
        {ET_X_OR, OR, " || "},      {ET_X_AND, AND, " && "},     {ET_X_LT, COMPARE, " < "},
        {ET_X_LE, COMPARE, " <= "}, {ET_X_EQ, COMPARE, " == "},  {ET_X_NE, COMPARE, " != "},
        {ET_X_ADD, SUM, " + "},     {ET_X_SUB, SUM, " - "},      {ET_X_MUL, PRODUCT, " * "},
        {ET_X_DIV, PRODUCT, " / "}, {ET_X_IDIV, PRODUCT, " / "}, {ET_X_MOD, PRODUCT, " % "},
    };
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        if (in[i].op == op) {
            *out_infix = in[i].infix;
            return in[i].level;
        }
    *out_infix = NULL;
    return CALL;
}

static void put_expr(struct text *t, et_expr e, int least);

static void put_list(struct text *t, const char *open, const et_node_x *x, const char *close) {
    put(t, open);
    for (int i = 0; i < x->nops; i++) {
        if (i) put(t, ", ");
        put_expr(t, x->ops[i], 0);
    }
    put(t, close);
}

static void put_load(struct text *t, const et_node_x *x) {
    const char *name = t->name ? t->name(t->ctx, x->i2, x->i) : NULL;
    if (name) {
        put(t, name);
    } else {
        put(t, x->i2 == ET_LOAD_ARG ? "$" : "%t");
        put_int(t, x->i);
    }
    put_list(t, "[", x, "]");
}

static void put_reduce(struct text *t, const et_node_x *x) {
    put(t, et_reduce_text((et_reduce)x->i));
    put(t, "(");
    put(t, et_var_name(t->p, x->i2));
    put(t, " < ");
    et_expr whole = et_var_extent(t->p, x->i2);
    put_expr(t, whole, SUM);
    if (!et_expr_eq(whole, x->ops[0])) {
        put(t, " extent ");
        put_expr(t, x->ops[0], SUM);
    }
    put(t, " : ");
    put_expr(t, x->ops[1], 0);
    if (x->i == ET_RED_TOP) {
        put(t, ", ");
        put_expr(t, x->ops[2], 0);
    }
    put(t, ")");
}

/* a + b * -4 as a - b * 4: the builder turns the one into the other. */
static bool put_subtracted(struct text *t, et_expr e) {
    const et_node_x *x = et_x(t->p, e);
    int64_t c;
    if (x->op == ET_X_INT && x->type == ET_T_I32 && x->n < 0 && x->n > -INT32_MAX) {
        put(t, " - ");
        put_int(t, -x->n);
        return true;
    }
    if (x->op != ET_X_MUL || x->type != ET_T_I32 || !et_is_int(t->p, x->ops[1], &c) || c >= 0 ||
        c < -INT32_MAX)
        return false;
    put(t, " - ");
    put_expr(t, x->ops[0], PRODUCT);
    if (c == -1) return true;
    put(t, " * ");
    put_int(t, -c);
    return true;
}

static void put_infix(struct text *t, const et_node_x *x, int own, const char *infix) {
    put_expr(t, x->ops[0], own == COMPARE ? own + 1 : own);
    if (x->op == ET_X_ADD && x->type == ET_T_I32 && put_subtracted(t, x->ops[1])) return;
    put(t, infix);
    put_expr(t, x->ops[1], own + 1);
}

static void put_node(struct text *t, const et_node_x *x, int least) {
    const char *infix;
    int own = level(x->op, &infix);
    if (!infix) {
        put(t, et_xop_text(x->op));
        put_list(t, "(", x, ")");
        return;
    }
    if (own < least) put(t, "(");
    put_infix(t, x, own, infix);
    if (own < least) put(t, ")");
}

/* E where an operator that binds less tightly than LEAST needs parentheses. */
static void put_expr(struct text *t, et_expr e, int least) {
    const et_node_x *x = et_x(t->p, e);
    char b[40];
    switch (x->op) {
    case ET_X_INT:
        if (x->type == ET_T_PRED)
            put(t, x->n ? "$true" : "$false");
        else
            put_int(t, x->n);
        return;
    case ET_X_FLOAT:
        et_float_text(b, x->f);
        if (!isfinite(x->f)) put(t, *b == '-' ? "-$" : "$"); /* a dim may be called inf */
        put(t, b + (!isfinite(x->f) && *b == '-'));
        return;
    case ET_X_ARG:
        put(t, "$");
        if (et_own_arg_name(x->i))
            put(t, et_own_arg_name(x->i));
        else
            put_int(t, x->i);
        return;
    case ET_X_SYM:
        put(t, et_sym_name(t->p, x->i));
        return;
    case ET_X_VAR:
        put(t, et_var_name(t->p, x->i));
        return;
    case ET_X_LOAD:
        put_load(t, x);
        return;
    case ET_X_CONTRACT:
        put(t, "p");
        put_int(t, x->i);
        put_list(t, "[", x, "]");
        return;
    case ET_X_REDUCE:
        put_reduce(t, x);
        return;
    default:
        put_node(t, x, least);
    }
}

char *et_expr_text(const et_exprs *p, et_expr e, et_name_fn name, void *ctx) {
    struct text t = {.p = p, .name = name, .ctx = ctx};
    put(&t, "");
    put_expr(&t, e, 0);
    char *out = et_strdup(p->arena, t.buf);
    free(t.buf);
    return out;
}
