#include "passes/trial/trial.h"
#include "ir/base/diag.h"
#include <string.h>

et_pass_options et_quiet_options(const et_pass_options *opt) {
    et_pass_options o = *opt;
    o.quick = o.unverified = true;
    o.verbose = o.time_passes = o.check_text = false;
    o.dump = NULL;
    o.to = ET_STAGE_NONE;
    o.findings = NULL;
    o.unplanned = true; /* prices ask for the plans that steps would get */
    return o;
}

static void *copy(et_arena *a, const void *from, int n, size_t each, int *out_cap) {
    void *to = et_alloc(a, ((size_t)n + 1) * each);
    *out_cap = n;
    return n ? memcpy(to, from, (size_t)n * each) : to;
}

static et_program *copy_program(const et_program *p) {
    et_arena *a = p->g->arena;
    et_program *c = et_alloc(a, sizeof *c);
    *c = *p;
    c->tensors = copy(a, p->tensors, p->ntensors, sizeof *p->tensors, &c->ctensors);
    c->groups = copy(a, p->groups, p->ngroups, sizeof *p->groups, &c->cgroups);
    c->funcs = copy(a, p->funcs, p->nfuncs, sizeof *p->funcs, &c->cfuncs);
    c->grids = copy(a, p->grids, p->ngrids, sizeof *p->grids, &c->cgrids);
    c->events = copy(a, p->events, p->nevents, sizeof *p->events, &c->cevents);
    c->items = copy(a, p->items, p->nitems, sizeof *p->items, &c->citems);
    return c;
}

void et_trial_begin(et_trial *t, et_graph *g, const et_program *from, const et_pass_options *opt) {
    *t = (et_trial){.g = g, .opt = et_quiet_options(opt)};
    t->before.g = g;
    t->before.nvars = et_var_count(g->exprs);
    t->before.diags = g->diags;
    t->before.noted = g->taken.noted;
    memcpy(t->before.model, g->model, sizeof g->model);
    t->before.exprs = et_exprs_set_mark(g->exprs);
    g->diags = et_diags_create(g->arena);
    if (from) t->p = copy_program(from);
}

bool et_trial_lower(et_trial *t, et_stage to) {
    t->opt.to = to;
    return et_passes_resume(t->g, t->p, &t->opt, &t->p);
}

/* Reduction variables that nodes were given are gone. */
static void forget_variables(et_graph *g, int nvars) {
    for (int n = 0; n < g->nnodes; n++)
        for (int v = 0; v < ET_MAX_NODE_VARS; v++)
            if (g->nodes[n].vars[v] >= nvars) g->nodes[n].vars[v] = -1;
    g->numbered.name = NULL; /* their names are free again */
}

void et_trial_end(et_trial *t) {
    et_graph *g = t->before.g;
    g->diags = t->before.diags;
    memcpy(g->model, t->before.model, sizeof g->model);
    forget_variables(g, t->before.nvars);
    if (g->taken.noted != t->before.noted) et_graph_renamed(g); /* its memory goes */
    et_exprs_release(g->exprs, t->before.exprs);
}
