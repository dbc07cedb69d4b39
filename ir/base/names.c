#include "ir/base/names.h"
#include <stdint.h>
#include <string.h>

struct entry {
    const char *name; /* NULL: free */
    int next;         /* number to try for the next one of this base */
};

struct et_names {
    et_arena *arena;
    struct entry *slot;
    size_t n, size; /* size: a power of two */
};

et_names *et_names_create(et_arena *a) {
    et_names *t = et_alloc(a, sizeof *t);
    t->arena = a;
    t->size = 64;
    t->slot = et_alloc(a, t->size * sizeof *t->slot);
    return t;
}

static struct entry *find(const et_names *t, const char *name) {
    uint32_t h = 2166136261u;
    for (const char *c = name; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    size_t at = h & (t->size - 1);
    while (t->slot[at].name && strcmp(t->slot[at].name, name) != 0)
        at = (at + 1) & (t->size - 1);
    return &t->slot[at];
}

static void grow(et_names *t) {
    struct entry *old = t->slot;
    size_t size = t->size;
    t->size *= 2;
    t->slot = et_alloc(t->arena, t->size * sizeof *t->slot);
    for (size_t i = 0; i < size; i++)
        if (old[i].name) *find(t, old[i].name) = old[i];
}

static const char *add(et_names *t, struct entry *at, const char *name) {
    *at = (struct entry){et_strdup(t->arena, name), 2};
    const char *out = at->name;
    if (2 * ++t->n > t->size) grow(t);
    return out;
}

const char *et_names_take(et_names *t, const char *base, char separator) {
    struct entry *e = find(t, base);
    if (!e->name) return add(t, e, base);
    for (;;) {
        const char *name = et_printf(t->arena, "%s%c%d", base, separator, e->next++);
        struct entry *free_slot = find(t, name);
        if (!free_slot->name) return add(t, free_slot, name);
    }
}
