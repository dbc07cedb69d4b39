/* parser.c - tokens, nodes and names: what the rules of parse_expr.c and parse_stmt.c share; and
 * the calls that make and free a template. */
#include "examples/llm/template/parse.h"
#include "examples/llm/template/value/utf8.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_TEXT = 1 << 20,
    MAX_MEMORY = 256 << 20, /* of the tree: a node is some 300 bytes, a token 60 */
    MAX_DEPTH = 200,        /* of expressions and statements in one another */
};

void jt_parse_fail(jt_parse *s, int line, int column, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    s->error->status = LM_TEMPLATE_SYNTAX;
    s->error->line = line;
    s->error->column = column;
    vsnprintf(s->error->message, sizeof s->error->message, fmt, ap);
    va_end(ap);
    longjmp(s->fail, 1);
}

void *jt_parse_alloc(jt_parse *s, size_t bytes) {
    void *p = jt_arena_alloc(s->arena, bytes);
    if (p) return p;
    jt_parse_fail(s, 0, 0, s->arena->exhausted ? "out of memory" : "the template is too large");
}

void jt_deeper(jt_parse *s) {
    const jt_token *t = jt_now(s);
    if (++s->depth > MAX_DEPTH) jt_parse_fail(s, t->line, t->column, "nested too deep");
}

jt_node *jt_node_new(jt_parse *s, jt_node_kind kind, const jt_token *where) {
    jt_node *n = jt_parse_alloc(s, sizeof *n);
    n->kind = kind;
    n->place = (jt_place){where->line, where->column};
    return n;
}

void jt_nodes_add(jt_parse *s, jt_nodes *list, jt_node *n) {
    if (list->n == list->cap) {
        uint32_t cap = list->cap ? 2 * list->cap : 4;
        jt_node **grown = jt_parse_alloc(s, cap * sizeof *grown);
        if (list->n) memcpy(grown, list->at, list->n * sizeof *grown);
        list->at = grown;
        list->cap = cap;
    }
    list->at[list->n++] = n;
}

jt_str *jt_parse_str(jt_parse *s, const char *p, size_t n) {
    jt_str *str = jt_parse_alloc(s, sizeof *str);
    *str = (jt_str){.p = p, .n = n, .chars = (int64_t)jt_utf8_count(p, n)};
    return str;
}

jt_str *jt_intern(jt_parse *s, const char *p, size_t n) {
    size_t lo = 0, hi = s->nnames;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        const jt_str *m = s->names[mid];
        int order = memcmp(m->p, p, m->n < n ? m->n : n);
        if (!order) order = (m->n > n) - (m->n < n);
        if (!order) return s->names[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (s->nnames == s->names_cap) {
        size_t cap = s->names_cap ? 2 * s->names_cap : 64;
        jt_str **grown = jt_parse_alloc(s, cap * sizeof *grown);
        if (s->nnames) memcpy(grown, s->names, s->nnames * sizeof *grown);
        s->names = grown;
        s->names_cap = cap;
    }
    memmove(s->names + lo + 1, s->names + lo, (s->nnames - lo) * sizeof *s->names);
    s->nnames++;
    return s->names[lo] = jt_parse_str(s, p, n);
}

jt_str *jt_parse_name(jt_parse *s, const jt_token *t) {
    return jt_intern(s, t->p, t->n);
}

/* ---- tokens ---- */

const jt_token *jt_take(jt_parse *s) {
    const jt_token *t = jt_now(s);
    if (t->kind != T_END) s->at++;
    return t;
}

static bool at_text(const jt_parse *s, jt_token_kind kind, const char *text) {
    const jt_token *t = jt_now(s);
    return t->kind == kind && t->n == strlen(text) && !memcmp(t->p, text, t->n);
}

bool jt_at_sign(const jt_parse *s, const char *sign) {
    return at_text(s, T_SIGN, sign);
}

bool jt_at_name(const jt_parse *s, const char *name) {
    return at_text(s, T_NAME, name);
}

bool jt_skip_sign(jt_parse *s, const char *sign) {
    bool is = jt_at_sign(s, sign);
    s->at += is;
    return is;
}

bool jt_skip_name(jt_parse *s, const char *name) {
    bool is = jt_at_name(s, name);
    s->at += is;
    return is;
}

void jt_unexpected(jt_parse *s, const char *wanted) {
    const jt_token *t = jt_now(s);
    switch (t->kind) {
    case T_END:
        jt_parse_fail(s, t->line, t->column, "expected %s, not the end", wanted);
    case T_DATA:
        jt_parse_fail(s, t->line, t->column, "expected %s, not text", wanted);
    case T_STRING:
        jt_parse_fail(s, t->line, t->column, "expected %s, not a string", wanted);
    default:
        jt_parse_fail(s, t->line, t->column, "expected %s, not '%.*s'", wanted,
                      (int)(t->n < 60 ? t->n : 60), t->p);
    }
}

void jt_expect_sign(jt_parse *s, const char *sign) {
    char wanted[16];
    snprintf(wanted, sizeof wanted, "'%s'", sign);
    if (!jt_skip_sign(s, sign)) jt_unexpected(s, wanted);
}

void jt_expect_word(jt_parse *s, const char *name) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, "'%s'", name);
    if (!jt_skip_name(s, name)) jt_unexpected(s, wanted);
}

const jt_token *jt_expect_name(jt_parse *s) {
    if (jt_now(s)->kind != T_NAME) jt_unexpected(s, "a name");
    return jt_take(s);
}

/* ---- templates ---- */

static void parse_text(jt_parse *s, const char *text, size_t n, jt_nodes *out) {
    if (n > MAX_TEXT) jt_parse_fail(s, 0, 0, "the template has more than 1 MiB");
    if (!jt_utf8_valid(text, n)) jt_parse_fail(s, 0, 0, "the template is not UTF-8");
    jt_lex(s, text, n);
    jt_parse_statements(s, out);
    if (jt_now(s)->kind == T_END) return;
    s->at++; /* behind {% */
    jt_unexpected(s, "a statement");
}

/* What jt_parse_fail jumps to. */
static bool parse(jt_parse *s, const char *text, size_t n, jt_nodes *out) {
    if (setjmp(s->fail)) return false;
    parse_text(s, text, n, out);
    return true;
}

lm_template *lm_template_parse(const char *text, size_t n, lm_template_error *error) {
    *error = (lm_template_error){.status = LM_TEMPLATE_OK};
    lm_template *t = calloc(1, sizeof *t);
    if (!t) {
        error->status = LM_TEMPLATE_MEMORY;
        snprintf(error->message, sizeof error->message, "out of memory");
        return NULL;
    }
    t->arena.limit = MAX_MEMORY;
    jt_parse s = {.arena = &t->arena, .error = error};
    if (parse(&s, text, n, &t->body)) return t;
    lm_template_free(t);
    return NULL;
}

void lm_template_free(lm_template *t) {
    if (!t) return;
    jt_arena_free(&t->arena);
    free(t);
}
