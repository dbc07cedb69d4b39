/* memory.c - allocations, their guard gaps, poison, and what becomes of them once freed. */
#include "runtime/emu/memory/memory.h"

#include "runtime/emu/emu.h"
#include "runtime/emu/memory/ranges.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PAGE = 4096,
    HUGE = 2 << 20,
    GUARD = 1 << 20,   /* address space kept empty on both sides of an allocation */
    QUARANTINE = 1024, /* freed reservations whose addresses are not reused yet */
};

struct alloc {
    uint64_t lo, hi; /* the bytes asked for */
    void *map;       /* the reservation with its guards; NULL for adopted memory */
    size_t map_bytes;
    enum emu_memory_kind kind;
    uint32_t tag;
    uint32_t adoptions;
    bool visible;
};

struct freed {
    struct freed *next;
    void *map;
    size_t map_bytes;
    uint64_t lo, hi;
    enum emu_memory_kind kind;
    uint64_t stamp; /* dispatches pinned up to here may still use it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct alloc *allocs; /* sorted by lo, disjoint */
static size_t nallocs, allocs_room;
static struct freed *limbo, **limbo_tail = &limbo;
static struct freed quarantine[QUARANTINE];
static size_t quarantine_next;
static struct emu_memory_pin *oldest_pin, *newest_pin;
static uint64_t pin_stamp;
static size_t in_use;

/* Index of the first allocation with lo > ADDR. */
static size_t after(uint64_t addr) {
    size_t lo = 0, hi = nallocs;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (allocs[mid].lo <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct alloc *holding(uint64_t addr) {
    size_t i = after(addr);
    return i && addr < allocs[i - 1].hi ? &allocs[i - 1] : NULL;
}

static struct alloc *starting(uint64_t addr) {
    struct alloc *a = holding(addr);
    return a && a->lo == addr ? a : NULL;
}

static bool room_for_one(void) {
    if (nallocs < allocs_room) return true;
    size_t room = allocs_room ? allocs_room * 2 : 64;
    struct alloc *bigger = realloc(allocs, room * sizeof *bigger);
    if (!bigger) return false;
    allocs = bigger;
    allocs_room = room;
    return true;
}

/* Memory of the host that an L2 does not keep: MTYPE UC. */
static bool uncached(enum emu_memory_kind kind) {
    return kind == EMU_MEM_HOST || kind == EMU_MEM_QUEUE || kind == EMU_MEM_SIGNAL ||
           kind == EMU_MEM_LOCKED;
}

/* Enter A in the list and, when visible, in the table kernels look in. */
static bool enter(const struct alloc *a) {
    if (!room_for_one()) return false;
    if (a->visible && !emu_ranges_add(a->lo, a->hi, true, uncached(a->kind))) return false;
    size_t at = after(a->lo);
    memmove(&allocs[at + 1], &allocs[at], (nallocs - at) * sizeof *allocs);
    allocs[at] = *a;
    nallocs++;
    if (a->kind == EMU_MEM_DEVICE) in_use += a->hi - a->lo;
    return true;
}

static void forget(struct alloc *a) {
    emu_ranges_remove(a->lo, a->hi);
    if (a->kind == EMU_MEM_DEVICE) in_use -= a->hi - a->lo;
    size_t at = (size_t)(a - allocs);
    nallocs--;
    memmove(a, a + 1, (nallocs - at) * sizeof *allocs);
}

/* Give the memory back and keep the addresses for a while. */
static void retire(const struct freed *f) {
    void *kept = mmap(f->map, f->map_bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (kept == MAP_FAILED) {
        munmap(f->map, f->map_bytes);
        return;
    }
    struct freed *slot = &quarantine[quarantine_next++ % QUARANTINE];
    if (slot->map) munmap(slot->map, slot->map_bytes);
    *slot = *f;
    slot->next = NULL;
}

static void drain_limbo(void) {
    while (limbo && (!oldest_pin || oldest_pin->stamp > limbo->stamp)) {
        struct freed *f = limbo;
        limbo = f->next;
        if (!limbo) limbo_tail = &limbo;
        retire(f);
        free(f);
    }
}

static void release(const struct alloc *a) {
    if (!a->map) return;
    struct freed gone = {.map = a->map,
                         .map_bytes = a->map_bytes,
                         .lo = a->lo,
                         .hi = a->hi,
                         .kind = a->kind,
                         .stamp = pin_stamp};
    struct freed *f = oldest_pin ? malloc(sizeof *f) : NULL;
    if (!f) {
        /* With no memory for a note about it, the address space is lost rather than pulled from
         * under a kernel. */
        if (!oldest_pin) retire(&gone);
        return;
    }
    *f = gone;
    *limbo_tail = f;
    limbo_tail = &f->next;
}

/* A reservation of BYTES between guards; *MAP and *MAP_BYTES describe all of it. */
static void *reserve(size_t bytes, size_t align, void **map, size_t *map_bytes) {
    if (bytes > SIZE_MAX / 4 || align > SIZE_MAX / 4) return NULL;
    if (align < PAGE) align = PAGE;
    if (bytes >= HUGE && align < HUGE) align = HUGE;
    size_t usable = (bytes + PAGE - 1) / PAGE * PAGE;
    size_t total = usable + align + 2 * (size_t)GUARD;
    char *p = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return NULL;
    uint64_t start = ((uint64_t)p + GUARD + align - 1) & ~((uint64_t)align - 1);
    if (mprotect((void *)start, usable, PROT_READ | PROT_WRITE)) {
        munmap(p, total);
        return NULL;
    }
    if (bytes >= HUGE) madvise((void *)start, usable, MADV_HUGEPAGE);
    *map = p;
    *map_bytes = total;
    return (void *)start;
}

static void *allocate(size_t bytes, size_t align, enum emu_memory_kind kind, uint32_t tag,
                      bool visible, bool poison) {
    if (!bytes) return NULL;
    struct alloc a = {.kind = kind, .tag = tag, .visible = visible};
    void *start = reserve(bytes, align, &a.map, &a.map_bytes);
    if (!start) return NULL;
    if (poison && bytes <= EMU_SPARSE) memset(start, EMU_POISON, bytes);
    a.lo = (uint64_t)start;
    a.hi = a.lo + bytes;
    pthread_mutex_lock(&lock);
    bool ok = enter(&a);
    pthread_mutex_unlock(&lock);
    if (ok) return start;
    munmap(a.map, a.map_bytes);
    return NULL;
}

void *emu_memory_alloc(size_t bytes, size_t align, enum emu_memory_kind kind, uint32_t tag,
                       bool visible) {
    return allocate(bytes, align, kind, tag, visible, true);
}

void *emu_memory_alloc_zeroed(size_t bytes, size_t align, enum emu_memory_kind kind, bool visible) {
    return allocate(bytes, align, kind, 0, visible, false);
}

bool emu_memory_show(uint64_t base, bool visible) {
    pthread_mutex_lock(&lock);
    struct alloc *a = starting(base);
    bool ok = a != NULL;
    if (ok && visible && !a->visible) ok = emu_ranges_add(a->lo, a->hi, true, uncached(a->kind));
    if (ok && !visible && a->visible) emu_ranges_remove(a->lo, a->hi);
    if (ok) a->visible = visible;
    pthread_mutex_unlock(&lock);
    return ok;
}

void emu_memory_share(uint64_t base) {
    pthread_mutex_lock(&lock);
    emu_ranges_share(base);
    pthread_mutex_unlock(&lock);
}

bool emu_memory_show_part(uint64_t lo, uint64_t hi, bool writable) {
    pthread_mutex_lock(&lock);
    struct alloc *a = holding(lo);
    bool ok =
        a && !a->visible && hi <= a->hi && emu_ranges_add(lo, hi, writable, uncached(a->kind));
    pthread_mutex_unlock(&lock);
    return ok;
}

bool emu_memory_free(const void *base, enum emu_memory_kind kind) {
    pthread_mutex_lock(&lock);
    struct alloc *a = starting((uint64_t)base);
    bool ok = a && a->kind == kind;
    if (ok) {
        struct alloc gone = *a;
        forget(a);
        release(&gone);
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

static bool overlaps(uint64_t lo, uint64_t hi) {
    size_t i = after(hi - 1);
    return i && allocs[i - 1].hi > lo;
}

bool emu_memory_adopt(const void *base, size_t bytes) {
    uint64_t lo = (uint64_t)base, hi = lo + bytes;
    if (!lo || !bytes || hi < lo) return false;
    pthread_mutex_lock(&lock);
    struct alloc *a = starting(lo);
    bool ok;
    if (a && a->kind == EMU_MEM_LOCKED && a->hi == hi) {
        ok = ++a->adoptions != 0;
    } else {
        ok = !overlaps(lo, hi) &&
             enter(&(struct alloc){
                 .lo = lo, .hi = hi, .kind = EMU_MEM_LOCKED, .adoptions = 1, .visible = true});
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

bool emu_memory_disown(const void *base) {
    pthread_mutex_lock(&lock);
    struct alloc *a = starting((uint64_t)base);
    bool ok = a && a->kind == EMU_MEM_LOCKED;
    if (ok && !--a->adoptions) forget(a);
    pthread_mutex_unlock(&lock);
    return ok;
}

bool emu_memory_map_at(uint64_t addr, uint64_t bytes) {
    if (!addr || !bytes || addr + bytes < addr || bytes > SIZE_MAX / 4) return false;
    uint64_t first = addr / PAGE * PAGE, last = (addr + bytes + PAGE - 1) / PAGE * PAGE;
    if (last <= first) return false;
    pthread_mutex_lock(&lock);
    void *p = mmap((void *)first, last - first, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    /* Kernels older than the flag treat the address as a hint. */
    bool ok = p == (void *)first;
    if (!ok && p != MAP_FAILED) munmap(p, last - first);
    if (ok) {
        memset((void *)addr, EMU_POISON, bytes);
        ok = enter(&(struct alloc){.lo = addr,
                                   .hi = addr + bytes,
                                   .map = p,
                                   .map_bytes = last - first,
                                   .kind = EMU_MEM_MAPPED,
                                   .visible = true});
        if (!ok) munmap(p, last - first);
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

bool emu_memory_unmap(uint64_t addr) {
    pthread_mutex_lock(&lock);
    struct alloc *a = starting(addr);
    bool ok = a && a->kind == EMU_MEM_MAPPED;
    if (ok) {
        struct alloc gone = *a;
        forget(a);
        /* No quarantine: a replay asks for the same addresses again. */
        if (oldest_pin)
            release(&gone);
        else
            munmap(gone.map, gone.map_bytes);
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

bool emu_memory_lookup(uint64_t addr, struct emu_memory_info *out) {
    pthread_mutex_lock(&lock);
    struct alloc *a = holding(addr);
    if (a)
        *out = (struct emu_memory_info){.base = a->lo,
                                        .bytes = a->hi - a->lo,
                                        .kind = a->kind,
                                        .tag = a->tag,
                                        .visible = a->visible};
    pthread_mutex_unlock(&lock);
    return a != NULL;
}

bool emu_memory_span_ok(const void *addr, size_t bytes) {
    uint64_t lo = (uint64_t)addr, hi = lo + bytes;
    if (!bytes) return true;
    if (!lo || hi < lo) return false;
    pthread_mutex_lock(&lock);
    struct alloc *a = holding(lo);
    bool ok = a ? hi <= a->hi : !overlaps(lo, hi);
    /* One that starts in a guard gap was meant for its neighbour. */
    size_t i = a ? 0 : after(lo);
    if (ok && i && allocs[i - 1].map)
        ok = lo >= (uint64_t)allocs[i - 1].map + allocs[i - 1].map_bytes;
    if (ok && !a && i < nallocs && allocs[i].map) ok = hi <= (uint64_t)allocs[i].map;
    pthread_mutex_unlock(&lock);
    return ok;
}

bool emu_memory_zero(void *addr, size_t bytes) {
    uint64_t lo = (uint64_t)addr, hi = lo + bytes;
    uint64_t first = (lo + PAGE - 1) / PAGE * PAGE, last = hi / PAGE * PAGE;
    if (bytes < HUGE) return false;
    pthread_mutex_lock(&lock);
    const struct alloc *a = holding(lo);
    bool ok = a && hi <= a->hi && (a->kind == EMU_MEM_DEVICE || a->kind == EMU_MEM_HOST) &&
              madvise((void *)first, last - first, MADV_DONTNEED) == 0;
    pthread_mutex_unlock(&lock);
    if (!ok) return false;
    memset(addr, 0, first - lo);
    memset((void *)last, 0, hi - last);
    return true;
}

static const char *kind_name(enum emu_memory_kind kind) {
    static const char *const names[] = {
        [EMU_MEM_DEVICE] = "device memory", [EMU_MEM_HOST] = "host pool memory",
        [EMU_MEM_CODE] = "code object",     [EMU_MEM_SCRATCH] = "scratch",
        [EMU_MEM_QUEUE] = "queue",          [EMU_MEM_SIGNAL] = "signals",
        [EMU_MEM_LOCKED] = "locked memory", [EMU_MEM_MAPPED] = "mapped memory"};
    return names[kind];
}

/* The freed allocation that held ADDR most recently. */
static const struct freed *freed_holding(uint64_t addr) {
    const struct freed *found = NULL;
    for (const struct freed *f = limbo; f; f = f->next)
        if (addr >= f->lo && addr < f->hi) found = f;
    for (size_t i = 1; !found && i <= QUARANTINE; i++) {
        const struct freed *f = &quarantine[(quarantine_next - i) % QUARANTINE];
        if (f->map && addr >= f->lo && addr < f->hi) found = f;
    }
    return found;
}

static void describe_freed(const struct freed *f, uint64_t addr, char *out, size_t n) {
    snprintf(out, n, "byte %llu of the %s allocation [0x%llx, 0x%llx) of %llu bytes that was freed",
             (unsigned long long)(addr - f->lo), kind_name(f->kind), (unsigned long long)f->lo,
             (unsigned long long)f->hi, (unsigned long long)(f->hi - f->lo));
}

void emu_memory_describe(uint64_t addr, char *out, size_t n) {
    pthread_mutex_lock(&lock);
    size_t i = after(addr);
    const struct alloc *below = i ? &allocs[i - 1] : NULL;
    const struct alloc *above = i < nallocs ? &allocs[i] : NULL;
    if (below && addr < below->hi) {
        bool hidden = !below->visible && below->kind != EMU_MEM_CODE;
        snprintf(out, n, "byte %llu of the %s allocation [0x%llx, 0x%llx) of %llu bytes%s",
                 (unsigned long long)(addr - below->lo), kind_name(below->kind),
                 (unsigned long long)below->lo, (unsigned long long)below->hi,
                 (unsigned long long)(below->hi - below->lo),
                 hidden ? ", which the GPU was not given access to (hsa_amd_agents_allow_access)"
                        : "");
    } else if (freed_holding(addr)) {
        describe_freed(freed_holding(addr), addr, out, n);
    } else if (!below && !above) {
        snprintf(out, n, "no allocation is live");
    } else if (below && (!above || addr - below->hi <= above->lo - addr)) {
        snprintf(out, n,
                 "%llu bytes past the end of the %s allocation [0x%llx, 0x%llx) of %llu bytes",
                 (unsigned long long)(addr - below->hi), kind_name(below->kind),
                 (unsigned long long)below->lo, (unsigned long long)below->hi,
                 (unsigned long long)(below->hi - below->lo));
    } else {
        snprintf(out, n, "%llu bytes before the %s allocation [0x%llx, 0x%llx) of %llu bytes",
                 (unsigned long long)(above->lo - addr), kind_name(above->kind),
                 (unsigned long long)above->lo, (unsigned long long)above->hi,
                 (unsigned long long)(above->hi - above->lo));
    }
    pthread_mutex_unlock(&lock);
}

void emu_memory_pin(struct emu_memory_pin *pin) {
    pthread_mutex_lock(&lock);
    pin->stamp = ++pin_stamp;
    pin->next = NULL;
    pin->prev = newest_pin;
    *(newest_pin ? &newest_pin->next : &oldest_pin) = pin;
    newest_pin = pin;
    pthread_mutex_unlock(&lock);
}

void emu_memory_unpin(struct emu_memory_pin *pin) {
    pthread_mutex_lock(&lock);
    *(pin->prev ? &pin->prev->next : &oldest_pin) = pin->next;
    *(pin->next ? &pin->next->prev : &newest_pin) = pin->prev;
    drain_limbo();
    pthread_mutex_unlock(&lock);
}

void emu_memory_reset(void) {
    pthread_mutex_lock(&lock);
    drain_limbo();
    emu_ranges_reset();
    for (size_t i = 0; i < nallocs; i++)
        if (allocs[i].map) munmap(allocs[i].map, allocs[i].map_bytes);
    free(allocs);
    allocs = NULL;
    nallocs = allocs_room = in_use = 0;
    for (size_t i = 0; i < QUARANTINE; i++)
        if (quarantine[i].map) munmap(quarantine[i].map, quarantine[i].map_bytes);
    memset(quarantine, 0, sizeof quarantine);
    pthread_mutex_unlock(&lock);
}
