/* Code and launches. */
#include "runtime/etrt/cuda/device.h"

#include "runtime/etrt/base/error.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- code ---- */

struct loaded {
    struct loaded *next; /* another kernel of the same module, found later */
    CUmodule module;
    CUfunction function;
    char *kernel;
    /* What the last launch asked for, and how many workgroups of that fit a multiprocessor. */
    uint32_t workgroup_size, group_bytes;
    int resident;
};

/* Why the library refuses an image: the code's fault or not. */
static etrt_status refusal(int result) {
    switch (result) {
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        return ETRT_MISMATCH;
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_INVALID_VALUE:
        return ETRT_FORMAT;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return ETRT_NO_MEMORY;
    default:
        return ETRT_DEVICE;
    }
}

/* IMAGE is machine code or PTX; the text must end with a 0. The compiler of PTX says in LOG what it
 * does not like. */
static etrt_status load_module(struct cuda_device *dev, const void *image, struct loaded *l) {
    enum { LOG_BYTES = 4096 };
    char log[LOG_BYTES] = "";
    int keys[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(LOG_BYTES - 1)};
    int result = dev->cu->cuModuleLoadDataEx(&l->module, image, 2, keys, values);
    if (result == CUDA_SUCCESS) return ETRT_OK;
    l->module = NULL;
    cuda_status(dev, result, refusal(result));
    int length = (int)strnlen(log, LOG_BYTES - 1);
    while (length && (log[length - 1] == '\n' || log[length - 1] == ' '))
        length--;
    if (length) etrt_fail_more("\n%.*s", length, log);
    return refusal(result);
}

/* What the kernel declares; the arguments are one block, the first parameter. */
static etrt_status find_kernel(struct cuda_device *dev, const char *kernel, struct loaded *l,
                               struct etrt_code *code) {
    const struct etrt_cuda *cu = dev->cu;
    int shared = 0, local = 0;
    size_t offset, bytes = 0;
    int result = cu->cuModuleGetFunction(&l->function, l->module, kernel);
    if (result != CUDA_SUCCESS) {
        cuda_status(dev, result, refusal(result));
        return etrt_fail_in(refusal(result), "the code holds no kernel \"%s\"", kernel);
    }
    result = cu->cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, l->function);
    if (result == CUDA_SUCCESS)
        result = cu->cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, l->function);
    if (result != CUDA_SUCCESS) return cuda_status(dev, result, ETRT_DEVICE);
    if (cu->cuFuncGetParamInfo &&
        cu->cuFuncGetParamInfo(l->function, 0, &offset, &bytes) == CUDA_SUCCESS)
        code->kernarg_bytes = (uint32_t)bytes;
    code->group_bytes = (uint32_t)shared;
    code->private_bytes = (uint32_t)local;
    return ETRT_OK;
}

etrt_status cuda_load(etrt_device *base, const void *image, size_t bytes, const char *kernel,
                      struct etrt_code *code) {
    struct cuda_device *dev = cuda_of(base);
    struct loaded *l = code->loaded = calloc(1, sizeof *l);
    char *ended = malloc(bytes + 1);
    if (l) l->kernel = strdup(kernel);
    if (!l || !ended || !l->kernel) {
        free(ended);
        return etrt_no_memory();
    }
    memcpy(ended, image, bytes);
    ended[bytes] = 0;
    etrt_status st = cuda_status(dev, cuda_enter(dev), ETRT_DEVICE);
    if (st == ETRT_OK) {
        st = load_module(dev, ended, l);
        if (st == ETRT_OK) st = find_kernel(dev, kernel, l, code);
        cuda_leave(dev);
    }
    free(ended);
    return st;
}

/* It is freed with the one that the module was loaded with. */
etrt_status cuda_find(etrt_device *base, const struct etrt_code *code, const char *kernel,
                      struct etrt_code *out) {
    struct cuda_device *dev = cuda_of(base);
    struct loaded *whole = code->loaded, *l = calloc(1, sizeof *l);
    if (l) l->kernel = strdup(kernel);
    if (!l || !l->kernel) {
        free(l);
        return etrt_no_memory();
    }
    l->module = whole->module;
    l->next = whole->next;
    whole->next = l;
    *out = (struct etrt_code){.loaded = l};
    etrt_status st = cuda_status(dev, cuda_enter(dev), ETRT_DEVICE);
    if (st != ETRT_OK) return st;
    st = find_kernel(dev, kernel, l, out);
    cuda_leave(dev);
    return st;
}

