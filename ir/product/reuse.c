/* What a workgroup's next tile of a grid finds in local memory: what maps and reductions leave
 * there that compute the same in all tiles, such as sums of squares of rows that all of them
 * multiply, and staged rows of products, as long as nothing else is stored there. */
#include "ir/product/items.h"
#include "ir/program/step.h"

struct et_reuse {
    const et_product_cx *g;
    bool none;
    int *makers, *last; /* per local: how many steps store to it, and the last of these */
    bool *same;         /* per local: maps and reductions that compute the same in all tiles do */
    bool *stored;       /* per tensor: a step stores to it */
};

static int number_of(const et_func *f, const et_step *s) {
    return s < f->steps || s > f->steps + f->nsteps ? f->nsteps : (int)(s - f->steps);
}

struct look {
    const et_reuse *u;
    int step; /* its number: it reads only results of steps before it */
    bool same;
};

static void note_load(void *ctx, et_expr e) {
    struct look *l = ctx;
    const et_reuse *u = l->u;
    const et_node_x *n = et_x(u->g->x, e);
    if (n->op != ET_X_LOAD || !l->same) return;
    if (n->i2 != ET_LOAD_LOCAL)
        l->same = !u->stored[n->i];
    else if (u->makers[n->i])
        l->same = u->same[n->i] && u->last[n->i] < l->step;
}

/* Is E, which step number STEP has, the same in all tiles? */
static bool is_same(const et_reuse *u, int step, et_expr e) {
    struct look l = {u, step, true};
    if (!e.id) return true;
    if (et_expr_has_vars(u->g->x, e, u->g->f->ncoords, u->g->f->coord)) return false;
    et_walk(u->g->x, e, note_load, &l);
    return l.same;
}

static bool is_item_step(const et_step *s) {
    return s->kind == ET_STEP_MAP || s->kind == ET_STEP_REDUCE;
}

static bool computes_same(const et_reuse *u, int step) {
    const et_step *s = &u->g->f->steps[step];
    et_step_expr e[ET_STEP_EXPRS];
    if (!is_item_step(s)) return false;
    for (int i = 0, n = et_step_exprs(s, e); i < n; i++)
        if (!is_same(u, step, e[i].e)) return false;
    return true;
}

struct making {
    et_reuse *u;
    int step;
};

static void note_maker(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    const struct making *m = ctx;
    (void)index;
    if (!is_store || space != ET_LOAD_LOCAL) return;
    m->u->makers[id] += m->u->last[id] < m->step;
    m->u->last[id] = m->step;
}

static void note_other(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    const struct making *m = ctx;
    (void)index;
    if (is_store && space == ET_LOAD_LOCAL) m->u->same[id] = false;
}

const et_reuse *et_reuse_of(const et_product_cx *g) {
    const et_func *f = g->f;
    et_reuse *u = et_alloc(g->arena, sizeof *u);
    *u = (et_reuse){.g = g, .none = et_is_without(g->without, ET_FEATURE_AGAIN)};
    u->makers = et_alloc(g->arena, (size_t)(f->nlocals + 1) * sizeof *u->makers);
    u->last = et_alloc(g->arena, (size_t)(f->nlocals + 1) * sizeof *u->last);
    u->same = et_alloc(g->arena, (size_t)f->nlocals + 1);
    u->stored = et_alloc(g->arena, (size_t)g->p->ntensors + 1);
    for (int i = 0; i < g->p->ntensors; i++)
        u->none |= g->p->tensors[i].tagged && !g->p->tensors[i].partial;
    for (int i = 0; i < f->nlocals; i++)
        u->last[i] = -1, u->same[i] = true;
    for (int i = 0; i < f->nsteps; i++) {
        const et_place *to = et_step_to(&f->steps[i]);
        if (to && to->space == ET_LOAD_TENSOR) u->stored[to->id] = true;
        et_step_touches(g->x, &f->steps[i], note_maker, &(struct making){u, i});
    }
    for (int i = 0; i < f->nsteps; i++)
        if (!computes_same(u, i))
            et_step_touches(g->x, &f->steps[i], note_other, &(struct making){u, i});
    return u;
}

/* Does no other local that the function stores to overlap LOCAL? */
static bool stays(const et_reuse *u, int local) {
    const et_local *l = u->g->f->locals, *of = &l[local];
    for (int i = 0; i < u->g->f->nlocals; i++)
        if (i != local && u->makers[i] && l[i].offset < of->offset + et_local_bytes(of) &&
            of->offset < l[i].offset + et_local_bytes(&l[i]))
            return false;
    return true;
}

bool et_reuse_may_step(const et_reuse *u, const et_step *s) {
    return !u->none && is_item_step(s) && s->to.space == ET_LOAD_LOCAL && stays(u, s->to.id) &&
           u->makers[s->to.id] == 1 && u->same[s->to.id];
}

/* Is b of the same matrices in all tiles, and so packed in all of them or none? */
static bool same_matrices(const et_reuse *u, const et_step *s, int step) {
    bool same = true;
    for (int i = 0; i < s->nacc && s->plan[ET_PLAN_PACKED].made; i++) {
        const et_node_x n = *et_x(u->g->x, s->b[i]);
        for (int d = 0; d + 2 < n.nops; d++)
            same &= is_same(u, step, n.ops[d]);
    }
    return same;
}

static void note_chosen(void *ctx, et_expr e) {
    struct look *l = ctx;
    const et_exprs *x = l->u->g->x;
    const et_node_x *n = et_x(x, e);
    for (int d = 0; n->op == ET_X_LOAD && d < n->nops; d++)
        l->same &= !et_expr_loads(x, n->ops[d]);
}

/* A tile may have no k at all: then the rows are staged all the same, in front of the mainloop, so
 * that the next one finds them. They may be read as long as no tensor says which they are. */
static bool whatever_k(const et_reuse *u, const et_mainloop *c) {
    struct look l = {u, 0, true};
    if (!c->cond.id || !c->streamed || c->maybe_packed || !c->plan.prologue) return false;
    et_walk(u->g->x, c->s->a, note_chosen, &l);
    return l.same;
}

bool et_reuse_may_rows(const et_reuse *u, const et_mainloop *c) {
    const et_step *s = c->s;
    int step = number_of(u->g->f, s);
    return !u->none && c->plan.rows == ET_ROWS_STAGED && c->direct && c->msub == 1 && !c->zeros &&
           !c->fp8 && same_matrices(u, s, step) && stays(u, s->stage_a) && is_same(u, step, s->a) &&
           is_same(u, step, s->mlive) && (is_same(u, step, s->kextent) || whatever_k(u, c));
}
