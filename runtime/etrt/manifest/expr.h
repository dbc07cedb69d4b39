/* expr.h - a dimension: an integer, or reverse Polish over integers and symbols (etrt_abi.h). */
#ifndef ETRT_EXPR_H
#define ETRT_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum etrt_expr_op {
    ETRT_EXPR_CONST,
    ETRT_EXPR_SYMBOL, /* value is the symbol's index */
    ETRT_EXPR_ADD,
    ETRT_EXPR_SUB,
    ETRT_EXPR_MUL,
    ETRT_EXPR_DIV,
    ETRT_EXPR_MOD,
    ETRT_EXPR_MIN,
    ETRT_EXPR_MAX,
};

enum { ETRT_EXPR_MAX_STEPS = 256, ETRT_EXPR_MAX_DEPTH = 32, ETRT_EXPR_ERR = 256 };

struct etrt_expr {
    int count;
    struct etrt_expr_step {
        enum etrt_expr_op op;
        int64_t value;
    } * steps; /* malloc'ed */
};

bool etrt_expr_const(int64_t value, struct etrt_expr *out); /* false: out of memory */
/* SYMBOLS are the names TEXT may use. False with a reason in ERR, and OUT empty. */
bool etrt_expr_parse(const char *text, const char *const *symbols, int nsymbols,
                     struct etrt_expr *out, char err[ETRT_EXPR_ERR]);
void etrt_expr_free(struct etrt_expr *);
bool etrt_expr_uses_symbols(const struct etrt_expr *);
/* False where it has no value, see etrt_int.h. */
bool etrt_expr_eval(const struct etrt_expr *, const int64_t *values, int64_t *out);

#endif
