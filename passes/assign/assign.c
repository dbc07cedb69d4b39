/* What choices cost, and the choices made without an integer program. */
#include "passes/assign/int.h"
#include <math.h>
#include <string.h>

/* Time of moving after group G, from range A to range B, and whether that is a change. */
static double move_us(const et_assign_problem *p, const et_assign_model *m, int g, int a, int b) {
    size_t at = (size_t)a * (size_t)p->nranges + (size_t)b;
    return p->switch_us[at] + m->bytes[g] * p->byte_us[at];
}

static void add_load(const et_assign_problem *p, int range, double us, double load[]) {
    for (int u = 0; u < p->nunits; u++)
        if (p->units[range] >> u & 1) load[u] += us;
}

/* The segment of group G, from segment AT on, which is no later one. */
static int segment_of(const et_assign_model *m, int g, int at) {
    while (g >= m->segments[at].first + m->segments[at].count)
        at++;
    return at;
}

static int64_t budget_of(const et_assign_model *m) {
    return m->switch_budget < ET_ASSIGN_BUDGET ? m->switch_budget : ET_ASSIGN_BUDGET;
}

/* Going from range to range: what it takes, all trips, and how many changes it counts for. */
struct moves {
    double us;
    int64_t changes;
};

static void add_move(const et_assign_problem *p, const et_assign_model *m, const int *range, int g,
                     int to, int trips, struct moves *io) {
    if (range[g] == range[to]) return;
    io->us += trips * move_us(p, m, g, range[g], range[to]);
    io->changes += trips;
}

static struct moves moves_of(const et_assign_problem *p, const et_assign_model *m,
                             const int *range) {
    struct moves out = {0};
    for (int s = 0; s < m->nsegments; s++) {
        const et_assign_segment *sg = &m->segments[s];
        int last = sg->first + sg->count - 1;
        for (int g = sg->first; g < last; g++)
            add_move(p, m, range, g, g + 1, sg->trips, &out);
        if (last < m->ngroups - 1) add_move(p, m, range, last, last + 1, 1, &out);
        add_move(p, m, range, last, sg->first, sg->trips - 1, &out);
    }
    return out;
}

bool assign_plan_cost_of(const et_assign_problem *p, const et_assign_model *m, const int *range,
                         assign_plan_cost *out) {
    *out = (assign_plan_cost){0};
    for (int s = 0; s < m->nsegments; s++)
        for (int g = m->segments[s].first; g < m->segments[s].first + m->segments[s].count; g++) {
            double us = m->us[g * p->nranges + range[g]] * m->segments[s].trips;
            out->us += us;
            out->memory_us += m->memory_us[g] * m->segments[s].trips;
            add_load(p, range[g], us, out->load);
        }
    struct moves moves = moves_of(p, m, range);
    out->us += moves.us;
    out->changes = moves.changes;
    return moves.changes <= budget_of(m) && out->us < INFINITY;
}

et_assignment *assign_new(const et_assign_problem *p, et_arena *a, et_assignment *out) {
    *out = (et_assignment){.range = et_alloc(a, (size_t)p->nmodels * sizeof *out->range),
                           .us = et_alloc(a, (size_t)p->nmodels * sizeof *out->us)};
    for (int m = 0; m < p->nmodels; m++)
        out->range[m] = et_alloc(a, (size_t)p->models[m].ngroups * sizeof **out->range);
    return out;
}

void et_assign_evaluate(const et_assign_problem *p, int *const *range, et_assignment *out) {
    double load[ET_ASSIGN_UNITS] = {0}, memory = 0, mean = 0, t = 0;
    bool ok = true;
    for (int i = 0; i < p->nmodels; i++) {
        const et_assign_model *m = &p->models[i];
        assign_plan_cost c;
        ok &= assign_plan_cost_of(p, m, range[i], &c);
        out->us[i] = c.us;
        memory += c.memory_us;
        mean += m->weight * c.us / p->nmodels;
        t = fmax(t, m->weight * c.us);
        for (int u = 0; u < p->nunits; u++)
            load[u] += c.load[u];
    }
    for (int u = 0; u < p->nunits; u++)
        t = fmax(t, load[u]);
    out->makespan = ok ? fmax(t, memory) : INFINITY;
    out->objective = ok ? out->makespan + assign_epsilon * mean : INFINITY;
}

bool et_assign_fixed(const et_assign_problem *p, et_arena *a, const int *range_of_model,
                     et_assignment *out) {
    assign_new(p, a, out);
    for (int m = 0; m < p->nmodels; m++)
        for (int g = 0; g < p->models[m].ngroups; g++)
            out->range[m][g] = range_of_model[m];
    et_assign_evaluate(p, out->range, out);
    return out->objective < INFINITY;
}

/* ---- one range per model ---- */

enum { MAX_COMBINATIONS = 200000 };

