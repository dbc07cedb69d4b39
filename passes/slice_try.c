/* Does slicing pay? The program is lowered to its schedule as it is and in slices, and a launch of
 * the geometric mean of what the symbols can be is played on the machine both ways. */
#include "cost.h"
#include "diag.h"
#include "pipeline.h"
#include "scope.h"
#include "simulate.h"
#include "slice.h"
#include <string.h>

/* Of a program at stage fused, which stays as it is. */
static et_program *copy_of(const et_program *p) {
    et_arena *a = p->g->arena;
    et_program *c = et_alloc(a, sizeof *c);
    *c = *p;
    c->ctensors = p->ntensors, c->cgroups = p->ngroups, c->citems = p->nitems;
    c->tensors = et_alloc(a, (size_t)(p->ntensors + 1) * sizeof *c->tensors);
    c->groups = et_alloc(a, (size_t)(p->ngroups + 1) * sizeof *c->groups);
    c->items = et_alloc(a, (size_t)(p->nitems + 1) * sizeof *c->items);
    memcpy(c->tensors, p->tensors, (size_t)p->ntensors * sizeof *c->tensors);
    memcpy(c->groups, p->groups, (size_t)p->ngroups * sizeof *c->groups);
    memcpy(c->items, p->items, (size_t)p->nitems * sizeof *c->items);
    c->funcs = NULL, c->nfuncs = c->cfuncs = 0;
    c->grids = NULL, c->ngrids = c->cgrids = 0;
    c->events = NULL, c->nevents = c->cevents = 0;
    return c;
}

/* The predicted time in COUNT slices (0: as it is); -1 where there is none, or nothing to slice. */
static double played(et_pipeline *pl, int count, et_program **out) {
    et_graph *g = pl->g;
    et_diags *told = g->diags;
    et_pass_options o = *pl->opt;
    et_program *p = copy_of(pl->p);
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    char err[ET_SIM_ERR];
    o.slices = 0;
    o.quick = o.no_verify = true;
    o.verbose = o.time_passes = o.check_text = false;
    o.dump = o.to = NULL;
    *out = NULL;
    if (count && !et_slice_groups(p, count, &o)) return -1;
    g->diags = et_diags_create(g->arena); /* what fails here is no error of the user's */
    p->stage = "fused";
    bool ok = et_passes_resume(g, p, &o, out);
    g->diags = told;
    if (!ok) return -1;
    et_sample_symbols(g->exprs, syms);
    et_sim_options sim = {.machine = o.machine, .profile = o.profile, .syms = syms[1]};
    et_sim_result r;
    return et_simulate(*out, &sim, &r, err) ? r.us : -1;
}

static void tell(FILE *to, int count, double whole, double sliced, const et_program *as_is,
                 const et_program *in_slices) {
    fprintf(to, "# predicted: %.1f us as it is, %.1f us in %d slices\n", whole, sliced, count);
    fprintf(to, "# as it is:\n");
    et_tell_scopes(as_is, to);
    fprintf(to, "# in slices:\n");
    et_tell_scopes(in_slices, to);
}

bool et_slicing_pays(et_pipeline *pl, int count) {
    const et_pass_options *o = pl->opt;
    et_program *as_is, *in_slices;
    double sliced = played(pl, count, &in_slices);
    if (sliced < 0) return false;
    double whole = played(pl, 0, &as_is);
    if (whole < 0) return false;
    if (o->verbose) tell(stderr, count, whole, sliced, as_is, in_slices);
    if (o->dump && (strcmp(o->dump, "slice") == 0 || strcmp(o->dump, "all") == 0))
        tell(o->dump_to, count, whole, sliced, as_is, in_slices);
    return sliced < whole;
}
