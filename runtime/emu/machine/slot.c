/* slot.c - resident workgroups. */
#include "runtime/emu/machine/slot.h"
#include "runtime/emu/base/clock.h"

#include "runtime/emu/base/sync.h"
#include "runtime/emu/memory/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS, AT_BARRIER, ENDED };
enum { ALIGN = 64, BUDGET = 2000, RANDOM_BUDGET = 300, COUNTED_BUDGET = 128 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct emu_slot *cache;

static size_t round_up(size_t n) {
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static void destroy(struct emu_slot *s) {
    if (s->scratch) emu_memory_free(s->scratch, EMU_MEM_SCRATCH);
    free(s->memory);
    free(s);
}

void emu_slots_free(void) {
    pthread_mutex_lock(&lock);
    while (cache) {
        struct emu_slot *next = cache->next;
        destroy(cache);
        cache = next;
    }
    pthread_mutex_unlock(&lock);
}

void emu_slot_put(struct emu_slot *s) {
    pthread_mutex_lock(&lock);
    s->next = cache;
    cache = s;
    pthread_mutex_unlock(&lock);
}

static struct emu_slot *from_cache(void) {
    pthread_mutex_lock(&lock);
    struct emu_slot *s = cache;
    if (s) cache = s->next;
    pthread_mutex_unlock(&lock);
    return s ? s : calloc(1, sizeof *s);
}

/* At least BYTES of memory and SCRATCH bytes visible to kernels. */
static bool provide(struct emu_slot *s, size_t bytes, size_t scratch) {
    if (s->memory_bytes < bytes) {
        free(s->memory);
        s->memory_bytes = 0;
        s->memory = aligned_alloc(ALIGN, bytes);
        if (!s->memory) return false;
        s->memory_bytes = bytes;
    }
    if (s->scratch_bytes != scratch) {
        if (s->scratch) emu_memory_free(s->scratch, EMU_MEM_SCRATCH);
        s->scratch = NULL;
        s->scratch_bytes = 0;
        if (scratch) s->scratch = emu_memory_alloc_zeroed(scratch, ALIGN, EMU_MEM_SCRATCH, true);
        if (scratch && !s->scratch) return false;
        s->scratch_bytes = scratch;
    }
    return true;
}

/* Workgroup INDEX in x, y, z, and the waves its work-items fill: fewer at the grid's edge. */
static void locate(struct emu_group *g, uint64_t index) {
    const struct emu_dispatch *d = g->dispatch;
    uint64_t items = 1;
    for (int i = 0; i < 3; i++) {
        uint32_t size = d->group_size[i],
                 n = d->grid_size[i] / size + (d->grid_size[i] % size != 0);
        g->id[i] = (uint32_t)(index % n);
        index /= n;
        uint32_t left = d->grid_size[i] - g->id[i] * size;
        items *= left < size ? left : size;
    }
    uint32_t lanes = emu_program_wave_lanes(d->program);
    g->nwaves = (uint32_t)((items + lanes - 1) / lanes);
}

struct emu_slot *emu_slot_get(struct emu_dispatch *d, uint64_t index) {
    struct emu_slot *s = from_cache();
    if (!s) return NULL;
    struct emu_group *g = &s->group;
    *g = (struct emu_group){.dispatch = d};
    s->index = index;
    locate(g, index);
    size_t wave_bytes = round_up(emu_wave_bytes(d));
    size_t pointers = round_up(g->nwaves * sizeof(struct emu_wave *));
    size_t states = round_up(g->nwaves), lds = round_up(d->lds_bytes);
    size_t scratch = (size_t)g->nwaves * 64 * d->scratch_bytes;
    if (!provide(s, pointers + states + lds + g->nwaves * wave_bytes, scratch)) {
        destroy(s);
        return NULL;
    }
    uint8_t *at = s->memory;
    g->waves = (struct emu_wave **)s->memory;
    s->states = at + pointers;
    g->lds = s->states + states;
    for (uint32_t i = 0; i < g->nwaves; i++)
        g->waves[i] = (struct emu_wave *)(g->lds + lds + i * wave_bytes);
    s->fresh = true;
    s->next = NULL;
    return s;
}

static void set_up(struct emu_slot *s) {
    struct emu_group *g = &s->group;
    memset(g->lds, EMU_POISON, g->dispatch->lds_bytes);
    memset(s->states, RUNS, g->nwaves);
    s->alive = g->nwaves;
    s->at_barrier = 0;
    s->fresh = false;
    if (s->scratch) memset(s->scratch, EMU_POISON, s->scratch_bytes);
    size_t each = (size_t)64 * g->dispatch->scratch_bytes;
    for (uint32_t i = 0; i < g->nwaves; i++)
        emu_wave_init(g->waves[i], g, i, s->scratch ? (uint8_t *)s->scratch + i * each : NULL);
}

static void open_barrier(struct emu_slot *s) {
    for (uint32_t i = 0; i < s->group.nwaves; i++)
        if (s->states[i] == AT_BARRIER) s->states[i] = RUNS;
    s->at_barrier = 0;
}

/* Every wave that can run, once. *RAN: one did more than sleep. Waves run at the same time: the
 * clock moves on by the longest turn. */
static bool run_waves(struct emu_slot *s, struct emu_fault *fault, bool *ran) {
    *ran = false;
    uint64_t longest = 0;
    uint32_t n = s->group.nwaves, first = s->random ? emu_random(&s->random) % n : 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = (first + k) % n, budget = s->group.counted ? COUNTED_BUDGET : BUDGET;
        if (s->states[i] != RUNS) continue;
        if (s->random) budget = 1 + emu_random(&s->random) % RANDOM_BUDGET;
        switch (emu_wave_run(s->group.waves[i], budget, fault)) {
        case EMU_SLEEP:
            break;
        case EMU_BUDGET:
            *ran = true;
            break;
        case EMU_BARRIER:
            s->states[i] = AT_BARRIER;
            s->at_barrier++;
            *ran = true;
            break;
        case EMU_ENDED:
            s->states[i] = ENDED;
            s->alive--;
            s->group.progress = true;
            *ran = true;
            break;
        case EMU_FAULT:
            return false;
        }
        if (s->group.took > longest) longest = s->group.took;
    }
    s->group.time += longest;
    return true;
}

enum emu_slot_stop emu_slot_run(struct emu_slot *s, uint64_t quantum_ns, struct emu_fault *fault) {
    uint64_t end = emu_now_ns() + quantum_ns;
    s->group.ran = 0;
    s->group.progress = s->fresh;
    if (s->fresh) set_up(s);
    for (;;) {
        bool ran;
        if (!run_waves(s, fault, &ran)) return EMU_SLOT_FAULT;
        if (!s->alive) return EMU_SLOT_ENDED;
        if (s->at_barrier == s->alive) open_barrier(s);
        if (!ran) return EMU_SLOT_SLEPT;
        if (s->random || s->group.counted || emu_now_ns() >= end) return EMU_SLOT_RAN;
    }
}
