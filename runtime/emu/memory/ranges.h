/* ranges.h - the sorted table behind emu_memory_find: readers never block, writers hold the
 * memory lock. */
#ifndef EMU_RANGES_H
#define EMU_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* Add [LO, HI), which overlaps no range present. False when out of memory. */
bool emu_ranges_add(uint64_t lo, uint64_t hi, bool writable, bool uncached);

/* Remove every range inside [LO, HI). */
void emu_ranges_remove(uint64_t lo, uint64_t hi);

/* The range that begins at LO, if there is one, is shared. */
void emu_ranges_share(uint64_t lo);

/* Forget all, and give back the table's memory. No reader may be active. */
void emu_ranges_reset(void);

#endif
