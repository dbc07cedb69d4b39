/* cache.h - the caches of a device whose specification has coherence=caches or model.
 *
 * The hierarchy is the same for every architecture; how an instruction names a level is the
 * executor's table (runtime/emu/isa/ops/coherence.c). Levels, nearest first: EMU_NEAR, a
 * write-through cache of each CU; EMU_ARRAY, one of each shader array, where the architecture has
 * it; EMU_DIE, the write-back L2 of each die, where a device has several (one L2 is where all CUs
 * meet, and so is memory itself here). A scalar cache of each CU reads through EMU_DIE.
 *
 * Lines are 128 bytes with a mask of valid and, in an L2, of dirty bytes. Nothing leaves a cache on
 * its own: a line stays until it is invalidated, written back, or, when the specification limits
 * the cache, until the cache is full and is emptied as a whole. So what may be stale is stale. With
 * coherence=model caches moreover hold old bytes they never asked for; see README.md. */
#ifndef EMU_CACHE_H
#define EMU_CACHE_H

#include "runtime/emu/base/config.h"
#include "runtime/emu/emu.h"

/* The caches of a device, when its configuration asks for them. False without memory. */
bool emu_caches_start(const struct emu_config *);
void emu_caches_stop(void);

/* Around each dispatch, inside its memory pin: what begins sees nothing stale; what ended is in
 * memory. Between dispatches nothing is cached. */
void emu_caches_begin(void);
void emu_caches_end(void);

/* What CU number INDEX (dies one after another) sees; NULL when caches are not modelled. */
struct emu_caches *emu_caches_of(int64_t cu);

#endif
