#include "runtime/etrt/hsa/device.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt_abi.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Attributes newer than the oldest hsa_ext_amd.h we build with. */
enum { AGENT_TIMESTAMP_FREQUENCY = 0xA016, AGENT_NUM_XCC = 0xA111 };
/* The realtime counter of every CDNA GPU, where the driver cannot tell. */
enum { DEFAULT_REALTIME_HZ = 100000000 };

/* ---- discovery ---- */

static hsa_status_t see_agent(hsa_agent_t agent, void *data) {
    struct hsa_device *dev = data;
    hsa_device_type_t type;
    if (dev->hsa->hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) != HSA_STATUS_SUCCESS)
        return HSA_STATUS_SUCCESS;
    if (type == HSA_DEVICE_TYPE_GPU && dev->gpus++ == dev->number) {
        dev->gpu = agent;
        dev->has_gpu = true;
    }
    if (type == HSA_DEVICE_TYPE_CPU && !dev->has_cpu) {
        dev->cpu = agent;
        dev->has_cpu = true;
    }
    return HSA_STATUS_SUCCESS;
}

static bool pool_usable(struct hsa_device *dev, hsa_amd_memory_pool_t pool, uint32_t *flags) {
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
    struct hsa_device *dev = data;
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
    struct hsa_device *dev = data;
    hsa_amd_segment_t segment;
    size_t bytes;
    uint32_t flags;
    if (dev->hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment) ==
            HSA_STATUS_SUCCESS &&
        segment == HSA_AMD_SEGMENT_GROUP &&
        dev->hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &bytes) ==
            HSA_STATUS_SUCCESS)
        dev->base.lds_bytes = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    if (pool_usable(dev, pool, &flags) && (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) &&
        !dev->has_peer_pool) {
        dev->peer_pool = pool;
        dev->has_peer_pool = true;
    }
    if (pool_usable(dev, pool, &flags) &&
        (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) && !dev->has_device_pool) {
        dev->device_pool = pool;
        dev->has_device_pool = true;
        if (dev->hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &bytes) ==
            HSA_STATUS_SUCCESS)
            dev->base.memory_bytes = bytes;
    }
    return HSA_STATUS_SUCCESS;
}

static etrt_status find_agents(struct hsa_device *dev) {
    const struct etrt_hsa *hsa = dev->hsa;
    hsa_status_t hs = hsa->hsa_iterate_agents(see_agent, dev);
    if (hs != HSA_STATUS_SUCCESS)
        return etrt_fail(ETRT_NO_DEVICE, "cannot list devices: %s", etrt_hsa_text(hsa, hs));
    if (!dev->gpus) return etrt_fail(ETRT_NO_DEVICE, "no AMD GPU answers");
    if (!dev->has_gpu)
        return etrt_fail(ETRT_NO_DEVICE, "no AMD GPU of number %d: there %s %d", dev->number,
                         dev->gpus == 1 ? "is" : "are", dev->gpus);
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

static void ask(struct hsa_device *dev, int attribute, void *out) {
    dev->hsa->hsa_agent_get_info(dev->gpu, (hsa_agent_info_t)attribute, out);
}

static void describe(struct hsa_device *dev) {
    struct etrt_device *base = &dev->base;
    const struct etrt_hsa *hsa = dev->hsa;
    char agent[65] = "", product[65] = "";
    uint32_t cus = 0, dies = 0;
    ask(dev, HSA_AGENT_INFO_NAME, agent);
    ask(dev, HSA_AMD_AGENT_INFO_PRODUCT_NAME, product);
    ask(dev, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, &cus);
    ask(dev, AGENT_NUM_XCC, &dies);
    ask(dev, AGENT_TIMESTAMP_FREQUENCY, &base->realtime_hz);
    hsa->hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &dev->timestamp_hz);
    agent[64] = product[64] = 0;
    for (size_t n = strlen(product); n && isspace((unsigned char)product[n - 1]); n--)
        product[n - 1] = 0;
    memcpy(base->isa, agent, strnlen(agent, sizeof base->isa - 1));
    base->cus = cus ? cus : 1;
    base->dies = dies < 1 || dies > ETRT_MAX_DIES ? 1 : dies;
    base->counted = hsa->etemu_clock_counts && hsa->etemu_clock_counts();
    base->can = ETRT_CAN_COMPUTE | ETRT_CAN_LOCATE | ETRT_CAN_REOPEN;
    if (hsa->etemu_get_stats) base->can |= ETRT_CAN_COUNT;
    if (hsa->hsa_amd_profiling_set_profiler_enabled && hsa->hsa_amd_profiling_get_dispatch_time)
        base->can |= ETRT_CAN_TIME;
    if (!base->realtime_hz) base->realtime_hz = DEFAULT_REALTIME_HZ;
    if (!dev->timestamp_hz) dev->timestamp_hz = DEFAULT_REALTIME_HZ;
    if (!base->lds_bytes) base->lds_bytes = 65536;
    if (hsa->emulator)
        snprintf(base->name, sizeof base->name, "emulated %s, %u CUs in %u %s", base->isa,
                 base->cus, base->dies, base->dies == 1 ? "die" : "dies");
    else
        snprintf(base->name, sizeof base->name, "%s (%s, %u CUs)", *product ? product : "AMD GPU",
                 base->isa, base->cus);
}

