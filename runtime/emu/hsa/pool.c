/* pool.c - memory pools, and the older regions that name the same memory. */
#include "runtime/emu/hsa/host.h"

#include <string.h>
#include <unistd.h>

enum {
    FINE = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED,
    COARSE = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED,
    KERNARG = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT,
    ALIGNMENT = 4096,
};

const struct emu_pool emu_pools[EMU_POOLS] = {
    {EMU_POOL_HOST_KERNARG, EMU_CPU_AGENT, HSA_AMD_SEGMENT_GLOBAL, FINE | KERNARG},
    {EMU_POOL_HOST_FINE, EMU_CPU_AGENT, HSA_AMD_SEGMENT_GLOBAL, FINE},
    {EMU_POOL_HOST_COARSE, EMU_CPU_AGENT, HSA_AMD_SEGMENT_GLOBAL, COARSE},
    {EMU_POOL_DEVICE, EMU_GPU_AGENT, HSA_AMD_SEGMENT_GLOBAL, COARSE},
    {EMU_POOL_LDS, EMU_GPU_AGENT, HSA_AMD_SEGMENT_GROUP, 0},
};

const struct emu_pool *emu_pool_from(uint64_t handle) {
    for (size_t i = 0; i < EMU_POOLS; i++)
        if (handle == (uint64_t)&emu_pools[i]) return &emu_pools[i];
    return NULL;
}

static size_t host_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : 0;
}

size_t emu_pool_bytes(const struct emu_pool *p) {
    return p->segment == HSA_AMD_SEGMENT_GROUP ? emu_device()->arch->lds_bytes : host_bytes();
}

#define PUT(type, v) (*(type *)out = (type)(v), HSA_STATUS_SUCCESS)

hsa_status_t HSA_API hsa_amd_agent_iterate_memory_pools(
    hsa_agent_t handle, hsa_status_t (*callback)(hsa_amd_memory_pool_t, void *), void *data) {
    EMU_CHECK_UP();
    const struct emu_agent *agent = emu_agent_from(handle);
    if (!agent) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (size_t i = 0; i < EMU_POOLS; i++) {
        if (emu_pools[i].owner != agent->id) continue;
        hsa_status_t s = callback((hsa_amd_memory_pool_t){(uint64_t)&emu_pools[i]}, data);
        if (s) return s;
    }
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t handle,
                                                  hsa_amd_memory_pool_info_t what, void *out) {
    EMU_CHECK_UP();
    const struct emu_pool *p = emu_pool_from(handle.handle);
    if (!p) return (hsa_status_t)HSA_STATUS_ERROR_INVALID_MEMORY_POOL;
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    bool global = p->segment == HSA_AMD_SEGMENT_GLOBAL;
    switch ((int)what) {
    case HSA_AMD_MEMORY_POOL_INFO_SEGMENT:
        return PUT(hsa_amd_segment_t, p->segment);
    case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
        return PUT(uint32_t, p->flags);
    case HSA_AMD_MEMORY_POOL_INFO_SIZE:
        return PUT(size_t, emu_pool_bytes(p));
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED:
        return PUT(bool, global);
    /* Bounds are exact to the byte, whatever a program rounds its sizes to. */
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE:
        return PUT(size_t, global);
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT:
        return PUT(size_t, global ? ALIGNMENT : 0);
    case HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL:
        return PUT(bool, global);
    case HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE:
        return PUT(size_t, global ? emu_pool_bytes(p) : 0);
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_status_t HSA_API hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent_handle,
                                                        hsa_amd_memory_pool_t pool_handle,
                                                        hsa_amd_agent_memory_pool_info_t what,
                                                        void *out) {
    EMU_CHECK_UP();
    const struct emu_agent *agent = emu_agent_from(agent_handle);
    const struct emu_pool *p = emu_pool_from(pool_handle.handle);
    if (!agent) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!p) return (hsa_status_t)HSA_STATUS_ERROR_INVALID_MEMORY_POOL;
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    bool owner = p->owner == agent->id, global = p->segment == HSA_AMD_SEGMENT_GLOBAL;
    switch ((int)what) {
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS:
        return PUT(hsa_amd_memory_pool_access_t,
                   owner    ? HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT
                   : global ? HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT
                            : HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS:
        return PUT(uint32_t, owner ? 0 : 1);
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO: {
        hsa_amd_memory_pool_link_info_t link = {.max_latency = 0,
                                                .link_type = HSA_AMD_LINK_INFO_TYPE_PCIE};
        if (!owner) memcpy(out, &link, sizeof link);
        return HSA_STATUS_SUCCESS;
    }
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_status_t HSA_API hsa_agent_iterate_regions(hsa_agent_t handle,
                                               hsa_status_t (*callback)(hsa_region_t, void *),
                                               void *data) {
    EMU_CHECK_UP();
    const struct emu_agent *agent = emu_agent_from(handle);
    if (!agent) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (size_t i = 0; i < EMU_POOLS; i++) {
        /* A GPU lists the host's fine-grained memory too: that is where its kernargs go. */
        bool shared = emu_pools[i].flags & FINE;
        if (emu_pools[i].owner != agent->id && !shared) continue;
        hsa_status_t s = callback((hsa_region_t){(uint64_t)&emu_pools[i]}, data);
        if (s) return s;
    }
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_region_get_info(hsa_region_t handle, hsa_region_info_t what, void *out) {
    EMU_CHECK_UP();
    const struct emu_pool *p = emu_pool_from(handle.handle);
    if (!p) return HSA_STATUS_ERROR_INVALID_REGION;
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    bool global = p->segment == HSA_AMD_SEGMENT_GLOBAL;
    switch ((int)what) {
    case HSA_REGION_INFO_SEGMENT:
        return PUT(hsa_region_segment_t,
                   global ? HSA_REGION_SEGMENT_GLOBAL : HSA_REGION_SEGMENT_GROUP);
    case HSA_REGION_INFO_GLOBAL_FLAGS:
        return PUT(uint32_t, p->flags);
    case HSA_REGION_INFO_SIZE:
        return PUT(size_t, emu_pool_bytes(p));
    case HSA_REGION_INFO_ALLOC_MAX_SIZE:
        return PUT(size_t, global ? emu_pool_bytes(p) : 0);
    case HSA_REGION_INFO_ALLOC_MAX_PRIVATE_WORKGROUP_SIZE:
        return PUT(uint32_t, 0);
    case HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED:
        return PUT(bool, global);
    case HSA_REGION_INFO_RUNTIME_ALLOC_GRANULE:
        return PUT(size_t, global);
    case HSA_REGION_INFO_RUNTIME_ALLOC_ALIGNMENT:
        return PUT(size_t, global ? ALIGNMENT : 0);
    case HSA_AMD_REGION_INFO_HOST_ACCESSIBLE:
        return PUT(bool, global);
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}
