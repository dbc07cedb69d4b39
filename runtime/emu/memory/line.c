/* line.c - one cache. */
#include "runtime/emu/memory/line.h"

#include <stdlib.h>

enum { CHUNK = 256, FIRST_SLOTS = 1024 };

/* Of 64 bytes. */
static void copy_some(uint8_t *to, const uint8_t *from, uint64_t mask) {
    while (mask) {
        uint32_t i = (uint32_t)__builtin_ctzll(mask) & ~7u, m = mask >> i & 0xff;
        mask &= ~((uint64_t)0xff << i);
        if (m == 0xff) {
            memcpy(to + i, from + i, 8);
            continue;
        }
        for (; m; m >>= 4, i += 4)
            if ((m & 15) == 15)
                memcpy(to + i, from + i, 4);
            else
                for (uint32_t b = 0; b < 4; b++)
                    if (m >> b & 1) to[i + b] = from[i + b];
    }
}

void emu_bytes_copy(uint8_t *to, const uint8_t *from, emu_bytes mask) {
    if (!~mask) {
        memcpy(to, from, EMU_LINE);
        return;
    }
    copy_some(to, from, (uint64_t)mask);
    copy_some(to + 64, from + 64, (uint64_t)(mask >> 64));
}

static struct emu_line *line_at(const struct emu_cache *c, uint32_t i) {
    return &c->chunks[i / CHUNK][i % CHUNK];
}

static void refresh(const struct emu_cache *c, struct emu_line *l) {
    if (l->generation == c->generation) return;
    l->valid = l->dirty;
    l->generation = c->generation;
}

static uint32_t *slot_of(struct emu_cache *c, uint64_t number) {
    uint32_t h = (uint32_t)(number * 0x9E3779B97F4A7C15u >> 32);
    for (;; h++) {
        uint32_t *s = &c->slots[h & (c->nslots - 1)];
        if (!*s || line_at(c, *s - 1)->number == number) return s;
    }
}

struct emu_line *emu_cache_find(struct emu_cache *c, uint64_t number) {
    if (!c->last || line_at(c, c->last - 1)->number != number) {
        uint32_t s = *slot_of(c, number);
        if (!s) return NULL;
        c->last = s;
    }
    struct emu_line *l = line_at(c, c->last - 1);
    refresh(c, l);
    return l;
}

void emu_cache_leave_old(const struct emu_cache *writer, uint64_t number, emu_bytes mask) {
    for (uint32_t i = 0; i < writer->npeers; i++) {
        struct emu_cache *c = &writer->peers[i];
        struct emu_line *l = c == writer ? NULL : emu_cache_try(c, number);
        if (!l) continue;
        emu_bytes_copy(l->data, (const uint8_t *)(uintptr_t)(number * EMU_LINE), mask & ~l->valid);
        l->valid |= mask;
    }
}

void emu_cache_write_line(const struct emu_cache *c, struct emu_line *l, emu_bytes mask) {
    mask &= l->dirty;
    if (!mask) return;
    emu_cache_leave_old(c, l->number, mask);
    emu_bytes_copy((uint8_t *)(uintptr_t)(l->number * EMU_LINE), l->data, mask);
    l->dirty &= ~mask;
}

void emu_cache_write_lines(struct emu_cache *c, const void *by, uint64_t seen) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < c->ndirty; i++) {
        struct emu_line *l = line_at(c, c->dirty[i]);
        if (by && l->writer && l->writer != by && l->written > seen) {
            c->dirty[left++] = c->dirty[i];
            continue;
        }
        refresh(c, l);
        emu_cache_write_line(c, l, ~(emu_bytes)0);
        l->listed = false;
    }
    c->ndirty = left;
}

void emu_cache_empty(struct emu_cache *c) {
    emu_cache_write_lines(c, NULL, 0);
    memset(c->slots, 0, c->nslots * sizeof *c->slots);
    c->count = c->last = 0;
}

static bool grow_slots(struct emu_cache *c) {
    uint32_t n = c->nslots * 2, *bigger = n ? calloc(n, sizeof *bigger) : NULL;
    if (!bigger) return false;
    free(c->slots);
    c->slots = bigger;
    c->nslots = n;
    for (uint32_t i = 0; i < c->count; i++)
        *slot_of(c, line_at(c, i)->number) = i + 1;
    return true;
}

static bool grow_chunks(struct emu_cache *c) {
    if (c->nchunks == c->chunks_room) {
        uint32_t room = c->chunks_room ? c->chunks_room * 2 : 16;
        struct emu_line **bigger = realloc(c->chunks, room * sizeof *bigger);
        if (!bigger) return false;
        c->chunks = bigger;
        c->chunks_room = room;
    }
    struct emu_line *chunk = malloc(CHUNK * sizeof *chunk);
    if (!chunk) return false;
    c->chunks[c->nchunks++] = chunk;
    return true;
}

static bool room_for_line(struct emu_cache *c) {
    if (c->limit && c->count >= c->limit) return false;
    if (c->count / CHUNK >= c->nchunks && !grow_chunks(c)) return false;
    return c->count < c->nslots / 2 || grow_slots(c);
}

struct emu_line *emu_cache_try(struct emu_cache *c, uint64_t number) {
    struct emu_line *l = emu_cache_find(c, number);
    if (l || !room_for_line(c)) return l;
    l = line_at(c, c->count);
    l->number = number;
    l->generation = c->generation;
    l->valid = l->dirty = 0;
    l->listed = false;
    *slot_of(c, number) = c->last = ++c->count;
    return l;
}

struct emu_line *emu_cache_get(struct emu_cache *c, uint64_t number) {
    struct emu_line *l = emu_cache_try(c, number);
    if (l) return l;
    emu_cache_empty(c); /* leaves room for at least one */
    return emu_cache_try(c, number);
}

void emu_cache_make_dirty(struct emu_cache *c, struct emu_line *l, emu_bytes mask,
                          const void *writer, uint64_t stamp) {
    l->valid |= mask;
    l->dirty |= mask;
    if (l->listed) {
        if (l->writer != writer) l->writer = NULL;
        return;
    }
    l->writer = writer;
    l->written = stamp;
    if (c->ndirty == c->dirty_room) {
        uint32_t room = c->dirty_room ? c->dirty_room * 2 : 256;
        uint32_t *bigger = realloc(c->dirty, room * sizeof *bigger);
        if (!bigger) {
            emu_cache_write_line(c, l, ~(emu_bytes)0); /* always allowed */
            return;
        }
        c->dirty = bigger;
        c->dirty_room = room;
    }
    c->dirty[c->ndirty++] = c->last - 1;
    l->listed = true;
}

void emu_cache_drop_all(struct emu_cache *c) {
    pthread_mutex_lock(&c->lock);
    c->generation++;
    pthread_mutex_unlock(&c->lock);
}

bool emu_cache_create(struct emu_cache *c, struct emu_cache *next, uint64_t limit) {
    pthread_mutex_init(&c->lock, NULL);
    c->next = next;
    c->limit = (uint32_t)(limit / EMU_LINE);
    c->slots = calloc(FIRST_SLOTS, sizeof *c->slots);
    if (c->slots) c->nslots = FIRST_SLOTS;
    return c->slots && grow_chunks(c);
}

void emu_cache_destroy(struct emu_cache *c) {
    for (uint32_t i = 0; i < c->nchunks; i++)
        free(c->chunks[i]);
    free(c->chunks);
    free(c->slots);
    free(c->dirty);
    if (c->nslots) pthread_mutex_destroy(&c->lock);
}
