#include "examples/llm/feed.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Row i of a launch is of this token. */
struct place {
    int64_t sequence, position;
};

/* Sequences that run together, from FIRST on. */
struct group {
    int64_t first, count;
    int64_t *fed; /* tokens of each */
    struct place *places;
    int32_t *list; /* pages of one sequence */
};

static bool has_room(const struct lm *lm) {
    return lm->n < lm->max_tokens && lm_rows_left(lm) > 0;
}

/* Up to ->chunk tokens of every sequence, as many as fit in a launch. */
static void fill(struct feed *f, struct group *g) {
    int64_t chunk = f->chunk ? f->chunk : INT64_MAX;
    for (int64_t i = 0; i < g->count; i++) {
        int64_t sequence = g->first + i, length = f->length(f->user, sequence);
        for (int64_t k = 0; k < chunk && g->fed[i] < length && has_room(f->lm); k++, g->fed[i]++) {
            int32_t token = f->token(f->user, sequence, g->fed[i]);
            int64_t row = lm_ask(f->lm, lm_add(f->lm, token, g->fed[i], i));
            g->places[row] = (struct place){sequence, g->fed[i]};
        }
    }
}

/* Pages in turn, as many as each sequence fills. False: there are not so many. */
static bool deal(struct feed *f, struct group *g, int64_t count) {
    int32_t next = 0;
    for (int64_t i = 0; f->lm->page && i < count; i++) {
        int64_t length = f->length(f->user, g->first + i);
        int64_t pages = (length + f->lm->page - 1) / f->lm->page;
        if (next + pages > f->lm->pages) return false;
        for (int64_t k = 0; k < pages; k++)
            g->list[k] = next++;
        lm_deal(f->lm, i, g->list, pages);
    }
    return true;
}

/* How many sequences from FIRST on can run together. */
static int64_t group_size(struct feed *f, struct group *g) {
    int64_t batch = f->batch && f->batch < f->lm->slots ? f->batch : f->lm->slots;
    int64_t left = f->count - g->first, count = left < batch ? left : batch;
    while (count > 1 && !deal(f, g, count))
        count--;
    return count;
}

static bool run_group(struct feed *f, struct group *g, char *err) {
    if (!lm_reset(f->lm->kernel, err)) return false;
    deal(f, g, g->count);
    for (int64_t i = 0; i < g->count; i++)
        g->fed[i] = 0;
    for (;;) {
        fill(f, g);
        int64_t n = f->lm->n;
        if (!n) return true;
        double start = lm_now();
        if (lm_run(f->lm->kernel, err) != LM_DONE) return false;
        f->seconds += lm_now() - start;
        f->launches++;
        f->tokens += n;
        for (int64_t i = 0; i < n; i++)
            f->row(f->user, g->places[i].sequence, g->places[i].position,
                   f->lm->logits + i * f->lm->vocab);
    }
}

bool feed_run(struct feed *f, char *err) {
    struct group g = {
        .fed = calloc((size_t)f->lm->slots + 1, sizeof *g.fed),
        .places = calloc((size_t)f->lm->max_tokens + 1, sizeof *g.places),
        .list = calloc((size_t)f->lm->row + 1, sizeof *g.list),
    };
    bool ok = (g.fed && g.places && g.list) || llm_fail(err, "out of memory");
    for (; ok && g.first < f->count; g.first += g.count) {
        g.count = group_size(f, &g);
        ok = run_group(f, &g, err);
    }
    free(g.fed);
    free(g.places);
    free(g.list);
    return ok;
}

void feed_tell(const struct feed *f) {
    const etrt_device *d = f->lm->kernel->device;
    fprintf(stderr, "etllm: %s: %" PRId64 " tokens in %" PRId64 " launches at %.1f tokens/s%s\n",
            etrt_device_name(d), f->tokens, f->launches,
            f->seconds > 0 ? (double)f->tokens / f->seconds : 0,
            etrt_device_is_emulated(d) ? " (emulated: no GPU was used)" : "");
}
