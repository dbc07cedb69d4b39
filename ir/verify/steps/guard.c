/* The nodes of a step's expressions, each with what holds where it is evaluated: a mask, a select
 * or the left side of a && or || rules out the rest. */
#include "ir/base/diag.h"
#include "ir/verify/steps/int.h"
#include <string.h>

enum { MAX_VISITS = 20000, MAX_NESTING = 2000 };

struct walk {
    struct steps *s;
    sv_node_fn fn;
    void *ctx;
    struct guards g;
    /* Of the expression walked: nodes with one below them, or themselves, that needs its guards. */
    unsigned char *hard;
    et_expr root;
    int visits;
};

void sv_assert_guards(struct steps *s, const struct guards *g) {
    for (int i = 0; i < g->n; i++)
        sv_assert(s->problem, (g->guard[i].holds ? sv_holds : sv_fails)(s->one, g->guard[i].e));
}

static unsigned char *all_easy(struct steps *s, et_expr root) {
    if (s->nhard <= root.id) {
        s->nhard = 2 * root.id + 1;
        s->hard = et_alloc(s->arena, s->nhard);
    }
    memset(s->hard, 0, (size_t)root.id + 1);
    return s->hard;
}

static void look(void *ctx, et_expr e) {
    struct walk *w = ctx;
    const et_node_x n = *et_x(w->s->x, e);
    bool hard = !w->fn(w->ctx, &w->g, &n, false);
    for (int i = 0; w->hard && i < n.nops; i++)
        hard |= w->hard[n.ops[i].id];
    if (!hard) return;
    if (!w->hard) w->hard = all_easy(w->s, w->root);
    w->hard[e.id] = 1;
}

static bool guarded(struct walk *w, et_expr e, int depth);

static bool under(struct walk *w, et_expr e, et_expr guard, bool holds, int depth) {
    if (w->g.n == SV_GUARDS) {
        sv_error(w->s, "has conditions nested too deeply");
        return false;
    }
    w->g.guard[w->g.n++] = (struct guard){guard, holds};
    bool ok = guarded(w, e, depth);
    w->g.n--;
    return ok;
}

static bool operands(struct walk *w, const et_node_x *n, int depth) {
    et_expr first = n->nops ? n->ops[0] : ET_NO_EXPR;
    switch (n->op) {
    case ET_X_SELECT:
        return guarded(w, first, depth) && under(w, n->ops[1], first, true, depth) &&
               under(w, n->ops[2], first, false, depth);
    case ET_X_AND:
    case ET_X_OR:
        return guarded(w, first, depth) && under(w, n->ops[1], first, n->op == ET_X_AND, depth);
    default:
        for (int i = 0; i < n->nops; i++)
            if (!guarded(w, n->ops[i], depth)) return false;
        return true;
    }
}

static bool guarded(struct walk *w, et_expr e, int depth) {
    const et_node_x n = *et_x(w->s->x, e);
    if (!w->hard[e.id]) return true;
    if (++w->visits > MAX_VISITS || depth > MAX_NESTING) {
        sv_error(w->s, "has an expression too large to look at");
        return false;
    }
    return operands(w, &n, depth + 1) && w->fn(w->ctx, &w->g, &n, true);
}

bool sv_each_node(struct steps *s, sv_node_fn fn, void *ctx) {
    const et_step *st = &s->f->steps[s->at];
    struct walk own, *w = &own;
    et_step_expr e[ET_STEP_EXPRS];
    for (int i = 0, n = et_step_exprs(st, e); i < n; i++) {
        *w = (struct walk){.s = s, .fn = fn, .ctx = ctx, .root = e[i].e};
        /* Attention reads what it reads whatever its mask says. */
        if (st->kind != ET_STEP_ATTEND && e[i].part != ET_PART_MASK && st->mask.id)
            w->g.guard[w->g.n++] = (struct guard){st->mask, true};
        et_walk(s->x, e[i].e, look, w);
        if (w->hard && !guarded(w, e[i].e, 0)) return false;
    }
    return true;
}
