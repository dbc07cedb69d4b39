/* slot.h - a resident workgroup: its waves' state and LDS, and running it for a while. */
#ifndef EMU_SLOT_H
#define EMU_SLOT_H

#include "runtime/emu/emu.h"

#include <stdbool.h>

struct emu_slot {
    struct emu_group group;
    struct emu_slot *next;
    uint64_t index; /* of the workgroup in its dispatch */
    int64_t cu;     /* the place it holds */
    bool fresh;     /* waves are not set up yet */
    uint32_t alive; /* waves that have not ended */
    uint32_t at_barrier;
    uint64_t random; /* state of a generator when the order of waves is random, else 0 */
    uint8_t *states; /* of each wave */
    void *memory;    /* wave states and LDS */
    size_t memory_bytes;
    void *scratch;
    size_t scratch_bytes;
};

enum emu_slot_stop {
    EMU_SLOT_RAN,   /* ran its share, can go on */
    EMU_SLOT_SLEPT, /* every wave that could run has gone to sleep */
    EMU_SLOT_ENDED,
    EMU_SLOT_FAULT,
};

/* A slot for workgroup INDEX of D, its memory taken from a cache; NULL when there is no memory.
 * The caller places it. */
struct emu_slot *emu_slot_get(struct emu_dispatch *d, uint64_t index);
void emu_slot_put(struct emu_slot *);
/* Empty the cache. */
void emu_slots_free(void);

/* The next number of a generator whose state is never 0. */
static inline uint32_t emu_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32);
}

/* Run the waves in turn for about QUANTUM_NS; with a random order, each once for a random number of
 * instructions; where instructions are the clock, each once for a few. One thread at a time. */
enum emu_slot_stop emu_slot_run(struct emu_slot *, uint64_t quantum_ns, struct emu_fault *);

#endif
