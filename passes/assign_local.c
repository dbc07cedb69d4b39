/* Improving a choice by annealing: neighbouring groups of one model go to another range. What falls
 * is the logarithm of a sum of high powers of all completions and loads, so that the largest weighs
 * most and those just below are not forgotten. It starts cool: the choice it is given is near a
 * good one, and what would undo that is not worth the time. */
#include "assign_int.h"
#include <math.h>
#include <string.h>

enum { POWER = 8, MOST_AT_ONCE = 6 };
static const double first_heat = 0.0005; /* relative to T: what a change may lose at the start */
/* Relative to T: ranges that much dearer than the cheapest are drawn an e-th as often, until all
 * that remain are drawn this often. */
static const double warmth = 0.001, least_often = 0.001;

struct local {
    const et_assign_problem *p;
    int **range;
    double *us;     /* [nmodels]: completions */
    int64_t *moves; /* [nmodels]: range changes */
    double *new_us; /* the same of a change that is tried */
    int64_t *new_moves;
    double **all_us; /* [nmodels][ngroups][nranges]: of all trips */
    double load[ET_ASSIGN_UNITS];
    double scale;                          /* 1 / T, so that powers neither overflow nor vanish */
    double high[2 * ET_ASSIGN_UNITS], sum; /* rows to the power */
    double mean;                           /* of completions, weighted */
    int **upto;   /* [nmodels][ngroups][nranges]: of 1 << 30 numbers, those up to which range */
    double limit; /* a row above this is not worth looking at */
    uint64_t state;
};

/* Groups [a, b) of the model go to range R. */
struct piece {
    int model, a, b, r;
    int was; /* where in `saved` their ranges are kept */
};

/* A change tried: one piece, or two that are made one after the other; and what comes of it. */
struct change {
    struct piece piece[2];
    int n, nsaved;
    double us[2];   /* completions of the pieces' models */
    uint64_t units; /* whose loads change */
    double load[ET_ASSIGN_UNITS], high[2 * ET_ASSIGN_UNITS], sum, mean;
    int64_t moves[2];
};

/* Logarithm and exponential by sums and products alone: those of the library may differ in the last
 * bit from one machine to another, and so would what is chosen. */
static double ln(double v) {
    int e;
    double m = frexp(v, &e);
    if (m < 0.7071067811865476) m *= 2, e--;
    double t = (m - 1) / (m + 1), sq = t * t, sum = 0;
    for (int k = 15; k >= 1; k -= 2)
        sum = sum * sq + 1.0 / k;
    return 2 * t * sum + e * 0.6931471805599453;
}

static double power_of_e(double v) {
    if (v < -700) return 0;
    double n = floor(v * 1.4426950408889634 + 0.5), r = v - n * 0.6931471805599453, sum = 1;
    for (int k = 11; k >= 1; k--)
        sum = 1 + sum * r / k;
    return ldexp(sum, (int)n);
}

/* A number below N; the same ones in every build. */
static int draw(struct local *s, int n) {
    s->state = s->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((s->state >> 33) * (uint64_t)n >> 31);
}