void cuda_unload(etrt_device *base, struct etrt_code *code) {
    struct cuda_device *dev = cuda_of(base);
    struct loaded *l = code->loaded;
    if (l->module && !atomic_load(&base->broken) && cuda_enter(dev) == CUDA_SUCCESS) {
        dev->cu->cuModuleUnload(l->module);
        cuda_leave(dev);
    }
    while (l) {
        struct loaded *next = l->next;
        free(l->kernel);
        free(l);
        l = next;
    }
}

/* ---- tickets ---- */

struct etrt_ticket {
    struct etrt_ticket *next; /* in flight after this one */
    CUevent begin, end;
    CUgraphExec graph;         /* of its last launch of several kernels, or NULL */
    const struct loaded *code; /* of the launch in flight */
    bool in_flight, timed;
};

static void destroy_events(struct cuda_device *dev, struct etrt_ticket *t) {
    if (atomic_load(&dev->base.broken) || cuda_enter(dev) != CUDA_SUCCESS) return;
    if (t->begin) dev->cu->cuEventDestroy_v2(t->begin);
    if (t->end) dev->cu->cuEventDestroy_v2(t->end);
    if (t->graph) dev->cu->cuGraphExecDestroy(t->graph);
    cuda_leave(dev);
}

etrt_status cuda_ticket_make(etrt_device *base, struct etrt_ticket **out) {
    struct cuda_device *dev = cuda_of(base);
    struct etrt_ticket *t = calloc(1, sizeof *t);
    if (!t) return etrt_no_memory();
    int result = cuda_enter(dev);
    if (result == CUDA_SUCCESS) {
        result = dev->cu->cuEventCreate(&t->begin, CU_EVENT_DEFAULT);
        if (result != CUDA_SUCCESS) t->begin = NULL;
        if (result == CUDA_SUCCESS) {
            result = dev->cu->cuEventCreate(&t->end, CU_EVENT_DEFAULT);
            if (result != CUDA_SUCCESS) t->end = NULL;
        }
        cuda_leave(dev);
    }
    if (result == CUDA_SUCCESS) {
        *out = t;
        return ETRT_OK;
    }
    destroy_events(dev, t);
    free(t);
    cuda_status(dev, result, ETRT_DEVICE);
    return etrt_fail_in(ETRT_DEVICE, "cannot create an event");
}

void cuda_ticket_free(etrt_device *base, struct etrt_ticket *t) {
    struct cuda_device *dev = cuda_of(base);
    pthread_mutex_lock(&dev->lock);
    for (struct etrt_ticket **at = &dev->first; *at; at = &(*at)->next)
        if (*at == t) {
            *at = t->next;
            if (!*at) dev->last = at;
            break;
        }
    pthread_mutex_unlock(&dev->lock);
    destroy_events(dev, t);
    free(t);
}

/* ---- launches: with `lock` held, in the context ---- */

/* Let the kernel have its shared memory, as much as there is: launches of one may ask for more and
 * for less, and what each has is told by its launch. And count the workgroups that are resident
 * with it: those that were not would never be, since the others wait for them. */
