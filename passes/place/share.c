/* Shares of the workgroups for models that share a kernel, where placement has given none: side
 * by side, in proportion to each model's work times its weight, so that they end together. */
#include "passes/cost/cost.h"
#include "passes/pipeline/pipeline.h"

enum { WHOLE = 1000000 };

bool et_pass_share(et_pipeline *pl) {
    et_program *p = pl->p;
    et_graph *g = pl->g;
    double work[ET_MAX_MODELS] = {0}, all = 0, end = 0;
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    for (int m = 0; m < g->nmodels; m++)
        if (g->model[m].share.to) return true;
    et_sample_symbols(g->exprs, syms);
    et_profile_symbols(pl->opt->profile, p, syms[1]);
    for (int i = 0; i < p->ngrids && g->nmodels; i++) {
        const et_grid *gr = &p->grids[i];
        double us = et_grid_cost_profiled(p, gr, pl->opt->machine, pl->opt->profile, syms[1]).us;
        work[gr->model] += us * et_loop_trips_at(g, gr->loop, syms[1]) * g->model[gr->model].weight;
    }
    for (int m = 0; m < g->nmodels; m++)
        all += work[m];
    for (int m = 0; m < g->nmodels; m++) {
        et_share *s = &g->model[m].share;
        s->from = m ? g->model[m - 1].share.to : 0;
        end += all > 0 ? work[m] / all * WHOLE : (double)WHOLE / g->nmodels;
        int most = WHOLE - (g->nmodels - 1 - m); /* something for everybody */
        s->to = m == g->nmodels - 1 ? WHOLE : (int)end;
        if (s->to <= s->from) s->to = s->from + 1;
        if (s->to > most) s->to = most;
    }
    return true;
}
