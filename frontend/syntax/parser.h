/* parser.h - what parse.c (statements) and parse_expr.c (expressions) share. */
#ifndef ET_PARSER_H
#define ET_PARSER_H

#include "frontend/syntax/ast.h"

typedef struct {
    et_arena *arena;
    et_diags *diags;
    et_lexer lex;
    et_tok tok;  /* the token not yet consumed */
    int depth;   /* expressions being parsed within each other */
    int nesting; /* blocks likewise */
    int nstm;
    et_ast *hint, *range, *split; /* hints read, and not yet part of their statement */
    int dynamic;
    et_loc dynamic_loc;
    bool failed; /* a syntax error was met in this statement */
    bool stop;   /* give up the file */
} et_parser;

void et_parser_next(et_parser *);
bool et_parser_take(et_parser *, et_tok_kind); /* consume it if it comes next */
/* Consume it, or report that it was expected ("expected ')' WHERE, found ..."). */
bool et_parser_expect(et_parser *, et_tok_kind, const char *where);
void et_parser_error(et_parser *, et_loc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Report the coming token as unexpected; a malformed one was reported already. */
void et_parser_unexpected(et_parser *, const char *expected);

/* NULL after a syntax error, which was reported. */
et_ast *et_parse_expr(et_parser *);
et_ast *et_parse_postfix(et_parser *);
et_ast *et_parse_list(et_parser *);

#endif
