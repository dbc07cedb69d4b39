#include "runtime/etrt/cuda/library.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt/base/file.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct etrt_cuda cuda;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The functions stand in struct etrt_cuda in the order of these names. */
#define X(name, arguments) #name "\0"
static const char required[] = ETRT_CUDA_REQUIRED(X), optional[] = ETRT_CUDA_OPTIONAL(X);
#undef X

static etrt_status find_functions(struct etrt_cuda *cu, const char *file) {
    char *slot = (char *)cu + offsetof(struct etrt_cuda, cuInit);
    for (int pass = 0; pass < 2; pass++)
        for (const char *name = pass ? optional : required; *name; name += strlen(name) + 1) {
            void *function = dlsym(cu->library, name);
            if (!function && !pass) return etrt_fail(ETRT_NO_DEVICE, "%s lacks %s", file, name);
            memcpy(slot, &function, sizeof function);
            slot += sizeof function;
        }
    return ETRT_OK;
}

const char *etrt_cuda_text(const struct etrt_cuda *cu, int result, char *out, size_t bytes) {
    const char *name = NULL, *text = NULL;
    if (cu->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name) name = "unknown CUDA error";
    if (cu->cuGetErrorString(result, &text) != CUDA_SUCCESS || !text) text = "CUDA failed";
    snprintf(out, bytes, "%s (%s, %d)", text, name, result);
    return out;
}

/* A process that has no GPU when it starts to look may get none later either, but asking again
 * costs little. */
static etrt_status start(struct etrt_cuda *cu) {
    const char *chosen = secure_getenv("ETRT_CUDA_LIB");
    const char *file = chosen && *chosen ? chosen : "libcuda.so.1";
    char text[256];
    if (!etrt_library_check(file, text, sizeof text))
        return etrt_fail(ETRT_NO_DEVICE, "no NVIDIA GPU driver library: %s", text);
    cu->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!cu->library)
        return etrt_fail(ETRT_NO_DEVICE, "no NVIDIA GPU driver library: %s", dlerror());
    etrt_status st = find_functions(cu, file);
    int result = st == ETRT_OK ? cu->cuInit(0) : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS)
        st = etrt_fail(ETRT_NO_DEVICE, "no NVIDIA GPU: %s",
                       etrt_cuda_text(cu, result, text, sizeof text));
    if (st == ETRT_OK) return ETRT_OK;
    dlclose(cu->library);
    memset(cu, 0, sizeof *cu);
    return st;
}

etrt_status etrt_cuda_open(const struct etrt_cuda **out) {
    pthread_mutex_lock(&lock);
    etrt_status st = cuda.library ? ETRT_OK : start(&cuda);
    pthread_mutex_unlock(&lock);
    *out = st == ETRT_OK ? &cuda : NULL;
    return st;
}
