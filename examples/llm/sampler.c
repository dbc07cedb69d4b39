#include "examples/llm/sampler.h"
#include <math.h>
#include <stdlib.h>

/* SplitMix64: every seed is a good one. Returns a number in [0, 1). */
static double uniform(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static int32_t most_likely(const float *logits, int64_t vocab) {
    int32_t best = 0;
    for (int64_t i = 0; i < vocab; i++) {
        if (isnan(logits[i])) return -1;
        if (logits[i] > logits[best]) best = (int32_t)i;
    }
    return best;
}

struct choice {
    float logit;
    int32_t id;
};

/* Ties go to the lower id, so that the order does not depend on qsort. */
static int likelier_first(const void *a, const void *b) {
    const struct choice *x = a, *y = b;
    if (x->logit != y->logit) return (x->logit < y->logit) - (x->logit > y->logit);
    return (x->id > y->id) - (x->id < y->id);
}

int32_t sampler_next(struct sampler *s, const float *logits, int64_t vocab) {
    int32_t best = most_likely(logits, vocab);
    if (best < 0 || s->temperature <= 0) return best;
    struct choice *c = malloc((size_t)vocab * sizeof *c);
    if (!c) return -1;
    for (int64_t i = 0; i < vocab; i++)
        c[i] = (struct choice){logits[i], (int32_t)i};
    qsort(c, (size_t)vocab, sizeof *c, likelier_first);
    int64_t n = s->top_k > 0 && s->top_k < vocab ? s->top_k : vocab;
    double total = 0, max = c[0].logit;
    for (int64_t i = 0; i < n; i++)
        total += exp((c[i].logit - max) / s->temperature);
    double at = uniform(&s->state) * total;
    int64_t i = 0;
    for (; i < n - 1; i++) {
        at -= exp((c[i].logit - max) / s->temperature);
        if (at < 0) break;
    }
    int32_t id = c[i].id;
    free(c);
    return id;
}
