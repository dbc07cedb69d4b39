/* What a product asks for before the waits of its tile (et_early_as). */
#include "ir/product/product.h"

/* ---- weights that a tensor chooses ----
 *
 * Where a tensor says which weights the first are, as for experts, they are asked for all the same,
 * by what that tensor holds before the waits. Waits that say that the tensor is written are left
 * out where others imply them, so it has mostly been written long before the tile may begin. It is
 * read again after the waits: where it holds what it held, the weights in flight are the right
 * ones, else the right ones are asked for. Nothing but time depends on the guess; whatever it is,
 * its weights are inside their tensor. */

struct guess {
    const et_product_cx *g;
    const et_step *s;
    et_guess *of;
    bool ok;
};

static void find_guess(void *ctx, et_expr e) {
    struct guess *u = ctx;
    const et_product_cx *g = u->g;
    const et_step *s = u->s;
    const et_node_x n = *et_x(g->x, e);
    if (n.op != ET_X_LOAD || !et_reads_stored(g->x, e, g->stored)) return;
    if (n.i2 == ET_LOAD_TENSOR && !g->stored[n.i]) { /* weights, where what is guessed says */
        u->ok &= et_load_inside(g->p, e, ET_NO_EXPR);
        return;
    }
    for (int i = 0; i < u->of->n; i++)
        if (et_expr_eq(u->of->load[i], e)) return;
    bool fits = u->of->n < ET_MOST_GUESSED && n.i2 == ET_LOAD_TENSOR && n.type == ET_T_I32 &&
                et_load_inside(g->p, e, ET_NO_EXPR) && !g->p->tensors[n.i].tagged;
    for (int i = 0; i < n.nops; i++)
        fits &= !et_reads_stored(g->x, n.ops[i], g->stored) &&
                !et_expr_has_var(g->x, n.ops[i], s->nvar) &&
                !et_expr_has_var(g->x, n.ops[i], s->kvar);
    u->ok &= fits;
    if (fits) u->of->load[u->of->n++] = e;
}

bool et_early_guess(const et_product_cx *g, const et_mainloop *c, et_guess *out) {
    struct guess u = {.g = g, .s = c->s, .of = out, .ok = true};
    out->n = 0;
    et_walk(g->x, c->cond, find_guess, &u);
    for (int i = 0; i < c->s->nacc; i++)
        et_walk(g->x, c->s->b[i], find_guess, &u);
    return u.ok && out->n > 0;
}

static void note_store(void *ctx, const et_step *s, int tensor, bool is_store,
                       const et_expr *index) {
    struct guess *u = ctx;
    (void)s, (void)index;
    for (int i = 0; i < u->of->n && is_store; i++)
        u->ok &= et_x(u->g->x, u->of->load[i])->i != tensor;
}

/* None of what is guessed is written by tasks that the grid waits for itself. */
static bool written_before(const et_product_cx *g, const et_grid *gr, et_guess *of) {
    const et_program *p = g->p;
    struct guess u = {.g = g, .of = of, .ok = true};
    for (int i = 0; i < p->ngrids; i++)
        for (int k = 0; k < p->grids[i].nnotifies; k++)
            for (int w = 0; w < gr->nwaits; w++)
                if (gr->waits[w].event == p->grids[i].notifies[k].event)
                    et_func_accesses(p, &p->funcs[p->grids[i].func], note_store, &u);
    return u.ok;
}

static bool may_guess(const et_product_cx *g, const et_grid *gr, const et_mainloop *c) {
    et_guess of;
    if (et_schedule_of(g->p->schedule)->kernels) return false; /* all has been written by then */
    return gr->nwaits && c->direct && !c->streamed && !c->computed && !c->zeros && c->k >= 0 &&
           c->cond.id && !et_reads_stored(g->x, c->s->nlive, g->stored) &&
           !c->s->plan[ET_PLAN_PACKED].made && et_early_guess(g, c, &of) &&
           written_before(g, gr, &of);
}

/* ---- weights that are known ---- */

static bool may_load(const et_product_cx *g, const et_mainloop *c) {
    const et_step *s = c->s;
    bool known = c->direct && !c->cond.id && !et_reads_stored(g->x, s->nlive, g->stored) &&
                 !et_reads_stored(g->x, s->kextent, g->stored);
    for (int i = 0; i < s->nacc && known; i++)
        known = !et_reads_stored(g->x, s->b[i], g->stored);
    return known;
}

/* ---- a pipeline of both operands ---- */

/* Is where E, an operand, lies known without what other tasks write? */
static bool is_placed(const et_product_cx *g, const et_mainloop *c, et_expr e) {
    if (!g->t->copies || !et_access_direct(g->p, g->f, c->s, e, c->piece)) return false;
    const et_node_x *x = et_x(g->x, e);
    for (int i = 0; i < x->nops; i++)
        if (et_expr_loads(g->x, x->ops[i])) return false;
    return true;
}

