/* What a workgroup need not do again in the next tile of a grid: steps that compute the same in all
 * of its tiles, as sums of squares of rows that all of them multiply, and rows that are staged for
 * products, where what the tile before has left in local memory is still there. */
#include "codegen/step/contract.h"
#include "ir/program/step.h"

struct look {
    cg *g;
    const et_step *s;
    bool same, makes; /* S stores to local ID */
    int id;
};

static void note_store(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    struct look *l = ctx;
    (void)index;
    l->makes |= is_store && space == ET_LOAD_LOCAL && id == l->id;
}

static bool makes(cg *g, const et_step *s, int local) {
    struct look l = {.g = g, .id = local};
    et_step_touches(g->x, s, note_store, &l);
    return l.makes;
}

static bool is_same(cg *g, const et_step *s, et_expr e);

/* Is what S reads of LOCAL what other steps, which come before it, compute the same in all tiles?
 */
static bool is_local_same(cg *g, const et_step *s, int local) {
    for (int i = 0; i < g->f->nsteps; i++) {
        const et_step *by = &g->f->steps[i];
        if (!makes(g, by, local)) continue;
        if (by >= s || (by->kind != ET_STEP_MAP && by->kind != ET_STEP_REDUCE)) return false;
        et_step_expr e[ET_STEP_EXPRS];
        for (int k = 0, n = et_step_exprs(by, e); k < n; k++)
            if (!is_same(g, by, e[k].e)) return false;
    }
    return true;
}

static bool is_stored(const cg *g, int tensor) {
    for (int i = 0; i < g->f->nsteps; i++) {
        const et_place *to = et_step_to(&g->f->steps[i]);
        if (to && to->space == ET_LOAD_TENSOR && to->id == tensor) return true;
    }
    return false;
}

static void note_load(void *ctx, et_expr e) {
    struct look *l = ctx;
    const et_node_x *n = et_x(l->g->x, e);
    if (n->op != ET_X_LOAD || !l->same) return;
    l->same = n->i2 == ET_LOAD_LOCAL ? is_local_same(l->g, l->s, n->i) : !is_stored(l->g, n->i);
}

static bool is_same(cg *g, const et_step *s, et_expr e) {
    struct look l = {.g = g, .s = s, .same = true};
    if (!e.id) return true;
    if (et_expr_has_vars(g->x, e, g->f->ncoords, g->f->coord)) return false;
    et_walk(g->x, e, note_load, &l);
    return l.same;
}

/* Does nothing else that the function stores lie where LOCAL does? */
static bool stays(cg *g, int local) {
    const et_local *l = g->f->locals, *of = &l[local];
    for (int i = 0; i < g->f->nlocals; i++) {
        bool meets = l[i].offset < of->offset + et_local_bytes(of) &&
                     of->offset < l[i].offset + et_local_bytes(&l[i]);
        for (int k = 0; i != local && meets && k < g->f->nsteps; k++)
            if (makes(g, &g->f->steps[k], i)) return false;
    }
    return true;
}

bool cg_still_there(cg *g, const et_step *s) {
    et_step_expr e[ET_STEP_EXPRS];
    if (!g->again || g->tags.bytes || (s->kind != ET_STEP_MAP && s->kind != ET_STEP_REDUCE) ||
        s->to.space != ET_LOAD_LOCAL || !stays(g, s->to.id))
        return false;
    for (int i = 0, n = et_step_exprs(s, e); i < n; i++)
        if (!is_same(g, s, e[i].e)) return false;
    for (int i = 0; i < g->f->nsteps; i++)
        if (&g->f->steps[i] != s && makes(g, &g->f->steps[i], s->to.id)) return false;
    return true;
}

/* Is a product's b of the same matrices in all tiles, and so packed in all of them or none? */
static bool same_matrices(cg *g, const et_contract *c) {
    bool same = true;
    for (int i = 0; i < c->s->nacc && (c->packed || c->other); i++) {
        const et_node_x n = *et_x(g->x, c->s->b[i]);
        for (int d = 0; d + 2 < n.nops; d++)
            same &= is_same(g, c->s, n.ops[d]);
    }
    return same;
}

bool cg_rows_still_there(cg *g, const et_contract *c) {
    const et_step *s = c->s;
    return g->again && !g->tags.bytes && c->msub == 1 && !c->zeros && !c->codes &&
           same_matrices(g, c) && stays(g, s->stage_a) && is_same(g, s, s->a) &&
           is_same(g, s, s->mlive) && is_same(g, s, s->kextent);
}
