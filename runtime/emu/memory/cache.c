/* cache.c - the caches of a device, and accesses through them. */
#include "runtime/emu/memory/cache.h"
#include "runtime/emu/memory/line.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LIVE_RANGES = 4, MAX_ARRAYS = 16 }; /* shader arrays of a die, by engine and array in it */

struct emu_caches {
    struct emu_cache near, scalar;
    struct emu_cache *array, *die; /* NULL where there is none */
    uint64_t acquired;             /* stamp of the last invalidation */
};

static struct {
    bool on;
    bool adversarial;       /* every cache has fetched everything at its last invalidation */
    pthread_mutex_t serial; /* adversarial: one access at a time, for it looks into all caches */
    uint32_t cus, dies, arrays;
    struct emu_caches *cu;
    struct emu_cache *array, *die;
    pthread_mutex_t lock;
    uint32_t running;
    uint64_t stamp; /* adversarial: of stores and invalidations */
} device = {.lock = PTHREAD_MUTEX_INITIALIZER, .serial = PTHREAD_MUTEX_INITIALIZER};

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

/* ---- through the levels ---- */

static void read_line(struct emu_cache *c, uint64_t number, const struct emu_range *r,
                      emu_bytes want, uint8_t *out);

/* Have the bytes of WANT, and with them all the range R has of the line. */
static void fill(struct emu_cache *c, struct emu_line *l, const struct emu_range *r,
                 emu_bytes want) {
    if (!(want & ~l->valid)) return;
    uint64_t base = l->number * EMU_LINE;
    uint32_t from = r->lo > base ? (uint32_t)(r->lo - base) : 0;
    uint32_t to = r->hi - base < EMU_LINE ? (uint32_t)(r->hi - base) : EMU_LINE;
    emu_bytes missing = emu_bytes_mask(from, to - from) & ~l->valid;
    read_line(c->next, l->number, r, missing, l->data);
    l->valid |= missing;
}

/* The bytes of WANT as C gives them. C is NULL for memory; an L2 does not keep host memory. */
static void read_line(struct emu_cache *c, uint64_t number, const struct emu_range *r,
                      emu_bytes want, uint8_t *out) {
    while (c && c->may_be_dirty && r->uncached)
        c = c->next;
    if (!c) {
        emu_bytes_copy(out, (const uint8_t *)(uintptr_t)(number * EMU_LINE), want);
        return;
    }
    pthread_mutex_lock(&c->lock);
    struct emu_line *l = emu_cache_get(c, number);
    fill(c, l, r, want);
    emu_bytes_copy(out, l->data, want);
    pthread_mutex_unlock(&c->lock);
}

