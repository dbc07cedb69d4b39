/* Placement as a problem of assign.h: the chip is cut into units, shader engines of dies, and
 * the candidates are runs of dies and single units, runs of units where there is one die, and, of
 * several models, the best division by whole units.
 *
 * Where a model may be in slices, each run of dies on which it is faster so is a second candidate,
 * with the times of the best way of slicing there. That is all of the model or nothing: tasks in
 * slices are dealt over all that the model has. */
#include "ir/program/step.h"
#include "passes/cost/cost.h"
#include "passes/place/int.h"
#include <math.h>
#include <string.h>

enum { UNITS_OF_ONE_DIE = 8, MOST_TRIPS = 4096, SWITCHES = 14 };
/* The price of moving between CUs, which decides between equal plans; and between ranges that no
 * plan may combine. */
static const double CHANGE_US = 0.01, NEVER_US = 1e6;

/* ---- the chip ---- */

static void cut_chip(struct place *s) {
    const et_machine *m = s->m;
    int per = m->dies == 1 ? UNITS_OF_ONE_DIE : m->shader_engines > 0 ? m->shader_engines : 4;
    while (per > 1 && (m->dies * per > ET_ASSIGN_UNITS || m->dies * per > m->cus))
        per--;
    s->nunits = m->dies * per;
}

/* All runs of STEP units that begin at a multiple of it. */
static int runs(const struct place *s, int step, struct range *out) {
    int n = 0;
    for (int from = 0; from < s->nunits; from += step)
        for (int to = from + step; to <= s->nunits; to += step)
            out[n++] = (struct range){from, to, false};
    return n;
}

static uint64_t units_of(struct range r) {
    uint64_t below = r.to == 64 ? ~(uint64_t)0 : ((uint64_t)1 << r.to) - 1;
    return below & ~(((uint64_t)1 << r.from) - 1);
}

int place_dies(const struct place *s, struct range r) {
    int per = s->nunits / s->m->dies;
    return (r.to + per - 1) / per - r.from / per;
}

/* Between dies, a counter takes longer and data has to cross. Each change of range has a price,
 * which decides between equal choices: tiles of a range are dealt from its first CU on, wherever
 * the tiles before them ran. */
static void price_moves(const struct place *s, et_assign_problem *p) {
    size_t n = (size_t)s->nranges;
    double *turn = et_alloc(s->g->arena, n * n * sizeof *turn);
    double *byte = et_alloc(s->g->arena, n * n * sizeof *byte);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            struct range a = s->range[i], b = s->range[k];
            int common = (a.to < b.to ? a.to : b.to) - (a.from > b.from ? a.from : b.from);
            double away = 1 - (common > 0 ? common : 0) / (double)(a.to - a.from);
            turn[i * n + k] = i == k ? 0 : a.sliced || b.sliced ? NEVER_US : CHANGE_US;
            if (common <= 0) turn[i * n + k] += s->m->counter_us - s->m->counter_die_us;
            byte[i * n + k] = i == k ? 0 : away / (s->m->cross_gbs * 1e3 * place_dies(s, b));
        }
    p->switch_us = turn;
    p->byte_us = byte;
}

/* ---- the models ---- */

struct written {
    et_program *p;
    const int64_t *syms;
    double bytes;
};

static void add_written(void *ctx, const et_step *step, int tensor, bool is_store,
                        const et_expr *index) {
    (void)step, (void)index;
    struct written *w = ctx;
    const et_tensor *t = &w->p->tensors[tensor];
    if (!is_store || t->kind != ET_TENSOR_TEMP) return;
    double n = et_dtype_width(t->shape.dtype);
    for (int d = 0; d < t->shape.rank; d++)
        n *= (double)et_eval(w->p->g->exprs, t->shape.dim[d], w->syms, NULL);
    w->bytes += n;
}

/* The time of the grid's wait after the last arrival: less where all are on its die. */
static double event_us(const struct place *s, const et_grid *g) {
    const et_machine *m = s->m;
    double far = 0;
    for (int i = 0; i < g->nwaits; i++)
        far = s->p->events[g->waits[i].event].scope > ET_SCOPE_DIE ? m->event_us : far;
    double near = m->counter_die_us + 2 * m->fence_die_us;
    return !g->nwaits || far > near ? far : near;
}

