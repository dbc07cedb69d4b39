/* library.h - the functions of CUDA's driver API that libetrt uses, found at run time.
 *
 * What is declared here is the interface of libcuda.so.1 itself, by the names of its symbols, so
 * that nothing of NVIDIA's is needed to build. The numbers are part of that interface too. */
#ifndef ETRT_CUDA_LIBRARY_H
#define ETRT_CUDA_LIBRARY_H

#include "runtime/etrt.h"

#include <stddef.h>
#include <stdint.h>

typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
struct CUgraphExecUpdateResultInfo {
    int result;
    void *node, *from;
};

enum { /* results */
       CUDA_SUCCESS = 0,
       CUDA_ERROR_INVALID_VALUE = 1,
       CUDA_ERROR_OUT_OF_MEMORY = 2,
       CUDA_ERROR_NO_DEVICE = 100,
       CUDA_ERROR_INVALID_DEVICE = 101,
       CUDA_ERROR_INVALID_IMAGE = 200,
       CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
       CUDA_ERROR_ECC_UNCORRECTABLE = 214,
       CUDA_ERROR_INVALID_PTX = 218,
       CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
       CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
       CUDA_ERROR_INVALID_SOURCE = 300,
       CUDA_ERROR_NOT_FOUND = 500,
       CUDA_ERROR_NOT_READY = 600,
       CUDA_ERROR_ILLEGAL_ADDRESS = 700,
       CUDA_ERROR_LAUNCH_TIMEOUT = 702,
       CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
       CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
       CUDA_ERROR_ASSERT = 710,
       CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
       CUDA_ERROR_LAUNCH_FAILED = 719,
       CUDA_ERROR_UNKNOWN = 999,
};

enum { /* attributes of devices */
       CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
       CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
       CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
       CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
       CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

enum { /* attributes of functions */
       CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
       CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
       CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
       CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
};

enum { /* options of the compiler of PTX */
       CU_JIT_ERROR_LOG_BUFFER = 5,
       CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

enum { CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1 };

/* What a context may use: of its multiprocessors, how many. */
enum { CU_DEV_RESOURCE_TYPE_SM = 1 };
struct CUdevResource {
    int type;
    unsigned char padding[92];
    union {
        unsigned multiprocessors;
        unsigned char room[48];
    };
    void *next; /* of later versions */
};

enum { CU_CTX_SCHED_AUTO = 0, CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DEFAULT = 0 };
enum { CU_EVENT_DISABLE_TIMING = 2 };
enum { CU_MEMHOSTALLOC_PORTABLE = 1, CU_MEMHOSTALLOC_DEVICEMAP = 2 };

/* The ends and keys of the list that gives a launch its arguments as one block. */
#define CU_LAUNCH_PARAM_END ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)

/* All return one of the results above. A library without one of these is refused, naming it. */
#define ETRT_CUDA_REQUIRED(X)                                                                      \
    X(cuInit, (unsigned flags))                                                                    \
    X(cuGetErrorName, (int result, const char **out))                                              \
    X(cuGetErrorString, (int result, const char **out))                                            \
    X(cuDeviceGetCount, (int *out))                                                                \
    X(cuDeviceGet, (CUdevice * out, int ordinal))                                                  \
    X(cuDeviceGetName, (char *out, int bytes, CUdevice))                                           \
    X(cuDeviceGetAttribute, (int *out, int attribute, CUdevice))                                   \
    X(cuDeviceTotalMem_v2, (size_t * out, CUdevice))                                               \
    X(cuCtxCreate_v2, (CUcontext * out, unsigned flags, CUdevice))                                 \
    X(cuCtxDestroy_v2, (CUcontext))                                                                \
    X(cuCtxPushCurrent_v2, (CUcontext))                                                            \
    X(cuCtxPopCurrent_v2, (CUcontext * out))                                                       \
    X(cuCtxGetCurrent, (CUcontext * out))                                                          \
    X(cuCtxGetDevice, (CUdevice * out))                                                            \
    X(cuMemAlloc_v2, (CUdeviceptr * out, size_t bytes))                                            \
    X(cuMemFree_v2, (CUdeviceptr))                                                                 \
    X(cuMemHostAlloc, (void **out, size_t bytes, unsigned flags))                                  \
    X(cuMemFreeHost, (void *))                                                                     \
    X(cuMemHostGetDevicePointer_v2, (CUdeviceptr * out, void *, unsigned flags))                   \
    X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream))            \
    X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream))                  \
    X(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream))            \
    X(cuMemsetD8Async, (CUdeviceptr, unsigned char byte, size_t bytes, CUstream))                  \
    X(cuStreamCreate, (CUstream * out, unsigned flags))                                            \
    X(cuStreamDestroy_v2, (CUstream))                                                              \
    X(cuStreamSynchronize, (CUstream))                                                             \
    X(cuEventCreate, (CUevent * out, unsigned flags))                                              \
    X(cuEventDestroy_v2, (CUevent))                                                                \
    X(cuEventRecord, (CUevent, CUstream))                                                          \
    X(cuEventQuery, (CUevent))                                                                     \
    X(cuEventSynchronize, (CUevent))                                                               \
    X(cuEventElapsedTime, (float *out_milliseconds, CUevent from, CUevent to))                     \
    X(cuModuleLoadDataEx,                                                                          \
      (CUmodule * out, const void *image, unsigned options, int *keys, void **values))             \
    X(cuModuleUnload, (CUmodule))                                                                  \
    X(cuModuleGetFunction, (CUfunction * out, CUmodule, const char *name))                         \
    X(cuFuncGetAttribute, (int *out, int attribute, CUfunction))                                   \
    X(cuFuncSetAttribute, (CUfunction, int attribute, int value))                                  \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                 \
      (int *out, CUfunction, int block, size_t dynamic_shared))                                    \
    X(cuLaunchKernel, (CUfunction, unsigned grid_x, unsigned grid_y, unsigned grid_z,              \
                       unsigned block_x, unsigned block_y, unsigned block_z,                       \
                       unsigned dynamic_shared, CUstream, void **arguments, void **extra))

