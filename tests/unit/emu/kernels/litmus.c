// Runs a litmus test: steps in a fixed order, each by one workgroup. The order is kept by a counter
// that is only touched by atomics at device scope, which no cache holds and which bring nothing
// else up to date.
#include "tests/unit/emu/litmus.h"

typedef unsigned int uint;
typedef unsigned long ulong;
typedef uint uint4 __attribute__((ext_vector_type(4)));

#define kernel __attribute__((amdgpu_kernel, visibility("protected")))
#define global __attribute__((address_space(1)))
#define local static __attribute__((address_space(3), loader_uninitialized))

#define WAIT " s_waitcnt vmcnt(0) lgkmcnt(0)"
#define READ(bits)                                                                                 \
    __asm__ volatile("global_load_dword %0, %1, off " bits "\n" WAIT                               \
                     : "=v"(r)                                                                     \
                     : "v"(p)                                                                      \
                     : "memor"                                                                     \
                       "y")
#define WRITE(bits)                                                                                \
    __asm__ volatile("global_store_dword %0, %1, off " bits "\n" WAIT ::"v"(p), "v"(v) : "memory")
#define PLAIN(text) __asm__ volatile(text "\n" WAIT ::: "memory")

static uint into_lds(global char *p) {
    local uint landing[64];
    uint r;
    __asm__ volatile("s_mov_b32 m0, 0\n global_load_lds_dword %1, off\n" WAIT
                     "\n ds_read_b32 %0, %2\n" WAIT
                     : "=v"(r)
                     : "v"(p), "v"((__attribute__((address_space(3))) uint *)landing)
                     : "memory");
    return r;
}

static uint through_buffer(global char *data, uint offset, uint store, uint v) {
    uint4 d = {(uint)(ulong)data, (uint)((ulong)data >> 32), 0x7fffffff, 0x00020000};
    uint r = v;
    for (uint i = 0; i < 4; i++)
        d[i] = __builtin_amdgcn_readfirstlane(d[i]);
    if (store)
        __asm__ volatile("buffer_store_dword %0, %1, %2, 0 offen\n" WAIT ::"v"(v), "v"(offset),
                         "s"(d)
                         : "memory");
    else
        __asm__ volatile("buffer_load_dword %0, %1, %2, 0 offen\n" WAIT
                         : "=v"(r)
                         : "v"(offset), "s"(d)
                         : "memory");
    return r;
}

static uint perform(uint what, global char *data, uint offset, uint v) {
    global char *p = data + offset;
    uint r = 0;
    switch (what) {
    case LOAD:
        READ("");
        break;
    case LOAD_NT:
        READ("nt");
        break;
    case LOAD_SC0:
        READ("sc0");
        break;
    case LOAD_SC1:
        READ("sc1");
        break;
    case LOAD_SC01:
        READ("sc0 sc1");
        break;
    case LOAD_FLAT:
        __asm__ volatile("flat_load_dword %0, %1\n" WAIT : "=v"(r) : "v"(p) : "memory");
        break;
    case LOAD_BUFFER:
        r = through_buffer(data, offset, 0, 0);
        break;
    case LOAD_LDS:
        r = into_lds(p);
        break;
    case LOAD_SCALAR: {
        ulong at = (ulong)p;
        uint lo = __builtin_amdgcn_readfirstlane((uint)at);
        uint hi = __builtin_amdgcn_readfirstlane((uint)(at >> 32));
        at = (ulong)hi << 32 | lo;
        __asm__ volatile("s_load_dword %0, %1, 0x0\n" WAIT : "=s"(r) : "s"(at) : "memory");
        break;
    }
    case STORE:
        WRITE("");
        break;
    case STORE_NT:
        WRITE("nt");
        break;
    case STORE_SC0:
        WRITE("sc0");
        break;
    case STORE_SC1:
        WRITE("sc1");
        break;
    case STORE_SC01:
        WRITE("sc0 sc1");
        break;
    case STORE_BYTE:
        __asm__ volatile("global_store_byte %0, %1, off\n" WAIT ::"v"(p), "v"(v) : "memory");
        break;
    case STORE_BUFFER:
        through_buffer(data, offset, 1, v);
        break;
    case ADD:
        __asm__ volatile("global_atomic_add %0, %1, %2, off sc0\n" WAIT
                         : "=v"(r)
                         : "v"(p), "v"(v)
                         : "memory");
        break;
    case ADD_SC1:
        __asm__ volatile("global_atomic_add %0, %1, %2, off sc0 sc1\n" WAIT
                         : "=v"(r)
                         : "v"(p), "v"(v)
                         : "memory");
        break;
    case INV:
        PLAIN("buffer_inv");
        break;
    case INV_SC0:
        PLAIN("buffer_inv sc0");
        break;
    case INV_SC1:
        PLAIN("buffer_inv sc1");
        break;
    case INV_SC01:
        PLAIN("buffer_inv sc0 sc1");
        break;
    case WB:
        PLAIN("buffer_wbl2");
        break;
    case WB_SC0:
        PLAIN("buffer_wbl2 sc0");
        break;
    case WB_SC1:
        PLAIN("buffer_wbl2 sc1");
        break;
    case WB_SC01:
        PLAIN("buffer_wbl2 sc0 sc1");
        break;
    case INV_SCALAR:
        PLAIN("s_dcache_inv");
        break;
    case TOUCH:
        for (uint i = 0; i < v; i++, p += 128)
            READ("");
        break;
    }
    return r;
}

kernel void litmus(global const struct litmus_step *steps, global uint *turn, global char *data,
                   global uint *results) {
    uint me = __builtin_amdgcn_workgroup_id_x();
    for (uint k = 0; steps[k].what != END; k++) {
        if (steps[k].workgroup != me) continue;
        while (__scoped_atomic_load_n(turn, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) != k)
            __builtin_amdgcn_s_sleep(1);
        uint r = perform(steps[k].what, data, steps[k].offset, steps[k].value);
        __asm__ volatile("global_store_dword %0, %1, off sc0 sc1\n" WAIT ::"v"(results + k), "v"(r)
                         : "memory");
        __scoped_atomic_store_n(turn, k + 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    }
}
