/* memory.c - allocating, copying and filling memory, and who may access it. */
#include "runtime/emu/emu.h"
#include "runtime/emu/hsa/host.h"
#include "runtime/emu/machine/signal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static hsa_status_t allocate(const struct emu_pool *p, size_t bytes, bool everyone, void **out) {
    if (p->segment != HSA_AMD_SEGMENT_GLOBAL || !bytes) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (bytes > emu_pool_bytes(p)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    bool device = p->owner == EMU_GPU_AGENT;
    *out = emu_memory_alloc(bytes, 4096, device ? EMU_MEM_DEVICE : EMU_MEM_HOST, p->id,
                            device || everyone);
    return *out ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

hsa_status_t HSA_API hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t handle, size_t bytes,
                                                  uint32_t flags, void **out) {
    (void)flags;
    EMU_CHECK_UP();
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *out = NULL;
    const struct emu_pool *p = emu_pool_from(handle.handle);
    if (!p) return (hsa_status_t)HSA_STATUS_ERROR_INVALID_MEMORY_POOL;
    return allocate(p, bytes, false, out);
}

static hsa_status_t release(void *p) {
    if (!p) return HSA_STATUS_SUCCESS;
    if (emu_memory_free(p, EMU_MEM_DEVICE) || emu_memory_free(p, EMU_MEM_HOST))
        return HSA_STATUS_SUCCESS;
    return HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

hsa_status_t HSA_API hsa_amd_memory_pool_free(void *p) {
    EMU_CHECK_UP();
    return release(p);
}

/* Fine-grained regions may be used by every agent at once, so the older call needs no grant. */
hsa_status_t HSA_API hsa_memory_allocate(hsa_region_t region, size_t bytes, void **out) {
    EMU_CHECK_UP();
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *out = NULL;
    const struct emu_pool *p = emu_pool_from(region.handle);
    if (!p) return HSA_STATUS_ERROR_INVALID_REGION;
    return allocate(p, bytes, p->flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, out);
}

hsa_status_t HSA_API hsa_memory_free(void *p) {
    EMU_CHECK_UP();
    return release(p);
}

hsa_status_t HSA_API hsa_memory_assign_agent(void *p, hsa_agent_t agent,
                                             hsa_access_permission_t access) {
    (void)access;
    EMU_CHECK_UP();
    if (!p) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return emu_agent_from(agent) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_AGENT;
}

/* The agents listed may access, and those not listed no longer may, except the owner. */
hsa_status_t HSA_API hsa_amd_agents_allow_access(uint32_t num_agents, const hsa_agent_t *agents,
                                                 const uint32_t *flags, const void *p) {
    EMU_CHECK_UP();
    if (!num_agents || !agents || flags || !p) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    bool gpu = false;
    for (uint32_t i = 0; i < num_agents; i++) {
        const struct emu_agent *a = emu_agent_from(agents[i]);
        if (!a) return HSA_STATUS_ERROR_INVALID_AGENT;
        gpu |= a->id == EMU_GPU_AGENT;
    }
    struct emu_memory_info info;
    if (!emu_memory_lookup((uint64_t)p, &info)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (info.kind == EMU_MEM_DEVICE) {
        emu_memory_share(info.base);
        return HSA_STATUS_SUCCESS;
    }
    if (info.kind != EMU_MEM_HOST) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return emu_memory_show(info.base, gpu) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t adopt(void *p, size_t bytes) {
    if (!p || !bytes) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return emu_memory_adopt(p, bytes) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

hsa_status_t HSA_API hsa_memory_register(void *p, size_t bytes) {
    EMU_CHECK_UP();
    if (!p && !bytes) return HSA_STATUS_SUCCESS;
    return adopt(p, bytes);
}

hsa_status_t HSA_API hsa_memory_deregister(void *p, size_t bytes) {
    (void)bytes;
    EMU_CHECK_UP();
    emu_memory_disown(p);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_amd_memory_lock(void *p, size_t bytes, hsa_agent_t *agents, int num_agents,
                                         void **agent_p) {
    EMU_CHECK_UP();
    if (!agent_p || (num_agents > 0 && !agents) || (agents && num_agents <= 0))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *agent_p = NULL;
    for (int i = 0; i < num_agents; i++)
        if (!emu_agent_from(agents[i])) return HSA_STATUS_ERROR_INVALID_AGENT;
    hsa_status_t status = adopt(p, bytes);
    if (!status) *agent_p = p;
    return status;
}

hsa_status_t HSA_API hsa_amd_memory_lock_to_pool(void *p, size_t bytes, hsa_agent_t *agents,
                                                 int num_agents, hsa_amd_memory_pool_t pool,
                                                 uint32_t flags, void **agent_p) {
    (void)flags;
    EMU_CHECK_UP();
    if (!emu_pool_from(pool.handle)) return (hsa_status_t)HSA_STATUS_ERROR_INVALID_MEMORY_POOL;
    return hsa_amd_memory_lock(p, bytes, agents, num_agents, agent_p);
}

hsa_status_t HSA_API hsa_amd_memory_unlock(void *p) {
    EMU_CHECK_UP();
    return emu_memory_disown(p) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_status_t HSA_API hsa_memory_copy(void *dst, const void *src, size_t bytes) {
    EMU_CHECK_UP();
    if (!bytes) return HSA_STATUS_SUCCESS;
    if (!dst || !src) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!emu_memory_span_ok(dst, bytes) || !emu_memory_span_ok(src, bytes))
        return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    memmove(dst, src, bytes);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_amd_memory_fill(void *p, uint32_t value, size_t count) {
    EMU_CHECK_UP();
    if (!count) return HSA_STATUS_SUCCESS;
    if (!p || (uint64_t)p % 4 || count > SIZE_MAX / 4) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!emu_memory_span_ok(p, count * 4)) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    if (!value && emu_memory_zero(p, count * 4)) return HSA_STATUS_SUCCESS;
    uint32_t *words = p;
    for (size_t i = 0; i < count; i++)
        words[i] = value;
    return HSA_STATUS_SUCCESS;
}

static void *info_array(void *(*alloc)(size_t), size_t bytes) {
    return alloc ? alloc(bytes) : NULL;
}

hsa_status_t HSA_API hsa_amd_pointer_info(const void *p, hsa_amd_pointer_info_t *out,
                                          void *(*alloc)(size_t), uint32_t *num_agents,
                                          hsa_agent_t **agents) {
    EMU_CHECK_UP();
    if (!p || !out || out->size < offsetof(hsa_amd_pointer_info_t, sizeInBytes))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    hsa_amd_pointer_info_t info = {.size = out->size < sizeof info ? out->size : sizeof info};
    struct emu_memory_info m;
    bool known = emu_memory_lookup((uint64_t)p, &m);
    if (known) {
        bool pool = m.kind == EMU_MEM_DEVICE || m.kind == EMU_MEM_HOST;
        info.type =
            m.kind == EMU_MEM_LOCKED ? HSA_EXT_POINTER_TYPE_LOCKED : HSA_EXT_POINTER_TYPE_HSA;
        info.agentBaseAddress = info.hostBaseAddress = (void *)m.base;
        info.sizeInBytes = m.bytes;
        bool host = m.kind == EMU_MEM_HOST || m.kind == EMU_MEM_LOCKED;
        info.agentOwner = emu_agent_handle(host ? EMU_CPU_AGENT : EMU_GPU_AGENT);
        info.global_flags = pool ? emu_pools[m.tag].flags : 0;
    }
    memcpy(out, &info, info.size);
    if (!num_agents || !agents) return HSA_STATUS_SUCCESS;
    *num_agents = known ? 1u + m.visible : 0;
    *agents = known ? info_array(alloc, *num_agents * sizeof **agents) : NULL;
    if (known && !*agents) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    for (uint32_t i = 0; i < *num_agents; i++)
        (*agents)[i] = emu_agent_handle((enum emu_agent_id)i);
    return HSA_STATUS_SUCCESS;
}
