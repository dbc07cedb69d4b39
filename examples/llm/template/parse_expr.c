/* parse_expr.c - expressions, by jinja2's grammar: each function is a rule of it. */
#include "examples/llm/template/parse.h"
#include "examples/llm/template/run.h"
#include <string.h>

static jt_node *parse_unary(jt_parse *, bool filters);
static jt_node *parse_primary(jt_parse *);
static jt_node *parse_postfix(jt_parse *, jt_node *);

static jt_node *binary(jt_parse *s, jt_node_kind kind, jt_op op, const jt_token *where, jt_node *a,
                       jt_node *b) {
    jt_node *n = jt_node_new(s, kind, where);
    n->op = op;
    n->a = a;
    n->b = b;
    return n;
}

static jt_node *parse_pow(jt_parse *s) {
    jt_node *left = parse_unary(s, true);
    while (jt_at_sign(s, "**")) {
        const jt_token *t = jt_take(s);
        left = binary(s, N_BINARY, OP_POW, t, left, parse_unary(s, true));
    }
    return left;
}

static jt_node *parse_product(jt_parse *s) {
    static const char *const signs[] = {"*", "/", "//", "%"};
    static const jt_op ops[] = {OP_MUL, OP_DIV, OP_FLOORDIV, OP_MOD};
    jt_node *left = parse_pow(s);
    for (size_t i = 0; i < 4;) {
        if (!jt_at_sign(s, signs[i])) {
            i++;
            continue;
        }
        const jt_token *t = jt_take(s);
        left = binary(s, N_BINARY, ops[i], t, left, parse_pow(s));
        i = 0;
    }
    return left;
}

static jt_node *parse_concat(jt_parse *s) {
    const jt_token *t = jt_now(s);
    jt_node *first = parse_product(s), *n = NULL;
    while (jt_skip_sign(s, "~")) {
        if (!n) {
            n = jt_node_new(s, N_CONCAT, t);
            jt_nodes_add(s, &n->items, first);
        }
        jt_nodes_add(s, &n->items, parse_product(s));
    }
    return n ? n : first;
}

static jt_node *parse_sum(jt_parse *s) {
    jt_node *left = parse_concat(s);
    while (jt_at_sign(s, "+") || jt_at_sign(s, "-")) {
        const jt_token *t = jt_take(s);
        left = binary(s, N_BINARY, *t->p == '+' ? OP_ADD : OP_SUB, t, left, parse_concat(s));
    }
    return left;
}

/* The comparison that stands here, if one does. */
static bool take_comparison(jt_parse *s, jt_op *op) {
    static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">="};
    static const jt_op ops[] = {OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE};
    for (size_t i = 0; i < 6; i++)
        if (jt_skip_sign(s, signs[i])) {
            *op = ops[i];
            return true;
        }
    if (jt_skip_name(s, "in")) {
        *op = OP_IN;
        return true;
    }
    if (!jt_at_name(s, "not")) return false;
    jt_take(s);
    if (!jt_skip_name(s, "in")) {
        s->at--;
        return false;
    }
    *op = OP_NOT_IN;
    return true;
}

static jt_node *parse_compare(jt_parse *s) {
    const jt_token *t = jt_now(s);
    jt_node *left = parse_sum(s), *n = NULL;
    for (;;) {
        jt_op op;
        const jt_token *sign = jt_now(s);
        if (!take_comparison(s, &op)) return n ? n : left;
        if (!n) {
            n = jt_node_new(s, N_COMPARE, t);
            n->a = left;
        }
        jt_node *operand = jt_node_new(s, N_OPERAND, sign);
        operand->op = op;
        operand->a = parse_sum(s);
        jt_nodes_add(s, &n->items, operand);
    }
}

static jt_node *parse_not(jt_parse *s) {
    if (!jt_at_name(s, "not")) return parse_compare(s);
    jt_deeper(s);
    jt_node *n = jt_node_new(s, N_NOT, jt_take(s));
    n->a = parse_not(s);
    s->depth--;
    return n;
}

static jt_node *parse_and(jt_parse *s) {
    jt_node *left = parse_not(s);
    while (jt_at_name(s, "and")) {
        const jt_token *t = jt_take(s);
        left = binary(s, N_AND, 0, t, left, parse_not(s));
    }
    return left;
}

