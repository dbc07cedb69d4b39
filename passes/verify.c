/* The verifier as a pass: every program that leaves the pipeline is proved. */
#include "ir/verify/verify.h"
#include "ir/base/diag.h"
#include "ir/program/queue.h"
#include "passes/pipeline/pipeline.h"

/* For one condition, where there is a simpler program to fall back to: a third of a second. */
enum { QUICK_WORK = 5000000 };

/* Assumptions of the proof that are not in the program. */
static void tell_promises(const et_program *p) {
    for (int e = 0; e < p->nevents; e++)
        if (p->events[e].promised)
            fprintf(
                stderr,
                "taken on trust, not proved: that every counter of event %%%s gets the arrivals it "
                "counts, and that tasks which tensors send there notify all that must come after "
                "them (etinterp --check-races checks both for given tensors)\n",
                p->events[e].name);
}

static bool is_decided(const et_pipeline *pl, const et_wait *w, et_expr e) {
    return et_expr_loads(pl->g->exprs, e) || et_expr_has_vars(pl->g->exprs, e, w->nvars, w->vars);
}

/* Makes waits that read tensors wait for all counters along the dimensions concerned. */
static void widen(et_pipeline *pl, int grid, et_wait *w) {
    et_exprs *x = pl->g->exprs;
    const et_event *e = &pl->p->events[w->event];
    bool any = false;
    for (int d = 0; d < e->rank; d++) {
        if (!is_decided(pl, w, w->lo[d]) && !is_decided(pl, w, w->hi[d])) continue;
        w->lo[d] = et_int(x, 0);
        w->hi[d] = et_sub(x, e->dim[d], et_int(x, 1));
        any = true;
    }
    w->nvars = 0;
    et_loc loc = {0};
    if (pl->p->ngroups == pl->p->ngrids) loc = pl->p->groups[grid].loc;
    if (any)
        et_diag(pl->g->diags, ET_WARNING, loc,
                "%s waits for all of event %%%s: that what tensors name is enough was not shown",
                pl->p->grids[grid].name, e->name);
}

static void widen_all(et_pipeline *pl) {
    for (int g = 0; g < pl->p->ngrids; g++)
        for (int i = 0; i < pl->p->grids[g].nwaits; i++)
            widen(pl, g, &pl->p->grids[g].waits[i]);
}

/* That a wait that reads tensors is sufficient can be too hard to prove. The program is not refused
 * for that: such waits become longer, and it is verified once more. */
static bool verify(et_pipeline *pl, const et_verify_options *opt, et_diags *d,
                   et_verify_report *r) {
    bool routed = false;
    for (int g = 0; g < pl->p->ngrids; g++)
        for (int i = 0; i < pl->p->grids[g].nwaits; i++)
            routed |= et_wait_loads(pl->p, &pl->p->grids[g].waits[i]);
    if (!pl->inferred || !routed) return et_verify(pl->p, opt, d, r);
    et_verify_options less = *opt;
    less.work = ET_VERIFY_WORK / 2;
    return et_verify(pl->p, &less, et_diags_create(pl->g->arena), r) ||
           (widen_all(pl), et_verify(pl->p, opt, d, r));
}

bool et_pass_verify(et_pipeline *pl) {
    const et_pass_options *o = pl->opt;
    if (o->unverified || o->quick) return true;
    et_verify_options opt = {.dies = o->machine->dies};
    et_verify_report r;
    pl->again = pl->reshapes && pl->simpler < ET_RESHAPES_APART;
    if (pl->again) opt.step_work = QUICK_WORK;
    bool ok = verify(pl, &opt, pl->again ? et_diags_create(pl->g->arena) : pl->g->diags, &r);
    if (ok && o->verbose && r.values)
        fprintf(stderr, "verified for all values of the dims (%lld looked at), up to %lld tasks\n",
                (long long)r.values, (long long)r.tasks);
    else if (ok && o->verbose)
        fprintf(stderr, "verified for all values of the dims (at once), up to %lld tasks\n",
                (long long)r.tasks);
    if (ok && o->verbose) tell_promises(pl->p);
    return ok;
}
