#include "examples/llm/engine/sampler.h"
#include "examples/llm/engine/scan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shares are put into buckets by how far away they are, which ends at FARTHEST. */
enum { FARTHEST = 87, PER_E = 16, BUCKETS = FARTHEST * PER_E + 1 };

struct sampler {
    int64_t vocab, blocks;
    int32_t *place;         /* [vocab], of a token in CHANGES, from 1 on; zero between calls */
    struct change *changes; /* [vocab] */
    float *away;            /* [vocab], a heap */
    float *shares;          /* [blocks, SCAN_BLOCK]; of blocks whose SUMS is 0 there are none */
    float *highest;         /* [blocks] */
    double *sums;           /* [blocks] */
    double mass[BUCKETS];
};

struct sampling sampling_greedy(void) {
    return (struct sampling){.top_p = 1, .repetition = 1};
}

struct sampler *sampler_make(int64_t vocab) {
    struct sampler *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->vocab = vocab;
    s->blocks = scan_blocks(vocab);
    s->place = calloc((size_t)vocab + 1, sizeof *s->place);
    s->changes = calloc((size_t)vocab + 1, sizeof *s->changes);
    s->away = calloc((size_t)vocab + 1, sizeof *s->away);
    s->shares = calloc((size_t)s->blocks * SCAN_BLOCK + 1, sizeof *s->shares);
    s->highest = calloc((size_t)s->blocks + 1, sizeof *s->highest);
    s->sums = calloc((size_t)s->blocks + 1, sizeof *s->sums);
    if (s->place && s->changes && s->away && s->shares && s->highest && s->sums) return s;
    sampler_free(s);
    return NULL;
}

