/* One GPU: found, described, opened, closed, and what is said of it when it breaks. */
#include "runtime/etrt/cuda/device.h"

#include "runtime/etrt/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kernels read %globaltimer, which counts nanoseconds. */
enum { REALTIME_HZ = 1000000000 };

/* ---- the context and what breaks it ---- */

int cuda_enter(struct cuda_device *dev) {
    return dev->cu->cuCtxPushCurrent_v2(dev->context);
}

void cuda_leave(struct cuda_device *dev) {
    CUcontext out;
    dev->cu->cuCtxPopCurrent_v2(&out);
}

/* Errors of kernels, which every later call of the context gives again, and of the hardware. */
static bool is_fatal(int result) {
    return result == CUDA_ERROR_ECC_UNCORRECTABLE || result == CUDA_ERROR_NVLINK_UNCORRECTABLE ||
           result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_LAUNCH_TIMEOUT ||
           result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_ASSERT ||
           (result >= CUDA_ERROR_HARDWARE_STACK_ERROR && result <= CUDA_ERROR_LAUNCH_FAILED) ||
           result == CUDA_ERROR_UNKNOWN;
}

void cuda_break(struct cuda_device *dev, int result) {
    int none = CUDA_SUCCESS;
    atomic_compare_exchange_strong(&dev->result, &none, result);
    atomic_store(&dev->base.broken, true);
}

etrt_status cuda_status(struct cuda_device *dev, int result, etrt_status status) {
    char text[256];
    if (result == CUDA_SUCCESS) return ETRT_OK;
    if (is_fatal(result)) cuda_break(dev, result);
    return etrt_fail(status, "%s", etrt_cuda_text(dev->cu, result, text, sizeof text));
}

static void fault(etrt_device *base) {
    struct cuda_device *dev = cuda_of(base);
    char text[256];
    etrt_cuda_text(dev->cu, dev->result, text, sizeof text);
    if (*dev->running)
        etrt_fail(ETRT_FAULT, "%s: %s while kernel %s ran; CUDA does not tell where", base->name,
                  text, dev->running);
    else
        etrt_fail(ETRT_FAULT, "%s: %s", base->name, text);
}

/* ---- discovery ---- */

static int ask(const struct etrt_cuda *cu, CUdevice gpu, int attribute) {
    int value = 0;
    return cu->cuDeviceGetAttribute(&value, attribute, gpu) == CUDA_SUCCESS && value > 0 ? value
                                                                                         : 0;
}

static etrt_status find(const struct etrt_cuda *cu, int ordinal, CUdevice *out) {
    int count = 0;
    char text[256];
    int result = cu->cuDeviceGetCount(&count);
    if (result == CUDA_SUCCESS && ordinal >= count)
        return etrt_fail(ETRT_NO_DEVICE, "no NVIDIA GPU of number %d: there are %d", ordinal,
                         count);
    if (result == CUDA_SUCCESS) result = cu->cuDeviceGet(out, ordinal);
    if (result == CUDA_SUCCESS) return ETRT_OK;
    return etrt_fail(ETRT_NO_DEVICE, "cannot list NVIDIA GPUs: %s",
                     etrt_cuda_text(cu, result, text, sizeof text));
}

