/* ranges.c - the table of live ranges.
 *
 * One writer at a time shifts entries in place under a sequence count that is odd meanwhile; a
 * reader that saw the count move looks again. A table that is outgrown stays allocated until the
 * reset, because a reader may still be looking at it; growth is geometric. */
#include "runtime/emu/memory/ranges.h"

#include "runtime/emu/base/sync.h"
#include "runtime/emu/emu.h"

#include <stdlib.h>

struct entry {
    _Atomic uint64_t lo, hi;
    _Atomic bool writable, uncached, shared;
};

struct table {
    struct table *outgrown;
    size_t room;
    struct entry at[];
};

static _Atomic(struct table *) current;
static _Atomic size_t count;
static _Atomic uint64_t version;

static void begin_write(void) {
    atomic_fetch_add(&version, 1);
    atomic_thread_fence(memory_order_seq_cst);
}

static void end_write(void) {
    atomic_fetch_add_explicit(&version, 1, memory_order_release);
}

static void copy_entry(struct entry *to, struct entry *from) {
    atomic_store_explicit(&to->lo, atomic_load_explicit(&from->lo, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&to->hi, atomic_load_explicit(&from->hi, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&to->writable,
                          atomic_load_explicit(&from->writable, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&to->uncached,
                          atomic_load_explicit(&from->uncached, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&to->shared, atomic_load_explicit(&from->shared, memory_order_relaxed),
                          memory_order_relaxed);
}

/* Index of the first entry with lo > ADDR. */
static size_t upper_bound(struct table *t, size_t n, uint64_t addr) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (atomic_load_explicit(&t->at[mid].lo, memory_order_relaxed) <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct emu_range find_once(uint64_t addr) {
    struct emu_range none = {0};
    struct table *t = atomic_load_explicit(&current, memory_order_acquire);
    size_t n = atomic_load_explicit(&count, memory_order_relaxed);
    if (!t || n > t->room) return none;
    size_t i = upper_bound(t, n, addr);
    if (!i) return none;
    struct entry *e = &t->at[i - 1];
    struct emu_range r = {atomic_load_explicit(&e->lo, memory_order_relaxed),
                          atomic_load_explicit(&e->hi, memory_order_relaxed),
                          atomic_load_explicit(&e->writable, memory_order_relaxed),
                          atomic_load_explicit(&e->uncached, memory_order_relaxed),
                          atomic_load_explicit(&e->shared, memory_order_relaxed)};
    return addr >= r.lo && addr < r.hi ? r : none;
}

struct emu_range emu_memory_find(uint64_t addr) {
    for (;;) {
        uint64_t v = atomic_load_explicit(&version, memory_order_acquire);
        if (!(v & 1)) {
            struct emu_range r = find_once(addr);
            atomic_thread_fence(memory_order_acquire);
            if (atomic_load_explicit(&version, memory_order_relaxed) == v) return r;
        }
        emu_relax();
    }
}

static bool grow(size_t need) {
    struct table *old = atomic_load(&current);
    if (old && need <= old->room) return true;
    size_t room = old ? old->room * 2 : 64;
    struct table *t = calloc(1, sizeof *t + room * sizeof t->at[0]);
    if (!t) return false;
    t->room = room;
    t->outgrown = old;
    for (size_t i = 0; old && i < atomic_load(&count); i++)
        copy_entry(&t->at[i], &old->at[i]);
    atomic_store(&current, t);
    return true;
}

bool emu_ranges_add(uint64_t lo, uint64_t hi, bool writable, bool uncached) {
    if (lo >= hi) return true;
    size_t n = atomic_load(&count);
    if (!grow(n + 1)) return false;
    struct table *t = atomic_load(&current);
    size_t at = upper_bound(t, n, lo);
    begin_write();
    for (size_t i = n; i > at; i--)
        copy_entry(&t->at[i], &t->at[i - 1]);
    atomic_store_explicit(&t->at[at].lo, lo, memory_order_relaxed);
    atomic_store_explicit(&t->at[at].hi, hi, memory_order_relaxed);
    atomic_store_explicit(&t->at[at].writable, writable, memory_order_relaxed);
    atomic_store_explicit(&t->at[at].uncached, uncached, memory_order_relaxed);
    atomic_store_explicit(&t->at[at].shared, false, memory_order_relaxed);
    atomic_store_explicit(&count, n + 1, memory_order_relaxed);
    end_write();
    return true;
}

void emu_ranges_remove(uint64_t lo, uint64_t hi) {
    struct table *t = atomic_load(&current);
    size_t n = atomic_load(&count);
    if (!t || lo >= hi) return;
    size_t from = lo ? upper_bound(t, n, lo - 1) : 0;
    size_t to = upper_bound(t, n, hi - 1);
    if (from == to) return;
    begin_write();
    for (size_t i = to; i < n; i++)
        copy_entry(&t->at[from + i - to], &t->at[i]);
    atomic_store_explicit(&count, n - (to - from), memory_order_relaxed);
    end_write();
}

void emu_ranges_share(uint64_t lo) {
    struct table *t = atomic_load(&current);
    size_t at = t ? upper_bound(t, atomic_load(&count), lo) : 0;
    if (!at || atomic_load(&t->at[at - 1].lo) != lo) return;
    begin_write();
    atomic_store_explicit(&t->at[at - 1].shared, true, memory_order_relaxed);
    end_write();
}

void emu_ranges_reset(void) {
    begin_write();
    struct table *t = atomic_load(&current);
    atomic_store(&count, 0);
    atomic_store(&current, NULL);
    end_write();
    while (t) {
        struct table *next = t->outgrown;
        free(t);
        t = next;
    }
}
