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
static bool has_input(const struct lm *lm, const char *name, int rank) {
    etrt_tensor_info info;
    for (int t = 0; etrt_model_tensor(lm->model, t, &info) == ETRT_OK; t++)
        if (info.kind == ETRT_INPUT && info.dtype == ETRT_I32 && info.rank == rank &&
            !strcmp(info.name, name))
            return true;
    return false;
}

static bool check_inputs(const struct lm *lm, const char *kernel, char *err) {
    static const char *const names[] = {"tokens", "positions", "slots"};
    for (size_t i = 0; i < 3; i++)
        if (!has_input(lm, names[i], 1))
            return llm_fail(err, "%s: no input \"%s\" : i32[N]: not a decoder from etimport",
                            kernel, names[i]);
    return true;
}

/* Keys and values are [L, SLOTS, NKV, CTX, D]; or in pages, [L, PAGES, NKV, PAGE, D], of which each
 * slot has as many as a row of the table is long. */
static bool read_cache(struct lm *lm, const int64_t *cache, char *err) {
    int64_t table[ETRT_MAX_RANK];
    int rank;
    lm->slots = cache[1];
    lm->context = cache[3];
    if (!has_input(lm, "table", 2)) return true;
    if (!ok(etrt_shape(lm->session, "table", table, &rank), "shape of table", err)) return false;
    lm->slots = table[0];
    lm->row = table[1];
    lm->pages = cache[1];
    lm->page = cache[3];
    lm->context = lm->page * (lm->row < lm->pages ? lm->row : lm->pages);
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
    lm->vocab = logits[1];
    return read_cache(lm, cache, err);
}

static bool allocate(struct lm *lm, char *err) {
    size_t n = (size_t)lm->max_tokens;
    lm->logits = calloc(n * (size_t)lm->vocab, sizeof *lm->logits);
    lm->tokens = calloc(n, sizeof *lm->tokens);
    lm->positions = calloc(n, sizeof *lm->positions);
    lm->slot_of = calloc(n, sizeof *lm->slot_of);
    lm->table = calloc((size_t)(lm->slots * lm->row) + 1, sizeof *lm->table);
    return (lm->logits && lm->tokens && lm->positions && lm->slot_of && lm->table) ||
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
    free(lm->table);
    memset(lm, 0, sizeof *lm);
}

int64_t lm_add(struct lm *lm, int32_t token, int64_t position, int64_t slot) {
    lm->tokens[lm->n] = token;
    lm->positions[lm->n] = (int32_t)position;
    lm->slot_of[lm->n] = (int32_t)slot;
    return lm->n++;
}

void lm_deal(struct lm *lm, int64_t slot, const int32_t *pages, int64_t n) {
    int32_t *row = lm->table + slot * lm->row;
    size_t bytes = (size_t)n * sizeof *row;
    if (!n || memcmp(row, pages, bytes) == 0) return;
    memcpy(row, pages, bytes);
    lm->table_sent = false;
}

bool lm_copy_page(struct lm *lm, int32_t to, int32_t from, char *err) {
    etrt_tensor_info info;
    for (int t = 0; etrt_model_tensor(lm->model, t, &info) == ETRT_OK; t++)
        if (info.kind == ETRT_STATE &&
            !ok(etrt_copy_part(lm->session, lm->session, info.name, 1, to, from, 1), info.name,
                err))
            return false;
    return true;
}

static bool send_table(struct lm *lm, char *err) {
    size_t bytes = (size_t)(lm->slots * lm->row) * sizeof *lm->table;
    if (!lm->row || lm->table_sent) return true;
    lm->table_sent = ok(etrt_bind(lm->session, "table", lm->table, bytes), "table", err);
    return lm->table_sent;
}

bool lm_submit(struct lm *lm, char *err) {
    size_t bytes = (size_t)lm->n * sizeof(int32_t);
    lm->submitted = lm->n;
    lm->n = 0;
    return ok(etrt_set_dim(lm->session, "N", lm->submitted), "N", err) &&
           ok(etrt_bind(lm->session, "tokens", lm->tokens, bytes), "tokens", err) &&
           ok(etrt_bind(lm->session, "positions", lm->positions, bytes), "positions", err) &&
           ok(etrt_bind(lm->session, "slots", lm->slot_of, bytes), "slots", err) &&
           send_table(lm, err) && ok(etrt_submit(lm->session), "launch", err);
}

/* A launch whose waits ran out, or that was cancelled, leaves the session usable; whatever else
 * fails does not for sure. */
enum lm_result lm_wait(struct lm *lm, char *err) {
    etrt_status status = etrt_wait(lm->session);
    if (!ok(status, "launch", err))
        return status == ETRT_WAIT ? LM_ABORTED : status == ETRT_CANCELLED ? LM_CANCELLED : LM_LOST;
    size_t bytes = (size_t)(lm->submitted * lm->vocab) * sizeof *lm->logits;
    return ok(etrt_read(lm->session, "logits", lm->logits, bytes), "logits", err) ? LM_DONE
                                                                                  : LM_LOST;
}

enum lm_result lm_run(struct lm *lm, char *err) {
    return lm_submit(lm, err) ? lm_wait(lm, err) : LM_LOST;
}

int lm_fd(struct lm *lm) {
    int fd;
    return etrt_session_fd(lm->session, &fd) == ETRT_OK ? fd : -1;
}

void lm_cancel(struct lm *lm) {
    etrt_cancel(lm->session);
}

bool lm_reset(struct lm *lm, char *err) {
    return ok(etrt_session_reset(lm->session), "reset", err);
}

double lm_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
