/* A sub-tiled epilogue: where local memory has room for the sums of a band of rows only, the steps
 * after the product run in a loop over bands. The other sums stay in registers, and those of the
 * next band move to the registers of the first. */
#include "codegen/step/product/product.h"
#include <string.h>

struct cg_bands {
    et_contract *c;
    const et_func *whole; /* the function, whose rows are all there */
    cg_for loop;
    int mark;
    val sums[ET_MAX_SUMS];
};

/* ---- steps of a band ---- */

struct band_vars {
    const et_step *of;
    int row;              /* the variable */
    et_expr first, inner; /* row of the band; and in it */
};

static et_expr in_band(void *ctx, et_exprs *x, et_expr e) {
    const struct band_vars *t = ctx;
    et_node_x n = *et_x(x, e);
    if (n.op == ET_X_VAR && n.i == t->row) return et_add(x, t->first, t->inner);
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_LOCAL) return ET_NO_EXPR;
    for (int i = 0; i < t->of->nacc; i++) {
        if (t->of->acc[i] != n.i) continue;
        et_expr at[] = {n.ops[0], t->inner, et_subst(x, n.ops[2], in_band, ctx)};
        return et_load(x, n.i2, n.i, n.type, 3, at);
    }
    return ET_NO_EXPR;
}

static et_expr of_band(cg *g, struct band_vars *t, et_expr e) {
    return e.id ? et_subst(g->x, e, in_band, t) : e;
}

static et_step step_of(cg *g, struct band_vars *t, const et_step *whole) {
    et_step s = *whole;
    for (int i = 0; i < s.nvars; i++)
        if (s.vars[i] == t->row) s.vars[i] = et_x(g->x, t->inner)->i;
    s.mask = of_band(g, t, s.mask);
    s.value = of_band(g, t, s.value);
    s.tag = of_band(g, t, s.tag);
    s.rextent = of_band(g, t, s.rextent);
    for (int i = 0; i < s.to.rank; i++)
        s.to.index[i] = of_band(g, t, s.to.index[i]);
    return s;
}

/* The function with its steps from number AFTER on as they are for the band that FIRST is the
 * first row of. */
static et_func *func_of(cg *g, const et_contract *c, et_expr first) {
    int after = 0, rows = c->p.s->tm / c->p.bands;
    et_func *f = et_alloc(g->arena, sizeof *f);
    struct band_vars t = {.of = c->p.s, .first = first};
    t.inner = et_var(g->x, cg_fresh_var(g, "i", rows));
    *f = *g->f;
    f->steps = et_alloc(g->arena, (size_t)f->nsteps * sizeof *f->steps);
    et_func_bands(g->x, g->f, &after, &t.row);
    for (int i = 0; i < f->nsteps; i++)
        f->steps[i] = i < after ? g->f->steps[i] : step_of(g, &t, &g->f->steps[i]);
    return f;
}

/* ---- the loop ---- */

cg_bands *cg_bands_begin(cg *g, et_contract *c) {
    if (c->p.bands == 1) return NULL;
    cg_bands *s = et_alloc(g->arena, sizeof *s);
    s->c = c;
    s->whole = g->f;
    cg_contract_multiply(g, c, s->sums);
    val i = cg_for_begin(g, &s->loop, cg_i32(g, 0), cg_i32(g, c->p.bands), cg_i32(g, 1), true,
                         et_mainloop_sums(&c->p), s->sums);
    s->mark = cg_scope(g);
    int number = cg_fresh_var(g, "band", c->p.bands), rows = c->p.s->tm / c->p.bands;
    cg_bind(g, number, i, false);
    cg_contract_write(g, c, cg_muli(g, i, rows), s->sums);
    g->f = func_of(g, c, et_mul(g->x, et_var(g->x, number), et_int(g->x, rows)));
    return s;
}

void cg_bands_end(cg *g, cg_bands *s) {
    const et_contract *c = s->c;
    int per = c->p.msub / c->p.bands;
    val next[ET_MAX_SUMS];
    for (int p = 0; p < c->p.s->nacc; p++)
        for (int ms = 0; ms < c->p.msub; ms++)
            for (int ns = 0; ns < c->p.nsub; ns++)
                next[cg_contract_sum(c, p, ms, ns)] =
                    s->sums[cg_contract_sum(c, p, (ms + per) % c->p.msub, ns)];
    cg_barrier(g); /* the band has been read */
    cg_scope_end(g, s->mark);
    cg_for_end(g, &s->loop, next);
    g->f = s->whole;
}
