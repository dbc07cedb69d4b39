/* pool.c - memory that lives as long as a program: constants in every lane, rare modifiers. */
#include "runtime/emu/isa/isa.h"

#include <stdlib.h>

struct constant {
    uint64_t value;
    int dwords;
    const uint32_t *lane;
};

struct emu_pool {
    void **blocks;
    size_t nblocks, cap;
    struct constant *constants; /* open addressing, power of two */
    size_t nconstants, slots;
};

struct emu_pool *isa_pool_create(void) {
    return calloc(1, sizeof(struct emu_pool));
}

void isa_pool_destroy(struct emu_pool *p) {
    if (!p) return;
    for (size_t i = 0; i < p->nblocks; i++)
        free(p->blocks[i]);
    free(p->blocks);
    free(p->constants);
    free(p);
}

void *isa_pool_alloc(struct emu_pool *p, size_t bytes) {
    if (p->nblocks == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        void **grown = realloc(p->blocks, cap * sizeof *grown);
        if (!grown) return NULL;
        p->blocks = grown;
        p->cap = cap;
    }
    void *b = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    if (!b) return NULL;
    memset(b, 0, bytes);
    p->blocks[p->nblocks++] = b;
    return b;
}

static struct constant *find(struct constant *t, size_t slots, uint64_t value, int dwords) {
    size_t at = (value * 0x9e3779b97f4a7c15u + (size_t)dwords) >> 20;
    for (;; at++) {
        struct constant *c = &t[at & (slots - 1)];
        if (!c->lane || (c->value == value && c->dwords == dwords)) return c;
    }
}

static bool grow(struct emu_pool *p) {
    size_t slots = p->slots ? 2 * p->slots : 256;
    struct constant *t = calloc(slots, sizeof *t);
    if (!t) return false;
    for (size_t i = 0; i < p->slots; i++)
        if (p->constants[i].lane)
            *find(t, slots, p->constants[i].value, p->constants[i].dwords) = p->constants[i];
    free(p->constants);
    p->constants = t;
    p->slots = slots;
    return true;
}

const uint32_t *isa_pool_broadcast(struct emu_pool *p, uint64_t value, int dwords) {
    if (2 * p->nconstants >= p->slots && !grow(p)) return NULL;
    struct constant *c = find(p->constants, p->slots, value, dwords);
    if (c->lane) return c->lane;
    uint32_t *lane = isa_pool_alloc(p, (size_t)dwords * LANES * 4);
    if (!lane) return NULL;
    for (int d = 0; d < dwords; d++)
        for (int i = 0; i < LANES; i++)
            lane[d * LANES + i] = d < 2 ? (uint32_t)(value >> (32 * d)) : 0;
    *c = (struct constant){value, dwords, lane};
    p->nconstants++;
    return lane;
}
