/* lm.c - open a device, load a compiled model and its weights, launch it. */
#include "examples/llm/engine/lm.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Every call of libetrt returns a status; the text behind it is etrt_last_error(). */
static bool ok(etrt_status status, const char *doing, char *err) {
    if (status == ETRT_OK) return true;
    return llm_fail(err, "%s: %s: %s", doing, etrt_status_text(status), etrt_last_error());
}

/* What etimport writes and etllm relies on; anything else is some other kind of model. */
static bool check_inputs(const struct lm *lm, const char *kernel, char *err) {
    static const char *const names[] = {"tokens", "positions", "slots"};
    etrt_tensor_info info;
    for (size_t i = 0; i < 3; i++) {
        bool found = false;
        for (int t = 0; !found && etrt_model_tensor(lm->model, t, &info) == ETRT_OK; t++)
            found = info.kind == ETRT_INPUT && info.dtype == ETRT_I32 && info.rank == 1 &&
                    !strcmp(info.name, names[i]);
        if (!found)
            return llm_fail(err, "%s: no input \"%s\" : i32[N]: not a decoder from etimport",
                            kernel, names[i]);
    }
    return true;
}

/* The most tokens a launch takes is the upper bound of N; the rest are shapes. */
static bool read_sizes(struct lm *lm, const char *kernel, char *err) {
    etrt_dim_info dim;
    int64_t cache[ETRT_MAX_RANK], logits[ETRT_MAX_RANK];
    int cache_rank, logits_rank;
    for (int i = 0; etrt_model_dim(lm->model, i, &dim) == ETRT_OK; i++)
        if (!strcmp(dim.name, "N")) lm->max_tokens = dim.hi;
    if (!lm->max_tokens)
        return llm_fail(err, "%s: no dim \"N\": not a decoder from etimport", kernel);
    if (!ok(etrt_set_dim(lm->session, "N", lm->max_tokens), "N", err) ||
        !ok(etrt_shape(lm->session, "kc", cache, &cache_rank), "shape of kc", err) ||
        !ok(etrt_shape(lm->session, "logits", logits, &logits_rank), "shape of logits", err))
        return false;
    if (cache_rank != 5 || logits_rank != 2 || logits[0] != lm->max_tokens)
        return llm_fail(err, "%s: kc or logits have other shapes than etimport gives them", kernel);
    lm->slots = cache[1];
    lm->context = cache[3];
    lm->vocab = logits[1];
    return true;
}

static bool allocate(struct lm *lm, char *err) {
    size_t n = (size_t)lm->max_tokens;
    lm->logits = calloc(n * (size_t)lm->vocab, sizeof *lm->logits);
    lm->tokens = calloc(n, sizeof *lm->tokens);
    lm->positions = calloc(n, sizeof *lm->positions);
    lm->slot_of = calloc(n, sizeof *lm->slot_of);
    return (lm->logits && lm->tokens && lm->positions && lm->slot_of) ||
           llm_fail(err, "out of memory");
}

/* Seconds since *LAST, which becomes now; the status of what took them goes through. */
static etrt_status timed(etrt_status st, double *last, double *out) {
    double now = lm_now();
    *out = now - *last;
    *last = now;
    return st;
}

bool lm_open(struct lm *lm, const char *kernel, const char *weights, const char *device,
             char *err) {
    struct lm_start *t = &lm->start;
    double last = lm_now();
    memset(lm, 0, sizeof *lm);
    return ok(timed(etrt_device_open(device, &lm->device), &last, &t->device), device, err) &&
           ok(timed(etrt_model_load(lm->device, kernel, &lm->model), &last, &t->kernel), kernel,
              err) &&
           check_inputs(lm, kernel, err) &&
           ok(timed(etrt_model_weights_file(lm->model, weights), &last, &t->weights), weights,
              err) &&
           ok(timed(etrt_session_create(lm->model, &lm->session), &last, &t->session), "session",
              err) &&
           read_sizes(lm, kernel, err) && allocate(lm, err);
}

void lm_close(struct lm *lm) {
    etrt_session_destroy(lm->session);
    etrt_model_unload(lm->model);
    etrt_device_close(lm->device);
    free(lm->logits);
    free(lm->tokens);
    free(lm->positions);
    free(lm->slot_of);
    memset(lm, 0, sizeof *lm);
}

int64_t lm_add(struct lm *lm, int32_t token, int64_t position, int64_t slot) {
    lm->tokens[lm->n] = token;
    lm->positions[lm->n] = (int32_t)position;
    lm->slot_of[lm->n] = (int32_t)slot;
    return lm->n++;
}

/* A launch whose waits ran out leaves the session usable; whatever else fails does not for sure. */
static enum lm_result launch(struct lm *lm, char *err) {
    etrt_status status = etrt_run(lm->session);
    if (ok(status, "launch", err)) return LM_DONE;
    return status == ETRT_WAIT ? LM_ABORTED : LM_LOST;
}

enum lm_result lm_run(struct lm *lm, char *err) {
    size_t n = (size_t)lm->n, bytes = n * sizeof(int32_t);
    lm->n = 0;
    if (!ok(etrt_set_dim(lm->session, "N", (int64_t)n), "N", err) ||
        !ok(etrt_bind(lm->session, "tokens", lm->tokens, bytes), "tokens", err) ||
        !ok(etrt_bind(lm->session, "positions", lm->positions, bytes), "positions", err) ||
        !ok(etrt_bind(lm->session, "slots", lm->slot_of, bytes), "slots", err))
        return LM_LOST;
    enum lm_result result = launch(lm, err);
    if (result != LM_DONE) return result;
    bytes = n * (size_t)lm->vocab * sizeof *lm->logits;
    return ok(etrt_read(lm->session, "logits", lm->logits, bytes), "logits", err) ? LM_DONE
                                                                                  : LM_LOST;
}

bool lm_reset(struct lm *lm, char *err) {
    return ok(etrt_session_reset(lm->session), "reset", err);
}

double lm_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
