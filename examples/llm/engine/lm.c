/* lm.c - open a device, load a compiled model and its weights, launch it. */
#include "examples/llm/engine/lm.h"
#include "examples/llm/engine/tensors.h"
#include "examples/llm/engine/turns.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    ANY_CONTEXT = 1 << 24, /* of models that keep states alone: positions are numbers */
};

static const struct lm_ahead *ahead_of_all;

void lm_put_ahead(const struct lm_ahead *ahead) {
    ahead_of_all = ahead;
}

/* What the tokens and positions of a launch are called: of one of several steps, those of its
 * first. */
static const char *tokens_of(const struct lm *lm) {
    return lm_has_input(lm, "first_tokens", 1) ? "first_tokens" : "tokens";
}

static const char *positions_of(const struct lm *lm) {
    return lm_has_input(lm, "first_positions", 1) ? "first_positions" : "positions";
}

static bool check_inputs(const struct lm *lm, const char *kernel, char *err) {
    if (flat_is(lm)) return true;
    const char *const names[] = {tokens_of(lm), positions_of(lm), "slots"};
    for (size_t i = 0; i < 3; i++)
        if (!lm_has_input(lm, names[i], 1))
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
    if (!lm_has_input(lm, "table", 2)) return true;
    if (!lm_shape(lm, "table", table, &rank, err)) return false;
    lm->slots = table[0];
    lm->row = table[1];
    lm->pages = cache[1];
    lm->page = cache[3];
    lm->context = lm->page * (lm->row < lm->pages ? lm->row : lm->pages);
    return true;
}

/* How many steps a launch may have. */
static bool read_steps(struct lm *lm, const char *kernel, char *err) {
    int64_t chosen[ETRT_MAX_RANK];
    int rank;
    lm->steps = 1;
    lm->max_steps = lm_dim(lm, "STEPS").hi;
    if (!lm->max_steps || !lm_has(lm, ETRT_STATE, ETRT_I32, 2, "likeliest")) {
        lm->max_steps = 0;
        return true;
    }
    if (!lm_set_dim(lm, "STEPS", 1, err) || !lm_shape(lm, "likeliest", chosen, &rank, err))
        return false;
    return (chosen[0] == lm->max_steps && chosen[1] == lm->max_rows) ||
           llm_fail(err, "%s: likeliest has another shape than etimport gives it", kernel);
}

/* What the kernel can choose, where it is as `etimport --sample` has it. */
static bool read_picks(struct lm *lm, char *err) {
    struct lm_picks *p = &lm->picks;
    int64_t mask[ETRT_MAX_RANK];
    int rank;
    p->likeliest = lm->max_steps > 0 || lm_has(lm, ETRT_OUTPUT, ETRT_I32, 1, "likeliest");
    p->most = lm_dim(lm, "PICKS").hi;
    p->most_changes = lm_dim(lm, "CHANGES").hi;
    p->most_masks = lm_dim(lm, "MASKS").hi;
    p->most_few = lm_dim(lm, "FEW").hi;
    p->most_blocks = lm_dim(lm, "BLOCKS").hi;
    p->all = p->most && p->most_changes && p->most_masks &&
             lm_has(lm, ETRT_OUTPUT, ETRT_I32, 1, "next") && lm_has_input(lm, "pick", 2) &&
             lm_has(lm, ETRT_INPUT, ETRT_F32, 2, "pick_how") && lm_has_input(lm, "change", 2) &&
             lm_has(lm, ETRT_INPUT, ETRT_F32, 2, "change_by") && lm_has_input(lm, "mask", 2);
    if (!p->all) return true;
    if (!lm_set_dim(lm, "MASKS", 1, err) || !lm_shape(lm, "mask", mask, &rank, err)) return false;
    p->words = mask[1];
    return p->words * 32 >= lm->vocab || llm_fail(err, "masks are shorter than the vocabulary");
}

