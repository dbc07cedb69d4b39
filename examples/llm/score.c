/* score.c - the logits after every token of given sequences.
 *
 * The file of tokens holds either input_ids [B, T], answered by logits [B, T, V], or sequences of
 * different lengths as tokens.0, tokens.1, ..., answered by logits.0, logits.1, ... */
#include "examples/llm/base/error.h"
#include "examples/llm/feed.h"
#include "examples/llm/options.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RAGGED = 4096 };

struct sequence {
    const char *data; /* of the file: i32 or i64 */
    int64_t length;
    int64_t first; /* row of ->logits where this sequence's begin */
};

struct run {
    const struct options *o;
    struct lm_kernel kernel;
    struct lm *lm; /* its only decoder */
    struct etrt_st *file;
    bool wide;   /* tokens are i64 */
    bool ragged; /* tokens.0, tokens.1, ... */
    int64_t rows;
    struct sequence *sequences;
    int64_t n;
    float *logits; /* [rows, V] */
};

static int64_t token_at(const struct run *r, const struct sequence *s, int64_t i) {
    int64_t wide;
    int32_t narrow;
    if (r->wide) {
        memcpy(&wide, s->data + i * 8, sizeof wide);
        return wide;
    }
    memcpy(&narrow, s->data + i * 4, sizeof narrow);
    return narrow;
}

static void add_sequence(struct run *r, const void *data, int64_t length) {
    struct sequence *s = &r->sequences[r->n++];
    *s = (struct sequence){.data = data, .length = length, .first = r->rows};
    r->rows += length;
}

static bool check_tensor(struct run *r, const struct etrt_st_tensor *t, int rank) {
    char shape[128];
    bool wide = !strcmp(t->dtype, "I64");
    if (!wide && strcmp(t->dtype, "I32"))
        return llm_complain("%s: \"%s\" has type %s; expected I32 or I64", r->o->tokens, t->name,
                            t->dtype);
    if (t->rank != rank)
        return llm_complain("%s: \"%s\" has shape %s; expected %s", r->o->tokens, t->name,
                            etrt_st_shape_text(t->rank, t->shape, shape, sizeof shape),
                            rank == 2 ? "[B, T]" : "[T]");
    if (r->n && wide != r->wide)
        return llm_complain("%s: \"%s\" has another type than the ones before", r->o->tokens,
                            t->name);
    r->wide = wide;
    return true;
}

static bool read_matrix(struct run *r, const struct etrt_st_tensor *t) {
    if (!check_tensor(r, t, 2)) return false;
    int64_t count = t->shape[0], length = t->shape[1];
    r->sequences = calloc((size_t)count + 1, sizeof *r->sequences);
    if (!r->sequences) return llm_complain("out of memory");
    for (int64_t i = 0; length && i < count; i++)
        add_sequence(r, (const char *)t->data + i * length * (r->wide ? 8 : 4), length);
    return true;
}

static bool read_ragged(struct run *r) {
    r->ragged = true;
    r->sequences = calloc(MAX_RAGGED, sizeof *r->sequences);
    if (!r->sequences) return llm_complain("out of memory");
    for (char name[32]; r->n < MAX_RAGGED;) {
        snprintf(name, sizeof name, "tokens.%lld", (long long)r->n);
        const struct etrt_st_tensor *t = etrt_st_find(r->file, name);
        if (!t) break;
        if (!check_tensor(r, t, 1)) return false;
        add_sequence(r, t->data, t->shape[0]);
    }
    return r->n ||
           llm_complain("%s: neither \"input_ids\" nor \"tokens.0\" is there", r->o->tokens);
}

static bool check_tokens(const struct run *r) {
    for (int64_t i = 0; i < r->n; i++) {
        const struct sequence *s = &r->sequences[i];
        if (s->length > r->lm->context)
            return llm_complain("%s: sequence %lld has %lld tokens; the model keeps %lld",
                                r->o->tokens, (long long)i, (long long)s->length,
                                (long long)r->lm->context);
        for (int64_t k = 0; k < s->length; k++) {
            int64_t token = token_at(r, s, k);
            if (token < 0 || token >= r->lm->vocab)
                return llm_complain("%s: sequence %lld, position %lld: token %lld is not in the "
                                    "vocabulary of %lld",
                                    r->o->tokens, (long long)i, (long long)k, (long long)token,
                                    (long long)r->lm->vocab);
        }
    }
    return true;
}

