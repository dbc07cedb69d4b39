/* Improving a choice by annealing: neighbouring groups of one model go to another range, or two
 * such changes are made at once.
 *
 * What falls is the sum of two logarithms: of the largest of all completions and loads (a sum of
 * high powers, so that those just below are not forgotten), and, several times over, of the cost at
 * the prices of the linear program. No evening out brings a choice below that cost: with the first
 * part alone, everything is even soon, at a cost too high, and a cheaper choice, uneven on the way,
 * is never reached. It is also what is known of a change at once: nine of ten are refused before
 * any load is looked at. */
#include "passes/assign/moves.h"
#include <math.h>
#include <string.h>

/* Completions and loads go to the power 2^POWER, the cost to 2^weight times that. */
enum { POWER = 8, LUCKS = 512, PERIOD = 16384, LANES = 8, COOLINGS = 3 };
/* Of each cooling. The first is the best for most; those it is not for have large groups, and a way
 * from one choice to a better one leads through dearer ones. */
static const int weights[COOLINGS] = {3, 2, 2};
static const double first_heat = 0.0014; /* relative: what a change may lose at the start */

/* Two registers of SSE, one of AVX: the same sums in the same order whatever there is. */
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* A change that is tried, and what comes of it. */
struct trial {
    struct assign_piece piece[2];
    int n, nmodels, model[2]; /* pieces, and the models they are of */
    double us[2];             /* of these: completions, and changes of range */
    int64_t changes[2];
    double cost;
    int nterms; /* added to the loads of a range's units */
    struct {
        int range;
        double us;
    } term[2 * (ASSIGN_AT_ONCE + 1)];
};

struct local {
    struct assign_members of;
    int nrows;            /* units, models, and none up to whole lanes */
    float *row, *row_new; /* loads, and weighted completions */
    float *has;           /* [nranges][nrows]: 1 for the units of a range */
    int *saved;
    int weight;
    double scale; /* 1 / T, so that powers neither overflow nor vanish */
    double sum;   /* of the rows to the power */
    double mean;  /* of completions, weighted */
    double cost;
    double spread;                           /* of the prices: their entropy, by POWER */
    double room;                             /* factor by which the cost may rise at no heat */
    double may_rise[LUCKS], may_cost[LUCKS]; /* by luck, factors: of the energy; of the cost */
};

/* ---- what a change comes to ---- */

static double move_us(const struct assign_members *s, const struct assign_member *m, int after,
                      int from, int to) {
    size_t at = (size_t)from * (size_t)s->p->nranges + (size_t)to;
    return s->p->switch_us[at] + m->m->bytes[after] * s->p->byte_us[at];
}

static void add_move(const struct assign_members *s, const struct assign_member *m, int after,
                     int from, int to, int times, assign_moves *io) {
    if (from == to) return;
    io->us += times * move_us(s, m, after, from, to);
    io->changes += times;
}

/* From the last group of a loop to its first, where the piece has one of them. */
static void add_loops(const struct assign_members *s, const struct assign_member *m,
                      const struct assign_piece *e, assign_moves *io) {
    for (int i = 0; i < m->nloops; i++) {
        const struct assign_loop *l = &m->loop[i];
        bool first = l->first >= e->a && l->first < e->b, last = l->last >= e->a && l->last < e->b;
        int from = m->range[l->last], to = m->range[l->first];
        if (!first && !last) continue;
        add_move(s, m, l->last, from, to, -l->back, io);
        add_move(s, m, l->last, last ? e->r : from, first ? e->r : to, l->back, io);
    }
}

static void add_term(struct trial *t, const struct assign_member *m, int r, double us) {
    t->term[t->nterms].range = r;
    t->term[t->nterms++].us = us;
    t->cost += us * m->price[r];
}

/* Adds a piece to the trial, as number I of its models; false where the range will not do. */
static bool add_piece(const struct assign_members *s, const struct assign_piece *e, int i,
                      struct trial *t) {
    const struct assign_member *m = &s->member[e->model];
    const int *range = m->range, *trips = m->trips;
    size_t w = (size_t)m->n + 1;
    const double *there = m->upto + (size_t)e->r * w;
    if (m->fits[(size_t)e->r * w + (size_t)e->a] < e->b) return false;
    double us = there[e->b] - there[e->a];
    assign_moves moves = {0};
    add_term(t, m, e->r, us);
    if (e->a > 0) {
        add_move(s, m, e->a - 1, range[e->a - 1], range[e->a], -trips[e->a], &moves);
        add_move(s, m, e->a - 1, range[e->a - 1], e->r, trips[e->a], &moves);
    }
    for (int g = e->a, next; g < e->b; g = next) {
        for (next = g + 1; next < e->b && range[next] == range[g];)
            next++;
        const double *here = m->upto + (size_t)range[g] * w;
        us -= here[next] - here[g];
        add_term(t, m, range[g], here[g] - here[next]);
        if (next < m->n)
            add_move(s, m, next - 1, range[next - 1], range[next], -trips[next], &moves);
    }
    if (e->b < m->n) add_move(s, m, e->b - 1, e->r, range[e->b], trips[e->b], &moves);
    if (m->nloops) add_loops(s, m, e, &moves);
    t->us[i] += us + moves.us;
    t->changes[i] += moves.changes;
    t->cost += moves.us * m->completion;
    return true;
}

