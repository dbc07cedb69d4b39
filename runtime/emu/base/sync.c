/* sync.c - event counts on futexes. */
#include "runtime/emu/base/sync.h"

#include "runtime/emu/base/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void emu_event_post(struct emu_event *e) {
    atomic_fetch_add(&e->seq, 1);
    if (atomic_load(&e->waiters))
        syscall(SYS_futex, &e->seq, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static bool spin(struct emu_event *e, uint32_t seen, uint64_t ns) {
    uint64_t end = emu_now_ns() + ns;
    do {
        for (int i = 0; i < 64; i++) {
            if (atomic_load_explicit(&e->seq, memory_order_acquire) != seen) return true;
            emu_relax();
        }
        sched_yield();
    } while (emu_now_ns() < end);
    return false;
}

void emu_event_wait(struct emu_event *e, uint32_t seen, uint64_t spin_ns, uint64_t timeout_ns) {
    if (spin_ns && spin(e, seen, spin_ns < timeout_ns ? spin_ns : timeout_ns)) return;
    if (timeout_ns <= spin_ns) return;
    timeout_ns -= spin_ns;
    struct timespec t = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                         .tv_nsec = (long)(timeout_ns % 1000000000u)};
    /* Longer than a century is as good as for ever, and stays clear of time_t's end. */
    if (t.tv_sec > 3000000000) t.tv_sec = 3000000000;
    atomic_fetch_add(&e->waiters, 1);
    if (atomic_load(&e->seq) == seen)
        syscall(SYS_futex, &e->seq, FUTEX_WAIT_PRIVATE, seen, &t, NULL, 0);
    atomic_fetch_sub(&e->waiters, 1);
}
