/* reader.c - the header of a GGUF file, held against the file. */
#include "frontend/gguf/gguf.h"
#include "runtime/files/input.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_KEY = 65535, MOST_NAME = 1024, MOST_DEPTH = 8 };

struct cursor {
    struct gguf *g;
    size_t at;
    const char *what; /* for messages: "metadata" */
    uint64_t index;
    struct gguf_text name; /* of it, once it is known */
};

void gguf_note(struct gguf_fault *f, const char *fmt, ...) {
    va_list list;
    if (*f->text) return;
    va_start(list, fmt);
    vsnprintf(f->text, sizeof f->text, fmt, list);
    va_end(list);
}

const char *gguf_shown(struct gguf_text t) {
    enum { MOST = 80, TURNS = 4 };
    static char buffers[TURNS][MOST + 4];
    static int turn;
    char *to = buffers[turn++ % TURNS];
    size_t n = t.bytes < MOST ? t.bytes : MOST;
    for (size_t i = 0; i < n; i++)
        to[i] = t.at[i] >= ' ' && t.at[i] <= '~' ? t.at[i] : '?';
    strcpy(to + n, n < t.bytes ? "..." : "");
    return to;
}

bool gguf_is(struct gguf_text t, const char *s) {
    return t.bytes == strlen(s) && !memcmp(t.at, s, t.bytes);
}

static bool fail_at(const struct cursor *c, const char *why) {
    return gguf_fail(c->g->fault, "%s: %s %llu%s%s%s %s", c->g->path, c->what,
                     (unsigned long long)c->index, c->name.at ? " \"" : "",
                     c->name.at ? gguf_shown(c->name) : "", c->name.at ? "\"" : "", why);
}

static bool take(struct cursor *c, size_t bytes, const unsigned char **out) {
    *out = c->g->map + c->at;
    if (bytes > c->g->bytes - c->at) {
        fail_at(c, "goes on beyond the end of the file");
        return false;
    }
    c->at += bytes;
    return true;
}

static bool take_u32(struct cursor *c, uint32_t *out) {
    const unsigned char *p;
    if (!take(c, 4, &p)) return false;
    *out = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    return true;
}

static bool take_u64(struct cursor *c, uint64_t *out) {
    uint32_t low, high;
    if (!take_u32(c, &low) || !take_u32(c, &high)) return false;
    *out = low | (uint64_t)high << 32;
    return true;
}

static bool take_text(struct cursor *c, struct gguf_text *out) {
    uint64_t n;
    const unsigned char *p;
    if (!take_u64(c, &n)) return false;
    if (n > c->g->bytes) return fail_at(c, "has text that is longer than the file");
    if (!take(c, (size_t)n, &p)) return false;
    *out = (struct gguf_text){(const char *)p, (size_t)n};
    return true;
}

/* ---- metadata ---- */

static bool skip_items(struct cursor *, enum gguf_type, uint64_t count, int depth);

static bool skip_array(struct cursor *c, int depth) {
    uint32_t type;
    uint64_t count;
    if (depth > MOST_DEPTH) return fail_at(c, "is arrays inside of arrays, too deep");
    if (!take_u32(c, &type) || !take_u64(c, &count)) return false;
    if (type >= GGUF_TYPES) return fail_at(c, "is an array of items of an unknown type");
    return skip_items(c, type, count, depth);
}

/* Each item has one byte at least, so their number is bounded by the file's size. */
static bool skip_items(struct cursor *c, enum gguf_type type, uint64_t count, int depth) {
    size_t item = gguf_type_bytes(type);
    const unsigned char *p;
    struct gguf_text text;
    if (count > c->g->bytes) return fail_at(c, "has more items than the file has bytes");
    if (item && count > (c->g->bytes - c->at) / item)
        return fail_at(c, "goes on beyond the end of the file");
    if (item) return take(c, (size_t)count * item, &p);
    bool ok = true;
    for (uint64_t i = 0; ok && i < count; i++)
        ok = type == GGUF_STRING ? take_text(c, &text) : skip_array(c, depth + 1);
    return ok;
}

static bool check_bools(struct cursor *c, const struct gguf_value *v) {
    bool array = v->type == GGUF_ARRAY;
    if ((array ? v->item : v->type) != GGUF_BOOL) return true;
    for (uint64_t i = 0; i < v->count; i++)
        if (v->at[i] > 1) return fail_at(c, "is neither true nor false");
    return true;
}

static bool is_key(struct gguf_text t) {
    if (!t.bytes || t.bytes > MOST_KEY) return false;
    for (size_t i = 0; i < t.bytes; i++)
        if (t.at[i] <= ' ' || t.at[i] > '~') return false;
    return true;
}

