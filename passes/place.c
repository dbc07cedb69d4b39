/* Placement: which share of the workgroups every model gets, and which part of that every grid.
 *
 * The chip is cut into units, shader engines of dies, and the candidates are runs of dies, runs of
 * units where there is one die, and the best division by whole units. The program of assign.h
 * chooses; but it lets models take turns on a unit in any order, while a workgroup visits all tasks
 * of one model before those of the next. So its choice and the best division into disjoint shares
 * are played in that order, and the better one is taken.
 *
 * A single model needs no program: no grid is faster on fewer CUs, and nobody else wants the rest.
 * Nothing here decides a fence: where a range puts a task is a matter of speed only. Scopes follow
 * from slices (scope.h), and which die a slice is on, from where workgroups find themselves. */
#include "assign.h"
#include "cost.h"
#include "diag.h"
#include "findings.h"
#include "pipeline.h"
#include "scope.h"
#include <math.h>
#include <string.h>
#include <time.h>

enum { WHOLE = 1000000, UNITS_OF_ONE_DIE = 8, MOST_TRIPS = 4096, SWITCHES = 14 };
static const double CHANGE_US = 0.01;

struct range {
    int from, to; /* units */
};

struct place {
    et_pipeline *pl;
    const et_machine *m;
    const char *how;
    int nunits, nranges;
    struct range *range;
    et_assign_problem problem;
    et_assign_model model[ET_MAX_MODELS];
    int *grid[ET_MAX_MODELS]; /* by group: its grid */
    double played;            /* us, of the choice taken */
    et_assignment chosen;
    const char *taken;
    et_found_place *note; /* or NULL */
};

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
            out[n++] = (struct range){from, to};
    return n;
}

static uint64_t units_of(struct range r) {
    uint64_t below = r.to == 64 ? ~(uint64_t)0 : ((uint64_t)1 << r.to) - 1;
    return below & ~(((uint64_t)1 << r.from) - 1);
}

static double dies_of(const struct place *s, struct range r) {
    int per = s->nunits / s->m->dies;
    return (r.to + per - 1) / per - r.from / per;
}

/* Between dies, a counter takes longer and what was written has to cross. Any change has a price,
 * which decides between what is equal otherwise: tasks on CUs of their own are dealt from the first
 * of these on, whoever had the tiles before. */
static void price_moves(const struct place *s, et_assign_problem *p) {
    size_t n = (size_t)s->nranges;
    double *turn = et_alloc(s->pl->g->arena, n * n * sizeof *turn);
    double *byte = et_alloc(s->pl->g->arena, n * n * sizeof *byte);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            struct range a = s->range[i], b = s->range[k];
            int common = (a.to < b.to ? a.to : b.to) - (a.from > b.from ? a.from : b.from);
            double away = 1 - (common > 0 ? common : 0) / (double)(a.to - a.from);
            turn[i * n + k] = i == k ? 0 : CHANGE_US;
            if (common <= 0) turn[i * n + k] += s->m->counter_us - s->m->counter_die_us;
            byte[i * n + k] = i == k ? 0 : away / (s->m->cross_gbs * 1e3 * dies_of(s, b));
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
    double n = et_dtype_bytes(t->shape.dtype);
    for (int d = 0; d < t->shape.rank; d++)
        n *= (double)et_eval(w->p->g->exprs, t->shape.dim[d], w->syms, NULL);
    w->bytes += n;
}

static void cost_group(const struct place *s, const et_grid *g, const int64_t *syms, double *us,
                       double *memory_us, double *bytes) {
    const et_machine *m = s->m;
    const et_profile *times = s->pl->opt->profile;
    et_grid_cost c = et_grid_cost_at(s->pl->p, g, m, syms);
    uint64_t hash = times ? et_profile_hash(s->pl->p, g, syms) : 0;
    double part = g->range.to ? (double)(g->range.to - g->range.from) / WHOLE : 1;
    for (int r = 0; r < s->nranges; r++) {
        double cus = part * m->cus * (s->range[r].to - s->range[r].from) / s->nunits;
        us[r] = et_grid_us_on(&c, m, floor(cus + 1e-6), dies_of(s, s->range[r]));
        if (times) et_profile_us(times, hash, cus < 1 ? 1 : cus, &us[r]);
        if (g->nwaits) us[r] += m->event_us;
    }
    struct written w = {s->pl->p, syms, 0};
    et_func_accesses(s->pl->p, &s->pl->p->funcs[g->func], add_written, &w);
    *memory_us = c.memory_bytes / (m->hbm_gbs * 1e3);
    *bytes = w.bytes;
}

