/* test_sampler KERNEL WEIGHTS [--every]: tokens that a launch chooses are those that the sampler
 * here chooses from the same logits with the same numbers, alone and with others; and the sampler's
 * are as likely as its parameters say, and those of its definition, worked out another way. KERNEL
 * is a table of logits, of which every row is looked at with --every; it may choose the likeliest
 * alone. */
#include "examples/llm/engine/lm.h"
#include "examples/llm/engine/sampler.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCHES = 24, SAID = 40, MAX_ROWS = 16, MAX_BIAS = 3 };

_Noreturn static void die(const char *what, const char *detail) {
    fprintf(stderr, "test_sampler: %s %s\n", what, detail);
    exit(1);
}

static uint64_t state = 88172645463325252u;
static uint64_t random_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 11;
}
static int64_t below(int64_t n) {
    return (int64_t)(random_bits() % (uint64_t)n);
}
static double between(double lo, double hi) {
    return lo + (hi - lo) * (double)below(1 << 20) / (1 << 20);
}

/* A row of a launch. */
struct wish {
    struct sampling p;
    struct logit_bias bias[MAX_BIAS];
    int32_t said[SAID];
    struct history h;
    bool masked;
    float *mask;
    int64_t pick; /* -1: the host draws, in an order of its own */
    int32_t got;
};
static int64_t orders[2]; /* how often the device's order served, and did not */
static int64_t ties[2];   /* and how often it chose, and left it to the host */

/* In any order. */
static void draw_order(struct sampling *p) {
    strcpy(p->order, "tkpm");
    for (int64_t i = 3; i > 0; i--) {
        int64_t k = below(i + 1);
        char c = p->order[i];
        p->order[i] = p->order[k];
        p->order[k] = c;
    }
}

static void draw_sampling(struct wish *w, int64_t vocab) {
    static const int64_t few[] = {0, 1, 2, 7, 50, 71, 72, 300};
    struct sampling *p = &w->p;
    *p = sampling_greedy();
    p->seed = random_bits();
    if (below(4)) p->temperature = below(6) ? between(0.1, 3) : 0.001;
    if (below(2)) p->top_k = few[below(8)];
    if (below(2)) p->top_p = below(5) ? between(0.01, 1) : 0;
    if (below(3) == 0) p->min_p = between(0, 1);
    if (below(3) == 0) p->repetition = between(0.5, 2);
    if (below(3) == 0) p->frequency = between(-2, 2);
    if (below(3) == 0) p->presence = between(-2, 2);
    if (below(3) == 0) p->window = 1 + below(2 * SAID);
    if (below(2)) draw_order(p);
    p->bias = w->bias;
    for (size_t i = p->nbias = (size_t)below(MAX_BIAS + 1); i-- > 0;)
        w->bias[i] = (struct logit_bias){(int32_t)below(vocab), (float)between(-10, 10)};
}

static void draw_wish(struct wish *w, int64_t vocab, const int32_t *never) {
    draw_sampling(w, vocab);
    for (int i = 0; i < SAID; i++)
        w->said[i] = (int32_t)below(below(2) ? vocab : 12);
    w->h = (struct history){w->said, (size_t)below(SAID), SAID, never, below(4) == 0 ? 2 : 0};
    w->masked = below(3) == 0;
    if (below(20) == 0 && w->p.nbias && !w->masked) w->bias[0].bias = below(2) ? NAN : INFINITY;
    int64_t share = 1 + below(20);
    for (int64_t i = 0; i < vocab; i++)
        w->mask[i] = below(share) == 0 ? 0 : -INFINITY;
    if (below(30) == 0)
        for (int64_t i = 0; i < vocab; i++)
            w->mask[i] = -INFINITY; /* nothing may come */
}

static void ask(struct lm *lm, struct sampler *s, struct wish *w, int32_t token) {
    const struct change *changes;
    struct drawing d = sampler_drawing(&w->p, lm->vocab, w->h.n - w->h.prompt);
    size_t n = sampler_changes(s, &w->p, &w->h, &changes);
    int64_t row = lm_ask(lm, lm_add(lm, token, 0, 0));
    w->pick = lm_pick(lm, row, &d, changes, n, w->masked ? w->mask : NULL);
    if ((w->pick < 0) != (d.apart && lm->picks.all)) die("not taken, or in another order", "");
    orders[d.apart]++;
}

