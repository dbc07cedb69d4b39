/* Queued early. Tasks 1 and 2 complete A and C; 3 and 4 are queued when 1 and 2 have begun, and
 * complete B; 5 and 6, which wait for B and C, when all of those have begun. */
#define DIE_SLOTS 1
#define DEVICE_SLOTS 6
#define TASKS 6
#define COUNTERS 3 /* A B C */
#define CELLS 4
#define SETUP \
    needed[0] = 2; needed[1] = 2; needed[2] = 2; \
    CELL(0, 1, 1, 0) at_start[0] = 1; NOTIFIES(1, 0) NOTIFIES(1, 2) \
    CELL(1, 2, 1, 0) at_start[1] = 1; NOTIFIES(2, 0) NOTIFIES(2, 2) \
    CELL(2, 3, 2, 0) WAITS_EARLY(2, 0) NOTIFIES(3, 1) NOTIFIES(4, 1) \
    CELL(3, 5, 2, 0) WAITS_EARLY(3, 1) WAITS_EARLY(3, 2) \
    k = 1; do :: k <= TASKS -> counts_starts[k] = 1; k++ :: else -> break od; \
    producers[3] = BIT(1) | BIT(2); producers[4] = BIT(1) | BIT(2); \
    producers[5] = BIT(5) - BIT(1); producers[6] = BIT(5) - BIT(1);
#define RUN cg_region(0);
#include "protocol.pml"
