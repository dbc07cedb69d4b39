/* signal.c - signals as programs use them: creation, the atomic operations in all their orders,
 * waiting. */
#include "runtime/emu/machine/signal.h"

#include "runtime/emu/base/clock.h"
#include "runtime/emu/hsa/host.h"

#include <pthread.h>
#include <string.h>

enum { SLAB = 1024 }; /* signals allocated at a time */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct emu_signal *free_list;

static bool refill(void) {
    struct emu_signal *slab =
        emu_memory_alloc_zeroed(SLAB * sizeof *slab, 64, EMU_MEM_SIGNAL, true);
    if (!slab) return false;
    for (size_t i = SLAB; i-- > 0;) {
        slab[i].next_free = free_list;
        free_list = &slab[i];
    }
    return true;
}

void emu_signals_close(void) {
    pthread_mutex_lock(&lock);
    free_list = NULL; /* the slabs go with all other memory */
    pthread_mutex_unlock(&lock);
}

hsa_status_t HSA_API hsa_signal_create(hsa_signal_value_t initial, uint32_t num_consumers,
                                       const hsa_agent_t *consumers, hsa_signal_t *out) {
    EMU_CHECK_UP();
    if (!out || (num_consumers && !consumers)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    struct emu_signal *s = free_list || refill() ? free_list : NULL;
    if (s) free_list = s->next_free;
    pthread_mutex_unlock(&lock);
    if (!s) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    s->next_free = NULL;
    s->start = s->end = 0;
    atomic_store(&s->value, initial);
    s->kind = AMD_SIGNAL_KIND_USER;
    out->handle = (uint64_t)s;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_amd_signal_create(hsa_signal_value_t initial, uint32_t num_consumers,
                                           const hsa_agent_t *consumers, uint64_t attributes,
                                           hsa_signal_t *out) {
    (void)attributes;
    return hsa_signal_create(initial, num_consumers, consumers, out);
}

hsa_status_t HSA_API hsa_signal_destroy(hsa_signal_t signal) {
    EMU_CHECK_UP();
    if (!signal.handle) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    struct emu_signal *s = emu_signal_from(signal);
    struct emu_memory_info info;
    if (!emu_memory_lookup(signal.handle, &info) || info.kind != EMU_MEM_SIGNAL ||
        s->kind != AMD_SIGNAL_KIND_USER)
        return HSA_STATUS_ERROR_INVALID_SIGNAL;
    pthread_mutex_lock(&lock);
    s->kind = AMD_SIGNAL_KIND_INVALID;
    s->next_free = free_list;
    free_list = s;
    pthread_mutex_unlock(&lock);
    return HSA_STATUS_SUCCESS;
}

static int64_t wait_ticks(hsa_signal_t signal, hsa_signal_condition_t condition, int64_t compare,
                          uint64_t ticks) {
    struct emu_signal *s = emu_signal_from(signal);
    if (!s || s->kind != AMD_SIGNAL_KIND_USER) return 0;
    /* Ticks of the 100 MHz timestamp. */
    uint64_t ns = ticks > UINT64_MAX / 10 ? UINT64_MAX : ticks * 10;
    return emu_signal_wait(s, condition, compare, ns, NULL);
}

#define WAIT(order)                                                                                \
    hsa_signal_value_t HSA_API hsa_signal_wait_##order(hsa_signal_t s, hsa_signal_condition_t c,   \
                                                       hsa_signal_value_t compare,                 \
                                                       uint64_t timeout, hsa_wait_state_t hint) {  \
        (void)hint;                                                                                \
        return wait_ticks(s, c, compare, timeout);                                                 \
    }
WAIT(scacquire)
WAIT(acquire)
WAIT(relaxed)

#define LOAD(order)                                                                                \
    hsa_signal_value_t HSA_API hsa_signal_load_##order(hsa_signal_t s) {                           \
        return s.handle ? atomic_load(&emu_signal_from(s)->value) : 0;                             \
    }
LOAD(scacquire)
LOAD(acquire)
LOAD(relaxed)

#define STORE(name)                                                                                \
    void HSA_API hsa_signal_##name(hsa_signal_t s, hsa_signal_value_t v) {                         \
        emu_signal_set(emu_signal_from(s), v);                                                     \
    }
STORE(store_relaxed)
STORE(store_release)
STORE(store_screlease)
STORE(silent_store_relaxed)
STORE(silent_store_screlease)

