/* Memory and copies. */
#include "runtime/etrt/cuda/device.h"

#include "runtime/etrt/base/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- allocations ---- */

/* The device reaches pinned memory at the address that the host has it at. */
static int pin(const struct etrt_cuda *cu, uint64_t bytes, void **out) {
    CUdeviceptr seen = 0;
    int result =
        cu->cuMemHostAlloc(out, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (result != CUDA_SUCCESS) {
        *out = NULL;
        return result;
    }
    result = cu->cuMemHostGetDevicePointer_v2(&seen, *out, 0);
    if (result == CUDA_SUCCESS && seen != (uintptr_t)*out) result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) return result;
    cu->cuMemFreeHost(*out);
    *out = NULL;
    return result;
}

static etrt_status alloc_host(struct cuda_device *dev, bool pinned, uint64_t bytes, void **out) {
    struct host_block *b = calloc(1, sizeof *b);
    int result = CUDA_SUCCESS;
    if (b && pinned) {
        result = cuda_enter(dev);
        if (result == CUDA_SUCCESS) {
            result = pin(dev->cu, bytes, &b->memory);
            cuda_leave(dev);
        }
    } else if (b)
        b->memory = malloc(bytes);
    if (!b || !b->memory) {
        free(b);
        return result == CUDA_SUCCESS ? etrt_no_memory() : cuda_status(dev, result, ETRT_NO_MEMORY);
    }
    b->pinned = pinned;
    b->bytes = bytes;
    pthread_mutex_lock(&dev->lock);
    b->next = dev->blocks;
    dev->blocks = b;
    pthread_mutex_unlock(&dev->lock);
    *out = b->memory;
    return ETRT_OK;
}

etrt_status cuda_alloc(etrt_device *base, enum etrt_place place, uint64_t bytes, void **out) {
    struct cuda_device *dev = cuda_of(base);
    CUdeviceptr p = 0;
    if (bytes > SIZE_MAX) return etrt_fail(ETRT_NO_MEMORY, "more than can be addressed");
    if (place != ETRT_ON_DEVICE && place != ETRT_FROM_PEERS)
        return alloc_host(dev, place == ETRT_ON_HOST, bytes, out);
    int result = cuda_enter(dev);
    if (result == CUDA_SUCCESS) {
        result = dev->cu->cuMemAlloc_v2(&p, bytes);
        cuda_leave(dev);
    }
    *out = result == CUDA_SUCCESS ? (void *)(uintptr_t)p : NULL;
    return cuda_status(dev, result, ETRT_NO_MEMORY);
}

/* Once a context may reach another's memory it reaches all of it. */
etrt_status cuda_share(etrt_device *base, void *memory, etrt_device *const *all, int n) {
    struct cuda_device *own = cuda_of(base);
    (void)memory;
    for (int i = 0; i < n; i++) {
        struct cuda_device *dev = cuda_of(all[i]);
        if (dev == own) continue;
        if (!own->cu->cuCtxEnablePeerAccess)
            return etrt_fail(ETRT_UNSUPPORTED, "the CUDA library does not join devices");
        int result = cuda_enter(dev);
        if (result == CUDA_SUCCESS) {
            result = dev->cu->cuCtxEnablePeerAccess(own->context, 0);
            cuda_leave(dev);
        }
        if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) result = CUDA_SUCCESS;
        etrt_status st = cuda_status(dev, result, ETRT_UNSUPPORTED);
        if (st != ETRT_OK)
            return etrt_fail_in(st, "%s cannot reach memory of %s", dev->base.name, base->name);
    }
    return ETRT_OK;
}

/* Is it pinned memory, which copies need not go through another? */
static bool is_pinned(struct cuda_device *dev, const void *memory) {
    bool found = false;
    pthread_mutex_lock(&dev->lock);
    for (struct host_block *b = dev->blocks; b && !found; b = b->next)
        found = b->pinned && (uintptr_t)memory - (uintptr_t)b->memory < b->bytes;
    pthread_mutex_unlock(&dev->lock);
    return found;
}

