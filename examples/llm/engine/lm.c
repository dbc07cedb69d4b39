/* lm.c - open a device, load a compiled model and its weights, launch it. */
#include "examples/llm/engine/lm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Every call of libetrt returns a status; the text behind it is etrt_last_error(). */
static bool ok(etrt_status status, const char *doing, char *err) {
    if (status == ETRT_OK) return true;
    return llm_fail(err, "%s: %s: %s", doing, etrt_status_text(status), etrt_last_error());
}

/* What etimport writes and etllm relies on; anything else is some other kind of model. */
/* What the decoder calls NAME, as the kernel does. */
enum { NAME_BYTES = 512 };
static const char *named(const struct lm *lm, const char *name, char out[NAME_BYTES]) {
    snprintf(out, NAME_BYTES, "%s%s%s", lm->part ? lm->part : "", lm->part ? "." : "", name);
    return out;
}

static bool has_input(const struct lm *lm, const char *name, int rank) {
    etrt_tensor_info info;
    char full[NAME_BYTES];
    named(lm, name, full);
    for (int t = 0; etrt_model_tensor(lm->kernel->model, t, &info) == ETRT_OK; t++)
        if (info.kind == ETRT_INPUT && info.dtype == ETRT_I32 && info.rank == rank &&
            !strcmp(info.name, full))
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

static bool shape(const struct lm *lm, const char *tensor, int64_t out[ETRT_MAX_RANK], int *rank,
                  char *err) {
    char name[NAME_BYTES];
    return ok(etrt_shape(lm->kernel->session, named(lm, tensor, name), out, rank), name, err);
}

/* Keys and values are [L, SLOTS, NKV, CTX, D]; or in pages, [L, PAGES, NKV, PAGE, D], of which each
 * slot has as many as a row of the table is long. */
static bool read_cache(struct lm *lm, const int64_t *cache, char *err) {
    int64_t table[ETRT_MAX_RANK];
    int rank;
    lm->slots = cache[1];
    lm->context = cache[3];
    if (!has_input(lm, "table", 2)) return true;
    if (!shape(lm, "table", table, &rank, err)) return false;
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
    char n[NAME_BYTES];
    int64_t cache[ETRT_MAX_RANK], logits[ETRT_MAX_RANK];
    int cache_rank, logits_rank;
    named(lm, "N", n);
    for (int i = 0; etrt_model_dim(lm->kernel->model, i, &dim) == ETRT_OK; i++)
        if (!strcmp(dim.name, n)) lm->max_tokens = dim.hi;
    if (!lm->max_tokens)
        return llm_fail(err, "%s: no dim \"%s\": not a decoder from etimport", kernel, n);
    if (!ok(etrt_set_dim(lm->kernel->session, n, lm->max_tokens), n, err) ||
        !shape(lm, "kc", cache, &cache_rank, err) ||
        !shape(lm, "logits", logits, &logits_rank, err))
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

/* Names of the decoders that the kernel holds, for people. */
static const char *list_parts(const etrt_model *model, char *out, size_t bytes) {
    const char *part;
    size_t n = 0;
    out[0] = 0;
    for (int i = 0; (part = etrt_model_part(model, i)) && n < bytes; i++)
        n += (size_t)snprintf(out + n, bytes - n, "%s%s", i ? ", " : "", part);
    return out;
}

/* Which decoder of the kernel is meant. */
static bool find_part(struct lm_kernel *k, int i, const char *given, const char *kernel,
                      char *err) {
    char all[256];
    const char *part;
    list_parts(k->model, all, sizeof all);
    if (!*all) {
        if (k->n > 1 || given)
            return llm_fail(err, "%s: holds one model, which has no name", kernel);
        return true;
    }
    if (!given && k->n == 1 && etrt_model_part(k->model, 1))
        return llm_fail(err, "%s: holds several models: %s", kernel, all);
    for (int at = 0; (part = etrt_model_part(k->model, at)); at++)
        if (given ? !strcmp(part, given) : at == i) k->models[i].part = part;
    if (!k->models[i].part)
        return llm_fail(err, "%s: holds no model \"%s\", but %s", kernel,
                        given ? given : "that is not named", all);
    for (int other = 0; other < i; other++)
        if (k->models[other].part == k->models[i].part)
            return llm_fail(err, "%s: \"%s\" is meant twice", kernel, k->models[i].part);
    return true;
}

static bool find_parts(struct lm_kernel *k, const struct lm_source *sources, const char *kernel,
                       char *err) {
    for (int i = 0; i < k->n; i++) {
        k->models[i].kernel = k;
        if (!find_part(k, i, sources[i].part, kernel, err) ||
            !check_inputs(&k->models[i], kernel, err))
            return false;
    }
    return true;
}

static bool load_weights(struct lm_kernel *k, const struct lm_source *sources, char *err) {
    for (int i = 0; i < k->n; i++) {
        const char *part = k->models[i].part, *path = sources[i].weights;
        if (!ok(part ? etrt_model_weights_of(k->model, part, path)
                     : etrt_model_weights_file(k->model, path),
                path, err))
            return false;
    }
    return true;
}

/* What is not asked for is left out of all launches. */
static bool prepare(struct lm_kernel *k, const char *kernel, char *err) {
    const char *part;
    for (int i = 0; (part = etrt_model_part(k->model, i)); i++)
        if (!ok(etrt_select(k->session, part, 0), part, err)) return false;
    for (int i = 0; i < k->n; i++)
        if (!read_sizes(&k->models[i], kernel, err) || !allocate(&k->models[i], err)) return false;
    return true;
}

bool lm_open(struct lm_kernel *k, const char *kernel, const char *device,
             const struct lm_source *sources, int n, char *err) {
    struct lm_start *t = &k->start;
    double last = lm_now();
    memset(k, 0, sizeof *k);
    k->models = calloc((size_t)n, sizeof *k->models);
    if (!k->models) return llm_fail(err, "out of memory");
    k->n = n;
    if (!ok(timed(etrt_device_open(device, &k->device), &last, &t->device), device, err) ||
        !ok(timed(etrt_model_load(k->device, kernel, &k->model), &last, &t->kernel), kernel, err) ||
        !find_parts(k, sources, kernel, err) || !load_weights(k, sources, err))
        return false;
    timed(ETRT_OK, &last, &t->weights);
    return ok(timed(etrt_session_create(k->model, &k->session), &last, &t->session), "session",
              err) &&
           prepare(k, kernel, err);
}

bool lm_open_only(struct lm_kernel *k, const char *kernel, const char *weights, const char *device,
                  struct lm **out, char *err) {
    struct lm_source source = {NULL, weights};
    bool good = lm_open(k, kernel, device, &source, 1, err);
    *out = k->models;
    return good;
}

void lm_close(struct lm_kernel *k) {
    etrt_session_destroy(k->session);
    etrt_model_unload(k->model);
    etrt_device_close(k->device);
    for (int i = 0; i < k->n; i++) {
        free(k->models[i].logits);
        free(k->models[i].tokens);
        free(k->models[i].positions);
        free(k->models[i].slot_of);
        free(k->models[i].table);
    }
    free(k->models);
    memset(k, 0, sizeof *k);
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
    etrt_session *s = lm->kernel->session;
    etrt_tensor_info info;
    char prefix[NAME_BYTES];
    named(lm, "", prefix);
    for (int t = 0; etrt_model_tensor(lm->kernel->model, t, &info) == ETRT_OK; t++)
        if (info.kind == ETRT_STATE && !strncmp(info.name, prefix, strlen(prefix)) &&
            !ok(etrt_copy_part(s, s, info.name, 1, to, from, 1), info.name, err))
            return false;
    return true;
}

static bool bind(struct lm *lm, const char *tensor, const int32_t *data, int64_t n, char *err) {
    char name[NAME_BYTES];
    return ok(
        etrt_bind(lm->kernel->session, named(lm, tensor, name), data, (size_t)n * sizeof *data),
        name, err);
}

static bool submit_part(struct lm *lm, char *err) {
    etrt_session *s = lm->kernel->session;
    char name[NAME_BYTES];
    int64_t n = lm->submitted = lm->n;
    lm->n = 0;
    if (lm->part && !ok(etrt_select(s, lm->part, n > 0), lm->part, err)) return false;
    if (!n) return true;
    if (!ok(etrt_set_dim(s, named(lm, "N", name), n), name, err) ||
        !bind(lm, "tokens", lm->tokens, n, err) || !bind(lm, "positions", lm->positions, n, err) ||
        !bind(lm, "slots", lm->slot_of, n, err))
        return false;
    if (lm->row && !lm->table_sent)
        lm->table_sent = bind(lm, "table", lm->table, lm->slots * lm->row, err);
    return !lm->row || lm->table_sent;
}

bool lm_submit(struct lm_kernel *k, char *err) {
    bool good = true;
    for (int i = 0; i < k->n; i++)
        good = submit_part(&k->models[i], err) && good;
    return good && ok(etrt_submit(k->session), "launch", err);
}

static bool read_logits(struct lm *lm, char *err) {
    char name[NAME_BYTES];
    size_t bytes = (size_t)(lm->submitted * lm->vocab) * sizeof *lm->logits;
    return !bytes ||
           ok(etrt_read(lm->kernel->session, named(lm, "logits", name), lm->logits, bytes), name,
              err);
}

/* A launch whose waits ran out, or that was cancelled, leaves the session usable; whatever else
 * fails does not for sure. */
enum lm_result lm_wait(struct lm_kernel *k, char *err) {
    etrt_status status = etrt_wait(k->session);
    if (!ok(status, "launch", err))
        return status == ETRT_WAIT ? LM_ABORTED : status == ETRT_CANCELLED ? LM_CANCELLED : LM_LOST;
    for (int i = 0; i < k->n; i++)
        if (!read_logits(&k->models[i], err)) return LM_LOST;
    return LM_DONE;
}

enum lm_result lm_run(struct lm_kernel *k, char *err) {
    return lm_submit(k, err) ? lm_wait(k, err) : LM_LOST;
}

int lm_fd(struct lm_kernel *k) {
    int fd;
    return etrt_session_fd(k->session, &fd) == ETRT_OK ? fd : -1;
}

void lm_cancel(struct lm_kernel *k) {
    etrt_cancel(k->session);
}

bool lm_reset(struct lm_kernel *k, char *err) {
    return ok(etrt_session_reset(k->session), "reset", err);
}

double lm_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