/* ---- faults ---- */

static void break_down(struct hsa_device *dev, hsa_status_t status) {
    atomic_store(&dev->queue_status, (uint32_t)status);
    atomic_store(&dev->base.broken, true);
}

static void on_queue_error(hsa_status_t status, hsa_queue_t *queue, void *data) {
    (void)queue;
    break_down(data, status);
}

/* The runtime keeps one handler per process, so it serves all open devices. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hsa_device *open_devices;

/* The vendor's runtime kills the process on a memory fault unless somebody takes the event. */
static hsa_status_t on_system_event(const hsa_amd_event_t *event, void *data) {
    const struct etrt_hsa *hsa = data;
    hsa_status_t taken = HSA_STATUS_ERROR;
    if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT) return taken;
    pthread_mutex_lock(&open_lock);
    for (struct hsa_device *dev = open_devices; dev; dev = dev->next) {
        if (dev->hsa != hsa || event->memory_fault.agent.handle != dev->gpu.handle) continue;
        atomic_store(&dev->fault_address, event->memory_fault.virtual_address);
        atomic_store(&dev->fault_address_known, true);
        break_down(dev, HSA_STATUS_ERROR_EXCEPTION);
        taken = HSA_STATUS_SUCCESS;
    }
    pthread_mutex_unlock(&open_lock);
    return taken;
}

static void watch(struct hsa_device *dev) {
    pthread_mutex_lock(&open_lock);
    dev->next = open_devices;
    open_devices = dev;
    pthread_mutex_unlock(&open_lock);
    if (dev->hsa->hsa_amd_register_system_event_handler)
        dev->hsa->hsa_amd_register_system_event_handler(on_system_event, (void *)dev->hsa);
}

static void unwatch(struct hsa_device *dev) {
    pthread_mutex_lock(&open_lock);
    for (struct hsa_device **at = &open_devices; *at; at = &(*at)->next)
        if (*at == dev) {
            *at = dev->next;
            break;
        }
    pthread_mutex_unlock(&open_lock);
}

/* ---- open and close ---- */

static etrt_status make_queue(struct hsa_device *dev) {
    uint32_t size = 0;
    ask(dev, HSA_AGENT_INFO_QUEUE_MAX_SIZE, &size);
    if (size == 0 || size > 128) size = 128;
    hsa_status_t hs =
        dev->hsa->hsa_queue_create(dev->gpu, size, HSA_QUEUE_TYPE_MULTI, on_queue_error, dev,
                                   UINT32_MAX, UINT32_MAX, &dev->queue);
    if (hs != HSA_STATUS_SUCCESS)
        return etrt_fail(ETRT_DEVICE, "cannot create a queue on %s: %s", dev->base.name,
                         etrt_hsa_text(dev->hsa, hs));
    watch(dev);
    if (dev->hsa->etemu_get_stats) dev->hsa->etemu_get_stats(&dev->stats_base);
    return ETRT_OK;
}

static void stop(struct hsa_device *dev) {
    if (dev->queue) dev->hsa->hsa_queue_destroy(dev->queue);
    unwatch(dev);
    etrt_hsa_close(dev->hsa);
    dev->queue = NULL;
    dev->hsa = NULL;
}

/* Become a GPU that executes code; EMU_SPEC is of the emulator's, NULL for what it is by itself. */
static etrt_status start(struct hsa_device *dev, const char *emu_spec) {
    etrt_status st = etrt_hsa_open(dev->base.emulated, emu_spec, &dev->hsa);
    if (st == ETRT_OK) st = find_agents(dev);
    if (st == ETRT_OK) {
        describe(dev);
        st = make_queue(dev);
    }
    if (st == ETRT_OK && dev->base.timing) st = hsa_timing(&dev->base);
    if (st == ETRT_OK) return ETRT_OK;
    stop(dev);
    dev->base.isa[0] = 0;
    return st;
}

