/* clock.h - how long things take, for what tools report: never a decision. */
#ifndef ET_CLOCK_H
#define ET_CLOCK_H

#include <time.h>

/* Of a clock that only goes on, from no moment in particular. */
static inline double et_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
