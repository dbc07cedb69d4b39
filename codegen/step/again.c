/* Work that a workgroup shares between its tiles of a grid: steps that compute the same in all of
 * them, such as sums of squares of rows that all of them multiply, and staged rows of products, as
 * long as their local memory is not overwritten. */
#include "codegen/step/step.h"
#include "ir/program/step.h"

/* Facts about the steps of a function, found in one pass: a step reads only results of steps before
 * it. */
struct cg_common {
    const et_step *steps; /* of the function */
    int nsteps;
    int *makers, *last; /* per local: how many steps store to it, and the last of these */
    bool *same;         /* per local: maps and reductions that compute the same in all tiles do */
    bool *stored;       /* per tensor: a step stores to it */
};

static int number_of(const struct cg_common *c, const et_step *s) {
    return s < c->steps ? 0 : s < c->steps + c->nsteps ? (int)(s - c->steps) : c->nsteps;
}

struct look {
    cg *g;
    int step; /* its number */
    bool same;
};

static void note_load(void *ctx, et_expr e) {
    struct look *l = ctx;
    const struct cg_common *c = l->g->common;
    const et_node_x *n = et_x(l->g->x, e);
    if (n->op != ET_X_LOAD || !l->same) return;
    if (n->i2 != ET_LOAD_LOCAL)
        l->same = !c->stored[n->i];
    else if (c->makers[n->i])
        l->same = c->same[n->i] && c->last[n->i] < l->step;
}

/* Is E, which step number STEP has, the same in all tiles? */
static bool is_same_at(cg *g, int step, et_expr e) {
    struct look l = {g, step, true};
    if (!e.id) return true;
    if (et_expr_has_vars(g->x, e, g->f->ncoords, g->f->coord)) return false;
    et_walk(g->x, e, note_load, &l);
    return l.same;
}

static bool computes_same(cg *g, int step) {
    const et_step *s = &g->f->steps[step];
    et_step_expr e[ET_STEP_EXPRS];
    if (s->kind != ET_STEP_MAP && s->kind != ET_STEP_REDUCE) return false;
    for (int i = 0, n = et_step_exprs(s, e); i < n; i++)
        if (!is_same_at(g, step, e[i].e)) return false;
    return true;
}

struct making {
    struct cg_common *c;
    int step;
};

static void note_maker(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    const struct making *m = ctx;
    (void)index;
    if (!is_store || space != ET_LOAD_LOCAL) return;
    m->c->makers[id] += m->c->last[id] < m->step;
    m->c->last[id] = m->step;
}

static void note_other(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    const struct making *m = ctx;
    (void)index;
    if (is_store && space == ET_LOAD_LOCAL) m->c->same[id] = false;
}

/* Those of the function being emitted. */
static const struct cg_common *common(cg *g) {
    const et_func *f = g->f;
    struct cg_common *c = g->common;
    if (c && c->steps == f->steps && c->nsteps == f->nsteps) return c;
    g->common = c = et_alloc(g->arena, sizeof *c);
    *c = (struct cg_common){.steps = f->steps, .nsteps = f->nsteps};
    c->makers = et_alloc(g->arena, (size_t)(f->nlocals + 1) * sizeof *c->makers);
    c->last = et_alloc(g->arena, (size_t)(f->nlocals + 1) * sizeof *c->last);
    c->same = et_alloc(g->arena, (size_t)f->nlocals + 1);
    c->stored = et_alloc(g->arena, (size_t)g->p->ntensors + 1);
    for (int i = 0; i < f->nlocals; i++)
        c->last[i] = -1, c->same[i] = true;
    for (int i = 0; i < f->nsteps; i++) {
        const et_place *to = et_step_to(&f->steps[i]);
        if (to && to->space == ET_LOAD_TENSOR) c->stored[to->id] = true;
        et_step_touches(g->x, &f->steps[i], note_maker, &(struct making){c, i});
    }
    for (int i = 0; i < f->nsteps; i++)
        if (!computes_same(g, i))
            et_step_touches(g->x, &f->steps[i], note_other, &(struct making){c, i});
    return c;
}

bool cg_is_same(cg *g, const et_step *s, et_expr e) {
    return is_same_at(g, number_of(common(g), s), e);
}

/* Does no other local that the function stores to overlap LOCAL? */
bool cg_stays(cg *g, int local) {
    const et_local *l = g->f->locals, *of = &l[local];
    const struct cg_common *c = common(g);
    for (int i = 0; i < g->f->nlocals; i++)
        if (i != local && c->makers[i] && l[i].offset < of->offset + et_local_bytes(of) &&
            of->offset < l[i].offset + et_local_bytes(&l[i]))
            return false;
    return true;
}

bool cg_still_there(cg *g, const et_step *s) {
    if (!g->again || g->tags.bytes || (s->kind != ET_STEP_MAP && s->kind != ET_STEP_REDUCE) ||
        s->to.space != ET_LOAD_LOCAL || !cg_stays(g, s->to.id))
        return false;
    const struct cg_common *c = common(g);
    return c->makers[s->to.id] == 1 && c->same[s->to.id];
}
