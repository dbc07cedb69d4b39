/* Auxiliary operands: a left operand like x[m, k] * norm[m] * g[k] reads weights that are the same
 * for all rows. Where products' weights stream, a tile waits for its rows and little else; then
 * these weights are copied to local memory by a step of their own, which needs no wait and so can
 * be early (codegen/step/early.c). */
#include "ir/program/step.h"
#include "passes/pipeline/pipeline.h"
#include "passes/tile/tiler.h"

enum { MOST_BYTES = 16 << 10, MOST = 4 };

struct beside {
    et_tiler *t;
    const et_step *s;
    int n;
    et_expr load[MOST], local[MOST];
};

/* The same for every tile, row and column: an index of k, and of loops. */
static bool is_beside(const struct beside *b, const et_node_x *n, int64_t *out_k) {
    const et_exprs *x = b->t->x;
    if (n->op != ET_X_LOAD || n->i2 != ET_LOAD_TENSOR) return false;
    const et_tensor *of = &b->t->p->tensors[n->i];
    if (of->kind != ET_TENSOR_WEIGHT || et_dtype_bits(of->shape.dtype) < 16 ||
        !et_expr_eq(n->ops[n->nops - 1], et_var(b->t->x, b->s->kvar)) ||
        !et_is_int(x, b->s->kextent, out_k))
        return false;
    for (int d = 0; d + 1 < n->nops; d++) {
        const et_node_x *at = et_x(x, n->ops[d]);
        bool loop = false;
        for (int l = 0; l < b->t->p->g->nloops && at->op == ET_X_VAR; l++)
            loop |= b->t->p->g->loops[l].var == at->i;
        if (!loop && at->op != ET_X_INT) return false;
    }
    return *out_k * et_dtype_bytes(of->shape.dtype) <= MOST_BYTES;
}

static void note(void *ctx, et_expr e) {
    struct beside *b = ctx;
    const et_node_x n = *et_x(b->t->x, e);
    int64_t k;
    if (b->n == MOST || !is_beside(b, &n, &k)) return;
    for (int i = 0; i < b->n; i++)
        if (b->load[i].id == e.id) return;
    b->load[b->n++] = e;
}

static void copy(struct beside *b, int i) {
    et_exprs *x = b->t->x;
    const et_node_x n = *et_x(x, b->load[i]);
    const et_tensor *of = &b->t->p->tensors[n.i];
    int64_t k = 0;
    et_is_int(x, b->s->kextent, &k);
    int dim[] = {(int)k}, var = et_graph_var(b->t->p->g, "w", b->s->kextent);
    int local = et_local_add(b->t->p, &b->t->f, of->name, of->shape.dtype, 1, dim, (int)k);
    et_step *s = et_tiler_step(b->t, ET_STEP_MAP);
    s->nvars = 1;
    s->vars[0] = var;
    s->value = et_subst_var(x, b->load[i], b->s->kvar, et_var(x, var));
    s->to = (et_place){.space = ET_LOAD_LOCAL, .id = local, .rank = 1};
    s->to.index[0] = et_var(x, var);
    et_expr at[] = {et_var(x, b->s->kvar)};
    b->local[i] = et_load(x, ET_LOAD_LOCAL, local, n.type, 1, at);
}

static et_expr from_local(void *ctx, et_exprs *x, et_expr leaf) {
    const struct beside *b = ctx;
    (void)x;
    for (int i = 0; i < b->n; i++)
        if (b->load[i].id == leaf.id) return b->local[i];
    return ET_NO_EXPR;
}

et_expr et_tile_beside(et_tiler *t, const et_step *s) {
    struct beside b = {.t = t, .s = s};
    if (!et_may_stream(t->opt) || et_is_without(t->opt->without, ET_FEATURE_AUXILIARY)) return s->a;
    et_walk(t->x, s->a, note, &b);
    for (int i = 0; i < b.n; i++)
        copy(&b, i);
    return b.n ? et_subst(t->x, s->a, from_local, &b) : s->a;
}
