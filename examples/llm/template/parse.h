/* parse.h - between the parts that read a template: characters to tokens, tokens to a tree. */
#ifndef LLM_TEMPLATE_PARSE_H
#define LLM_TEMPLATE_PARSE_H

#include "examples/llm/template/ast.h"
#include <setjmp.h>

typedef enum {
    T_END,
    T_DATA,        /* text between the tags */
    T_PRINT_BEGIN, /* {{ */
    T_PRINT_END,
    T_BLOCK_BEGIN, /* {% */
    T_BLOCK_END,
    T_NAME,
    T_STRING,
    T_INT,
    T_FLOAT,
    T_SIGN, /* an operator or bracket: its text */
} jt_token_kind;

typedef struct {
    jt_token_kind kind;
    int line, column;
    const char *p; /* the text; of a string what it means */
    size_t n;
    jt_value value; /* of numbers */
} jt_token;

typedef struct {
    jt_arena *arena;
    lm_template_error *error;
    jmp_buf fail;
    jt_token *tokens;
    size_t ntokens, cap;
    /* the parser's */
    size_t at;
    int depth, loops; /* how deep expressions and statements nest; for loops around */
    jt_str **names;   /* one of each, sorted */
    size_t nnames, names_cap;
} jt_parse;

_Noreturn void jt_parse_fail(jt_parse *, int line, int column, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void *jt_parse_alloc(jt_parse *, size_t bytes);

/* All tokens of TEXT, the last of them T_END. */
void jt_lex(jt_parse *, const char *text, size_t n);
/* The value of what stands between the quotes at P. */
void jt_lex_string(jt_parse *, jt_token *, const char *p, size_t n);
void jt_lex_number(jt_parse *, jt_token *);

/* ---- of the parser ---- */

jt_node *jt_node_new(jt_parse *, jt_node_kind, const jt_token *where);
void jt_nodes_add(jt_parse *, jt_nodes *, jt_node *);
jt_str *jt_intern(jt_parse *, const char *p, size_t n); /* the one string of that name */
jt_str *jt_parse_name(jt_parse *, const jt_token *);
jt_str *jt_parse_str(jt_parse *, const char *p, size_t n);
static inline const jt_token *jt_now(const jt_parse *p) {
    return &p->tokens[p->at];
}
const jt_token *jt_take(jt_parse *); /* goes on behind the token it gives */
bool jt_at_sign(const jt_parse *, const char *sign);
bool jt_at_name(const jt_parse *, const char *name);
bool jt_skip_sign(jt_parse *, const char *sign);
bool jt_skip_name(jt_parse *, const char *name);
const jt_token *jt_expect_name(jt_parse *); /* any name */
void jt_expect_sign(jt_parse *, const char *sign);
void jt_expect_word(jt_parse *, const char *name);
_Noreturn void jt_unexpected(jt_parse *, const char *wanted);
void jt_deeper(jt_parse *);

/* WITH_COND: `a if b` may stand there. */
jt_node *jt_parse_expression(jt_parse *, bool with_cond);
/* One or, parted by commas, a tuple of them. END: a name that ends it, or NULL. */
jt_node *jt_parse_tuple(jt_parse *, bool with_cond, bool parenthesised);
/* `|filter...` after FIRST; INLINE: the first has no |. */
jt_node *jt_parse_filters(jt_parse *, jt_node *first, bool is_inline);
void jt_parse_statements(jt_parse *, jt_nodes *out);

#endif