static void list_grids(struct place *s, int first, int count, int *n) {
    const et_program *p = s->pl->p;
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

static void build_model(struct place *s, int i, int n, const int64_t *syms) {
    et_program *p = s->pl->p;
    et_arena *a = p->g->arena;
    size_t groups = (size_t)n;
    double *us = et_alloc(a, groups * (size_t)s->nranges * sizeof *us);
    double *memory = et_alloc(a, groups * sizeof *memory);
    double *bytes = et_alloc(a, groups * sizeof *bytes);
    et_assign_segment *segment = et_alloc(a, groups * sizeof *segment);
    int nsegments = 0, last = -2;
    for (int k = 0; k < n; k++) {
        const et_grid *g = &p->grids[s->grid[i][k]];
        cost_group(s, g, syms, us + k * s->nranges, &memory[k], &bytes[k]);
        if (g->loop != last)
            segment[nsegments++] =
                (et_assign_segment){k, 0, (int)fmin(et_loop_trips(p->g, g->loop), MOST_TRIPS)};
        segment[nsegments - 1].count++;
        last = g->loop;
    }
    s->model[i] = (et_assign_model){.name = p->g->model[i].name,
                                    .weight = p->g->model[i].weight,
                                    .ngroups = n,
                                    .us = us,
                                    .memory_us = memory,
                                    .bytes = bytes,
                                    .nsegments = nsegments,
                                    .segments = segment,
                                    .switch_budget = SWITCHES};
}

/* The problem with the ranges that S has. False where some model has no grids. */
static bool build(struct place *s) {
    et_program *p = s->pl->p;
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    int n[ET_MAX_MODELS] = {0};
    et_sample_symbols(p->g->exprs, syms);
    et_profile_symbols(s->pl->opt->profile, p, syms[1]);
    for (int m = 0; m < p->g->nmodels; m++)
        s->grid[m] = et_alloc(p->g->arena, (size_t)(p->ngrids + 1) * sizeof **s->grid);
    list_grids(s, p->first, p->count, n);
    uint64_t *units = et_alloc(p->g->arena, (size_t)s->nranges * sizeof *units);
    for (int r = 0; r < s->nranges; r++)
        units[r] = units_of(s->range[r]);
    s->problem = (et_assign_problem){.nunits = s->nunits,
                                     .nranges = s->nranges,
                                     .units = units,
                                     .nmodels = p->g->nmodels,
                                     .models = s->model};
    price_moves(s, &s->problem);
    for (int m = 0; m < p->g->nmodels; m++) {
        if (!n[m]) return false;
        build_model(s, m, n[m], syms[1]);
    }
    return true;
}

/* ---- the choice ---- */

/* When the last model is done, times weighted, if workgroups visit model after model. DONE, unless
 * NULL, gets when each is. */
static double play(const struct place *s, int *const *range, double *done) {
    double until[ET_ASSIGN_UNITS] = {0}, worst = 0;
    for (int m = 0; m < s->problem.nmodels; m++) {
        const et_assign_model *md = &s->model[m];
        double t = 0;
        for (int k = 0; k < md->nsegments; k++) {
            const et_assign_segment *sg = &md->segments[k];
            for (int i = 0; i < sg->trips * sg->count; i++) {
                int g = sg->first + i % sg->count, r = range[m][g];
                for (int u = s->range[r].from; u < s->range[r].to; u++)
                    t = fmax(t, until[u]);
                t += md->us[g * s->nranges + r];
                for (int u = s->range[r].from; u < s->range[r].to; u++)
                    until[u] = t;
            }
        }
        worst = fmax(worst, md->weight * t);
        if (done) done[m] = t;
    }
    return worst;
}

static void consider(struct place *s, bool found, const et_assignment *a, const char *name) {
    double us = found ? play(s, a->range, NULL) : INFINITY;
    for (int i = 0; s->note && found && i < ET_FOUND_WAYS - 1; i++)
        if (!s->note->way[i].name) {
            s->note->way[i] = (et_found_way){name, us};
            break;
        }
    if (us >= s->played * (1 - 1e-9)) return;
    s->played = us;
    s->chosen = *a;
    s->taken = name;
}

/* One model after the other, each on the whole chip. */
static bool everywhere(const struct place *s, et_assignment *out) {
    int all[ET_MAX_MODELS] = {0};
    for (int r = 0; r < s->nranges; r++)
        if (s->range[r].to - s->range[r].from == s->nunits)
            for (int m = 0; m < s->problem.nmodels; m++)
                all[m] = r;
    return et_assign_fixed(&s->problem, s->pl->g->arena, all, out);
}

/* The best disjoint shares of whole units become candidates beside the runs of dies. */
static bool candidates(struct place *s) {
    et_arena *a = s->pl->g->arena;
    size_t most = (size_t)s->nunits * (size_t)(s->nunits + 1) / 2 + ET_MAX_MODELS;
    s->range = et_alloc(a, most * sizeof *s->range);
    s->nranges = runs(s, 1, s->range);
    if (!build(s)) return false;
    struct range fine[ET_MAX_MODELS];
    int nfine = 0, step = s->m->dies == 1 ? 1 : s->nunits / s->m->dies;
    et_assignment parts;
    if (et_assign_partition(&s->problem, a, &parts))
        for (; nfine < s->problem.nmodels; nfine++)
            fine[nfine] = s->range[parts.range[nfine][0]];
    s->nranges = runs(s, step, s->range);
    for (int i = 0; i < nfine; i++)
        if (fine[i].from % step || fine[i].to % step) s->range[s->nranges++] = fine[i];
    return build(s);
}

static void print_choice(const struct place *s, const et_assignment *best, bool bounded,
                         double seconds) {
    const et_graph *g = s->pl->g;
    if (!s->pl->opt->verbose) return;
    fprintf(stderr, "placement: %s, %.2f us predicted", s->taken, s->played);
    if (bounded)
        fprintf(stderr,
                "; program: objective %.2f us, LP bound %.2f us, gap %.2f %%, %d plans, "
                "%d nodes%s",
                best->objective, best->bound, 100 * (best->objective / best->bound - 1),
                best->plans, best->nodes, best->optimal ? ", optimal" : "");
    fprintf(stderr, "; %.2f s\n", seconds);
    for (int m = 0; m < g->nmodels; m++)
        fprintf(stderr, "placement: %s on %.1f..%.1f %% of the CUs\n", g->model[m].name,
                g->model[m].share.from / 1e4, g->model[m].share.to / 1e4);
}

/* ---- to the program ---- */

static int millionths(int part, int of) {
    return (int)((int64_t)part * WHOLE / of);
}

static void write_choice(struct place *s) {
    et_program *p = s->pl->p;
    const char *schedule = s->pl->opt->schedule;
    bool ranges = !schedule || strcmp(schedule, "static") == 0;
    for (int m = 0; m < s->problem.nmodels; m++) {
        struct range hull = {s->nunits, 0};
        for (int k = 0; k < s->model[m].ngroups; k++) {
            struct range r = s->range[s->chosen.range[m][k]];
            hull.from = r.from < hull.from ? r.from : hull.from;
            hull.to = r.to > hull.to ? r.to : hull.to;
        }
        p->g->model[m].share =
            (et_share){millionths(hull.from, s->nunits), millionths(hull.to, s->nunits)};
        for (int k = 0; k < s->model[m].ngroups && ranges; k++) {
            struct range r = s->range[s->chosen.range[m][k]];
            et_grid *g = &p->grids[s->grid[m][k]];
            bool whole = r.from == hull.from && r.to == hull.to;
            if (g->range.to || whole) continue;
            g->range = (et_share){millionths(r.from - hull.from, hull.to - hull.from),
                                  millionths(r.to - hull.from, hull.to - hull.from)};
        }
    }
}

/* A model's time on any number of units, were it alone. */
static void note_widths(const struct place *s) {
    et_arena *a = s->pl->g->arena;
    struct place one = *s;
    one.range = et_alloc(a, (size_t)s->nunits * sizeof *one.range);
    one.nranges = s->nunits;
    for (int u = 0; u < s->nunits; u++)
        one.range[u] = (struct range){0, u + 1};
    if (!build(&one)) return;
    for (int m = 0; m < one.problem.nmodels; m++) {
        s->note->us[m] = et_alloc(a, (size_t)(s->nunits + 1) * sizeof(double));
        for (int u = 0; u < s->nunits; u++) {
            int range[ET_MAX_MODELS];
            et_assignment fixed;
            for (int k = 0; k < one.problem.nmodels; k++)
                range[k] = u;
            et_assign_fixed(&one.problem, a, range, &fixed);
            s->note->us[m][u + 1] = fixed.us[m];
        }
    }
}

static void note_choice(const struct place *s, const et_assignment *best, bool bounded) {
    et_found_place *n = s->note;
    if (!n) return;
    n->known = true;
    n->how = s->how;
    n->taken = s->taken;
    n->bounded = bounded;
    n->objective = best->objective;
    n->bound = best->bound;
    n->plans = best->plans;
    n->nodes = best->nodes;
    n->optimal = best->optimal;
    n->units = s->nunits;
    play(s, s->chosen.range, n->played);
    note_widths(s);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void choose(struct place *s) {
    et_arena *a = s->pl->g->arena;
    et_assignment best = {0}, other;
    double begin = seconds();
    bool bounded = false, ilp = strcmp(s->how, "ilp") == 0;
    s->played = INFINITY;
    if (ilp) {
        bounded = et_assign_optimal(&s->problem, a, &best);
        consider(s, bounded, &best, "integer program");
#ifndef ETCC_GLPK
        et_diag(s->pl->g->diags, ET_WARNING, (et_loc){0},
                "built without GLPK: no integer program, placement is greedy");
#endif
    }
    if ((ilp && !bounded) || strcmp(s->how, "greedy") == 0)
        consider(s, et_assign_greedy(&s->problem, a, &other), &other, "greedy");
    if (ilp || strcmp(s->how, "fixed") == 0)
        consider(s, et_assign_partition(&s->problem, a, &other), &other, "disjoint shares");
    if (ilp || !(s->played < INFINITY))
        consider(s, everywhere(s, &other), &other, "every task on all CUs");
    if (!(s->played < INFINITY)) return;
    write_choice(s);
    print_choice(s, &best, bounded, seconds() - begin);
    note_choice(s, &best, bounded);
}

bool et_pass_place(et_pipeline *pl) {
    struct place s = {.pl = pl, .m = pl->opt->machine};
    et_graph *g = pl->g;
    bool given = false;
    s.how = pl->opt->placement ? pl->opt->placement : "ilp";
    const char *dump = pl->opt->dump;
    et_infer_scopes(pl->p);
    if (dump && (strcmp(dump, "place") == 0 || strcmp(dump, "all") == 0))
        et_tell_scopes(pl->p, pl->opt->dump_to);
    for (int m = 0; m < g->nmodels; m++)
        given |= g->model[m].share.to > 0;
    if (given || pl->opt->quick) return true;
    if (g->nmodels < 2) {
        if (pl->opt->verbose)
            fputs("placement: one model, every task without @range on all CUs: none is predicted "
                  "to be faster on fewer; gap 0 %, 0 nodes\n",
                  stderr);
        return true;
    }
    et_finding *f = et_finding_note(pl->opt, g);
    s.note = f ? &f->place : NULL;
    cut_chip(&s);
    if (candidates(&s)) choose(&s);
    return true;
}
