/* Choices of placement played by the simulator: a launch of all models, or of one alone. */
#include "diag.h"
#include "place_int.h"
#include "simulate.h"
#include <math.h>
#include <string.h>

struct place_player {
    et_program *p;
    et_sim_options sim;
    et_sim_values *values;
    double *done;
};

static bool value(void *ctx, int tensor, int64_t iteration, const int64_t *index, int64_t *out) {
    return et_sim_value(((place_player *)ctx)->values, tensor, iteration, index, out);
}

static void task(void *ctx, const et_sim_task *t) {
    place_player *pl = ctx;
    pl->done[pl->p->grids[t->grid].model] = t->t_left; /* they come in the order they leave */
}

place_player *place_player_create(et_program *p, const et_pass_options *o, const int64_t *syms) {
    place_player *pl = et_alloc(p->g->arena, sizeof *pl);
    bool dynamic = o->schedule && strcmp(o->schedule, "dynamic") == 0;
    pl->p = p;
    pl->sim = (et_sim_options){.machine = o->machine,
                               .profile = o->profile,
                               .syms = syms,
                               .mode = dynamic ? ET_SIM_DYNAMIC : ET_SIM_AS_SCHEDULED,
                               .keep_parts = true,
                               .task = task,
                               .ctx = pl};
    return pl;
}

void place_player_destroy(place_player *pl) {
    if (pl && pl->values) et_sim_values_destroy(pl->values);
}

double place_launch(place_player *pl, int only, double done[ET_MAX_MODELS], int64_t *tasks) {
    bool left_out[ET_MAX_MODELS] = {false};
    char err[ET_SIM_ERR];
    et_sim_result r;
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
    if (tasks) *tasks = ok ? r.tasks : 0;
    return ok ? r.us : INFINITY;
}
