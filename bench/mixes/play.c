/* Launches of a mix, as the simulator plays them. */
#include "bench/mixes/mixes.h"
#include "codegen/targets/targets.h"
#include "frontend/frontend.h"
#include "passes/cost/cost.h"
#include "passes/passes.h"
#include <stdlib.h>
#include <string.h>

struct mix_program {
    const struct mix *mix;
    et_planned on;
    et_program *p;
    et_sim_values *values;
    int64_t syms[ET_MAX_SYMS];
    /* A kernel is a grid in an iteration of the loops around it: slot[grid] + iteration. */
    int *slot;
    int *number;  /* by slot: in the order the model runs its kernels; -1 */
    double *left; /* by slot: when its last tile was done */
    int count[MIX_MODELS];
};

/* ---- programs ---- */

static void number_slots(struct mix_program *mp, et_arena *a) {
    int64_t n = 0;
    mp->slot = et_alloc(a, (size_t)(mp->p->ngrids + 1) * sizeof *mp->slot);
    for (int i = 0; i < mp->p->ngrids; i++) {
        mp->slot[i] = (int)n;
        n += (int64_t)et_loop_trips(mp->p->g, mp->p->grids[i].loop);
    }
    mp->slot[mp->p->ngrids] = (int)n;
    mp->number = et_alloc(a, (size_t)(n + 1) * sizeof *mp->number);
    mp->left = et_alloc(a, (size_t)(n + 1) * sizeof *mp->left);
    for (int64_t i = 0; i < n; i++)
        mp->number[i] = -1;
}

static et_graph *parse(const struct mix *m, et_arena *a, et_diags *d) {
    et_source source[MIX_MODELS];
    for (int i = 0; i < m->nmodels; i++)
        source[i] = (et_source){m->file[i], m->text[i], m->bytes[i]};
    return et_parse_etg_mix(a, d, m->nmodels, source, NULL);
}

struct mix_program *mix_compile(const struct mix *m, et_arena *a, et_placement placement) {
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    char err[ET_SIM_ERR] = "it does not compile";
    et_diags *d = et_diags_create(a);
    et_pass_options o = {.unverified = true, .placement = placement};
    struct mix_program *mp = et_alloc(a, sizeof *mp);
    mp->mix = m;
    et_plan_for(&o, m->machine, et_target_find(m->machine->target), &mp->on);
    et_graph *g = parse(m, a, d);
    bool ok = g && et_passes_run(g, &o, &mp->p);
    et_diag_print(d, stderr);
    if (ok) {
        et_sample_symbols(g->exprs, syms);
        memcpy(mp->syms, syms[1], sizeof mp->syms);
        number_slots(mp, a);
        /* Sequences are in the middle of generation. */
        const et_sim_known positions = {"positions", (int32_t)(m->context - 1)};
        mp->values = et_sim_values_guess(a, mp->p, mp->syms, &positions, err);
    }
    if (mp->values) return mp;
    fprintf(stderr, "etmixes: %s\n", err);
    return NULL;
}

void mix_program_destroy(struct mix_program *mp) {
    if (mp) et_sim_values_destroy(mp->values);
}

const et_program *mix_program_of(const struct mix_program *mp) {
    return mp->p;
}

const et_machine *mix_machine(const struct mix_program *mp) {
    return &mp->on.machine;
}

const char *mix_name(const struct mix_program *mp, int model) {
    return mp->p->g->nmodels ? mp->p->g->model[model].name : mp->p->g->name;
}

void mix_print_dims(const struct mix_program *mp, FILE *to) {
    const et_exprs *x = mp->p->g->exprs;
    for (int i = 0; i < et_sym_count(x); i++)
        fprintf(to, "%s%s = %lld", i ? ", " : "", et_sym_name(x, i), (long long)mp->syms[i]);
}

void mix_set_share(struct mix_program *mp, int model, et_share share) {
    mp->p->g->model[model].share = share;
}

/* ---- launches ---- */

struct player {
    struct mix_program *mp;
    const struct mix_how *how;
    double *done;
    bool numbering;
};

static bool value(void *ctx, int tensor, int64_t iteration, const int64_t *index, int64_t *out) {
    return et_sim_value(((struct player *)ctx)->mp->values, tensor, iteration, index, out);
}