static bool may_begin(const et_product_cx *g, const et_mainloop *c) {
    if (!et_rows_chunks_have(g, c) || c->cond.id || c->chunks < 1 ||
        et_expr_loads(g->x, c->s->nlive) || !is_placed(g, c, c->s->a))
        return false;
    for (int i = 0; i < c->s->nacc; i++)
        if (!is_placed(g, c, c->s->b[i])) return false;
    return true;
}

int et_pipeline_in_flight(const et_mainloop *c) {
    return c->stages - (c->warpgroup ? 2 : 1);
}

static int most_chunks(const et_product_cx *g, const et_mainloop *c) {
    if (c->stage_k) return 0; /* weights are in flight already */
    for (int i = 0; i < c->s->nacc; i++)
        if (et_reads_stored(g->x, c->s->b[i], g->stored)) return 0;
    int n = et_pipeline_in_flight(c);
    return n < c->chunks ? n : (int)c->chunks;
}

et_early_as et_early_may(const et_product_cx *g, const et_grid *gr, const et_mainloop *c,
                         int *out_chunks) {
    *out_chunks = 0;
    if (may_load(g, c)) return ET_EARLY_LOADS;
    if (may_guess(g, gr, c)) return ET_EARLY_GUESS;
    if (!may_begin(g, c)) return ET_EARLY_NONE;
    *out_chunks = most_chunks(g, c);
    return ET_EARLY_PIPELINE;
}

/* ---- asked into the L2 ----
 *
 * A prefetch is no access: what is written in the meantime is written to the L2 too, and read from
 * there. */

int64_t et_prefetch_from(const et_step *s, const et_product_plan *w) {
    return (int64_t)w->early_chunks * w->chunk * et_dtype_bytes(s->operand) / ET_LINE;
}

bool et_prefetch_may(const et_product_cx *g, const et_step *s, int i) {
    et_expr b = s->b[i];
    int64_t k;
    return g->t->prefetches && et_step_stages(g->f, s) && !g->f->locals[s->stage_b].slot &&
           !et_reads_stored(g->x, b, g->stored) && !et_reads_stored(g->x, s->nlive, g->stored) &&
           et_access_direct(g->p, g->f, s, b, 16 / et_dtype_bytes(s->operand)) &&
           g->p->tensors[et_x(g->x, b)->i].kind == ET_TENSOR_WEIGHT &&
           et_is_int(g->x, s->kextent, &k);
}

int et_prefetch_most(const et_product_cx *g, const et_step *s, const et_product_plan *w) {
    int bytes = et_dtype_bytes(s->operand);
    int64_t k;
    bool any = false;
    for (int i = 0; i < s->nacc; i++)
        any |= et_prefetch_may(g, s, i);
    if (!any || !et_is_int(g->x, s->kextent, &k)) return 0;
    int64_t lines = k * bytes / ET_LINE - et_prefetch_from(s, w);
    return lines < 1 ? 0 : (int)(lines * ET_LINE / bytes);
}

bool et_prefetch_row(const et_product_cx *g, const et_step *s, et_expr load) {
    const et_node_x n = *et_x(g->x, load);
    int64_t extent;
    et_step_var v[ET_STEP_VARS];
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_TENSOR || et_reads_stored(g->x, load, g->stored) ||
        g->p->tensors[n.i].kind != ET_TENSOR_WEIGHT ||
        !et_is_int(g->x, et_var_extent(g->x, s->kvar), &extent) ||
        et_dtype_bits(g->p->tensors[n.i].shape.dtype) < 8 ||
        !et_expr_eq(n.ops[n.nops - 1], et_var(g->x, s->kvar)))
        return false;
    for (int i = 0, count = et_step_vars(g->x, s, v); i < count; i++)
        for (int d = 0; d + 1 < n.nops; d++)
            if (et_expr_has_var(g->x, n.ops[d], v[i].var)) return false;
    return et_x(g->x, et_subst_var(g->x, load, s->kvar, et_int(g->x, 0)))->op == ET_X_LOAD;
}

struct finding {
    const et_product_cx *g;
    const et_step *s;
};

static bool is_row(const void *ctx, et_expr e) {
    const struct finding *f = ctx;
    return et_prefetch_row(f->g, f->s, e);
}

bool et_prefetch_has_auxiliary(const et_product_cx *g, const et_step *s) {
    return g->t->prefetches && et_expr_any(g->x, s->a, is_row, &(struct finding){g, s});
}

bool et_prefetch_suits(const et_product_cx *g, const et_step *s, const et_product_plan *w) {
    return w->prefetch * et_dtype_bytes(s->operand) % ET_LINE == 0 &&
           (!w->prefetch || w->prefetch <= et_prefetch_most(g, s, w)) &&
           (!w->prefetch_auxiliary || et_prefetch_has_auxiliary(g, s));
}
