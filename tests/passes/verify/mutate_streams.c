/* mutate_streams.c - programs changed in which weights come ahead of their tasks, and from where. A
 * stream reads them from the start of a launch on, whatever else has been done. */
#include "ir/program/step.h"
#include "tests/passes/verify/mutate.h"

struct streams {
    et_program *p;
    mutant_fn fn;
    void *ctx;
    bool *written; /* by tensor: some task does */
};

static void emit(struct streams *s, bool wrong, bool same, const char *what) {
    s->fn(s->ctx, s->p,
          &(mutant){.what = what, .kind = MUTATE_STREAM, .wrong = wrong, .same = same});
}

static void note_store(void *ctx, const et_step *step, int tensor, bool is_store,
                       const et_expr *index) {
    struct streams *s = ctx;
    (void)step, (void)index;
    s->written[tensor] |= is_store;
}

struct search {
    const struct streams *s;
    bool found;
};

static void find_written(void *ctx, et_expr e) {
    struct search *q = ctx;
    const et_node_x *n = et_x(q->s->p->g->exprs, e);
    q->found |= n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR && q->s->written[n->i];
}

static bool is_written(const struct streams *s, et_expr e) {
    struct search q = {s, false};
    et_walk(s->p->g->exprs, e, find_written, &q);
    return q.found;
}

struct exchange {
    int from, to;
};

static et_expr exchange(void *ctx, et_exprs *x, et_expr e) {
    const struct exchange *by = ctx;
    const et_node_x n = *et_x(x, e);
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_TENSOR || n.i != by->from) return ET_NO_EXPR;
    return et_load(x, n.i2, by->to, n.type, n.nops, n.ops);
}

static bool alike(const et_program *p, int a, int b) {
    const et_shape *s = &p->tensors[a].shape, *t = &p->tensors[b].shape;
    bool same = s->dtype == t->dtype && s->rank == t->rank;
    for (int d = 0; same && d < s->rank; d++)
        same = et_expr_eq(s->dim[d], t->dim[d]);
    return same;
}

/* Weights of B from every tensor of the same shape in place of their own. */
static void exchange_weights(struct streams *s, const et_grid *g, et_expr *b) {
    et_program *p = s->p;
    const et_expr was = *b;
    for (int from = 0; from < p->ntensors; from++)
        for (int to = 0; to < p->ntensors; to++) {
            if (from == to || !alike(p, from, to)) continue;
            *b = et_subst(p->g->exprs, was, exchange, &(struct exchange){from, to});
            if (et_expr_eq(*b, was)) continue;
            char what[256];
            snprintf(what, sizeof what, "%s streams %s in place of %s", g->name,
                     p->tensors[to].name, p->tensors[from].name);
            emit(s, is_written(s, *b), false, what);
            *b = was;
        }
}

static void mutate_grid(struct streams *s, et_grid *g) {
    et_func *f = &s->p->funcs[g->func];
    bool was = g->streamed, early = false;
    char what[256];
    for (int i = 0; i < f->nsteps; i++)
        for (int b = 0; f->steps[i].kind == ET_STEP_CONTRACT && b < f->steps[i].nacc; b++) {
            early |= is_written(s, f->steps[i].b[b]);
            if (was) exchange_weights(s, g, &f->steps[i].b[b]);
        }
    g->streamed = !was;
    snprintf(what, sizeof what, "%s %s", g->name, was ? "reads its weights itself" : "streams");
    emit(s, !was && early, was, what);
    g->streamed = was;
}

void mutate_streams(et_program *p, mutant_fn fn, void *ctx) {
    struct streams s = {p, fn, ctx, NULL};
    bool any = false;
    s.written = et_alloc(p->g->arena, (size_t)p->ntensors + 1);
    for (int i = 0; i < p->nfuncs; i++)
        et_func_accesses(p, &p->funcs[i], note_store, &s);
    for (int i = 0; i < p->ngrids; i++) {
        any |= p->grids[i].streamed;
        mutate_grid(&s, &p->grids[i]);
    }
    et_ring was = p->ring;
    p->ring.slots = 0;
    if (any) emit(&s, true, false, "what is streamed has no ring");
    p->ring = was;
}
