// Message passing by the compiler's own atomics and fences, for every architecture: steps in a
// fixed order as in litmus.c. A plain access is written in assembly so that it stays where it is.
#include "tests/unit/emu/litmus.h"

typedef unsigned int uint;

#define kernel __attribute__((amdgpu_kernel, visibility("protected")))
#define global __attribute__((address_space(1)))

#if defined(__gfx1201__)
#define READ "global_load_b32 %0, %1, off\n s_wait_loadcnt 0"
#define WRITE "global_store_b32 %0, %1, off\n s_wait_storecnt 0"
#elif defined(__gfx1100__)
#define READ "global_load_b32 %0, %1, off\n s_waitcnt vmcnt(0)"
#define WRITE "global_store_b32 %0, %1, off\n s_waitcnt_vscnt null, 0"
#else
#define READ "global_load_dword %0, %1, off\n s_waitcnt vmcnt(0)"
#define WRITE "global_store_dword %0, %1, off\n s_waitcnt vmcnt(0)"
#endif

static uint perform(uint what, global uint *p, uint v) {
    uint r = 0;
    switch (what) {
    case LOAD:
        __asm__ volatile(READ : "=v"(r) : "v"(p) : "memory");
        break;
    case LOAD_DEVICE:
        r = __scoped_atomic_load_n(p, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
        break;
    case STORE:
        __asm__ volatile(WRITE ::"v"(p), "v"(v) : "memory");
        break;
    case STORE_DEVICE:
        __scoped_atomic_store_n(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
        break;
    case ADD:
        r = __scoped_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
        break;
    case ACQUIRE_GROUP:
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
        break;
    case ACQUIRE_DEVICE:
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
        break;
    case RELEASE_GROUP:
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        break;
    case RELEASE_DEVICE:
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
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
        uint r = perform(steps[k].what, (global uint *)(data + steps[k].offset), steps[k].value);
        __scoped_atomic_store_n(results + k, r, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
        __scoped_atomic_store_n(turn, k + 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    }
}
