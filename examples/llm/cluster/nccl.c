#include "examples/llm/cluster/nccl.h"
#include "examples/llm/engine/lm.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- of cuda.h and nccl.h, which need not be there ---- */

typedef struct context *context;
typedef struct stream *stream;
typedef struct comm *comm;
typedef struct {
    char bytes[WIRE_ID];
} unique_id;
enum { NOT_READY = 600, NON_BLOCKING = 1, BYTES = 0 }; /* CUDA's result and flag, NCCL's type */

#define CUDA(X)                                                                                    \
    X(int, cuInit, (unsigned flags))                                                               \
    X(int, cuDeviceGet, (int *out, int ordinal))                                                   \
    X(int, cuDevicePrimaryCtxRetain, (context * out, int device))                                  \
    X(int, cuDevicePrimaryCtxRelease_v2, (int device))                                             \
    X(int, cuCtxSetCurrent, (context))                                                             \
    X(int, cuMemAlloc_v2, (uint64_t * out, size_t bytes))                                          \
    X(int, cuMemFree_v2, (uint64_t))                                                               \
    X(int, cuStreamCreate, (stream * out, unsigned flags))                                         \
    X(int, cuStreamDestroy_v2, (stream))                                                           \
    X(int, cuStreamQuery, (stream))
#define NCCL(X)                                                                                    \
    X(int, ncclGetUniqueId, (unique_id * out))                                                     \
    X(int, ncclCommInitRank, (comm * out, int ranks, unique_id, int rank))                         \
    X(int, ncclCommDestroy, (comm))                                                                \
    X(int, ncclCommGetAsyncError, (comm, int *out))                                                \
    X(const char *, ncclGetErrorString, (int result))                                              \
    X(int, ncclGroupStart, (void))                                                                 \
    X(int, ncclGroupEnd, (void))                                                                   \
    X(int, ncclSend, (const void *, size_t count, int type, int to, comm, stream))                 \
    X(int, ncclRecv, (void *, size_t count, int type, int from, comm, stream))

enum { MOST = 16, ALIGNED = 256 };

static struct nccl {
#define X(type, name, arguments) type(*name) arguments;
    CUDA(X)
    NCCL(X)
#undef X
    void *cuda, *nccl;
    int device;
    context primary;
    stream stream;
    comm comm;
    struct handed {
        char name[32];
        uint64_t at, bytes;
    } handed[MOST]; /* none: its name is empty */
} it;

static bool works(int result, const char *what, char *err) {
    return !result || llm_fail(err, "%s: CUDA's error %d", what, result);
}

static bool sent(int result, const char *what, char *err) {
    return !result || llm_fail(err, "%s: NCCL: %s", what, it.ncclGetErrorString(result));
}

static bool find_all(char *err) {
    struct {
        void **library;
        const char *name;
        void *out;
        size_t bytes;
    } all[] = {
#define X(type, name, arguments) {&it.cuda, #name, &it.name, sizeof it.name},
        CUDA(X)
#undef X
#define X(type, name, arguments) {&it.nccl, #name, &it.name, sizeof it.name},
            NCCL(X)
#undef X
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void *function = dlsym(*all[i].library, all[i].name);
        if (!function) return llm_fail(err, "no %s: %s", all[i].name, dlerror());
        memcpy(all[i].out, &function, all[i].bytes);
    }
    return true;
}

static bool open_libraries(char *err) {
    const char *cuda = getenv("ETRT_CUDA_LIB"), *nccl = getenv("ETCLUSTER_NCCL");
    it.cuda = dlopen(cuda && *cuda ? cuda : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!it.cuda) return llm_fail(err, "%s", dlerror());
    it.nccl = dlopen(nccl && *nccl ? nccl : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    return it.nccl ? find_all(err) : llm_fail(err, "%s", dlerror());
}

/* One GPU alone: a group of several has contexts of its own. */
static bool open_context(const char *device, char *err) {
    int ordinal = 0, end = 0;
    if (strcmp(device, "cuda") != 0 &&
        (sscanf(device, "cuda:%d%n", &ordinal, &end) != 1 || device[end]))
        return llm_fail(err, "--device %s is not one NVIDIA GPU", device);
    return open_libraries(err) && works(it.cuInit(0), "CUDA", err) &&
           works(it.cuDeviceGet(&it.device, ordinal), device, err) &&
           works(it.cuDevicePrimaryCtxRetain(&it.primary, it.device), device, err) &&
           works(it.cuCtxSetCurrent(it.primary), device, err) &&
           works(it.cuStreamCreate(&it.stream, NON_BLOCKING), device, err);
}

/* ---- what is sent ---- */

static bool ends(const struct wire *w, int other, char *err) {
    char name[64];
    double began = lm_now();
    for (int turn = 0;; turn++) {
        int result = it.cuStreamQuery(it.stream), wrong = 0;
        if (result != NOT_READY) return works(result, wire_name(w, other, name), err);
        if (!sent(it.ncclCommGetAsyncError(it.comm, &wrong), "NCCL", err) ||
            !sent(wrong, wire_name(w, other, name), err))
            return false;
        if (lm_now() - began > w->limit)
            return llm_fail(err, "%s has not answered for %g s", wire_name(w, other, name),
                            w->limit);
        wire_rest(turn);
    }
}

static struct handed *named(const char *name) {
    for (int i = 0; i < MOST; i++)
        if (!strcmp(it.handed[i].name, name)) return &it.handed[i];
    return NULL;
}

/* Where it is, of at least BYTES; NULL: it is not. */
static void *place_of(const char *name, size_t bytes, char *err) {
    struct handed *h = named(name);
    nccl_enter();
    if (!h || h->bytes < bytes) llm_fail(err, "%s is not bound", name);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): as CUDA gives it
    return h && h->bytes >= bytes ? (void *)(uintptr_t)h->at : NULL;
}

