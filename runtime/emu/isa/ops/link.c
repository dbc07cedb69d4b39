/* link.c - stores on their way between devices. */
#include "runtime/emu/isa/ops/link.h"

#include "runtime/emu/isa/ops/memory.h"
#include "runtime/emu/isa/ops/transfer.h"

/* Marsaglia's xorshift. */
static uint32_t draw(struct emu_wave *w, uint32_t below) {
    uint64_t x = w->link.random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    w->link.random = x;
    return (uint32_t)(x >> 32) % below;
}

static bool is_shared(uint64_t addr) {
    return emu_memory_find(addr).shared;
}

/* ---- arriving ---- */

/* Whole: a reader on another thread sees all of an aligned word or nothing. */
static void put(const struct emu_stored *e) {
    void *to = (void *)(uintptr_t)e->addr;
    if (e->bytes == 8 && e->addr % 8 == 0)
        __atomic_store_n((uint64_t *)to, get64((const uint32_t *)(const void *)e->data),
                         __ATOMIC_SEQ_CST);
    else if (e->bytes == 4 && e->addr % 4 == 0)
        __atomic_store_n((uint32_t *)to, *(const uint32_t *)(const void *)e->data,
                         __ATOMIC_SEQ_CST);
    else
        memcpy(to, e->data, e->bytes);
}

static void arrive(struct emu_wave *w, uint32_t i) {
    struct emu_stored *e = &w->link.of[i];
    uint8_t data[1][EMU_LANE_BYTES] __attribute__((aligned(16)));
    memcpy(data[0], e->data, e->bytes);
    if (w->caches)
        emu_cache_store(w->caches, (enum emu_level)e->level, &e->addr, 1, e->bytes, data);
    else
        put(e);
    *e = w->link.of[--w->link.n];
}

void isa_link_settle(struct emu_wave *w) {
    while (w->link.n)
        arrive(w, draw(w, w->link.n));
}

/* Also of waves that have no turns, as at a barrier: what is on its way arrives some time. */
void isa_link_turn(const struct emu_group *g) {
    enum { SELDOM = 8 };
    for (uint32_t k = 0; k < g->nwaves; k++) {
        struct emu_wave *w = g->waves[k];
        for (uint32_t i = w->link.n; i-- > 0;)
            if (draw(w, SELDOM) == 0) arrive(w, i);
    }
}

void isa_link_meet(struct emu_wave *w, const uint64_t *a, uint64_t mask) {
    for (; mask && w->link.n; mask &= mask - 1)
        if (is_shared(a[__builtin_ctzll(mask)])) isa_link_settle(w);
}

/* Fields of the immediates, by LLVM's AMDGPUBaseInfo. Before gfx11 loads and stores are counted
 * together, and come back in order. */
void isa_link_wait(struct emu_wave *w, const struct emu_op *o) {
    uint32_t x = o->flags, most = 63, left = most;
    switch (o->row_arg) {
    case ISA_WAIT_ALL:
        if (w->program->gen < GEN_11) left = (x & 15) | (x >> 10 & 48);
        break;
    case ISA_WAIT_STORES:
        left = x & 63;
        break;
    case ISA_WAIT_STORES_LDS:
        left = x >> 8 & 63;
        break;
    case ISA_WAIT_IDLE:
        left = 0;
        break;
    default:
        break;
    }
    if (left < most) isa_link_settle(w);
}

/* ---- leaving ---- */

/* Stores of a wave to the same place stay in order. */
static bool overlaps(const struct emu_wave *w, uint64_t addr, uint32_t bytes) {
    bool any = false;
    for (uint32_t i = 0; i < w->link.n; i++) {
        const struct emu_stored *e = &w->link.of[i];
        any |= addr < e->addr + e->bytes && e->addr < addr + bytes;
    }
    return any;
}

/* What hardware may tear into these pieces arrives in them. */
static uint32_t piece(uint64_t addr, uint32_t left) {
    uint32_t bytes = addr % 8 == 0 ? 8 : 4;
    return left < bytes ? left : bytes;
}

static void leave(struct emu_wave *w, const struct emu_op *o, uint64_t addr, const uint8_t *data,
                  uint32_t bytes) {
    if (overlaps(w, addr, bytes)) isa_link_settle(w);
    for (uint32_t at = 0, n; at < bytes; at += n) {
        n = piece(addr + at, bytes - at);
        if (w->link.n == EMU_ON_THE_WAY) arrive(w, draw(w, w->link.n));
        struct emu_stored *e = &w->link.of[w->link.n++];
        *e = (struct emu_stored){.addr = addr + at, .bytes = (uint8_t)n, .level = o->level};
        memcpy(e->data, data + at, n);
        if (draw(w, 4) == 0) arrive(w, w->link.n - 1);
    }
}

uint64_t isa_link_store(struct emu_wave *w, const struct emu_op *o, const uint32_t *s,
                        const uint64_t *a, uint64_t mask) {
    uint8_t data[LANES][EMU_LANE_BYTES] __attribute__((aligned(16)));
    uint64_t to[LANES] __attribute__((aligned(64))), shared = 0;
    for (uint64_t m = mask; m; m &= m - 1) {
        int i = __builtin_ctzll(m);
        to[i] = (uint64_t)(uintptr_t)data[i];
        if (is_shared(a[i])) shared |= m & -m;
    }
    if (!shared) return mask;
    for (uint64_t m = shared; m; m &= m - 1) { /* each by itself: TO has but these lanes */
        int i = __builtin_ctzll(m);
        isa_store(s, to, o->row_arg, UINT64_C(1) << i);
        leave(w, o, a[i], data[i], isa_data_bytes(o->row_arg));
    }
    return mask & ~shared;
}

bool isa_link_yields(struct emu_wave *w) {
    return w->link.n && draw(w, 2);
}
