#include "passes/trial/play.h"
#include "passes/simulate/simulate.h"
#include <math.h>
#include <string.h>

/* Longer launches are not played: that takes a second for each million of tasks or so. */
enum { MOST_TASKS = 2000000 };

struct et_player {
    et_program *p;
    double *tasks; /* of a launch, by model */
    et_sim_options sim;
    et_sim_values *values;
    double *done;
};

static bool value(void *ctx, int tensor, int64_t iteration, const int64_t *index, int64_t *out) {
    return et_sim_value(((et_player *)ctx)->values, tensor, iteration, index, out);
}

static void task(void *ctx, const et_sim_task *t) {
    et_player *pl = ctx;
    pl->done[pl->p->grids[t->grid].model] = t->t_left; /* they come in the order they leave */
}

static double *count_tasks(et_program *p, const int64_t *syms) {
    et_exprs *x = p->g->exprs;
    double *n = et_alloc(p->g->arena, ET_MAX_MODELS * sizeof *n);
    int64_t *vars = et_alloc(p->g->arena, ((size_t)et_var_count(x) + 1) * sizeof *vars);
    for (int i = 0; i < p->ngrids; i++) {
        const et_grid *g = &p->grids[i];
        n[g->model] += (double)et_eval(x, et_grid_tiles(p, g), syms, vars) *
                       et_loop_trips_at(p->g, g->loop, syms);
    }
    return n;
}

et_player *et_player_create(et_program *p, const et_pass_options *o, const int64_t *syms) {
    et_player *pl = et_alloc(p->g->arena, sizeof *pl);
    bool dynamic = et_schedule_of(o->schedule)->queued == ET_QUEUED_ALL;
    pl->p = p;
    pl->tasks = count_tasks(p, syms);
    pl->sim = (et_sim_options){.machine = o->machine,
                               .profile = o->profile,
                               .syms = syms,
                               .mode = dynamic ? ET_SIM_DYNAMIC : ET_SIM_AS_SCHEDULED,
                               .keep_parts = true,
                               .task = task,
                               .ctx = pl};
    return pl;
}

void et_player_destroy(et_player *pl) {
    if (pl && pl->values) et_sim_values_destroy(pl->values);
}

double et_player_tasks(const et_player *pl, int only) {
    double n = 0;
    for (int m = 0; m < ET_MAX_MODELS; m++)
        n += only < 0 || m == only ? pl->tasks[m] : 0;
    return n;
}

double et_player_launch(et_player *pl, int only, double done[ET_MAX_MODELS]) {
    bool left_out[ET_MAX_MODELS] = {false};
    char err[ET_SIM_ERR];
    et_sim_result r;
    if (!(et_player_tasks(pl, only) <= MOST_TASKS)) return INFINITY;
    for (int m = 0; m < pl->p->g->nmodels; m++)
        left_out[m] = only >= 0 && m != only;
    pl->sim.left_out = pl->p->g->nmodels ? left_out : NULL;
    pl->done = done;
    memset(done, 0, ET_MAX_MODELS * sizeof *done);
    bool ok = et_simulate(pl->p, &pl->sim, &r, err);
    if (!ok && !pl->values) { /* what waits depend on has to be guessed */
        pl->values = et_sim_values_guess(pl->p->g->arena, pl->p, pl->sim.syms, NULL, err);
        pl->sim.value = value;
        ok = pl->values && et_simulate(pl->p, &pl->sim, &r, err);
    }
    return ok ? r.us : INFINITY;
}