static bool take_value(struct cursor *c, struct gguf_value *v) {
    uint32_t type, item = 0;
    c->name = (struct gguf_text){0};
    if (!take_text(c, &v->key)) return false;
    c->name = v->key;
    if (!is_key(v->key)) return fail_at(c, "has a name that no key may have");
    if (!take_u32(c, &type)) return false;
    if (type >= GGUF_TYPES) return fail_at(c, "is of an unknown type");
    v->type = type;
    v->count = 1;
    if (type == GGUF_ARRAY) {
        if (!take_u32(c, &item) || !take_u64(c, &v->count)) return false;
        if (item >= GGUF_TYPES) return fail_at(c, "is an array of items of an unknown type");
        v->item = item;
    }
    v->at = c->g->map + c->at;
    return skip_items(c, type == GGUF_ARRAY ? v->item : v->type, v->count, 1) && check_bools(c, v);
}

/* ---- tensors ---- */

static bool take_dims(struct cursor *c, struct gguf_tensor *t) {
    uint32_t rank;
    if (!take_u32(c, &rank)) return false;
    if (rank < 1 || rank > GGUF_MOST_DIMS) return fail_at(c, "has no shape of 1 to 4 dimensions");
    t->rank = (int)rank;
    t->elements = 1;
    for (int d = 0; d < GGUF_MOST_DIMS; d++) {
        t->dims[d] = 1;
        if (d < t->rank && !take_u64(c, &t->dims[d])) return false;
        if (!t->dims[d]) return fail_at(c, "has a dimension of 0");
        if (__builtin_mul_overflow(t->elements, t->dims[d], &t->elements) ||
            t->elements > INT64_MAX / 8)
            return fail_at(c, "has more elements than there can be");
    }
    return true;
}

static bool take_tensor(struct cursor *c, struct gguf_tensor *t) {
    char why[160];
    c->name = (struct gguf_text){0};
    if (!take_text(c, &t->name)) return false;
    c->name = t->name;
    if (!is_key(t->name) || t->name.bytes > MOST_NAME)
        return fail_at(c, "has a name that no tensor may have");
    if (!take_dims(c, t) || !take_u32(c, &t->type) || !take_u64(c, &t->offset)) return false;
    const struct gguf_format *f = gguf_format(t->type);
    if (!f) {
        snprintf(why, sizeof why, "is %s, which is not supported", gguf_format_name(t->type));
        return fail_at(c, why);
    }
    if (t->dims[0] % f->elements) {
        snprintf(why, sizeof why, "is %s, whose rows are multiples of %u; they have %llu", f->name,
                 f->elements, (unsigned long long)t->dims[0]);
        return fail_at(c, why);
    }
    if (__builtin_mul_overflow(t->elements / f->elements, (uint64_t)f->bytes, &t->bytes))
        return fail_at(c, "has more elements than there can be");
    return true;
}

/* Offsets in the file lead from the end of the header, which is known when all are read. */
static bool place_tensors(struct cursor *c) {
    struct gguf *g = c->g;
    uint64_t start = (c->at + g->alignment - 1) / g->alignment * g->alignment;
    for (int i = 0; i < g->ntensors; i++) {
        struct gguf_tensor *t = &g->tensors[i];
        c->index = (uint64_t)i;
        c->name = t->name;
        if (t->offset % g->alignment)
            return fail_at(c, "does not begin at a multiple of general.alignment");
        if (__builtin_add_overflow(t->offset, start, &t->offset) || t->offset > g->bytes ||
            t->bytes > g->bytes - t->offset)
            return fail_at(c, "goes on beyond the end of the file");
    }
    return true;
}

