#include "runtime/etrt/hsa/device.h"

#include "runtime/etrt/error.h"
#include "runtime/etrt_abi.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Attributes newer than the oldest hsa_ext_amd.h we build with. */
enum { AGENT_TIMESTAMP_FREQUENCY = 0xA016, AGENT_NUM_XCC = 0xA111 };
/* The realtime counter of every CDNA GPU, where the driver cannot tell. */
enum { DEFAULT_REALTIME_HZ = 100000000 };

/* ---- discovery ------------------------------------------------------------------------------ */

static hsa_status_t see_agent(hsa_agent_t agent, void *data) {
    etrt_device *dev = data;
    hsa_device_type_t type;
    if (dev->hsa->hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) != HSA_STATUS_SUCCESS)
        return HSA_STATUS_SUCCESS;
    if (type == HSA_DEVICE_TYPE_GPU && !dev->has_gpu) {
        dev->gpu = agent;
        dev->has_gpu = true;
    }
    if (type == HSA_DEVICE_TYPE_CPU && !dev->has_cpu) {
        dev->cpu = agent;
        dev->has_cpu = true;
    }
    return HSA_STATUS_SUCCESS;
}

static bool pool_usable(etrt_device *dev, hsa_amd_memory_pool_t pool, uint32_t *flags) {
    hsa_amd_segment_t segment;
    bool allowed = false;
    *flags = 0;
    return dev->hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT,
                                                  &segment) == HSA_STATUS_SUCCESS &&
           segment == HSA_AMD_SEGMENT_GLOBAL &&
           dev->hsa->hsa_amd_memory_pool_get_info(pool,
                                                  HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED,
                                                  &allowed) == HSA_STATUS_SUCCESS &&
           allowed &&
           dev->hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS,
                                                  flags) == HSA_STATUS_SUCCESS;
}

static hsa_status_t see_host_pool(hsa_amd_memory_pool_t pool, void *data) {
    etrt_device *dev = data;
    uint32_t flags;
    if (!pool_usable(dev, pool, &flags)) return HSA_STATUS_SUCCESS;
    if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) && !dev->has_kernarg_pool) {
        dev->kernarg_pool = pool;
        dev->has_kernarg_pool = true;
    }
    if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) && !dev->has_host_pool) {
        dev->host_pool = pool;
        dev->has_host_pool = true;
    }
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t see_device_pool(hsa_amd_memory_pool_t pool, void *data) {
    etrt_device *dev = data;
    hsa_amd_segment_t segment;
    size_t bytes;
    uint32_t flags;
    if (dev->hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment) ==
            HSA_STATUS_SUCCESS &&
        segment == HSA_AMD_SEGMENT_GROUP &&
        dev->hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &bytes) ==
            HSA_STATUS_SUCCESS)
        dev->lds_bytes = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    if (pool_usable(dev, pool, &flags) &&
        (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) && !dev->has_device_pool) {
        dev->device_pool = pool;
        dev->has_device_pool = true;
        if (dev->hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &bytes) ==
            HSA_STATUS_SUCCESS)
            dev->memory_bytes = bytes;
    }
    return HSA_STATUS_SUCCESS;
}

static etrt_status find_agents(etrt_device *dev) {
    const struct etrt_hsa *hsa = dev->hsa;
    hsa_status_t hs = hsa->hsa_iterate_agents(see_agent, dev);
    if (hs != HSA_STATUS_SUCCESS)
        return etrt_fail(ETRT_NO_DEVICE, "cannot list devices: %s", etrt_hsa_text(hsa, hs));
    if (!dev->has_gpu) return etrt_fail(ETRT_NO_DEVICE, "no AMD GPU answers");
    if (!dev->has_cpu) return etrt_fail(ETRT_NO_DEVICE, "the device runtime lists no host agent");
    hsa->hsa_amd_agent_iterate_memory_pools(dev->cpu, see_host_pool, dev);
    hsa->hsa_amd_agent_iterate_memory_pools(dev->gpu, see_device_pool, dev);
    if (!dev->has_device_pool || !dev->has_kernarg_pool || !dev->has_host_pool)
        return etrt_fail(ETRT_NO_DEVICE, "the device offers no %s memory",
                         !dev->has_device_pool    ? "device"
                         : !dev->has_kernarg_pool ? "kernel argument"
                                                  : "coherent host");
    return ETRT_OK;
}

