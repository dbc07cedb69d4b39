/* Weights: checkpoint tensors into device memory, stacked where the model loops over layers. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

etrt_status etrt_weights_alloc(etrt_model *m) {
    const struct etrt_manifest *mf = &m->manifest;
    m->weights = calloc((size_t)mf->ntensors + 1, sizeof *m->weights);
    m->weight_given = calloc((size_t)mf->ntensors + 1, sizeof *m->weight_given);
    if (!m->weights || !m->weight_given) return etrt_fail(ETRT_NO_MEMORY, "out of host memory");
    for (int i = 0; i < mf->ntensors; i++) {
        const struct etrt_tensor *t = &mf->tensors[i];
        if (t->kind != ETRT_WEIGHT) continue;
        etrt_status st = etrt_mem_alloc(m->device, ETRT_ON_DEVICE, (uint64_t)t->max_bytes, t->name,
                                        &m->weights[i]);
        if (st != ETRT_OK) return st;
    }
    return ETRT_OK;
}

/* The checkpoint's name of one slice: every {loop} replaced by its index. */
static bool replace_loops(const struct etrt_tensor *t, const int64_t *index, char *out,
                          size_t bytes) {
    size_t used = 0;
    for (const char *p = t->source; *p;) {
        int n = -1;
        if (*p == '{') {
            size_t length = strcspn(p, "}");
            for (int k = 0; k < t->nloops; k++)
                if (strlen(t->loops[k].name) == length - 1 &&
                    memcmp(t->loops[k].name, p + 1, length - 1) == 0)
                    n = snprintf(out + used, bytes - used, "%lld",
                                 (long long)(t->loops[k].lo + index[k]));
            p += length + 1;
        } else {
            size_t length = strcspn(p, "{");
            n = snprintf(out + used, bytes - used, "%.*s", (int)length, p);
            p += length;
        }
        if (n < 0 || (size_t)n >= bytes - used) return false;
        used += (size_t)n;
    }
    out[used] = 0;
    return true;
}

struct slices {
    const struct etrt_tensor *tensor;
    int64_t shape[ETRT_MAX_RANK];
    int64_t count, bytes; /* slices, and bytes of each */
};

static etrt_status describe_slices(const struct etrt_tensor *t, struct slices *out) {
    int64_t total;
    out->tensor = t;
    etrt_status st = etrt_tensor_shape(t, NULL, out->shape, &total);
    out->count = 1;
    for (int k = 0; k < t->nloops; k++)
        out->count *= out->shape[k];
    out->bytes = out->count ? total / out->count : 0;
    return st;
}

etrt_status etrt_slice_name(const struct etrt_tensor *t, int64_t slice, char *out, size_t bytes) {
    struct slices s;
    int64_t index[ETRT_MAX_RANK];
    etrt_status st = describe_slices(t, &s);
    if (st != ETRT_OK) return st;
    if (slice < 0 || slice >= s.count)
        return etrt_fail(ETRT_RANGE, "weight %s has %lld slices", t->name, (long long)s.count);
    for (int k = t->nloops; k-- > 0; slice /= s.shape[k])
        index[k] = slice % s.shape[k];
    if (replace_loops(t, index, out, bytes)) return ETRT_OK;
    return etrt_fail(ETRT_FORMAT, "weight %s: its source name is too long", t->name);
}

/* Find slice NUMBER in the checkpoint and check what it is. */
static etrt_status find_slice(const struct slices *s, int64_t number, const struct etrt_st *ck,
                              const char *path, const struct etrt_st_tensor **out) {
    const struct etrt_tensor *t = s->tensor;
    char name[1024], want[256], have[256];
    etrt_status st = etrt_slice_name(t, number, name, sizeof name);
    if (st != ETRT_OK) return st;
    const int64_t *shape = s->shape + t->nloops;
    int rank = t->rank - t->nloops;
    etrt_st_shape_text(rank, shape, want, sizeof want);
    const struct etrt_st_tensor *found = etrt_st_find(ck, name);
    if (!found)
        return etrt_fail(ETRT_NOT_FOUND, "%s: no tensor %s (weight %s, %s %s)", path, name, t->name,
                         etrt_dtype_safetensors(t->dtype), want);
    bool same = found->rank == rank && strcmp(found->dtype, etrt_dtype_safetensors(t->dtype)) == 0;
    for (int d = 0; same && d < rank; d++)
        same = found->shape[d] == shape[d];
    if (!same)
        return etrt_fail(ETRT_MISMATCH, "%s: tensor %s is %s %s, weight %s must be %s %s",
                         etrt_st_path(ck, found), name, found->dtype,
                         etrt_st_shape_text(found->rank, found->shape, have, sizeof have), t->name,
                         etrt_dtype_safetensors(t->dtype), want);
    *out = found;
    return ETRT_OK;
}

/* Bytes of a model's weights, and how many have left the host. */
struct progress {
    uint64_t done, total;
};