static void launch(struct lm *lm) {
    char err[LLM_ERR];
    if (lm_run(lm->kernel, err) != LM_DONE) die("launch:", err);
}

static int32_t here(struct lm *lm, struct sampler *s, const struct wish *w, const float *logits) {
    float *row = malloc((size_t)lm->vocab * sizeof *row);
    if (!row) die("no memory", "");
    for (int64_t i = 0; i < lm->vocab; i++)
        row[i] = w->masked && w->mask[i] < 0 ? -INFINITY : logits[i];
    int32_t id = sampler_next(s, &w->p, &w->h, row);
    free(row);
    return id;
}

/* Does it not know, since too many are as likely as the last one it looked at? */
static bool is_tied(int32_t got) {
    ties[got == LM_TIED]++;
    return got == LM_TIED;
}

/* The row of each token, as the kernel alone chooses. */
static void every_row(struct lm *lm, struct sampler *s, struct wish *w) {
    const int32_t never[] = {3, 5};
    int64_t most = lm->max_tokens < MAX_ROWS ? lm->max_tokens : MAX_ROWS, none = 0;
    lm->by_row = false;
    for (int64_t from = 0; from < lm->vocab; from += most) {
        int64_t rows = lm->vocab - from < most ? lm->vocab - from : most;
        for (int64_t i = 0; i < rows; i++) {
            draw_wish(&w[i], lm->vocab, never);
            if (!lm->picks.all) {
                w[i].p = sampling_greedy();
                w[i].h.n = w[i].h.prompt = 0;
                w[i].h.nnever = 0;
                w[i].masked = false;
            }
            ask(lm, s, &w[i], (int32_t)(from + i));
        }
        launch(lm);
        for (int64_t i = 0; i < rows; i++) {
            int32_t want = here(lm, s, &w[i], lm->logits + i * lm->vocab);
            if (w[i].pick < 0) continue;
            w[i].got = lm_chosen(lm, w[i].pick);
            none += want < 0;
            if (is_tied(w[i].got)) continue;
            if (w[i].got != want) {
                fprintf(stderr, "token %d: %d and not %d\n", (int)(from + i), (int)w[i].got,
                        (int)want);
                die("another token of an odd row", "");
            }
        }
    }
    if (!none || none == lm->vocab) die("all rows alike", "");
}

/* Each row of a launch, and some of them again, alone and without their logits. */
static void compare(struct lm *lm, struct sampler *s, struct wish *w) {
    const int32_t never[] = {3, 5};
    int32_t tokens[MAX_ROWS];
    int64_t rows = 1 + below(lm->max_tokens < MAX_ROWS ? lm->max_tokens : MAX_ROWS);
    lm->by_row = false;
    for (int64_t i = 0; i < rows; i++) {
        tokens[i] = (int32_t)below(lm->vocab);
        draw_wish(&w[i], lm->vocab, never);
        ask(lm, s, &w[i], tokens[i]);
    }
    launch(lm);
    for (int64_t i = 0; i < rows; i++) {
        int32_t want = here(lm, s, &w[i], lm->logits + i * lm->vocab);
        if (w[i].pick < 0) continue;
        w[i].got = lm_chosen(lm, w[i].pick);
        if (is_tied(w[i].got) || w[i].got == want) continue;
        fprintf(stderr, "token %d: %d and not %d: %g top_k %lld top_p %g min_p %g mask %d\n",
                (int)tokens[i], (int)w[i].got, (int)want, w[i].p.temperature,
                (long long)w[i].p.top_k, w[i].p.top_p, w[i].p.min_p, w[i].masked);
        die("another token", "");
    }
    lm->by_row = true;
    int64_t i = below(rows);
    if (w[i].pick < 0) return;
    ask(lm, s, &w[i], tokens[i]);
    launch(lm);
    if (lm_chosen(lm, w[i].pick) != w[i].got) die("another token alone", "");
    if (lm->read != (int64_t)sizeof(int32_t)) die("more than a token is read", "");
}