/* The sequentially consistent operation satisfies every order asked for. */
#define UPDATE(op, order, fetch)                                                                   \
    void HSA_API hsa_signal_##op##_##order(hsa_signal_t handle, hsa_signal_value_t v) {            \
        struct emu_signal *s = emu_signal_from(handle);                                            \
        if (!s || s->kind != AMD_SIGNAL_KIND_USER) return;                                         \
        fetch(&s->value, v);                                                                       \
        emu_event_post(&s->event);                                                                 \
    }
#define UPDATE_ALL(op, fetch)                                                                      \
    UPDATE(op, relaxed, fetch)                                                                     \
    UPDATE(op, acquire, fetch)                                                                     \
    UPDATE(op, scacquire, fetch)                                                                   \
    UPDATE(op, release, fetch)                                                                     \
    UPDATE(op, screlease, fetch)                                                                   \
    UPDATE(op, acq_rel, fetch)                                                                     \
    UPDATE(op, scacq_screl, fetch)
UPDATE_ALL(add, atomic_fetch_add)
UPDATE_ALL(subtract, atomic_fetch_sub)
UPDATE_ALL(and, atomic_fetch_and)
UPDATE_ALL(or, atomic_fetch_or)
UPDATE_ALL(xor, atomic_fetch_xor)

static int64_t exchange(struct emu_signal *s, int64_t value) {
    if (!s || s->kind != AMD_SIGNAL_KIND_USER) return 0;
    int64_t old = atomic_exchange(&s->value, value);
    emu_event_post(&s->event);
    return old;
}

static int64_t compare_exchange(struct emu_signal *s, int64_t expected, int64_t value) {
    if (!s || s->kind != AMD_SIGNAL_KIND_USER) return 0;
    if (atomic_compare_exchange_strong(&s->value, &expected, value)) emu_event_post(&s->event);
    return expected;
}

#define EXCHANGE(order)                                                                            \
    hsa_signal_value_t HSA_API hsa_signal_exchange_##order(hsa_signal_t s, hsa_signal_value_t v) { \
        return exchange(emu_signal_from(s), v);                                                    \
    }                                                                                              \
    hsa_signal_value_t HSA_API hsa_signal_cas_##order(hsa_signal_t s, hsa_signal_value_t expected, \
                                                      hsa_signal_value_t v) {                      \
        return compare_exchange(emu_signal_from(s), expected, v);                                  \
    }
EXCHANGE(relaxed)
EXCHANGE(acquire)
EXCHANGE(scacquire)
EXCHANGE(release)
EXCHANGE(screlease)
EXCHANGE(acq_rel)
EXCHANGE(scacq_screl)

uint32_t HSA_API hsa_amd_signal_wait_any(uint32_t count, hsa_signal_t *signals,
                                         hsa_signal_condition_t *conditions,
                                         hsa_signal_value_t *values, uint64_t timeout,
                                         hsa_wait_state_t hint, hsa_signal_value_t *satisfying) {
    (void)hint;
    uint64_t start = emu_now_ns(), ns = timeout > UINT64_MAX / 10 ? UINT64_MAX : timeout * 10;
    for (;;) {
        bool any = false;
        for (uint32_t i = 0; i < count; i++) {
            struct emu_signal *s = emu_signal_from(signals[i]);
            if (!s) continue;
            any = true;
            int64_t v = atomic_load(&s->value);
            if (!emu_signal_test(v, conditions[i], values[i])) continue;
            if (satisfying) *satisfying = v;
            return i;
        }
        if (!any || emu_now_ns() - start >= ns) return UINT32_MAX;
        /* A signal of several to watch: look again soon rather than listen to each. */
        struct emu_event none = {0};
        emu_event_wait(&none, 0, 0, 50000);
    }
}

hsa_status_t HSA_API hsa_amd_profiling_get_dispatch_time(hsa_agent_t agent, hsa_signal_t signal,
                                                         hsa_amd_profiling_dispatch_time_t *time) {
    EMU_CHECK_UP();
    if (!emu_agent_from(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!signal.handle) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    if (!time) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    time->start = emu_signal_from(signal)->start;
    time->end = emu_signal_from(signal)->end;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_amd_profiling_get_async_copy_time(
    hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t *time) {
    EMU_CHECK_UP();
    if (!signal.handle) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    if (!time) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    time->start = emu_signal_from(signal)->start;
    time->end = emu_signal_from(signal)->end;
    return HSA_STATUS_SUCCESS;
}