static bool allocate(struct run *r) {
    size_t count, bytes;
    if (__builtin_mul_overflow((size_t)r->rows, (size_t)r->lm->vocab, &count) ||
        __builtin_mul_overflow(count, sizeof *r->logits, &bytes) || bytes > PTRDIFF_MAX)
        return llm_complain("%s: too many tokens", r->o->tokens);
    r->logits = malloc(bytes + 1);
    return r->logits || llm_complain("out of memory for %zu bytes of logits", bytes);
}

static int64_t sequence_length(void *user, int64_t i) {
    const struct run *r = user;
    return r->sequences[i].length;
}

static int32_t sequence_token(void *user, int64_t i, int64_t position) {
    const struct run *r = user;
    return (int32_t)token_at(r, &r->sequences[i], position);
}

static void keep_row(void *user, int64_t i, int64_t position, const float *logits) {
    struct run *r = user;
    memcpy(r->logits + (r->sequences[i].first + position) * r->lm->vocab, logits,
           (size_t)r->lm->vocab * sizeof *logits);
}

static bool write_logits(const struct run *r) {
    char err[ETRT_ST_ERR];
    size_t count = r->ragged ? (size_t)r->n : 1;
    struct etrt_st_tensor *t = calloc(count, sizeof *t);
    char(*names)[32] = calloc(count, sizeof *names);
    bool ok = t && names;
    if (!ok) llm_complain("out of memory");
    for (size_t i = 0; ok && i < count; i++) {
        const struct sequence *s = &r->sequences[i];
        int64_t rows = r->ragged ? s->length : r->rows;
        snprintf(names[i], sizeof names[i], r->ragged ? "logits.%zu" : "logits", i);
        t[i] = (struct etrt_st_tensor){.name = names[i], .dtype = "F32"};
        t[i].data = r->logits + (r->ragged ? s->first : 0) * r->lm->vocab;
        t[i].bytes = (size_t)(rows * r->lm->vocab) * sizeof *r->logits;
        if (r->ragged) {
            t[i].rank = 2;
            t[i].shape[0] = rows;
        } else {
            const struct etrt_st_tensor *in = etrt_st_find(r->file, "input_ids");
            t[i].rank = 3;
            t[i].shape[0] = in->shape[0];
            t[i].shape[1] = in->shape[1];
        }
        t[i].shape[t[i].rank - 1] = r->lm->vocab;
    }
    if (ok && !etrt_st_write(r->o->out, t, count, err, sizeof err)) ok = llm_complain("%s", err);
    free(t);
    free(names);
    return ok;
}

static bool open_model(struct run *r) {
    char err[LLM_ERR];
    return lm_open_only(&r->kernel, r->o->kernel, r->o->model, r->o->device, r->o->expert_cache,
                        &r->lm, err) ||
           llm_complain("%s", err);
}

static bool score_all(struct run *r) {
    char err[ETRT_ST_ERR];
    if (!etrt_st_open(r->o->tokens, &r->file, err, sizeof err)) return llm_complain("%s", err);
    const struct etrt_st_tensor *ids = etrt_st_find(r->file, "input_ids");
    if (!(ids ? read_matrix(r, ids) : read_ragged(r)) || !open_model(r) || !check_tokens(r) ||
        !allocate(r))
        return false;
    struct feed f = {.lm = r->lm,
                     .chunk = r->o->chunk,
                     .batch = r->o->batch,
                     .count = r->n,
                     .user = r,
                     .length = sequence_length,
                     .token = sequence_token,
                     .row = keep_row};
    char why[LLM_ERR];
    if (!feed_run(&f, why)) return llm_complain("%s", why);
    if (!write_logits(r)) return false;
    feed_tell(&f);
    return true;
}

bool score(const struct options *o) {
    struct run r = {.o = o};
    bool ok = score_all(&r);
    free(r.sequences);
    free(r.logits);
    etrt_st_close(r.file);
    lm_close(&r.kernel);
    return ok;
}