/* What was to be sent there is not. */
static void drop_held(struct cuda_device *dev, const void *memory) {
    int n = 0;
    pthread_mutex_lock(&dev->copying);
    for (int i = 0; i < dev->nheld; i++)
        if (dev->held[i].to != memory) dev->held[n++] = dev->held[i];
    dev->nheld = n;
    pthread_mutex_unlock(&dev->copying);
}

static struct host_block *take_block(struct cuda_device *dev, const void *memory) {
    struct host_block *found = NULL;
    pthread_mutex_lock(&dev->lock);
    for (struct host_block **at = &dev->blocks; *at && !found; at = found ? at : &(*at)->next)
        if ((*at)->memory == memory) {
            found = *at;
            *at = found->next;
        }
    pthread_mutex_unlock(&dev->lock);
    return found;
}

/* What is in a broken context goes with it. Freeing waits for launches, and one that does not end
 * would never be over. */
void cuda_free(etrt_device *base, void *memory) {
    struct cuda_device *dev = cuda_of(base);
    drop_held(dev, memory);
    struct host_block *b = take_block(dev, memory);
    bool pinned = !b || b->pinned;
    if (!pinned) free(memory);
    if (pinned && !atomic_load(&base->broken) && cuda_enter(dev) == CUDA_SUCCESS) {
        if (b)
            dev->cu->cuMemFreeHost(memory);
        else
            dev->cu->cuMemFree_v2((uintptr_t)memory);
        cuda_leave(dev);
    }
    free(b);
}

/* ---- copies through pinned memory: with `copying` held, in the context ---- */

