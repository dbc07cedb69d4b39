/* embed.c - vectors of texts, and scores of texts for a query. */
#include "examples/llm/base/error.h"
#include "examples/llm/engine/engine.h"
#include "examples/llm/engine/lm.h"
#include "examples/llm/options.h"
#include "examples/llm/tokenizer/tokenizer.h"
#include "examples/llm/vectors/vectors.h"
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 1024 }; /* texts that are read before the first of them is written */

/* A text, and what the model gives of it. The engine's thread adds that. */
struct item {
    struct run *run;
    struct ids ids;
    size_t second;
    float *values;
    bool done;
    char why[LLM_ERR]; /* it failed; "": it did not */
};

struct run {
    const struct options *o;
    struct engine *engine;
    struct engine_sizes sizes;
    struct tokenizer *tokenizer;
    struct vectors *vectors;
    const char *prompt;
    int64_t most;  /* tokens of a text */
    FILE *from;    /* a text a line; NULL: they are arguments */
    int64_t taken; /* texts that were read */
    pthread_mutex_t lock;
    pthread_cond_t news;
};

/* ---- in the engine's thread ---- */

static void take_vector(void *user, const float *values, int64_t width) {
    struct item *t = user;
    t->values = malloc((size_t)width * sizeof *values);
    if (t->values)
        memcpy(t->values, values, (size_t)width * sizeof *values);
    else
        llm_fail(t->why, "out of memory");
}

static void take_end(void *user, const struct engine_result *result) {
    struct item *t = user;
    pthread_mutex_lock(&t->run->lock);
    t->done = true;
    if (result->end != ENGINE_LENGTH && !*t->why)
        llm_fail(t->why, "%s", result->why ? result->why : "it was given up");
    pthread_cond_signal(&t->run->news);
    pthread_mutex_unlock(&t->run->lock);
}

/* ---- one text ---- */

static void item_free(struct item *t) {
    free(t->ids.v);
    free(t->values);
    *t = (struct item){0};
}

/* Into ids, of no more tokens than the model takes. */
static bool encode(struct run *r, struct item *t, const char *text, size_t bytes, char *err) {
    size_t most = (size_t)r->most, cut = r->o->truncate ? most : SIZE_MAX;
    const struct vectors_pair pair = {r->o->query, text, r->o->query ? strlen(r->o->query) : 0,
                                      bytes};
    t->second = SIZE_MAX;
    bool ok = r->o->query ? vectors_pair(r->vectors, r->tokenizer, r->prompt, &pair, cut, &t->ids,
                                         &t->second, err)
                          : vectors_text(r->tokenizer, r->prompt, text, bytes, cut, &t->ids, err);
    if (ok && t->ids.n > most)
        return llm_fail(err,
                        "it has %zu tokens, the model takes %zu (--truncate leaves out the "
                        "rest)",
                        t->ids.n, most);
    return ok;
}

static bool submit(struct run *r, struct item *t, const char *text, size_t bytes) {
    char err[LLM_ERR], what[32];
    uint64_t id;
    t->run = r;
    snprintf(what, sizeof what, "text %lld", (long long)r->taken + 1);
    if (!encode(r, t, text, bytes, err)) return llm_complain("%s: %s", what, err);
    warn_dropped(what, &t->ids);
    struct engine_job job = {.prompt = t->ids.v, .n = t->ids.n, .top = -1, .vector = true};
    job.second = t->second;
    job.sampling = sampling_greedy();
    job.sink = (struct engine_sink){.user = t, .vector = take_vector, .end = take_end};
    if (engine_submit(r->engine, &job, 1, &id, err) != ENGINE_TAKEN)
        return llm_complain("%s: %s", what, err);
    r->taken++;
    return true;
}

/* Up to N texts. Returns how many there were, or -1. */
static int64_t submit_next(struct run *r, struct item *items, int64_t n) {
    const cli_list *list = &r->o->prompts;
    int64_t count = 0;
    char *line = NULL;
    size_t room = 0;
    bool ok = true;
    for (; ok && !r->from && count < n && r->taken < list->n; count += ok)
        ok = submit(r, &items[count], list->at[r->taken].text, strlen(list->at[r->taken].text));
    while (ok && r->from && count < n) {
        ssize_t bytes = getline(&line, &room, r->from);
        if (bytes < 0) break;
        if (bytes && line[bytes - 1] == '\n') bytes--;
        ok = submit(r, &items[count], line, (size_t)bytes);
        count += ok;
    }
    free(line);
    if (ok && r->from && ferror(r->from)) ok = llm_complain("%s: cannot be read", r->o->file);
    return ok ? count : -1;
}

static bool wait_for(struct run *r, const struct item *t, int64_t number) {
    pthread_mutex_lock(&r->lock);
    while (!t->done)
        pthread_cond_wait(&r->news, &r->lock);
    pthread_mutex_unlock(&r->lock);
    return !*t->why || llm_complain("text %lld: %s", (long long)number, t->why);
}

/* A line of JSON, which is taken. */
static bool print_line(json_t *j) {
    char *text = j ? json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(j);
    if (!text) return llm_complain("what the model gives is not numbers, or there is no memory");
    puts(text);
    free(text);
    return true;
}

/* Nothing writes into items any more. */
static void stop(struct run *r) {
    struct engine_stats s;
    engine_stats(r->engine, &s);
    fprintf(stderr, "etllm: %s: %lld texts, %lld tokens in %lld launches at %.1f tokens/s%s\n",
            r->sizes.device, (long long)r->taken, (long long)s.prompts, (long long)s.launches,
            s.prompt_seconds > 0 ? (double)s.prompts / s.prompt_seconds : 0,
            r->sizes.emulated ? " (emulated: no GPU was used)" : "");
    engine_close(r->engine);
    r->engine = NULL;
}

