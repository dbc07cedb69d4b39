/* signal.c - the values of signals: changing them, waking who waits, waiting. */
#include "runtime/emu/machine/signal.h"

#include "runtime/emu/base/clock.h"

#include <assert.h>
#include <stddef.h>

static_assert(sizeof(struct emu_signal) == sizeof(amd_signal_t), "amd_signal_t");
static_assert(offsetof(struct emu_signal, value) == offsetof(amd_signal_t, value), "value");
static_assert(offsetof(struct emu_signal, start) == offsetof(amd_signal_t, start_ts), "start_ts");

static const uint64_t poll_ns = 1000000; /* for changes by kernels, which send no wake-up */
static const uint64_t spin_ns = 20000;

void emu_signal_set(struct emu_signal *s, int64_t value) {
    if (!s) return;
    if (s->kind == AMD_SIGNAL_KIND_DOORBELL) {
        atomic_store(s->doorbell, (uint64_t)value);
        emu_event_post(s->bell);
        return;
    }
    atomic_store(&s->value, value);
    emu_event_post(&s->event);
}

void emu_signal_subtract(struct emu_signal *s, int64_t value) {
    if (!s || s->kind == AMD_SIGNAL_KIND_DOORBELL) return;
    atomic_fetch_sub(&s->value, value);
    emu_event_post(&s->event);
}

bool emu_signal_test(int64_t value, hsa_signal_condition_t condition, int64_t compare) {
    switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ:
        return value == compare;
    case HSA_SIGNAL_CONDITION_NE:
        return value != compare;
    case HSA_SIGNAL_CONDITION_LT:
        return value < compare;
    case HSA_SIGNAL_CONDITION_GTE:
        return value >= compare;
    }
    return true;
}

int64_t emu_signal_wait(struct emu_signal *s, hsa_signal_condition_t condition, int64_t compare,
                        uint64_t timeout_ns, const _Atomic bool *cancel) {
    uint64_t start = emu_now_ns(), spin = spin_ns;
    for (;;) {
        uint32_t seen = emu_event_read(&s->event);
        int64_t value = atomic_load(&s->value);
        if (emu_signal_test(value, condition, compare)) return value;
        if (cancel && atomic_load(cancel)) return value;
        uint64_t passed = emu_now_ns() - start;
        if (passed >= timeout_ns) return value;
        uint64_t left = timeout_ns - passed;
        emu_event_wait(&s->event, seen, spin, left < poll_ns ? left : poll_ns);
        spin = 0;
    }
}
