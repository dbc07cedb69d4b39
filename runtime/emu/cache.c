/* cache.c - caches that keep what they have as long as the memory model allows. */
#include "emu_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 128, CHUNK = 256, FIRST_SLOTS = 1024, LIVE_RANGES = 4 };
enum { MAX_ARRAYS = 16 }; /* shader arrays of a die, by engine and array in it */

typedef unsigned __int128 bytes_t; /* a bit per byte of a line */

struct line {
    uint64_t number;     /* address / LINE */
    uint64_t generation; /* of the cache when it was last looked at */
    bytes_t valid, dirty;
    bool listed;                     /* among the cache's dirty lines, and then: */
    const struct emu_caches *writer; /* NULL: several */
    uint64_t written;                /* stamp of the first store */
    uint8_t data[LINE];
};

struct cache {
    pthread_mutex_t lock;
    uint64_t generation; /* lines of an older one hold nothing but their dirty bytes */
    struct line **chunks;
    uint32_t nchunks, chunks_room;
    uint32_t count, limit; /* lines; limit 0: none */
    uint32_t *slots, nslots;
    uint32_t *dirty, ndirty, dirty_room;
    uint32_t last;      /* line found last, plus one */
    struct cache *next; /* nearer to memory; NULL: memory itself */
    bool may_be_dirty;
};

struct emu_caches {
    struct cache near, scalar;
    struct cache *array, *die; /* NULL where there is none */
    uint64_t acquired;         /* stamp of the last invalidation */
};

static struct {
    bool on;
    bool adversarial;       /* every cache has fetched everything at its last invalidation */
    pthread_mutex_t serial; /* adversarial: one access at a time, for it looks into all caches */
    uint32_t cus, dies, arrays;
    struct emu_caches *cu;
    struct cache *array, *die;
    pthread_mutex_t lock;
    uint32_t running;
    uint64_t stamp; /* adversarial: of stores and invalidations */
} device = {.lock = PTHREAD_MUTEX_INITIALIZER, .serial = PTHREAD_MUTEX_INITIALIZER};

/* ---- memory -----------------------------------------------------------------------------------
 */

static inline void copy(void *to, const void *from, uint32_t bytes) {
    switch (bytes) {
    case 1:
        memcpy(to, from, 1);
        break;
    case 2:
        memcpy(to, from, 2);
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    case 16:
        memcpy(to, from, 16);
        break;
    default:
        memcpy(to, from, bytes);
    }
}

/* The bytes of MASK, in the largest pieces they allow: a dword is moved as one. */
static void copy_masked(uint8_t *to, const uint8_t *from, bytes_t mask) {
    if (!~mask) {
        memcpy(to, from, LINE);
        return;
    }
    for (uint32_t i = 0; mask; i += 8, mask >>= 8) {
        uint32_t m = (uint32_t)mask & 0xff;
        if (m == 0xff) {
            memcpy(to + i, from + i, 8);
            continue;
        }
        for (uint32_t half = 0; half < 8; half += 4, m >>= 4) {
            if ((m & 15) == 15)
                memcpy(to + i + half, from + i + half, 4);
            else
                for (uint32_t b = 0; b < 4; b++)
                    if (m >> b & 1) to[i + half + b] = from[i + half + b];
        }
    }
}

static bytes_t mask_of(uint32_t from, uint32_t bytes) {
    return (bytes < LINE ? ((bytes_t)1 << bytes) - 1 : ~(bytes_t)0) << from;
}

/* ---- one cache --------------------------------------------------------------------------------
 */

static struct line *line_at(const struct cache *c, uint32_t i) {
    return &c->chunks[i / CHUNK][i % CHUNK];
}

static void refresh(const struct cache *c, struct line *l) {
    if (l->generation == c->generation) return;
    l->valid = l->dirty;
    l->generation = c->generation;
}

