/* clock.c - host time and device time. */
#include "runtime/emu/base/clock.h"

#include "runtime/emu/emu.h"

#include <time.h>

/* Threads work at the same time and their turns end in any order, but each moment counts once: time
 * is cut into ticks of 2^TICK ns, and WORKED remembers which of the latest ones have been counted.
 */
enum { SLOWER = 64, TICK = 16, TICKS = 4096 };

static _Atomic uint64_t worked[TICKS]; /* the number of the tick counted last in this place */
static _Atomic uint64_t skipped;       /* host nanoseconds that did not pass on the device */
static _Atomic uint64_t latest;        /* what was read last: the clock never goes back */
/* TIMES as fast since FROM of the host, less what was skipped, which was BEGAN of the device. */
static uint64_t times = 1, from, began;

uint64_t emu_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void emu_clock_slow_down(uint64_t start, uint64_t end) {
    uint64_t fresh = 0, first = start >> TICK, last = end >> TICK;
    if (last - first >= TICKS) first = last - TICKS + 1;
    for (uint64_t t = first; t <= last; t++)
        fresh += atomic_exchange(&worked[t % TICKS], t) != t;
    if (fresh) atomic_fetch_add(&skipped, (fresh << TICK) - (fresh << TICK) / (SLOWER * times));
}

static uint64_t passed_ns(void) {
    int64_t since = (int64_t)(emu_now_ns() - atomic_load(&skipped) - from);
    return since > 0 ? began + (uint64_t)since * times : began;
}

void emu_clock_run(uint32_t as_fast) {
    began = passed_ns();
    from = emu_now_ns() - atomic_load(&skipped);
    times = as_fast;
}

static uint64_t device_ns(void) {
    uint64_t ns = passed_ns(), seen = atomic_load(&latest);
    do {
        if (ns <= seen) return seen;
    } while (!atomic_compare_exchange_weak(&latest, &seen, ns));
    return ns;
}

uint64_t emu_clock_realtime(void) {
    return device_ns() / 10;
}

/* A core clock of 2.1 GHz. */
uint64_t emu_clock_cycles(void) {
    uint64_t ns = device_ns();
    return ns * 2 + ns / 10;
}
