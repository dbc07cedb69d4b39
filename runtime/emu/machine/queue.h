/* queue.h - user mode queues and the thread that processes each one's packets. */
#ifndef EMU_QUEUE_H
#define EMU_QUEUE_H

#include "runtime/emu/machine/engine.h"
#include "runtime/emu/machine/signal.h"
#include "runtime/emu/memory/memory.h"

#include <pthread.h>

struct emu_queue {
    struct emu_signal doorbell; /* its handle is this address: first, and aligned */
    _Atomic uint64_t bell_value;
    struct emu_event event; /* doorbell rung, or stop */
    struct emu_queue *next;
    amd_queue_t *amd; /* in live memory: kernels may read it and could damage it */
    hsa_kernel_dispatch_packet_t *ring;
    uint32_t size;
    pthread_t thread;
    _Atomic bool stop;
    bool failed; /* takes no more packets; only the thread looks at it */
    void (*callback)(hsa_status_t, hsa_queue_t *, void *);
    void *callback_data;
    void (*on_memory_fault)(uint64_t addr); /* called before the callback */
    pthread_mutex_t lock;
    struct emu_dispatch *running; /* to be stopped with the queue; under lock */
};

/* The body of the queue's thread. */
void *emu_queue_thread(void *queue);

/* Tell the queue to stop, and what it runs. */
void emu_queue_stop(struct emu_queue *);
void emu_queue_free(struct emu_queue *);

/* Check and run one kernel dispatch packet, number ID of the queue. */
void emu_dispatch_packet(struct emu_queue *, const hsa_kernel_dispatch_packet_t *, uint64_t id,
                         struct emu_failure *failure);

#endif
