/* Dims of a session, and its tensors: bound, copied in and out, whole and in part. */
#include "runtime/etrt/residence.h"

#include "runtime/etrt/base/error.h"

#include <string.h>

etrt_status etrt_session_reset(etrt_session *s) {
    etrt_status st = etrt_session_idle(s, "etrt_session_reset");
    for (int i = 0; st == ETRT_OK && i < s->model->manifest.ntensors; i++) {
        const struct etrt_tensor *t = &s->model->manifest.tensors[i];
        if (t->kind == ETRT_STATE)
            st = etrt_mem_fill(s->model->device, s->tensors[i], 0, (uint64_t)t->max_bytes);
    }
    return st;
}

etrt_status etrt_dim_check(const struct etrt_symbol *dim, int64_t value) {
    return value >= dim->lo && value <= dim->hi
               ? ETRT_OK
               : etrt_fail(ETRT_RANGE, "dim %s = %lld is outside %lld..%lld", dim->name,
                           (long long)value, (long long)dim->lo, (long long)dim->hi);
}

etrt_status etrt_set_dim(etrt_session *s, const char *name, int64_t value) {
    int i = s && name ? etrt_manifest_symbol(&s->model->manifest, name) : -1;
    etrt_status st =
        i < 0 ? etrt_session_idle(s, "etrt_set_dim")
              : etrt_session_free(s, "etrt_set_dim", s->model->manifest.symbols[i].model);
    if (st != ETRT_OK) return st;
    if (i < 0)
        return etrt_fail(ETRT_NOT_FOUND, "model %s has no dim %s", s->model->manifest.model,
                         name ? name : "(null)");
    st = etrt_dim_check(&s->model->manifest.symbols[i], value);
    if (st != ETRT_OK) return st;
    s->dims[i] = value;
    s->dim_set[i] = true;
    return ETRT_OK;
}

/* A dim that a shape uses and that is not set, or -1. */
static int missing_dim(const etrt_session *s, const struct etrt_tensor *t) {
    for (int d = 0; d < t->rank; d++)
        for (int k = 0; k < t->shape[d].count; k++) {
            const struct etrt_expr_step *step = &t->shape[d].steps[k];
            if (step->op == ETRT_EXPR_SYMBOL && !s->dim_set[step->value]) return (int)step->value;
        }
    return -1;
}

etrt_status etrt_tensor_find(const struct etrt_manifest *mf, const char *name, int *out) {
    *out = name ? etrt_manifest_tensor(mf, name) : -1;
    return *out >= 0 ? ETRT_OK
                     : etrt_fail(ETRT_NOT_FOUND, "model %s has no tensor %s", mf->model,
                                 name ? name : "(null)");
}

etrt_status etrt_session_tensor(const etrt_session *s, const char *name, int *out) {
    return etrt_tensor_find(&s->model->manifest, name, out);
}

etrt_status etrt_session_now(const etrt_session *s, const struct etrt_tensor *t,
                             int64_t shape[ETRT_MAX_RANK], int64_t *bytes) {
    int dim = missing_dim(s, t);
    if (dim >= 0) {
        const struct etrt_symbol *sym = &s->model->manifest.symbols[dim];
        return etrt_fail(ETRT_INVALID, "tensor %s: dim %s (%lld..%lld) is not set", t->name,
                         sym->name, (long long)sym->lo, (long long)sym->hi);
    }
    etrt_status st = etrt_tensor_shape(t, s->dims, shape, bytes);
    if (st == ETRT_OK && *bytes > t->max_bytes)
        st = etrt_fail(ETRT_RANGE, "tensor %s: %lld bytes at these dims, the model allows %lld",
                       t->name, (long long)*bytes, (long long)t->max_bytes);
    return st;
}

etrt_status etrt_shape(etrt_session *s, const char *name, int64_t out_shape[ETRT_MAX_RANK],
                       int *out_rank) {
    int i;
    int64_t bytes;
    if (!s || !out_shape || !out_rank) return etrt_fail(ETRT_INVALID, "etrt_shape: NULL argument");
    memset(out_shape, 0, ETRT_MAX_RANK * sizeof *out_shape);
    *out_rank = 0;
    etrt_status st = etrt_session_tensor(s, name, &i);
    if (st != ETRT_OK) return st;
    st = etrt_session_now(s, &s->model->manifest.tensors[i], out_shape, &bytes);
    if (st == ETRT_OK)
        etrt_whole(&s->model->manifest, &s->model->manifest.tensors[i], out_shape, &bytes);
    if (st == ETRT_OK) *out_rank = s->model->manifest.tensors[i].rank;
    return st;
}

