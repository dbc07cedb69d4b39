#include "ir/base/table.h"
#include <string.h>

uint64_t et_hash(uint64_t h, const void *data, size_t bytes) {
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static const char *name_of(const void *entry) {
    return *(const char *const *)entry;
}

static void **slot_of(const et_table *t, const char *name) {
    uint32_t h = 2166136261u; /* FNV-1a of 32 bits */
    for (const char *c = name; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    uint32_t i = h & (uint32_t)(t->cap - 1);
    while (t->slot[i] && strcmp(name_of(t->slot[i]), name) != 0)
        i = (i + 1) & (uint32_t)(t->cap - 1);
    return &t->slot[i];
}

void *et_table_find(const et_table *t, const char *name) {
    return t->cap ? *slot_of(t, name) : NULL;
}

void et_table_add(et_arena *arena, et_table *t, void *entry) {
    if (t->n * 2 >= t->cap) {
        et_table old = *t;
        t->cap = old.cap ? old.cap * 2 : 64;
        t->slot = et_alloc(arena, (size_t)t->cap * sizeof *t->slot);
        for (int i = 0; i < old.cap; i++)
            if (old.slot[i]) *slot_of(t, name_of(old.slot[i])) = old.slot[i];
    }
    *slot_of(t, name_of(entry)) = entry;
    t->n++;
}