static jt_node *parse_or(jt_parse *s) {
    jt_node *left = parse_and(s);
    while (jt_at_name(s, "or")) {
        const jt_token *t = jt_take(s);
        left = binary(s, N_OR, 0, t, left, parse_and(s));
    }
    return left;
}

jt_node *jt_parse_expression(jt_parse *s, bool with_cond) {
    jt_deeper(s);
    jt_node *value = parse_or(s);
    while (with_cond && jt_at_name(s, "if")) {
        jt_node *n = jt_node_new(s, N_COND, jt_take(s));
        n->a = value;
        n->b = parse_or(s);
        if (jt_skip_name(s, "else")) n->c = jt_parse_expression(s, true);
        value = n;
    }
    s->depth--;
    return value;
}

jt_node *jt_parse_tuple(jt_parse *s, bool with_cond, bool parenthesised) {
    jt_node *tuple = NULL, *first = NULL;
    const jt_token *t = jt_now(s);
    for (;;) {
        jt_token_kind kind = jt_now(s)->kind;
        if (kind == T_PRINT_END || kind == T_BLOCK_END || jt_at_sign(s, ")")) break;
        jt_node *item = jt_parse_expression(s, with_cond);
        if (!first) first = item;
        bool comma = jt_skip_sign(s, ",");
        if (!tuple && !comma) return first;
        if (!tuple) tuple = jt_node_new(s, N_TUPLE, t);
        jt_nodes_add(s, &tuple->items, item);
        if (!comma) break;
    }
    if (tuple) return tuple;
    if (!parenthesised) jt_unexpected(s, "an expression");
    return jt_node_new(s, N_TUPLE, t);
}

/* ---- literals and names ---- */

static jt_node *parse_list(jt_parse *s) {
    jt_node *n = jt_node_new(s, N_LIST, jt_take(s));
    while (!jt_at_sign(s, "]")) {
        if (n->items.n) jt_expect_sign(s, ",");
        if (jt_at_sign(s, "]")) break;
        jt_nodes_add(s, &n->items, jt_parse_expression(s, true));
    }
    jt_take(s);
    return n;
}

static jt_node *parse_dict(jt_parse *s) {
    jt_node *n = jt_node_new(s, N_DICT, jt_take(s));
    while (!jt_at_sign(s, "}")) {
        if (n->items.n) jt_expect_sign(s, ",");
        if (jt_at_sign(s, "}")) break;
        jt_nodes_add(s, &n->items, jt_parse_expression(s, true));
        jt_expect_sign(s, ":");
        jt_nodes_add(s, &n->more, jt_parse_expression(s, true));
    }
    jt_take(s);
    return n;
}

static jt_node *parse_strings(jt_parse *s) {
    const jt_token *t = jt_take(s);
    jt_node *n = jt_node_new(s, N_CONST, t);
    size_t bytes = t->n, from = s->at;
    while (jt_now(s)->kind == T_STRING)
        bytes += jt_take(s)->n;
    char *text = (char *)t->p;
    if (s->at > from) { /* strings that follow one another are one */
        text = jt_parse_alloc(s, bytes + 1);
        memcpy(text, t->p, t->n);
        size_t used = t->n;
        for (size_t i = from; i < s->at; i++) {
            memcpy(text + used, s->tokens[i].p, s->tokens[i].n);
            used += s->tokens[i].n;
        }
    }
    n->value = jt_of_str(jt_parse_str(s, text, bytes));
    return n;
}

static jt_node *parse_name(jt_parse *s) {
    static const struct {
        const char *name;
        jt_value value;
    } constants[] = {
        {"true", {.kind = JT_BOOL, .b = true}},
        {"True", {.kind = JT_BOOL, .b = true}},
        {"false", {.kind = JT_BOOL}},
        {"False", {.kind = JT_BOOL}},
        {"none", {.kind = JT_NONE}},
        {"None", {.kind = JT_NONE}},
    };
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (jt_at_name(s, constants[i].name)) {
            jt_node *n = jt_node_new(s, N_CONST, jt_take(s));
            n->value = constants[i].value;
            return n;
        }
    const jt_token *t = jt_take(s);
    jt_node *n = jt_node_new(s, N_NAME, t);
    n->name = jt_parse_name(s, t);
    return n;
}

