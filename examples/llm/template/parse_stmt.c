/* parse_stmt.c - statements. One more: a row of `statements` and a case of exec.c. */
#include "examples/llm/template/parse.h"
#include <string.h>

static void end_block(jt_parse *s) {
    if (jt_now(s)->kind != T_BLOCK_END) jt_unexpected(s, "'%}'");
    jt_take(s);
}

/* Behind the opening tag of OPEN: its body, up to one of the names in ENDS, which is taken; gives
 * its number. */
static int parse_body(jt_parse *s, const jt_token *open, jt_nodes *out, const char *const *ends) {
    jt_skip_sign(s, ":");
    end_block(s);
    jt_parse_statements(s, out);
    if (jt_now(s)->kind == T_END)
        jt_parse_fail(s, open->line, open->column, "'%.*s' without '%s'", (int)open->n, open->p,
                      ends[0]);
    jt_take(s); /* {% */
    for (int i = 0; ends[i]; i++)
        if (jt_skip_name(s, ends[i])) return i;
    char wanted[32] = "'";
    strncat(strncat(wanted, ends[0], 20), "'", 2);
    jt_unexpected(s, wanted);
}

static void parse_to(jt_parse *s, const jt_token *open, jt_nodes *out, const char *end) {
    const char *const ends[] = {end, NULL};
    parse_body(s, open, out, ends);
}

/* The same of what becomes a function in jinja2: a loop around it cannot be left from inside. */
static void parse_function_body(jt_parse *s, const jt_token *open, jt_nodes *out, const char *end) {
    int loops = s->loops;
    s->loops = 0;
    parse_to(s, open, out, end);
    s->loops = loops;
}

static jt_node *parse_target(jt_parse *s, bool namespaces);

static jt_node *parse_one_target(jt_parse *s, bool namespaces) {
    if (jt_skip_sign(s, "(")) {
        jt_deeper(s);
        jt_node *inner = parse_target(s, namespaces);
        s->depth--;
        jt_expect_sign(s, ")");
        return inner;
    }
    static const char *const constants[] = {"true", "True", "false", "False", "none", "None"};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (jt_at_name(s, constants[i])) jt_unexpected(s, "a variable");
    const jt_token *t = jt_expect_name(s);
    jt_node *n = jt_node_new(s, N_SET_TARGET, t);
    n->name = jt_parse_name(s, t);
    if (namespaces && jt_skip_sign(s, ".")) n->attr = jt_parse_name(s, jt_expect_name(s));
    return n;
}

static jt_node *parse_target(jt_parse *s, bool namespaces) {
    const jt_token *t = jt_now(s);
    jt_node *first = parse_one_target(s, namespaces), *tuple = NULL;
    while (jt_skip_sign(s, ",")) {
        if (!tuple) {
            tuple = jt_node_new(s, N_TUPLE, t);
            jt_nodes_add(s, &tuple->items, first);
        }
        if (jt_now(s)->kind != T_NAME && !jt_at_sign(s, "(")) break;
        if (jt_at_name(s, "in")) break;
        jt_nodes_add(s, &tuple->items, parse_one_target(s, namespaces));
    }
    return tuple ? tuple : first;
}

/* ---- the statements; the token taken last is their name ---- */

static jt_node *parse_if(jt_parse *s, const jt_token *t) {
    static const char *const ends[] = {"endif", "elif", "else", NULL};
    jt_node *first = NULL, *last = NULL;
    int end;
    do {
        jt_node *n = jt_node_new(s, N_IF, t);
        n->a = jt_parse_tuple(s, false, false);
        end = parse_body(s, t, &n->items, ends);
        /* An elif is the one statement of the else before it. */
        if (last)
            jt_nodes_add(s, &last->more, n);
        else
            first = n;
        last = n;
    } while (end == 1);
    if (end == 2) parse_to(s, t, &last->more, "endif");
    return first;
}