/* Units that count for tiles in slices: all dies have as many slices, whatever they have of R. */
static int even_units(const struct place *s, struct range r) {
    int per = s->nunits / s->m->dies, dies = place_dies(s, r);
    int first = per - r.from % per, last = (r.to - 1) % per + 1;
    if (dies == 1) return r.to - r.from;
    return dies * (first < last ? first : last);
}

/* The time of the grid on RANGE, without slices and waits, at SYMS, where C is its cost. */
static double body_us(const struct place *s, const et_grid *g, const et_grid_cost *c,
                      const int64_t *syms, struct range r) {
    double part = g->range.to ? (double)(g->range.to - g->range.from) / PLACE_WHOLE : 1;
    int units = g->slice.count ? even_units(s, r) : r.to - r.from;
    double cus = part * s->m->cus * units / s->nunits;
    double us = et_grid_us_on(c, s->m, floor(cus + 1e-6), place_dies(s, r));
    if (s->profile)
        et_profile_us(s->profile, et_profile_hash(s->p, g, syms), cus < 1 ? 1 : cus, &us);
    return us;
}

/* A model alone gets ranges only for groups that are not slower there at any size. */
static void rule_out(const struct place *s, const et_grid *g, double *us) {
    struct range all = {0, s->nunits, false};
    for (int k = 0; k < ET_SAMPLES; k++) {
        et_grid_cost c = et_grid_cost_at(s->p, g, s->m, s->sample[k]);
        double most = body_us(s, g, &c, s->sample[k], all) * (1 + 1e-9);
        for (int r = 0; r < s->nranges; r++)
            if (body_us(s, g, &c, s->sample[k], s->range[r]) > most) us[r] = INFINITY;
    }
}

static void cost_group(const struct place *s, const et_grid *g, double *us, double *memory_us,
                       double *bytes) {
    et_grid_cost c = et_grid_cost_at(s->p, g, s->m, s->syms);
    double wait = event_us(s, g);
    for (int r = 0; r < s->nranges; r++) {
        const double *ratio = s->range[r].sliced ? s->in_slices[g->model] : NULL;
        int dies = place_dies(s, s->range[r]);
        us[r] = body_us(s, g, &c, s->syms, s->range[r]) + wait;
        if (s->range[r].sliced) us[r] = ratio && ratio[dies] < 1 ? us[r] * ratio[dies] : INFINITY;
    }
    if (s->nmodels == 1) rule_out(s, g, us);
    struct written w = {s->p, s->syms, 0};
    et_func_accesses(s->p, &s->p->funcs[g->func], add_written, &w);
    *memory_us = c.memory_bytes / (s->m->hbm_gbs * 1e3);
    *bytes = w.bytes;
}

static void list_grids(struct place *s, int first, int count, int *n) {
    const et_program *p = s->p;
    for (int i = first; i < first + count; i++) {
        const et_item *it = &p->items[i];
        if (it->kind == ET_P_LOOP) {
            list_grids(s, it->first, it->count, n);
        } else {
            int m = p->grids[it->index].model;
            s->grid[m][n[m]++] = it->index;
        }
    }
}

static void build_model(struct place *s, int i, int n) {
    et_program *p = s->p;
    et_arena *a = s->g->arena;
    size_t groups = (size_t)n;
    double *us = et_alloc(a, groups * (size_t)s->nranges * sizeof *us);
    double *memory = et_alloc(a, groups * sizeof *memory);
    double *bytes = et_alloc(a, groups * sizeof *bytes);
    et_assign_segment *segment = et_alloc(a, groups * sizeof *segment);
    int nsegments = 0, last = -2;
    bool sliced = false;
    for (int k = 0; k < n; k++) {
        const et_grid *g = &p->grids[s->grid[i][k]];
        cost_group(s, g, us + k * s->nranges, &memory[k], &bytes[k]);
        if (g->loop != last)
            segment[nsegments++] = (et_assign_segment){
                k, 0, (int)fmin(et_loop_trips_at(p->g, g->loop, s->syms), MOST_TRIPS)};
        segment[nsegments - 1].count++;
        last = g->loop;
        sliced |= g->slice.count > 0;
    }
    s->model[i] = (et_assign_model){.name = s->g->nmodels ? s->g->model[i].name : s->g->name,
                                    .weight = s->g->nmodels ? s->g->model[i].weight : 1,
                                    .ngroups = n,
                                    .us = us,
                                    .memory_us = memory,
                                    .bytes = bytes,
                                    .nsegments = nsegments,
                                    .segments = segment,
                                    .switch_budget = sliced ? 0 : SWITCHES};
}

