/* memory.h - checking device addresses against live memory, with what a wave has seen before.
 */
#ifndef ISA_MEMORY_H
#define ISA_MEMORY_H

#include "runtime/emu/isa/isa.h"

/* True when [lo, lo + bytes) is inside one live range, writable if WRITE. */
bool isa_memory_check_slow(struct emu_wave *, uint64_t lo, uint64_t bytes, bool write);

static inline bool isa_memory_check(struct emu_wave *w, uint64_t lo, uint64_t bytes, bool write) {
    const struct emu_range *r = &w->hit[0];
    if (__builtin_expect(lo >= r->lo && bytes <= r->hi - r->lo &&
                             lo - r->lo <= r->hi - r->lo - bytes && (r->writable || !write),
                         1))
        return true;
    return isa_memory_check_slow(w, lo, bytes, write);
}

#endif
