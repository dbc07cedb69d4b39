#include "examples/llm/engine/sampler.h"
#include <math.h>
#include <stdlib.h>

struct choice {
    float logit;
    int32_t id;
};

struct sampler {
    int64_t vocab;
    int32_t *counts;        /* [vocab], zero between calls */
    struct choice *choices; /* [vocab] */
};

struct sampling sampling_greedy(void) {
    return (struct sampling){.top_p = 1, .repetition = 1};
}

struct sampler *sampler_make(int64_t vocab) {
    struct sampler *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->vocab = vocab;
    s->counts = calloc((size_t)vocab + 1, sizeof *s->counts);
    s->choices = calloc((size_t)vocab + 1, sizeof *s->choices);
    if (s->counts && s->choices) return s;
    sampler_free(s);
    return NULL;
}

void sampler_free(struct sampler *s) {
    if (!s) return;
    free(s->counts);
    free(s->choices);
    free(s);
}

/* ---- random numbers ---- */

/* The finaliser of SplitMix64: every bit of Z decides every bit of the result. */
static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Number AT of the sequence of SEED, in [0, 1). Mixing the seed first keeps neighbouring seeds from
 * being the same sequence begun at another place. */
static double uniform(uint64_t seed, uint64_t at) {
    const uint64_t golden = 0x9e3779b97f4a7c15u;
    uint64_t z = mix(mix(seed + golden) + (at + 1) * golden);
    return (double)(z >> 11) * 0x1p-53;
}

/* ---- what a request changes in the logits ---- */

static void penalise(struct sampler *s, const struct sampling *p, const struct history *h,
                     float *logits) {
    bool repeated = p->repetition != 1, counted = p->frequency != 0 || p->presence != 0;
    if (repeated) {
        for (size_t i = 0; i < h->n; i++) {
            int32_t id = h->ids[i];
            if (s->counts[id]++ == 0)
                logits[id] *= (float)(logits[id] > 0 ? 1 / p->repetition : p->repetition);
        }
        for (size_t i = 0; i < h->n; i++)
            s->counts[h->ids[i]] = 0;
    }
    if (!counted) return;
    for (size_t i = h->prompt; i < h->n; i++)
        s->counts[h->ids[i]]++;
    for (size_t i = h->prompt; i < h->n; i++) {
        int32_t id = h->ids[i];
        if (s->counts[id]) logits[id] -= (float)(p->frequency * s->counts[id] + p->presence);
        s->counts[id] = 0;
    }
}

int32_t sampler_likeliest(const float *logits, int64_t vocab) {
    int32_t best = 0;
    for (int64_t i = 0; i < vocab; i++) {
        if (isnan(logits[i])) return -1;
        if (logits[i] > logits[best]) best = (int32_t)i;
    }
    return logits[best] > -INFINITY ? best : -1;
}

/* ---- drawing ---- */

/* Ties go to the lower id, so that the order is one. */
static bool likelier(struct choice a, struct choice b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

static void sift(struct choice *heap, int64_t n, int64_t i) {
    for (;;) {
        int64_t child = 2 * i + 1, best = i;
        for (int64_t c = child; c < child + 2 && c < n; c++)
            if (likelier(heap[c], heap[best])) best = c;
        if (best == i) return;
        struct choice swap = heap[i];
        heap[i] = heap[best];
        heap[best] = swap;
        i = best;
    }
}

/* Leaves the likeliest MOST of N, in order, at the end of the array: heap[n - 1] is the likeliest.
 * Stops early once those it has are more than SHARE of TOTAL. Linear in N as long as it keeps few,
 * where sorting a vocabulary of 150,000 would take longer than the launch. */
static int64_t keep_likeliest(struct choice *heap, int64_t n, int64_t most, double share,
                              double total, double max, double temperature) {
    double sum = 0;
    int64_t kept = 0;
    for (int64_t i = n / 2; i-- > 0;)
        sift(heap, n, i);
    while (kept < most && kept < n && (kept == 0 || sum < share * total)) {
        struct choice top = heap[0];
        heap[0] = heap[n - kept - 1];
        heap[n - kept - 1] = top;
        kept++;
        sift(heap, n - kept, 0);
        sum += exp((top.logit - max) / temperature);
    }
    return kept;
}

static double sum_of(const struct choice *c, int64_t n, double max, double temperature) {
    double total = 0;
    for (int64_t i = 0; i < n; i++)
        total += exp((c[i].logit - max) / temperature);
    return total;
}

static int32_t draw(const struct choice *c, int64_t n, double at, double max, double temperature) {
    at *= sum_of(c, n, max, temperature);
    int64_t i = 0;
    for (; i < n - 1; i++) {
        at -= exp((c[i].logit - max) / temperature);
        if (at < 0) break;
    }
    return c[i].id;
}

int32_t sampler_next(struct sampler *s, const struct sampling *p, const struct history *h,
                     float *logits) {
    for (size_t i = 0; i < p->nbias; i++)
        logits[p->bias[i].id] += p->bias[i].bias;
    penalise(s, p, h, logits);
    int32_t best = sampler_likeliest(logits, s->vocab);
    if (best < 0 || p->temperature <= 0) return best;
    double max = logits[best];
    double least = p->min_p > 0 ? max + p->temperature * log(p->min_p) : -INFINITY;
    struct choice *c = s->choices;
    int64_t n = 0;
    for (int64_t i = 0; i < s->vocab; i++)
        if (logits[i] > -INFINITY && logits[i] >= least)
            c[n++] = (struct choice){logits[i], (int32_t)i};
    int64_t most = p->top_k > 0 && p->top_k < n ? p->top_k : n;
    if (most < n) {
        keep_likeliest(c, n, most, INFINITY, 1, max, p->temperature);
        c += n - most;
        n = most;
    }
    if (p->top_p < 1) {
        double total = sum_of(c, n, max, p->temperature);
        most = keep_likeliest(c, n, n, p->top_p, total, max, p->temperature);
        c += n - most;
        n = most;
    }
    return draw(c, n, uniform(p->seed, h->n - h->prompt), max, p->temperature);
}

/* ---- how likely tokens were ---- */

int sampler_logprobs(const float *logits, int64_t vocab, int32_t id, int top, float *out_logprob,
                     struct likelihood *out_top) {
    double max = -INFINITY, total = 0;
    int n = 0;
    for (int64_t i = 0; i < vocab; i++)
        if (logits[i] > max) max = logits[i];
    for (int64_t i = 0; i < vocab; i++)
        total += exp(logits[i] - max);
    double log_total = log(total) + max;
    *out_logprob = (float)(logits[id] - log_total);
    for (int64_t i = 0; i < vocab && top > 0; i++) {
        float logprob = (float)(logits[i] - log_total);
        if (n == top && !(logprob > out_top[n - 1].logprob)) continue;
        int at = n < top ? n++ : n - 1;
        for (; at > 0 && logprob > out_top[at - 1].logprob; at--)
            out_top[at] = out_top[at - 1];
        out_top[at] = (struct likelihood){(int32_t)i, logprob};
    }
    return n;
}
