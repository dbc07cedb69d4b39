/* Parts of tensors: a range of one axis, in all of the others. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"

#include <string.h>

/* Where a part lies: COUNT runs of BYTES each, PITCH apart. */
struct part {
    char *at;
    uint64_t count, bytes, pitch;
};

etrt_status etrt_axis_check(const struct etrt_tensor *t, const char *call, const int64_t *shape,
                            int axis, int64_t first, int64_t count) {
    if (axis < 0 || axis >= t->rank)
        return etrt_fail(ETRT_RANGE, "%s: %s has %d axes and no axis %d", call, t->name, t->rank,
                         axis);
    if (first < 0 || count < 0 || first > shape[axis] || count > shape[axis] - first)
        return etrt_fail(ETRT_RANGE,
                         "%s: %lld from %lld on is outside axis %d of %s, which has %lld", call,
                         (long long)count, (long long)first, axis, t->name, (long long)shape[axis]);
    return ETRT_OK;
}

static etrt_status find_part(const etrt_session *s, const char *call, int index, int axis,
                             int64_t first, int64_t count, struct part *out) {
    const struct etrt_tensor *t = &s->model->manifest.tensors[index];
    int64_t shape[ETRT_MAX_RANK], bytes;
    etrt_status st = etrt_session_now(s, t, shape, &bytes);
    if (st != ETRT_OK) return st;
    if (axis >= 0 && axis + 1 == t->cut)
        return etrt_fail(ETRT_UNSUPPORTED, "%s: each device has its part of axis %d of %s", call,
                         axis, t->name);
    st = etrt_axis_check(t, call, shape, axis, first, count);
    if (st != ETRT_OK) return st;
    uint64_t inner = etrt_dtype_bytes(t->dtype), outer = 1;
    for (int d = 0; d < t->rank; d++)
        *(d < axis ? &outer : &inner) *= d == axis ? 1 : (uint64_t)shape[d];
    *out = (struct part){.at = (char *)s->tensors[index] + (uint64_t)first * inner,
                         .count = outer,
                         .bytes = (uint64_t)count * inner,
                         .pitch = (uint64_t)shape[axis] * inner};
    /* All of the axis is one run; so are no bytes. */
    if (out->bytes == out->pitch || !bytes) {
        out->bytes *= outer;
        out->count = 1;
    }
    return ETRT_OK;
}

static etrt_status begin(const etrt_session *s, const char *call, const char *name, int *out) {
    etrt_status st = etrt_session_settled(s, call, name);
    return st == ETRT_OK ? etrt_session_tensor(s, name, out) : st;
}

etrt_status etrt_bytes_check(const char *call, const char *name, uint64_t need, const void *data,
                             size_t bytes) {
    if (bytes != need)
        return etrt_fail(ETRT_MISMATCH, "%s: what is asked for of %s has %llu bytes, not %zu", call,
                         name, (unsigned long long)need, bytes);
    if (!data && bytes) return etrt_fail(ETRT_INVALID, "%s: no place given for %s", call, name);
    return ETRT_OK;
}

etrt_status etrt_read_part(etrt_session *s, const char *name, int axis, int64_t first,
                           int64_t count, void *out_data, size_t bytes) {
    static const char call[] = "etrt_read_part";
    int i;
    struct part p;
    etrt_status st = begin(s, call, name, &i);
    if (st == ETRT_OK) st = etrt_session_readable(s, call, i);
    if (st == ETRT_OK && s->model->manifest.tensors[i].cut)
        return etrt_cut_copy(s, call, i, axis, first, count, out_data, bytes, false);
    if (st == ETRT_OK) st = find_part(s, call, i, axis, first, count, &p);
    if (st == ETRT_OK) st = etrt_bytes_check(call, name, p.count * p.bytes, out_data, bytes);
    for (uint64_t k = 0; st == ETRT_OK && k < p.count; k++)
        st = etrt_session_read(s, i, (char *)out_data + k * p.bytes, p.at + k * p.pitch, p.bytes);
    return st;
}

