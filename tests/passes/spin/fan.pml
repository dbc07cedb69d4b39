/* One region. Tasks 1 2 3 wait for nothing; 1 and 2 complete X, 2 and 3 complete Y; 4 5 6 wait for
 * X and Y and complete Z; 7 8 9 wait for Z. A die's ring has room for three: where one is
 * queued already, three go to the device's. */
#define DIE_SLOTS 3
#define DEVICE_SLOTS 9
#define TASKS 9
#define COUNTERS 3 /* X Y Z */
#define CELLS 5
#define SETUP \
    needed[0] = 2; needed[1] = 2; needed[2] = 3; \
    CELL(0, 1, 1, 0) at_start[0] = 1; NOTIFIES(1, 0) \
    CELL(1, 2, 1, 0) at_start[1] = 1; NOTIFIES(2, 0) NOTIFIES(2, 1) \
    CELL(2, 3, 1, 0) at_start[2] = 1; NOTIFIES(3, 1) \
    CELL(3, 4, 3, 0) WAITS_FOR(3, 0) WAITS_FOR(3, 1) \
    NOTIFIES(4, 2) NOTIFIES(5, 2) NOTIFIES(6, 2) \
    CELL(4, 7, 3, 0) WAITS_FOR(4, 2) \
    k = 4; do :: k < 7 -> producers[k] = BIT(4) - BIT(1); k++ :: else -> break od; \
    k = 7; do :: k < 10 -> producers[k] = BIT(7) - BIT(4); k++ :: else -> break od;
#define RUN cg_region(0);
#include "protocol.pml"