static uint32_t *slot_of(struct cache *c, uint64_t number) {
    uint32_t h = (uint32_t)(number * 0x9E3779B97F4A7C15u >> 32);
    for (;; h++) {
        uint32_t *s = &c->slots[h & (c->nslots - 1)];
        if (!*s || line_at(c, *s - 1)->number == number) return s;
    }
}

static struct line *find(struct cache *c, uint64_t number) {
    if (!c->last || line_at(c, c->last - 1)->number != number) {
        uint32_t s = *slot_of(c, number);
        if (!s) return NULL;
        c->last = s;
    }
    struct line *l = line_at(c, c->last - 1);
    refresh(c, l);
    return l;
}

static struct line *get(struct cache *c, uint64_t number);

/* Before memory changes: the other dies are taken to have fetched these bytes long ago. */
static void leave_old_in_dies(const struct cache *writer, uint64_t number, bytes_t mask) {
    if (!device.adversarial) return;
    for (uint32_t i = 0; i < device.dies; i++) {
        if (&device.die[i] == writer) continue;
        struct line *l = get(&device.die[i], number);
        copy_masked(l->data, (const uint8_t *)(uintptr_t)(number * LINE), mask & ~l->valid);
        l->valid |= mask;
    }
}

static void write_line_back(const struct cache *c, struct line *l, bytes_t mask) {
    mask &= l->dirty;
    leave_old_in_dies(c, l->number, mask);
    copy_masked((uint8_t *)(uintptr_t)(l->number * LINE), l->data, mask);
    l->dirty &= ~mask;
}

/* In adversarial mode the release of one CU is not that of another: what others wrote after this
 * one last looked stays where it is. BY is NULL for everything. */
static bool not_yet(const struct line *l, const struct emu_caches *by) {
    return device.adversarial && by && l->writer && l->writer != by && l->written > by->acquired;
}

static void write_back(struct cache *c, const struct emu_caches *by) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < c->ndirty; i++) {
        struct line *l = line_at(c, c->dirty[i]);
        if (not_yet(l, by)) {
            c->dirty[left++] = c->dirty[i];
            continue;
        }
        refresh(c, l);
        write_line_back(c, l, ~(bytes_t)0);
        l->listed = false;
    }
    c->ndirty = left;
}

static void empty(struct cache *c) {
    write_back(c, NULL);
    memset(c->slots, 0, c->nslots * sizeof *c->slots);
    c->count = c->last = 0;
}

static bool grow_slots(struct cache *c) {
    uint32_t n = c->nslots * 2, *bigger = n ? calloc(n, sizeof *bigger) : NULL;
    if (!bigger) return false;
    free(c->slots);
    c->slots = bigger;
    c->nslots = n;
    for (uint32_t i = 0; i < c->count; i++)
        *slot_of(c, line_at(c, i)->number) = i + 1;
    return true;
}

static bool grow_chunks(struct cache *c) {
    if (c->nchunks == c->chunks_room) {
        uint32_t room = c->chunks_room ? c->chunks_room * 2 : 16;
        struct line **bigger = realloc(c->chunks, room * sizeof *bigger);
        if (!bigger) return false;
        c->chunks = bigger;
        c->chunks_room = room;
    }
    struct line *chunk = malloc(CHUNK * sizeof *chunk);
    if (!chunk) return false;
    c->chunks[c->nchunks++] = chunk;
    return true;
}

static bool room_for_line(struct cache *c) {
    if (c->limit && c->count >= c->limit) return false;
    if (c->count / CHUNK >= c->nchunks && !grow_chunks(c)) return false;
    return c->count < c->nslots / 2 || grow_slots(c);
}

/* The line, made if it was not there. Without room the whole cache is written back and emptied. */
static struct line *get(struct cache *c, uint64_t number) {
    struct line *l = find(c, number);
    if (l) return l;
    if (!room_for_line(c)) empty(c);
    l = line_at(c, c->count);
    l->number = number;
    l->generation = c->generation;
    l->valid = l->dirty = 0;
    l->listed = false;
    *slot_of(c, number) = c->last = ++c->count;
    return l;
}