static void start_model(const struct local *s, struct trial *t, int model) {
    t->model[t->nmodels] = model;
    t->us[t->nmodels] = s->of.member[model].us;
    t->changes[t->nmodels++] = s->of.member[model].changes;
}

static void put(struct local *s, const struct assign_piece *e) {
    for (int g = e->a; g < e->b; g++)
        s->of.member[e->model].range[g] = e->r;
}

/* What becomes of the models; the second piece of one model is added while the first is made. */
static bool add_pieces(struct local *s, struct trial *t) {
    const struct assign_piece *one = &t->piece[0], *two = &t->piece[1];
    t->nmodels = t->nterms = 0;
    t->cost = s->cost;
    start_model(s, t, one->model);
    if (!add_piece(&s->of, one, 0, t)) return false;
    if (t->n == 1) return true;
    if (two->model != one->model) {
        start_model(s, t, two->model);
        return add_piece(&s->of, two, 1, t);
    }
    int *range = s->of.member[one->model].range;
    size_t bytes = (size_t)(one->b - one->a) * sizeof *range;
    memcpy(s->saved, range + one->a, bytes);
    put(s, one);
    bool ok = add_piece(&s->of, two, 0, t);
    memcpy(range + one->a, s->saved, bytes);
    return ok;
}

/* ---- energy ---- */

static double to_the(int power, double v) {
    for (int i = 0; i < power; i++)
        v *= v;
    return v;
}

/* The rows with the terms of a change, in row_new, and the sum of their powers. */
static double add_terms(struct local *s, const struct trial *t) {
    memcpy(s->row_new, s->row, (size_t)s->nrows * sizeof *s->row);
    for (int i = 0; i < t->nmodels; i++)
        s->row_new[s->of.p->nunits + t->model[i]] =
            (float)(s->of.p->models[t->model[i]].weight * t->us[i]);
    size_t rows = (size_t)s->nrows;
    lanes sum = {0};
    for (size_t k = 0; k < rows; k += LANES) {
        lanes v = *(const lanes *)(s->row_new + k);
        for (int i = 0; i < t->nterms; i++)
            v += *(const lanes *)(s->has + (size_t)t->term[i].range * rows + k) *
                 (float)t->term[i].us;
        *(lanes *)(s->row_new + k) = v;
        v *= (float)s->scale;
        for (int i = 0; i < POWER; i++)
            v *= v;
        sum += v;
    }
    double out = 0;
    for (int i = 0; i < LANES; i++)
        out += sum[i];
    return out;
}

static double largest(const struct local *s) {
    float t = 0;
    for (int k = 0; k < s->nrows; k++)
        t = s->row[k] > t ? s->row[k] : t;
    return t;
}

/* The rows' sum of powers is at least what it is where they are as even as the prices make them:
 * the cost to the power, times e to the entropy of the prices. So much cost is left to be had. */
static void find_room(struct local *s) {
    double even = assign_ln(s->sum) / (1 << POWER) - s->spread - assign_ln(s->cost * s->scale);
    s->room = assign_exp(even / (1 + (1 << s->weight)));
}

/* All anew, from the ranges: what is added up goes astray with time. */
static void refresh(struct local *s) {
    const et_assign_problem *p = s->of.p;
    double load[ET_ASSIGN_UNITS] = {0};
    s->cost = s->mean = 0;
    for (int i = 0; i < p->nmodels; i++) {
        struct assign_member *m = &s->of.member[i];
        size_t w = (size_t)m->n + 1;
        assign_plan_cost c;
        assign_plan_cost_of(p, m->m, m->range, &c);
        m->us = c.us;
        m->changes = c.changes;
        for (int g = 0; g < m->n; g++) {
            const double *upto = m->upto + (size_t)m->range[g] * w + g;
            s->cost += (upto[1] - upto[0]) * m->price[m->range[g]];
        }
        s->cost += assign_moves_near(p, m->m, m->range, 0, m->n).us * m->completion;
        for (int u = 0; u < p->nunits; u++)
            load[u] += c.load[u];
        s->row[p->nunits + i] = (float)(m->m->weight * c.us);
        s->mean += m->m->weight * c.us / p->nmodels;
        assign_find_runs(m);
    }
    for (int u = 0; u < p->nunits; u++)
        s->row[u] = (float)load[u];
    s->scale = 1 / fmax(largest(s), 1e-9);
    s->sum = 0;
    for (int k = 0; k < p->nunits + p->nmodels; k++)
        s->sum += to_the(POWER, s->row[k] * s->scale);
    find_room(s);
}

static void set_heat(struct local *s, double heat) {
    for (int i = 0; i < LUCKS; i++) {
        double e = heat * -assign_ln((i + 0.5) / LUCKS);
        s->may_rise[i] = assign_exp((1 << POWER) * e);
        s->may_cost[i] = assign_exp(e / (1 + (1 << s->weight)));
    }
}

