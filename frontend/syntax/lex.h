/* lex.h - tokens of an .etg text. */
#ifndef ET_LEX_H
#define ET_LEX_H

#include "ir/base/diag.h"
#include <stdint.h>

/* X(NAME, text): statement keywords first, from MODEL to OUTPUT. */
#define ET_TOKENS(X)                                                                               \
    X(EOF, "end of file")                                                                          \
    X(NEWLINE, "end of line")                                                                      \
    X(BAD, "malformed token")                                                                      \
    X(NAME, "name")                                                                                \
    X(INT, "integer")                                                                              \
    X(FLOAT, "number")                                                                             \
    X(STRING, "string")                                                                            \
    X(MODEL, "model")                                                                              \
    X(DIM, "dim")                                                                                  \
    X(CONST, "const")                                                                              \
    X(INPUT, "input")                                                                              \
    X(WEIGHT, "weight")                                                                            \
    X(STATE, "state")                                                                              \
    X(DEF, "def")                                                                                  \
    X(FOR, "for")                                                                                  \
    X(OUTPUT, "output")                                                                            \
    X(IN, "in")                                                                                    \
    X(AND, "and")                                                                                  \
    X(OR, "or")                                                                                    \
    X(NOT, "not")                                                                                  \
    X(EQ, "==")                                                                                    \
    X(NE, "!=")                                                                                    \
    X(LE, "<=")                                                                                    \
    X(GE, ">=")                                                                                    \
    X(RANGE, "..")                                                                                 \
    X(LT, "<")                                                                                     \
    X(GT, ">")                                                                                     \
    X(ASSIGN, "=")                                                                                 \
    X(PLUS, "+")                                                                                   \
    X(MINUS, "-")                                                                                  \
    X(STAR, "*")                                                                                   \
    X(SLASH, "/")                                                                                  \
    X(AT, "@")                                                                                     \
    X(DOT, ".")                                                                                    \
    X(COMMA, ",")                                                                                  \
    X(COLON, ":")                                                                                  \
    X(SEMI, ";")                                                                                   \
    X(LPAREN, "(")                                                                                 \
    X(RPAREN, ")")                                                                                 \
    X(LBRACKET, "[")                                                                               \
    X(RBRACKET, "]")                                                                               \
    X(LBRACE, "{")                                                                                 \
    X(RBRACE, "}")

typedef enum {
#define X(NAME, text) ET_TOK_##NAME,
    ET_TOKENS(X)
#undef X
        ET_TOK_COUNT
} et_tok_kind;

const char *et_tok_text(et_tok_kind);
static inline bool et_tok_starts_statement(et_tok_kind k) {
    return k >= ET_TOK_MODEL && k <= ET_TOK_OUTPUT;
}

enum {
    ET_MAX_NAME = 255,    /* bytes of a name */
    ET_MAX_STRING = 1024, /* bytes between quotes */
};
#define ET_MAX_INT                                                                                 \
    ((int64_t)1 << 40) /* magnitude of every integer a program can write or compute */

typedef struct {
    et_tok_kind kind;
    et_loc loc;
    const char *text; /* NAME, STRING */
    int64_t i;        /* INT */
    double f;         /* FLOAT */
    bool first;       /* first on its line */
} et_tok;

typedef struct {
    et_arena *arena;
    et_diags *diags;
    int file;
    const char *p, *end;
    const char *line_begin;
    int line;
    int depth;  /* open ( and [: newlines inside them do not count */
    bool quiet; /* report nothing: the parser is skipping */
    bool fresh; /* nothing read on this line yet */
} et_lexer;

void et_lex_init(et_lexer *, et_arena *, et_diags *, int file, const char *text, size_t bytes);
/* The next token; a malformed one is reported here and comes back as BAD. */
et_tok et_lex(et_lexer *);

#endif
