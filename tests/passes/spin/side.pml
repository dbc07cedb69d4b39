/* Cells side by side. Tasks 1 and 2 complete X and Y, for which two tasks wait: whoever comes last finds
 * both ready, or the other has claimed them, or one of them. */
#define DIE_SLOTS 2
#define TOGETHER
#define TASKS 4
#define COUNTERS 2 /* X Y */
#define CELLS 4
#define DEVICE_SLOTS 4
#define SETUP \
    needed[0] = 1; needed[1] = 1; \
    CELL(0, 1, 1, 0) at_start[0] = 1; NOTIFIES(1, 0) \
    CELL(1, 2, 1, 0) at_start[1] = 1; NOTIFIES(2, 1) \
    CELL(2, 3, 1, 0) WAITS_FOR(2, 0) WAITS_FOR(2, 1) \
    CELL(3, 4, 1, 0) WAITS_FOR(3, 0) WAITS_FOR(3, 1) \
    producers[3] = BIT(1) | BIT(2); producers[4] = BIT(1) | BIT(2);
#define RUN cg_region(0);
#include "protocol.pml"
