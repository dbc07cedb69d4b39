/* table.c - open addressing, FNV-1a, at most half full. */
#include "examples/llm/base/table.h"
#include <stdlib.h>
#include <string.h>

static uint64_t hash(const void *key, size_t bytes) {
    const unsigned char *p = key;
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h ^ h >> 29;
}

/* The entry of KEY, or the free one where it belongs. */
static struct table_entry *probe(const struct table *t, const void *key, size_t bytes) {
    for (size_t i = hash(key, bytes);; i++) {
        struct table_entry *e = &t->entries[i & (t->size - 1)];
        if (!e->key || (e->bytes == bytes && !memcmp(e->key, key, bytes))) return e;
    }
}

static bool grow(struct table *t) {
    struct table bigger = {.size = t->size ? 2 * t->size : 64};
    bigger.entries = calloc(bigger.size, sizeof *bigger.entries);
    if (!bigger.entries) return false;
    for (size_t i = 0; i < t->size; i++)
        if (t->entries[i].key) {
            *probe(&bigger, t->entries[i].key, t->entries[i].bytes) = t->entries[i];
            bigger.used++;
        }
    free(t->entries);
    *t = bigger;
    return true;
}

bool table_add(struct table *t, const void *key, size_t bytes, uint64_t value) {
    if (2 * (t->used + 1) > t->size && !grow(t)) return false;
    struct table_entry *e = probe(t, key, bytes);
    if (!e->key) {
        *e = (struct table_entry){key, bytes, value};
        t->used++;
    }
    return true;
}

const uint64_t *table_find(const struct table *t, const void *key, size_t bytes) {
    const struct table_entry *e = t->size ? probe(t, key, bytes) : NULL;
    return e && e->key ? &e->value : NULL;
}

void table_free(struct table *t) {
    free(t->entries);
    *t = (struct table){0};
}
