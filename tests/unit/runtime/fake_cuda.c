#include "tests/unit/runtime/fake_cuda.h"

#include "runtime/etrt/cuda/library.h"
#include "runtime/etrt_abi.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))
#define X(name, arguments) SEEN int name arguments;
ETRT_CUDA_REQUIRED(X)
ETRT_CUDA_OPTIONAL(X)
#undef X

SEEN extern struct fake_cuda fake_cuda;
struct fake_cuda fake_cuda;

enum {
    SMS = 4,
    SHARED_MAX = 232448,
    SHARED_DEFAULT = 48 << 10,
    ARGUMENTS = 184,
    STATIC_SHARED = 4
};
enum { INVALID_CONTEXT = 201, INVALID_HANDLE = 400 };
#define MEMORY_BYTES ((size_t)1 << 30)

/* Everything of a context is in one list, and goes with it. */
enum kind { STREAM, EVENT, MODULE, DEVICE_MEMORY, HOST_MEMORY };

struct thing {
    struct thing *next;
    enum kind kind;
    /* memory: where the device has it, where the fake does, and how much */
    char *address, *shadow;
    size_t bytes;
    /* events */
    struct thing *stream; /* recorded in, and not passed yet */
    double passed;
    /* streams */
    struct step *steps;
    /* modules */
    int dynamic_max;
};

enum what { COPY_IN, COPY_OUT, MOVE, SET, LAUNCH, RECORD };

struct step {
    struct step *next;
    enum what what;
    CUdeviceptr device, from;
    void *host, *own; /* OWN: a copy of what is copied in, or NULL */
    size_t bytes;
    unsigned char byte;
    struct thing *event;
    unsigned grid;
    unsigned char arguments[ARGUMENTS];
};

