/* The ways of sharing a GPU that are compared, each tried on all sets of models that it may come
 * across. */
#include "bench/mixes/mixes.h"
#include <math.h>
#include <string.h>

enum { WHOLE = 1000000, MOST_UNITS = 64 };
enum program { ALL, FIXED, SEARCHED, GREEDY, ILP, PROGRAMS };
enum change { FREE, BARRIER, MASK };

static const struct row {
    const char *name;
    enum program program;
    et_sim_mode mode;
    int kind;
    bool keep_parts, masks;
    enum change change;
} rows[MIX_POLICIES] = {
    {"kernels in turn", ALL, ET_SIM_STREAMS, MIX_TURNS, false, false, FREE},
    {"kernels side by side", ALL, ET_SIM_STREAMS, MIX_STREAMS, false, false, FREE},
    {"fixed, kernels", SEARCHED, ET_SIM_STREAMS, MIX_STREAMS, true, false, FREE},
    {"ECLIP", ALL, ET_SIM_STREAMS, MIX_STREAMS, false, true, BARRIER},
    {"ECLIP, setting masks", ALL, ET_SIM_STREAMS, MIX_STREAMS, false, true, MASK},
    {"sequence", ALL, ET_SIM_AS_SCHEDULED, MIX_TURNS, false, false, FREE},
    {"all", ALL, ET_SIM_AS_SCHEDULED, MIX_LAUNCHES, false, false, FREE},
    {"fixed", FIXED, ET_SIM_AS_SCHEDULED, MIX_STREAMS, true, false, FREE},
    {"fixed, searched", SEARCHED, ET_SIM_AS_SCHEDULED, MIX_STREAMS, true, false, FREE},
    {"greedy", GREEDY, ET_SIM_AS_SCHEDULED, MIX_LAUNCHES, false, false, FREE},
    {"ilp", ILP, ET_SIM_AS_SCHEDULED, MIX_LAUNCHES, false, false, FREE},
};

/* ---- one policy ---- */

struct trial {
    const struct mix *mix;
    et_arena *arena;
    struct mix_program *program[PROGRAMS];
    struct eclip_plan plan;
    struct mix_masks masks;
};

static struct mix_how how_of(const struct trial *t, const struct row *r) {
    const et_machine *m = t->mix->machine;
    return (struct mix_how){.mode = r->mode,
                            .keep_parts = r->keep_parts,
                            .masks = r->masks ? &t->masks : NULL,
                            .switch_us = r->change == BARRIER ? m->graph_us
                                         : r->change == MASK  ? m->mask_us
                                                              : 0};
}

/* One after the other, in the order of the mix. */
static bool try_turns(struct trial *t, const struct row *r, struct mix_outcome *out) {
    const struct mix_how how = how_of(t, r);
    double idle = 0;
    for (int m = 0; m < t->mix->nmodels; m++) {
        struct mix_launch one;
        if (!mix_play(t->program[r->program], &how, 1u << m, &one)) return false;
        out->service.us[1 << m] = one.r.us;
        out->us += one.r.us;
        out->done[m] = out->us;
        idle += one.r.us * (1 - one.r.body);
    }
    out->idle = idle / out->us;
    return true;
}

static bool try_together(struct trial *t, const struct row *r, struct mix_outcome *out) {
    const struct mix_how how = how_of(t, r);
    unsigned all = (1u << t->mix->nmodels) - 1;
    double done[MIX_SETS][MIX_MODELS];
    struct mix_launch launch = {.done = {0}};
    for (unsigned set = 1; set <= all; set++) {
        if (!mix_play(t->program[r->program], &how, set, &launch)) return false;
        out->service.us[set] = launch.r.us;
        memcpy(done[set], launch.done, sizeof launch.done);
    }
    mix_speeds(t->mix->nmodels, (const double(*)[MIX_MODELS])done, out->service.speed);
    out->us = launch.r.us;
    out->idle = 1 - launch.r.body;
    memcpy(out->done, launch.done, sizeof launch.done);
    return true;
}

/* ---- one range for each model ---- */

struct division {
    int n, units;
    double us[MIX_MODELS][MOST_UNITS + 1]; /* alone on so many units */
    int now[MIX_MODELS], best[MIX_MODELS];
    double best_us, best_sum;
};

static void divide(struct division *d, int m, int left, double worst, double sum) {
    if (m >= MIX_MODELS || worst > d->best_us) return;
    if (m == d->n - 1) {
        worst = fmax(worst, d->us[m][left]);
        sum += d->us[m][left];
        if (worst > d->best_us || (worst >= d->best_us && sum >= d->best_sum)) return;
        d->now[m] = left;
        d->best_us = worst;
        d->best_sum = sum;
        memcpy(d->best, d->now, sizeof d->best);
        return;
    }
    for (int w = 1; w <= left - (d->n - 1 - m); w++) {
        d->now[m] = w;
        divide(d, m + 1, left - w, fmax(worst, d->us[m][w]), sum + d->us[m][w]);
    }
}

static int units_of(const et_machine *m) {
    int n = m->dies == 1 ? 8 : m->dies * m->shader_engines;
    return n < MOST_UNITS ? n : MOST_UNITS;
}

/* One range beside the other. */
static void set_widths(struct mix_program *p, const struct division *d, const int *width) {
    for (int m = 0, at = 0; m < d->n; at += width[m++])
        mix_set_share(p, m, (et_share){WHOLE * at / d->units, WHOLE * (at + width[m]) / d->units});
}