/* MASK of the line is now newer than memory. */
static void make_dirty(struct cache *c, struct line *l, bytes_t mask,
                       const struct emu_caches *writer) {
    l->valid |= mask;
    l->dirty |= mask;
    if (l->listed) {
        if (l->writer != writer) l->writer = NULL;
        return;
    }
    l->writer = writer;
    if (device.adversarial) l->written = ++device.stamp;
    if (c->ndirty == c->dirty_room) {
        uint32_t room = c->dirty_room ? c->dirty_room * 2 : 256;
        uint32_t *bigger = realloc(c->dirty, room * sizeof *bigger);
        if (!bigger) {
            write_line_back(c, l, ~(bytes_t)0); /* always allowed */
            return;
        }
        c->dirty = bigger;
        c->dirty_room = room;
    }
    c->dirty[c->ndirty++] = c->last - 1;
    l->listed = true;
}

static void invalidate(struct cache *c) {
    pthread_mutex_lock(&c->lock);
    c->generation++;
    pthread_mutex_unlock(&c->lock);
}

static bool create(struct cache *c, struct cache *next, uint64_t limit) {
    pthread_mutex_init(&c->lock, NULL);
    c->next = next;
    c->limit = (uint32_t)(limit / LINE);
    c->slots = calloc(FIRST_SLOTS, sizeof *c->slots);
    if (c->slots) c->nslots = FIRST_SLOTS;
    return c->slots && grow_chunks(c);
}

static void destroy(struct cache *c) {
    for (uint32_t i = 0; i < c->nchunks; i++)
        free(c->chunks[i]);
    free(c->chunks);
    free(c->slots);
    free(c->dirty);
    if (c->nslots) pthread_mutex_destroy(&c->lock);
}

/* ---- through the levels -----------------------------------------------------------------------
 */

static void read_line(struct cache *c, uint64_t number, const struct emu_range *r, bytes_t want,
                      uint8_t *out);

/* Have the bytes of WANT, and with them all the range R has of the line. */
static void fill(struct cache *c, struct line *l, const struct emu_range *r, bytes_t want) {
    if (!(want & ~l->valid)) return;
    uint64_t base = l->number * LINE;
    uint32_t from = r->lo > base ? (uint32_t)(r->lo - base) : 0;
    uint32_t to = r->hi - base < LINE ? (uint32_t)(r->hi - base) : LINE;
    bytes_t missing = mask_of(from, to - from) & ~l->valid;
    read_line(c->next, l->number, r, missing, l->data);
    l->valid |= missing;
}

/* The bytes of WANT as C gives them. C is NULL for memory; an L2 does not keep host memory. */
static void read_line(struct cache *c, uint64_t number, const struct emu_range *r, bytes_t want,
                      uint8_t *out) {
    while (c && c->may_be_dirty && r->uncached)
        c = c->next;
    if (!c) {
        copy_masked(out, (const uint8_t *)(uintptr_t)(number * LINE), want);
        return;
    }
    pthread_mutex_lock(&c->lock);
    struct line *l = get(c, number);
    fill(c, l, r, want);
    copy_masked(out, l->data, want);
    pthread_mutex_unlock(&c->lock);
}

/* What memory has, but for the die's own stores on their way to it. */
static void read_latest(struct cache *die, uint64_t number, bytes_t want, uint8_t *out) {
    bytes_t own = 0;
    if (die) {
        pthread_mutex_lock(&die->lock);
        struct line *l = find(die, number);
        own = l ? l->dirty & want : 0;
        if (own) copy_masked(out, l->data, own);
        pthread_mutex_unlock(&die->lock);
    }
    copy_masked(out, (const uint8_t *)(uintptr_t)(number * LINE), want & ~own);
}

/* The live range of an address; the last few are kept. */
static const struct emu_range *range_of(struct emu_range *seen, uint64_t addr) {
    for (int i = 0; i < LIVE_RANGES; i++)
        if (addr - seen[i].lo < seen[i].hi - seen[i].lo) return &seen[i];
    memmove(&seen[1], &seen[0], (LIVE_RANGES - 1) * sizeof *seen);
    seen[0] = emu_memory_find(addr);
    return &seen[0];
}

