/* One safetensors file: 8 bytes of header length, a JSON header, tensor data without holes. */
#include "runtime/etrt/safetensors/safetensors.h"

#include "runtime/etrt_dtype.h"
#include "runtime/files/input.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The format's own limit on headers. */
enum { MAX_HEADER = 100000000 };

bool st_fail(char *err, size_t err_bytes, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(err, err_bytes, format, args);
    va_end(args);
    return false;
}

bool st_json_fail(char *err, size_t err_bytes, const char *path, const json_error_t *json) {
    return st_fail(err, err_bytes, "%s: not JSON: line %d, column %d: %s", path, json->line,
                   json->column, json->text);
}

/* Those of fewer than 8 bits are none here: 0 bytes. */
#define ROW(NAME, name, safetensors, bits, is_float) {safetensors, bits / 8},
static const struct {
    char name[8];
    unsigned char bytes;
} dtypes[] = {{"I64", 8}, {"F64", 8}, {"BOOL", 1}, {"I16", 2},      {"U16", 2},
              {"U32", 4}, {"U64", 8}, {"C64", 8},  ETRT_DTYPES(ROW)};

size_t etrt_st_dtype_bytes(const char *dtype) {
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, dtype) == 0) return dtypes[i].bytes;
    return 0;
}

char *etrt_st_shape_text(int rank, const int64_t *shape, char *buf, size_t buf_bytes) {
    size_t used = 0;
    if (!buf_bytes) return buf;
    int n = snprintf(buf, buf_bytes, "[");
    for (int d = 0; d < rank && n >= 0 && (used += (size_t)n) < buf_bytes; d++)
        n = snprintf(buf + used, buf_bytes - used, "%s%lld", d ? ", " : "", (long long)shape[d]);
    if (n >= 0 && rank && (used += (size_t)n) < buf_bytes)
        snprintf(buf + used, buf_bytes - used, "]");
    else if (!rank)
        snprintf(buf, buf_bytes, "[]");
    return buf;
}

bool st_map(const char *path, const unsigned char **out, size_t *out_bytes, char *err,
            size_t err_bytes) {
    char why[ET_WHY];
    uint64_t bytes;
    int fd = et_file_open(path, &bytes, why);
    if (fd < 0) return st_fail(err, err_bytes, "%s: %s", path, why);
    void *map = bytes ? mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    bool ok = map != MAP_FAILED;
    if (!ok) st_fail(err, err_bytes, "%s: %s", path, bytes ? strerror(errno) : "the file is empty");
    *out = map;
    *out_bytes = (size_t)bytes;
    close(fd);
    return ok;
}

void st_unmap(const unsigned char *map, size_t bytes) {
    if (map) munmap((void *)map, bytes);
}

/* ---- one tensor ---- */

struct reader {
    struct st_file *file;
    size_t data_bytes;
    const unsigned char *data;
    char *err;
    size_t err_bytes;
};

static bool bad(struct reader *r, const char *name, const char *why) {
    return st_fail(r->err, r->err_bytes, "%s: tensor %.200s: %s", r->file->path, name, why);
}

static bool read_shape(struct reader *r, const char *name, json_t *shape,
                       struct etrt_st_tensor *t) {
    if (!json_is_array(shape)) return bad(r, name, "\"shape\" is not an array");
    if (json_array_size(shape) > ETRT_ST_MAX_RANK) return bad(r, name, "has too many dimensions");
    t->rank = (int)json_array_size(shape);
    size_t bytes = strcmp(t->dtype, "F4") == 0 ? 1 : etrt_st_dtype_bytes(t->dtype);
    bool empty = false, overflow = false;
    for (int d = 0; d < t->rank; d++) {
        json_t *v = json_array_get(shape, (size_t)d);
        if (!json_is_integer(v) || json_integer_value(v) < 0)
            return bad(r, name, "an extent of \"shape\" is not a whole number");
        t->shape[d] = json_integer_value(v);
        if (t->shape[d] == 0)
            empty = true;
        else
            overflow |= __builtin_mul_overflow(bytes, (size_t)t->shape[d], &bytes);
    }
    if (overflow && !empty) return bad(r, name, "\"shape\" overflows");
    t->bytes = empty ? 0 : bytes;
    return true;
}

/* Elements of four bits, two in a byte, the first in its low half: as such bytes. */
static bool read_pairs(struct reader *r, const char *name, struct etrt_st_tensor *t) {
    int last = t->rank - 1;
    if (strcmp(t->dtype, "F4") != 0) return true;
    if (last < 0 || t->shape[last] % 2)
        return bad(r, name, "its last dimension is not of whole bytes of two elements");
    t->dtype = "U8";
    t->shape[last] /= 2;
    t->bytes /= 2;
    return true;
}

static bool read_offsets(struct reader *r, const char *name, json_t *offsets,
                         struct etrt_st_tensor *t) {
    json_t *from = json_array_get(offsets, 0), *to = json_array_get(offsets, 1);
    char why[256], shape[200];
    if (json_array_size(offsets) != 2 || !json_is_integer(from) || !json_is_integer(to))
        return bad(r, name, "\"data_offsets\" is not a pair of integers");
    json_int_t lo = json_integer_value(from), hi = json_integer_value(to);
    if (lo < 0 || hi < lo) return bad(r, name, "\"data_offsets\" runs backwards");
    if ((uint64_t)hi > r->data_bytes) {
        snprintf(why, sizeof why, "its data ends at %lld, the file's at %zu (truncated?)",
                 (long long)hi, r->data_bytes);
        return bad(r, name, why);
    }
    if ((uint64_t)(hi - lo) != t->bytes) {
        snprintf(why, sizeof why, "has %lld bytes of data, %s %s needs %zu", (long long)(hi - lo),
                 t->dtype, etrt_st_shape_text(t->rank, t->shape, shape, sizeof shape), t->bytes);
        return bad(r, name, why);
    }
    t->data = r->data + lo;
    return true;
}

