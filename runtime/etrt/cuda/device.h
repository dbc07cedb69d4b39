/* device.h - the CUDA driver's own: one GPU with a context, two streams and what is in flight. */
#ifndef ETRT_CUDA_DEVICE_H
#define ETRT_CUDA_DEVICE_H

#include "runtime/etrt/cuda/library.h"
#include "runtime/etrt/driver/driver.h"

#include <pthread.h>

/* Copies from and to memory of the caller's go through pinned memory, several at a time, so that
 * the host's part of one goes on beside the device's part of another. */
enum { STAGES = 4, STAGE_BYTES = 4 << 20 };

struct stage {
    void *memory;
    CUevent arrived;
    bool in_use; /* its copy may still be on the way */
};

/* What is sent in few bytes waits for the next launch and goes along in its stream: copies of their
 * own would be waited for. Whatever else reads or writes the device's memory sends it first. */
enum { MOST_HELD = 16, HELD_BYTES = 1 << 10 };

struct held {
    void *to;
    uint64_t bytes;
    char data[HELD_BYTES];
};

/* Memory of the host's, which `free` tells from the device's by this list. */
struct host_block {
    struct host_block *next;
    void *memory;
    uint64_t bytes;
    bool pinned;
};

struct cuda_device {
    struct etrt_device base; /* first */
    const struct etrt_cuda *cu;
    CUdevice gpu;
    CUcontext context;
    bool borrowed;              /* it is the program's, which destroys it */
    struct cuda_shared *shared; /* it is of several handles; or NULL */
    int major, minor;           /* compute capability */
    CUstream launches, copies;
    _Atomic int launching; /* threads that want the lock for a launch: who waits lets them pass */
    pthread_mutex_t lock;  /* of launches, of what follows, and of all functions' attributes */
    struct etrt_ticket *first, **last; /* in flight, in their order */
    uint64_t ended;                    /* launches that are not any more */
    struct host_block *blocks;
    _Atomic int result; /* what it broke with; CUDA_SUCCESS where it only was silent for too long */
    char running[64];   /* the kernel it was running then, or "" */
    pthread_mutex_t copying; /* of the stages; before `lock` where both are held */
    struct stage stages[STAGES];
    int next_stage;
    struct held held[MOST_HELD]; /* in the order in which they came; with `copying` held, too */
    int nheld;
    bool on_the_way; /* what was sent through stages may not have arrived */
    CUevent arrived; /* what went along with the last launch that had something; NULL: none had */
    bool went;       /* and it was not waited for yet */
};

static inline struct cuda_device *cuda_of(const etrt_device *dev) {
    return (struct cuda_device *)dev;
}

/* Calls are about the context that is current in the calling thread, where the program may have
 * another: all of them are between a successful enter and leave. */
int cuda_enter(struct cuda_device *);
void cuda_leave(struct cuda_device *);

/* RESULT as a failure with STATUS, its text in the last error. A result after which the context
 * answers nothing any more breaks the device. ETRT_OK for success. */
etrt_status cuda_status(struct cuda_device *, int result, etrt_status status);
/* The device broke with RESULT; the first reason stays. */
void cuda_break(struct cuda_device *, int result);

/* Functions of struct etrt_driver: memory.c, launch.c. */
etrt_status cuda_alloc(etrt_device *, enum etrt_place, uint64_t bytes, void **out);
etrt_status cuda_share(etrt_device *, void *memory, etrt_device *const *all, int n);
void cuda_free(etrt_device *, void *);
etrt_status cuda_copy(etrt_device *, void *to, const void *from, uint64_t bytes,
                      enum etrt_direction);
etrt_status cuda_send(etrt_device *, void *to, const void *from, uint64_t bytes);
etrt_status cuda_settle(etrt_device *);
bool cuda_fill(etrt_device *, void *device, uint8_t byte, uint64_t bytes);
void cuda_stages_free(struct cuda_device *);
/* With `copying` held, in the context: what was sent is there when what is put into the stream of
 * launches next begins. IDLE: nothing is there. Returns CUDA's result. */
int cuda_before_launch(struct cuda_device *, bool idle);
etrt_status cuda_load(etrt_device *, const void *image, size_t bytes, const char *kernel,
                      struct etrt_code *);
void cuda_unload(etrt_device *, struct etrt_code *);
etrt_status cuda_ticket_make(etrt_device *, struct etrt_ticket **out);
void cuda_ticket_free(etrt_device *, struct etrt_ticket *);
etrt_status cuda_find(etrt_device *, const struct etrt_code *, const char *kernel,
                      struct etrt_code *out);
etrt_status cuda_launch(etrt_device *, const struct etrt_dispatch *, int count,
                        struct etrt_ticket *);
bool cuda_wait(etrt_device *, struct etrt_ticket *, double seconds, uint64_t *out_ended);
etrt_status cuda_seconds(etrt_device *, const struct etrt_ticket *, double *out);

#endif