static void ask(etrt_device *dev, int attribute, void *out) {
    dev->hsa->hsa_agent_get_info(dev->gpu, (hsa_agent_info_t)attribute, out);
}

static void describe(etrt_device *dev) {
    char agent[65] = "", product[65] = "";
    uint32_t cus = 0, dies = 0;
    ask(dev, HSA_AGENT_INFO_NAME, agent);
    ask(dev, HSA_AMD_AGENT_INFO_PRODUCT_NAME, product);
    ask(dev, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, &cus);
    ask(dev, AGENT_NUM_XCC, &dies);
    ask(dev, AGENT_TIMESTAMP_FREQUENCY, &dev->realtime_hz);
    dev->hsa->hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &dev->timestamp_hz);
    agent[64] = product[64] = 0;
    for (size_t n = strlen(product); n && isspace((unsigned char)product[n - 1]); n--)
        product[n - 1] = 0;
    memcpy(dev->isa, agent, strnlen(agent, sizeof dev->isa - 1));
    dev->cus = cus ? cus : 1;
    dev->dies = dies < 1 || dies > ETRT_MAX_DIES ? 1 : dies;
    if (!dev->realtime_hz) dev->realtime_hz = DEFAULT_REALTIME_HZ;
    if (!dev->timestamp_hz) dev->timestamp_hz = DEFAULT_REALTIME_HZ;
    if (!dev->lds_bytes) dev->lds_bytes = 65536;
    if (dev->hsa->emulator)
        snprintf(dev->name, sizeof dev->name, "emulated %s, %u CUs in %u %s", dev->isa, dev->cus,
                 dev->dies, dev->dies == 1 ? "die" : "dies");
    else
        snprintf(dev->name, sizeof dev->name, "%s (%s, %u CUs)", *product ? product : "AMD GPU",
                 dev->isa, dev->cus);
}

/* ---- faults --------------------------------------------------------------------------------- */

static void on_queue_error(hsa_status_t status, hsa_queue_t *queue, void *data) {
    etrt_device *dev = data;
    (void)queue;
    atomic_store(&dev->broken, 1 + (uint32_t)status);
}

/* The runtime keeps one handler per process, so it serves all open devices. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static etrt_device *open_devices;

/* The vendor's runtime kills the process on a memory fault unless somebody takes the event. */
static hsa_status_t on_system_event(const hsa_amd_event_t *event, void *data) {
    const struct etrt_hsa *hsa = data;
    hsa_status_t taken = HSA_STATUS_ERROR;
    if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT) return taken;
    pthread_mutex_lock(&open_lock);
    for (etrt_device *dev = open_devices; dev; dev = dev->next) {
        if (dev->hsa != hsa || event->memory_fault.agent.handle != dev->gpu.handle) continue;
        atomic_store(&dev->fault_address, event->memory_fault.virtual_address);
        atomic_store(&dev->fault_address_known, 1);
        atomic_store(&dev->broken, 1 + (uint32_t)HSA_STATUS_ERROR_EXCEPTION);
        taken = HSA_STATUS_SUCCESS;
    }
    pthread_mutex_unlock(&open_lock);
    return taken;
}

static void watch(etrt_device *dev) {
    pthread_mutex_lock(&open_lock);
    dev->next = open_devices;
    open_devices = dev;
    pthread_mutex_unlock(&open_lock);
    if (dev->hsa->hsa_amd_register_system_event_handler)
        dev->hsa->hsa_amd_register_system_event_handler(on_system_event, (void *)dev->hsa);
}

static void unwatch(etrt_device *dev) {
    pthread_mutex_lock(&open_lock);
    for (etrt_device **at = &open_devices; *at; at = &(*at)->next)
        if (*at == dev) {
            *at = dev->next;
            break;
        }
    pthread_mutex_unlock(&open_lock);
}

etrt_status etrt_device_check(const etrt_device *dev) {
    if (!atomic_load(&dev->broken)) return ETRT_OK;
    return etrt_fail(ETRT_FAULT, "the device stopped after a fault; close it and open it again");
}

/* ---- open and close ------------------------------------------------------------------------- */