/* Part of an access that lies in one line. */
struct part {
    uint64_t number;
    uint32_t from, bytes;
};

static struct part part_of(uint64_t addr, uint32_t bytes) {
    struct part p = {addr / LINE, addr % LINE, bytes};
    if (p.from + bytes > LINE) p.bytes = LINE - p.from;
    return p;
}

static void enter(void) {
    if (device.adversarial) pthread_mutex_lock(&device.serial);
}
static void leave(void) {
    if (device.adversarial) pthread_mutex_unlock(&device.serial);
}

static void load_part(struct emu_caches *u, enum emu_level from, struct part p,
                      struct emu_range *seen, uint8_t *out) {
    uint8_t data[LINE];
    bytes_t want = mask_of(p.from, p.bytes);
    if (from == EMU_NEAR) {
        struct line *l = get(&u->near, p.number);
        if (want & ~l->valid) fill(&u->near, l, range_of(seen, p.number * LINE + p.from), want);
        copy(out, l->data + p.from, p.bytes);
        return;
    }
    struct cache *c = from == EMU_ARRAY && u->array ? u->array : u->die;
    if (from == EMU_MEMORY)
        read_latest(u->die, p.number, want, data);
    else
        read_line(c, p.number, range_of(seen, p.number * LINE + p.from), want, data);
    copy(out, data + p.from, p.bytes);
}

void emu_cache_load(struct emu_caches *u, enum emu_level from, const uint64_t *addr, uint64_t mask,
                    uint32_t bytes, uint8_t (*data)[EMU_LANE_BYTES]) {
    struct emu_range seen[LIVE_RANGES] = {{0}};
    enter();
    pthread_mutex_lock(&u->near.lock);
    for (; mask; mask &= mask - 1) {
        int i = __builtin_ctzll(mask);
        struct part p = part_of(addr[i], bytes);
        load_part(u, from, p, seen, data[i]);
        if (p.bytes == bytes) continue;
        load_part(u, from, (struct part){p.number + 1, 0, bytes - p.bytes}, seen,
                  data[i] + p.bytes);
    }
    pthread_mutex_unlock(&u->near.lock);
    leave();
}

/* The same for a CU whose next level is about to change. */
static void leave_old(struct cache *c, struct part p, const struct emu_range *r, bytes_t mask) {
    struct line *l = get(c, p.number);
    bytes_t missing = mask & ~l->valid;
    if (!missing) return;
    read_line(c->next, p.number, r, missing, l->data);
    l->valid |= missing;
}

static void leave_old_near(const struct emu_caches *u, struct part p, const struct emu_range *r,
                           bytes_t mask) {
    for (uint32_t i = 0; i < device.arrays; i++)
        if (&device.array[i] != u->array && device.array[i].next == u->die)
            leave_old(&device.array[i], p, r, mask);
    for (uint32_t i = 0; i < device.cus; i++) {
        struct emu_caches *other = &device.cu[i];
        if (other->die != u->die) continue;
        leave_old(&other->scalar, p, r, mask);
        if (other != u && other->array == u->array) leave_old(&other->near, p, r, mask);
    }
}

/* Copies on the way are brought up to date; a cache that has none does not take one. */
static void update(struct cache *c, struct part p, bytes_t mask, const uint8_t *in) {
    struct line *l = find(c, p.number);
    if (l && l->valid & mask) copy_masked(l->data, in, l->valid & mask);
}

