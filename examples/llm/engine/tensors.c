#include "examples/llm/engine/tensors.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool lm_ok(etrt_status status, const char *doing, char *err) {
    if (status == ETRT_OK) return true;
    return llm_fail(err, "%s: %s: %s", doing, etrt_status_text(status), etrt_last_error());
}

const char *lm_named(const struct lm *lm, const char *name, char out[LM_NAME]) {
    snprintf(out, LM_NAME, "%s%s%s", lm->part ? lm->part : "", lm->part ? "." : "", name);
    return out;
}

/* The number of the tensor NAME of that kind, and what it is; -1: there is none. */
static int find(const struct lm *lm, etrt_kind kind, const char *name, etrt_tensor_info *out) {
    char full[LM_NAME];
    lm_named(lm, name, full);
    for (int t = 0; etrt_model_tensor(lm->kernel->model, t, out) == ETRT_OK; t++)
        if (out->kind == kind && !strcmp(out->name, full)) return t;
    return -1;
}

bool lm_has(const struct lm *lm, etrt_kind kind, etrt_dtype type, int rank, const char *name) {
    etrt_tensor_info info;
    return find(lm, kind, name, &info) >= 0 && info.dtype == type && info.rank == rank;
}

bool lm_has_input(const struct lm *lm, const char *name, int rank) {
    return lm_has(lm, ETRT_INPUT, ETRT_I32, rank, name);
}

bool lm_has_state(const struct lm *lm, const char *name) {
    etrt_tensor_info info;
    return find(lm, ETRT_STATE, name, &info) >= 0;
}

/* What layers carry along texts, as etimport calls it. */
static const char *const carried[] = {"conv", "rule", "ssm"};

static bool is_carried(const char *name) {
    for (size_t i = 0; i < sizeof carried / sizeof *carried; i++)
        if (!strcmp(name, carried[i])) return true;
    return false;
}

const char *lm_carried(const struct lm *lm, int i) {
    for (size_t k = 0; k < sizeof carried / sizeof *carried; k++)
        if (lm_has_state(lm, carried[k]) && !i--) return carried[k];
    return NULL;
}

bool lm_copy_in(etrt_model *m, etrt_session *s, const char *prefix, bool states, int64_t to,
                int64_t from, char *err) {
    size_t n = strlen(prefix);
    etrt_tensor_info info;
    for (int t = 0; etrt_model_tensor(m, t, &info) == ETRT_OK; t++) {
        if (info.kind != ETRT_STATE || strncmp(info.name, prefix, n) != 0) continue;
        bool carries = is_carried(info.name + n);
        if (carries != states || (!carries && info.rank != LM_CACHE_RANK)) continue;
        if (!lm_ok(etrt_copy_part(s, s, info.name, !carries, to, from, 1), info.name, err))
            return false;
    }
    return true;
}

int64_t lm_weight_rows(const struct lm *lm, const char *name) {
    etrt_tensor_info info;
    int64_t shape[ETRT_MAX_RANK], bytes;
    int t = find(lm, ETRT_WEIGHT, name, &info);
    if (t < 0 || info.rank != 2 ||
        etrt_model_shape(lm->kernel->model, t, NULL, shape, &bytes) != ETRT_OK)
        return 0;
    return shape[0];
}

etrt_dim_info lm_dim(const struct lm *lm, const char *dim) {
    etrt_dim_info info;
    char name[LM_NAME];
    lm_named(lm, dim, name);
    for (int i = 0; etrt_model_dim(lm->kernel->model, i, &info) == ETRT_OK; i++)
        if (!strcmp(info.name, name)) return info;
    return (etrt_dim_info){0};
}

bool lm_set_dim(struct lm *lm, const char *dim, int64_t n, char *err) {
    const struct lm_ahead *ahead = lm->kernel->ahead;
    char name[LM_NAME];
    if (ahead && !ahead->dim(ahead->user, dim, n, err)) return false;
    return lm_ok(etrt_set_dim(lm->kernel->session, lm_named(lm, dim, name), n), name, err);
}

bool lm_shape(const struct lm *lm, const char *tensor, int64_t out[ETRT_MAX_RANK], int *rank,
              char *err) {
    char name[LM_NAME];
    return lm_ok(etrt_shape(lm->kernel->session, lm_named(lm, tensor, name), out, rank), name, err);
}

/* What the session was given of an input, or a place for it; NULL: none is left. */
static struct lm_sent *sent_of(struct lm *lm, const char *tensor) {
    struct lm_sent *s = lm->sent;
    for (; s < lm->sent + LM_INPUTS && s->name; s++)
        if (!strcmp(s->name, tensor)) return s;
    if (s == lm->sent + LM_INPUTS) return NULL;
    s->name = tensor;
    return s;
}

/* Notes N numbers, unless they are many: then copying them is not what takes time. */
static void note(struct lm_sent *s, const void *data, int64_t n) {
    enum { MOST = 1 << 13 };
    if (n > MOST) return;
    void *copy = realloc(s->data, (size_t)n * 4);
    if (!copy) return;
    memcpy(copy, data, (size_t)n * 4);
    s->data = copy;
    s->n = n;
}

bool lm_bind(struct lm *lm, const char *tensor, const void *data, int64_t n, char *err) {
    const struct lm_ahead *ahead = lm->kernel->ahead;
    struct lm_sent *s = ahead ? NULL : sent_of(lm, tensor);
    char name[LM_NAME];
    if (ahead && !ahead->input(ahead->user, tensor, data, (size_t)n * 4, err)) return false;
    if (s && s->n == n && !memcmp(s->data, data, (size_t)n * 4)) return true;
    if (s) s->n = 0;
    if (!lm_ok(etrt_bind(lm->kernel->session, lm_named(lm, tensor, name), data, (size_t)n * 4),
               name, err))
        return false;
    if (s) note(s, data, n);
    return true;
}

void lm_forget_inputs(struct lm *lm) {
    for (int i = 0; i < LM_INPUTS; i++)
        free(lm->sent[i].data);
}