static etrt_status make_queue(etrt_device *dev) {
    uint32_t size = 0;
    ask(dev, HSA_AGENT_INFO_QUEUE_MAX_SIZE, &size);
    if (size == 0 || size > 128) size = 128;
    hsa_status_t hs =
        dev->hsa->hsa_queue_create(dev->gpu, size, HSA_QUEUE_TYPE_MULTI, on_queue_error, dev,
                                   UINT32_MAX, UINT32_MAX, &dev->queue);
    if (hs != HSA_STATUS_SUCCESS)
        return etrt_fail(ETRT_DEVICE, "cannot create a queue on %s: %s", dev->name,
                         etrt_hsa_text(dev->hsa, hs));
    watch(dev);
    if (dev->hsa->etemu_get_stats) dev->hsa->etemu_get_stats(&dev->stats_base);
    return ETRT_OK;
}

static etrt_status open_kind(bool emulator, const char *emu_spec, etrt_device **out) {
    etrt_device *dev = calloc(1, sizeof *dev);
    if (!dev) return etrt_fail(ETRT_NO_MEMORY, "out of host memory");
    pthread_mutex_init(&dev->queue_lock, NULL);
    etrt_status st = etrt_hsa_open(emulator, emu_spec, &dev->hsa);
    if (st == ETRT_OK) st = find_agents(dev);
    if (st == ETRT_OK) {
        describe(dev);
        st = make_queue(dev);
    }
    if (st != ETRT_OK) {
        etrt_device_close(dev);
        return st;
    }
    *out = dev;
    return ETRT_OK;
}

etrt_status etrt_device_open(const char *spec, etrt_device **out_device) {
    if (!out_device) return etrt_fail(ETRT_INVALID, "etrt_device_open: no place for the device");
    *out_device = NULL;
    if (!spec) spec = "auto";
    if (strcmp(spec, "emu") == 0) return open_kind(true, NULL, out_device);
    if (strncmp(spec, "emu:", 4) == 0) return open_kind(true, spec + 4, out_device);
    if (strcmp(spec, "hsa") == 0) return open_kind(false, NULL, out_device);
    if (strcmp(spec, "auto") != 0)
        return etrt_fail(ETRT_INVALID, "unknown device \"%s\": auto, hsa, emu or emu:OPTIONS",
                         spec);
    if (open_kind(false, NULL, out_device) == ETRT_OK) return ETRT_OK;
    char why[512];
    snprintf(why, sizeof why, "%s", etrt_last_error());
    etrt_status st = open_kind(true, NULL, out_device);
    if (st != ETRT_OK) etrt_fail_more("; and no GPU: %s", why);
    return st;
}

void etrt_device_close(etrt_device *dev) {
    if (!dev) return;
    if (dev->queue) dev->hsa->hsa_queue_destroy(dev->queue);
    unwatch(dev);
    etrt_hsa_close(dev->hsa);
    pthread_mutex_destroy(&dev->queue_lock);
    free(dev);
}

const char *etrt_device_name(const etrt_device *dev) {
    return dev ? dev->name : "";
}
const char *etrt_device_isa(const etrt_device *dev) {
    return dev ? dev->isa : "";
}
int etrt_device_is_emulated(const etrt_device *dev) {
    return dev && dev->hsa->emulator;
}

void etrt_device_stats(const etrt_device *dev, etrt_stats *out) {
    if (!out) return;
    memset(out, 0, sizeof *out);
    if (!dev) return;
    out->launches = atomic_load(&dev->launches);
    if (!dev->hsa->etemu_get_stats) return;
    etemu_stats now;
    dev->hsa->etemu_get_stats(&now);
#define SINCE(field) (now.field - dev->stats_base.field)
    out->instructions = SINCE(instructions);
    out->valu = SINCE(valu);
    out->salu = SINCE(salu);
    out->vmem = SINCE(vmem);
    out->smem = SINCE(smem);
    out->lds = SINCE(lds);
    out->mfma = SINCE(mfma);
    out->branch = SINCE(branch);
    out->other = SINCE(other);
    out->bytes_read = SINCE(global_bytes_read);
    out->bytes_written = SINCE(global_bytes_written);
    out->atomics = SINCE(atomics);
    out->sleeps = SINCE(sleeps);
    out->barriers = SINCE(barriers);
    out->busy_seconds = (double)SINCE(busy_ns) * 1e-9;
#undef SINCE
}