static jt_node *parse_for(jt_parse *s, const jt_token *t) {
    static const char *const ends[] = {"endfor", "else", NULL};
    jt_node *n = jt_node_new(s, N_FOR, t);
    n->name = jt_intern(s, "loop", 4);
    n->a = parse_target(s, false);
    jt_expect_word(s, "in");
    n->b = jt_parse_tuple(s, false, false);
    if (jt_skip_name(s, "if")) n->c = jt_parse_expression(s, true);
    n->flag = jt_skip_name(s, "recursive");
    int loops = s->loops;
    s->loops = loops + 1;
    int end = parse_body(s, t, &n->items, ends);
    s->loops = loops;
    if (end == 1) parse_to(s, t, &n->more, "endfor");
    return n;
}

static jt_node *parse_set(jt_parse *s, const jt_token *t) {
    jt_node *n = jt_node_new(s, N_SET, t);
    n->a = parse_target(s, true);
    if (jt_skip_sign(s, "=")) {
        n->b = jt_parse_tuple(s, true, false);
        return n;
    }
    n->kind = N_SET_BLOCK;
    n->b = jt_parse_filters(s, jt_node_new(s, N_INPUT, t), false);
    parse_to(s, t, &n->items, "endset");
    return n;
}

static jt_params *parse_params(jt_parse *s) {
    jt_params *params = jt_parse_alloc(s, sizeof *params);
    jt_expect_sign(s, "(");
    while (!jt_at_sign(s, ")")) {
        if (params->names.n) jt_expect_sign(s, ",");
        const jt_token *t = jt_expect_name(s);
        jt_node *name = jt_node_new(s, N_SET_TARGET, t);
        name->name = jt_parse_name(s, t);
        jt_nodes_add(s, &params->names, name);
        if (jt_skip_sign(s, "="))
            jt_nodes_add(s, &params->defaults, jt_parse_expression(s, true));
        else if (params->defaults.n)
            jt_parse_fail(s, t->line, t->column, "a parameter without a default behind one with");
    }
    jt_take(s);
    return params;
}

/* NAME, if it stands among the tokens from FROM to now; NULL: it does not. */
static jt_str *if_named(jt_parse *s, size_t from, const char *name) {
    size_t n = strlen(name);
    for (size_t i = from; i < s->at; i++)
        if (s->tokens[i].kind == T_NAME && s->tokens[i].n == n &&
            !memcmp(s->tokens[i].p, name, n) && *s->tokens[i - 1].p != '.')
            return jt_intern(s, name, n);
    return NULL;
}

/* A body that names these takes more arguments. */
static void body_takes(jt_parse *s, jt_params *params, size_t from) {
    params->caller = if_named(s, from, "caller");
    params->varargs = if_named(s, from, "varargs");
    params->kwargs = if_named(s, from, "kwargs");
    for (uint32_t i = 0; i < params->names.n; i++) { /* unless they are parameters */
        const jt_str *name = params->names.at[i]->name;
        if (params->caller == name) params->caller = NULL;
        if (params->varargs == name) params->varargs = NULL;
        if (params->kwargs == name) params->kwargs = NULL;
    }
}

static jt_node *parse_macro(jt_parse *s, const jt_token *t) {
    jt_node *n = jt_node_new(s, N_MACRO, t);
    n->name = jt_parse_name(s, jt_expect_name(s));
    n->params = parse_params(s);
    size_t from = s->at;
    parse_function_body(s, t, &n->items, "endmacro");
    body_takes(s, n->params, from);
    return n;
}

static jt_node *parse_call_block(jt_parse *s, const jt_token *t) {
    jt_node *n = jt_node_new(s, N_CALL_BLOCK, t);
    n->name = jt_intern(s, "caller", 6);
    n->params = jt_at_sign(s, "(") ? parse_params(s) : jt_parse_alloc(s, sizeof *n->params);
    n->a = jt_parse_expression(s, true);
    if (n->a->kind != N_CALL) jt_parse_fail(s, t->line, t->column, "'call' without a call");
    size_t from = s->at;
    parse_function_body(s, t, &n->items, "endcall");
    body_takes(s, n->params, from);
    return n;
}

static jt_node *parse_filter_block(jt_parse *s, const jt_token *t) {
    jt_node *n = jt_node_new(s, N_FILTER_BLOCK, t);
    n->b = jt_parse_filters(s, jt_node_new(s, N_INPUT, t), true);
    parse_to(s, t, &n->items, "endfilter");
    return n;
}

