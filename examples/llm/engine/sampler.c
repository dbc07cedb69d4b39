#include "examples/llm/engine/sampler.h"
#include <math.h>
#include <stdlib.h>

struct choice {
    float away; /* of its logit from the best one */
    int32_t id;
};

struct sampler {
    int64_t vocab;
    int32_t *place;         /* [vocab], of a token in CHANGES, from 1 on; zero between calls */
    struct change *changes; /* [vocab] */
    struct choice *choices; /* [vocab] */
};

struct sampling sampling_greedy(void) {
    return (struct sampling){.top_p = 1, .repetition = 1};
}

struct sampler *sampler_make(int64_t vocab) {
    struct sampler *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->vocab = vocab;
    s->place = calloc((size_t)vocab + 1, sizeof *s->place);
    s->changes = calloc((size_t)vocab + 1, sizeof *s->changes);
    s->choices = calloc((size_t)vocab + 1, sizeof *s->choices);
    if (s->place && s->changes && s->choices) return s;
    sampler_free(s);
    return NULL;
}

void sampler_free(struct sampler *s) {
    if (!s) return;
    free(s->place);
    free(s->changes);
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
static float uniform(uint64_t seed, uint64_t at) {
    const uint64_t golden = 0x9e3779b97f4a7c15u;
    uint64_t z = mix(mix(seed + golden) + (at + 1) * golden);
    return (float)(z >> 40) * 0x1p-24f;
}

/* ---- what a request changes in the logits ---- */

/* That of token ID, which does nothing yet where it is new. */
static struct change *change_of(struct sampler *s, size_t *n, int32_t id) {
    if (!s->place[id]) {
        s->changes[*n] = (struct change){.id = id, .above = 1, .below = 1};
        s->place[id] = (int32_t)++ * n;
    }
    return &s->changes[s->place[id] - 1];
}

size_t sampler_changes(struct sampler *s, const struct sampling *p, const struct history *h,
                       const struct change **out) {
    bool counted = p->frequency != 0 || p->presence != 0;
    size_t n = 0;
    for (size_t i = 0; i < p->nbias; i++)
        change_of(s, &n, p->bias[i].id)->add += p->bias[i].bias;
    for (int i = 0; i < h->nnever; i++)
        if (h->never[i] >= 0 && h->never[i] < s->vocab)
            change_of(s, &n, h->never[i])->add = -INFINITY;
    for (size_t i = 0; i < h->n && p->repetition != 1; i++) {
        struct change *c = change_of(s, &n, h->ids[i]);
        c->above = (float)(1 / p->repetition);
        c->below = (float)p->repetition;
    }
    for (size_t i = h->prompt; i < h->n && counted; i++)
        change_of(s, &n, h->ids[i])->less += 1;
    for (size_t i = 0; i < n; i++) {
        struct change *c = &s->changes[i];
        if (c->less > 0) c->less = (float)(p->frequency * c->less + p->presence);
        s->place[c->id] = 0;
    }
    *out = s->changes;
    return n;
}

static void apply(const struct change *c, float *logit) {
    *logit += c->add;
    *logit = *logit * (*logit > 0 ? c->above : c->below) - c->less;
}

/* No logit is as large, nor the best one as small: the kernels know it by that. */
#define MOST 1e38f

int32_t sampler_likeliest(const float *logits, int64_t vocab) {
    int32_t best = 0;
    for (int64_t i = 0; i < vocab; i++) {
        if (isnan(logits[i])) return -1;
        if (logits[i] > logits[best]) best = (int32_t)i;
    }
    return fabsf(logits[best]) <= MOST ? best : -1;
}

/* ---- drawing ---- */

struct drawing sampler_drawing(const struct sampling *p, int64_t vocab, size_t generated) {
    /* A share below exp(-87) is no normal number of 32 bits. */
    const float most_cold = 1e30f, farthest = 87;
    struct drawing d = {.far = farthest, .top_p = (float)p->top_p, .top_k = vocab};
    if (p->temperature > 0) d.cold = (float)fmin(1 / p->temperature, most_cold);
    if (p->min_p > 0 && -log(p->min_p) < farthest) d.far = (float)-log(p->min_p);
    if (p->top_k > 0 && p->top_k < vocab) d.top_k = p->top_k;
    d.uniform = uniform(p->seed, generated);
    return d;
}

/* Ties go to the lower id, so that the order is one. */
static bool likelier(struct choice a, struct choice b) {
    return a.away < b.away || (a.away == b.away && a.id < b.id);
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

static double share(float away, const struct drawing *d) {
    return exp(-(double)(away * d->cold));
}

/* Those that are near enough, and no further away than MOST; how many. */
static int64_t collect(struct choice *c, const float *logits, int64_t vocab, float best, float most,
                       const struct drawing *d) {
    int64_t n = 0;
    for (int64_t i = 0; i < vocab; i++) {
        float away = best - logits[i];
        if (away <= most && away * d->cold <= d->far) c[n++] = (struct choice){away, (int32_t)i};
    }
    return n;
}

/* How far away the MOSTth of N is, or the one with which the likeliest have a share of NEED. Linear
 * in N as long as these are few, where sorting a vocabulary of 150,000 would take longer than the
 * launch. */
static float reach(struct choice *heap, int64_t n, int64_t most, double need,
                   const struct drawing *d) {
    double sum = 0;
    float away = 0;
    for (int64_t i = n / 2; i-- > 0;)
        sift(heap, n, i);
    for (int64_t kept = 0; kept < most && kept < n && (kept == 0 || sum < need); kept++) {
        away = heap[0].away;
        sum += share(away, d);
        heap[0] = heap[n - kept - 1];
        sift(heap, n - kept - 1, 0);
    }
    return away;
}

static int32_t draw(struct sampler *s, const struct drawing *d, const float *logits, int32_t best) {
    struct choice *c = s->choices;
    float from = logits[best], most = INFINITY;
    double total = 0, sum = 0;
    int64_t n = collect(c, logits, s->vocab, from, most, d);
    if (d->top_k < n) {
        most = reach(c, n, d->top_k, INFINITY, d);
        n = collect(c, logits, s->vocab, from, most, d);
    }
    for (int64_t i = 0; i < n; i++)
        total += share(c[i].away, d);
    if (d->top_p < 1) {
        most = reach(c, n, n, d->top_p * total, d);
        n = collect(c, logits, s->vocab, from, most, d);
        total = 0;
        for (int64_t i = 0; i < n; i++)
            total += share(c[i].away, d);
    }
    for (int64_t i = 0; i < n; i++)
        if ((sum += share(c[i].away, d)) > d->uniform * total) return c[i].id;
    return c[n - 1].id;
}

int32_t sampler_next(struct sampler *s, const struct sampling *p, const struct history *h,
                     float *logits) {
    const struct change *changes;
    size_t n = sampler_changes(s, p, h, &changes);
    for (size_t i = 0; i < n; i++)
        apply(&changes[i], &logits[changes[i].id]);
    int32_t best = sampler_likeliest(logits, s->vocab);
    struct drawing d = sampler_drawing(p, s->vocab, h->n - h->prompt);
    return best < 0 || d.cold <= 0 ? best : draw(s, &d, logits, best);
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
