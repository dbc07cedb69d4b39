/* What the simulator says of every column at every point. */
#include "bench/etbench/etbench.h"

#include <stdlib.h>
#include <string.h>

void eb_symbols(const struct eb_bench *b, const struct eb_point *p, const et_program *program,
                int64_t *out) {
    const et_exprs *x = program->g->exprs;
    etrt_dim_info info;
    for (int s = 0; s < et_sym_count(x) && s < EB_MAX_SETTINGS; s++)
        for (int d = 0; eb_column_dim(&b->column[0], d, &info); d++)
            if (strcmp(info.name, et_sym_name(x, s)) == 0) out[s] = p->value[d];
}

/* The simulator has one context for both of its callbacks. */
struct player {
    struct eb_values *values;
    void (*task)(void *ctx, const et_sim_task *);
    void *ctx;
};

static bool player_value(void *ctx, int tensor, int64_t iteration, const int64_t *index,
                         int64_t *out) {
    return eb_value(((struct player *)ctx)->values, tensor, iteration, index, out);
}

static void player_task(void *ctx, const et_sim_task *task) {
    const struct player *p = ctx;
    p->task(p->ctx, task);
}

bool eb_play_with(struct eb_bench *b, const struct eb_column *c, const int64_t *syms,
                  struct eb_values *values, void (*task)(void *ctx, const et_sim_task *), void *ctx,
                  et_sim_result *out, char err[ET_SIM_ERR]) {
    struct player player = {values, task, ctx};
    et_sim_options o = {.machine = b->machine,
                        .profile = b->times,
                        .syms = syms,
                        .mode = c->unfused ? ET_SIM_UNFUSED : ET_SIM_AS_SCHEDULED,
                        .value = player_value,
                        .task = task ? player_task : NULL,
                        .ctx = &player};
    return et_simulate(c->program, &o, out, err);
}

bool eb_play(struct eb_bench *b, const struct eb_column *c, const struct eb_point *p,
             et_sim_result *out, struct eb_values **out_values, char err[ET_SIM_ERR]) {
    int64_t syms[EB_MAX_SETTINGS] = {0};
    bool ok = false;
    char why[ET_SIM_ERR] = "";
    eb_symbols(b, p, c->program, syms);
    for (int effort = EB_INPUTS; effort <= EB_GUESS && !ok; effort++) {
        struct eb_values *values = eb_values_make(b, c, p, (enum eb_effort)effort, why);
        ok = values && eb_play_with(b, c, syms, values, NULL, NULL, out, why);
        if (values) snprintf(err, ET_SIM_ERR, "%s", why);
        if (ok)
            *out_values = values;
        else
            eb_values_free(values);
    }
    return ok;
}

static void predict(struct eb_bench *b, const struct eb_column *c, const struct eb_point *p,
                    struct eb_cell *cell) {
    struct eb_values *values = NULL;
    cell->has_prediction = eb_play(b, c, p, &cell->prediction, &values, cell->why);
    if (!cell->has_prediction) return;
    cell->routing_from_device = eb_values_from_device(values);
    eb_values_free(values);
    cell->sample[EB_PREDICTED] = eb_alloc(sizeof(double));
    cell->sample[EB_PREDICTED][0] = cell->prediction.us;
    cell->n[EB_PREDICTED] = 1;
}

void eb_predict(struct eb_bench *b, struct eb_point *p) {
    for (int c = 0; b->machine && c < b->ncolumns; c++) {
        if (!b->column[c].program) continue;
        char *what = eb_text("predicting %s %s", p->name, b->column[c].name);
        if (!b->device)
            eb_progress(b, (int)(p - b->point) * b->ncolumns + c, b->npoints * b->ncolumns, what);
        free(what);
        predict(b, &b->column[c], p, &p->cell[c]);
    }
}