/* How often each token comes for numbers that are spread evenly, and how often it should. */
static int by_logit(const void *a, const void *b) {
    const struct likelihood *x = a, *y = b;
    return x->logprob < y->logprob ? 1 : x->logprob > y->logprob ? -1 : x->id - y->id;
}

/* Share of each after what is cut away, one after the other. */
static void expect(const struct sampling *p, const float *logits, int n, double *out) {
    struct likelihood *all = malloc((size_t)n * sizeof *all);
    double heat = 1, sum;
    int kept = n;
    if (!all) die("no memory", "");
    for (int i = 0; i < n; i++)
        all[i] = (struct likelihood){i, logits[i]};
    qsort(all, (size_t)n, sizeof *all, by_logit);
#define SHARE(i) exp((all[i].logprob - all[0].logprob) / heat)
    for (const char *c = *p->order ? p->order : "tmkp"; *c; c++) {
        int last = 0;
        sum = 0;
        for (int i = 0; i < kept; i++)
            sum += SHARE(i);
        double most = sum * p->top_p;
        if (*c == 't') heat = p->temperature;
        if (*c == 'k' && p->top_k && p->top_k < kept) kept = (int)p->top_k;
        while (*c == 'm' && kept > 1 && SHARE(kept - 1) < p->min_p)
            kept--;
        for (sum = 0; *c == 'p' && last < kept && (!last || sum < most); last++)
            sum += SHARE(last);
        if (*c == 'p') kept = last;
    }
    sum = 0;
    for (int i = 0; i < kept; i++)
        sum += SHARE(i);
    memset(out, 0, (size_t)n * sizeof *out);
    for (int i = 0; i < kept; i++)
        out[all[i].id] = SHARE(i) / sum;
#undef SHARE
    free(all);
}

static void check_shares(void) {
    enum { N = 30, TRIES = 40000 };
    struct sampler *s = sampler_make(N);
    if (!s) die("no memory", "");
    for (int round = 0; round < 24; round++) {
        float logits[N], row[N];
        double want[N];
        int count[N] = {0};
        struct history h = {0};
        struct sampling p = sampling_greedy();
        p.temperature = between(0.3, 2);
        p.top_k = round % 3 ? 1 + below(N) : 0;
        p.top_p = round % 2 ? between(0.2, 1) : 1;
        p.min_p = round % 4 ? 0 : between(0, 0.3);
        if (round >= 12) draw_order(&p);
        for (int i = 0; i < N; i++)
            logits[i] = (float)between(-4, 4);
        expect(&p, logits, N, want);
        for (p.seed = 0; p.seed < TRIES; p.seed++) {
            memcpy(row, logits, sizeof row);
            count[sampler_next(s, &p, &h, row)]++;
        }
        for (int i = 0; i < N; i++) {
            double spread = sqrt(want[i] * (1 - want[i]) * TRIES);
            if (fabs(count[i] - want[i] * TRIES) > 5 * spread + 0.5) die("shares are wrong", "");
        }
    }
    sampler_free(s);
}

/* ---- long rows, against the definition of struct drawing word by word ---- */

static double share_at(const struct drawing *d, float away) {
    return away * d->cold <= d->far ? exp(-(double)(away * d->cold)) : 0;
}

/* How many of ALL, the likeliest first, are kept: those up to the LAST one and its equals. */
static int with_equals(const struct likelihood *all, int n, int last) {
    while (last < n && all[last].logprob == all[last - 1].logprob)
        last++;
    return last;
}

