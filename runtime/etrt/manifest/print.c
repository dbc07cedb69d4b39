/* Shapes as people write them, out of reverse Polish. */
#include "runtime/etrt/manifest/manifest.h"

#include <inttypes.h>

static const char *const ops[] = {
    [ETRT_EXPR_ADD] = " + ", [ETRT_EXPR_SUB] = " - ", [ETRT_EXPR_MUL] = " * ",
    [ETRT_EXPR_DIV] = " / ", [ETRT_EXPR_MOD] = " % ", [ETRT_EXPR_MIN] = "min",
    [ETRT_EXPR_MAX] = "max"};

static bool leaf(const struct etrt_expr_step *s) {
    return s->op == ETRT_EXPR_CONST || s->op == ETRT_EXPR_SYMBOL;
}

/* The first step of the operand whose last is END. */
static int operand(const struct etrt_expr *e, int end) {
    for (int open = 1;; end--) {
        open += leaf(&e->steps[end]) ? -1 : 1;
        if (!open) return end;
    }
}

/* How strongly it holds together. */
static int strength(const struct etrt_expr_step *s) {
    return leaf(s) ? (s->op == ETRT_EXPR_CONST && s->value < 0 ? 0 : 3)
           : s->op == ETRT_EXPR_MIN || s->op == ETRT_EXPR_MAX ? 3
           : s->op == ETRT_EXPR_ADD || s->op == ETRT_EXPR_SUB ? 1
                                                              : 2;
}

static void print(FILE *f, const struct etrt_manifest *m, const struct etrt_expr *e, int end,
                  int least) {
    const struct etrt_expr_step *s = &e->steps[end];
    int own = strength(s);
    if (leaf(s) && s->op == ETRT_EXPR_SYMBOL) {
        fputs(m->symbols[s->value].name, f);
    } else if (leaf(s)) {
        fprintf(f, own < least ? "(%" PRId64 ")" : "%" PRId64, s->value);
    } else if (own == 3) {
        fprintf(f, "%s(", ops[s->op]);
        print(f, m, e, operand(e, end - 1) - 1, 0);
        fputs(", ", f);
        print(f, m, e, end - 1, 0);
        putc(')', f);
    } else {
        if (own < least) putc('(', f);
        print(f, m, e, operand(e, end - 1) - 1, own);
        fputs(ops[s->op], f);
        print(f, m, e, end - 1, own + 1);
        if (own < least) putc(')', f);
    }
}

void etrt_shape_print(FILE *f, const struct etrt_manifest *m, const struct etrt_tensor *t) {
    for (int d = 0; d < t->rank; d++) {
        if (d) fputs(", ", f);
        if (t->cut == d + 1)
            fprintf(f, "%" PRId64, t->shape[d].steps[0].value * etrt_parts(m, t));
        else
            print(f, m, &t->shape[d], t->shape[d].count - 1, 0);
    }
}
