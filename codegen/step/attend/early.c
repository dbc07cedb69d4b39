/* Loads and prefetches of attention before its tile's waits, as its plan says (et_attend_early_as).
 * Behind the waits' acquire fence the L1 is empty, and each load that an address depends on would
 * add a trip to memory before the first key. */
#include "codegen/step/attend/attend.h"
#include "codegen/step/attend/rows.h"
#include "ir/base/diag.h"

/* ---- loaded to registers ---- */

struct known {
    cg *g;
    const et_step *s;
};

static void know(void *ctx, et_expr e) {
    const struct known *a = ctx;
    if (et_attend_is_index(cg_cx(a->g), a->s, e)) cg_emit(a->g, e);
}

static void step_early(cg *g, const et_step *s) {
    const char *why;
    et_attend_loop loop;
    struct known a = {.g = g, .s = s};
    if (!et_attend_loop_of(cg_cx(g), s, &loop, &why)) et_bug("%s: %s", g->f->name, why);
    if (s->attend.early == ET_ATTEND_EARLY_RUN) cg_attend_rows_early(g, &loop);
    for (int k = 0; k < ET_AT_PARTS; k++)
        if (s->part[k].id) et_walk(g->x, s->part[k], know, &a);
}

void cg_attend_early(cg *g, const et_func *f) {
    g->rows = NULL;
    for (int i = 0; i < f->nsteps; i++)
        if (f->steps[i].kind == ET_STEP_ATTEND && f->steps[i].attend.early)
            step_early(g, &f->steps[i]);
}

/* ---- prefetched into the L2 ---- */

/* Keys or values of the position that is bound. */
static void prefetch_position(cg *g, const et_step *s, et_expr e) {
    const et_node_x n = *et_x(g->x, et_subst_var(g->x, e, s->dvar, et_int(g->x, 0)));
    val at = cg_address(g, n.i2, n.i, cg_offset(g, n.i2, n.i, n.ops));
    int64_t bytes = (int64_t)s->depth * et_dtype_bytes(g->p->tensors[n.i].shape.dtype);
    for (int64_t b = 0; b < bytes; b += ET_LINE)
        g->family->prefetch(g, cg_gepi(g, at, b));
}

void cg_attend_prefetch(cg *g, const et_step *s) {
    const et_expr *part = s->part;
    if (s->attend.early != ET_ATTEND_EARLY_PREFETCH) return;
    /* Not by the first wave, which would poll only after it has loaded the extents. */
    int mark = cg_scope(g), asked = g->p->workgroup - g->t->wave;
    cg_if others;
    if (asked) cg_if_begin(g, &others, cg_icmp(g, LLVMIntNE, g->wave, cg_i32(g, 0)));
    val none = NULL, first = cg_emit_i32(g, part[ET_AT_FIRST]);
    val end = cg_emit_i32(g, part[ET_AT_END]), own = g->tid;
    if (asked) own = cg_addi(g, own, -g->t->wave);
    cg_for f;
    val p = cg_for_begin(g, &f, cg_add(g, first, own), end,
                         cg_i32(g, asked ? asked : g->p->workgroup), false, 0, &none);
    int inner = cg_scope(g);
    cg_bind(g, s->pvar, p, true);
    prefetch_position(g, s, part[ET_AT_K]);
    prefetch_position(g, s, part[ET_AT_V]);
    cg_scope_end(g, inner);
    cg_for_end(g, &f, &none);
    cg_scope_end(g, mark);
    if (asked) cg_if_end(g, &others);
}