static int32_t by_definition(const struct drawing *d, const float *logits, int n) {
    struct likelihood *all = malloc((size_t)n * sizeof *all);
    double sum = 0, total = 0;
    int kept, last = 0;
    int32_t id = -1;
    if (!all) die("no memory", "");
    for (int i = 0; i < n; i++)
        all[i] = (struct likelihood){i, logits[i]};
    qsort(all, (size_t)n, sizeof *all, by_logit);
    float best = all[0].logprob;
    kept = d->cold > 0 ? with_equals(all, n, (int)d->top_k) : 1;
    for (int i = 0; i < kept; i++)
        total += share_at(d, best - all[i].logprob);
    for (; last < kept && (!last || d->top_p >= 1 || sum < (double)d->top_p * total); last++)
        sum += share_at(d, best - all[last].logprob);
    last = d->cold > 0 ? with_equals(all, n, last) : 1;
    float least = all[last - 1].logprob;
    for (total = 0, kept = 0; kept < last; kept++)
        total += share_at(d, best - all[kept].logprob);
    for (kept = 0, sum = 0; kept < n && (id < 0 || sum <= d->uniform * total); kept++) {
        if (logits[kept] < least || share_at(d, best - logits[kept]) <= 0) continue;
        sum += share_at(d, best - logits[kept]);
        id = kept;
    }
    if (d->cold <= 0) id = all[0].id;
    if (best == -INFINITY) id = -1; /* nothing may come */
    free(all);
    return id;
}

/* A bell, steps with many equals, half of it forbidden, or all the same. */
static void draw_logits(float *row, int n, int round) {
    double wide = between(0.1, 8);
    for (int i = 0; i < n; i++) {
        double x = wide * (between(-1, 1) + between(-1, 1) + between(-1, 1));
        row[i] = (float)x;
        if (round % 4 == 1) row[i] = (float)(floor(x * 2) / 2);
        if (round % 4 == 2 && below(2)) row[i] = -INFINITY;
        if (round % 40 == 3) row[i] = 0.25F;
    }
}

static void check_long_rows(void) {
    enum { MOST = 20011, ROUNDS = 240 };
    float *row = malloc(MOST * sizeof *row);
    struct history h = {0};
    if (!row) die("no memory", "");
    for (int round = 0; round < ROUNDS; round++) {
        int n = round % 8 ? 1 + (int)below(900) : MOST;
        struct wish w;
        struct sampler *s = sampler_make(n);
        if (!s) die("no memory", "");
        draw_sampling(&w, n);
        w.p.repetition = 1;
        w.p.frequency = w.p.presence = 0;
        w.p.nbias = 0;
        *w.p.order = 0;
        if (round % 5 == 0) w.p.top_k = 1 + below(n);
        draw_logits(row, n, round);
        struct drawing d = sampler_drawing(&w.p, n, 0);
        int32_t want = by_definition(&d, row, n), got = sampler_next(s, &w.p, &h, row);
        if (got != want) {
            fprintf(stderr, "row %d of %d: %d and not %d\n", round, n, (int)got, (int)want);
            die("another token than the definition's", "");
        }
        row[below(n)] = NAN;
        if (sampler_next(s, &w.p, &h, row) != -1) die("not a number", "and a token");
        sampler_free(s);
    }
    free(row);
}

int main(int argc, char **argv) {
    struct lm_kernel kernel;
    struct lm *lm;
    char err[LLM_ERR];
    struct wish *w = calloc(MAX_ROWS, sizeof *w);
    bool every = argc == 4 && !strcmp(argv[3], "--every");
    if (argc != 3 && !every) die("usage:", "test_sampler KERNEL WEIGHTS [--every]");
    if (!every) check_shares();
    if (!every) check_long_rows();
    if (!w || !lm_open_only(&kernel, argv[1], argv[2], "auto", 0, &lm, err)) die("open:", err);
    struct sampler *s = sampler_make(lm->vocab);
    for (int i = 0; i < MAX_ROWS; i++)
        w[i].mask = calloc((size_t)lm->vocab, sizeof *w[i].mask);
    if (s && every) every_row(lm, s, w);
    for (int i = 0; s && !every && i < LAUNCHES; i++)
        compare(lm, s, w);
    if (s && !every && lm->picks.all && (!orders[0] || !orders[1])) die("one order alone", "");
    if (ties[1] > ties[0] / 4) die("it seldom knows", "");
    for (int i = 0; i < MAX_ROWS; i++)
        free(w[i].mask);
    sampler_free(s);
    lm_close(&kernel);
    free(w);
    return 0;
}
