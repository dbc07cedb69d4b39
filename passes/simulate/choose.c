/* Which grids to run through queues: a descent from the better of all static and all dynamic, one
 * grid changed at a time, judged by playing the whole launch. */
#include "ir/base/diag.h"
#include "passes/simulate/simulate.h"
#include <stdlib.h>
#include <string.h>

/* The least gain of a change: less is noise of the model. */
static const double worth = 0.999;

struct choice {
    et_program *p;
    et_sim_options opt;
    bool *dynamic;
    double best;
    char *err;
};

static bool better(struct choice *c) {
    et_sim_result r;
    if (!et_simulate(c->p, &c->opt, &r, c->err)) return false;
    bool yes = r.us < c->best * worth;
    if (yes) c->best = r.us;
    return yes;
}

static bool improve(struct choice *c, int ngrids) {
    bool any = false;
    for (int g = 0; g < ngrids; g++) {
        c->dynamic[g] = !c->dynamic[g];
        if (better(c))
            any = true;
        else
            c->dynamic[g] = !c->dynamic[g];
    }
    return any;
}

double et_sim_choose(et_program *p, const et_sim_options *opt, bool *out_dynamic,
                     char err[ET_SIM_ERR]) {
    enum { ROUNDS = 3 };
    int n = et_part_at(p, opt->syms)->ngrids;
    struct choice c = {.p = p, .opt = *opt, .dynamic = out_dynamic, .best = 1e300, .err = err};
    c.opt.mode = ET_SIM_AS_SCHEDULED;
    c.opt.dynamic = out_dynamic;
    c.opt.task = NULL;
    memset(out_dynamic, 0, (size_t)n * sizeof *out_dynamic);
    if (!better(&c)) return -1;
    memset(out_dynamic, 1, (size_t)n * sizeof *out_dynamic);
    if (!better(&c)) memset(out_dynamic, 0, (size_t)n * sizeof *out_dynamic);
    for (int i = 0; i < ROUNDS && improve(&c, n); i++)
        ;
    return c.best;
}
