/* stats.h - totals over finished dispatches. */
#ifndef EMU_STATS_H
#define EMU_STATS_H

#include "runtime/emu/emu.h"

void emu_stats_add(const struct emu_counters *);
void emu_stats_clear(void);

#endif
