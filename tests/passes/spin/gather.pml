/* Boxes decided at run time. Task 1 writes which of two blocks each of two rows is taken from, any
 * of the four cases; 2 and 3 write the blocks; 4 and (FULL) 5, one per row, wait for the choice and
 * then for the block chosen. */
#define DIE_SLOTS 1
#define DEVICE_SLOTS 5
#ifdef FULL
#define TASKS 5
#define CELLS 4
#define SECOND_ROW \
    CELL(3, 5, 1, 0) WAITS_FOR(3, 0) WAITS_VIA(3, 1, 2) considered[3] = 7; \
    producers[5] = BIT(1);
#else
#define TASKS 4
#define CELLS 3
#define SECOND_ROW
#endif
#define COUNTERS 3 /* chosen, blocks 0 and 1 */
#define TENSORS 2 /* the block of row 0 and 1 */
#define SETUP \
    needed[0] = 1; needed[1] = 1; needed[2] = 1; \
    CELL(0, 1, 1, 0) at_start[0] = 1; NOTIFIES(1, 0) \
    CELL(1, 2, 2, 0) at_start[1] = 1; NOTIFIES(2, 1) NOTIFIES(3, 2) \
    CELL(2, 4, 1, 0) WAITS_FOR(2, 0) WAITS_VIA(2, 1, 1) considered[2] = 7; \
    SECOND_ROW producers[4] = BIT(1);
#define ROUTED(task) ((task) >= 4 -> BIT(2 + tensor[((task) >= 4 -> (task) - 4 : 0)]) : 0)
#define BODY(task) \
    if \
    :: task == 1 -> \
        if \
        :: d_step { tensor[0] = 0; tensor[1] = 0 } \
        :: d_step { tensor[0] = 0; tensor[1] = 1 } \
        :: d_step { tensor[0] = 1; tensor[1] = 0 } \
        :: d_step { tensor[0] = 1; tensor[1] = 1 } \
        fi \
    :: else \
    fi;
#define RUN cg_region(0);
#include "protocol.pml"