struct CUctx_st {
    struct thing *things;
    int broken; /* the result of every call from now on */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local CUcontext stack[8];
static _Thread_local int depth;

static CUcontext current(void) {
    return depth ? stack[depth - 1] : NULL;
}

/* Called first by everything that may fail; true, with the lock held, when the call goes on. */
static bool begin(const char *name, bool needs_context, int *result) {
    pthread_mutex_lock(&lock);
    *result = CUDA_SUCCESS;
    if (++fake_cuda.calls == fake_cuda.fail_at) {
        snprintf(fake_cuda.failed, sizeof fake_cuda.failed, "%s", name);
        *result = fake_cuda.fail_with;
    } else if (needs_context && !current())
        *result = INVALID_CONTEXT;
    else if (needs_context && current()->broken)
        *result = current()->broken;
    if (*result == CUDA_SUCCESS) return true;
    pthread_mutex_unlock(&lock);
    return false;
}

static int end(int result) {
    pthread_mutex_unlock(&lock);
    return result;
}

#define BEGIN(needs_context)                                                                       \
    int result_;                                                                                   \
    if (!begin(__func__, needs_context, &result_)) return result_

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- things ---- */

static struct thing *make(enum kind kind) {
    struct thing *t = calloc(1, sizeof *t);
    if (!t) abort();
    t->kind = kind;
    t->next = current()->things;
    current()->things = t;
    fake_cuda.live++;
    return t;
}

static bool is(enum kind kind, const void *handle) {
    for (struct thing *t = current()->things; t; t = t->next)
        if (t == handle) return t->kind == kind;
    return false;
}

static size_t pages(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static void drop(struct thing *t) {
    for (struct step *s = t->steps, *next; s; s = next) {
        next = s->next;
        free(s->own);
        free(s);
    }
    if (t->kind == DEVICE_MEMORY) {
        munmap(t->address, pages(t->bytes));
        munmap(t->shadow, pages(t->bytes));
    }
    if (t->kind == HOST_MEMORY) free(t->address);
    free(t);
    fake_cuda.live--;
}

static int destroy(enum kind kind, const void *handle) {
    pthread_mutex_lock(&lock);
    if (!current() || !is(kind, handle)) abort(); /* the test has found something */
    for (struct thing **at = &current()->things; *at; at = &(*at)->next)
        if (*at == handle) {
            struct thing *t = *at;
            *at = t->next;
            drop(t);
            break;
        }
    return end(CUDA_SUCCESS);
}

static struct thing *memory_at(CUcontext c, enum kind kind, uint64_t address, size_t bytes) {
    for (struct thing *t = c->things; t; t = t->next)
        if (t->kind == kind && address >= (uintptr_t)t->address &&
            address - (uintptr_t)t->address <= t->bytes &&
            bytes <= t->bytes - (address - (uintptr_t)t->address))
            return t;
    return NULL;
}

/* Where the fake sees device memory; NULL: there is none. */
static void *seen(CUcontext c, uint64_t address, size_t bytes) {
    struct thing *t = memory_at(c, DEVICE_MEMORY, address, bytes);
    if (t) return t->shadow + (address - (uintptr_t)t->address);
    return memory_at(c, HOST_MEMORY, address, bytes) ? (void *)(uintptr_t)address : NULL;
}

/* ---- the probe ---- */

static uint64_t word(const struct step *s, size_t at) {
    uint64_t v;
    memcpy(&v, s->arguments + at, 8);
    return v;
}

static uint32_t half(const struct step *s, size_t at) {
    uint32_t v;
    memcpy(&v, s->arguments + at, 4);
    return v;
}

static int illegal; /* the error of a kernel that read or wrote what it may not, from then on */

/* What probe.s says, of which the comments are there. */
static void run_probe(CUcontext c, const struct step *s) {
    uint32_t groups = half(s, 48), launch = half(s, 52), b = half(s, 136), n = half(s, 144);
    uint32_t *control = seen(c, word(s, 0), sizeof(struct etrt_control) + groups * 16);
    struct etrt_report *report = seen(c, word(s, 8), sizeof *report);
    uint32_t *events = seen(c, word(s, 16), 256), *next = seen(c, word(s, 24), 256);
    float *x = seen(c, word(s, 152), n * 4), *w = seen(c, word(s, 160), 24);
    float *state = seen(c, word(s, 168), 16), *y = seen(c, word(s, 176), n * 4);
    if (half(s, 140) || !control || !report || !events || !next || !x || !w || !state || !y ||
        groups != s->grid) {
        c->broken = illegal = CUDA_ERROR_ILLEGAL_ADDRESS;
        return;
    }
    struct etrt_placement *placement = ((struct etrt_control *)(void *)control)->placement;
    for (uint32_t g = 0; g < groups; g++)
        placement[g] = (struct etrt_placement){launch + 1, g, 0, g};
    events[0] += groups;
    for (uint32_t i = 0; i < n; i++)
        y[i] = x[i] + 1 + w[0];
    events[36] += groups;
    if (events[36] < groups + b && *control) return;
    if (events[36] < groups + b) {
        *control = 1;
        *report = (struct etrt_report){.status = ETRT_REPORT_WAIT,
                                       .launch = launch,
                                       .task = 1,
                                       .index = 4,
                                       .count = events[36],
                                       .need = groups + b};
        return;
    }
    state[0] += 1;
    memset(next, 0, 256);
}

/* ---- streams: steps wait until somebody asks ---- */

static void do_step(CUcontext c, struct thing *stream) {
    struct step *s = stream->steps;
    stream->steps = s->next;
    if (s->what == COPY_IN) memcpy(seen(c, s->device, s->bytes), s->host, s->bytes);
    if (s->what == COPY_OUT) memcpy(s->host, seen(c, s->device, s->bytes), s->bytes);
    if (s->what == MOVE) memcpy(seen(c, s->device, s->bytes), seen(c, s->from, s->bytes), s->bytes);
    if (s->what == SET) memset(seen(c, s->device, s->bytes), s->byte, s->bytes);
    if (s->what == LAUNCH) run_probe(c, s);
    if (s->what == RECORD) {
        s->event->stream = NULL;
        s->event->passed = now();
    }
    free(s->own);
    free(s);
}

static bool stuck(const struct thing *stream) {
    return fake_cuda.silent && stream->steps && stream->steps->what == LAUNCH;
}

/* Do all steps, or those up to EVENT. */
static int advance(struct thing *stream, const struct thing *event) {
    CUcontext c = current();
    while (!c->broken && stream->steps && (!event || event->stream)) {
        if (stuck(stream)) abort(); /* this would wait for ever */
        do_step(c, stream);
    }
    return c->broken;
}

static struct step *append(CUstream handle, enum what what) {
    struct thing *stream = (struct thing *)handle;
    struct step *s = calloc(1, sizeof *s), **at = &stream->steps;
    long copies = 0;
    if (!s) abort();
    s->what = what;
    for (; *at; at = &(*at)->next)
        copies += (*at)->what == COPY_IN || (*at)->what == COPY_OUT;
    *at = s;
    if (what == COPY_IN || what == COPY_OUT) copies++;
    if (copies > fake_cuda.in_flight) fake_cuda.in_flight = copies;
    return s;
}

int cuStreamCreate(CUstream *out, unsigned flags) {
    BEGIN(true);
    if (flags != CU_STREAM_NON_BLOCKING) return end(CUDA_ERROR_INVALID_VALUE);
    *out = (CUstream)make(STREAM);
    return end(CUDA_SUCCESS);
}

int cuStreamDestroy_v2(CUstream s) {
    return destroy(STREAM, s);
}

int cuStreamSynchronize(CUstream s) {
    BEGIN(true);
    if (!is(STREAM, s)) return end(INVALID_HANDLE);
    return end(advance((struct thing *)s, NULL));
}

int cuEventCreate(CUevent *out, unsigned flags) {
    BEGIN(true);
    (void)flags;
    *out = (CUevent)make(EVENT);
    return end(CUDA_SUCCESS);
}

int cuEventDestroy_v2(CUevent e) {
    return destroy(EVENT, e);
}

int cuEventRecord(CUevent e, CUstream s) {
    BEGIN(true);
    struct thing *event = (struct thing *)e;
    if (!is(EVENT, e) || !is(STREAM, s) || event->stream) return end(INVALID_HANDLE);
    append(s, RECORD)->event = event;
    event->stream = (struct thing *)s;
    return end(CUDA_SUCCESS);
}

/* A step happens each time somebody looks. */
int cuEventQuery(CUevent e) {
    BEGIN(true);
    struct thing *event = (struct thing *)e;
    if (!is(EVENT, e)) return end(INVALID_HANDLE);
    if (!event->stream) return end(CUDA_SUCCESS);
    if (!stuck(event->stream)) do_step(current(), event->stream);
    return end(current()->broken ? current()->broken : CUDA_ERROR_NOT_READY);
}

int cuEventSynchronize(CUevent e) {
    BEGIN(true);
    struct thing *event = (struct thing *)e;
    if (!is(EVENT, e)) return end(INVALID_HANDLE);
    return end(event->stream ? advance(event->stream, event) : CUDA_SUCCESS);
}

int cuEventElapsedTime(float *out, CUevent from, CUevent to) {
    BEGIN(true);
    struct thing *a = (struct thing *)from, *b = (struct thing *)to;
    if (!is(EVENT, a) || !is(EVENT, b) || a->stream || b->stream) return end(INVALID_HANDLE);
    *out = (float)((b->passed - a->passed) * 1e3) + 1e-3f;
    return end(CUDA_SUCCESS);
}

/* ---- the library and its devices ---- */

static int gpus(void) {
    const char *chosen = getenv("FAKE_CUDA_GPUS");
    return chosen ? atoi(chosen) : 2;
}

int cuInit(unsigned flags) {
    BEGIN(false);
    return end(flags ? CUDA_ERROR_INVALID_VALUE : gpus() ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
}

int cuGetErrorName(int result, const char **out) {
    *out = result == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_FAKE";
    return CUDA_SUCCESS;
}

int cuGetErrorString(int result, const char **out) {
    (void)result;
    *out = "the fake was told to fail";
    return CUDA_SUCCESS;
}

int cuDeviceGetCount(int *out) {
    BEGIN(false);
    *out = gpus();
    return end(CUDA_SUCCESS);
}

int cuDeviceGet(CUdevice *out, int ordinal) {
    BEGIN(false);
    *out = ordinal;
    return end(ordinal >= 0 && ordinal < gpus() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
}

int cuDeviceGetName(char *out, int bytes, CUdevice gpu) {
    BEGIN(false);
    snprintf(out, (size_t)bytes, "Fake GPU %d", gpu);
    return end(CUDA_SUCCESS);
}

int cuDeviceGetAttribute(int *out, int attribute, CUdevice gpu) {
    BEGIN(false);
    *out = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT                ? SMS + gpu
           : attribute == CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING                ? 1
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR          ? 9
           : attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? SHARED_MAX
                                                                                : 0;
    return end(CUDA_SUCCESS);
}

int cuDeviceTotalMem_v2(size_t *out, CUdevice gpu) {
    BEGIN(false);
    (void)gpu;
    *out = MEMORY_BYTES;
    return end(CUDA_SUCCESS);
}

int cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice gpu) {
    BEGIN(false);
    (void)flags, (void)gpu;
    *out = calloc(1, sizeof **out);
    if (illegal) { /* as CUDA, which then makes no other context in that process */
        free(*out);
        *out = NULL;
        return end(illegal);
    }
    if (!*out || depth == sizeof stack / sizeof *stack) abort();
    stack[depth++] = *out;
    fake_cuda.live++;
    return end(CUDA_SUCCESS);
}

int cuCtxDestroy_v2(CUcontext c) {
    pthread_mutex_lock(&lock);
    for (struct thing *t = c->things, *next; t; t = next) {
        next = t->next;
        if (t->kind == STREAM && stuck(t)) abort();
        drop(t);
    }
    free(c);
    fake_cuda.live--;
    return end(CUDA_SUCCESS);
}

int cuCtxPushCurrent_v2(CUcontext c) {
    BEGIN(false);
    if (depth == sizeof stack / sizeof *stack) abort();
    stack[depth++] = c;
    return end(CUDA_SUCCESS);
}

int cuCtxPopCurrent_v2(CUcontext *out) {
    if (!depth) abort();
    *out = stack[--depth];
    return CUDA_SUCCESS;
}

int cuCtxGetCurrent(CUcontext *out) {
    BEGIN(false);
    *out = current();
    return end(CUDA_SUCCESS);
}

int cuCtxGetDevice(CUdevice *out) {
    BEGIN(true);
    *out = 0;
    return end(CUDA_SUCCESS);
}

/* Every context has one multiprocessor less than the GPU. */
int cuCtxGetDevResource(CUcontext c, struct CUdevResource *out, int type) {
    BEGIN(false);
    if (!c || type != CU_DEV_RESOURCE_TYPE_SM) abort();
    out->multiprocessors = SMS - 1;
    return end(CUDA_SUCCESS);
}

/* ---- memory ---- */

/* The device's address is nothing that the host can read. */
int cuMemAlloc_v2(CUdeviceptr *out, size_t bytes) {
    BEGIN(true);
    if (!bytes || bytes > MEMORY_BYTES) return end(CUDA_ERROR_OUT_OF_MEMORY);
    int file = memfd_create("fake_cuda", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)pages(bytes)) != 0) abort();
    struct thing *t = make(DEVICE_MEMORY);
    t->bytes = bytes;
    t->address = mmap(NULL, pages(bytes), PROT_NONE, MAP_SHARED, file, 0);
    t->shadow = mmap(NULL, pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (t->address == MAP_FAILED || t->shadow == MAP_FAILED) abort();
    *out = (uintptr_t)t->address;
    return end(CUDA_SUCCESS);
}

int cuMemFree_v2(CUdeviceptr p) {
    pthread_mutex_lock(&lock);
    struct thing *t = current() ? memory_at(current(), DEVICE_MEMORY, p, 0) : NULL;
    pthread_mutex_unlock(&lock);
    if (!t || (uintptr_t)t->address != p) abort();
    return destroy(DEVICE_MEMORY, t);
}

int cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
    BEGIN(true);
    if (!(flags & CU_MEMHOSTALLOC_DEVICEMAP)) return end(CUDA_ERROR_INVALID_VALUE);
    struct thing *t = make(HOST_MEMORY);
    t->bytes = bytes;
    *out = t->address = malloc(bytes);
    return end(CUDA_SUCCESS);
}

int cuMemFreeHost(void *p) {
    pthread_mutex_lock(&lock);
    struct thing *t = current() ? memory_at(current(), HOST_MEMORY, (uintptr_t)p, 0) : NULL;
    pthread_mutex_unlock(&lock);
    if (!t || t->address != p) abort();
    return destroy(HOST_MEMORY, t);
}

int cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned flags) {
    BEGIN(true);
    *out = (uintptr_t)p;
    return end(flags || !memory_at(current(), HOST_MEMORY, (uintptr_t)p, 0)
                   ? CUDA_ERROR_INVALID_VALUE
                   : CUDA_SUCCESS);
}