static void store_part(struct emu_caches *u, enum emu_level to, struct part p,
                       struct emu_range *seen, const uint8_t *bytes) {
    uint8_t data[LINE];
    bytes_t mask = mask_of(p.from, p.bytes);
    const struct emu_range *r = range_of(seen, p.number * LINE + p.from);
    copy(data + p.from, bytes, p.bytes);
    if (device.adversarial) leave_old_near(u, p, r, mask);
    update(&u->near, p, mask, data);
    if (u->array) {
        pthread_mutex_lock(&u->array->lock);
        update(u->array, p, mask, data);
        pthread_mutex_unlock(&u->array->lock);
    }
    struct cache *die = u->die;
    if (r->uncached) die = NULL;
    if (die) {
        pthread_mutex_lock(&die->lock);
        if (to == EMU_MEMORY) {
            update(die, p, mask, data);
            struct line *l = find(die, p.number);
            if (l) l->dirty &= ~mask;
            leave_old_in_dies(die, p.number, mask);
        } else {
            struct line *l = get(die, p.number);
            copy_masked(l->data, data, mask);
            make_dirty(die, l, mask, u);
        }
        pthread_mutex_unlock(&die->lock);
    }
    if (!die || to == EMU_MEMORY)
        copy((void *)(uintptr_t)(p.number * LINE + p.from), bytes, p.bytes);
}

void emu_cache_store(struct emu_caches *u, enum emu_level to, const uint64_t *addr, uint64_t mask,
                     uint32_t bytes, uint8_t (*data)[EMU_LANE_BYTES]) {
    struct emu_range seen[LIVE_RANGES] = {{0}};
    enter();
    pthread_mutex_lock(&u->near.lock);
    for (; mask; mask &= mask - 1) {
        int i = __builtin_ctzll(mask);
        struct part p = part_of(addr[i], bytes);
        store_part(u, to, p, seen, data[i]);
        if (p.bytes == bytes) continue;
        store_part(u, to, (struct part){p.number + 1, 0, bytes - p.bytes}, seen, data[i] + p.bytes);
    }
    pthread_mutex_unlock(&u->near.lock);
    leave();
}

/* Nothing of the line is kept by C, but for dirty bytes outside MASK. */
static void give_up(struct cache *c, uint64_t number, bytes_t mask) {
    struct line *l = find(c, number);
    if (!l) return;
    if (c->may_be_dirty) {
        write_line_back(c, l, mask);
        l->valid &= ~mask;
    } else {
        l->valid = 0;
    }
}

void emu_cache_atomic(struct emu_caches *u, const uint64_t *addr, uint64_t mask, uint32_t bytes) {
    struct cache *const levels[] = {&u->near, u->array, u->die};
    enter();
    for (int k = 0; k < 3; k++) {
        struct cache *c = levels[k];
        if (!c) continue;
        pthread_mutex_lock(&c->lock);
        for (uint64_t m = mask; m; m &= m - 1) {
            uint64_t a = addr[__builtin_ctzll(m)];
            give_up(c, a / LINE, mask_of(a % LINE, bytes));
        }
        pthread_mutex_unlock(&c->lock);
    }
    leave();
}

void emu_cache_scalar_load(struct emu_caches *u, uint64_t addr, uint32_t bytes, void *out) {
    struct cache *c = &u->scalar;
    uint8_t *to = out;
    enter();
    pthread_mutex_lock(&c->lock);
    while (bytes) {
        struct part p = part_of(addr, bytes);
        struct line *l = get(c, p.number);
        bytes_t want = mask_of(p.from, p.bytes);
        if (want & ~l->valid) {
            struct emu_range r = emu_memory_find(addr);
            fill(c, l, &r, want);
        }
        memcpy(to, l->data + p.from, p.bytes);
        to += p.bytes;
        addr += p.bytes;
        bytes -= p.bytes;
    }
    pthread_mutex_unlock(&c->lock);
    leave();
}

/* The far ones first: a near one must not be filled again with what a far one is about to lose. */
void emu_cache_invalidate(struct emu_caches *u, unsigned levels) {
    enter();
    u->acquired = device.adversarial ? ++device.stamp : 0;
    if (levels >> EMU_DIE & 1 && u->die) invalidate(u->die);
    if (levels >> EMU_ARRAY & 1 && u->array) invalidate(u->array);
    if (levels >> EMU_SCALAR & 1) invalidate(&u->scalar);
    if (levels >> EMU_NEAR & 1) invalidate(&u->near);
    leave();
}

