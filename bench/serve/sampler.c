/* etsampler [VOCABULARY [ROWS]]: microseconds that the server's sampler takes for a row of logits
 * on one core, by what a request asks for, and the tokens it gives as one number, by which two
 * builds of it can be told to give the same. Logits as a model has them that knows how the text
 * goes on (sure), and as one that does not (unsure): a bell, and over it some that stand out. */
#include "examples/llm/engine/sampler.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAID = 512 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static uint64_t state = 88172645463325252u;
static double random_unit(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 12) + 0.5) * 0x1p-52;
}

static void make_row(float *row, int64_t vocab, bool sure) {
    const double turn = 6.283185307179586;
    for (int64_t i = 0; i < vocab; i++)
        row[i] = (float)(2.3 * sqrt(-2 * log(random_unit())) * cos(turn * random_unit()));
    for (int i = 0; i < 300; i++)
        row[(int64_t)(random_unit() * (double)vocab)] +=
            (float)((sure ? -2.5 : -1) * log(random_unit()));
    if (sure) row[(int64_t)(random_unit() * (double)vocab)] += 18;
}

struct kind {
    const char *name;
    struct sampling p;
    int top; /* logprobs of so many; -1: none */
};
#define SAMPLING(...)                                                                              \
    { .top_p = 1, .repetition = 1, .seed = 1, __VA_ARGS__ }

static const struct kind kinds[] = {
    {"greedy", SAMPLING(.temperature = 0), -1},
    {"greedy, log probabilities of 5", SAMPLING(.temperature = 0), 5},
    {"greedy, repetition 1.1, presence 0.5",
     {.top_p = 1, .repetition = 1.1, .presence = 0.5, .seed = 1},
     -1},
    {"temperature 1", SAMPLING(.temperature = 1), -1},
    {"temperature 0.6, top_k 20, top_p 0.95",
     {.temperature = 0.6, .top_k = 20, .top_p = 0.95, .repetition = 1, .seed = 1},
     -1},
    {"temperature 1, top_k 50", SAMPLING(.temperature = 1, .top_k = 50), -1},
    {"temperature 1, top_p 0.9", {.temperature = 1, .top_p = 0.9, .repetition = 1, .seed = 1}, -1},
    {"temperature 1, min_p 0.05", SAMPLING(.temperature = 1, .min_p = 0.05), -1},
};

/* Microseconds a row; its logits are copied before, since the sampler changes them. */
static double sample(struct sampler *s, struct kind kind, const float *rows, int64_t vocab, int n,
                     const int32_t *said, uint64_t *tokens) {
    float *row = malloc((size_t)vocab * sizeof *row);
    double spent = 0;
    struct history h = {said, SAID / 2, SAID, NULL, 0};
    for (int i = 0; row && i < n; i++) {
        struct likelihood top[MAX_TOP_LOGPROBS];
        float logprob;
        memcpy(row, rows + i * vocab, (size_t)vocab * sizeof *row);
        kind.p.seed++;
        double began = now();
        int32_t id = sampler_next(s, &kind.p, &h, row);
        if (kind.top >= 0 && id >= 0)
            sampler_logprobs(s, rows + i * vocab, id, kind.top, &logprob, top);
        spent += now() - began;
        *tokens = (*tokens ^ (uint64_t)(uint32_t)id) * 0x100000001b3u;
    }
    free(row);
    return spent / n;
}

int main(int argc, char **argv) {
    int64_t vocab = argc > 1 ? strtoll(argv[1], NULL, 10) : 151936;
    int n = argc > 2 ? atoi(argv[2]) : 32;
    struct sampler *s = vocab > 0 && n > 0 ? sampler_make(vocab) : NULL;
    float *rows = s ? calloc((size_t)n * (size_t)vocab, sizeof *rows) : NULL;
    int32_t said[SAID];
    if (!rows) {
        fprintf(stderr, "usage: etsampler [VOCABULARY [ROWS]]\n");
        return 2;
    }
    for (int i = 0; i < SAID; i++)
        said[i] = (int32_t)(random_unit() * (double)vocab);
    printf(
        "| a row of %lld, us on one core | sure | unsure | tokens |\n| --- | --- | --- | --- |\n",
        (long long)vocab);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        uint64_t tokens = 0xcbf29ce484222325u;
        printf("| %s |", kinds[k].name);
        for (int sure = 1; sure >= 0; sure--) {
            for (int i = 0; i < n; i++)
                make_row(rows + i * vocab, vocab, sure);
            printf(" %.0f |", sample(s, kinds[k], rows, vocab, n, said, &tokens));
        }
        printf(" %016llx |\n", (unsigned long long)tokens);
    }
    free(rows);
    sampler_free(s);
    return 0;
}
