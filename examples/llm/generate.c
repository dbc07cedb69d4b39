/* generate.c - continue prompts, all of them together, and print the texts one after the other. */
#include "examples/llm/base/error.h"
#include "examples/llm/engine/engine.h"
#include "examples/llm/engine/lm.h"
#include "examples/llm/engine/stops.h"
#include "examples/llm/options.h"
#include "examples/llm/tokenizer/tokenizer.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text. The engine's thread adds to it, the main thread prints it. */
struct text {
    struct run *run;
    struct ids ids; /* the prompt, then what was generated */
    size_t prompt;  /* how many are the prompt's */
    size_t printed;
    bool done;
    char why[LLM_ERR]; /* it failed; "": it did not */
};

struct run {
    const struct options *o;
    struct engine *engine;
    struct tokenizer *tokenizer;
    struct lm_decoder *decoder; /* of the text that is being printed */
    struct text *texts;
    int64_t n;
    pthread_mutex_t lock; /* of all texts */
    pthread_cond_t news;
    double begun, tokenizer_seconds; /* when the program did, by lm_now; to read the tokenizer */
};

/* ---- in the engine's thread ---- */

static bool take_token(void *user, const struct engine_token *token) {
    struct text *t = user;
    pthread_mutex_lock(&t->run->lock);
    bool ok = ids_add(&t->ids, token->id) || llm_fail(t->why, "out of memory");
    pthread_cond_signal(&t->run->news);
    pthread_mutex_unlock(&t->run->lock);
    return ok;
}

static void take_end(void *user, const struct engine_result *result) {
    struct text *t = user;
    pthread_mutex_lock(&t->run->lock);
    t->done = true;
    if (result->end == ENGINE_FAILED) llm_fail(t->why, "%s", result->why);
    pthread_cond_signal(&t->run->news);
    pthread_mutex_unlock(&t->run->lock);
}

/* ---- printing: each as it comes ---- */

/* What the tokens up to END add to the text; shown unless it is known already. */
static bool print_until(struct run *r, struct text *t, size_t end, bool show) {
    const char *text;
    size_t bytes;
    for (; t->printed < end; t->printed++) {
        if (!lm_decoder_push(r->decoder, t->ids.v[t->printed], &text, &bytes)) return false;
        if (show) fwrite(text, 1, bytes, stdout);
    }
    fflush(stdout);
    return true;
}

static bool print_text(struct run *r, struct text *t) {
    const char *rest;
    size_t bytes;
    if (!print_until(r, t, t->prompt, false) || !print_until(r, t, t->ids.n, true)) return false;
    while (!t->done) {
        pthread_cond_wait(&r->news, &r->lock);
        if (!print_until(r, t, t->ids.n, true)) return false;
    }
    if (!lm_decoder_flush(r->decoder, &rest, &bytes)) return false;
    fwrite(rest, 1, bytes, stdout);
    return true;
}

/* Stops at the first text that fails. */
static bool print_all(struct run *r) {
    bool ok = true;
    pthread_mutex_lock(&r->lock);
    for (int64_t i = 0; ok && i < r->n; i++) {
        struct text *t = &r->texts[i];
        fputs(r->o->prompts.at[i].text, stdout);
        ok = print_text(r, t) || llm_complain("out of memory");
        if (ok && *t->why) ok = llm_complain("%s", t->why);
        if (ok) puts(i + 1 < r->n ? "\n---" : "");
    }
    pthread_mutex_unlock(&r->lock);
    return ok;
}

static double rate(int64_t tokens, double seconds) {
    return seconds > 0 ? (double)tokens / seconds : 0;
}

static void print_summary(const struct run *r) {
    struct engine_stats s;
    struct engine_sizes sizes;
    engine_stats(r->engine, &s);
    engine_sizes(r->engine, &sizes);
    fprintf(stderr,
            "etllm: %s: prompts %lld tokens at %.1f tokens/s, text %lld tokens at %.1f "
            "tokens/s%s\n",
            sizes.device, (long long)s.prompts, rate(s.prompts, s.prompt_seconds),
            (long long)s.written, rate(s.written, s.text_seconds),
            sizes.emulated ? " (emulated: no GPU was used)" : "");
}

