/* queue.c - the packet processor: one thread per queue takes its packets in order. */
#include "runtime/emu/machine/queue.h"
#include "runtime/emu/base/clock.h"
#include "runtime/emu/machine/fault.h"

#include <stdlib.h>
#include <string.h>

enum { SPIN_NS = 50000, OR_POLL_NS = 50000, PACKET_DEPS = 5 };

static uint64_t load_write_index(const struct emu_queue *q) {
    return atomic_load_explicit((const volatile _Atomic uint64_t *)&q->amd->write_dispatch_id,
                                memory_order_acquire);
}

static void store_read_index(struct emu_queue *q, uint64_t index) {
    atomic_store_explicit((volatile _Atomic uint64_t *)&q->amd->read_dispatch_id, index,
                          memory_order_release);
}

static uint16_t load_header(const void *packet) {
    return atomic_load_explicit((const _Atomic uint16_t *)packet, memory_order_acquire);
}

/* A signal a packet names, or NULL with *BAD when it is none. */
static struct emu_signal *packet_signal(hsa_signal_t s, bool *bad) {
    struct emu_memory_info info;
    if (!s.handle) return NULL;
    if (s.handle % 64 == 0 && emu_memory_lookup(s.handle, &info) && info.kind == EMU_MEM_SIGNAL)
        return emu_signal_from(s);
    *bad = true;
    return NULL;
}

static void fail_signal(struct emu_failure *f) {
    emu_failure_set(f, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
                    "packet: a signal handle is not of a live signal\n");
}

static void run_barrier_and(struct emu_queue *q, const hsa_barrier_and_packet_t *p,
                            struct emu_failure *f) {
    bool bad = false;
    for (int i = 0; i < PACKET_DEPS && !bad; i++) {
        struct emu_signal *s = packet_signal(p->dep_signal[i], &bad);
        if (s) emu_signal_wait(s, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, &q->stop);
    }
    if (bad) fail_signal(f);
}

static void run_barrier_or(struct emu_queue *q, const hsa_barrier_or_packet_t *p,
                           struct emu_failure *f) {
    bool bad = false;
    for (;;) {
        bool any = false;
        for (int i = 0; i < PACKET_DEPS && !bad; i++) {
            struct emu_signal *s = packet_signal(p->dep_signal[i], &bad);
            if (s && atomic_load(&s->value) == 0) return;
            any |= s != NULL;
        }
        if (bad) fail_signal(f);
        if (bad || !any || atomic_load(&q->stop)) return;
        struct emu_event nobody = {0};
        emu_event_wait(&nobody, 0, 0, OR_POLL_NS);
    }
}

/* AMD's packet that waits for a condition on a masked value. */
static void run_barrier_value(struct emu_queue *q, const hsa_amd_barrier_value_packet_t *p,
                              struct emu_failure *f) {
    bool bad = false;
    if (p->header.AmdFormat != HSA_AMD_PACKET_TYPE_BARRIER_VALUE) {
        emu_failure_set(f, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
                        "vendor packet of unknown format %u\n", p->header.AmdFormat);
        return;
    }
    struct emu_signal *s = packet_signal(p->signal, &bad);
    if (bad) fail_signal(f);
    while (s && !atomic_load(&q->stop)) {
        uint32_t seen = emu_event_read(&s->event);
        int64_t value = atomic_load(&s->value) & p->mask;
        if (emu_signal_test(value, (hsa_signal_condition_t)p->cond, p->value)) return;
        emu_event_wait(&s->event, seen, 0, 1000000);
    }
}

static void run_packet(struct emu_queue *q, const void *packet, uint16_t header, uint64_t id,
                       struct emu_failure *f) {
    f->status = HSA_STATUS_SUCCESS;
    unsigned type = header & 0xff;
    switch (type) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
        emu_dispatch_packet(q, packet, id, f);
        break;
    case HSA_PACKET_TYPE_BARRIER_AND:
        run_barrier_and(q, packet, f);
        break;
    case HSA_PACKET_TYPE_BARRIER_OR:
        run_barrier_or(q, packet, f);
        break;
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
        run_barrier_value(q, packet, f);
        break;
    default:
        emu_failure_set(f, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
                        "a packet of type %u, which a GPU does not process\n", type);
    }
}

static void report(struct emu_queue *q, const struct emu_failure *f) {
    q->failed = true;
    emu_fault_remember(f->text);
    if (f->memory) q->on_memory_fault(f->addr);
    if (q->callback) q->callback(f->status, &q->amd->hsa_queue, q->callback_data);
}

/* Every packet type has its completion signal last. That of a packet that failed, or was stopped
 * with its queue, goes to -1: who waits for less than 1 goes on and can tell. */
static void complete(hsa_signal_t handle, bool ok, uint64_t start) {
    bool bad = false;
    struct emu_signal *s = packet_signal(handle, &bad);
    if (!s) return;
    s->start = start;
    s->end = emu_host_ticks();
    if (!ok)
        emu_signal_set(s, -1);
    else
        emu_signal_subtract(s, 1);
}

static void process(struct emu_queue *q, void *packet, uint16_t header, uint64_t id) {
    struct emu_failure *f = malloc(sizeof *f);
    uint64_t start = emu_host_ticks();
    bool ok = !q->failed && f && !atomic_load(&q->stop);
    if (ok) run_packet(q, packet, header, id, f);
    bool stopped = atomic_load(&q->stop);
    if (ok && f->status && !stopped) {
        ok = false;
        report(q, f);
    }
    free(f);
    /* Who has waited for the packet finds its place free. */
    hsa_signal_t done = ((const hsa_kernel_dispatch_packet_t *)packet)->completion_signal;
    atomic_store_explicit((_Atomic uint16_t *)packet, HSA_PACKET_TYPE_INVALID,
                          memory_order_release);
    store_read_index(q, id + 1);
    complete(done, ok && !stopped, start);
}

void *emu_queue_thread(void *arg) {
    struct emu_queue *q = arg;
    for (uint64_t id = 0;;) {
        /* Packets that were there when the queue was stopped are told so, not forgotten. */
        bool stop = atomic_load(&q->stop);
        uint32_t seen = emu_event_read(&q->event);
        hsa_kernel_dispatch_packet_t *packet = &q->ring[id & (q->size - 1)];
        uint16_t header = load_header(packet);
        bool there = id < load_write_index(q) && (header & 0xff) != HSA_PACKET_TYPE_INVALID;
        if (there)
            process(q, packet, header, id++);
        else if (stop)
            return NULL;
        else if (!atomic_load(&q->stop))
            emu_event_wait(&q->event, seen, SPIN_NS, UINT64_MAX);
    }
}

void emu_queue_stop(struct emu_queue *q) {
    pthread_mutex_lock(&q->lock);
    atomic_store(&q->stop, true);
    if (q->running) atomic_store(&q->running->stop, true);
    pthread_mutex_unlock(&q->lock);
    emu_event_post(&q->event);
}

void emu_queue_free(struct emu_queue *q) {
    if (q->amd) emu_memory_free(q->amd, EMU_MEM_QUEUE);
    if (q->ring) emu_memory_free(q->ring, EMU_MEM_QUEUE);
    pthread_mutex_destroy(&q->lock);
    free(q);
}