static etrt_status make_room(struct cuda_device *dev, const struct etrt_dispatch *d,
                             struct loaded *l, uint32_t dynamic) {
    enum { ALL = 100 }; /* percent */
    const struct etrt_cuda *cu = dev->cu;
    if (l->resident == 0 || l->workgroup_size != d->workgroup_size ||
        l->group_bytes != d->group_bytes) {
        uint32_t most = dev->base.lds_bytes - d->code->group_bytes;
        if (most < dynamic) most = dynamic; /* which the driver will refuse */
        l->resident = 0;
        int result = cu->cuFuncSetAttribute(
            l->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)most);
        /* It leaves room for a kernel beside it, whose shared memory could not be made while this
         * one runs. */
        if (result == CUDA_SUCCESS && d->resident && 2 * d->group_bytes <= dev->base.lds_bytes)
            result = cu->cuFuncSetAttribute(
                l->function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, ALL);
        if (result == CUDA_SUCCESS)
            result = cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &l->resident, l->function, (int)d->workgroup_size, dynamic);
        if (result != CUDA_SUCCESS) {
            cuda_status(dev, result, ETRT_DEVICE);
            return etrt_fail_in(ETRT_DEVICE,
                                "kernel %s with %u work-items and %u bytes of shared memory",
                                l->kernel, d->workgroup_size, d->group_bytes);
        }
        l->workgroup_size = d->workgroup_size;
        l->group_bytes = d->group_bytes;
    }
    if (!d->resident || (uint64_t)l->resident * dev->base.cus >= d->workgroups) return ETRT_OK;
    return etrt_fail(ETRT_RANGE,
                     "%u workgroups cannot all be resident on %s: %d of kernel %s on each SM",
                     d->workgroups, dev->base.name, l->resident, l->kernel);
}

static uint32_t dynamic_bytes(const struct etrt_dispatch *d) {
    uint32_t fixed = d->code->group_bytes;
    return d->group_bytes > fixed ? d->group_bytes - fixed : 0;
}

/* An ordinary launch: it takes less time than a cooperative one, and what that would check is known
 * already. The arguments are copied before the call returns. */
static int start_kernel(struct cuda_device *dev, const struct etrt_dispatch *d) {
    const struct loaded *l = d->code->loaded;
    size_t bytes = d->code->kernarg_bytes ? d->code->kernarg_bytes : d->kernarg_bytes;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, d->kernarg, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &bytes, CU_LAUNCH_PARAM_END};
    return dev->cu->cuLaunchKernel(l->function, d->workgroups, 1, 1, d->workgroup_size, 1, 1,
                                   dynamic_bytes(d), dev->launches, NULL, extra);
}