static jt_node *parse_primary(jt_parse *s) {
    const jt_token *t = jt_now(s);
    jt_node *n;
    switch (t->kind) {
    case T_NAME:
        return parse_name(s);
    case T_STRING:
        return parse_strings(s);
    case T_INT:
    case T_FLOAT:
        n = jt_node_new(s, N_CONST, jt_take(s));
        n->value = t->value;
        return n;
    default:
        break;
    }
    if (jt_at_sign(s, "[")) return parse_list(s);
    if (jt_at_sign(s, "{")) return parse_dict(s);
    if (!jt_skip_sign(s, "(")) jt_unexpected(s, "an expression");
    n = jt_parse_tuple(s, true, true);
    jt_expect_sign(s, ")");
    return n;
}

/* ---- what follows a value ---- */

/* An argument before its comma: *x, **x, name=x or x. */
static void parse_argument(jt_parse *s, jt_call_args *args) {
    const jt_token *t = jt_now(s);
    bool named = t->kind == T_NAME && s->tokens[s->at + 1].kind == T_SIGN &&
                 s->tokens[s->at + 1].n == 1 && *s->tokens[s->at + 1].p == '=';
    bool ordered = true;
    if (jt_skip_sign(s, "*")) {
        ordered = !args->star && !args->star_star;
        args->star = jt_parse_expression(s, true);
    } else if (jt_skip_sign(s, "**")) {
        ordered = !args->star_star;
        args->star_star = jt_parse_expression(s, true);
    } else if (named) {
        ordered = !args->star_star;
        jt_str *name = jt_parse_name(s, jt_take(s));
        jt_take(s);
        for (uint32_t i = 0; i < args->named.n; i++)
            if (args->names[i] == name)
                jt_parse_fail(s, t->line, t->column, "argument '%.*s' is given twice", (int)t->n,
                              t->p);
        jt_nodes_add(s, &args->named, jt_parse_expression(s, true));
        jt_str **names = jt_parse_alloc(s, args->named.n * sizeof *names);
        if (args->named.n > 1) memcpy(names, args->names, (args->named.n - 1) * sizeof *names);
        names[args->named.n - 1] = name;
        args->names = names;
    } else {
        ordered = !args->star && !args->star_star && !args->named.n;
        jt_nodes_add(s, &args->positional, jt_parse_expression(s, true));
    }
    if (!ordered)
        jt_parse_fail(s, t->line, t->column, "arguments of a call in an order that is not allowed");
}

static jt_call_args *parse_args(jt_parse *s) {
    jt_call_args *args = jt_parse_alloc(s, sizeof *args);
    jt_expect_sign(s, "(");
    while (!jt_at_sign(s, ")")) {
        parse_argument(s, args);
        if (!jt_skip_sign(s, ",")) break;
    }
    jt_expect_sign(s, ")");
    return args;
}

static jt_node *parse_call(jt_parse *s, jt_node *function) {
    jt_node *n = jt_node_new(s, N_CALL, jt_now(s));
    n->a = function;
    n->args = parse_args(s);
    return n;
}

/* What stands between [ and ], of the subscript N: an index, or start:stop:step. */
static void parse_subscript(jt_parse *s, jt_node *n) {
    if (!jt_at_sign(s, ":")) n->b = jt_parse_expression(s, true);
    if (!jt_skip_sign(s, ":")) return;
    n->kind = N_SLICE;
    if (!jt_at_sign(s, ":") && !jt_at_sign(s, "]")) n->c = jt_parse_expression(s, true);
    if (jt_skip_sign(s, ":") && !jt_at_sign(s, "]")) n->d = jt_parse_expression(s, true);
}

static jt_node *parse_brackets(jt_parse *s, jt_node *object) {
    const jt_token *t = jt_take(s);
    jt_node *n = jt_node_new(s, N_ITEM, t);
    n->a = object;
    parse_subscript(s, n);
    if (jt_at_sign(s, ",")) {
        if (n->kind == N_SLICE) jt_unexpected(s, "']'");
        jt_node *tuple = jt_node_new(s, N_TUPLE, t);
        jt_nodes_add(s, &tuple->items, n->b);
        while (jt_skip_sign(s, ",") && !jt_at_sign(s, "]"))
            jt_nodes_add(s, &tuple->items, jt_parse_expression(s, true));
        n->b = tuple;
    }
    jt_expect_sign(s, "]");
    return n;
}

