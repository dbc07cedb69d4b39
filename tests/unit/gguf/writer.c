#include "tests/unit/gguf/writer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void put(struct buffer *b, const void *data, size_t bytes) {
    if (b->n + bytes > b->cap) {
        b->cap = 2 * (b->n + bytes) + 256;
        b->at = realloc(b->at, b->cap);
        if (!b->at) exit(2);
    }
    if (bytes) memcpy(b->at + b->n, data, bytes);
    b->n += bytes;
}

void put_u32(struct buffer *b, uint32_t x) {
    unsigned char p[4] = {(unsigned char)x, (unsigned char)(x >> 8), (unsigned char)(x >> 16),
                          (unsigned char)(x >> 24)};
    put(b, p, 4);
}

void put_u64(struct buffer *b, uint64_t x) {
    put_u32(b, (uint32_t)x);
    put_u32(b, (uint32_t)(x >> 32));
}

void put_text(struct buffer *b, const char *s) {
    put_u64(b, strlen(s));
    put(b, s, strlen(s));
}

void writer_init(struct writer *w) {
    *w = (struct writer){.version = 3, .alignment = 32};
}

void writer_free(struct writer *w) {
    free(w->values.at);
    free(w->infos.at);
    free(w->data.at);
}

struct buffer writer_file(const struct writer *w) {
    struct buffer b = {0};
    put(&b, "GGUF", 4);
    put_u32(&b, w->version);
    put_u64(&b, w->ntensors);
    put_u64(&b, w->nvalues);
    put(&b, w->values.at, w->values.n);
    put(&b, w->infos.at, w->infos.n);
    while (w->data.n && b.n % w->alignment)
        put(&b, "", 1);
    put(&b, w->data.at, w->data.n);
    return b;
}

void writer_save(const struct writer *w, const char *path) {
    struct buffer b = writer_file(w);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(b.at, 1, b.n, f) != b.n || fclose(f) != 0) {
        perror(path);
        exit(2);
    }
    free(b.at);
}

void add_key(struct writer *w, const char *key, uint32_t type) {
    put_text(&w->values, key);
    put_u32(&w->values, type);
    w->nvalues++;
}

void add_u32(struct writer *w, const char *key, uint32_t x) {
    add_key(w, key, 4);
    put_u32(&w->values, x);
}

void add_f32(struct writer *w, const char *key, float x) {
    uint32_t word;
    memcpy(&word, &x, 4);
    add_key(w, key, 6);
    put_u32(&w->values, word);
}

void add_bool(struct writer *w, const char *key, bool x) {
    add_key(w, key, 7);
    put(&w->values, &(unsigned char){x}, 1);
}

void add_text(struct writer *w, const char *key, const char *s) {
    add_key(w, key, 8);
    put_text(&w->values, s);
}

void add_array(struct writer *w, const char *key, uint32_t type, uint64_t count, const void *items,
               size_t bytes) {
    add_key(w, key, 9);
    put_u32(&w->values, type);
    put_u64(&w->values, count);
    put(&w->values, items, bytes);
}

void add_tensor(struct writer *w, const char *name, int rank, const uint64_t *dims, uint32_t type,
                const void *data, size_t bytes) {
    while (w->data.n % w->alignment)
        put(&w->data, "", 1);
    put_text(&w->infos, name);
    put_u32(&w->infos, (uint32_t)rank);
    for (int d = 0; d < rank; d++)
        put_u64(&w->infos, dims[d]);
    put_u32(&w->infos, type);
    put_u64(&w->infos, w->data.n);
    put(&w->data, data, bytes);
    w->ntensors++;
}
