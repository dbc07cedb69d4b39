/* Two iterations of: a static grid of two tasks, a region of two, a static grid of two. Iteration I:
 * 6I + 1 and 6I + 2 wait for the iteration before; the first also waits for the second, which is
 * another workgroup's, and completes S and X, for which 6I + 3 and 6I + 4 wait; they complete D;
 * 6I + 5 and 6I + 6 wait for D. The third workgroup has static tasks of neither iteration: it may
 * still be looking for tasks of the first when those of the second come. EARLY: 6I + 3 and 6I + 4
 * are queued when 6I + 1 has begun, which is right where the region runs ONCE; where it runs again
 * the verifier says no. */
#define DIE_SLOTS 1
#define DEVICE_SLOTS 4
#ifdef ONCE
#define RUNS 1
#define ITERATIONS ITERATION(0)
#else
#define RUNS 2
#define ITERATIONS \
    ITERATION(0) ITERATION(1) \
    WAITS_FOR(4, T(0)) WAITS_FOR(5, T(0)) considered[4] = 0; considered[5] = 0; \
    producers[7] = producers[7] | BIT(5) | BIT(6); producers[8] = BIT(5) | BIT(6);
#endif
#ifdef EARLY
#define WAITS WAITS_EARLY
#else
#define WAITS WAITS_FOR
#endif
#define TASKS (RUNS * 6)
#define COUNTERS 10
#define CELLS 8
#define INSTANCES 4 /* of the region: 0 and 1; static tasks are of none: 2, 3 */
#define S(i) ((i) * 5)
#define X(i) ((i) * 5 + 1)
#define D(i) ((i) * 5 + 2)
#define T(i) ((i) * 5 + 3)
#define SECOND(i) ((i) * 5 + 4)
#define TASK(i, n) ((i) * 6 + n)
#define ITERATION(i) \
    needed[S(i)] = 1; needed[X(i)] = 1; needed[D(i)] = 2; needed[T(i)] = 2; needed[SECOND(i)] = 1; \
    CELL((i) * 4, TASK(i, 1), 1, 2) WAITS_FOR((i) * 4, SECOND(i)) considered[(i) * 4] = 0; \
    CELL((i) * 4 + 1, TASK(i, 2), 1, 2) \
    CELL((i) * 4 + 2, TASK(i, 3), 2, i) \
    WAITS((i) * 4 + 2, S(i)) WAITS((i) * 4 + 2, X(i)) \
    CELL((i) * 4 + 3, TASK(i, 5), 2, 2) WAITS_FOR((i) * 4 + 3, D(i)) considered[(i) * 4 + 3] = 0; \
    NOTIFIES(TASK(i, 1), S(i)) NOTIFIES(TASK(i, 1), X(i)) counts_starts[TASK(i, 1)] = 1; \
    NOTIFIES(TASK(i, 2), SECOND(i)) \
    NOTIFIES(TASK(i, 3), D(i)) NOTIFIES(TASK(i, 4), D(i)) \
    NOTIFIES(TASK(i, 5), T(i)) NOTIFIES(TASK(i, 6), T(i)) \
    producers[TASK(i, 1)] = BIT(TASK(i, 2)); \
    producers[TASK(i, 3)] = BIT(TASK(i, 1)); producers[TASK(i, 4)] = BIT(TASK(i, 1)); \
    producers[TASK(i, 5)] = BIT(TASK(i, 3)) | BIT(TASK(i, 4)); \
    producers[TASK(i, 6)] = BIT(TASK(i, 3)) | BIT(TASK(i, 4));
#define SETUP ITERATIONS
#define RUN \
    do \
    :: turn < RUNS -> \
        static_grid(TASK(turn, 1), 2); \
        cg_region(turn); \
        static_grid(TASK(turn, 5), 2); \
        turn++ \
    :: else -> break \
    od;
#include "protocol.pml"