/* ---- vectors ---- */

static bool print_vector(struct run *r, struct item *t, int64_t index) {
    json_t *list = json_array();
    int64_t n = vectors_shorten(t->values, r->sizes.width, r->o->dimensions);
    bool ok = true;
    for (int64_t i = 0; i < n; i++)
        ok = json_array_append_new(list, json_real((double)t->values[i])) == 0 && ok;
    if (ok)
        return print_line(json_pack("{s:I, s:o}", "index", (json_int_t)index, "embedding", list));
    json_decref(list);
    return print_line(NULL);
}

static bool embed_all(struct run *r) {
    if (!r->sizes.vectors || r->sizes.scores)
        return llm_complain("%s: the model gives no vectors", r->o->kernel);
    if (r->o->dimensions > r->sizes.width)
        return llm_complain("--dimensions: the model's vectors have %lld numbers",
                            (long long)r->sizes.width);
    struct item *items = calloc(AT_ONCE, sizeof *items);
    if (!items) return llm_complain("out of memory");
    int64_t n = 0;
    bool ok = true;
    while (ok && (n = submit_next(r, items, AT_ONCE)) > 0)
        for (int64_t i = 0; i < n; i++) {
            int64_t index = r->taken - n + i;
            ok = ok && wait_for(r, &items[i], index + 1) && print_vector(r, &items[i], index);
            if (ok) item_free(&items[i]);
        }
    stop(r);
    for (int64_t i = 0; i < AT_ONCE; i++)
        item_free(&items[i]);
    free(items);
    return ok && n == 0;
}

/* ---- scores ---- */

struct scored {
    int64_t index;
    double score;
};

/* The best first; of equals the one that came first. */
static int by_score(const void *a, const void *b) {
    const struct scored *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return x->index > y->index ? 1 : -1;
}

static bool score_next(struct run *r, struct item *items, int64_t n, struct scored *out) {
    char err[LLM_ERR];
    for (int64_t i = 0; i < n; i++) {
        int64_t index = r->taken - n + i;
        out[i].index = index;
        if (!wait_for(r, &items[i], index + 1)) return false;
        if (!vectors_score(r->vectors, items[i].values, r->sizes.width, &out[i].score, err))
            return llm_complain("%s", err);
        item_free(&items[i]);
    }
    return true;
}

static bool print_scores(struct scored *all, int64_t n) {
    bool ok = true;
    if (n) qsort(all, (size_t)n, sizeof *all, by_score);
    for (int64_t i = 0; ok && i < n; i++)
        ok = print_line(json_pack("{s:I, s:f}", "index", (json_int_t)all[i].index,
                                  "relevance_score", all[i].score));
    return ok;
}

static bool rerank_all(struct run *r) {
    if (vectors_by_token(r->vectors) ? r->sizes.vectors : !r->sizes.scores)
        return llm_complain("%s: the model gives no scores of pairs of texts", r->o->kernel);
    struct item *items = calloc(AT_ONCE, sizeof *items);
    struct scored *all = NULL;
    int64_t n = 0, room = 0;
    bool ok = items || llm_complain("out of memory");
    while (ok && (n = submit_next(r, items, AT_ONCE)) > 0) {
        if (r->taken > room) {
            room = r->taken * 2;
            struct scored *more = realloc(all, (size_t)room * sizeof *all);
            if (!(ok = more || llm_complain("out of memory"))) break;
            all = more;
        }
        ok = score_next(r, items, n, all + r->taken - n);
    }
    stop(r);
    ok = ok && n == 0 && print_scores(all, r->taken);
    for (int64_t i = 0; items && i < AT_ONCE; i++)
        item_free(&items[i]);
    free(items);
    free(all);
    return ok;
}

/* ---- the run ---- */

static bool open_texts(struct run *r) {
    if (r->o->prompts.n && r->o->file) return llm_complain("either --prompt or --file is needed");
    if (r->o->prompts.n) return true;
    r->from = r->o->file ? fopen(r->o->file, "rb") : stdin;
    return r->from || llm_complain("%s: %m", r->o->file);
}

static bool open_model(struct run *r) {
    const struct options *o = r->o;
    char err[LLM_ERR];
    struct engine_options e = {.kernel = o->kernel, .device = o->device, .cache = o->expert_cache};
    struct engine_model m = {.weights = o->model};
    if (!tokenizer_load(o->model, &r->tokenizer, err) || !vectors_read(o->model, &r->vectors, err))
        return llm_complain("%s", err);
    r->prompt = vectors_prompt(r->vectors, o->prompt_name, err);
    if (!r->prompt) return llm_complain("--prompt-name: %s", err);
    if (!engine_open(&e, &m, 1, &r->engine, err)) return llm_complain("%s", err);
    engine_sizes(r->engine, &r->sizes);
    int64_t most = vectors_most(r->vectors);
    r->most = most && most < r->sizes.context ? most : r->sizes.context;
    return true;
}

static bool run(const struct options *o, bool (*all)(struct run *)) {
    struct run r = {.o = o};
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.news, NULL);
    bool ok = open_texts(&r) && open_model(&r) && all(&r);
    engine_close(r.engine);
    if (r.from && r.from != stdin) fclose(r.from);
    vectors_free(r.vectors);
    tokenizer_free(r.tokenizer);
    pthread_mutex_destroy(&r.lock);
    pthread_cond_destroy(&r.news);
    return ok;
}

bool embed(const struct options *o) {
    return run(o, embed_all);
}

bool rerank(const struct options *o) {
    return run(o, rerank_all);
}