/* Tries a change; true when it was made. */
static bool attempt(struct local *s, struct trial *t) {
    int luck = assign_draw(&s->of, LUCKS);
    if (!add_pieces(s, t) || t->cost > s->cost * s->room * s->may_cost[luck]) return false;
    double mean = s->mean;
    for (int i = 0; i < t->nmodels; i++) {
        const struct assign_member *m = &s->of.member[t->model[i]];
        if (t->changes[i] > m->budget) return false;
        mean += m->m->weight * (t->us[i] - m->us) / s->of.p->nmodels;
    }
    double sum = add_terms(s, t), tilt = 1 + assign_epsilon * s->scale * (mean - s->mean);
    double rise = to_the(POWER + s->weight, t->cost / s->cost) * to_the(POWER, tilt);
    if (!(sum * rise <= s->sum * s->may_rise[luck])) return false;
    float *was = s->row;
    s->row = s->row_new;
    s->row_new = was;
    s->sum = sum;
    s->mean = mean;
    s->cost = t->cost;
    find_room(s);
    for (int i = 0; i < t->n; i++)
        put(s, &t->piece[i]);
    for (int i = 0; i < t->nmodels; i++) {
        struct assign_member *m = &s->of.member[t->model[i]];
        m->us = t->us[i];
        m->changes = t->changes[i];
        assign_find_runs(m);
    }
    return true;
}

/* ---- cooling ---- */

static void keep_better(const struct local *s, et_assignment *now, et_assignment *io) {
    const et_assign_problem *p = s->of.p;
    for (int m = 0; m < p->nmodels; m++)
        memcpy(now->range[m], s->of.member[m].range, (size_t)p->models[m].ngroups * sizeof(int));
    et_assign_evaluate(p, now->range, now);
    if (now->objective >= io->objective) return;
    et_assignment worse = *io;
    *io = *now;
    *now = worse;
}

static void cool(struct local *s, int steps, double target, et_assignment *now, et_assignment *io) {
    struct trial t;
    for (int k = 0; k < steps && io->objective > target; k++) {
        if (k % PERIOD == 0) {
            double rest = 1 - (double)k / steps;
            refresh(s);
            set_heat(s, first_heat * rest * rest + 1e-9);
        }
        t.n = assign_propose(&s->of, t.piece);
        if (t.n && attempt(s, &t) && largest(s) < io->makespan * (1 - 1e-6))
            keep_better(s, now, io);
    }
}

/* The entropy of the prices of all rows. */
static double spread_of(const et_assign_problem *p, const assign_prices *by_model) {
    double out = 0;
    for (int u = 0; u < p->nunits; u++)
        if (by_model->unit[u] > 0) out -= by_model->unit[u] * assign_ln(by_model->unit[u]);
    for (int m = 0; m < p->nmodels; m++) {
        double price = by_model[m].completion / p->models[m].weight;
        if (price > 0) out -= price * assign_ln(price);
    }
    return out;
}

static struct local *create(const et_assign_problem *p, et_arena *a, const assign_prices *price,
                            double t) {
    struct local *s = et_alloc(a, sizeof *s);
    assign_members_create(p, a, price, t, &s->of);
    s->spread = spread_of(p, price) / (1 << POWER);
    s->nrows = (p->nunits + p->nmodels + LANES - 1) / LANES * LANES;
    size_t rows = (size_t)s->nrows;
    s->row = et_alloc(a, rows * sizeof *s->row);
    s->row_new = et_alloc(a, rows * sizeof *s->row_new);
    s->has = et_alloc(a, rows * (size_t)p->nranges * sizeof *s->has);
    for (size_t r = 0; r < (size_t)p->nranges; r++)
        for (int u = 0; u < p->nunits; u++)
            s->has[r * rows + (size_t)u] = p->units[r] >> u & 1;
    int most = 0;
    for (int m = 0; m < p->nmodels; m++)
        most = p->models[m].ngroups > most ? p->models[m].ngroups : most;
    s->saved = et_alloc(a, (size_t)most * sizeof *s->saved);
    return s;
}

void assign_improve(const et_assign_problem *p, et_arena *a, const assign_prices *price,
                    double target, double enough, int limit, et_assignment *io) {
    et_assignment from, now;
    struct local *s = create(p, a, price, io->makespan);
    assign_new(p, a, &from);
    assign_new(p, a, &now);
    for (int m = 0; m < p->nmodels; m++)
        memcpy(from.range[m], io->range[m], (size_t)p->models[m].ngroups * sizeof(int));
    for (int k = 0; k < COOLINGS && (k == 0 || io->objective > enough); k++) {
        for (int m = 0; m < p->nmodels; m++)
            memcpy(s->of.member[m].range, from.range[m],
                   (size_t)p->models[m].ngroups * sizeof(int));
        s->weight = weights[k];
        cool(s, limit, target, &now, io);
    }
}
