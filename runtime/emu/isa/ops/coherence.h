/* coherence.h - what the cache bits of memory instructions mean, and memory access through the
 * caches of a device that models them (w->caches is not NULL). */
#ifndef ISA_COHERENCE_H
#define ISA_COHERENCE_H

#include "runtime/emu/isa/ops/transfer.h"

/* The scope that an access of architecture ISA asks for becomes the level it may be answered from
 * or must reach; false when its encoding asks for what is not in the table. */
void isa_bind_load_level(const char *isa, const struct emu_text *, struct emu_op *);
void isa_bind_store_level(const char *isa, const struct emu_text *, struct emu_op *);
/* A cache control instruction: o->flags becomes levels to invalidate and FENCE_WRITE_BACK. */
enum { FENCE_WRITE_BACK = 1 << 31 };
bool isa_bind_cache_control(const char *isa, const struct emu_text *, struct emu_op *);
void isa_cache_control(struct emu_wave *, const struct emu_op *);

/* Loads and stores as isa_load and isa_store make them; lanes of LOCAL have addresses of LDS or
 * scratch, which no cache of the model holds. */
void isa_cached_load(struct emu_wave *, const struct emu_op *, uint32_t *d, const uint64_t *a,
                     uint64_t mask, uint64_t local);
void isa_cached_store(struct emu_wave *, const struct emu_op *, const uint32_t *s,
                      const uint64_t *a, uint64_t mask, uint64_t local);
/* Lanes whose address is in the wave's LDS or scratch. */
uint64_t isa_local_lanes(const struct emu_wave *, const uint64_t *a, uint64_t mask);

#endif
