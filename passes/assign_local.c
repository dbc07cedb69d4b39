/* Improving a choice by annealing: neighbouring groups of one model go to another range. What falls
 * is the logarithm of a sum of high powers of all completions and loads, so that the largest weighs
 * most and those just below are not forgotten; the power rises from round to round. */
#include "assign_int.h"
#include <math.h>
#include <string.h>

enum { ANNEAL_ROUNDS = 4, FIRST_POWER = 5, MOST_AT_ONCE = 6 };
/* Relative to T: what a change may lose at the start of the first and of the other rounds. */
static const double first_heat = 0.03, later_heat = 0.0005;

struct local {
    const et_assign_problem *p;
    int **range;
    double *us;     /* [nmodels]: completions */
    int64_t *moves; /* [nmodels]: range changes */
    int **trips;    /* [nmodels][ngroups] */
    double load[ET_ASSIGN_UNITS];
    double scale; /* 1 / T, so that powers neither overflow nor vanish */
    int power;    /* of two, to the power of which rows are taken */
    uint64_t state;
};

/* A change tried: groups [a, b) of the model to range R; and what comes of it. */
struct change {
    int model, a, b, r;
    double us, load[ET_ASSIGN_UNITS];
    int64_t moves;
};

/* A number below N; the same ones in every build. */
static int draw(struct local *s, int n) {
    s->state = s->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((s->state >> 33) % (uint64_t)n);
}

static double energy(const struct local *s, int model, double us, const double *load) {
    double row[2 * ET_ASSIGN_UNITS], sum = 0, mean = 0;
    int n = s->p->nunits;
    for (int u = 0; u < n; u++)
        row[u] = load[u] * s->scale;
    for (int m = 0; m < s->p->nmodels; m++) {
        double c = s->p->models[m].weight * (m == model ? us : s->us[m]) * s->scale;
        mean += c / s->p->nmodels;
        row[n + m] = c;
    }
    n += s->p->nmodels;
    for (int k = 0; k < s->power; k++)
        for (int i = 0; i < n; i++)
            row[i] *= row[i];
    for (int i = 0; i < n; i++)
        sum += row[i];
    return log(sum) / (1 << s->power) + assign_epsilon * mean;
}

static double largest(const struct local *s, double t) {
    for (int m = 0; m < s->p->nmodels; m++)
        t = fmax(t, s->p->models[m].weight * s->us[m]);
    for (int u = 0; u < s->p->nunits; u++)
        t = fmax(t, s->load[u]);
    return t;
}

static void refresh(struct local *s) {
    memset(s->load, 0, sizeof s->load);
    for (int m = 0; m < s->p->nmodels; m++) {
        assign_plan_cost c;
        assign_plan_cost_of(s->p, &s->p->models[m], s->range[m], &c);
        s->us[m] = c.us;
        s->moves[m] = c.changes;
        for (int u = 0; u < s->p->nunits; u++)
            s->load[u] += c.load[u];
    }
    s->scale = 1 / largest(s, 1e-9);
}

static void shift_load(uint64_t units, double us, double *load) {
    for (; units; units &= units - 1)
        load[__builtin_ctzll(units)] += us;
}

/* Mostly an end of a run of groups moves, or a run goes elsewhere; now and then any few groups. */
static void propose(struct local *s, struct change *c) {
    const et_assign_problem *p = s->p;
    c->model = draw(s, p->nmodels);
    int n = p->models[c->model].ngroups, g = draw(s, n), first = g, end = g + 1;
    const int *range = s->range[c->model];
    while (first > 0 && range[first - 1] == range[g])
        first--;
    while (end < n && range[end] == range[g])
        end++;
    int what = draw(s, 4);
    if (what == 0 && first > 0) { /* what is before the run grows into it */
        c->a = first, c->b = g + 1, c->r = range[first - 1];
    } else if (what == 1 && end < n) { /* what is after */
        c->a = g, c->b = end, c->r = range[end];
    } else if (what == 2) {
        c->a = first, c->b = end, c->r = draw(s, p->nranges);
    } else {
        c->a = g, c->r = draw(s, p->nranges);
        c->b = g + 1 + draw(s, n - g < MOST_AT_ONCE ? n - g : MOST_AT_ONCE);
    }
}

