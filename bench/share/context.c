/* Green contexts of the CUDA driver, which have SMs of their own (CUDA driver API, "Green
 * Contexts"). */
#include "bench/share/share.h"

#include <dlfcn.h>
#include <string.h>

typedef struct CUctx *context;
typedef struct CUgreenCtx *green;
typedef struct CUdevResourceDesc *description;

struct resource {
    int type;
    unsigned char padding[92];
    union {
        unsigned sms;
        unsigned char room[48];
    } is;
};

enum { SUCCESS = 0, SM = 1, DEFAULT_STREAM = 1 };

#define FUNCTIONS(X)                                                                               \
    X(cuInit, (unsigned))                                                                          \
    X(cuDeviceGet, (int *, int))                                                                   \
    X(cuCtxPushCurrent_v2, (context))                                                              \
    X(cuCtxPopCurrent_v2, (context *))
#define NEWER(X)                                                                                   \
    X(cuDeviceGetDevResource, (int, struct resource *, int))                                       \
    X(cuDevSmResourceSplitByCount, (struct resource *, unsigned *, const struct resource *,        \
                                    struct resource *, unsigned, unsigned))                        \
    X(cuDevResourceGenerateDesc, (description *, struct resource *, unsigned))                     \
    X(cuGreenCtxCreate, (green *, description, int, unsigned))                                     \
    X(cuGreenCtxDestroy, (green))                                                                  \
    X(cuCtxFromGreenCtx, (context *, green))

static struct {
    void *library;
#define X(name, arguments) int(*name) arguments;
    FUNCTIONS(X)
    NEWER(X)
#undef X
    int gpu, pushed, ngreen;
    green made[SH_MODELS];
    struct resource left;
} cu;

/* Functions that the library lacks are NULL. */
static bool open_library(void) {
    if (cu.library) return true;
    cu.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cu.library) return sh_fail("no NVIDIA GPU driver library: %s", dlerror());
#define X(name, arguments) *(void **)(void *)&cu.name = dlsym(cu.library, #name);
    FUNCTIONS(X)
    NEWER(X)
#undef X
    if (!cu.cuInit || !cu.cuDeviceGet || cu.cuInit(0) != SUCCESS)
        return sh_fail("the NVIDIA GPU driver library cannot be used");
    return true;
}

static bool done(const char *what, int result) {
    return result == SUCCESS || sh_fail("%s: CUDA error %d", what, result);
}

static bool push(context c) {
    if (!done("cuCtxPushCurrent", cu.cuCtxPushCurrent_v2(c))) return false;
    cu.pushed++;
    return true;
}

/* The driver rounds numbers of SMs up to its granularity, 8 on Hopper; what is left can be divided
 * again. */
static bool part(int cus) {
    struct resource mine = cu.left, rest = {0};
    unsigned groups = 1;
    context c = NULL;
    description d = NULL;
    green g = NULL;
    if (!cu.cuGreenCtxCreate || !cu.cuDevSmResourceSplitByCount)
        return sh_fail("this driver has no green contexts (CUDA 12.4 has)");
    if (!cu.ngreen && !done("cuDeviceGetDevResource", cu.cuDeviceGetDevResource(cu.gpu, &mine, SM)))
        return false;
    if (cus > 0) {
        const struct resource whole = mine;
        if (!done("cuDevSmResourceSplitByCount",
                  cu.cuDevSmResourceSplitByCount(&mine, &groups, &whole, &rest, 0, (unsigned)cus)))
            return false;
        if (groups != 1 || mine.is.sms < (unsigned)cus)
            return sh_fail("there are no %d SMs left", cus);
    }
    if (!done("cuDevResourceGenerateDesc", cu.cuDevResourceGenerateDesc(&d, &mine, 1)) ||
        !done("cuGreenCtxCreate", cu.cuGreenCtxCreate(&g, d, cu.gpu, DEFAULT_STREAM)))
        return false;
    cu.made[cu.ngreen++] = g;
    cu.left = rest;
    return done("cuCtxFromGreenCtx", cu.cuCtxFromGreenCtx(&c, g)) && push(c);
}

bool sh_context_begin(int ordinal, int cus) {
    if (!open_library() || !done("cuDeviceGet", cu.cuDeviceGet(&cu.gpu, ordinal))) return false;
    return part(cus);
}

void sh_contexts_end(void) {
    context c;
    while (cu.pushed) {
        cu.cuCtxPopCurrent_v2(&c);
        cu.pushed--;
    }
    while (cu.ngreen)
        cu.cuGreenCtxDestroy(cu.made[--cu.ngreen]);
    memset(&cu.left, 0, sizeof cu.left);
}