/* A range for the group: the dearer at the prices, the less often. */
static int draw_range(struct local *s, int model, int g) {
    int nr = s->p->nranges, lo = 0, hi = nr - 1, at = draw(s, 1 << 30);
    const int *up = s->upto[model] + (size_t)g * (size_t)nr;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (at < up[mid])
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* V, scaled, to the power. */
static double raise(const struct local *s, double v) {
    v *= s->scale;
    for (int k = 0; k < POWER; k++)
        v *= v;
    return v;
}

static double energy_of(const struct local *s, double sum, double mean) {
    return ln(sum) / (1 << POWER) + assign_epsilon * mean * s->scale;
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
    s->sum = s->mean = 0;
    for (int u = 0; u < s->p->nunits; u++)
        s->sum += s->high[u] = raise(s, s->load[u]);
    for (int m = 0; m < s->p->nmodels; m++) {
        double c = s->p->models[m].weight * s->us[m];
        s->mean += c / s->p->nmodels;
        s->sum += s->high[s->p->nunits + m] = raise(s, c);
    }
}

static void shift_load(uint64_t units, double us, double *load) {
    for (; units; units &= units - 1)
        load[__builtin_ctzll(units)] += us;
}

/* The run of neighbours on one range that has group G. */
static void run_of(const struct local *s, int model, int g, int *first, int *end) {
    const int *range = s->range[model];
    int n = s->p->models[model].ngroups;
    for (*first = g; *first > 0 && range[*first - 1] == range[g];)
        --*first;
    for (*end = g + 1; *end < n && range[*end] == range[g];)
        ++*end;
}

static struct piece whole_run(struct local *s, int model) {
    struct piece out = {.model = model};
    int g = draw(s, s->p->models[model].ngroups);
    run_of(s, model, g, &out.a, &out.b);
    out.r = draw_range(s, model, g);
    return out;
}

/* Some groups from G on. */
static struct piece few(struct local *s, int model) {
    int n = s->p->models[model].ngroups, g = draw(s, n);
    int most = n - g < MOST_AT_ONCE ? n - g : MOST_AT_ONCE;
    return (struct piece){model, g, g + 1 + draw(s, most), draw_range(s, model, g), 0};
}

/* The run that G is in, or a part of it, joins its neighbour. */
static bool join(struct local *s, int model, bool part, struct piece *out) {
    int n = s->p->models[model].ngroups, g = draw(s, n), first, end;
    run_of(s, model, g, &first, &end);
    bool before = first > 0 && (end == n || draw(s, 2));
    if (!before && end == n) return false;
    *out = before ? (struct piece){model, first, part ? g + 1 : end, s->range[model][first - 1], 0}
                  : (struct piece){model, part ? g : first, end, s->range[model][end], 0};
    return true;
}

/* Mostly an end of a run of groups moves, or a run goes elsewhere; now and then any few groups.
 * Where changes of range are used up, a run joins its neighbour while another is made; or two runs
 * swap places. */
static void propose(struct local *s, struct change *c) {
    const et_assign_problem *p = s->p;
    int m = draw(s, p->nmodels), what = draw(s, 16);
    struct piece *one = &c->piece[0], *two = &c->piece[1];
    c->n = 1;
    if (what < 6) {
        if (!join(s, m, true, one)) *one = few(s, m);
    } else if (what < 9) {
        *one = whole_run(s, m);
    } else if (what < 11) {
        *one = few(s, m);
    } else if (what < 14) {
        if (join(s, m, false, one)) c->n = 2;
        c->piece[c->n - 1] = few(s, m);
    } else {
        int other = draw(s, p->nmodels);
        *one = whole_run(s, m);
        *two = whole_run(s, other);
        two->r = s->range[m][one->a];
        one->r = s->range[other][two->a];
        if (m != other || one->a != two->a) c->n = 2;
    }
}

/* Loads of units that are about to change are copied first. */
static void touch(const struct local *s, struct change *c, uint64_t units) {
    uint64_t new = units & ~c->units;
    for (c->units |= new; new; new &= new - 1)
        c->load[__builtin_ctzll(new)] = s->load[__builtin_ctzll(new)];
}

static void make(struct local *s, struct change *c, struct piece *e, double *us, int64_t *moves,
                 int *saved) {
    const et_assign_problem *p = s->p;
    const et_assign_model *m = &p->models[e->model];
    int *range = s->range[e->model];
    assign_moves before = assign_moves_near(p, m, range, e->a, e->b);
    double come = 0, all_gone = 0;
    int nr = p->nranges;
    e->was = c->nsaved;
    for (int g = e->a; g < e->b;) {
        int from = range[g];
        double gone = 0;
        for (; g < e->b && range[g] == from; g++) {
            gone += s->all_us[e->model][g * nr + from];
            come += s->all_us[e->model][g * nr + e->r];
            saved[c->nsaved++] = from;
        }
        touch(s, c, p->units[from]);
        shift_load(p->units[from], -gone, c->load);
        all_gone += gone;
    }
    for (int g = e->a; g < e->b; g++)
        range[g] = e->r;
    touch(s, c, p->units[e->r]);
    shift_load(p->units[e->r], come, c->load);
    assign_moves now = assign_moves_near(p, m, range, e->a, e->b);
    us[e->model] += come - all_gone + (now.us - before.us);
    moves[e->model] += now.changes - before.changes;
}

/* The energy after a change, made in s->range with what was there in SAVED; infinite where it is
 * not allowed. */
static double after(struct local *s, struct change *c, int *saved) {
    const et_assign_problem *p = s->p;
    double *us = s->new_us;
    int64_t *moves = s->new_moves;
    for (int i = 0; i < c->n; i++) {
        us[c->piece[i].model] = s->us[c->piece[i].model];
        moves[c->piece[i].model] = s->moves[c->piece[i].model];
    }
    c->nsaved = 0;
    c->units = 0;
    for (int i = 0; i < c->n; i++)
        make(s, c, &c->piece[i], us, moves, saved);
    c->sum = s->sum;
    c->mean = s->mean;
    for (int i = 0; i < c->n; i++) {
        int m = c->piece[i].model, row = p->nunits + m;
        if (moves[m] > assign_budget(&p->models[m]) || !(us[m] < INFINITY)) return INFINITY;
        c->us[i] = us[m];
        c->moves[i] = moves[m];
        if (i && m == c->piece[0].model) continue;
        c->high[row] = raise(s, p->models[m].weight * us[m]);
        c->sum += c->high[row] - s->high[row];
        c->mean += p->models[m].weight * (us[m] - s->us[m]) / p->nmodels;
    }
    for (uint64_t left = c->units; left; left &= left - 1)
        if (c->load[__builtin_ctzll(left)] > s->limit) return INFINITY;
    for (uint64_t left = c->units; left; left &= left - 1) {
        int u = __builtin_ctzll(left);
        c->high[u] = raise(s, c->load[u]);
        c->sum += c->high[u] - s->high[u];
    }
    return energy_of(s, c->sum, c->mean);
}

static void undo(struct local *s, const struct change *c, const int *saved) {
    for (int i = c->n - 1; i >= 0; i--) {
        const struct piece *e = &c->piece[i];
        memcpy(s->range[e->model] + e->a, saved + e->was, (size_t)(e->b - e->a) * sizeof *saved);
    }
}

static void copy_choice(const et_assign_problem *p, int *const *from, int **to) {
    for (int m = 0; m < p->nmodels; m++)
        memcpy(to[m], from[m], (size_t)p->models[m].ngroups * sizeof **to);
}

/* One cooling, from *IO; *IO becomes the best choice seen. */
static void cool(struct local *s, int steps, double target, et_assignment *now, int *saved,
                 et_assignment *io) {
    copy_choice(s->p, io->range, s->range);
    refresh(s);
    double e = energy_of(s, s->sum, s->mean), best = io->makespan;
    struct change c;
    for (int k = 0; k < steps && io->objective > target; k++) {
        if (k % 4096 == 0) refresh(s), e = energy_of(s, s->sum, s->mean);
        double rest = 1 - (double)k / steps, t = first_heat * rest * rest + 1e-9;
        if (k % 64 == 0) s->limit = power_of_e(e + 20 * t) / s->scale;
        propose(s, &c);
        double to = after(s, &c, saved);
        bool take = to <= e;
        if (!take && to < e + 20 * t)
            take = draw(s, 1 << 20) < power_of_e((e - to) / t) * (1 << 20);
        if (!take) {
            undo(s, &c, saved);
            continue;
        }
        e = to;
        for (uint64_t left = c.units; left; left &= left - 1) {
            int u = __builtin_ctzll(left);
            s->load[u] = c.load[u];
            s->high[u] = c.high[u];
        }
        s->sum = c.sum;
        s->mean = c.mean;
        for (int i = 0; i < c.n; i++) {
            s->us[c.piece[i].model] = c.us[i];
            s->moves[c.piece[i].model] = c.moves[i];
            s->high[s->p->nunits + c.piece[i].model] = c.high[s->p->nunits + c.piece[i].model];
        }
        if (largest(s, 0) > best) continue;
        et_assign_evaluate(s->p, s->range, now);
        if (now->objective >= io->objective) continue;
        copy_choice(s->p, s->range, io->range);
        et_assign_evaluate(s->p, io->range, io);
        best = io->makespan;
    }
}

/* How often a range is drawn for a group falls with what it costs at the prices. */
static void weigh_ranges(struct local *s, et_arena *a, const assign_prices *price, double t) {
    const et_assign_problem *p = s->p;
    size_t nr = (size_t)p->nranges;
    double *cost = et_alloc(a, nr * sizeof *cost);
    s->upto = et_alloc(a, (size_t)p->nmodels * sizeof *s->upto);
    for (int m = 0; m < p->nmodels; m++) {
        const et_assign_model *md = &p->models[m];
        s->upto[m] = et_alloc(a, (size_t)md->ngroups * nr * sizeof **s->upto);
        for (int g = 0; g < md->ngroups; g++) {
            double least = INFINITY, sum = 0, at = 0;
            for (size_t r = 0; r < nr; r++) {
                double per_us = price[m].completion;
                for (uint64_t left = p->units[r]; left; left &= left - 1)
                    per_us += price[m].unit[__builtin_ctzll(left)];
                cost[r] = s->all_us[m][(size_t)g * nr + r] * per_us;
                least = fmin(least, cost[r]);
            }
            for (size_t r = 0; r < nr; r++)
                sum += cost[r] = cost[r] < INFINITY
                                     ? power_of_e((least - cost[r]) / (warmth * t)) + least_often
                                     : 0;
            for (size_t r = 0; r < nr; r++) {
                at += cost[r] / sum;
                s->upto[m][(size_t)g * nr + r] = r + 1 == nr ? 1 << 30 : (int)(at * (1 << 30));
            }
        }
    }
}

void assign_improve(const et_assign_problem *p, et_arena *a, const assign_prices *price,
                    double target, int limit, et_assignment *io) {
    et_assignment now;
    struct local s = {.p = p, .state = 1};
    size_t n = (size_t)p->nmodels;
    s.range = assign_new(p, a, &now)->range;
    s.us = et_alloc(a, n * sizeof *s.us);
    s.moves = et_alloc(a, n * sizeof *s.moves);
    s.new_us = et_alloc(a, n * sizeof *s.new_us);
    s.new_moves = et_alloc(a, n * sizeof *s.new_moves);
    s.all_us = et_alloc(a, n * sizeof *s.all_us);
    int most = 0;
    for (int m = 0; m < p->nmodels; m++) {
        const et_assign_model *md = &p->models[m];
        most = md->ngroups > most ? md->ngroups : most;
        s.all_us[m] = et_alloc(a, (size_t)(md->ngroups * p->nranges) * sizeof **s.all_us);
        for (int g = 0; g < md->ngroups; g++)
            for (int r = 0; r < p->nranges; r++)
                s.all_us[m][g * p->nranges + r] = md->us[g * p->nranges + r] * assign_trips(md, g);
    }
    weigh_ranges(&s, a, price, io->makespan);
    cool(&s, limit, target, &now, et_alloc(a, 2 * (size_t)most * sizeof(int)), io);
}
