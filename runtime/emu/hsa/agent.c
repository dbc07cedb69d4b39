/* agent.c - the two agents, the instruction set, and what they say about themselves. */
#include "runtime/emu/hsa/host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct emu_agent emu_agents[EMU_AGENTS] = {{EMU_CPU_AGENT}, {EMU_GPU_AGENT}};

/* The one instruction set; its handle is this object's address. */
static const char isa_tag;

const struct emu_agent *emu_agent_from(hsa_agent_t h) {
    for (size_t i = 0; i < EMU_AGENTS; i++)
        if (h.handle == (uint64_t)&emu_agents[i]) return &emu_agents[i];
    return NULL;
}

static hsa_isa_t isa_handle(void) {
    return (hsa_isa_t){(uint64_t)&isa_tag};
}

hsa_status_t HSA_API hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void *), void *data) {
    EMU_CHECK_UP();
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < EMU_AGENTS; i++) {
        hsa_status_t status = callback(emu_agent_handle((enum emu_agent_id)i), data);
        if (status) return status;
    }
    return HSA_STATUS_SUCCESS;
}

#define PUT(type, v) (*(type *)out = (type)(v), HSA_STATUS_SUCCESS)

static hsa_status_t put_name(void *out, const char *name) {
    memset(out, 0, 64);
    snprintf(out, 64, "%s", name);
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t put_dim3(void *out, uint32_t each) {
    hsa_dim3_t d = {each, each, each};
    memcpy(out, &d, sizeof d);
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t put_workgroup_dims(void *out) {
    uint16_t dims[3] = {1024, 1024, 1024};
    memcpy(out, dims, sizeof dims);
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t put_caches(void *out, bool gpu) {
    const struct emu_arch *a = emu_device()->arch;
    uint32_t sizes[4] = {gpu ? a->l1_bytes : 0, gpu ? a->l2_bytes : 0, 0, 0};
    memcpy(out, sizes, sizeof sizes);
    return HSA_STATUS_SUCCESS;
}

static uint32_t host_cores(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

/* What every agent answers in its way. */
static hsa_status_t common_info(bool gpu, int what, void *out) {
    const struct emu_arch *a = emu_device()->arch;
    switch (what) {
    case HSA_AGENT_INFO_NAME:
        return put_name(out, gpu ? a->name : "host CPU");
    case HSA_AGENT_INFO_VENDOR_NAME:
        return put_name(out, gpu ? "AMD" : "CPU");
    case HSA_AGENT_INFO_FEATURE:
        return PUT(hsa_agent_feature_t, gpu ? HSA_AGENT_FEATURE_KERNEL_DISPATCH : 0);
    case HSA_AGENT_INFO_MACHINE_MODEL:
        return PUT(hsa_machine_model_t, HSA_MACHINE_MODEL_LARGE);
    case HSA_AGENT_INFO_PROFILE:
        return PUT(hsa_profile_t, gpu ? HSA_PROFILE_BASE : HSA_PROFILE_FULL);
    case HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE:
        return PUT(hsa_default_float_rounding_mode_t, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR);
    case HSA_AGENT_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES:
        return PUT(uint32_t, 1u << HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR);
    case HSA_AGENT_INFO_NODE:
        return PUT(uint32_t, gpu);
    case HSA_AGENT_INFO_DEVICE:
        return PUT(hsa_device_type_t, gpu ? HSA_DEVICE_TYPE_GPU : HSA_DEVICE_TYPE_CPU);
    case HSA_AGENT_INFO_CACHE_SIZE:
        return put_caches(out, gpu);
    case HSA_AGENT_INFO_ISA:
        return PUT(hsa_isa_t, gpu ? isa_handle() : (hsa_isa_t){0});
    case HSA_AGENT_INFO_EXTENSIONS:
        memset(out, 0, 128);
        return HSA_STATUS_SUCCESS;
    case HSA_AGENT_INFO_VERSION_MAJOR:
        return PUT(uint16_t, 1);
    case HSA_AGENT_INFO_VERSION_MINOR:
        return PUT(uint16_t, 1);
    case HSA_AGENT_INFO_QUEUES_MAX:
        return PUT(uint32_t, gpu ? 128 : 0);
    case HSA_AGENT_INFO_QUEUE_MIN_SIZE:
        return PUT(uint32_t, gpu ? 64 : 0);
    case HSA_AGENT_INFO_QUEUE_MAX_SIZE:
        return PUT(uint32_t, gpu ? 131072 : 0);
    case HSA_AGENT_INFO_QUEUE_TYPE:
        return PUT(hsa_queue_type32_t, HSA_QUEUE_TYPE_MULTI);
    case HSA_AMD_AGENT_INFO_CACHELINE_SIZE:
        return PUT(uint32_t, gpu ? a->cache_line : 64);
    case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT:
        return PUT(uint32_t, gpu ? emu_device()->cus : host_cores());
    case HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY:
        return PUT(uint32_t, gpu ? a->clock_mhz : 0);
    case HSA_AMD_AGENT_INFO_DRIVER_NODE_ID:
        return PUT(uint32_t, gpu);
    case HSA_AMD_AGENT_INFO_PRODUCT_NAME:
        return put_name(out, gpu ? a->product : "host CPU");
    case HSA_AMD_AGENT_INFO_UUID:
        snprintf(out, 21, "%s-XX", gpu ? "GPU" : "CPU");
        return HSA_STATUS_SUCCESS;
    case EMU_AGENT_INFO_NEAREST_CPU:
        return PUT(hsa_agent_t, emu_agent_handle(EMU_CPU_AGENT));
    case EMU_AGENT_INFO_TIMESTAMP_FREQUENCY:
        return PUT(uint64_t, 100000000);
    case HSA_AMD_AGENT_INFO_BDFID:
    case HSA_AMD_AGENT_INFO_DOMAIN:
    case HSA_AMD_AGENT_INFO_MEMORY_WIDTH:
    case HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY:
    case HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS:
    case HSA_AMD_AGENT_INFO_ASIC_REVISION:
        return PUT(uint32_t, 0);
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

static hsa_status_t gpu_info(int what, void *out) {
    const struct emu_config *c = emu_device();
    const struct emu_arch *a = c->arch;
    switch (what) {
    case HSA_AGENT_INFO_FAST_F16_OPERATION:
        return PUT(bool, true);
    case HSA_AGENT_INFO_WAVEFRONT_SIZE:
        return PUT(uint32_t, a->wave_lanes);
    case HSA_AGENT_INFO_WORKGROUP_MAX_DIM:
        return put_workgroup_dims(out);
    case HSA_AGENT_INFO_WORKGROUP_MAX_SIZE:
        return PUT(uint32_t, 1024);
    case HSA_AGENT_INFO_GRID_MAX_DIM:
        return put_dim3(out, UINT32_MAX);
    case HSA_AGENT_INFO_GRID_MAX_SIZE:
        return PUT(uint32_t, UINT32_MAX);
    case HSA_AGENT_INFO_FBARRIER_MAX_SIZE:
        return PUT(uint32_t, 32);
    case HSA_AMD_AGENT_INFO_CHIP_ID:
        return PUT(uint32_t, a->chip_id);
    case HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU:
        return PUT(uint32_t, a->waves_per_simd * a->simds_per_cu);
    case HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU:
        return PUT(uint32_t, a->simds_per_cu);
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES:
        return PUT(uint32_t, c->xcds * emu_config_engines(emu_config_die_cus(c, 0)));
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE:
        return PUT(uint32_t, 1);
    case HSA_AMD_AGENT_INFO_HDP_FLUSH:
        memset(out, 0, sizeof(hsa_amd_hdp_flush_t));
        return HSA_STATUS_SUCCESS;
    case HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES:
        return PUT(bool, true);
    case HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS:
        return PUT(bool, false);
    case HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT:
        return PUT(uint32_t, c->cus);
    case EMU_AGENT_INFO_MEMORY_AVAIL: {
        long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
        return PUT(uint64_t, pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0);
    }
    case EMU_AGENT_INFO_NUM_XCC:
        return PUT(uint32_t, c->xcds);
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

/* A CPU agent takes no dispatches: sizes of them are 0. */
static hsa_status_t cpu_info(int what, void *out) {
    switch (what) {
    case HSA_AGENT_INFO_WAVEFRONT_SIZE:
    case HSA_AGENT_INFO_WORKGROUP_MAX_SIZE:
    case HSA_AGENT_INFO_GRID_MAX_SIZE:
    case HSA_AGENT_INFO_FBARRIER_MAX_SIZE:
    case HSA_AMD_AGENT_INFO_CHIP_ID:
    case HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU:
    case HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU:
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES:
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE:
    case HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT:
    case EMU_AGENT_INFO_NUM_XCC:
        return PUT(uint32_t, 0);
    case HSA_AGENT_INFO_FAST_F16_OPERATION:
    case HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES:
    case HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS:
        return PUT(bool, false);
    case HSA_AGENT_INFO_WORKGROUP_MAX_DIM:
        memset(out, 0, 3 * sizeof(uint16_t));
        return HSA_STATUS_SUCCESS;
    case HSA_AGENT_INFO_GRID_MAX_DIM:
        return put_dim3(out, 0);
    case HSA_AMD_AGENT_INFO_HDP_FLUSH:
        memset(out, 0, sizeof(hsa_amd_hdp_flush_t));
        return HSA_STATUS_SUCCESS;
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_status_t HSA_API hsa_agent_get_info(hsa_agent_t handle, hsa_agent_info_t what, void *out) {
    EMU_CHECK_UP();
    const struct emu_agent *agent = emu_agent_from(handle);
    if (!agent) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    bool gpu = agent->id == EMU_GPU_AGENT;
    if (common_info(gpu, (int)what, out) == HSA_STATUS_SUCCESS) return HSA_STATUS_SUCCESS;
    if (gpu) return gpu_info((int)what, out);
    return cpu_info((int)what, out);
}

hsa_status_t HSA_API hsa_agent_extension_supported(uint16_t extension, hsa_agent_t agent,
                                                   uint16_t major, uint16_t minor, bool *out) {
    (void)extension, (void)major, (void)minor;
    EMU_CHECK_UP();
    if (!emu_agent_from(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *out = false;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_agent_iterate_isas(hsa_agent_t handle,
                                            hsa_status_t (*callback)(hsa_isa_t, void *),
                                            void *data) {
    EMU_CHECK_UP();
    const struct emu_agent *agent = emu_agent_from(handle);
    if (!agent) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (agent->id != EMU_GPU_AGENT) return HSA_STATUS_ERROR_INVALID_AGENT;
    return callback(isa_handle(), data);
}

hsa_status_t HSA_API hsa_isa_from_name(const char *name, hsa_isa_t *out) {
    EMU_CHECK_UP();
    if (!name || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    /* With or without the features that follow a colon. */
    const char *full = emu_device()->arch->isa_name;
    size_t base = strcspn(full, ":");
    bool same = !strcmp(name, full) || (strlen(name) == base && !strncmp(name, full, base));
    if (!same) return HSA_STATUS_ERROR_INVALID_ISA_NAME;
    *out = isa_handle();
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_isa_get_info_alt(hsa_isa_t isa, hsa_isa_info_t what, void *out) {
    EMU_CHECK_UP();
    if (isa.handle != isa_handle().handle) return HSA_STATUS_ERROR_INVALID_ISA;
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const struct emu_arch *a = emu_device()->arch;
    switch ((int)what) {
    case HSA_ISA_INFO_NAME_LENGTH:
        return PUT(uint32_t, strlen(a->isa_name) + 1);
    case HSA_ISA_INFO_NAME:
        strcpy(out, a->isa_name);
        return HSA_STATUS_SUCCESS;
    case HSA_ISA_INFO_CALL_CONVENTION_COUNT:
        return PUT(uint32_t, 1);
    case HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONT_SIZE:
        return PUT(uint32_t, a->wave_lanes);
    case HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT:
        return PUT(uint32_t, a->waves_per_simd * a->simds_per_cu);
    case HSA_ISA_INFO_MACHINE_MODELS:
        memcpy(out, (bool[2]){false, true}, 2);
        break;
    case HSA_ISA_INFO_PROFILES:
        memcpy(out, (bool[2]){true, false}, 2);
        break;
    case HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES:
    case HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES:
        memcpy(out, (bool[3]){false, false, true}, 3);
        break;
    case HSA_ISA_INFO_FAST_F16_OPERATION:
        return PUT(bool, true);
    case HSA_ISA_INFO_WORKGROUP_MAX_DIM:
        return put_workgroup_dims(out);
    case HSA_ISA_INFO_WORKGROUP_MAX_SIZE:
        return PUT(uint32_t, 1024);
    case HSA_ISA_INFO_GRID_MAX_DIM:
        return put_dim3(out, UINT32_MAX);
    case HSA_ISA_INFO_GRID_MAX_SIZE:
        return PUT(uint64_t, UINT64_MAX);
    case HSA_ISA_INFO_FBARRIER_MAX_SIZE:
        return PUT(uint32_t, 32);
    default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_isa_get_info(hsa_isa_t isa, hsa_isa_info_t what, uint32_t index,
                                      void *out) {
    if (index) return HSA_STATUS_ERROR_INVALID_INDEX;
    return hsa_isa_get_info_alt(isa, what, out);
}

hsa_status_t HSA_API hsa_isa_compatible(hsa_isa_t code, hsa_isa_t agent, bool *out) {
    EMU_CHECK_UP();
    uint64_t ours = isa_handle().handle;
    if (code.handle != ours || agent.handle != ours) return HSA_STATUS_ERROR_INVALID_ISA;
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *out = true;
    return HSA_STATUS_SUCCESS;
}
