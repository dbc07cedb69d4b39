/* ECLIP's program as published: a configuration of 1 to 4 quarters of the CUs for every kernel, at
 * most so many switches per worker,
 *
 *     minimise  sum over workers w, kernels k of  us(k, config) * (1 + alpha)
 *     alpha     = CUOverlap / CUs,  CUOverlap(w) = CUAverage(w) + sum over the others of CUAverage
 *
 * Alpha is then the same for all workers, and whoever uses CUs pays for all others that use any,
 * disjoint or not. So the objective is U * (1 + A) with U and A sums over workers of what each
 * worker chooses: it is least at a corner of the hull of (U, A), and a corner is a best choice at
 * some price of CUs, for every worker by itself. */
#include "bench/mixes/mixes.h"
#include <math.h>
#include <string.h>

struct point {
    double us, share;
};

struct search {
    et_arena *arena;
    int nworkers, most;
    const struct eclip_worker *w;
    int *now[MIX_MODELS];
    struct eclip_plan *best;
};

/* ---- one worker at a price ---- */

struct state {
    double cost;
    int from; /* configuration of the kernel before */
};

/* Fewest first: a state of S switches, configuration C. */
static struct state *at(struct state *table, int most, int k, int s, int c) {
    return &table[((size_t)k * (size_t)(most + 1) + (size_t)s) * ECLIP_CONFIGS + (size_t)c];
}

static void extend(const struct eclip_worker *w, struct state *table, int most, int k,
                   double price) {
    for (int s = 0; s <= most; s++)
        for (int c = 0; c < ECLIP_CONFIGS; c++) {
            struct state *now = at(table, most, k, s, c);
            *now = (struct state){INFINITY, c};
            if (!w->may[c]) continue;
            double own =
                w->us[k * ECLIP_CONFIGS + c] + price * (c + 1) / ECLIP_CONFIGS / w->kernels;
            if (k == 0) {
                if (s == 0) now->cost = own;
                continue;
            }
            for (int b = 0; b < ECLIP_CONFIGS; b++) {
                if (b != c && s == 0) continue;
                double before = at(table, most, k - 1, b == c ? s : s - 1, b)->cost;
                if (before + own < now->cost) *now = (struct state){before + own, b};
            }
        }
}

static struct point cheapest(const struct eclip_worker *w, int most, double price, et_arena *a,
                             int *out) {
    struct state *table =
        et_alloc(a, (size_t)w->kernels * (size_t)(most + 1) * ECLIP_CONFIGS * sizeof *table);
    int s = 0, c = 0;
    for (int k = 0; k < w->kernels; k++)
        extend(w, table, most, k, price);
    for (int i = 0; i <= most; i++)
        for (int b = 0; b < ECLIP_CONFIGS; b++)
            if (at(table, most, w->kernels - 1, i, b)->cost <
                at(table, most, w->kernels - 1, s, c)->cost * (1 - 1e-12))
                s = i, c = b;
    struct point p = {0, 0};
    for (int k = w->kernels - 1; k >= 0; k--) {
        int b = at(table, most, k, s, c)->from;
        out[k] = c;
        p.us += w->us[k * ECLIP_CONFIGS + c];
        p.share += (c + 1.0) / ECLIP_CONFIGS / w->kernels;
        s -= b != c;
        c = b;
    }
    return p;
}

/* ---- all of them ---- */

static int count_switches(const int *config, int n) {
    int s = 0;
    for (int k = 1; k < n; k++)
        s += config[k] != config[k - 1];
    return s;
}

static void keep(struct search *s, const struct point *each, struct point sum) {
    double objective = sum.us * (1 + sum.share);
    if (objective >= s->best->objective) return;
    s->best->objective = objective;
    s->best->alpha = sum.share;
    for (int i = 0; i < s->nworkers; i++) {
        size_t n = (size_t)s->w[i].kernels;
        memcpy(s->best->config[i], s->now[i], n * sizeof(int));
        s->best->share[i] = each[i].share;
        s->best->switches[i] = count_switches(s->now[i], s->w[i].kernels);
    }
}

static struct point corner(struct search *s, double price) {
    struct point sum = {0, 0}, each[MIX_MODELS];
    et_arena *a = et_arena_create();
    for (int i = 0; i < s->nworkers; i++) {
        each[i] = cheapest(&s->w[i], s->most, price, a, s->now[i]);
        sum.us += each[i].us;
        sum.share += each[i].share;
    }
    et_arena_destroy(a);
    keep(s, each, sum);
    return sum;
}

/* The corners between two: at the price where both cost the same, is anything cheaper? */
static void between(struct search *s, struct point fast, struct point narrow) {
    if (fast.share - narrow.share < 1e-9 || narrow.us - fast.us < 1e-9) return;
    double price = (narrow.us - fast.us) / (fast.share - narrow.share);
    struct point p = corner(s, price);
    double there = fast.us + price * fast.share;
    if (p.us + price * p.share > there * (1 - 1e-9)) return;
    between(s, fast, p);
    between(s, p, narrow);
}

void eclip_solve(et_arena *a, int nworkers, const struct eclip_worker *w, int most,
                 struct eclip_plan *out) {
    struct search s = {a, nworkers, most, w, {NULL}, out};
    double all = 0;
    *out = (struct eclip_plan){.objective = INFINITY};
    for (int i = 0; i < nworkers; i++) {
        out->config[i] = et_alloc(a, (size_t)(w[i].kernels + 1) * sizeof(int));
        s.now[i] = et_alloc(a, (size_t)(w[i].kernels + 1) * sizeof(int));
        for (int k = 0; k < w[i].kernels * ECLIP_CONFIGS; k++)
            if (w[i].may[k % ECLIP_CONFIGS]) all += w[i].us[k];
    }
    /* Prices so low and so high that only ties are decided by the other sum. */
    struct point fast = corner(&s, 1e-9 * all), narrow = corner(&s, 1e6 * all);
    between(&s, fast, narrow);
}