/* Nothing is compiled at the start, and no launch is for warming up. */
static void print_timings(const struct run *r) {
    struct engine_stats s;
    engine_stats(r->engine, &s);
    const struct engine_start *t = &s.start;
    double total = t->began - r->begun,
           known = r->tokenizer_seconds + t->device + t->kernel + t->weights + t->session;
    if (!s.launches) return;
    fprintf(stderr,
            "etllm: start: tokenizer %.1f ms, device %.1f ms, kernel %.1f ms, weights %.1f ms, "
            "session %.1f ms, other %.1f ms; %.1f ms to the first launch, %.1f ms without weights\n"
            "etllm: first launch: %.1f ms\n",
            r->tokenizer_seconds * 1e3, t->device * 1e3, t->kernel * 1e3, t->weights * 1e3,
            t->session * 1e3, (total - known) * 1e3, total * 1e3, (total - t->weights) * 1e3,
            t->first * 1e3);
}

/* ---- the run ---- */

static bool make_job(struct run *r, int64_t i, struct engine_job *job) {
    const char *text = r->o->prompts.at[i].text;
    struct text *t = &r->texts[i];
    char err[LLM_ERR], what[32];
    snprintf(what, sizeof what, "prompt %lld", (long long)i + 1);
    if (!tokenizer_encode(r->tokenizer, text, strlen(text), &t->ids, err))
        return llm_complain("%s: %s", what, err);
    warn_dropped(what, &t->ids);
    t->prompt = t->ids.n;
    *job = (struct engine_job){.prompt = t->ids.v, .n = t->ids.n, .most = r->o->count, .top = -1};
    job->sampling = sampling_greedy();
    job->sampling.temperature = r->o->temperature;
    job->sampling.top_k = r->o->top_k;
    job->sampling.seed = (uint64_t)(r->o->seed + i);
    job->sink = (struct engine_sink){.user = t, .token = take_token, .end = take_end};
    return true;
}

/* One by one, so that what is wrong with a prompt is told with its number; nothing is printed
 * before all were taken. */
static bool submit_all(struct run *r) {
    for (int64_t i = 0; i < r->n; i++) {
        struct engine_job job;
        char err[LLM_ERR];
        uint64_t id;
        if (!make_job(r, i, &job)) return false;
        if (engine_submit(r->engine, &job, 1, &id, err) != ENGINE_TAKEN)
            return llm_complain("prompt %lld: %s", (long long)i + 1, err);
    }
    return true;
}

static bool generate_all(struct run *r) {
    char err[LLM_ERR];
    struct stops stops;
    r->begun = lm_now();
    if (!tokenizer_load(r->o->model, &r->tokenizer, err) || !stops_read(r->o->model, &stops, err))
        return llm_complain("%s", err);
    r->tokenizer_seconds = lm_now() - r->begun;
    r->decoder = lm_decoder_new(r->tokenizer, 0);
    if (!r->decoder) return llm_complain("out of memory");
    struct engine_options o = {.kernel = r->o->kernel,
                               .device = r->o->device,
                               .cache = r->o->expert_cache,
                               .speculate = r->o->speculate,
                               .steps = r->o->steps};
    struct engine_model m = {.weights = r->o->model, .stops = stops.ids, .nstops = stops.n};
    if (!engine_open(&o, &m, 1, &r->engine, err)) return llm_complain("%s", err);
    if (!submit_all(r) || !print_all(r)) return false;
    if (ferror(stdout)) return llm_complain("cannot write the text");
    print_summary(r);
    if (r->o->timings) print_timings(r);
    return true;
}

bool generate(const struct options *o) {
    struct run r = {.o = o, .n = o->prompts.n};
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.news, NULL);
    r.texts = calloc((size_t)r.n, sizeof *r.texts);
    for (int64_t i = 0; r.texts && i < r.n; i++)
        r.texts[i].run = &r;
    bool ok = r.texts ? generate_all(&r) : llm_complain("out of memory");
    engine_close(r.engine);
    for (int64_t i = 0; r.texts && i < r.n; i++)
        free(r.texts[i].ids.v);
    free(r.texts);
    lm_decoder_free(r.decoder);
    tokenizer_free(r.tokenizer);
    pthread_mutex_destroy(&r.lock);
    pthread_cond_destroy(&r.news);
    return ok;
}