/* NULL where the library does not have them. The first is for several GPUs; the next two came with
 * CUDA 12.4; the others, of which the last came with 12.0, are for launches of several kernels,
 * which go without. */
#define ETRT_CUDA_OPTIONAL(X)                                                                      \
    X(cuCtxEnablePeerAccess, (CUcontext of, unsigned flags))                                       \
    X(cuCtxGetDevResource, (CUcontext, struct CUdevResource * out, int type))                      \
    X(cuFuncGetParamInfo, (CUfunction, size_t index, size_t * out_offset, size_t * out_bytes))     \
    X(cuStreamBeginCapture_v2, (CUstream, int mode))                                               \
    X(cuStreamEndCapture, (CUstream, CUgraph * out))                                               \
    X(cuGraphDestroy, (CUgraph))                                                                   \
    X(cuGraphInstantiateWithFlags, (CUgraphExec * out, CUgraph, unsigned long long flags))         \
    X(cuGraphExecDestroy, (CUgraphExec))                                                           \
    X(cuGraphLaunch, (CUgraphExec, CUstream))                                                      \
    X(cuGraphExecUpdate_v2, (CUgraphExec, CUgraph, struct CUgraphExecUpdateResultInfo * out))

struct etrt_cuda {
    void *library;
#define X(name, arguments) int(*name) arguments;
    ETRT_CUDA_REQUIRED(X)
    ETRT_CUDA_OPTIONAL(X)
#undef X
};

/* The library, opened and initialised by the first call that succeeds; it stays until the process
 * ends, since it cannot be shut down. */
etrt_status etrt_cuda_open(const struct etrt_cuda **out);

/* "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)": put into OUT, which is
 * returned. */
const char *etrt_cuda_text(const struct etrt_cuda *, int result, char *out, size_t bytes);

#endif
