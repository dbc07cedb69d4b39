/* Requests of several models arrive at random and are served one way or another. Arrivals are drawn
 * beforehand, so that every way of serving sees the same. */
#include "bench/mixes/mixes.h"
#include "ir/base/diag.h"
#include <math.h>
#include <stdlib.h>

struct line {
    double *arrival, *response;
    int64_t n, head; /* head: the first not yet answered */
};

struct queue {
    const struct mix_service *s;
    struct line line[MIX_MODELS];
    double horizon; /* when the last request of the model that ends first arrives */
    bool looked, grows;
};

/* ---- arrivals ---- */

static double uniform(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

void mix_arrivals(double rate, int64_t n, uint64_t seed, double *out) {
    double t = 0;
    for (int64_t i = 0; i < n; i++)
        out[i] = t -= log(uniform(&seed)) / rate;
}

static void arrive(struct line *l, double rate, int64_t n, uint64_t seed) {
    *l =
        (struct line){malloc((size_t)n * sizeof(double)), malloc((size_t)n * sizeof(double)), n, 0};
    if (!l->arrival || !l->response) et_bug("out of memory");
    mix_arrivals(rate, n, seed, l->arrival);
}

/* ---- serving ---- */

static bool is_waiting(const struct line *l, double t) {
    return l->head < l->n && l->arrival[l->head] <= t;
}

static void answer(struct queue *q, int m, double t) {
    struct line *l = &q->line[m];
    l->response[l->head] = t - l->arrival[l->head];
    l->head++;
    if (q->looked || t < q->horizon) return;
    q->looked = true;
    for (int i = 0; i < q->s->nmodels; i++) { /* at the end of the time looked at */
        const struct line *k = &q->line[i];
        int64_t due = k->head;
        while (due < k->n && k->arrival[due] <= q->horizon)
            due++;
        q->grows |= due - k->head > 100 && due - k->head > k->n / 100;
    }
}

static int first_come(const struct queue *q) {
    int first = -1;
    for (int m = 0; m < q->s->nmodels; m++) {
        const struct line *l = &q->line[m];
        if (l->head == l->n) continue;
        if (first < 0 || l->arrival[l->head] < q->line[first].arrival[q->line[first].head])
            first = m;
    }
    return first;
}

static void take_turns(struct queue *q) {
    double t = 0;
    for (int m; (m = first_come(q)) >= 0;) {
        t = fmax(t, q->line[m].arrival[q->line[m].head]) + q->s->us[1 << m];
        answer(q, m, t);
    }
}

static void launch_together(struct queue *q) {
    double t = 0;
    for (int next; (next = first_come(q)) >= 0;) {
        unsigned set = 0;
        t = fmax(t, q->line[next].arrival[q->line[next].head]);
        for (int m = 0; m < q->s->nmodels; m++)
            if (is_waiting(&q->line[m], t)) set |= 1u << m;
        t += q->s->us[set];
        for (int m = 0; m < q->s->nmodels; m++)
            if (set >> m & 1) answer(q, m, t);
    }
}

/* Work goes on at the speeds of the set at work until somebody is done or begins. */
static void stream(struct queue *q) {
    double t = 0, left[MIX_MODELS];
    unsigned set = 0;
    for (;;) {
        double until = INFINITY;
        int who = -1;
        for (int m = 0; m < q->s->nmodels; m++) {
            struct line *l = &q->line[m];
            if (l->head == l->n) continue;
            bool works = set >> m & 1;
            double at = works ? t + left[m] / q->s->speed[set][m] : fmax(t, l->arrival[l->head]);
            if (at < until) until = at, who = m;
        }
        if (who < 0) return;
        for (int m = 0; m < q->s->nmodels; m++)
            if (set >> m & 1) left[m] -= (until - t) * q->s->speed[set][m];
        t = until;
        left[who] = 1;
        if (set >> who & 1) answer(q, who, t);
        set ^= 1u << who;
    }
}

/* ---- what came of it ---- */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of all that arrive while every model has some, but the first tenth, which began with an empty
 * machine. */
static void summarise(const struct line *l, double horizon, double *mean, double *p99) {
    int64_t skip = l->n / 10, n = 0;
    while (skip + n < l->n && l->arrival[skip + n] <= horizon)
        n++;
    if (!n) return;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += l->response[skip + i];
    qsort(l->response + skip, (size_t)n, sizeof(double), ascending);
    *mean = sum / (double)n;
    *p99 = l->response[skip + (n - 1) * 99 / 100];
}

void mix_queue(const struct mix_service *s, const struct mix_load *load, struct mix_times *out) {
    struct queue q = {.s = s, .horizon = INFINITY};
    *out = (struct mix_times){0};
    for (int m = 0; m < s->nmodels; m++) {
        struct line *l = &q.line[m];
        arrive(l, load->rate[m], load->requests, load->seed + (uint64_t)m * 0x632BE59BD9B4E019u);
        q.horizon = fmin(q.horizon, l->arrival[l->n - 1]);
    }
    if (s->kind == MIX_TURNS)
        take_turns(&q);
    else if (s->kind == MIX_LAUNCHES)
        launch_together(&q);
    else
        stream(&q);
    for (int m = 0; m < s->nmodels; m++) {
        summarise(&q.line[m], q.horizon, &out->mean[m], &out->p99[m]);
        free(q.line[m].arrival);
        free(q.line[m].response);
    }
    out->grows = q.grows;
}

/* ---- speeds ---- */

static int first_done(unsigned set, int n, const double *done) {
    int first = -1;
    for (int m = 0; m < n; m++)
        if (set >> m & 1 && (first < 0 || done[m] < done[first])) first = m;
    return first;
}

/* What a model gets done at a speed too small to tell. */
static double at_least(double part, double done, double first) {
    double least = 0.1 * first / done;
    return part > least ? part : least;
}

void mix_speeds(int n, const double done[MIX_SETS][MIX_MODELS], double out[MIX_SETS][MIX_MODELS]) {
    for (unsigned set = 1; set < 1u << n; set++) {
        int first = first_done(set, n, done[set]);
        double begin = done[set][first], later[MIX_MODELS] = {0};
        double from = begin;
        for (unsigned rest = set & ~(1u << first); rest;) {
            int next = first_done(rest, n, done[set]);
            for (int m = 0; m < n; m++)
                if (rest >> m & 1) later[m] += (done[set][next] - from) * out[rest][m];
            from = done[set][next];
            rest &= ~(1u << next);
        }
        for (int m = 0; m < n; m++)
            out[set][m] = set >> m & 1 ? at_least(1 - later[m], done[set][m], begin) / begin : 0;
    }
}

void mix_capacity(const struct mix_service *s, double out[MIX_MODELS]) {
    unsigned all = (1u << s->nmodels) - 1;
    double turns = 0;
    for (int m = 0; m < s->nmodels; m++)
        turns += s->us[1 << m];
    for (int m = 0; m < s->nmodels; m++)
        out[m] = s->kind == MIX_TURNS      ? 1 / turns
                 : s->kind == MIX_LAUNCHES ? 1 / s->us[all]
                                           : s->speed[all][m];
}

double mix_fairness(int n, const double *x) {
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += x[i], squares += x[i] * x[i];
    return sum * sum / (n * squares);
}