bool place_build(struct place *s) {
    et_program *p = s->p;
    int n[ET_MAX_MODELS] = {0};
    for (int m = 0; m < s->nmodels; m++)
        s->grid[m] = et_alloc(s->g->arena, (size_t)(p->ngrids + 1) * sizeof **s->grid);
    list_grids(s, p->first, p->count, n);
    uint64_t *units = et_alloc(s->g->arena, (size_t)s->nranges * sizeof *units);
    for (int r = 0; r < s->nranges; r++)
        units[r] = units_of(s->range[r]);
    s->problem = (et_assign_problem){.nunits = s->nunits,
                                     .nranges = s->nranges,
                                     .units = units,
                                     .nmodels = s->nmodels,
                                     .models = s->model};
    price_moves(s, &s->problem);
    for (int m = 0; m < s->nmodels; m++) {
        if (!n[m]) return false;
        build_model(s, m, n[m]);
    }
    return true;
}

void place_init(struct place *s, et_program *p, const et_pass_options *o) {
    *s = (struct place){.g = p->g, .p = p, .m = o->machine, .profile = o->profile};
    s->how = o->placement;
    s->nmodels = p->g->nmodels ? p->g->nmodels : 1;
    et_sample_symbols(p->g->exprs, s->sample);
    s->syms = s->sample[1];
    et_profile_symbols(s->profile, p, s->sample[1]);
    cut_chip(s);
}

/* ---- candidates ---- */

/* The best disjoint shares of whole units become candidates beside the runs of dies and the units.
 */
static bool runs_and_shares(struct place *s) {
    struct range fine[ET_MAX_MODELS];
    int nfine = 0, step = s->m->dies == 1 ? 1 : s->nunits / s->m->dies;
    et_assignment parts;
    if (s->nmodels > 1) {
        s->nranges = runs(s, 1, s->range);
        if (!place_build(s)) return false;
        if (et_assign_partition(&s->problem, s->g->arena, &parts))
            for (; nfine < s->nmodels; nfine++)
                fine[nfine] = s->range[parts.range[nfine][0]];
    }
    s->nranges = runs(s, step, s->range);
    for (int u = 0; u < s->nunits && step > 1; u++)
        s->range[s->nranges++] = (struct range){u, u + 1, false};
    for (int i = 0; i < nfine; i++)
        if (fine[i].from % step || fine[i].to % step) s->range[s->nranges++] = fine[i];
    return true;
}

static bool faster_in_slices(const struct place *s, struct range r) {
    bool any = false;
    int dies = place_dies(s, r);
    for (int m = 0; m < s->nmodels && s->in_slices; m++)
        any |= s->in_slices[m] && s->in_slices[m][dies] < 1;
    return any && (r.to - r.from) * s->m->dies == dies * s->nunits;
}

bool place_candidates(struct place *s) {
    size_t most = 2 * ((size_t)s->nunits * (size_t)(s->nunits + 1) / 2 + ET_MAX_MODELS);
    s->range = et_alloc(s->g->arena, most * sizeof *s->range);
    if (!runs_and_shares(s)) return false;
    for (int i = 0; s->nmodels == 1 && i < s->nranges; i++)
        if (s->range[i].to - s->range[i].from == s->nunits) { /* of what is equal, all there is */
            s->range[i] = s->range[0];
            s->range[0] = (struct range){0, s->nunits, false};
        }
    for (int i = 0, n = s->nranges; i < n; i++)
        if (faster_in_slices(s, s->range[i]))
            s->range[s->nranges++] = (struct range){s->range[i].from, s->range[i].to, true};
    return place_build(s);
}