static bool read_tensor(struct reader *r, const char *name, json_t *v, struct etrt_st_tensor *t) {
    char why[128];
    if (!json_is_object(v)) return bad(r, name, "is not described by an object");
    t->name = name;
    t->dtype = json_string_value(json_object_get(v, "dtype"));
    if (!t->dtype) return bad(r, name, "\"dtype\" is not a string");
    if (!etrt_st_dtype_bytes(t->dtype) && strcmp(t->dtype, "F4") != 0) {
        snprintf(why, sizeof why, "dtype \"%.32s\" is not known", t->dtype);
        return bad(r, name, why);
    }
    return read_shape(r, name, json_object_get(v, "shape"), t) && read_pairs(r, name, t) &&
           read_offsets(r, name, json_object_get(v, "data_offsets"), t);
}

/* ---- the file ---- */

static int by_address(const void *a, const void *b) {
    const struct etrt_st_tensor *x = *(const struct etrt_st_tensor *const *)a;
    const struct etrt_st_tensor *y = *(const struct etrt_st_tensor *const *)b;
    if (x->data != y->data) return (const char *)x->data < (const char *)y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Data must follow each other without overlap or hole up to the end of the file. */
static bool check_layout(struct reader *r) {
    size_t n = r->file->count, end = 0;
    const struct etrt_st_tensor **sorted = malloc((n + 1) * sizeof *sorted);
    if (!sorted) return st_fail(r->err, r->err_bytes, "%s: out of memory", r->file->path);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &r->file->tensors[i];
    qsort(sorted, n, sizeof *sorted, by_address);
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        size_t at = (size_t)((const unsigned char *)sorted[i]->data - r->data);
        if (at < end)
            ok = bad(r, sorted[i]->name, "its data overlaps another tensor's");
        else if (at > end)
            ok = bad(r, sorted[i]->name, "there is a hole before its data");
        end = at + sorted[i]->bytes;
    }
    if (ok && end != r->data_bytes)
        ok = st_fail(r->err, r->err_bytes, "%s: %zu bytes after the last tensor belong to none",
                     r->file->path, r->data_bytes - end);
    free(sorted);
    return ok;
}

static bool check_metadata(struct reader *r, json_t *metadata) {
    const char *key;
    json_t *v;
    bool ok = json_is_object(metadata);
    json_object_foreach(metadata, key, v) ok = ok && json_is_string(v);
    return ok || st_fail(r->err, r->err_bytes, "%s: \"__metadata__\" is not a table of strings",
                         r->file->path);
}

static bool read_tensors(struct reader *r) {
    struct st_file *f = r->file;
    const char *key;
    json_t *v;
    f->tensors = calloc(json_object_size(f->header) + 1, sizeof *f->tensors);
    if (!f->tensors) return st_fail(r->err, r->err_bytes, "%s: out of memory", f->path);
    json_object_foreach(f->header, key, v) {
        if (strcmp(key, "__metadata__") == 0) {
            if (!check_metadata(r, v)) return false;
        } else if (!read_tensor(r, key, v, &f->tensors[f->count++])) {
            return false;
        }
    }
    return check_layout(r);
}

static bool read_file(struct st_file *f, char *err, size_t err_bytes) {
    uint64_t header = 0;
    json_error_t json;
    if (f->map_bytes < 8)
        return st_fail(err, err_bytes, "%s: truncated: %zu bytes", f->path, f->map_bytes);
    for (int i = 0; i < 8; i++)
        header |= (uint64_t)f->map[i] << (8 * i);
    if (header > MAX_HEADER)
        return st_fail(err, err_bytes, "%s: header of %llu bytes: not a safetensors file", f->path,
                       (unsigned long long)header);
    if (header > f->map_bytes - 8)
        return st_fail(err, err_bytes, "%s: truncated: header of %llu bytes in a file of %zu",
                       f->path, (unsigned long long)header, f->map_bytes);
    f->header = json_loadb((const char *)f->map + 8, (size_t)header, JSON_REJECT_DUPLICATES, &json);
    if (!f->header) return st_json_fail(err, err_bytes, f->path, &json);
    if (!json_is_object(f->header))
        return st_fail(err, err_bytes, "%s: the header is not an object", f->path);
    struct reader r = {f, f->map_bytes - 8 - (size_t)header, f->map + 8 + header, err, err_bytes};
    return read_tensors(&r);
}

bool st_file_open(const char *path, struct st_file *out, char *err, size_t err_bytes) {
    memset(out, 0, sizeof *out);
    out->path = strdup(path);
    if (!out->path) return st_fail(err, err_bytes, "%s: out of memory", path);
    if (st_map(path, &out->map, &out->map_bytes, err, err_bytes) && read_file(out, err, err_bytes))
        return true;
    st_file_close(out);
    return false;
}

void st_file_close(struct st_file *f) {
    st_unmap(f->map, f->map_bytes);
    json_decref(f->header);
    free(f->tensors);
    free(f->path);
    memset(f, 0, sizeof *f);
}