struct parts {
    const et_assign_problem *p;
    double *us; /* [nmodels][nranges]: completion on one range throughout */
    int *now, *best;
    double best_us;
    int left; /* combinations still to look at */
};

static void divide(struct parts *d, int m, uint64_t taken, double t) {
    const et_assign_problem *p = d->p;
    if (t >= d->best_us || d->left-- <= 0) return;
    if (m == p->nmodels) {
        d->best_us = t;
        memcpy(d->best, d->now, (size_t)m * sizeof *d->best);
        return;
    }
    for (int r = 0; r < p->nranges; r++) {
        if (p->units[r] & taken) continue;
        d->now[m] = r;
        divide(d, m + 1, taken | p->units[r],
               fmax(t, p->models[m].weight * d->us[m * p->nranges + r]));
    }
}

bool et_assign_partition(const et_assign_problem *p, et_arena *a, et_assignment *out) {
    size_t n = (size_t)p->nmodels;
    struct parts d = {p,
                      et_alloc(a, n * (size_t)p->nranges * sizeof(double)),
                      et_alloc(a, n * sizeof(int)),
                      et_alloc(a, n * sizeof(int)),
                      INFINITY,
                      MAX_COMBINATIONS};
    for (int m = 0; m < p->nmodels; m++)
        for (int r = 0; r < p->nranges; r++) {
            int *range = et_alloc(a, (size_t)p->models[m].ngroups * sizeof *range);
            assign_plan_cost c;
            for (int g = 0; g < p->models[m].ngroups; g++)
                range[g] = r;
            bool ok = assign_plan_cost_of(p, &p->models[m], range, &c);
            d.us[m * p->nranges + r] = ok ? c.us : INFINITY;
        }
    divide(&d, 0, 0, 0);
    if (!(d.best_us < INFINITY)) return false;
    return et_assign_fixed(p, a, d.best, out);
}

/* ---- greedy ---- */

/* May group G of the model have range R, those before it as chosen? A loop's groups keep to the
 * range of its first group where changes in every iteration would not fit. */
static bool fits(const et_assign_problem *p, const et_assign_model *m, const et_assign_segment *sg,
                 const int *range, int g, int r, int changes) {
    if (!(m->us[g * p->nranges + r] < INFINITY)) return false;
    if (g == 0 || range[g - 1] == r) return true;
    return changes + (g == sg->first ? 1 : 2 * sg->trips) <= budget_of(m);
}

/* The completions and loads so far, were this group there. */
static double with_group(const et_assign_problem *p, int i, int trips, int g, int r,
                         const int *range, const double *us, const double *load) {
    const et_assign_model *m = &p->models[i];
    double mine = m->us[g * p->nranges + r] * trips, t = 0;
    double move = g ? move_us(p, m, g - 1, range[g - 1], r) * trips : 0;
    for (int u = 0; u < p->nunits; u++)
        t = fmax(t, load[u] + (p->units[r] >> u & 1 ? mine : 0));
    return fmax(t, m->weight * (us[i] + mine + move)) + assign_epsilon * (mine + move);
}

bool et_assign_greedy(const et_assign_problem *p, et_arena *a, et_assignment *out) {
    assign_new(p, a, out);
    double load[ET_ASSIGN_UNITS] = {0};
    int *changes = et_alloc(a, (size_t)p->nmodels * sizeof *changes), longest = 0;
    int *segment = et_alloc(a, (size_t)p->nmodels * sizeof *segment);
    for (int i = 0; i < p->nmodels; i++)
        longest = p->models[i].ngroups > longest ? p->models[i].ngroups : longest;
    for (int g = 0; g < longest; g++)
        for (int i = 0; i < p->nmodels; i++) {
            const et_assign_model *m = &p->models[i];
            if (g >= m->ngroups) continue;
            segment[i] = segment_of(m, g, segment[i]);
            const et_assign_segment *sg = &m->segments[segment[i]];
            double best = INFINITY;
            int take = -1;
            for (int r = 0; r < p->nranges; r++) {
                if (!fits(p, m, sg, out->range[i], g, r, changes[i])) continue;
                double t = with_group(p, i, sg->trips, g, r, out->range[i], out->us, load);
                if (t < best) best = t, take = r;
            }
            if (take < 0) return et_assign_partition(p, a, out); /* it spent the budget too early */
            bool change = g && out->range[i][g - 1] != take;
            double us = m->us[g * p->nranges + take] * sg->trips;
            out->range[i][g] = take;
            out->us[i] += us + (g ? move_us(p, m, g - 1, out->range[i][g - 1], take) : 0);
            changes[i] += change ? (g == sg->first ? 1 : 2 * sg->trips) : 0;
            add_load(p, take, us, load);
        }
    et_assign_evaluate(p, out->range, out);
    return out->objective < INFINITY;
}