/* What memory has, but for the die's own stores on their way to it. */
static void read_latest(struct emu_cache *die, uint64_t number, emu_bytes want, uint8_t *out) {
    emu_bytes own = 0;
    if (die) {
        pthread_mutex_lock(&die->lock);
        struct emu_line *l = emu_cache_find(die, number);
        own = l ? l->dirty & want : 0;
        if (own) emu_bytes_copy(out, l->data, own);
        pthread_mutex_unlock(&die->lock);
    }
    emu_bytes_copy(out, (const uint8_t *)(uintptr_t)(number * EMU_LINE), want & ~own);
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
    struct part p = {addr / EMU_LINE, addr % EMU_LINE, bytes};
    if (p.from + bytes > EMU_LINE) p.bytes = EMU_LINE - p.from;
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
    uint8_t data[EMU_LINE];
    emu_bytes want = emu_bytes_mask(p.from, p.bytes);
    if (from == EMU_NEAR) {
        struct emu_line *l = emu_cache_get(&u->near, p.number);
        if (want & ~l->valid) fill(&u->near, l, range_of(seen, p.number * EMU_LINE + p.from), want);
        copy(out, l->data + p.from, p.bytes);
        return;
    }
    struct emu_cache *c = from == EMU_ARRAY && u->array ? u->array : u->die;
    if (from == EMU_MEMORY)
        read_latest(u->die, p.number, want, data);
    else
        read_line(c, p.number, range_of(seen, p.number * EMU_LINE + p.from), want, data);
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

/* What lanes one after another store in a line and a range: looked up once. */
struct stores {
    struct emu_range range;
    uint64_t number;
    emu_bytes mask; /* 0: none yet */
    uint8_t data[EMU_LINE];
};

/* The same for a CU whose next level is about to change. */
static void leave_old(struct emu_cache *c, const struct stores *s) {
    struct emu_line *l = emu_cache_try(c, s->number);
    emu_bytes missing = l ? s->mask & ~l->valid : 0;
    if (!missing) return;
    read_line(c->next, s->number, &s->range, missing, l->data);
    l->valid |= missing;
}

static void leave_old_near(const struct emu_caches *u, const struct stores *s) {
    for (uint32_t i = 0; i < device.arrays; i++)
        if (&device.array[i] != u->array && device.array[i].next == u->die)
            leave_old(&device.array[i], s);
    for (uint32_t i = 0; i < device.cus; i++) {
        struct emu_caches *other = &device.cu[i];
        if (other->die != u->die) continue;
        leave_old(&other->scalar, s);
        if (other != u && other->array == u->array) leave_old(&other->near, s);
    }
}

/* Copies on the way are brought up to date; a cache that has none does not take one. */
static void update(struct emu_cache *c, const struct stores *s) {
    struct emu_line *l = emu_cache_find(c, s->number);
    if (l && l->valid & s->mask) emu_bytes_copy(l->data, s->data, l->valid & s->mask);
}

static void store_all(struct emu_caches *u, enum emu_level to, struct stores *s) {
    if (device.adversarial) leave_old_near(u, s);
    update(&u->near, s);
    if (u->array) {
        pthread_mutex_lock(&u->array->lock);
        update(u->array, s);
        pthread_mutex_unlock(&u->array->lock);
    }
    struct emu_cache *die = s->range.uncached ? NULL : u->die;
    if (die) {
        pthread_mutex_lock(&die->lock);
        if (to == EMU_MEMORY) {
            update(die, s);
            struct emu_line *l = emu_cache_find(die, s->number);
            if (l) l->dirty &= ~s->mask;
            emu_cache_leave_old(die, s->number, s->mask);
        } else {
            struct emu_line *l = emu_cache_get(die, s->number);
            emu_bytes_copy(l->data, s->data, s->mask);
            emu_cache_make_dirty(die, l, s->mask, u, device.adversarial ? ++device.stamp : 0);
        }
        pthread_mutex_unlock(&die->lock);
    }
    if (!die || to == EMU_MEMORY)
        emu_bytes_copy((uint8_t *)(uintptr_t)(s->number * EMU_LINE), s->data, s->mask);
    s->mask = 0;
}

/* P is stored with what waits in S, or after it. */
static void store_part(struct emu_caches *u, enum emu_level to, struct part p,
                       struct emu_range *seen, struct stores *s, const uint8_t *bytes) {
    uint64_t addr = p.number * EMU_LINE + p.from;
    if (s->mask && (p.number != s->number || addr - s->range.lo >= s->range.hi - s->range.lo))
        store_all(u, to, s);
    if (!s->mask) {
        s->range = *range_of(seen, addr);
        s->number = p.number;
    }
    copy(s->data + p.from, bytes, p.bytes);
    s->mask |= emu_bytes_mask(p.from, p.bytes);
}

void emu_cache_store(struct emu_caches *u, enum emu_level to, const uint64_t *addr, uint64_t mask,
                     uint32_t bytes, uint8_t (*data)[EMU_LANE_BYTES]) {
    struct emu_range seen[LIVE_RANGES] = {{0}};
    struct stores s;
    s.mask = 0;
    enter();
    pthread_mutex_lock(&u->near.lock);
    for (; mask; mask &= mask - 1) {
        int i = __builtin_ctzll(mask);
        struct part p = part_of(addr[i], bytes);
        store_part(u, to, p, seen, &s, data[i]);
        if (p.bytes == bytes) continue;
        p = (struct part){p.number + 1, 0, bytes - p.bytes};
        store_part(u, to, p, seen, &s, data[i] + bytes - p.bytes);
    }
    if (s.mask) store_all(u, to, &s);
    pthread_mutex_unlock(&u->near.lock);
    leave();
}

/* Nothing of the line is kept by C, but for dirty bytes outside MASK. */
static void give_up(struct emu_cache *c, uint64_t number, emu_bytes mask) {
    struct emu_line *l = emu_cache_find(c, number);
    if (!l) return;
    if (c->may_be_dirty) {
        emu_cache_write_line(c, l, mask);
        l->valid &= ~mask;
    } else {
        l->valid = 0;
    }
}

void emu_cache_atomic(struct emu_caches *u, const uint64_t *addr, uint64_t mask, uint32_t bytes) {
    struct emu_cache *const levels[] = {&u->near, u->array, u->die};
    enter();
    for (int k = 0; k < 3; k++) {
        struct emu_cache *c = levels[k];
        if (!c) continue;
        pthread_mutex_lock(&c->lock);
        for (uint64_t m = mask; m; m &= m - 1) {
            uint64_t a = addr[__builtin_ctzll(m)];
            give_up(c, a / EMU_LINE, emu_bytes_mask(a % EMU_LINE, bytes));
        }
        pthread_mutex_unlock(&c->lock);
    }
    leave();
}

void emu_cache_scalar_load(struct emu_caches *u, uint64_t addr, uint32_t bytes, void *out) {
    struct emu_cache *c = &u->scalar;
    uint8_t *to = out;
    enter();
    pthread_mutex_lock(&c->lock);
    while (bytes) {
        struct part p = part_of(addr, bytes);
        struct emu_line *l = emu_cache_get(c, p.number);
        emu_bytes want = emu_bytes_mask(p.from, p.bytes);
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
    if (levels >> EMU_DIE & 1 && u->die) emu_cache_drop_all(u->die);
    if (levels >> EMU_ARRAY & 1 && u->array) emu_cache_drop_all(u->array);
    if (levels >> EMU_SCALAR & 1) emu_cache_drop_all(&u->scalar);
    if (levels >> EMU_NEAR & 1) emu_cache_drop_all(&u->near);
    leave();
}

void emu_cache_write_back(struct emu_caches *u) {
    if (!u->die) return;
    enter();
    pthread_mutex_lock(&u->die->lock);
    emu_cache_write_lines(u->die, device.adversarial ? u : NULL, u->acquired);
    pthread_mutex_unlock(&u->die->lock);
    leave();
}

/* ---- the device ---- */

static bool create_cus(const struct emu_config *c) {
    uint32_t cu = 0;
    for (uint32_t die = 0; die < c->xcds; die++) {
        uint32_t n = emu_config_die_cus(c, die);
        for (uint32_t i = 0; i < n; i++, cu++) {
            struct emu_caches *u = &device.cu[cu];
            struct emu_cu_id id = emu_config_cu_id(c, n, i);
            if (device.die) u->die = &device.die[die];
            if (device.array) u->array = &device.array[die * MAX_ARRAYS + id.se * 2 + id.sh];
            if (!emu_cache_create(&u->near, u->array ? u->array : u->die, c->l1_limit))
                return false;
            if (!emu_cache_create(&u->scalar, u->near.next, c->l1_limit)) return false;
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
        if (device.adversarial) {
            device.die[i].peers = device.die;
            device.die[i].npeers = device.dies;
        }
        if (!emu_cache_create(&device.die[i], NULL, c->l2_limit)) return false;
    }
    if (c->arch->array_caches) {
        device.array = calloc((size_t)c->xcds * MAX_ARRAYS, sizeof *device.array);
        if (!device.array) return false;
        device.arrays = c->xcds * MAX_ARRAYS;
    }
    for (uint32_t i = 0; i < device.arrays; i++)
        if (!emu_cache_create(&device.array[i], device.die ? &device.die[i / MAX_ARRAYS] : NULL,
                              c->l1_limit))
            return false;
    return create_cus(c);
}

/* Far ones first, as above. */
static void for_all(void (*f)(struct emu_cache *)) {
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
    for_all(emu_cache_destroy);
    free(device.cu);
    free(device.array);
    free(device.die);
    device.cu = NULL;
    device.array = device.die = NULL;
    device.cus = device.arrays = device.dies = 0;
    device.on = false;
}

static void write_back_locked(struct emu_cache *c) {
    pthread_mutex_lock(&c->lock);
    emu_cache_write_lines(c, NULL, 0);
    pthread_mutex_unlock(&c->lock);
}

void emu_caches_begin(void) {
    if (!device.on) return;
    pthread_mutex_lock(&device.lock);
    enter();
    device.running++;
    for_all(emu_cache_drop_all);
    leave();
    pthread_mutex_unlock(&device.lock);
}

void emu_caches_end(void) {
    if (!device.on) return;
    pthread_mutex_lock(&device.lock);
    enter();
    for_all(write_back_locked);
    if (!--device.running) for_all(emu_cache_empty);
    leave();
    pthread_mutex_unlock(&device.lock);
}

struct emu_caches *emu_caches_of(int64_t cu) {
    return device.on && cu >= 0 ? &device.cu[cu] : NULL;
}
