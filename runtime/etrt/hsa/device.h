/* device.h - the HSA driver's own: one opened GPU agent, its memory pools and its queue. */
#ifndef ETRT_HSA_DEVICE_H
#define ETRT_HSA_DEVICE_H

#include "runtime/etrt/driver/driver.h"
#include "runtime/etrt/hsa/library.h"

#include <pthread.h>

struct hsa_device {
    struct etrt_device base;    /* first */
    struct hsa_device *next;    /* of all with a queue */
    const struct etrt_hsa *hsa; /* NULL: an emulator whose target is not chosen yet */
    hsa_agent_t gpu, cpu;
    int number; /* of the GPU among those there are */
    int gpus;   /* seen so far */
    bool has_gpu, has_cpu;
    hsa_amd_memory_pool_t device_pool, host_pool, kernarg_pool;
    hsa_amd_memory_pool_t peer_pool; /* the device's own memory, fine-grained */
    bool has_device_pool, has_host_pool, has_kernarg_pool, has_peer_pool;
    hsa_queue_t *queue;
    pthread_mutex_t lock;  /* of choosing the GPU, and of writing to the queue */
    uint64_t timestamp_hz; /* the clock hsa_signal_wait and timestamps of dispatches count in */
    etemu_stats stats_base;
    _Atomic uint32_t queue_status; /* what the queue failed with */
    _Atomic uint64_t fault_address;
    _Atomic bool fault_address_known;
};

static inline struct hsa_device *hsa_of(const etrt_device *dev) {
    return (struct hsa_device *)dev;
}

/* Functions of struct etrt_driver: memory.c, dispatch.c. */
etrt_status hsa_alloc(etrt_device *, enum etrt_place, uint64_t bytes, void **out);
void hsa_free(etrt_device *, void *);
etrt_status hsa_share(etrt_device *, void *memory, etrt_device *const *all, int n);
etrt_status hsa_copy(etrt_device *, void *to, const void *from, uint64_t bytes,
                     enum etrt_direction);
bool hsa_fill(etrt_device *, void *device, uint8_t byte, uint64_t bytes);
bool hsa_map_at(etrt_device *, uint64_t address, uint64_t bytes);
void hsa_unmap_at(etrt_device *, uint64_t address);
etrt_status hsa_load(etrt_device *, const void *image, size_t bytes, const char *kernel,
                     struct etrt_code *);
void hsa_unload(etrt_device *, struct etrt_code *);
etrt_status hsa_ticket_make(etrt_device *, struct etrt_ticket **out);
void hsa_ticket_free(etrt_device *, struct etrt_ticket *);
etrt_status hsa_find(etrt_device *, const struct etrt_code *, const char *kernel,
                     struct etrt_code *out);
etrt_status hsa_launch(etrt_device *, const struct etrt_dispatch *, int count,
                       struct etrt_ticket *);
bool hsa_wait(etrt_device *, struct etrt_ticket *, double seconds, uint64_t *out_ended);
void hsa_fault(etrt_device *);
etrt_status hsa_seconds(etrt_device *, const struct etrt_ticket *, double *out);
etrt_status hsa_timing(etrt_device *);

#endif