static void describe(struct cuda_device *dev) {
    const struct etrt_cuda *cu = dev->cu;
    struct etrt_device *base = &dev->base;
    char product[128] = "";
    size_t memory = 0;
    struct CUdevResource part;
    if (cu->cuDeviceGetName(product, sizeof product, dev->gpu) != CUDA_SUCCESS)
        snprintf(product, sizeof product, "NVIDIA GPU");
    if (cu->cuDeviceTotalMem_v2(&memory, dev->gpu) == CUDA_SUCCESS) base->memory_bytes = memory;
    dev->major = ask(cu, dev->gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    dev->minor = ask(cu, dev->gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    int sms = ask(cu, dev->gpu, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    int shared = ask(cu, dev->gpu, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    base->cus = sms ? (uint32_t)sms : 1;
    if (dev->borrowed && cu->cuCtxGetDevResource &&
        cu->cuCtxGetDevResource(dev->context, &part, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS)
        base->cus = part.multiprocessors;
    base->dies = 1;
    base->lds_bytes = shared ? (uint32_t)shared : 48 << 10;
    base->realtime_hz = REALTIME_HZ;
    base->can = ETRT_CAN_COMPUTE | ETRT_CAN_TIME;
    snprintf(base->isa, sizeof base->isa, "sm_%d%d", dev->major, dev->minor);
    snprintf(base->name, sizeof base->name, "%s (%s, %u SMs)", product, base->isa, base->cus);
}

static etrt_status list(int index, etrt_device_info *out) {
    struct cuda_device dev = {0};
    int count = 0;
    etrt_status st = etrt_cuda_open(&dev.cu);
    if (st != ETRT_OK || dev.cu->cuDeviceGetCount(&count) != CUDA_SUCCESS || index >= count)
        return ETRT_RANGE;
    st = find(dev.cu, index, &dev.gpu);
    if (st != ETRT_OK) return st;
    describe(&dev);
    snprintf(out->spec, sizeof out->spec, "cuda:%d", index);
    etrt_device_tell(&dev.base, out);
    return ETRT_OK;
}

/* ---- open and close ---- */

/* The context that is current in the calling thread: it may have a part of the GPU. */
static etrt_status borrow(struct cuda_device *dev) {
    int result = dev->cu->cuCtxGetDevice(&dev->gpu);
    if (result == CUDA_SUCCESS) result = dev->cu->cuCtxGetCurrent(&dev->context);
    dev->borrowed = true;
    return cuda_status(dev, result, ETRT_NO_DEVICE);
}

/* A context of several handles; after a fault no more join it. */
struct cuda_shared {
    struct cuda_shared *next;
    CUdevice gpu;
    CUcontext context;
    int users;
};
static struct cuda_shared *shared;
static pthread_mutex_t sharing = PTHREAD_MUTEX_INITIALIZER;

/* With the lock held, as below. */
static void forget(const struct cuda_shared *c) {
    struct cuda_shared **at = &shared;
    while (*at && *at != c)
        at = &(*at)->next;
    if (*at) *at = c->next;
}

static int join(struct cuda_device *dev) {
    struct cuda_shared *c = shared;
    while (c && c->gpu != dev->gpu)
        c = c->next;
    if (!c) {
        c = calloc(1, sizeof *c);
        int result = c ? dev->cu->cuCtxCreate_v2(&c->context, CU_CTX_SCHED_AUTO, dev->gpu)
                       : CUDA_ERROR_OUT_OF_MEMORY;
        CUcontext out;
        if (result != CUDA_SUCCESS) {
            free(c);
            return result;
        }
        dev->cu->cuCtxPopCurrent_v2(&out);
        c->gpu = dev->gpu;
        c->next = shared;
        shared = c;
    }
    c->users++;
    dev->shared = c;
    dev->context = c->context;
    return CUDA_SUCCESS;
}

/* False: others have the context, or it has to stay. */
static bool leave(struct cuda_device *dev, bool broken, bool silent) {
    struct cuda_shared *c = dev->shared;
    if (dev->borrowed || (!c && silent)) return false;
    if (!c) return true;
    pthread_mutex_lock(&sharing);
    bool last = !silent && --c->users == 0;
    if (last || broken) forget(c);
    pthread_mutex_unlock(&sharing);
    if (last) free(c);
    return last;
}

/* A context of its own, unless handles share one: after a fault it is thrown away, and nothing of
 * the program's goes with it. The library makes it current, which is the program's business. */
static etrt_status start(struct cuda_device *dev) {
    const struct etrt_cuda *cu = dev->cu;
    CUcontext out;
    bool shares = atomic_load(&etrt_sharing) && !dev->borrowed;
    if (!ask(cu, dev->gpu, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING))
        return etrt_fail(ETRT_NO_DEVICE, "%s: host and device do not share addresses",
                         dev->base.name);
    int result = CUDA_SUCCESS;
    pthread_mutex_lock(&sharing);
    if (shares)
        result = join(dev);
    else if (!dev->borrowed)
        result = cu->cuCtxCreate_v2(&dev->context, CU_CTX_SCHED_AUTO, dev->gpu);
    pthread_mutex_unlock(&sharing);
    if (result == CUDA_SUCCESS && shares) result = cuda_enter(dev);
    if (result == CUDA_SUCCESS) {
        result = cu->cuStreamCreate(&dev->launches, CU_STREAM_NON_BLOCKING);
        if (result == CUDA_SUCCESS)
            result = cu->cuStreamCreate(&dev->copies, CU_STREAM_NON_BLOCKING);
        if (!dev->borrowed) cu->cuCtxPopCurrent_v2(&out);
    } else if (!dev->shared)
        dev->context = NULL;
    if (result == CUDA_SUCCESS) return ETRT_OK;
    cuda_status(dev, result, ETRT_NO_DEVICE);
    return etrt_fail_in(ETRT_NO_DEVICE, "%s cannot be used", dev->base.name);
}

static const char *const specs[] = {"cuda", NULL};

/* A context that is broken is destroyed with all that is in it. One that is only silent still runs
 * a kernel, for which destroying it would wait: it stays. */
static void close_device(etrt_device *base) {
    struct cuda_device *dev = cuda_of(base);
    bool broken = atomic_load(&base->broken), silent = broken && dev->result == CUDA_SUCCESS;
    if (dev->context && !broken && cuda_enter(dev) == CUDA_SUCCESS) {
        cuda_stages_free(dev);
        if (dev->copies) dev->cu->cuStreamDestroy_v2(dev->copies);
        if (dev->launches) dev->cu->cuStreamDestroy_v2(dev->launches);
        cuda_leave(dev);
    }
    if (dev->context && leave(dev, broken, silent)) dev->cu->cuCtxDestroy_v2(dev->context);
    for (struct host_block *b = dev->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    pthread_mutex_destroy(&dev->lock);
    pthread_mutex_destroy(&dev->copying);
    free(dev);
}

static etrt_status open_device(const char *spec, etrt_device **out) {
    int ordinal = 0;
    bool current = strcmp(spec, "cuda:current") == 0;
    etrt_status st = current ? ETRT_OK : etrt_spec_number(spec, &ordinal);
    if (st != ETRT_OK) return st;
    struct cuda_device *dev = calloc(1, sizeof *dev);
    if (!dev) return etrt_no_memory();
    pthread_mutex_init(&dev->lock, NULL);
    pthread_mutex_init(&dev->copying, NULL);
    dev->base.driver = &etrt_cuda_driver;
    dev->last = &dev->first;
    st = etrt_cuda_open(&dev->cu);
    if (st == ETRT_OK) st = current ? borrow(dev) : find(dev->cu, ordinal, &dev->gpu);
    if (st == ETRT_OK) {
        describe(dev);
        st = start(dev);
    }
    if (st != ETRT_OK) {
        close_device(&dev->base);
        return st;
    }
    *out = &dev->base;
    return ETRT_OK;
}

/* What is compiled for a capability runs on that and later ones, as machine code only on those of
 * the same generation (the library refuses the others at load); with a letter after it on no other.
 */
static etrt_status accept(etrt_device *base, const char *target) {
    struct cuda_device *dev = cuda_of(base);
    char *end = NULL;
    long number = strncmp(target, "sm_", 3) == 0 ? strtol(target + 3, &end, 10) : -1;
    long own = dev->major * 10 + dev->minor;
    bool runs = number > 0 && (*end ? number == own : number <= own);
    if (runs) return ETRT_OK;
    return etrt_device_unmatched(base, target);
}

/* Kernels tell %smid. */
static struct etrt_unit unit(const char *target, uint32_t hw_id) {
    (void)target;
    return (struct etrt_unit){-1, -1, hw_id < 1 << 16 ? (int)hw_id : -1};
}

/* Launches are timed by events, whose cost is each launch's. */
static etrt_status timing(etrt_device *base) {
    (void)base;
    return ETRT_OK;
}

const struct etrt_driver etrt_cuda_driver = {
    .specs = specs,
    .open = open_device,
    .close = close_device,
    .list = list,
    .accept = accept,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .share = cuda_share,
    .copy = cuda_copy,
    .send = cuda_send,
    .settle = cuda_settle,
    .fill = cuda_fill,
    .load = cuda_load,
    .unload = cuda_unload,
    .find = cuda_find,
    .ticket_make = cuda_ticket_make,
    .ticket_free = cuda_ticket_free,
    .launch = cuda_launch,
    .wait = cuda_wait,
    .fault = fault,
    .seconds = cuda_seconds,
    .timing = timing,
    .unit = unit,
};