static int by_offset(const void *a, const void *b) {
    const struct gguf_tensor *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool check_overlaps(struct gguf *g) {
    if (g->ntensors) qsort(g->tensors, (size_t)g->ntensors, sizeof *g->tensors, by_offset);
    for (int i = 1; i < g->ntensors; i++) {
        const struct gguf_tensor *a = &g->tensors[i - 1], *b = &g->tensors[i];
        if (a->offset + a->bytes > b->offset)
            return gguf_fail(g->fault, "%s: tensors \"%s\" and \"%s\" overlap", g->path,
                             gguf_shown(a->name), gguf_shown(b->name));
    }
    return true;
}

/* ---- by name ---- */

static int compare(struct gguf_text a, struct gguf_text b) {
    size_t n = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = memcmp(a.at, b.at, n);
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static int by_key(const void *a, const void *b) {
    return compare(((const struct gguf_value *)a)->key, ((const struct gguf_value *)b)->key);
}

static int by_name(const void *a, const void *b) {
    return compare(((const struct gguf_tensor *)a)->name, ((const struct gguf_tensor *)b)->name);
}

static bool sort_values(struct gguf *g) {
    if (g->nvalues) qsort(g->values, (size_t)g->nvalues, sizeof *g->values, by_key);
    for (int i = 1; i < g->nvalues; i++)
        if (!by_key(&g->values[i - 1], &g->values[i]))
            return gguf_fail(g->fault, "%s: metadata \"%s\" is there twice", g->path,
                             gguf_shown(g->values[i].key));
    return true;
}

static bool sort_tensors(struct gguf *g) {
    if (g->ntensors) qsort(g->tensors, (size_t)g->ntensors, sizeof *g->tensors, by_name);
    for (int i = 1; i < g->ntensors; i++)
        if (!by_name(&g->tensors[i - 1], &g->tensors[i]))
            return gguf_fail(g->fault, "%s: tensor \"%s\" is there twice", g->path,
                             gguf_shown(g->tensors[i].name));
    return true;
}

const struct gguf_value *gguf_find(const struct gguf *g, const char *key) {
    struct gguf_value want = {.key = {key, strlen(key)}};
    return g->nvalues ? bsearch(&want, g->values, (size_t)g->nvalues, sizeof *g->values, by_key)
                      : NULL;
}

const struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name) {
    struct gguf_tensor want = {.name = {name, strlen(name)}};
    return g->ntensors
               ? bsearch(&want, g->tensors, (size_t)g->ntensors, sizeof *g->tensors, by_name)
               : NULL;
}

/* ---- all of it ---- */

static bool check_version(struct gguf *g) {
    if (g->version == 2 || g->version == 3) return true;
    if (g->version && !(g->version & 0xffff))
        return gguf_fail(g->fault, "%s: is of a big-endian machine, which is not supported",
                         g->path);
    return gguf_fail(g->fault, "%s: is version %u of GGUF; supported: 2, 3", g->path, g->version);
}

static bool find_alignment(struct gguf *g) {
    int64_t n;
    if (!gguf_get_int(g, "general.alignment", 32, &n)) return false;
    if (n < 8 || n % 8 || n > 1 << 30)
        return gguf_fail(g->fault, "%s: metadata \"general.alignment\" is %lld, no multiple of 8",
                         g->path, (long long)n);
    g->alignment = (uint64_t)n;
    return true;
}

static bool parse_values(struct cursor *c, uint64_t count) {
    struct gguf *g = c->g;
    for (c->what = "metadata", c->index = 0; c->index < count; c->index++) {
        ET_GROW(g->arena, g->values, g->nvalues, g->cvalues);
        g->values[g->nvalues] = (struct gguf_value){0};
        if (!take_value(c, &g->values[g->nvalues])) return false;
        g->nvalues++;
    }
    return sort_values(g) && find_alignment(g);
}

static bool parse_tensors(struct cursor *c, uint64_t count) {
    struct gguf *g = c->g;
    for (c->what = "tensor", c->index = 0; c->index < count; c->index++) {
        ET_GROW(g->arena, g->tensors, g->ntensors, g->ctensors);
        if (!take_tensor(c, &g->tensors[g->ntensors])) return false;
        g->ntensors++;
    }
    return place_tensors(c) && check_overlaps(g) && sort_tensors(g);
}

static bool parse(struct gguf *g) {
    enum { LEAST_VALUE = 8 + 1 + 4 + 1, LEAST_TENSOR = 8 + 1 + 4 + 8 + 4 + 8 };
    struct cursor c = {.g = g, .what = "header field"};
    uint64_t tensors, values;
    if (g->bytes < 4 || memcmp(g->map, "GGUF", 4) != 0)
        return gguf_fail(g->fault, "%s: is no GGUF file", g->path);
    c.at = 4;
    if (!take_u32(&c, &g->version) || !check_version(g)) return false;
    if (!take_u64(&c, &tensors) || !take_u64(&c, &values)) return false;
    if (values > g->bytes / LEAST_VALUE || tensors > g->bytes / LEAST_TENSOR)
        return gguf_fail(g->fault,
                         "%s: says that it has %llu tensors and %llu metadata, which its %zu bytes "
                         "cannot hold",
                         g->path, (unsigned long long)tensors, (unsigned long long)values,
                         g->bytes);
    return parse_values(&c, values) && parse_tensors(&c, tensors);
}

bool gguf_parse(const char *path, const void *data, size_t bytes, et_arena *arena,
                struct gguf_fault *fault, struct gguf *out) {
    *out = (struct gguf){
        .path = path, .fault = fault, .arena = arena, .fd = -1, .map = data, .bytes = bytes};
    return parse(out);
}

bool gguf_open(const char *path, et_arena *arena, struct gguf_fault *fault, struct gguf *out) {
    char why[ET_WHY];
    uint64_t bytes;
    int fd = et_file_open(path, &bytes, why);
    if (fd < 0) return gguf_fail(fault, "%s: %s", path, why);
    void *map =
        bytes && bytes <= SIZE_MAX ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    if (!map || map == MAP_FAILED) {
        gguf_note(fault, "%s: %s", path, map ? strerror(errno) : "is empty");
        close(fd);
        return false;
    }
    bool ok = gguf_parse(path, map, bytes, arena, fault, out);
    out->fd = fd;
    if (!ok) gguf_close(out);
    return ok;
}

void gguf_close(struct gguf *g) {
    if (g->fd < 0) return;
    munmap((void *)(uintptr_t)g->map, g->bytes);
    close(g->fd);
    g->fd = -1;
}

bool gguf_read(const struct gguf *g, uint64_t offset, void *to, size_t bytes) {
    if (g->fd < 0) {
        memcpy(to, g->map + offset, bytes);
        return true;
    }
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(g->fd, (char *)to + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return gguf_fail(g->fault, "%s: %s", g->path,
                             n ? strerror(errno) : "became shorter while it was read");
        done += (size_t)n;
    }
    return true;
}
