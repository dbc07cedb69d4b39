/* One die's ring of three slots (or DIE_SLOTS) goes around: three chains of tasks, each of which makes
 * the next one ready, of 4, 6 or 9 TASKS in all. A workgroup may be slow to take what it has a
 * ticket for while the others put and take; with three on the die, two can come to stand at the
 * same slot. */
#define DIE(wg) 0
#ifndef DIE_SLOTS
#define DIE_SLOTS 3
#endif
#define DEVICE_SLOTS 9
#ifndef TASKS
#define TASKS 6
#endif
#if TASKS == 9
#define LINKS LINK(1) LINK(2) LINK(3) LINK(4) LINK(5) LINK(6)
#elif TASKS == 6
#define LINKS LINK(1) LINK(2) LINK(3)
#else
#define LINKS LINK(1)
#endif
#define COUNTERS 6
#define CELLS TASKS
#define LINK(t) \
    NOTIFIES(t, (t) - 1) CELL((t) + 2, (t) + 3, 1, 0) WAITS_FOR((t) + 2, (t) - 1) \
    needed[(t) - 1] = 1; producers[(t) + 3] = BIT(t);
#define SETUP \
    CELL(0, 1, 1, 0) at_start[0] = 1; CELL(1, 2, 1, 0) at_start[1] = 1; \
    CELL(2, 3, 1, 0) at_start[2] = 1; LINKS
#define RUN cg_region(0);
#include "protocol.pml"