static int copy(enum what what, CUdeviceptr device, void *host, size_t bytes, CUstream stream) {
    if (!is(STREAM, stream)) return INVALID_HANDLE;
    if (!bytes || !memory_at(current(), DEVICE_MEMORY, device, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    struct step *s = append(stream, what);
    s->device = device;
    s->host = host;
    s->bytes = bytes;
    /* Memory that is not pinned is free again when the call returns. */
    if (what != COPY_IN || memory_at(current(), HOST_MEMORY, (uintptr_t)host, bytes))
        return CUDA_SUCCESS;
    s->host = s->own = malloc(bytes);
    if (!s->own) abort();
    memcpy(s->own, host, bytes);
    return CUDA_SUCCESS;
}

int cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    BEGIN(true);
    return end(copy(COPY_IN, to, (void *)(uintptr_t)from, bytes, stream));
}

int cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    BEGIN(true);
    return end(copy(COPY_OUT, from, to, bytes, stream));
}

int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    BEGIN(true);
    bool apart = to + bytes <= from || from + bytes <= to;
    if (!is(STREAM, stream)) return end(INVALID_HANDLE);
    if (!bytes || !apart || !memory_at(current(), DEVICE_MEMORY, to, bytes) ||
        !memory_at(current(), DEVICE_MEMORY, from, bytes))
        return end(CUDA_ERROR_INVALID_VALUE);
    struct step *s = append(stream, MOVE);
    s->device = to;
    s->from = from;
    s->bytes = bytes;
    return end(CUDA_SUCCESS);
}

int cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes, CUstream stream) {
    BEGIN(true);
    if (!is(STREAM, stream)) return end(INVALID_HANDLE);
    if (!memory_at(current(), DEVICE_MEMORY, to, bytes)) return end(CUDA_ERROR_INVALID_VALUE);
    struct step *s = append(stream, SET);
    s->device = to;
    s->byte = byte;
    s->bytes = bytes;
    return end(CUDA_SUCCESS);
}

/* ---- code ---- */

/* Text that holds "bad" is no PTX; nobody compiles it here. */
int cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned options, int *keys,
                       void **values) {
    BEGIN(true);
    bool elf = memcmp(image, "\177ELF", 4) == 0;
    if (!elf && strstr(image, "bad")) {
        for (unsigned i = 0; i < options; i++)
            if (keys[i] == CU_JIT_ERROR_LOG_BUFFER)
                strcpy(values[i], "ptxas application ptx input, line 7; fatal: bad\n");
        return end(CUDA_ERROR_INVALID_PTX);
    }
    if (!elf && !strstr(image, ".entry")) return end(CUDA_ERROR_INVALID_IMAGE);
    struct thing *t = make(MODULE);
    t->dynamic_max = SHARED_DEFAULT;
    *out = (CUmodule)t;
    return end(CUDA_SUCCESS);
}

