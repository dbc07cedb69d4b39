#include "runtime/etrt/manifest/expr.h"
#include "runtime/etrt_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool etrt_expr_const(int64_t value, struct etrt_expr *out) {
    out->count = 0;
    out->steps = malloc(sizeof *out->steps);
    if (!out->steps) return false;
    out->count = 1;
    out->steps[0] = (struct etrt_expr_step){ETRT_EXPR_CONST, value};
    return true;
}

void etrt_expr_free(struct etrt_expr *e) {
    free(e->steps);
    *e = (struct etrt_expr){0};
}

static bool parse_step(const char *word, size_t n, const char *const *symbols, int nsymbols,
                       struct etrt_expr_step *out) {
    static const struct {
        const char *text;
        enum etrt_expr_op op;
    } ops[] = {{"+", ETRT_EXPR_ADD},  {"-", ETRT_EXPR_SUB}, {"*", ETRT_EXPR_MUL},
               {"/", ETRT_EXPR_DIV},  {"%", ETRT_EXPR_MOD}, {"min", ETRT_EXPR_MIN},
               {"max", ETRT_EXPR_MAX}};
    for (int i = 0; i < nsymbols; i++)
        if (strlen(symbols[i]) == n && memcmp(symbols[i], word, n) == 0) {
            *out = (struct etrt_expr_step){ETRT_EXPR_SYMBOL, i};
            return true;
        }
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strlen(ops[i].text) == n && memcmp(ops[i].text, word, n) == 0) {
            *out = (struct etrt_expr_step){ops[i].op, 0};
            return true;
        }
    char digits[24], *end;
    if (n >= sizeof digits) return false;
    memcpy(digits, word, n);
    digits[n] = 0;
    size_t first = digits[0] == '-';
    if (digits[first] < '0' || digits[first] > '9') return false;
    errno = 0;
    *out = (struct etrt_expr_step){ETRT_EXPR_CONST, strtoll(digits, &end, 10)};
    return *end == 0 && errno == 0 && out->value != INT64_MIN;
}

static bool parse_steps(const char *text, const char *const *symbols, int nsymbols,
                        struct etrt_expr *out, char err[ETRT_EXPR_ERR]) {
    int depth = 0;
    for (const char *p = text + strspn(text, " "); *p;) {
        size_t n = strcspn(p, " ");
        if (out->count == ETRT_EXPR_MAX_STEPS) {
            snprintf(err, ETRT_EXPR_ERR, "too long");
            return false;
        }
        struct etrt_expr_step *step = &out->steps[out->count];
        if (!parse_step(p, n, symbols, nsymbols, step)) {
            snprintf(err, ETRT_EXPR_ERR, "\"%.*s\" is not a symbol, an integer or an operator",
                     n > 64 ? 64 : (int)n, p);
            return false;
        }
        out->count++;
        bool leaf = step->op == ETRT_EXPR_CONST || step->op == ETRT_EXPR_SYMBOL;
        if (!leaf && depth < 2) {
            snprintf(err, ETRT_EXPR_ERR, "\"%.*s\" lacks an operand", (int)n, p);
            return false;
        }
        depth += leaf ? 1 : -1;
        if (depth > ETRT_EXPR_MAX_DEPTH) {
            snprintf(err, ETRT_EXPR_ERR, "nested too deeply");
            return false;
        }
        p += n;
        p += strspn(p, " ");
    }
    if (depth == 1) return true;
    snprintf(err, ETRT_EXPR_ERR, depth ? "leaves %d values" : "is empty", depth);
    return false;
}

bool etrt_expr_parse(const char *text, const char *const *symbols, int nsymbols,
                     struct etrt_expr *out, char err[ETRT_EXPR_ERR]) {
    *out = (struct etrt_expr){.steps = malloc(ETRT_EXPR_MAX_STEPS * sizeof *out->steps)};
    if (!out->steps) {
        snprintf(err, ETRT_EXPR_ERR, "out of host memory");
        return false;
    }
    if (!parse_steps(text, symbols, nsymbols, out, err)) {
        etrt_expr_free(out);
        return false;
    }
    struct etrt_expr_step *less = realloc(out->steps, (size_t)out->count * sizeof *less);
    if (less) out->steps = less;
    return true;
}

bool etrt_expr_uses_symbols(const struct etrt_expr *e) {
    for (int i = 0; i < e->count; i++)
        if (e->steps[i].op == ETRT_EXPR_SYMBOL) return true;
    return false;
}

static bool apply(enum etrt_expr_op op, int64_t a, int64_t b, int64_t *out) {
    switch (op) {
    case ETRT_EXPR_ADD:
        return etrt_int_add(a, b, out);
    case ETRT_EXPR_SUB:
        return etrt_int_sub(a, b, out);
    case ETRT_EXPR_MUL:
        return etrt_int_mul(a, b, out);
    case ETRT_EXPR_MIN:
        *out = etrt_int_min(a, b);
        return true;
    case ETRT_EXPR_MAX:
        *out = etrt_int_max(a, b);
        return true;
    case ETRT_EXPR_DIV:
        return etrt_int_div(a, b, out);
    case ETRT_EXPR_MOD:
        return etrt_int_mod(a, b, out);
    default:
        return false;
    }
}

bool etrt_expr_eval(const struct etrt_expr *e, const int64_t *values, int64_t *out) {
    int64_t stack[ETRT_EXPR_MAX_DEPTH];
    int depth = 0;
    for (int i = 0; i < e->count; i++) {
        const struct etrt_expr_step *step = &e->steps[i];
        if (step->op == ETRT_EXPR_CONST || step->op == ETRT_EXPR_SYMBOL) {
            stack[depth++] = step->op == ETRT_EXPR_CONST ? step->value : values[step->value];
        } else {
            if (!apply(step->op, stack[depth - 2], stack[depth - 1], &stack[depth - 2]))
                return false;
            depth--;
        }
    }
    *out = stack[0];
    return true;
}
