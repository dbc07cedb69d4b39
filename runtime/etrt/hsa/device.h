/* device.h - one opened GPU agent: its memory, its queue, one dispatch at a time per caller. */
#ifndef ETRT_DEVICE_H
#define ETRT_DEVICE_H

#include "runtime/etrt/hsa/library.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct etrt_device {
    struct etrt_device *next; /* of all open devices */
    const struct etrt_hsa *hsa;
    hsa_agent_t gpu, cpu;
    bool has_gpu, has_cpu;
    hsa_amd_memory_pool_t device_pool, host_pool, kernarg_pool;
    bool has_device_pool, has_host_pool, has_kernarg_pool;
    hsa_queue_t *queue;
    pthread_mutex_t queue_lock; /* one packet is written at a time */
    char isa[64], name[256];
    uint32_t cus;
    uint32_t dies;         /* 1 .. ETRT_MAX_DIES; 1 where the runtime does not say */
    uint64_t memory_bytes; /* of the device's own memory */
    uint32_t lds_bytes;    /* per workgroup at most */
    uint64_t realtime_hz;  /* the clock kernels read */
    uint64_t timestamp_hz; /* the clock hsa_signal_wait and timestamps of dispatches count in */
    bool timing;           /* dispatches get timestamps */
    _Atomic uint64_t launches;
    etemu_stats stats_base;
    _Atomic uint32_t broken; /* 1 + hsa_status_t once the queue failed; no launch works after */
    _Atomic uint64_t fault_address;
    _Atomic int fault_address_known;
};

/* ---- memory --------------------------------------------------------------------------------- */

enum etrt_place {
    ETRT_ON_DEVICE, /* the GPU's own memory: etrt_mem_read and etrt_mem_write reach it */
    ETRT_ON_HOST,   /* coherent host memory the GPU can use */
    ETRT_KERNARG,
};
/* WHAT names the memory in the message of a failure. */
etrt_status etrt_mem_alloc(etrt_device *, enum etrt_place, uint64_t bytes, const char *what,
                           void **out);
void etrt_mem_free(etrt_device *, void *);
etrt_status etrt_mem_write(etrt_device *, void *device, const void *host, uint64_t bytes);
etrt_status etrt_mem_read(etrt_device *, void *host, const void *device, uint64_t bytes);
etrt_status etrt_mem_fill(etrt_device *, void *device, uint8_t byte, uint64_t bytes);

/* ---- kernels -------------------------------------------------------------------------------- */

/* A loaded code object; BYTES must live as long as it. */
struct etrt_code {
    hsa_code_object_reader_t reader;
    hsa_executable_t executable;
    bool has_reader, has_executable;
    uint64_t kernel_object; /* device address of the kernel descriptor */
    uint32_t kernarg_bytes, group_bytes, private_bytes;
};
/* SYMBOL without ".kd". On failure CODE needs no unload. */
etrt_status etrt_code_load(etrt_device *, const void *elf, size_t bytes, const char *symbol,
                           struct etrt_code *code);
void etrt_code_unload(etrt_device *, struct etrt_code *code);

struct etrt_dispatch {
    uint64_t kernel_object;
    void *kernarg;
    uint32_t workgroups, workgroup_size;
    uint32_t group_bytes, private_bytes;
};
/* Queue a dispatch; SIGNAL goes from 1 to 0 when it is done. */
etrt_status etrt_dispatch_start(etrt_device *, const struct etrt_dispatch *, hsa_signal_t signal);
/* Wait for SIGNAL. ETRT_FAULT when the device reports a fault; ETRT_DEVICE when nothing has
 * finished on the queue for SILENCE seconds. */
etrt_status etrt_dispatch_wait(etrt_device *, hsa_signal_t signal, double silence);
/* Seconds from the start to the end of the dispatch whose completion SIGNAL was. */
etrt_status etrt_dispatch_seconds(const etrt_device *, hsa_signal_t signal, double *out);
/* The failure every use of a broken device gets, ETRT_OK when it is not broken. */
etrt_status etrt_device_check(const etrt_device *);
/* How long a launch whose waits are bounded by WAIT_LIMIT may be silent before the device counts as
 * dead. */
double etrt_device_patience(const etrt_device *, double wait_limit);

#endif