void emu_cache_write_back(struct emu_caches *u) {
    if (!u->die) return;
    enter();
    pthread_mutex_lock(&u->die->lock);
    write_back(u->die, u);
    pthread_mutex_unlock(&u->die->lock);
    leave();
}

/* ---- the device -------------------------------------------------------------------------------
 */

static bool create_cus(const struct emu_config *c) {
    uint32_t cu = 0;
    for (uint32_t die = 0; die < c->xcds; die++) {
        uint32_t n = emu_config_die_cus(c, die);
        for (uint32_t i = 0; i < n; i++, cu++) {
            struct emu_caches *u = &device.cu[cu];
            struct emu_cu_id id = emu_config_cu_id(c, n, i);
            if (device.die) u->die = &device.die[die];
            if (device.array) u->array = &device.array[die * MAX_ARRAYS + id.se * 2 + id.sh];
            if (!create(&u->near, u->array ? u->array : u->die, c->l1_limit)) return false;
            if (!create(&u->scalar, u->near.next, c->l1_limit)) return false;
        }
    }
    return true;
}

bool emu_caches_start(const struct emu_config *c) {
    if (c->coherence == EMU_COHERENCE_OFF) return true;
    device.on = true;
    device.adversarial = c->coherence == EMU_COHERENCE_MODEL;
    device.cus = c->cus;
    device.cu = calloc(c->cus, sizeof *device.cu);
    if (!device.cu) return false;
    if (c->xcds > 1) {
        device.die = calloc(c->xcds, sizeof *device.die);
        if (!device.die) return false;
        device.dies = c->xcds;
    }
    for (uint32_t i = 0; i < device.dies; i++) {
        device.die[i].may_be_dirty = true;
        if (!create(&device.die[i], NULL, c->l2_limit)) return false;
    }
    if (c->arch->array_caches) {
        device.array = calloc((size_t)c->xcds * MAX_ARRAYS, sizeof *device.array);
        if (!device.array) return false;
        device.arrays = c->xcds * MAX_ARRAYS;
    }
    for (uint32_t i = 0; i < device.arrays; i++)
        if (!create(&device.array[i], device.die ? &device.die[i / MAX_ARRAYS] : NULL, c->l1_limit))
            return false;
    return create_cus(c);
}

/* Far ones first, as above. */
static void for_all(void (*f)(struct cache *)) {
    for (uint32_t i = 0; i < device.dies; i++)
        f(&device.die[i]);
    for (uint32_t i = 0; i < device.arrays; i++)
        f(&device.array[i]);
    for (uint32_t i = 0; i < device.cus; i++) {
        f(&device.cu[i].near);
        f(&device.cu[i].scalar);
    }
}

void emu_caches_stop(void) {
    if (!device.on) return;
    for_all(destroy);
    free(device.cu);
    free(device.array);
    free(device.die);
    device.cu = NULL;
    device.array = device.die = NULL;
    device.cus = device.arrays = device.dies = 0;
    device.on = false;
}

static void write_back_locked(struct cache *c) {
    pthread_mutex_lock(&c->lock);
    write_back(c, NULL);
    pthread_mutex_unlock(&c->lock);
}

void emu_caches_begin(void) {
    if (!device.on) return;
    pthread_mutex_lock(&device.lock);
    enter();
    device.running++;
    for_all(invalidate);
    leave();
    pthread_mutex_unlock(&device.lock);
}

void emu_caches_end(void) {
    if (!device.on) return;
    pthread_mutex_lock(&device.lock);
    enter();
    for_all(write_back_locked);
    if (!--device.running) for_all(empty);
    leave();
    pthread_mutex_unlock(&device.lock);
}

struct emu_caches *emu_caches_of(int64_t cu) {
    return device.on && cu >= 0 ? &device.cu[cu] : NULL;
}
