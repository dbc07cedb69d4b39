/* REDUCE steps whose rows lie next to each other where a tensor says, as the results of a token's
 * experts do: a lane has several of them at once. */
#include "codegen/step/reduce.h"
#include <string.h>

struct gathers {
    const cg *g;
    bool any;
};

/* Does a tensor say where another is read? */
static void find_gather(void *ctx, et_expr e) {
    struct gathers *q = ctx;
    const et_node_x *n = et_x(q->g->x, e);
    for (int i = 0; n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR && i < n->nops; i++)
        q->any |= et_expr_loads(q->g->x, n->ops[i]);
}

int cg_reduce_wide_of(cg *g, const struct reduce *r, int64_t rows, const int64_t *extent) {
    const et_step *s = r->s;
    struct gathers q = {g, false};
    int n = 4, var = s->nvars ? s->vars[s->nvars - 1] : -1;
    et_walk(g->x, r->value, find_gather, &q);
    if (!q.any || r->s->red == ET_RED_ARGMAX || r->lanes > 1 || r->n != r->extent || s->tag.id ||
        s->to.space != ET_LOAD_LOCAL || (s->mask.id && et_expr_has_var(g->x, s->mask, var)))
        return 1;
    et_expr at = cg_offset(g, s->to.space, s->to.id, s->to.index);
    et_expr next = et_subst_var(g->x, at, var, et_add(g->x, et_var(g->x, var), et_int(g->x, 1)));
    int64_t step;
    if (!et_is_int(g->x, et_sub(g->x, next, at), &step) || step != 1) return 1;
    while (n > 1 && (extent[s->nvars - 1] % n || rows % ((int64_t)n * g->p->workgroup)))
        n /= 2;
    return n;
}

static val as_number(cg *g, val v) {
    return LLVMTypeOf(v) == g->i1 ? LLVMBuildUIToFP(g->b, v, g->f32, "") : v;
}

/* The elements of R->wide rows from BASE on, combined as those of one are. */
static void take_wide(cg *g, const struct reduce *r, et_expr base, val *out) {
    int var = r->s->vars[r->s->nvars - 1];
    val v[16][16];
    for (int k = 0; k < r->n; k++)
        cg_emit_n(g, et_subst_var(g->x, r->value, r->s->rvar, et_int(g->x, k)), var, base, r->wide,
                  v[k]);
    for (int j = 0; j < r->wide; j++) {
        struct best part[16];
        for (int k = 0; k < r->n; k++)
            part[k] = (struct best){as_number(g, v[k][j]), NULL};
        for (int step = 1; step < r->n; step *= 2)
            for (int k = 0; k + step < r->n; k += 2 * step)
                part[k] = cg_best_of(g, r, part[k], part[k + step]);
        out[j] = cg_best_of(g, r, cg_best_none(g, r), part[0]).v;
    }
}

void cg_reduce_wide(cg *g, const struct reduce *r, int64_t rows, const int64_t *extent) {
    const et_step *s = r->s;
    int last = s->nvars - 1, vars[ET_MAX_VARS], size = 4;
    int64_t each[ET_MAX_VARS + 1];
    val out[16];
    cg_for f;
    cg_if masked;
    memcpy(vars, s->vars, sizeof vars);
    memcpy(each, extent, sizeof each);
    each[last] /= r->wide;
    vars[last] = cg_fresh_var(g, "u", each[last]);
    et_expr base = et_mul(g->x, et_var(g->x, vars[last]), et_int(g->x, r->wide));
    val first = cg_for_begin(g, &f, cg_i32(g, 0), cg_i32(g, rows / r->wide),
                             cg_i32(g, g->p->workgroup), true, 0, NULL);
    int mark = cg_scope(g);
    cg_decode(g, cg_add(g, first, g->tid), s->nvars, vars, each);
    if (s->mask.id) cg_if_begin(g, &masked, cg_emit(g, s->mask));
    int inner = cg_scope(g);
    take_wide(g, r, base, out);
    et_expr at = cg_offset(g, s->to.space, s->to.id, s->to.index);
    at = et_subst_var(g->x, at, s->vars[last], base);
    while (size < 4 * r->wide && cg_divisible(g, at, size / 2))
        size *= 2;
    cg_store_n(g, s->to.space, s->to.id, cg_address(g, s->to.space, s->to.id, at), r->wide, size,
               out);
    cg_scope_end(g, inner);
    if (s->mask.id) cg_if_end(g, &masked);
    cg_scope_end(g, mark);
    cg_for_end(g, &f, NULL);
}