/* Also of an input that is bound: what is bound stays as large as it is. */
static etrt_status writable(const etrt_session *s, const char *call, int i) {
    const struct etrt_tensor *t = &s->model->manifest.tensors[i];
    int64_t shape[ETRT_MAX_RANK], bytes;
    if (t->kind != ETRT_INPUT) return etrt_session_writable(s, call, i);
    etrt_status st = etrt_session_readable(s, call, i);
    if (st == ETRT_OK) st = etrt_session_now(s, t, shape, &bytes);
    if (st == ETRT_OK && bytes != s->bound_size[i] && s->bound_size[i] != ETRT_ANY_SIZE)
        st = etrt_fail(ETRT_MISMATCH, "%s: %s was bound with %lld bytes and has %lld at these dims",
                       call, t->name, (long long)s->bound_size[i], (long long)bytes);
    return st;
}

etrt_status etrt_write_part(etrt_session *s, const char *name, int axis, int64_t first,
                            int64_t count, const void *data, size_t bytes) {
    static const char call[] = "etrt_write_part";
    int i;
    struct part p;
    etrt_status st = begin(s, call, name, &i);
    if (st == ETRT_OK) st = writable(s, call, i);
    if (st == ETRT_OK && s->model->manifest.tensors[i].cut)
        return etrt_cut_copy(s, call, i, axis, first, count, (void *)(uintptr_t)data, bytes, true);
    if (st == ETRT_OK) st = find_part(s, call, i, axis, first, count, &p);
    if (st == ETRT_OK) st = etrt_bytes_check(call, name, p.count * p.bytes, data, bytes);
    for (uint64_t k = 0; st == ETRT_OK && k < p.count; k++)
        st = etrt_mem_write(s->model->device, p.at + k * p.pitch, (const char *)data + k * p.bytes,
                            p.bytes);
    return st;
}

etrt_status etrt_reset_part(etrt_session *s, const char *name, int axis, int64_t first,
                            int64_t count) {
    static const char call[] = "etrt_reset_part";
    int i;
    struct part p;
    etrt_status st = begin(s, call, name, &i);
    if (st == ETRT_OK) st = etrt_session_writable(s, call, i);
    if (st == ETRT_OK) st = find_part(s, call, i, axis, first, count, &p);
    if (st == ETRT_OK) etrt_residence_rest(s->model->device);
    for (uint64_t k = 0; st == ETRT_OK && k < p.count; k++)
        st = etrt_mem_fill(s->model->device, p.at + k * p.pitch, 0, p.bytes);
    return st;
}

etrt_status etrt_copy_part(etrt_session *to, etrt_session *from, const char *name, int axis,
                           int64_t to_first, int64_t from_first, int64_t count) {
    static const char call[] = "etrt_copy_part";
    int i, k;
    struct part into, source;
    etrt_status st = begin(to, call, name, &i);
    if (st == ETRT_OK) st = begin(from, call, name, &k);
    if (st == ETRT_OK && to->model != from->model)
        st = etrt_fail(ETRT_INVALID, "%s: the sessions are of two models", call);
    if (st == ETRT_OK) st = etrt_session_writable(to, call, i);
    if (st == ETRT_OK) st = find_part(to, call, i, axis, to_first, count, &into);
    if (st == ETRT_OK) st = find_part(from, call, k, axis, from_first, count, &source);
    if (st == ETRT_OK && (into.bytes != source.bytes || into.count != source.count))
        st =
            etrt_fail(ETRT_MISMATCH, "%s: %s is of another shape in the other session", call, name);
    if (st == ETRT_OK && to->tensors[i] == from->tensors[k] && count > 0 &&
        to_first < from_first + count && from_first < to_first + count)
        st = to_first == from_first ? ETRT_OK
                                    : etrt_fail(ETRT_RANGE, "%s: the ranges overlap", call);
    if (st != ETRT_OK || into.at == source.at) return st;
    etrt_residence_rest(to->model->device);
    for (uint64_t j = 0; st == ETRT_OK && j < into.count; j++)
        st = etrt_mem_copy(to->model->device, into.at + j * into.pitch,
                           source.at + j * source.pitch, into.bytes);
    return st;
}