static jt_node *parse_with(jt_parse *s, const jt_token *t) {
    jt_node *n = jt_node_new(s, N_WITH, t);
    while (jt_now(s)->kind != T_BLOCK_END) {
        if (n->targets.n) jt_expect_sign(s, ",");
        jt_nodes_add(s, &n->targets, parse_target(s, false));
        jt_expect_sign(s, "=");
        jt_nodes_add(s, &n->more, jt_parse_expression(s, true));
    }
    parse_to(s, t, &n->items, "endwith");
    return n;
}

static jt_node *parse_generation(jt_parse *s, const jt_token *t) {
    jt_node *n = jt_node_new(s, N_SCOPE, t);
    parse_function_body(s, t, &n->items, "endgeneration");
    return n;
}

static jt_node *parse_autoescape(jt_parse *s, const jt_token *t) {
    jt_node *n = jt_node_new(s, N_SCOPE, t);
    if (!jt_at_name(s, "false") && !jt_at_name(s, "False"))
        jt_parse_fail(s, t->line, t->column, "only 'autoescape false' is supported");
    jt_take(s);
    parse_to(s, t, &n->items, "endautoescape");
    return n;
}

static jt_node *parse_print(jt_parse *s, const jt_token *t) {
    jt_node *n = jt_node_new(s, N_PRINT, t);
    while (jt_now(s)->kind != T_BLOCK_END) {
        if (n->items.n) jt_expect_sign(s, ",");
        jt_nodes_add(s, &n->items, jt_parse_expression(s, true));
    }
    return n;
}

static jt_node *parse_leave(jt_parse *s, const jt_token *t) {
    if (!s->loops)
        jt_parse_fail(s, t->line, t->column, "'%.*s' outside of a loop", (int)t->n, t->p);
    return jt_node_new(s, *t->p == 'b' ? N_BREAK : N_CONTINUE, t);
}

static const struct {
    const char *name;
    jt_node *(*parse)(jt_parse *, const jt_token *);
} statements[] = {
    {"if", parse_if},
    {"for", parse_for},
    {"set", parse_set},
    {"macro", parse_macro},
    {"call", parse_call_block},
    {"filter", parse_filter_block},
    {"with", parse_with},
    {"generation", parse_generation},
    {"autoescape", parse_autoescape},
    {"print", parse_print},
    {"break", parse_leave},
    {"continue", parse_leave},
};

static jt_node *parse_statement(jt_parse *s) {
    const jt_token *t = jt_now(s);
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (jt_skip_name(s, statements[i].name)) return statements[i].parse(s, t);
    if (t->kind != T_NAME) jt_unexpected(s, "the name of a statement");
    jt_parse_fail(s, t->line, t->column, "there is no statement '%.*s'",
                  (int)(t->n < 60 ? t->n : 60), t->p);
}

/* Does the tag that begins here end or part a statement around it? */
static bool at_end_tag(const jt_parse *s) {
    const jt_token *t = &s->tokens[s->at + 1];
    return t->kind == T_NAME &&
           ((t->n > 3 && !memcmp(t->p, "end", 3)) || (t->n == 4 && !memcmp(t->p, "else", 4)) ||
            (t->n == 4 && !memcmp(t->p, "elif", 4)));
}

void jt_parse_statements(jt_parse *s, jt_nodes *out) {
    jt_deeper(s);
    for (;;) {
        const jt_token *t = jt_now(s);
        jt_node *n;
        if (t->kind == T_DATA) {
            n = jt_node_new(s, N_TEXT, jt_take(s));
            n->value = jt_of_str(jt_parse_str(s, t->p, t->n));
        } else if (t->kind == T_PRINT_BEGIN) {
            n = jt_node_new(s, N_PRINT, jt_take(s));
            jt_nodes_add(s, &n->items, jt_parse_tuple(s, true, false));
            if (jt_now(s)->kind != T_PRINT_END) jt_unexpected(s, "'}}'");
            jt_take(s);
        } else if (t->kind == T_BLOCK_BEGIN && !at_end_tag(s)) {
            jt_take(s);
            n = parse_statement(s);
            end_block(s);
        } else {
            break;
        }
        jt_nodes_add(s, out, n);
    }
    s->depth--;
}