/* The first copies make the stages. Without them copies are slower. */
static bool have_stages(struct cuda_device *dev) {
    const struct etrt_cuda *cu = dev->cu;
    for (int i = 0; i < STAGES; i++) {
        struct stage *s = &dev->stages[i];
        if (!s->memory && pin(cu, STAGE_BYTES, &s->memory) != CUDA_SUCCESS) return false;
        if (!s->arrived &&
            cu->cuEventCreate(&s->arrived, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
            s->arrived = NULL;
            return false;
        }
    }
    return true;
}

void cuda_stages_free(struct cuda_device *dev) {
    for (int i = 0; i < STAGES; i++) {
        struct stage *s = &dev->stages[i];
        if (s->arrived) dev->cu->cuEventDestroy_v2(s->arrived);
        if (s->memory) dev->cu->cuMemFreeHost(s->memory);
        *s = (struct stage){0};
    }
    if (dev->arrived) dev->cu->cuEventDestroy_v2(dev->arrived);
    dev->arrived = NULL;
}

/* The next stage, once what was in it has left. */
static int next_stage(struct cuda_device *dev, struct stage **out) {
    struct stage *s = *out = &dev->stages[dev->next_stage++ % STAGES];
    if (!s->in_use) return CUDA_SUCCESS;
    s->in_use = false;
    return dev->cu->cuEventSynchronize(s->arrived);
}

static uint64_t at_most(uint64_t bytes) {
    return bytes < STAGE_BYTES ? bytes : STAGE_BYTES;
}

static int push(struct cuda_device *dev, CUdeviceptr to, const char *from, uint64_t bytes) {
    const struct etrt_cuda *cu = dev->cu;
    int result = CUDA_SUCCESS;
    for (uint64_t at = 0, n; at < bytes && result == CUDA_SUCCESS; at += n) {
        struct stage *s;
        n = at_most(bytes - at);
        result = next_stage(dev, &s);
        if (result != CUDA_SUCCESS) break;
        memcpy(s->memory, from + at, n);
        result = cu->cuMemcpyHtoDAsync_v2(to + at, s->memory, n, dev->copies);
        s->in_use = result == CUDA_SUCCESS;
        if (s->in_use) result = cu->cuEventRecord(s->arrived, dev->copies);
    }
    return result;
}

static int pull_one(struct cuda_device *dev, CUdeviceptr from, uint64_t bytes) {
    struct stage *s;
    int result = next_stage(dev, &s);
    if (result == CUDA_SUCCESS)
        result = dev->cu->cuMemcpyDtoHAsync_v2(s->memory, from, bytes, dev->copies);
    s->in_use = result == CUDA_SUCCESS;
    return s->in_use ? dev->cu->cuEventRecord(s->arrived, dev->copies) : result;
}

static int pull(struct cuda_device *dev, char *to, CUdeviceptr from, uint64_t bytes) {
    int result = CUDA_SUCCESS, oldest = dev->next_stage;
    uint64_t asked = 0;
    for (uint64_t at = 0, n; at < bytes && result == CUDA_SUCCESS; at += n, oldest++) {
        for (; asked < bytes && dev->next_stage - oldest < STAGES && result == CUDA_SUCCESS;
             asked += at_most(bytes - asked))
            result = pull_one(dev, from + asked, at_most(bytes - asked));
        struct stage *s = &dev->stages[oldest % STAGES];
        n = at_most(bytes - at);
        if (result == CUDA_SUCCESS) result = dev->cu->cuEventSynchronize(s->arrived);
        s->in_use = false;
        if (result == CUDA_SUCCESS) memcpy(to + at, s->memory, n);
    }
    return result;
}

/* With `copying` held: few bytes are held, if there is room. */
static bool hold(struct cuda_device *dev, void *to, const void *from, uint64_t bytes) {
    struct held *h = dev->held;
    if (bytes > HELD_BYTES) return false;
    while (h < dev->held + dev->nheld && h->to != to)
        h++;
    if (h == dev->held + MOST_HELD) return false;
    if (h == dev->held + dev->nheld) dev->nheld++;
    *h = (struct held){.to = to, .bytes = bytes};
    memcpy(h->data, from, bytes);
    return true;
}

/* The library takes a copy of memory that is not pinned before it returns. */
static int send_held(struct cuda_device *dev, CUstream stream) {
    int result = CUDA_SUCCESS;
    for (int i = 0; i < dev->nheld && result == CUDA_SUCCESS; i++)
        result = dev->cu->cuMemcpyHtoDAsync_v2((uintptr_t)dev->held[i].to, dev->held[i].data,
                                               dev->held[i].bytes, stream);
    dev->nheld = 0;
    return result;
}

/* What went along with a launch has arrived, which takes no longer than that: nothing was before
 * it in its stream. And what is held is sent. */
static int send_first(struct cuda_device *dev) {
    int result = dev->went ? dev->cu->cuEventSynchronize(dev->arrived) : CUDA_SUCCESS;
    dev->went = false;
    return result == CUDA_SUCCESS ? send_held(dev, dev->copies) : result;
}

/* Everything that was sent has arrived, or never will. */
static int settle(struct cuda_device *dev) {
    int result = dev->cu->cuStreamSynchronize(dev->copies);
    for (int i = 0; i < STAGES; i++)
        dev->stages[i].in_use = false;
    dev->next_stage = 0;
    dev->on_the_way = false;
    return result;
}

int cuda_before_launch(struct cuda_device *dev, bool idle) {
    const struct etrt_cuda *cu = dev->cu;
    int result = CUDA_SUCCESS;
    bool along = dev->nheld && idle;
    if (along && !dev->arrived) result = cu->cuEventCreate(&dev->arrived, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS) dev->arrived = NULL;
    if (result == CUDA_SUCCESS && dev->nheld && !idle) {
        result = send_first(dev);
        dev->on_the_way = true;
    }
    if (result == CUDA_SUCCESS && dev->on_the_way) result = settle(dev);
    if (result == CUDA_SUCCESS && along) result = send_held(dev, dev->launches);
    if (result == CUDA_SUCCESS && along) result = cu->cuEventRecord(dev->arrived, dev->launches);
    dev->went |= along && result == CUDA_SUCCESS;
    return result;
}

enum transfer { PUSH, PUSH_ALONE, PULL, WITHIN, SETTLE };

static int direct(struct cuda_device *dev, void *to, const void *from, uint64_t bytes,
                  enum transfer how) {
    if (how == WITHIN)
        return dev->cu->cuMemcpyDtoDAsync_v2((uintptr_t)to, (uintptr_t)from, bytes, dev->copies);
    return how == PULL ? dev->cu->cuMemcpyDtoHAsync_v2(to, (uintptr_t)from, bytes, dev->copies)
                       : dev->cu->cuMemcpyHtoDAsync_v2((uintptr_t)to, from, bytes, dev->copies);
}

static etrt_status transfer(struct cuda_device *dev, void *to, const void *from, uint64_t bytes,
                            enum transfer how) {
    enum { SMALL = 64 << 10 };
    if (atomic_load(&dev->base.broken)) return etrt_device_check(&dev->base);
    pthread_mutex_lock(&dev->copying);
    bool held = how == PUSH && hold(dev, to, from, bytes);
    int result = held ? CUDA_SUCCESS : cuda_enter(dev);
    if (result == CUDA_SUCCESS && !held) {
        int sent = send_first(dev);
        bool staged = how < WITHIN && (bytes > SMALL || how == PUSH) &&
                      !(how == PUSH_ALONE && is_pinned(dev, from)) && have_stages(dev);
        if (sent != CUDA_SUCCESS || how == SETTLE)
            result = sent;
        else if (!staged)
            result = direct(dev, to, from, bytes, how);
        else if (how == PULL)
            result = pull(dev, to, (uintptr_t)from, bytes);
        else
            result = push(dev, (uintptr_t)to, from, bytes);
        /* What is not staged must not be touched before it has left. */
        dev->on_the_way = staged && how == PUSH && result == CUDA_SUCCESS;
        int settled = dev->on_the_way ? result : settle(dev);
        if (result == CUDA_SUCCESS) result = settled;
        cuda_leave(dev);
    }
    pthread_mutex_unlock(&dev->copying);
    return cuda_status(dev, result, ETRT_DEVICE);
}

etrt_status cuda_copy(etrt_device *base, void *to, const void *from, uint64_t bytes,
                      enum etrt_direction direction) {
    return transfer(cuda_of(base), to, from, bytes,
                    direction == ETRT_TO_DEVICE     ? PUSH_ALONE
                    : direction == ETRT_FROM_DEVICE ? PULL
                                                    : WITHIN);
}

etrt_status cuda_send(etrt_device *base, void *to, const void *from, uint64_t bytes) {
    return transfer(cuda_of(base), to, from, bytes, PUSH);
}

etrt_status cuda_settle(etrt_device *base) {
    return transfer(cuda_of(base), NULL, NULL, 0, SETTLE);
}

bool cuda_fill(etrt_device *base, void *memory, uint8_t byte, uint64_t bytes) {
    struct cuda_device *dev = cuda_of(base);
    if (!bytes) return true;
    if (atomic_load(&base->broken)) return false;
    pthread_mutex_lock(&dev->copying);
    int result = cuda_enter(dev);
    if (result == CUDA_SUCCESS) {
        result = send_first(dev);
        if (result == CUDA_SUCCESS)
            result = dev->cu->cuMemsetD8Async((uintptr_t)memory, byte, bytes, dev->copies);
        int settled = settle(dev);
        if (result == CUDA_SUCCESS) result = settled;
        cuda_leave(dev);
    }
    pthread_mutex_unlock(&dev->copying);
    return cuda_status(dev, result, ETRT_DEVICE) == ETRT_OK;
}
