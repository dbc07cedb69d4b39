#include "runtime/etrt/safetensors/safetensors.h"

#include "runtime/files/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slot {
    const struct etrt_st_tensor *tensor;
    size_t element, index;
};

/* Wide elements first keeps every tensor aligned without padding, which the format forbids. */
static int wide_first(const void *a, const void *b) {
    const struct slot *x = a, *y = b;
    if (x->element != y->element) return x->element > y->element ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool check_tensor(const char *path, const struct etrt_st_tensor *t, char *err,
                         size_t err_bytes) {
    size_t bytes = etrt_st_dtype_bytes(t->dtype);
    bool ok = bytes && t->rank >= 0 && t->rank <= ETRT_ST_MAX_RANK;
    for (int d = 0; ok && d < t->rank; d++)
        ok = t->shape[d] >= 0 && !__builtin_mul_overflow(bytes, (size_t)t->shape[d], &bytes);
    if (ok && bytes == t->bytes && strcmp(t->name, "__metadata__") != 0) return true;
    return st_fail(err, err_bytes, "%s: tensor %.200s does not match its dtype and shape", path,
                   t->name);
}

static json_t *describe(const struct etrt_st_tensor *t, size_t at) {
    json_t *shape = json_array();
    for (int d = 0; d < t->rank; d++)
        json_array_append_new(shape, json_integer((json_int_t)t->shape[d]));
    json_t *offsets = json_array(), *o = json_object();
    json_array_append_new(offsets, json_integer((json_int_t)at));
    json_array_append_new(offsets, json_integer((json_int_t)(at + t->bytes)));
    json_object_set_new(o, "dtype", json_string(t->dtype));
    json_object_set_new(o, "shape", shape);
    json_object_set_new(o, "data_offsets", offsets);
    return o;
}

/* The header as text, or NULL. */
static char *make_header(const char *path, const struct slot *slots, size_t count, char *err,
                         size_t err_bytes) {
    json_t *header = json_object();
    size_t at = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        const struct etrt_st_tensor *t = slots[i].tensor;
        if (json_object_get(header, t->name))
            ok = st_fail(err, err_bytes, "%s: two tensors are named %.200s", path, t->name);
        else if (json_object_set_new(header, t->name, describe(t, at)) != 0)
            ok = st_fail(err, err_bytes, "%s: tensor name %.200s is not UTF-8", path, t->name);
        at += t->bytes;
    }
    char *text = ok ? json_dumps(header, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    if (ok && !text) st_fail(err, err_bytes, "%s: out of memory", path);
    json_decref(header);
    return text;
}

struct etrt_st_sink {
    FILE *file;
    size_t left; /* of the tensor that is being written */
};

bool etrt_st_put(struct etrt_st_sink *to, const void *data, size_t bytes) {
    if (bytes > to->left) return false;
    to->left -= bytes;
    return !bytes || fwrite(data, bytes, 1, to->file) == 1;
}

static bool give_data(void *user, size_t index, struct etrt_st_sink *to) {
    const struct etrt_st_tensor *tensors = user;
    return etrt_st_put(to, tensors[index].data, tensors[index].bytes);
}

static bool write_header(FILE *file, const char *header) {
    unsigned char length[8];
    size_t n = strlen(header), padded = (n + 7) / 8 * 8;
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    return fwrite(length, 8, 1, file) == 1 && fwrite(header, n, 1, file) == 1 &&
           fwrite("       ", 1, padded - n, file) == padded - n;
}

/* What fails of the file is seen when it is closed. */
static bool write_all(FILE *file, const char *header, const struct slot *slots, size_t count,
                      etrt_st_source give, void *user) {
    if (!write_header(file, header)) return true;
    for (size_t i = 0; i < count; i++) {
        struct etrt_st_sink to = {file, slots[i].tensor->bytes};
        bool given = give(user, slots[i].index, &to);
        if (ferror(file)) return true;
        if (!given || to.left) return false;
    }
    return true;
}

static bool write_file(const char *path, const char *header, const struct slot *slots, size_t count,
                       etrt_st_source give, void *user, char *err, size_t err_bytes) {
    et_output f;
    if (!et_output_open(&f, path)) return st_fail(err, err_bytes, "%s: %s", path, strerror(errno));
    bool given = write_all(f.to, header, slots, count, give, user);
    if (et_output_close(&f, given)) return true;
    if (given) return st_fail(err, err_bytes, "%s: %s", path, strerror(errno));
    if (err_bytes) *err = 0;
    return false;
}

bool etrt_st_write_from(const char *path, const struct etrt_st_tensor *tensors, size_t count,
                        etrt_st_source give, void *user, char *err, size_t err_bytes) {
    struct slot *slots = calloc(count + 1, sizeof *slots);
    if (!slots) return st_fail(err, err_bytes, "%s: out of memory", path);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        ok = check_tensor(path, &tensors[i], err, err_bytes);
        slots[i] = (struct slot){&tensors[i], etrt_st_dtype_bytes(tensors[i].dtype), i};
    }
    qsort(slots, count, sizeof *slots, wide_first);
    char *header = ok ? make_header(path, slots, count, err, err_bytes) : NULL;
    ok = header && write_file(path, header, slots, count, give, user, err, err_bytes);
    free(header);
    free(slots);
    return ok;
}

bool etrt_st_write(const char *path, const struct etrt_st_tensor *tensors, size_t count, char *err,
                   size_t err_bytes) {
    return etrt_st_write_from(path, tensors, count, give_data, (void *)(uintptr_t)tensors, err,
                              err_bytes);
}
