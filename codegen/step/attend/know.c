/* What decides where attention reads, loaded before a tile's waits. */
#include "codegen/step/attend/attend.h"
#include "codegen/step/attend/rows.h"

struct known {
    cg *g;
    const et_step *s;
};

/* An integer that nobody writes, such as a position, at a place that the tile alone decides. */
static void know(void *ctx, et_expr e) {
    const struct known *a = ctx;
    cg *g = a->g;
    const et_node_x *n = et_x(g->x, e);
    et_step_var v[ET_STEP_VARS];
    if (n->op != ET_X_LOAD || n->type != ET_T_I32 || cg_reads_mutable(g, e) || !cg_in_range(g, e))
        return;
    for (int i = 0, count = et_step_vars(g->x, a->s, v); i < count; i++)
        if (et_expr_has_var(g->x, e, v[i].var)) return;
    cg_emit(g, e);
}

void cg_know_ahead(cg *g, const et_func *f) {
    g->rows = NULL;
    for (int i = 0; i < f->nsteps; i++) {
        struct known a = {.g = g, .s = &f->steps[i]};
        if (a.s->kind == ET_STEP_ATTEND && a.s->rows && !g->rows) cg_attend_rows_ahead(g, a.s);
        for (int k = 0; k < ET_AT_PARTS && a.s->kind == ET_STEP_ATTEND; k++)
            if (a.s->part[k].id) et_walk(g->x, a.s->part[k], know, &a);
    }
}