static etrt_status send(etrt_model *m, char *to, const char *from, uint64_t bytes,
                        struct progress *p) {
    enum { PIECE = 64 << 20 }; /* between one word of progress and the next */
    etrt_status st = ETRT_OK;
    for (uint64_t at = 0, n; st == ETRT_OK && at < bytes; at += n) {
        n = bytes - at < PIECE ? bytes - at : PIECE;
        st = etrt_mem_send(m->device, to + at, from + at, n);
        p->done += n;
        if (st == ETRT_OK && m->tell && p->done < p->total)
            m->tell(m->tell_user, p->done, p->total);
    }
    return st;
}

/* Check, or when COPY check and copy, every slice of weight INDEX. */
static etrt_status visit(etrt_model *m, int index, const struct etrt_st *ck, const char *path,
                         struct progress *copy) {
    struct slices s;
    const struct etrt_st_tensor *found = NULL;
    etrt_status st = describe_slices(&m->manifest.tensors[index], &s);
    for (int64_t k = 0; st == ETRT_OK && k < s.count; k++) {
        st = find_slice(&s, k, ck, path, &found);
        if (st == ETRT_OK && copy)
            st = send(m, (char *)m->weights[index] + k * s.bytes, found->data, found->bytes, copy);
    }
    return st;
}

bool etrt_weights_loaded(const etrt_model *m, int model) {
    const struct etrt_manifest *mf = &m->manifest;
    for (int i = 0; i < mf->ntensors; i++)
        if (mf->tensors[i].kind == ETRT_WEIGHT && mf->tensors[i].model == model &&
            !m->weight_given[i])
            return false;
    return true;
}

static etrt_status load_from(etrt_model *m, int model, const char *path) {
    struct etrt_st *ck;
    char err[ETRT_ST_ERR];
    const struct etrt_manifest *mf = &m->manifest;
    etrt_status st = etrt_device_check(m->device);
    if (st != ETRT_OK) return st;
    if (access(path, R_OK) != 0) return etrt_fail(ETRT_IO, "%s: %s", path, strerror(errno));
    if (!etrt_st_open(path, &ck, err, sizeof err)) return etrt_fail(ETRT_FORMAT, "%s", err);
    /* All is checked before anything is copied, so that a bad file leaves the weights as they
     * were. */
    struct progress p = {0};
    for (int copy = 0; copy < 2; copy++)
        for (int i = 0; st == ETRT_OK && i < mf->ntensors; i++) {
            if (mf->tensors[i].kind != ETRT_WEIGHT || mf->tensors[i].model != model) continue;
            if (!copy) p.total += (uint64_t)mf->tensors[i].max_bytes;
            st = visit(m, i, ck, path, copy ? &p : NULL);
        }
    if (p.done) {
        etrt_status settled = etrt_mem_settle(m->device);
        if (st == ETRT_OK) st = settled;
    }
    etrt_st_close(ck);
    if (st != ETRT_OK) return st;
    for (int i = 0; i < mf->ntensors; i++)
        m->weight_given[i] |= mf->tensors[i].kind == ETRT_WEIGHT && mf->tensors[i].model == model;
    if (m->tell) m->tell(m->tell_user, p.total, p.total);
    return ETRT_OK;
}

etrt_status etrt_model_progress(etrt_model *m, etrt_progress tell, void *user) {
    if (!m) return etrt_fail(ETRT_INVALID, "etrt_model_progress: no model");
    m->tell = tell;
    m->tell_user = user;
    return ETRT_OK;
}

etrt_status etrt_model_weights_file(etrt_model *m, const char *path) {
    if (!m || !path) return etrt_fail(ETRT_INVALID, "etrt_model_weights_file: NULL argument");
    if (m->manifest.nmodels)
        return etrt_fail(ETRT_INVALID, "%s holds %d models: name the one whose weights %s has",
                         m->path, m->manifest.nmodels, path);
    return load_from(m, 0, path);
}

etrt_status etrt_model_weights_of(etrt_model *m, const char *name, const char *path) {
    if (!m || !name || !path)
        return etrt_fail(ETRT_INVALID, "etrt_model_weights_of: NULL argument");
    int model;
    etrt_status st = etrt_mix_find(&m->manifest, name, &model);
    return st == ETRT_OK ? load_from(m, model, path) : st;
}

etrt_status etrt_model_weight(etrt_model *m, const char *name, const void *data, size_t bytes) {
    if (!m || !name || !data) return etrt_fail(ETRT_INVALID, "etrt_model_weight: NULL argument");
    etrt_status st = etrt_device_check(m->device);
    if (st != ETRT_OK) return st;
    const struct etrt_manifest *mf = &m->manifest;
    int i = etrt_manifest_tensor(mf, name);
    if (i < 0) return etrt_fail(ETRT_NOT_FOUND, "model %s has no tensor %s", mf->model, name);
    const struct etrt_tensor *t = &mf->tensors[i];
    if (t->kind != ETRT_WEIGHT)
        return etrt_fail(ETRT_INVALID, "etrt_model_weight: %s is no weight but %s", name,
                         etrt_kind_name(t->kind));
    if (bytes != (uint64_t)t->max_bytes)
        return etrt_fail(ETRT_MISMATCH, "weight %s: %zu bytes given, %lld needed", name, bytes,
                         (long long)t->max_bytes);
    st = etrt_mem_write(m->device, m->weights[i], data, bytes);
    m->weight_given[i] |= st == ETRT_OK;
    return st;
}
