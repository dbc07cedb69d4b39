/* Routing decided at run time. Task 1 writes, for each of two tokens, which of two experts gets it,
 * and how many tokens each expert gets: one each, or both to one expert. Tasks 2 and 3, one per
 * token, wait for that and arrive at their expert's counter; 4 and 5, one per expert, wait for as
 * many tokens as come. */
#define DIE_SLOTS 1
#define DEVICE_SLOTS 5
#define TASKS 5
#define COUNTERS 3 /* routed, tokens of expert 0 and 1 */
#define CELLS 4
#define TENSORS 4 /* expert of token 0 and 1, tokens of expert 0 and 1 */
#define SETUP \
    needed[0] = 1; needed_via[1] = 3; needed_via[2] = 4; \
    CELL(0, 1, 1, 0) at_start[0] = 1; NOTIFIES(1, 0) \
    CELL(1, 2, 2, 0) WAITS_FOR(1, 0) NOTIFIES_VIA(2, 1, 1) NOTIFIES_VIA(3, 1, 2) \
    CELL(2, 4, 1, 0) WAITS_FOR(2, 0) WAITS_FOR(2, 1) \
    CELL(3, 5, 1, 0) WAITS_FOR(3, 0) WAITS_FOR(3, 2) \
    producers[2] = BIT(1); producers[3] = BIT(1); producers[4] = BIT(1); producers[5] = BIT(1);
/* Producers that the routing decides: the tokens of an expert. */
#define ROUTED(task) \
    ((task) >= 4 -> \
         (tensor[0] == (task) - 4 -> BIT(2) : 0) | (tensor[1] == (task) - 4 -> BIT(3) : 0) : 0)
/* The other two cases are these with the experts' names exchanged. */
#ifdef FULL
#define MIRRORED \
    :: d_step { tensor[0] = 1; tensor[1] = 0; tensor[2] = 1; tensor[3] = 1 } \
    :: d_step { tensor[0] = 1; tensor[1] = 1; tensor[2] = 0; tensor[3] = 2 }
#else
#define MIRRORED
#endif
#define BODY(task) \
    if \
    :: task == 1 -> \
        if \
        :: d_step { tensor[0] = 0; tensor[1] = 0; tensor[2] = 2; tensor[3] = 0 } \
        :: d_step { tensor[0] = 0; tensor[1] = 1; tensor[2] = 1; tensor[3] = 1 } \
        MIRRORED \
        fi \
    :: else \
    fi;
#define RUN cg_region(0);
#include "protocol.pml"