static const char *const specs[] = {"hsa", "emu", NULL};

static void close_device(etrt_device *base) {
    struct hsa_device *dev = hsa_of(base);
    stop(dev);
    pthread_mutex_destroy(&dev->lock);
    free(dev);
}

/* "emu" alone leaves it to the first code which GPU is emulated, unless that is settled already. */
static etrt_status open_device(const char *spec, etrt_device **out) {
    bool emulated = strncmp(spec, "emu", 3) == 0;
    const char *options = strchr(spec, ':');
    int number = 0;
    etrt_status st = emulated ? ETRT_OK : etrt_spec_number(spec, &number);
    if (st != ETRT_OK) return st;
    struct hsa_device *dev = calloc(1, sizeof *dev);
    if (!dev) return etrt_no_memory();
    pthread_mutex_init(&dev->lock, NULL);
    dev->base.driver = &etrt_hsa_driver;
    dev->base.emulated = emulated;
    dev->number = number;
    bool settled = true;
    if (emulated && !options) st = etrt_hsa_settled(&settled);
    if (st == ETRT_OK && settled) st = start(dev, emulated && options ? options + 1 : NULL);
    if (!settled)
        snprintf(dev->base.name, sizeof dev->base.name, "emulator of the first model's GPU");
    if (st != ETRT_OK) {
        close_device(&dev->base);
        return st;
    }
    *out = &dev->base;
    return ETRT_OK;
}

/* The GPUs, and then the emulator, where there is one. */
static etrt_status list(int index, etrt_device_info *out) {
    struct hsa_device dev = {.number = index};
    bool settled;
    etrt_status st = etrt_hsa_open(false, NULL, &dev.hsa);
    if (st == ETRT_OK) st = find_agents(&dev);
    if (st == ETRT_OK) {
        describe(&dev);
        snprintf(out->spec, sizeof out->spec, "hsa:%d", index);
        etrt_device_tell(&dev.base, out);
    }
    etrt_hsa_close(dev.hsa);
    if (st == ETRT_OK) return ETRT_OK;
    if (index != dev.gpus || etrt_hsa_settled(&settled) != ETRT_OK) return ETRT_RANGE;
    strcpy(out->spec, "emu");
    strcpy(out->name, "emulator of AMD GPUs");
    out->emulated = 1;
    return ETRT_OK;
}

static etrt_status accept(etrt_device *base, const char *target) {
    struct hsa_device *dev = hsa_of(base);
    pthread_mutex_lock(&dev->lock);
    bool settled = true;
    etrt_status st = dev->hsa ? ETRT_OK : etrt_hsa_settled(&settled);
    if (st == ETRT_OK && !dev->hsa) st = start(dev, settled ? NULL : target);
    pthread_mutex_unlock(&dev->lock);
    if (st == ETRT_OK && strcmp(target, base->isa) != 0) st = etrt_device_unmatched(base, target);
    return st;
}

static void stats(const etrt_device *base, etrt_stats *out) {
    const struct hsa_device *dev = hsa_of(base);
    if (!dev->hsa || !dev->hsa->etemu_get_stats) return;
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

/* The fields of the register HW_ID, by generation. On gfx11 a pair of CUs has one number. */
static struct etrt_unit unit(const char *target, uint32_t hw_id) {
    if (strncmp(target, "gfx9", 4) == 0)
        return (struct etrt_unit){(int)(hw_id >> 13 & 7), (int)(hw_id >> 12 & 1),
                                  (int)(hw_id >> 8 & 15)};
    if (strncmp(target, "gfx11", 5) == 0)
        return (struct etrt_unit){(int)(hw_id >> 18 & 7), (int)(hw_id >> 16 & 1),
                                  (int)(hw_id >> 10 & 15)};
    return (struct etrt_unit){-1, -1, -1};
}

const struct etrt_driver etrt_hsa_driver = {
    .specs = specs,
    .open = open_device,
    .close = close_device,
    .list = list,
    .accept = accept,
    .alloc = hsa_alloc,
    .free = hsa_free,
    .share = hsa_share,
    .copy = hsa_copy,
    .fill = hsa_fill,
    .map_at = hsa_map_at,
    .unmap_at = hsa_unmap_at,
    .load = hsa_load,
    .unload = hsa_unload,
    .find = hsa_find,
    .ticket_make = hsa_ticket_make,
    .ticket_free = hsa_ticket_free,
    .launch = hsa_launch,
    .wait = hsa_wait,
    .fault = hsa_fault,
    .seconds = hsa_seconds,
    .timing = hsa_timing,
    .stats = stats,
    .unit = unit,
};
