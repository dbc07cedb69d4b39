/* sync.h - event counts on futexes. */
#ifndef EMU_SYNC_H
#define EMU_SYNC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A waiter reads SEQ, looks for what it needs, and only then waits for SEQ to move; a poster
 * publishes and then posts. No wake-up is lost and a post with no waiter costs no system call. */
struct emu_event {
    _Atomic uint32_t seq;
    _Atomic uint32_t waiters;
};

static inline uint32_t emu_event_read(struct emu_event *e) {
    return atomic_load(&e->seq);
}

/* Wakes every waiter. */
void emu_event_post(struct emu_event *);

/* Return once SEQ differs from SEEN, or after TIMEOUT_NS; may also return early. The first SPIN_NS
 * are spent polling, because a hand-over between running threads is much quicker than a wake-up. */
void emu_event_wait(struct emu_event *, uint32_t seen, uint64_t spin_ns, uint64_t timeout_ns);

static inline void emu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

#endif