/* How many rows of logits a launch gives: one for each token, or for each that is asked for. */
static bool read_rows(struct lm *lm, char *err) {
    lm->max_rows = lm_dim(lm, "ROWS").hi;
    lm->by_asking = lm->max_rows && lm_has_input(lm, "asked", 1);
    if (lm->by_asking) return lm_set_dim(lm, "ROWS", lm->max_rows, err);
    lm->max_rows = lm->max_tokens;
    return true;
}

/* What follows a token: logits, or what the text up to it becomes. */
static bool read_result(struct lm *lm, const char *kernel, char *err) {
    int64_t shape[ETRT_MAX_RANK];
    int rank;
    bool vector = lm_has(lm, ETRT_OUTPUT, ETRT_F32, 2, "embedding");
    lm->result = vector ? "embedding" : "logits";
    if (!lm_shape(lm, lm->result, shape, &rank, err)) return false;
    if (rank != 2 || shape[0] != lm->max_rows)
        return llm_fail(err, "%s: %s has another shape than etimport gives it", kernel, lm->result);
    lm->width = lm->vocab = shape[1];
    if (vector) lm->vocab = lm_weight_rows(lm, "embed");
    if (!lm->vocab) lm->vocab = INT32_MAX;
    return true;
}

/* What layers carry along a text has a row for each slot, and behind those for each snapshot. */
static bool read_carried(struct lm *lm, bool cached, const char *kernel, char *err) {
    int64_t shape[ETRT_MAX_RANK];
    const char *name;
    int rank;
    if (lm_has(lm, ETRT_STATE, ETRT_I32, 1, "snapshots")) {
        if (!lm_shape(lm, "snapshots", shape, &rank, err)) return false;
        lm->snapshots = shape[0];
    }
    for (int i = 0; (name = lm_carried(lm, i)); i++) {
        if (!lm_shape(lm, name, shape, &rank, err)) return false;
        if (!cached && !i) lm->slots = shape[0] - lm->snapshots;
        if (rank < 2 || lm->slots < 1 || shape[0] != lm->slots + lm->snapshots)
            return llm_fail(err,
                            "%s: %s has %lld rows and not one for each of %lld slots and %lld "
                            "snapshots",
                            kernel, name, (long long)shape[0], (long long)lm->slots,
                            (long long)lm->snapshots);
        lm->recurs = true;
    }
    lm->carries_all = !cached;
    if (!cached) lm->context = ANY_CONTEXT;
    return lm->recurs || !lm->snapshots ||
           llm_fail(err, "%s: snapshots, and nothing that they could be of", kernel);
}

/* The most tokens a launch takes is the upper bound of N; the rest are shapes. */
static bool read_sizes(struct lm *lm, const char *kernel, char *err) {
    int64_t cache[ETRT_MAX_RANK];
    int cache_rank;
    etrt_dim_info tokens = lm_dim(lm, "N");
    lm->max_tokens = tokens.hi;
    lm->tile = tokens.tile > 1 ? tokens.tile : 1;
    lm->chunk = tokens.chunk;
    if (!lm->max_tokens)
        return llm_fail(err, "%s: no dim \"N\": not a decoder from etimport", kernel);
    if (!lm_set_dim(lm, "N", lm->max_tokens, err) || !read_rows(lm, err) ||
        !read_result(lm, kernel, err))
        return false;
    bool cached = lm_has_state(lm, "kc") || !lm_carried(lm, 0); /* else there are states alone */
    if (cached && !lm_shape(lm, "kc", cache, &cache_rank, err)) return false;
    if (cached && cache_rank != LM_CACHE_RANK)
        return llm_fail(err, "%s: kc has another shape than etimport gives it", kernel);
    return (!cached || read_cache(lm, cache, err)) && read_carried(lm, cached, kernel, err) &&
           read_steps(lm, kernel, err) && read_picks(lm, err);
}

