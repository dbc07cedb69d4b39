#include "tests/passes/pipeline/described.h"
#include "ir/base/diag.h"
#include "ir/program/step.h"
#include <string.h>

/* One thing that the description says a step touches. */
struct said {
    int space, id;
    bool is_store;
    const et_expr *index; /* NULL: any element */
    unsigned loads;       /* which of these a tensor decides */
};

struct step {
    struct said *said;
    int n, cap;
};

struct described {
    et_arena *a;
    et_program *p;
    const int64_t *syms;
    const char *forget, *wrong;
    int64_t looked_at;
    struct step **of; /* by function, then by step; made when the function is first seen */
    const et_func *f; /* and its step: those being read */
    struct step *s;
    const et_step_var *var;
    const et_step_expr *expr;
    int64_t (*dim)[ET_MAX_RANK]; /* of each tensor; 0: not asked yet */
};

described *described_create(et_arena *a, et_program *p, const int64_t *syms, const char *forget) {
    described *d = et_alloc(a, sizeof *d);
    *d = (described){.a = a, .p = p, .syms = syms, .forget = forget};
    d->of = et_alloc(a, (size_t)(p->nfuncs + 1) * sizeof *d->of);
    d->dim = et_alloc(a, (size_t)(p->ntensors + 1) * sizeof *d->dim);
    return d;
}

const char *described_wrong(const described *d, int64_t *out_looked_at) {
    *out_looked_at = d->looked_at;
    return d->wrong;
}

/* ---- what is said ---- */

static int rank_of(const described *d, int space, int id) {
    return space == ET_LOAD_LOCAL ? d->f->locals[id].rank : d->p->tensors[id].shape.rank;
}

static void say(described *d, struct said what) {
    for (int i = 0; what.index && i < rank_of(d, what.space, what.id); i++)
        if (et_expr_loads(d->p->g->exprs, what.index[i])) what.loads |= 1u << i;
    ET_GROW(d->a, d->s->said, d->s->n, d->s->cap);
    d->s->said[d->s->n++] = what;
}

/* Variables have values where the description says so, or are of the tile or of a loop. */
static bool has_value(const described *d, int var) {
    for (unsigned i = 0; d->expr->under >> i; i++)
        if (d->expr->under >> i & 1 && d->var[i].var == var) return true;
    for (int c = 0; c < d->f->ncoords; c++)
        if (d->f->coord[c] == var) return true;
    for (int l = 0; l < d->p->g->nloops; l++)
        if (d->p->g->loops[l].var == var) return true;
    return false;
}

static void read_node(void *ctx, et_expr e) {
    described *d = ctx;
    const et_node_x *n = et_x(d->p->g->exprs, e);
    if (n->op == ET_X_LOAD) say(d, (struct said){.space = n->i2, .id = n->i, .index = n->ops});
    if (n->op == ET_X_VAR && !has_value(d, n->i))
        d->wrong = et_printf(d->a, "%s: %s mentions %s", d->f->name, d->expr->name,
                             et_var_name(d->p->g->exprs, n->i));
}

static void note_store(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    described *d = ctx;
    if (is_store && strcmp(d->forget, "to") != 0)
        say(ctx, (struct said){.space = space, .id = id, .is_store = true, .index = index});
}

static void read_step(described *d, const et_step *s) {
    et_step_expr expr[ET_STEP_EXPRS];
    et_step_var var[ET_STEP_VARS];
    et_step_vars(d->p->g->exprs, s, var);
    d->var = var;
    for (int i = 0, n = et_step_exprs(s, expr); i < n; i++) {
        d->expr = &expr[i];
        if (strcmp(expr[i].name, d->forget) != 0) et_walk(d->p->g->exprs, expr[i].e, read_node, d);
    }
    et_step_touches(d->p->g->exprs, s, note_store, d);
    const et_place *state = et_step_state(s);
    if (state) say(d, (struct said){.space = state->space, .id = state->id, .index = state->index});
}

static const struct step *step_of(described *d, const et_step *s) {
    int func = 0;
    while (s < d->p->funcs[func].steps || s >= d->p->funcs[func].steps + d->p->funcs[func].nsteps)
        func++;
    d->f = &d->p->funcs[func];
    if (!d->of[func]) {
        d->of[func] = et_alloc(d->a, (size_t)d->f->nsteps * sizeof **d->of);
        for (int i = 0; i < d->f->nsteps; i++) {
            d->s = &d->of[func][i];
            read_step(d, &d->f->steps[i]);
        }
    }
    return &d->of[func][s - d->f->steps];
}

/* ---- what is touched ---- */

static int64_t dim_of(const described *d, const et_interp_touch *t, int i) {
    if (t->space == ET_LOAD_LOCAL) return d->f->locals[t->id].dim[i];
    int64_t *n = &d->dim[t->id][i];
    if (!*n) *n = et_eval(d->p->g->exprs, d->p->tensors[t->id].shape.dim[i], d->syms, NULL);
    return *n;
}

/* Is it the element that these indices name now? What a tensor says of them is not looked at. */
static bool names(const described *d, const struct said *w, const et_interp_touch *t) {
    int64_t left = t->element;
    for (int i = rank_of(d, t->space, t->id) - 1; i >= 0 && w->index; i--) {
        int64_t n = dim_of(d, t, i), at = left % n;
        left /= n;
        if (!(w->loads >> i & 1) && et_eval(d->p->g->exprs, w->index[i], d->syms, t->vars) != at)
            return false;
    }
    return true;
}

void described_touch(void *ctx, const et_interp_touch *t) {
    described *d = ctx;
    if (!t->step || d->wrong) return;
    const struct step *s = step_of(d, t->step);
    d->looked_at++;
    for (int i = 0; i < s->n; i++) {
        const struct said *w = &s->said[i];
        if (w->space == t->space && w->id == t->id && w->is_store == t->is_store && names(d, w, t))
            return;
    }
    const char *what =
        t->space == ET_LOAD_LOCAL ? d->f->locals[t->id].name : d->p->tensors[t->id].name;
    d->wrong = et_printf(d->a, "%s: step %d (%s) %s element %lld of %s: not in its description",
                         d->f->name, (int)(t->step - d->f->steps), et_step_name(t->step->kind),
                         t->is_store ? "writes" : "reads", (long long)t->element, what);
}