static int start_each(struct cuda_device *dev, const struct etrt_dispatch *d, int count) {
    int result = CUDA_SUCCESS;
    for (int i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = start_kernel(dev, &d[i]);
    return result;
}

/* T's graph becomes one of these kernels, one after the other: what the stream would do, but
 * between kernels the host has no part. The one it had is made to that where it can be. */
static int make_graph(struct cuda_device *dev, const struct etrt_dispatch *d, int count,
                      struct etrt_ticket *t) {
    const struct etrt_cuda *cu = dev->cu;
    CUgraph graph = NULL;
    struct CUgraphExecUpdateResultInfo info;
    int result = cu->cuStreamBeginCapture_v2(dev->launches, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (result != CUDA_SUCCESS) return result;
    result = start_each(dev, d, count);
    int ended = cu->cuStreamEndCapture(dev->launches, &graph);
    if (result == CUDA_SUCCESS) result = ended;
    bool same = result == CUDA_SUCCESS && t->graph &&
                cu->cuGraphExecUpdate_v2(t->graph, graph, &info) == CUDA_SUCCESS;
    if (result == CUDA_SUCCESS && !same) {
        if (t->graph) cu->cuGraphExecDestroy(t->graph);
        t->graph = NULL;
        result = cu->cuGraphInstantiateWithFlags(&t->graph, graph, 0);
        if (result != CUDA_SUCCESS) t->graph = NULL;
    }
    if (ended == CUDA_SUCCESS && graph) cu->cuGraphDestroy(graph);
    return result;
}

static int start(struct cuda_device *dev, const struct etrt_dispatch *d, int count,
                 struct etrt_ticket *t) {
    const struct etrt_cuda *cu = dev->cu;
    bool graph = count > 1 && cu->cuGraphExecUpdate_v2;
    int result = graph ? make_graph(dev, d, count, t) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS && t->timed) result = cu->cuEventRecord(t->begin, dev->launches);
    if (result == CUDA_SUCCESS)
        result = graph ? cu->cuGraphLaunch(t->graph, dev->launches) : start_each(dev, d, count);
    if (result != CUDA_SUCCESS) return result;
    result = cu->cuEventRecord(t->end, dev->launches);
    /* It runs, and its end could not be seen. */
    if (result != CUDA_SUCCESS) cuda_break(dev, result);
    return result;
}

static void enqueue(struct cuda_device *dev, struct etrt_ticket *t, const struct loaded *l) {
    t->code = l;
    t->in_flight = true;
    t->next = NULL;
    *dev->last = t;
    dev->last = &t->next;
}

/* All launches are in one stream, so each begins when the one before has ended. */
etrt_status cuda_launch(etrt_device *base, const struct etrt_dispatch *d, int count,
                        struct etrt_ticket *t) {
    struct cuda_device *dev = cuda_of(base);
    const struct loaded *first = d->code->loaded;
    pthread_mutex_lock(&dev->copying);
    atomic_fetch_add(&dev->launching, 1);
    pthread_mutex_lock(&dev->lock);
    atomic_fetch_sub(&dev->launching, 1);
    etrt_status st = cuda_status(dev, cuda_enter(dev), ETRT_DEVICE);
    if (st == ETRT_OK) {
        t->timed = base->timing;
        for (int i = 0; i < count && st == ETRT_OK; i++)
            st = make_room(dev, &d[i], d[i].code->loaded, dynamic_bytes(&d[i]));
        if (st == ETRT_OK) {
            int sent = cuda_before_launch(dev, !dev->first);
            st = cuda_status(dev, sent == CUDA_SUCCESS ? start(dev, d, count, t) : sent,
                             ETRT_DEVICE);
            if (st != ETRT_OK) etrt_fail_in(st, "cannot launch kernel %s", first->kernel);
        }
        if (st == ETRT_OK) enqueue(dev, t, first);
        cuda_leave(dev);
    }
    pthread_mutex_unlock(&dev->lock);
    pthread_mutex_unlock(&dev->copying);
    return st;
}

/* Those that have ended leave the queue, in their order. */
static void poll(struct cuda_device *dev) {
    int result = atomic_load(&dev->base.broken) ? CUDA_ERROR_NOT_READY : cuda_enter(dev);
    if (result == CUDA_ERROR_NOT_READY) return;
    if (result == CUDA_SUCCESS) {
        while (dev->first && (result = dev->cu->cuEventQuery(dev->first->end)) == CUDA_SUCCESS) {
            struct etrt_ticket *t = dev->first;
            t->in_flight = false;
            dev->first = t->next;
            if (!dev->first) dev->last = &dev->first;
            dev->ended++;
        }
        cuda_leave(dev);
    }
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY) return;
    if (dev->first && !atomic_load(&dev->base.broken))
        snprintf(dev->running, sizeof dev->running, "%s", dev->first->code->kernel);
    cuda_break(dev, result);
}

/* Launches of a few milliseconds are waited for without sleep, which would be longer than asked
 * for. */
bool cuda_wait(etrt_device *base, struct etrt_ticket *t, double seconds, uint64_t *out_ended) {
    static const double eager = 2e-3;
    struct cuda_device *dev = cuda_of(base);
    double from = etrt_now();
    for (;;) {
        while (atomic_load(&dev->launching))
            sched_yield();
        pthread_mutex_lock(&dev->lock);
        poll(dev);
        bool over = !t->in_flight || atomic_load(&base->broken);
        *out_ended = dev->ended;
        pthread_mutex_unlock(&dev->lock);
        double waited = etrt_now() - from;
        if (over || waited >= seconds) return over;
        if (waited > eager) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
}

etrt_status cuda_seconds(etrt_device *base, const struct etrt_ticket *t, double *out) {
    struct cuda_device *dev = cuda_of(base);
    float milliseconds = 0;
    *out = 0;
    if (!t->timed) return etrt_fail(ETRT_INVALID, "the launch was not timed");
    int result = cuda_enter(dev);
    if (result == CUDA_SUCCESS) {
        result = dev->cu->cuEventElapsedTime(&milliseconds, t->begin, t->end);
        cuda_leave(dev);
    }
    *out = (double)milliseconds * 1e-3;
    return cuda_status(dev, result, ETRT_DEVICE);
}
