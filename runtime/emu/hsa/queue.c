/* queue.c - creating and destroying queues, their indices, events about them. */
#include "runtime/emu/machine/queue.h"

#include "runtime/emu/hsa/host.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PACKETS = 131072 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct emu_queue *queues;
static struct emu_queue *dead; /* destroyed from their own callbacks; freed when all is shut down */
static uint64_t next_id;

static bool give_memory(struct emu_queue *q, uint32_t size) {
    q->ring = emu_memory_alloc_zeroed(size * sizeof *q->ring, 4096, EMU_MEM_QUEUE, true);
    q->amd = emu_memory_alloc_zeroed(sizeof *q->amd, 4096, EMU_MEM_QUEUE, true);
    for (uint32_t i = 0; q->ring && i < size; i++)
        q->ring[i].header = HSA_PACKET_TYPE_INVALID;
    return q->ring && q->amd;
}

static void describe(struct emu_queue *q, uint32_t size, hsa_queue_type32_t type) {
    q->size = size;
    q->doorbell.kind = AMD_SIGNAL_KIND_DOORBELL;
    q->doorbell.doorbell = &q->bell_value;
    q->doorbell.bell = &q->event;
    q->amd->hsa_queue = (hsa_queue_t){.type = type,
                                      .features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH,
                                      .base_address = q->ring,
                                      .doorbell_signal = {(uint64_t)&q->doorbell},
                                      .size = size,
                                      .id = next_id++};
    q->amd->queue_properties = AMD_QUEUE_PROPERTIES_IS_PTR64;
    q->amd->read_dispatch_id_field_base_byte_offset = offsetof(amd_queue_t, read_dispatch_id);
}

hsa_status_t HSA_API hsa_queue_create(hsa_agent_t agent_handle, uint32_t size,
                                      hsa_queue_type32_t type,
                                      void (*callback)(hsa_status_t, hsa_queue_t *, void *),
                                      void *data, uint32_t private_bytes, uint32_t group_bytes,
                                      hsa_queue_t **out) {
    (void)private_bytes, (void)group_bytes;
    EMU_CHECK_UP();
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *out = NULL;
    const struct emu_agent *agent = emu_agent_from(agent_handle);
    if (!agent) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!size || size & (size - 1) || type > HSA_QUEUE_TYPE_COOPERATIVE)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (agent->id != EMU_GPU_AGENT || size > MAX_PACKETS)
        return HSA_STATUS_ERROR_INVALID_QUEUE_CREATION;
    struct emu_queue *q = aligned_alloc(64, (sizeof *q + 63) / 64 * 64);
    if (!q) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    memset(q, 0, sizeof *q);
    pthread_mutex_init(&q->lock, NULL);
    q->callback = callback;
    q->callback_data = data;
    q->on_memory_fault = emu_report_memory_fault;
    if (!give_memory(q, size)) {
        emu_queue_free(q);
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    pthread_mutex_lock(&lock);
    describe(q, size, type);
    bool ok = !pthread_create(&q->thread, NULL, emu_queue_thread, q);
    if (ok) {
        q->next = queues;
        queues = q;
    }
    pthread_mutex_unlock(&lock);
    if (!ok) {
        emu_queue_free(q);
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    *out = &q->amd->hsa_queue;
    return HSA_STATUS_SUCCESS;
}

static struct emu_queue *find(const hsa_queue_t *handle) {
    struct emu_queue *q = queues;
    while (q && &q->amd->hsa_queue != handle)
        q = q->next;
    return q;
}

static void end(struct emu_queue *q) {
    emu_queue_stop(q);
    if (pthread_equal(pthread_self(), q->thread)) {
        pthread_mutex_lock(&lock);
        q->next = dead;
        dead = q;
        pthread_mutex_unlock(&lock);
        return;
    }
    pthread_join(q->thread, NULL);
    emu_queue_free(q);
}

hsa_status_t HSA_API hsa_queue_destroy(hsa_queue_t *handle) {
    EMU_CHECK_UP();
    if (!handle) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    struct emu_queue *q = find(handle);
    for (struct emu_queue **at = &queues; q && *at; at = &(*at)->next)
        if (*at == q) {
            *at = q->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    if (!q) return HSA_STATUS_ERROR_INVALID_QUEUE;
    end(q);
    return HSA_STATUS_SUCCESS;
}

/* Packets after this are not processed; what runs is ended. */
hsa_status_t HSA_API hsa_queue_inactivate(hsa_queue_t *handle) {
    EMU_CHECK_UP();
    if (!handle) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    struct emu_queue *q = find(handle);
    if (q) emu_queue_stop(q);
    pthread_mutex_unlock(&lock);
    return q ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_QUEUE;
}

void emu_queues_close(void) {
    for (;;) {
        pthread_mutex_lock(&lock);
        struct emu_queue **from = queues ? &queues : &dead, *q = *from;
        if (q) *from = q->next;
        pthread_mutex_unlock(&lock);
        if (!q) return;
        end(q);
    }
}

typedef volatile _Atomic uint64_t *index_ptr;

static index_ptr write_index(const hsa_queue_t *q) {
    return (index_ptr) & ((amd_queue_t *)q)->write_dispatch_id;
}

static index_ptr read_index(const hsa_queue_t *q) {
    return (index_ptr) & ((amd_queue_t *)q)->read_dispatch_id;
}

#define LOAD(order)                                                                                \
    uint64_t HSA_API hsa_queue_load_read_index_##order(const hsa_queue_t *q) {                     \
        return atomic_load(read_index(q));                                                         \
    }                                                                                              \
    uint64_t HSA_API hsa_queue_load_write_index_##order(const hsa_queue_t *q) {                    \
        return atomic_load(write_index(q));                                                        \
    }
LOAD(relaxed)
LOAD(acquire)
LOAD(scacquire)

/* The read index is the packet processor's on a GPU queue: storing it is for user queues. */
#define STORE(order)                                                                               \
    void HSA_API hsa_queue_store_write_index_##order(const hsa_queue_t *q, uint64_t v) {           \
        atomic_store(write_index(q), v);                                                           \
    }                                                                                              \
    void HSA_API hsa_queue_store_read_index_##order(const hsa_queue_t *q, uint64_t v) {            \
        (void)q, (void)v;                                                                          \
    }
STORE(relaxed)
STORE(release)
STORE(screlease)

#define UPDATE(order)                                                                              \
    uint64_t HSA_API hsa_queue_add_write_index_##order(const hsa_queue_t *q, uint64_t v) {         \
        return atomic_fetch_add(write_index(q), v);                                                \
    }                                                                                              \
    uint64_t HSA_API hsa_queue_cas_write_index_##order(const hsa_queue_t *q, uint64_t expected,    \
                                                       uint64_t v) {                               \
        atomic_compare_exchange_strong(write_index(q), &expected, v);                              \
        return expected;                                                                           \
    }
UPDATE(relaxed)
UPDATE(acquire)
UPDATE(scacquire)
UPDATE(release)
UPDATE(screlease)
UPDATE(acq_rel)
UPDATE(scacq_screl)

hsa_status_t HSA_API hsa_amd_profiling_set_profiler_enabled(hsa_queue_t *handle, int enable) {
    (void)enable; /* times are always recorded */
    EMU_CHECK_UP();
    return handle ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_QUEUE;
}

hsa_status_t HSA_API hsa_amd_queue_set_priority(hsa_queue_t *handle,
                                                hsa_amd_queue_priority_t priority) {
    (void)priority; /* host threads serve all queues alike */
    EMU_CHECK_UP();
    return handle ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_QUEUE;
}