static jt_node *parse_dot(jt_parse *s, jt_node *object) {
    const jt_token *dot = jt_take(s), *t = jt_take(s);
    bool name = t->kind == T_NAME;
    if (!name && t->kind != T_INT) {
        s->at--;
        jt_unexpected(s, "a name or number behind '.'");
    }
    jt_node *n = jt_node_new(s, name ? N_ATTR : N_ITEM, dot);
    n->a = object;
    if (name) {
        n->name = jt_parse_name(s, t);
    } else {
        n->b = jt_node_new(s, N_CONST, t);
        n->b->value = t->value;
    }
    return n;
}

static jt_node *parse_postfix(jt_parse *s, jt_node *n) {
    for (;;) {
        if (jt_at_sign(s, "."))
            n = parse_dot(s, n);
        else if (jt_at_sign(s, "["))
            n = parse_brackets(s, n);
        else if (jt_at_sign(s, "("))
            n = parse_call(s, n);
        else
            return n;
    }
}

/* The name of a filter or test, which may have dots in it. */
static jt_str *dotted_name(jt_parse *s) {
    const jt_token *t = jt_expect_name(s);
    if (jt_at_sign(s, ".")) jt_unexpected(s, "a filter or test that there is");
    return jt_parse_name(s, t);
}

jt_node *jt_parse_filters(jt_parse *s, jt_node *first, bool is_inline) {
    jt_node *value = first;
    while (is_inline || jt_skip_sign(s, "|")) {
        jt_node *n = jt_node_new(s, N_FILTER, jt_now(s));
        n->a = value;
        n->name = dotted_name(s);
        n->builtin = jt_find_filter(n->name->p, n->name->n);
        if (jt_at_sign(s, "(")) n->args = parse_args(s);
        value = n;
        is_inline = false;
    }
    return value;
}

static jt_node *parse_test(jt_parse *s, jt_node *value) {
    const jt_token *t = jt_take(s);
    bool negated = jt_skip_name(s, "not");
    jt_node *n = jt_node_new(s, N_TEST, t);
    n->a = value;
    n->name = dotted_name(s);
    n->builtin = jt_find_test(n->name->p, n->name->n);
    jt_token_kind kind = jt_now(s)->kind;
    bool value_follows =
        kind == T_STRING || kind == T_INT || kind == T_FLOAT || jt_at_sign(s, "[") ||
        jt_at_sign(s, "{") ||
        (kind == T_NAME && !jt_at_name(s, "else") && !jt_at_name(s, "or") && !jt_at_name(s, "and"));
    if (jt_at_sign(s, "(")) {
        n->args = parse_args(s);
    } else if (value_follows) {
        if (jt_at_name(s, "is")) jt_unexpected(s, "no second test");
        n->args = jt_parse_alloc(s, sizeof *n->args);
        jt_nodes_add(s, &n->args->positional, parse_postfix(s, parse_primary(s)));
    }
    if (!negated) return n;
    jt_node *inverse = jt_node_new(s, N_NOT, t);
    inverse->a = n;
    return inverse;
}

static jt_node *parse_unary(jt_parse *s, bool filters) {
    jt_node *n;
    jt_deeper(s);
    if (jt_at_sign(s, "-") || jt_at_sign(s, "+")) {
        const jt_token *t = jt_take(s);
        n = jt_node_new(s, *t->p == '-' ? N_NEGATE : N_PLUS, t);
        n->a = parse_unary(s, false);
    } else {
        n = parse_primary(s);
    }
    n = parse_postfix(s, n);
    while (filters) {
        if (jt_at_sign(s, "|"))
            n = jt_parse_filters(s, n, false);
        else if (jt_at_name(s, "is"))
            n = parse_test(s, n);
        else if (jt_at_sign(s, "("))
            n = parse_call(s, n);
        else
            break;
    }
    s->depth--;
    return n;
}