/* The energy after a change, made in s->range with what was there in SAVED; infinite where it is
 * not allowed. */
static double after(struct local *s, struct change *c, int *saved) {
    const et_assign_problem *p = s->p;
    const et_assign_model *m = &p->models[c->model];
    int *range = s->range[c->model];
    assign_moves before = assign_moves_near(p, m, range, c->a, c->b);
    double us = 0;
    memcpy(c->load, s->load, (size_t)p->nunits * sizeof *c->load);
    for (int g = c->a; g < c->b; g++) {
        int trips = s->trips[c->model][g], from = range[g];
        double gone = m->us[g * p->nranges + from] * trips;
        double come = m->us[g * p->nranges + c->r] * trips;
        shift_load(p->units[from], -gone, c->load);
        shift_load(p->units[c->r], come, c->load);
        us += come - gone;
        saved[g - c->a] = from;
        range[g] = c->r;
    }
    assign_moves now = assign_moves_near(p, m, range, c->a, c->b);
    c->us = s->us[c->model] + us + (now.us - before.us);
    c->moves = s->moves[c->model] + (now.changes - before.changes);
    if (c->moves > assign_budget(m) || !(c->us < INFINITY)) return INFINITY;
    return energy(s, c->model, c->us, c->load);
}

static void copy_choice(const et_assign_problem *p, int *const *from, int **to) {
    for (int m = 0; m < p->nmodels; m++)
        memcpy(to[m], from[m], (size_t)p->models[m].ngroups * sizeof **to);
}

/* One cooling, from *IO; *IO becomes the best choice seen. */
static void cool(struct local *s, double heat, int steps, double target, et_assignment *now,
                 int *saved, et_assignment *io) {
    copy_choice(s->p, io->range, s->range);
    refresh(s);
    double e = energy(s, -1, 0, s->load), best = io->makespan;
    struct change c;
    for (int k = 0; k < steps && io->objective > target; k++) {
        if (k % 4096 == 0) refresh(s), e = energy(s, -1, 0, s->load);
        double left = 1 - (double)k / steps, t = heat * left * left + 1e-9;
        propose(s, &c);
        double to = after(s, &c, saved);
        bool take = to <= e;
        if (!take && to < e + 20 * t) take = draw(s, 1 << 20) < exp((e - to) / t) * (1 << 20);
        if (!take) {
            memcpy(s->range[c.model] + c.a, saved, (size_t)(c.b - c.a) * sizeof *saved);
            continue;
        }
        e = to;
        memcpy(s->load, c.load, (size_t)s->p->nunits * sizeof *c.load);
        s->us[c.model] = c.us;
        s->moves[c.model] = c.moves;
        if (largest(s, 0) > best) continue;
        et_assign_evaluate(s->p, s->range, now);
        if (now->objective >= io->objective) continue;
        copy_choice(s->p, s->range, io->range);
        et_assign_evaluate(s->p, io->range, io);
        best = io->makespan;
    }
}

void assign_improve(const et_assign_problem *p, et_arena *a, double target, int limit,
                    et_assignment *io) {
    et_assignment now;
    struct local s = {.p = p, .state = 1};
    size_t n = (size_t)p->nmodels;
    s.range = assign_new(p, a, &now)->range;
    s.us = et_alloc(a, n * sizeof *s.us);
    s.moves = et_alloc(a, n * sizeof *s.moves);
    s.trips = et_alloc(a, n * sizeof *s.trips);
    int most = 0;
    for (int m = 0; m < p->nmodels; m++) {
        const et_assign_model *md = &p->models[m];
        most = md->ngroups > most ? md->ngroups : most;
        s.trips[m] = et_alloc(a, (size_t)md->ngroups * sizeof **s.trips);
        for (int g = 0; g < md->ngroups; g++)
            s.trips[m][g] = assign_trips(md, g);
    }
    int *saved = et_alloc(a, (size_t)most * sizeof *saved);
    for (int round = 0; round < ANNEAL_ROUNDS && io->objective > target; round++) {
        s.power = FIRST_POWER + round;
        cool(&s, round ? later_heat : first_heat, limit / ANNEAL_ROUNDS, target, &now, saved, io);
    }
}
