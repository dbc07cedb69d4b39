/* signal.h - signals as the machine uses them. */
#ifndef EMU_SIGNAL_H
#define EMU_SIGNAL_H

#include "runtime/emu/base/sync.h"
#include "runtime/emu/hsa.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The layout kernels and tools know as amd_signal_t; the mailbox event's fields, which a GPU's
 * driver uses to wake the host, hold our event count. */
struct emu_signal {
    int64_t kind; /* AMD_SIGNAL_KIND_USER or AMD_SIGNAL_KIND_DOORBELL */
    union {
        _Atomic int64_t value;
        _Atomic uint64_t *doorbell;
    };
    uint64_t mailbox;
    struct emu_event event;
    uint64_t start, end;    /* of the work it was the completion of, in realtime ticks */
    struct emu_event *bell; /* a doorbell's listener */
    struct emu_signal *next_free;
};

/* NULL for the null handle. */
static inline struct emu_signal *emu_signal_from(hsa_signal_t s) {
    return (struct emu_signal *)s.handle; // NOLINT
}

/* Change the value and wake who waits. */
void emu_signal_subtract(struct emu_signal *, int64_t);
void emu_signal_set(struct emu_signal *, int64_t);

bool emu_signal_test(int64_t value, hsa_signal_condition_t, int64_t compare);

/* Wait until the condition holds, TIMEOUT_NS passed or *CANCEL (may be NULL) became true; the
 * value seen last. A kernel's own atomics on the value are noticed within a millisecond. */
int64_t emu_signal_wait(struct emu_signal *, hsa_signal_condition_t, int64_t compare,
                        uint64_t timeout_ns, const _Atomic bool *cancel);

#endif