void sampler_free(struct sampler *s) {
    if (!s) return;
    free(s->place);
    free(s->changes);
    free(s->away);
    free(s->shares);
    free(s->highest);
    free(s->sums);
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
    size_t n = 0, window = p->window > 0 ? (size_t)p->window : h->n;
    size_t first = h->n > window ? h->n - window : 0;
    for (size_t i = 0; i < p->nbias; i++)
        change_of(s, &n, p->bias[i].id)->add += p->bias[i].bias;
    for (int i = 0; i < h->nnever; i++)
        if (h->never[i] >= 0 && h->never[i] < s->vocab)
            change_of(s, &n, h->never[i])->add = -INFINITY;
    for (size_t i = first; i < h->n && p->repetition != 1; i++) {
        struct change *c = change_of(s, &n, h->ids[i]);
        c->above = (float)(1 / p->repetition);
        c->below = (float)p->repetition;
    }
    for (size_t i = first > h->prompt ? first : h->prompt; i < h->n && counted; i++)
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

static int32_t likeliest(const float *logits, int64_t vocab, float *highest) {
    int64_t best = scan_highest(logits, vocab, highest);
    return best >= 0 && fabsf(logits[best]) <= MOST ? (int32_t)best : -1;
}

int32_t sampler_likeliest(const float *logits, int64_t vocab) {
    return likeliest(logits, vocab, NULL);
}

/* ---- drawing ---- */

static const char *order_of(const struct sampling *p) {
    return *p->order ? p->order : "tmkp";
}

/* Does A come before B? */
static bool precedes(const struct sampling *p, char a, char b) {
    const char *order = order_of(p), *at = strchr(order, a), *before = strchr(order, b);
    return at && before && at < before;
}

/* A distance is a limit whenever it is looked at: only where top_p stands among the others counts,
 * and which shares min_p means. */
static bool is_apart(const struct sampling *p) {
    bool heats = p->temperature != 1 && precedes(p, 'p', 't');
    bool cuts = (p->top_k > 0 && precedes(p, 'p', 'k')) || (p->min_p > 0 && precedes(p, 'p', 'm'));
    return p->top_p < 1 && (heats || cuts);
}

struct drawing sampler_drawing(const struct sampling *p, int64_t vocab, size_t generated) {
    /* A share below exp(-87) is no normal number of 32 bits. */
    const float most_cold = 1e30f, farthest = FARTHEST;
    struct drawing d = {.far = farthest, .top_p = (float)p->top_p, .top_k = vocab};
    if (p->temperature > 0) d.cold = (float)fmin(1 / p->temperature, most_cold);
    double far = p->min_p > 0 ? -log(p->min_p) : FARTHEST;
    if (precedes(p, 'm', 't') && p->temperature > 0) far *= (double)d.cold;
    if (far < FARTHEST) d.far = (float)far;
    d.apart = d.cold > 0 && is_apart(p);
    if (p->top_k > 0 && p->top_k < vocab) d.top_k = p->top_k;
    d.uniform = uniform(p->seed, generated);
    return d;
}

static void sift(float *heap, int64_t n, int64_t i) {
    for (;;) {
        int64_t child = 2 * i + 1, best = i;
        for (int64_t c = child; c < child + 2 && c < n; c++)
            if (heap[c] < heap[best]) best = c;
        if (best == i) return;
        float swap = heap[i];
        heap[i] = heap[best];
        heap[best] = swap;
        i = best;
    }
}

static void make_heap(float *heap, int64_t n) {
    for (int64_t i = n / 2; i-- > 0;)
        sift(heap, n, i);
}

/* The least of N, which is taken out. */
static float pop(float *heap, int64_t n) {
    float least = heap[0];
    heap[0] = heap[n - 1];
    sift(heap, n - 1, 0);
    return least;
}

static float pop_many(float *heap, int64_t n, int64_t many) {
    float last = 0;
    make_heap(heap, n);
    for (int64_t i = 0; i < many; i++)
        last = pop(heap, n - i);
    return last;
}

static int64_t end_of(const struct sampler *s, int64_t block) {
    int64_t end = (block + 1) * SCAN_BLOCK;
    return end < s->vocab ? end : s->vocab;
}

/* How far away the MOSTth is. As many blocks have one that is no further away than the MOSTth of
 * the nearest of each block, so only what is no further away than that is looked at. */
static float reach_many(struct sampler *s, const float *logits, float from, int64_t most) {
    float bound = INFINITY;
    int64_t n = 0;
    for (int64_t b = 0; b < s->blocks; b++)
        s->away[b] = from - s->highest[b];
    if (most <= s->blocks) bound = pop_many(s->away, s->blocks, most);
    for (int64_t b = 0; b < s->blocks; b++)
        for (int64_t i = b * SCAN_BLOCK; from - s->highest[b] <= bound && i < end_of(s, b); i++)
            if (from - logits[i] <= bound) s->away[n++] = from - logits[i];
    return pop_many(s->away, n, most);
}

/* The shares of those within the limits; their sum. */
static double weigh(struct sampler *s, const float *logits, const struct scan_limits *l) {
    double total = 0;
    for (int64_t b = 0; b < s->blocks; b++) {
        int64_t at = b * SCAN_BLOCK;
        bool near = scan_is_near(l, s->highest[b]);
        s->sums[b] = near ? scan_shares(logits + at, end_of(s, b) - at, l, s->shares + at) : 0;
        total += s->sums[b];
    }
    return total;
}

static int bucket_of(float away, const struct scan_limits *l) {
    float at = away * l->cold * PER_E;
    return (int)(at < BUCKETS - 1 ? at : BUCKETS - 1);
}

/* Of blocks that have a share of at least LEAST: puts each share into its bucket. */
static void fill_buckets(struct sampler *s, const float *logits, const struct scan_limits *l,
                         double least) {
    memset(s->mass, 0, sizeof s->mass);
    for (int64_t b = 0; b < s->blocks; b++)
        for (int64_t i = b * SCAN_BLOCK; s->sums[b] >= least && i < end_of(s, b); i++)
            s->mass[bucket_of(l->from - logits[i], l)] += (double)s->shares[i];
}

/* Puts how far away those of a bucket are into the heap; how many. */
static int64_t take_bucket(struct sampler *s, const float *logits, const struct scan_limits *l,
                           double least, int bucket) {
    int64_t n = 0;
    for (int64_t b = 0; b < s->blocks; b++)
        for (int64_t i = b * SCAN_BLOCK; s->sums[b] >= least && i < end_of(s, b); i++)
            if (bucket_of(l->from - logits[i], l) == bucket && s->shares[i] > 0)
                s->away[n++] = l->from - logits[i];
    make_heap(s->away, n);
    return n;
}

/* How far away the one is with which the likeliest have a share of TOP_P of TOTAL. Blocks that have
 * too little to come to the rest of it, were they all, have only what lies further away. */
static float reach_share(struct sampler *s, const float *logits, const struct scan_limits *l,
                         double top_p, double total) {
    const double careful = 0.5; /* sums are rounded */
    double least = fmax(careful * (1 - top_p) * total / (double)s->vocab, 0x1p-126);
    double need = top_p * total, sum = 0;
    int bucket = 0;
    fill_buckets(s, logits, l, least);
    for (; bucket < BUCKETS && (s->mass[bucket] <= 0 || sum + s->mass[bucket] < need); bucket++)
        sum += s->mass[bucket];
    if (bucket == BUCKETS) return l->most;
    float away = l->most;
    int64_t n = take_bucket(s, logits, l, least, bucket);
    for (bool first = true; n > 0 && (first || sum < need); n--, first = false) {
        away = pop(s->away, n);
        sum += exp(-(double)(away * l->cold));
    }
    return away;
}

/* The first with which the shares are more than AT, which is less than their sum. */
static int32_t find(const struct sampler *s, double at) {
    double sum = 0;
    int64_t b = 0, found = -1;
    while (b < s->blocks - 1 && sum + s->sums[b] <= at)
        sum += s->sums[b++];
    for (int64_t i = b * SCAN_BLOCK; i < end_of(s, b) && (found < 0 || sum <= at); i++) {
        if (s->shares[i] <= 0) continue;
        found = i;
        sum += (double)s->shares[i];
    }
    return (int32_t)found;
}

static int32_t draw(struct sampler *s, const struct drawing *d, const float *logits, int32_t best) {
    struct scan_limits l = {logits[best], INFINITY, d->cold, d->far};
    if (d->top_k < s->vocab) l.most = reach_many(s, logits, l.from, d->top_k);
    double total = weigh(s, logits, &l);
    if (d->top_p < 1) {
        l.most = reach_share(s, logits, &l, (double)d->top_p, total);
        total = weigh(s, logits, &l);
    }
    return find(s, (double)d->uniform * total);
}

/* One after the other. */
static int32_t draw_in_order(struct sampler *s, const struct sampling *p, const struct drawing *d,
                             const float *logits, int32_t best) {
    struct scan_limits l = {logits[best], INFINITY, 1, FARTHEST};
    for (const char *c = order_of(p); *c; c++) {
        float most = INFINITY;
        if (*c == 't') l.cold = d->cold;
        if (*c == 'k' && d->top_k < s->vocab) most = reach_many(s, logits, l.from, d->top_k);
        if (*c == 'm' && p->min_p > 0) most = (float)(-log(p->min_p) / (double)l.cold);
        if (*c == 'p' && p->top_p < 1)
            most = reach_share(s, logits, &l, p->top_p, weigh(s, logits, &l));
        if (most < l.most) l.most = most;
    }
    return find(s, (double)d->uniform * weigh(s, logits, &l));
}

int32_t sampler_next(struct sampler *s, const struct sampling *p, const struct history *h,
                     float *logits) {
    const struct change *changes;
    size_t n = sampler_changes(s, p, h, &changes);
    for (size_t i = 0; i < n; i++)
        apply(&changes[i], &logits[changes[i].id]);
    int32_t best = likeliest(logits, s->vocab, s->highest);
    struct drawing d = sampler_drawing(p, s->vocab, h->n - h->prompt);
    if (best < 0 || d.cold <= 0) return best;
    return d.apart ? draw_in_order(s, p, &d, logits, best) : draw(s, &d, logits, best);
}

/* ---- how likely tokens were ---- */

int sampler_logprobs(struct sampler *s, const float *logits, int32_t id, int top,
                     float *out_logprob, struct likelihood *out_top) {
    int64_t best = scan_highest(logits, s->vocab, s->highest);
    int n = 0;
    *out_logprob = NAN;
    if (best < 0) return 0;
    struct scan_limits l = {logits[best], INFINITY, 1, FARTHEST};
    double log_total = log(weigh(s, logits, &l)) + (double)l.from;
    *out_logprob = (float)((double)logits[id] - log_total);
    for (int64_t i = 0; i < s->vocab && top > 0; i++) {
        float high = (float)((double)s->highest[i / SCAN_BLOCK] - log_total);
        if (n == top && !(high > out_top[n - 1].logprob)) {
            i += SCAN_BLOCK - 1 - i % SCAN_BLOCK; /* the next block */
            continue;
        }
        float logprob = (float)((double)logits[i] - log_total);
        if (n == top && !(logprob > out_top[n - 1].logprob)) continue;
        int at = n < top ? n++ : n - 1;
        for (; at > 0 && logprob > out_top[at - 1].logprob; at--)
            out_top[at] = out_top[at - 1];
        out_top[at] = (struct likelihood){(int32_t)i, logprob};
    }
    return n;
}