static bool allocate(struct lm *lm, char *err) {
    size_t n = (size_t)lm->max_tokens;
    lm->logits = calloc((size_t)lm->max_rows * (size_t)lm->width, sizeof *lm->logits);
    lm->asked = calloc((size_t)lm->max_rows, sizeof *lm->asked);
    lm->tokens = calloc(n, sizeof *lm->tokens);
    lm->positions = calloc(n, sizeof *lm->positions);
    lm->slot_of = calloc(n, sizeof *lm->slot_of);
    lm->table = calloc((size_t)(lm->slots * lm->row) + 1, sizeof *lm->table);
    int64_t steps = lm->max_steps ? lm->max_steps : 1;
    return (lm_picks_allocate(&lm->picks, steps * lm->max_rows) && lm->logits && lm->asked &&
            lm->tokens && lm->positions && lm->slot_of && lm->table) ||
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
        if (!lm_ok(part ? etrt_model_weights_of(k->model, part, path)
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
        if (!lm_ok(etrt_select(k->session, part, 0), part, err)) return false;
    for (int i = 0; i < k->n; i++)
        if (!(flat_is(&k->models[i]) ? flat_open(&k->models[i], kernel, err)
                                     : read_sizes(&k->models[i], kernel, err)) ||
            !allocate(&k->models[i], err))
            return false;
    return true;
}

/* What the list of devices says of the one that is called SPEC, of several the first. */
static bool find_device(const char *spec, etrt_device_info *out) {
    size_t n = strcspn(spec, ",");
    for (int i = 0; etrt_device_at(i, out) == ETRT_OK; i++)
        if (strlen(out->spec) == n && !memcmp(out->spec, spec, n)) return true;
    return false;
}

bool lm_device(const char *device, struct lm_device *out, char *err) {
    etrt_device *d;
    etrt_device_info info = {0};
    if (!strcmp(device, "auto")) {
        if (etrt_device_count() > 0 && etrt_device_at(0, &info) != ETRT_OK)
            memset(&info, 0, sizeof info);
    } else {
        if (!lm_ok(etrt_device_open(device, &d), device, err)) return false;
        if (!find_device(device, &info)) memset(&info, 0, sizeof info);
        snprintf(info.isa, sizeof info.isa, "%s", etrt_device_isa(d));
        info.emulated = etrt_device_is_emulated(d);
        etrt_device_close(d);
    }
    snprintf(out->target, sizeof out->target, "%s", *info.isa ? info.isa : "gfx942");
    out->memory = info.memory_bytes;
    out->emulated = info.emulated;
    return true;
}

bool lm_open(struct lm_kernel *k, const char *kernel, const char *device, uint64_t cache,
             const struct lm_source *sources, int n, char *err) {
    struct lm_start *t = &k->start;
    double last = lm_now();
    memset(k, 0, sizeof *k);
    k->models = calloc((size_t)n, sizeof *k->models);
    if (!k->models) return llm_fail(err, "out of memory");
    k->n = n;
    k->ahead = ahead_of_all;
    if (k->ahead && n != 1)
        return llm_fail(err, "%s: layers of several models are not dealt to processes", kernel);
    if (k->ahead) k->ahead->begin(k->ahead->user);
    if (!lm_ok(timed(etrt_device_open(device, &k->device), &last, &t->device), device, err) ||
        !lm_ok(timed(etrt_model_load(k->device, kernel, &k->model), &last, &t->kernel), kernel,
               err) ||
        !lm_ok(etrt_model_cache(k->model, cache), kernel, err) ||
        !find_parts(k, sources, kernel, err) || !load_weights(k, sources, err))
        return false;
    timed(ETRT_OK, &last, &t->weights);
    return lm_ok(timed(etrt_session_create(k->model, &k->session), &last, &t->session), "session",
                 err) &&
           prepare(k, kernel, err) && (!k->ahead || k->ahead->open(k->ahead->user, k, err));
}

bool lm_open_only(struct lm_kernel *k, const char *kernel, const char *weights, const char *device,
                  uint64_t cache, struct lm **out, char *err) {
    struct lm_source source = {NULL, weights};
    bool good = lm_open(k, kernel, device, cache, &source, 1, err);
    *out = k->models;
    return good;
}

void lm_close(struct lm_kernel *k) {
    if (k->session) turns_leave(k->session);
    etrt_session_destroy(k->session);
    etrt_model_unload(k->model);
    etrt_device_close(k->device);
    for (int i = 0; i < k->n; i++) {
        free(k->models[i].logits);
        free(k->models[i].asked);
        free(k->models[i].tokens);
        free(k->models[i].positions);
        free(k->models[i].slot_of);
        free(k->models[i].table);
        flat_close(&k->models[i]);
        lm_forget_inputs(&k->models[i]);
        lm_picks_free(&k->models[i].picks);
    }
    free(k->models);
    memset(k, 0, sizeof *k);
}

bool lm_time(struct lm_kernel *k, char *err) {
    return lm_ok(etrt_device_timing(k->device, 1), "timing", err);
}

int64_t lm_add(struct lm *lm, int32_t token, int64_t position, int64_t slot) {
    if (!lm->n) {
        lm->nrows = 0;
        lm_picks_begin(&lm->picks);
    }
    lm->tokens[lm->n] = token;
    lm->positions[lm->n] = (int32_t)position;
    lm->slot_of[lm->n] = (int32_t)slot;
    return lm->n++;
}

int64_t lm_rows_left(const struct lm *lm) {
    return lm->by_asking ? lm->max_rows - (lm->n ? lm->nrows : 0) : lm->max_tokens;
}

int64_t lm_ask(struct lm *lm, int64_t token) {
    if (!lm->by_asking) {
        if (token >= lm->nrows) lm->nrows = token + 1;
        return token;
    }
    lm->asked[lm->nrows] = (int32_t)token;
    return lm->nrows++;
}

int32_t lm_chosen(const struct lm *lm, int64_t pick) {
    return lm->picks.next[pick];
}

int64_t lm_pick_in(const struct lm *lm, int64_t step, int64_t pick) {
    return step * lm->max_rows + pick;
}

void lm_repeat(struct lm *lm, int64_t n) {
    lm->steps = n;
}

void lm_deal(struct lm *lm, int64_t slot, const int32_t *pages, int64_t n) {
    int32_t *row = lm->table + slot * lm->row;
    size_t bytes = (size_t)n * sizeof *row;
    if (!n || memcmp(row, pages, bytes) == 0) return;
    memcpy(row, pages, bytes);
    lm->table_sent = false;
}

static bool copy_row(struct lm *lm, bool states, int64_t to, int64_t from, char *err) {
    const struct lm_ahead *ahead = lm->kernel->ahead;
    char prefix[LM_NAME];
    lm_named(lm, "", prefix);
    return (!ahead || ahead->copy(ahead->user, states, (int32_t)to, (int32_t)from, err)) &&
           lm_copy_in(lm->kernel->model, lm->kernel->session, prefix, states, to, from, err);
}

bool lm_copy_page(struct lm *lm, int32_t to, int32_t from, char *err) {
    return copy_row(lm, false, to, from, err);
}

bool lm_copy_states(struct lm *lm, int64_t to, int64_t from, char *err) {
    return copy_row(lm, true, to, from, err);
}

static int64_t at_least_one(int64_t n) {
    return n > 0 ? n : 1;
}

static bool bind_masks(struct lm *lm, char *err) {
    struct lm_picks *p = &lm->picks;
    int64_t n = at_least_one(p->nmasks);
    return lm_set_dim(lm, "MASKS", n, err) && lm_bind(lm, "mask", p->masks, n * p->words, err);
}

static bool bind_reach(struct lm *lm, char *err) {
    const struct lm_picks *p = &lm->picks;
    bool few = p->most_few > 0, blocks = p->most_blocks > 0;
    return (!few || lm_set_dim(lm, "FEW", p->few, err)) &&
           (!blocks ||
            (lm_set_dim(lm, "BLOCKS", p->blocks, err) && lm_set_dim(lm, "TURNS", p->turns, err)));
}

static bool bind_picks(struct lm *lm, char *err) {
    struct lm_picks *p = &lm->picks;
    p->chosen = p->all ? p->n : p->n ? lm->submitted_rows : 0;
    if (!p->all) return true;
    int64_t n = at_least_one(p->n), changes = at_least_one(p->nchanges);
    lm_picks_pad(p);
    return bind_reach(lm, err) && lm_set_dim(lm, "PICKS", n, err) &&
           lm_set_dim(lm, "CHANGES", changes, err) && lm_bind(lm, "pick", p->of, n * 3, err) &&
           lm_bind(lm, "pick_how", p->how, n * 4, err) &&
           lm_bind(lm, "change", p->change, changes * 2, err) &&
           lm_bind(lm, "change_by", p->change_by, changes * 4, err) && bind_masks(lm, err);
}

/* A launch has one row at least: that of its first token, where none is requested. */
static bool bind_rows(struct lm *lm, char *err) {
    lm->submitted_rows = lm->nrows;
    if (!lm->by_asking) return true;
    int64_t n = at_least_one(lm->nrows);
    if (!lm->nrows) lm->asked[0] = 0;
    return lm_set_dim(lm, "ROWS", n, err) && lm_bind(lm, "asked", lm->asked, n, err);
}

static bool bind_steps(struct lm *lm, char *err) {
    lm->submitted_steps = lm->steps;
    lm->steps = 1;
    return !lm->max_steps || lm_set_dim(lm, "STEPS", lm->submitted_steps, err);
}

/* All that a launch reads of N tokens. */
static bool bind_part(struct lm *lm, int64_t n, char *err) {
    if (lm->flat) return flat_bind(lm, n, err);
    if (!lm_set_dim(lm, "N", n, err) || !lm_bind(lm, tokens_of(lm), lm->tokens, n, err) ||
        !lm_bind(lm, positions_of(lm), lm->positions, n, err) || !bind_steps(lm, err) ||
        !lm_bind(lm, "slots", lm->slot_of, n, err) || !bind_rows(lm, err) || !bind_picks(lm, err))
        return false;
    if (lm->row && !lm->table_sent)
        lm->table_sent = lm_bind(lm, "table", lm->table, lm->slots * lm->row, err);
    return !lm->row || lm->table_sent;
}

static bool submit_part(struct lm *lm, char *err) {
    int64_t n = lm->submitted = lm->n;
    lm->n = 0;
    lm->taken = !n;
    if (lm->part && !lm_ok(etrt_select(lm->kernel->session, lm->part, n > 0), lm->part, err))
        return false;
    return !n || bind_part(lm, n, err);
}

bool lm_submit(struct lm_kernel *k, char *err) {
    double began = lm_now();
    bool good = true;
    for (int i = 0; i < k->n; i++)
        good = submit_part(&k->models[i], err) && good;
    good = good && (!k->ahead || k->ahead->launch(k->ahead->user, k, err)) &&
           lm_ok(etrt_submit(k->session), "launch", err);
    k->spent = (struct lm_spent){.submit = lm_now() - began};
    return good;
}

static bool read_part(struct lm *lm, const char *tensor, int64_t first, int64_t count, void *out,
                      int64_t bytes, char *err) {
    char name[LM_NAME];
    lm->read += bytes;
    return lm_ok(etrt_read_part(lm->kernel->session, lm_named(lm, tensor, name), 0, first, count,
                                out, (size_t)bytes),
                 name, err);
}

static bool read_all(struct lm *lm, char *err) {
    struct lm_picks *p = &lm->picks;
    int64_t n = lm->submitted ? lm->submitted_rows : 0;
    int64_t bytes = lm->width * (int64_t)sizeof *lm->logits;
    lm->read = 0;
    if (n && !lm->by_row && !read_part(lm, lm->result, 0, n, lm->logits, n * bytes, err))
        return false;
    if (!lm->submitted || !p->chosen) return true;
    if (lm->max_steps)
        return read_part(lm, "likeliest", 0, lm->submitted_steps, p->next,
                         lm->submitted_steps * lm->max_rows * (int64_t)sizeof *p->next, err);
    return read_part(lm, p->all ? "next" : "likeliest", 0, p->chosen, p->next,
                     p->chosen * (int64_t)sizeof *p->next, err);
}

static bool read_outputs(struct lm *lm, char *err) {
    double began = lm_now();
    bool good = read_all(lm, err);
    lm->kernel->spent.read += lm_now() - began;
    return good;
}

bool lm_read_row(struct lm *lm, int64_t row, float *out, char *err) {
    double began = lm_now();
    bool good =
        read_part(lm, lm->result, row, 1, out, lm->width * (int64_t)sizeof *lm->logits, err);
    lm->kernel->spent.read += lm_now() - began;
    return good;
}

/* What goes wrong here goes wrong in lm_wait again, which says so. */
bool lm_take(struct lm *lm) {
    char err[LLM_ERR];
    if (!lm->taken && lm->part && etrt_wait_model(lm->kernel->session, lm->part, 0) == ETRT_OK)
        lm->taken = read_outputs(lm, err);
    return lm->taken;
}

/* A launch whose waits ran out, or that was cancelled, leaves the session usable; whatever else
 * fails does not for sure. */
static enum lm_result ended(struct lm_kernel *k, etrt_status status, char *err) {
    if (!lm_ok(status, "launch", err))
        return status == ETRT_WAIT ? LM_ABORTED : status == ETRT_CANCELLED ? LM_CANCELLED : LM_LOST;
    for (int i = 0; i < k->n; i++)
        if (!k->models[i].taken && !read_outputs(&k->models[i], err)) return LM_LOST;
    /* It is missing where it was not requested. */
    if (etrt_launch_seconds(k->session, &k->spent.device) != ETRT_OK) k->spent.device = 0;
    return LM_DONE;
}

enum lm_result lm_wait(struct lm_kernel *k, char *err) {
    return ended(k, etrt_wait(k->session), err);
}

bool lm_wait_for(struct lm_kernel *k, double seconds, enum lm_result *out, char *err) {
    etrt_status status = etrt_wait_for(k->session, seconds);
    if (status == ETRT_TIMEOUT) return false;
    *out = ended(k, status, err);
    return true;
}

enum lm_result lm_run(struct lm_kernel *k, char *err) {
    return lm_submit(k, err) ? lm_wait(k, err) : LM_LOST;
}

/* ---- a kernel that stays ---- */

bool lm_stay(struct lm_kernel *k, char *err) {
    if (k->ahead) return llm_fail(err, "--resident: a kernel of some layers cannot stay");
    return lm_ok(etrt_residence_open(k->session, ETRT_RANGES_ELASTIC, &k->residence), "--resident",
                 err);
}

bool lm_post(struct lm *lm, char *err) {
    struct lm_kernel *k = lm->kernel;
    double began = lm_now();
    int64_t n = lm->submitted = lm->n;
    lm->n = 0;
    bool good =
        bind_part(lm, n, err) && lm_ok(etrt_residence_post(k->residence, lm->part), "step", err);
    k->spent = (struct lm_spent){.submit = lm_now() - began};
    return good;
}

bool lm_wait_post(struct lm *lm, double seconds, enum lm_result *out, char *err) {
    etrt_status status = etrt_residence_done(lm->kernel->residence, lm->part, seconds);
    if (status == ETRT_TIMEOUT) return false;
    if (lm_ok(status, "step", err))
        *out = read_outputs(lm, err) ? LM_DONE : LM_LOST;
    else
        *out = status == ETRT_WAIT ? LM_ABORTED : LM_LOST;
    return true;
}

void lm_cancel(struct lm_kernel *k) {
    etrt_cancel(k->session);
}

bool lm_reset(struct lm_kernel *k, char *err) {
    return (!k->ahead || k->ahead->reset(k->ahead->user, err)) &&
           lm_ok(etrt_session_reset(k->session), "reset", err);
}

double lm_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