static et_share mask(void *ctx, int grid, int64_t iteration) {
    const struct player *p = ctx;
    const struct mix_program *mp = p->mp;
    const struct mix_masks *k = p->how->masks;
    int model = mp->p->grids[grid].model, number = mp->number[mp->slot[grid] + iteration];
    return number < 0 ? (et_share){0, 1000000} : k->quarters[model][k->plan->config[model][number]];
}

static void task(void *ctx, const et_sim_task *t) {
    struct player *p = ctx;
    struct mix_program *mp = p->mp;
    int model = mp->p->grids[t->grid].model;
    int64_t at = mp->slot[t->grid] + t->iteration;
    if (p->numbering && mp->number[at] < 0) mp->number[at] = mp->count[model]++;
    mp->left[at] = t->t_left; /* tasks come in the order they leave */
    p->done[model] = t->t_left;
}

static bool simulate(struct mix_program *mp, const struct mix_how *how, unsigned set,
                     bool numbering, struct mix_launch *out) {
    char err[ET_SIM_ERR];
    bool left_out[ET_MAX_MODELS] = {false};
    *out = (struct mix_launch){.done = {0}};
    struct player player = {mp, how, out->done, numbering};
    for (int m = 0; m < mp->mix->nmodels; m++)
        left_out[m] = !(set >> m & 1);
    const et_sim_options o = {.machine = how->machine ? how->machine : &mp->on.machine,
                              .workgroups = how->workgroups,
                              .syms = mp->syms,
                              .mode = how->mode,
                              .left_out = left_out,
                              .keep_parts = how->keep_parts,
                              .mask = how->masks ? mask : NULL,
                              .switch_us = how->switch_us,
                              .value = value,
                              .task = task,
                              .ctx = &player};
    if (et_simulate(mp->p, &o, &out->r, err)) return true;
    fprintf(stderr, "etmixes: %s\n", err);
    return false;
}

bool mix_play(struct mix_program *mp, const struct mix_how *how, unsigned set,
              struct mix_launch *out) {
    return simulate(mp, how, set, false, out);
}

bool mix_needs_of(struct mix_program *mp, int model, struct mix_needs *out) {
    const et_machine *m = mp->mix->machine;
    const struct mix_how how = {.mode = ET_SIM_AS_SCHEDULED};
    struct mix_launch alone;
    *out = (struct mix_needs){0};
    if (!mix_play(mp, &how, 1u << model, &alone)) return false;
    out->memory = alone.r.memory_bytes / (m->hbm_gbs * 1e3);
    for (int i = 0; i < mp->p->ngrids; i++) {
        const et_grid *g = &mp->p->grids[i];
        if (g->model != model) continue;
        et_grid_cost c = et_grid_cost_at(mp->p, g, m, mp->syms);
        double runs = et_loop_trips(mp->p->g, g->loop);
        out->matrix += runs * c.matrix_flops / (m->matrix_tflops * 1e6);
        out->vector += runs * c.vector_flops * 2 / (m->vector_tflops * 1e6);
    }
    return true;
}

int mix_kernels(struct mix_program *mp, int model) {
    const struct mix_how how = {.mode = ET_SIM_STREAMS};
    struct mix_launch launch;
    if (!mp->count[model] && !simulate(mp, &how, 1u << model, true, &launch)) return 0;
    return mp->count[model];
}

/* The end of the kernel before it is when a kernel could have begun, but for the boundary. */
bool mix_kernel_times(struct mix_program *mp, int model, et_share share, double *us, int stride) {
    const et_machine *m = mp->mix->machine;
    int n = mix_kernels(mp, model), *all = calloc((size_t)n + 1, sizeof *all);
    struct eclip_plan plan = {.config = {all, all, all}};
    struct mix_masks masks = {.plan = &plan};
    const struct mix_how how = {.mode = ET_SIM_STREAMS, .masks = &masks};
    struct mix_launch launch;
    masks.quarters[model][0] = share;
    bool ok = n > 0 && all && mix_play(mp, &how, 1u << model, &launch);
    for (int g = 0; ok && g < mp->p->ngrids; g++)
        for (int i = mp->slot[g]; mp->p->grids[g].model == model && i < mp->slot[g + 1]; i++)
            if (mp->number[i] >= 0) us[mp->number[i] * stride] = mp->left[i];
    for (int k = n - 1; ok && k >= 0; k--)
        us[k * stride] -= k ? us[(k - 1) * stride] + m->graph_us : m->launch_us;
    free(all);
    return ok;
}