etrt_status etrt_bind(etrt_session *s, const char *name, const void *data, size_t bytes) {
    int i;
    int64_t shape[ETRT_MAX_RANK], need;
    etrt_status st = s && s->residence ? ETRT_OK : etrt_session_idle(s, "etrt_bind");
    if (st == ETRT_OK) st = etrt_session_tensor(s, name, &i);
    if (st == ETRT_OK) st = etrt_session_free(s, "etrt_bind", s->model->manifest.tensors[i].model);
    if (st != ETRT_OK) return st;
    const struct etrt_tensor *t = &s->model->manifest.tensors[i];
    if (t->kind != ETRT_INPUT)
        return etrt_fail(ETRT_INVALID, "etrt_bind: %s is no input but %s", name,
                         etrt_kind_name(t->kind));
    need = t->max_bytes;
    bool known = missing_dim(s, t) < 0;
    if (known) st = etrt_session_now(s, t, shape, &need);
    if (st != ETRT_OK) return st;
    if (bytes > (uint64_t)need || (known && bytes != (uint64_t)need))
        return etrt_fail(ETRT_MISMATCH, "input %s: %zu bytes given, %s%lld needed", name, bytes,
                         known ? "" : "at most ", (long long)need);
    if (!data && bytes) return etrt_fail(ETRT_INVALID, "etrt_bind: no data for %s", name);
    /* Of memory of the session's own the host need not know when it has it: launches do. */
    bool now = (s->residence && !etrt_each_has(s)) || s->tensors[i] != s->own[i];
    st = (now ? etrt_mem_write : etrt_mem_send)(s->model->device, s->tensors[i], data, bytes);
    s->bound[i] = st == ETRT_OK;
    s->bound_size[i] = (int64_t)bytes;
    return st;
}

etrt_status etrt_session_read(const etrt_session *s, int index, void *out, const void *from,
                              uint64_t bytes) {
    if (!s->at_host[index] || s->tensors[index] != s->own[index])
        return etrt_mem_read(s->model->device, out, from, bytes);
    if (bytes) memcpy(out, from, bytes);
    return ETRT_OK;
}

/* All of a tensor that is cut, to or from DATA. */
static etrt_status copy_cut(etrt_session *s, const char *call, int i, void *data, size_t bytes,
                            bool write) {
    int64_t shape[ETRT_MAX_RANK], own;
    etrt_status st = etrt_session_now(s, &s->model->manifest.tensors[i], shape, &own);
    if (st != ETRT_OK) return st;
    etrt_whole(&s->model->manifest, &s->model->manifest.tensors[i], shape, &own);
    return etrt_cut_copy(s, call, i, 0, 0, shape[0], data, bytes, write);
}

/* What etrt_read and etrt_write check alike. */
static etrt_status find_to_copy(etrt_session *s, const char *call, const char *name,
                                const void *data, size_t bytes, int *out) {
    int64_t shape[ETRT_MAX_RANK], need;
    etrt_status st = etrt_session_settled(s, call, name);
    if (st == ETRT_OK) st = etrt_session_tensor(s, name, out);
    if (st == ETRT_OK) st = etrt_session_now(s, &s->model->manifest.tensors[*out], shape, &need);
    if (st == ETRT_OK)
        etrt_whole(&s->model->manifest, &s->model->manifest.tensors[*out], shape, &need);
    return st == ETRT_OK ? etrt_bytes_check(call, name, (uint64_t)need, data, bytes) : st;
}

etrt_status etrt_session_readable(const etrt_session *s, const char *call, int index) {
    const struct etrt_tensor *t = &s->model->manifest.tensors[index];
    if (t->kind == ETRT_WEIGHT) return etrt_fail(ETRT_INVALID, "%s: %s is a weight", call, t->name);
    if (t->kind == ETRT_INPUT && !s->bound[index])
        return etrt_fail(ETRT_UNBOUND, "%s: input %s is not bound", call, t->name);
    if (t->kind == ETRT_OUTPUT && !s->written[index])
        return etrt_fail(ETRT_INVALID, "%s: no launch has completed and written output %s", call,
                         t->name);
    return ETRT_OK;
}

etrt_status etrt_session_writable(const etrt_session *s, const char *call, int index) {
    const struct etrt_tensor *t = &s->model->manifest.tensors[index];
    if (t->kind == ETRT_STATE) return ETRT_OK;
    return etrt_fail(ETRT_INVALID, "%s: %s is no state tensor but %s", call, t->name,
                     etrt_kind_name(t->kind));
}

etrt_status etrt_read(etrt_session *s, const char *name, void *out_data, size_t bytes) {
    int i;
    etrt_status st = find_to_copy(s, "etrt_read", name, out_data, bytes, &i);
    if (st == ETRT_OK) st = etrt_session_readable(s, "etrt_read", i);
    if (st == ETRT_OK && s->model->manifest.tensors[i].cut)
        return copy_cut(s, "etrt_read", i, out_data, bytes, false);
    return st == ETRT_OK ? etrt_session_read(s, i, out_data, s->tensors[i], bytes) : st;
}

etrt_status etrt_write(etrt_session *s, const char *name, const void *data, size_t bytes) {
    int i;
    etrt_status st = find_to_copy(s, "etrt_write", name, data, bytes, &i);
    if (st == ETRT_OK) st = etrt_session_writable(s, "etrt_write", i);
    if (st == ETRT_OK && s->model->manifest.tensors[i].cut)
        return copy_cut(s, "etrt_write", i, (void *)(uintptr_t)data, bytes, true);
    return st == ETRT_OK ? etrt_mem_write(s->model->device, s->tensors[i], data, bytes) : st;
}