bool nccl_send(const struct wire *w, int to, const char *name, size_t bytes, char *err) {
    void *data = place_of(name, bytes, err);
    return data && sent(it.ncclSend(data, bytes, BYTES, to, it.comm, it.stream), name, err) &&
           ends(w, to, err);
}

bool nccl_take(const struct wire *w, int from, const char *name, size_t bytes, char *err) {
    void *data = place_of(name, bytes, err);
    return data && sent(it.ncclRecv(data, bytes, BYTES, from, it.comm, it.stream), name, err) &&
           ends(w, from, err);
}

/* At least BYTES of memory under that name. */
static bool allocate(const char *name, uint64_t bytes, struct handed **out, char *err) {
    struct handed *h = named(name);
    if (!h) h = named("");
    if (!h || strlen(name) >= sizeof h->name)
        return llm_fail(err, "%s: stages hand on too much", name);
    if (h->bytes < bytes) {
        if (h->bytes) it.cuMemFree_v2(h->at);
        *h = (struct handed){.name = ""};
        nccl_enter();
        if (!works(it.cuMemAlloc_v2(&h->at, bytes), name, err)) return false;
        h->bytes = bytes;
        snprintf(h->name, sizeof h->name, "%s", name);
    }
    *out = h;
    return true;
}

bool nccl_bind(const etrt_model *m, etrt_session *s, char *err) {
    etrt_tensor_info info;
    struct handed *h;
    for (int t = 0; etrt_model_tensor(m, t, &info) == ETRT_OK; t++) {
        if (strncmp(info.name, LM_STAGE_IN, strlen(LM_STAGE_IN)) != 0 &&
            strncmp(info.name, LM_STAGE_OUT, strlen(LM_STAGE_OUT)) != 0)
            continue;
        uint64_t bytes = ((uint64_t)info.max_bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
        if (!allocate(info.name, bytes, &h, err)) return false;
        // NOLINTNEXTLINE(performance-no-int-to-ptr): as CUDA gives it
        if (etrt_bind_device(s, info.name, (void *)(uintptr_t)h->at, h->bytes) != ETRT_OK)
            return llm_fail(err, "%s: %s", info.name, etrt_last_error());
    }
    return true;
}

/* ---- open and close ---- */

void nccl_enter(void) {
    if (it.primary) it.cuCtxSetCurrent(it.primary);
}

/* A byte from each stage to the next, so that what NCCL does at the first one is done. */
static bool connect(const struct wire *w, char *err) {
    struct handed *h;
    int stage = wire_stage(w, w->rank), other = w->rank;
    if (!allocate("connect", ALIGNED, &h, err)) return false;
    char *data = (char *)(uintptr_t)h->at; // NOLINT(performance-no-int-to-ptr): as CUDA gives it
    int result = it.ncclGroupStart();
    if (!result && stage > 1)
        result = it.ncclRecv(data, 1, BYTES, other = wire_rank(w, stage - 1), it.comm, it.stream);
    if (!result && stage < w->ranks)
        result =
            it.ncclSend(data + 1, 1, BYTES, other = wire_rank(w, stage + 1), it.comm, it.stream);
    int ended = it.ncclGroupEnd();
    return sent(result ? result : ended, "to other stages", err) && ends(w, other, err);
}

static bool join(const struct wire *w, char *err) {
    unique_id id = {{0}};
    bool good = w->rank || sent(it.ncclGetUniqueId(&id), "NCCL", err);
    return wire_all(w, good) && wire_share(w, id.bytes) &&
           sent(it.ncclCommInitRank(&it.comm, w->ranks, id, w->rank), "NCCL", err);
}

bool nccl_open(const struct wire *w, const char *device, char *why) {
    *why = 0;
    if (wire_all(w, open_context(device, why)) && wire_all(w, join(w, why)) &&
        wire_all(w, connect(w, why)))
        return true;
    nccl_close();
    return false;
}

void nccl_close(void) {
    nccl_enter();
    if (it.comm) it.ncclCommDestroy(it.comm);
    for (int i = 0; i < MOST; i++)
        if (it.handed[i].bytes) it.cuMemFree_v2(it.handed[i].at);
    if (it.stream) it.cuStreamDestroy_v2(it.stream);
    if (it.primary) it.cuDevicePrimaryCtxRelease_v2(it.device);
    if (it.nccl) dlclose(it.nccl);
    if (it.cuda) dlclose(it.cuda);
    memset(&it, 0, sizeof it);
}
