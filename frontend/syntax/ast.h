/* ast.h - the tree of an .etg text, as the parser leaves it for sema. */
#ifndef ET_AST_H
#define ET_AST_H

#include "frontend/syntax/lex.h"

enum {
    ET_MAX_DEPTH = 200,  /* levels of an expression's tree */
    ET_MAX_ITEMS = 64,   /* arguments of a call, items of a list, names of a statement */
    ET_MAX_NESTING = 64, /* loops within loops as far as the parser follows them */
    ET_MAX_STMTS = 200000,
    ET_MAX_ERRORS = 100,
};
#define ET_MAX_SOURCE ((size_t)64 << 20) /* bytes of a program */

typedef struct {
    const char *text;
    et_loc loc;
} et_ident;

typedef enum {
    ET_E_INT,
    ET_E_FLOAT,
    ET_E_STRING,
    ET_E_NAME,
    ET_E_CALL,      /* text: function; kid: positional arguments; kw */
    ET_E_INDEX,     /* kid[0]: what is indexed; the rest: expressions and SLICEs */
    ET_E_SLICE,     /* kid[0], kid[1]: bounds, kid[2]: step; each may be NULL */
    ET_E_LIST,      /* [a, b, ...] */
    ET_E_RANGE,     /* text in kid[0]..kid[1]: a dimension of a weight, a variable of attend */
    ET_E_UNARY,     /* op: MINUS or NOT */
    ET_E_BINARY,    /* op */
    ET_E_TRANSPOSE, /* kid[0].T */
} et_ast_kind;

typedef struct et_ast et_ast;
typedef struct {
    et_ident name;
    et_ast *value;
} et_kwarg;

struct et_ast {
    et_ast_kind kind;
    et_tok_kind op;
    int depth; /* levels of the tree below and with this node */
    et_loc loc;
    const char *text;
    int64_t i;
    double f;
    et_ast **kid;
    int n, cap;
    et_kwarg *kw;
    int nkw, ckw;
};

typedef struct {
    et_ident dtype; /* text NULL: no type was written, or it could not be read */
    et_ast *dims;   /* LIST, or NULL for a scalar */
    bool bad;
} et_type_ast;

typedef enum {
    ET_ST_MODEL,  /* names[0] */
    ET_ST_DIM,    /* names[0] in lo..hi */
    ET_ST_CONST,  /* names[0] = expr */
    ET_ST_INPUT,  /* names : type */
    ET_ST_WEIGHT, /* names : type [= source] */
    ET_ST_STATE,  /* names : type */
    ET_ST_DEF,    /* names[0](params) = expr */
    ET_ST_FOR,    /* names[0] in lo..hi body */
    ET_ST_OUTPUT, /* names[0] [: type] = expr */
    ET_ST_ASSIGN, /* names = expr, or names[0][target's indices] = expr */
} et_stm_kind;

/* A statement with a syntax error keeps what was read of it: `bad` is set, expressions may be NULL,
 * and the names it would have defined are in `names`, so that their uses are not errors too. */
typedef struct et_stm et_stm;
struct et_stm {
    et_stm_kind kind;
    et_loc loc;
    bool bad;
    et_ident *names;
    int nnames, cnames;
    et_ident *params;
    int nparams, cparams;
    et_type_ast type;
    et_ast *lo, *hi, *expr;
    et_ast *target; /* INDEX, or NULL */
    et_ast *hint;   /* OUTPUT, ASSIGN: the call of @tile(...), or NULL */
    et_ast *range;  /* OUTPUT, ASSIGN: the call of @range(...), or NULL */
    et_ast *split;  /* WEIGHT: the call of @split(...), or NULL */
    int dynamic;    /* OUTPUT, ASSIGN: 1 for @dynamic, -1 for @static, else 0 */
    et_loc dynamic_loc;
    const char *source;
    et_loc source_loc;
    et_stm **body;
    int nbody, cbody;
};

typedef struct {
    et_stm **stm;
    int n, cap;
} et_program_ast;

/* Parse all of TEXT. FILE is the index et_diag_file gave, or 0. Syntax errors are reported; what
 * could be read is returned all the same. */
et_program_ast et_parse_text(et_arena *, et_diags *, int file, const char *text, size_t bytes);

#endif
