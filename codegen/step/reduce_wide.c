/* REDUCE steps of gathered rows, such as the results of a token's experts: a lane has several
 * neighbouring rows at once. */
#include "codegen/step/reduce.h"
#include <string.h>

static val as_number(cg *g, val v) {
    return LLVMTypeOf(v) == g->i1 ? LLVMBuildUIToFP(g->b, v, g->f32, "") : v;
}

/* The elements of neighbouring rows from BASE on, combined as those of one are. */
static void take_wide(cg *g, const et_reduce_loop *r, et_expr base, val *out) {
    int var = r->s->vars[r->s->nvars - 1], n = r->plan.vector, wide = r->plan.wide;
    val v[16][16];
    for (int k = 0; k < n; k++)
        cg_emit_n(g, et_subst_var(g->x, r->value, r->s->rvar, et_int(g->x, k)), var, base, wide,
                  v[k]);
    for (int j = 0; j < wide; j++) {
        struct best part[16];
        for (int k = 0; k < n; k++)
            part[k] = (struct best){as_number(g, v[k][j]), NULL};
        for (int step = 1; step < n; step *= 2)
            for (int k = 0; k + step < n; k += 2 * step)
                part[k] = cg_best_of(g, r, part[k], part[k + step]);
        out[j] = cg_best_of(g, r, cg_best_none(g, r), part[0]).v;
    }
}

void cg_reduce_wide(cg *g, const et_reduce_loop *r) {
    const et_step *s = r->s;
    int wide = r->plan.wide, last = s->nvars - 1, vars[ET_MAX_VARS], size = 4;
    int64_t each[ET_MAX_VARS + 1];
    val out[16];
    cg_for f;
    cg_if masked;
    memcpy(vars, s->vars, sizeof vars);
    memcpy(each, r->row_extent, sizeof each);
    each[last] /= wide;
    vars[last] = cg_fresh_var(g, "u", each[last]);
    et_expr base = et_mul(g->x, et_var(g->x, vars[last]), et_int(g->x, wide));
    val first = cg_for_begin(g, &f, cg_i32(g, 0), cg_i32(g, r->rows / wide),
                             cg_i32(g, g->p->workgroup), true, 0, NULL);
    int mark = cg_scope(g);
    cg_decode(g, cg_add(g, first, g->tid), s->nvars, vars, each);
    if (s->mask.id) cg_if_begin(g, &masked, cg_emit(g, s->mask));
    int inner = cg_scope(g);
    take_wide(g, r, base, out);
    et_expr at = cg_offset(g, s->to.space, s->to.id, s->to.index);
    at = et_subst_var(g->x, at, s->vars[last], base);
    while (size < 4 * wide && cg_divisible(g, at, size / 2))
        size *= 2;
    cg_store_n(g, s->to.space, s->to.id, cg_address(g, s->to.space, s->to.id, at), wide, size, out);
    cg_scope_end(g, inner);
    if (s->mask.id) cg_if_end(g, &masked);
    cg_scope_end(g, mark);
    cg_for_end(g, &f, NULL);
}