static bool try_widths(struct trial *t, struct division *d) {
    const struct mix_how how = {.mode = ET_SIM_AS_SCHEDULED, .keep_parts = true};
    struct mix_launch all;
    set_widths(t->program[SEARCHED], d, d->now);
    if (!mix_play(t->program[SEARCHED], &how, (1u << d->n) - 1, &all)) return false;
    if (all.r.us < d->best_us * (1 - 1e-9)) {
        d->best_us = all.r.us;
        memcpy(d->best, d->now, sizeof d->best);
    }
    return true;
}

/* Move STEP units from one model to another while that makes a launch of all shorter. */
static bool improve(struct trial *t, struct division *d, int step) {
    for (double before = INFINITY; d->best_us < before;) {
        before = d->best_us;
        for (int from = 0; from < d->n; from++)
            for (int to = 0; to < d->n; to++) {
                memcpy(d->now, d->best, sizeof d->now);
                if (from == to || d->now[from] <= step) continue;
                d->now[from] -= step;
                d->now[to] += step;
                if (!try_widths(t, d)) return false;
            }
    }
    return true;
}

/* Whole shader engines, by the simulator itself, as somebody would who measures: every model alone
 * on every width, the division whose slowest model is fastest, and from there what is better for
 * all together. */
static bool search_fixed(struct trial *t) {
    struct mix_program *p = t->program[SEARCHED];
    const struct mix_how how = {.mode = ET_SIM_AS_SCHEDULED, .keep_parts = true};
    struct division d = {.n = t->mix->nmodels, .units = units_of(t->mix->machine)};
    struct mix_launch one;
    d.best_us = d.best_sum = INFINITY;
    for (int m = 0; m < d.n; m++)
        for (int w = 1; w <= d.units; w++) {
            mix_set_share(p, m, (et_share){0, WHOLE * w / d.units});
            if (!mix_play(p, &how, 1u << m, &one)) return false;
            d.us[m][w] = one.r.us;
        }
    divide(&d, 0, d.units, 0, 0);
    memcpy(d.now, d.best, sizeof d.now);
    d.best_us = INFINITY;
    bool ok = try_widths(t, &d) && improve(t, &d, 4) && improve(t, &d, 1);
    set_widths(p, &d, d.best);
    return ok;
}

/* ---- ECLIP ---- */

void mix_quarters(int n, struct mix_masks *out, bool may[MIX_MODELS][ECLIP_CONFIGS]) {
    const int quarter = WHOLE / 4;
    for (int m = 0; m < n; m++)
        for (int c = 0; c < ECLIP_CONFIGS; c++) {
            et_share low = {0, (c + 1) * quarter}, high = {(3 - c) * quarter, WHOLE};
            et_share middle = {quarter, (c + 2) * quarter};
            out->quarters[m][c] = m == 0 ? low : m == 1 || c >= 2 ? high : middle;
            may[m][c] = n < 3 || c > 0; /* seven streams: no quarters for three workers */
        }
}

static bool plan_eclip(struct trial *t) {
    int n = t->mix->nmodels;
    struct eclip_worker worker[MIX_MODELS];
    bool may[MIX_MODELS][ECLIP_CONFIGS];
    mix_quarters(n, &t->masks, may);
    for (int m = 0; m < n; m++) {
        int kernels = mix_kernels(t->program[ALL], m);
        double *us = et_alloc(t->arena, (size_t)(kernels + 1) * ECLIP_CONFIGS * sizeof *us);
        for (int c = 0; c < ECLIP_CONFIGS; c++)
            if (!mix_kernel_times(t->program[ALL], m, t->masks.quarters[m][c], us + c,
                                  ECLIP_CONFIGS))
                return false;
        worker[m] = (struct eclip_worker){.kernels = kernels, .us = us};
        memcpy(worker[m].may, may[m], sizeof may[m]);
    }
    eclip_solve(t->arena, n, worker, ECLIP_SWITCHES, &t->plan);
    t->masks.plan = &t->plan;
    return true;
}

/* ---- all of them ---- */

static bool prepare(struct trial *t) {
    static const et_placement placement[PROGRAMS] = {ET_PLACEMENT_ALL, ET_PLACEMENT_FIXED,
                                                     ET_PLACEMENT_ALL, ET_PLACEMENT_GREEDY,
                                                     ET_PLACEMENT_ILP};
    for (int i = 0; i < PROGRAMS; i++) {
        t->program[i] = mix_compile(t->mix, t->arena, placement[i]);
        if (!t->program[i]) return false;
    }
    return search_fixed(t) && plan_eclip(t);
}

static void copy_shares(const struct mix_program *p, int n, et_share *out) {
    for (int m = 0; m < n; m++)
        out[m] = mix_program_of(p)->g->model[m].share;
}

bool mix_try(const struct mix *mix, et_arena *a, struct mix_outcome out[MIX_POLICIES],
             struct mix_parts *parts, struct mix_program **out_all) {
    struct trial t = {.mix = mix, .arena = a};
    bool ok = prepare(&t);
    for (int i = 0; i < MIX_POLICIES && ok; i++) {
        out[i] = (struct mix_outcome){.policy = rows[i].name};
        out[i].service.nmodels = mix->nmodels;
        out[i].service.kind = rows[i].kind;
        ok = (rows[i].kind == MIX_TURNS ? try_turns : try_together)(&t, &rows[i], &out[i]);
    }
    if (ok) {
        copy_shares(t.program[FIXED], mix->nmodels, parts->fixed);
        copy_shares(t.program[SEARCHED], mix->nmodels, parts->searched);
        copy_shares(t.program[GREEDY], mix->nmodels, parts->greedy);
        copy_shares(t.program[ILP], mix->nmodels, parts->ilp);
        parts->eclip = t.plan;
        *out_all = t.program[ALL];
    }
    for (int i = 0; i < PROGRAMS; i++)
        if (!ok || i != ALL) mix_program_destroy(t.program[i]);
    return ok;
}