int cuModuleUnload(CUmodule m) {
    return destroy(MODULE, m);
}

int cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name) {
    BEGIN(true);
    if (!is(MODULE, m)) return end(INVALID_HANDLE);
    *out = (CUfunction)m;
    return end(strcmp(name, "probe") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

int cuFuncGetAttribute(int *out, int attribute, CUfunction f) {
    BEGIN(true);
    *out = attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? STATIC_SHARED : 0;
    return end(is(MODULE, f) ? CUDA_SUCCESS : INVALID_HANDLE);
}

int cuFuncSetAttribute(CUfunction f, int attribute, int value) {
    BEGIN(true);
    if (!is(MODULE, f)) return end(INVALID_HANDLE);
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
        return end(value >= 0 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
        value > SHARED_MAX - STATIC_SHARED)
        return end(CUDA_ERROR_INVALID_VALUE);
    ((struct thing *)f)->dynamic_max = value;
    return end(CUDA_SUCCESS);
}

int cuFuncGetParamInfo(CUfunction f, size_t index, size_t *out_offset, size_t *out_bytes) {
    BEGIN(true);
    *out_offset = 0;
    *out_bytes = ARGUMENTS;
    return end(is(MODULE, f) && index == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, CUfunction f, int block,
                                                size_t dynamic_shared) {
    BEGIN(true);
    *out = is(MODULE, f) && block <= 1024 && dynamic_shared <= SHARED_MAX - STATIC_SHARED;
    return end(CUDA_SUCCESS);
}

int cuLaunchKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared,
                   CUstream stream, void **arguments, void **extra) {
    BEGIN(true);
    if (!is(MODULE, f) || !is(STREAM, stream)) return end(INVALID_HANDLE);
    if (!grid_x || grid_y != 1 || grid_z != 1 || block_x != 64 || block_y != 1 || block_z != 1 ||
        dynamic_shared > (unsigned)((struct thing *)f)->dynamic_max || arguments ||
        extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER || extra[2] != CU_LAUNCH_PARAM_BUFFER_SIZE ||
        *(size_t *)extra[3] != ARGUMENTS || extra[4] != CU_LAUNCH_PARAM_END)
        return end(CUDA_ERROR_INVALID_VALUE);
    struct step *s = append(stream, LAUNCH);
    s->grid = grid_x;
    memcpy(s->arguments, extra[1], ARGUMENTS);
    return end(CUDA_SUCCESS);
}
