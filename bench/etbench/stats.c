/* Medians, quartiles, and how sure a ratio of medians is. */
#include "bench/etbench/etbench.h"
#include "bench/etbench/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value a share P of the way through N sorted numbers. */
static double quantile(const double *sorted, int n, double p) {
    double at = p * (n - 1);
    int below = (int)at;
    if (below >= n - 1) return sorted[n - 1];
    return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

struct eb_summary eb_summarise(const double *sample, int n) {
    struct eb_summary s = {.n = n};
    if (!n) return s;
    double *sorted = eb_alloc((size_t)n * sizeof *sorted);
    memcpy(sorted, sample, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    s.median = quantile(sorted, n, 0.5);
    s.q1 = quantile(sorted, n, 0.25);
    s.q3 = quantile(sorted, n, 0.75);
    s.least = sorted[0];
    s.most = sorted[n - 1];
    free(sorted);
    return s;
}

double eb_quantile(double *sample, int n, double p) {
    qsort(sample, (size_t)n, sizeof *sample, compare);
    return n ? quantile(sample, n, p) : NAN;
}

static double resampled_median(const double *sample, int n, double *room, uint64_t *state) {
    for (int i = 0; i < n; i++)
        room[i] = sample[eb_random(state) % (uint64_t)n];
    qsort(room, (size_t)n, sizeof *room, compare);
    return quantile(room, n, 0.5);
}

struct eb_ratio eb_ratio_of(const double *a, int na, const double *b, int nb, uint64_t seed) {
    enum { RESAMPLES = 2000 };
    struct eb_summary over = eb_summarise(a, na), under = eb_summarise(b, nb);
    struct eb_ratio r = {NAN, NAN, NAN};
    if (!na || !nb || under.least <= 0) return r;
    r.value = over.median / under.median;
    double *room = eb_alloc((size_t)(na > nb ? na : nb) * sizeof *room);
    double *ratio = eb_alloc(RESAMPLES * sizeof *ratio);
    for (int i = 0; i < RESAMPLES; i++) {
        double x = resampled_median(a, na, room, &seed);
        ratio[i] = x / resampled_median(b, nb, room, &seed);
    }
    qsort(ratio, RESAMPLES, sizeof *ratio, compare);
    r.lo = quantile(ratio, RESAMPLES, 0.025);
    r.hi = quantile(ratio, RESAMPLES, 0.975);
    free(room);
    free(ratio);
    return r;
}
