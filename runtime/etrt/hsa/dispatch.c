/* Code objects and dispatches. */
#include "runtime/etrt/hsa/device.h"

#include "runtime/etrt/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- code objects --------------------------------------------------------------------------- */

static etrt_status find_kernel(etrt_device *dev, const char *symbol, struct etrt_code *code) {
    const struct etrt_hsa *hsa = dev->hsa;
    char name[512];
    hsa_executable_symbol_t found;
    hsa_symbol_kind_t kind;
    int n = snprintf(name, sizeof name, "%s.kd", symbol);
    if (n < 0 || (size_t)n >= sizeof name)
        return etrt_fail(ETRT_FORMAT, "the kernel's name is too long");
    hsa_status_t hs =
        hsa->hsa_executable_get_symbol_by_name(code->executable, name, &dev->gpu, &found);
    if (hs == HSA_STATUS_SUCCESS)
        hs = hsa->hsa_executable_symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind);
    if (hs != HSA_STATUS_SUCCESS || kind != HSA_SYMBOL_KIND_KERNEL)
        return etrt_fail(ETRT_FORMAT, "the code object holds no kernel \"%s\"", symbol);
    const struct {
        hsa_executable_symbol_info_t what;
        void *where;
    } asked[] = {
        {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &code->kernel_object},
        {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &code->kernarg_bytes},
        {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &code->group_bytes},
        {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &code->private_bytes},
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        hs = hsa->hsa_executable_symbol_get_info(found, asked[i].what, asked[i].where);
        if (hs != HSA_STATUS_SUCCESS)
            return etrt_fail(ETRT_DEVICE, "kernel \"%s\": %s", symbol, etrt_hsa_text(hsa, hs));
    }
    return ETRT_OK;
}

etrt_status etrt_code_load(etrt_device *dev, const void *elf, size_t bytes, const char *symbol,
                           struct etrt_code *code) {
    const struct etrt_hsa *hsa = dev->hsa;
    memset(code, 0, sizeof *code);
    etrt_status st = ETRT_OK;
    hsa_status_t hs = hsa->hsa_code_object_reader_create_from_memory(elf, bytes, &code->reader);
    code->has_reader = hs == HSA_STATUS_SUCCESS;
    if (code->has_reader) {
        hs = hsa->hsa_executable_create_alt(
            HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &code->executable);
        code->has_executable = hs == HSA_STATUS_SUCCESS;
    }
    if (code->has_executable)
        hs = hsa->hsa_executable_load_agent_code_object(code->executable, dev->gpu, code->reader,
                                                        NULL, NULL);
    if (hs == HSA_STATUS_SUCCESS) hs = hsa->hsa_executable_freeze(code->executable, NULL);
    if (hs != HSA_STATUS_SUCCESS) {
        const char *detail = hsa->etemu_last_fault ? hsa->etemu_last_fault() : "";
        st = etrt_fail(ETRT_FORMAT, "%s does not take the code object: %s", dev->name,
                       *detail ? detail : etrt_hsa_text(hsa, hs));
    }
    if (st == ETRT_OK) st = find_kernel(dev, symbol, code);
    if (st != ETRT_OK) etrt_code_unload(dev, code);
    return st;
}

void etrt_code_unload(etrt_device *dev, struct etrt_code *code) {
    if (code->has_executable) dev->hsa->hsa_executable_destroy(code->executable);
    if (code->has_reader) dev->hsa->hsa_code_object_reader_destroy(code->reader);
    memset(code, 0, sizeof *code);
}

/* ---- dispatches ----------------------------------------------------------------------------- */

enum {
    /* The barrier bit lets one launch finish before the next starts: two kernels that each want
     * every CU would starve each other. */
    PACKET_HEADER = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                    1 << HSA_PACKET_HEADER_BARRIER |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE,
    PACKET_SETUP = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS,
};

static void write_packet(etrt_device *dev, uint64_t index, const struct etrt_dispatch *d,
                         hsa_signal_t signal) {
    hsa_kernel_dispatch_packet_t *slot =
        (hsa_kernel_dispatch_packet_t *)dev->queue->base_address + index % dev->queue->size;
    hsa_kernel_dispatch_packet_t packet = {
        .workgroup_size_x = (uint16_t)d->workgroup_size,
        .workgroup_size_y = 1,
        .workgroup_size_z = 1,
        .grid_size_x = d->workgroups * d->workgroup_size,
        .grid_size_y = 1,
        .grid_size_z = 1,
        .private_segment_size = d->private_bytes,
        .group_segment_size = d->group_bytes,
        .kernel_object = d->kernel_object,
        .kernarg_address = d->kernarg,
        .completion_signal = signal,
    };
    memcpy((char *)slot + 4, (char *)&packet + 4, sizeof packet - 4);
    /* The header makes the packet valid, so it goes last. */
    __atomic_store_n((uint32_t *)slot, (uint32_t)PACKET_HEADER | (uint32_t)PACKET_SETUP << 16,
                     __ATOMIC_RELEASE);
}

etrt_status etrt_dispatch_start(etrt_device *dev, const struct etrt_dispatch *d,
                                hsa_signal_t signal) {
    const struct etrt_hsa *hsa = dev->hsa;
    etrt_status st = etrt_device_check(dev);
    if (st != ETRT_OK) return st;
    pthread_mutex_lock(&dev->queue_lock);
    uint64_t index = hsa->hsa_queue_add_write_index_relaxed(dev->queue, 1);
    while (index - hsa->hsa_queue_load_read_index_scacquire(dev->queue) >= dev->queue->size &&
           !atomic_load(&dev->broken))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    write_packet(dev, index, d, signal);
    hsa->hsa_signal_store_screlease(dev->queue->doorbell_signal, (hsa_signal_value_t)index);
    pthread_mutex_unlock(&dev->queue_lock);
    atomic_fetch_add(&dev->launches, 1);
    return ETRT_OK;
}

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static etrt_status fault(etrt_device *dev) {
    const struct etrt_hsa *hsa = dev->hsa;
    uint32_t broken = atomic_load(&dev->broken);
    const char *text = hsa->etemu_last_fault ? hsa->etemu_last_fault() : "";
    int length = (int)strlen(text);
    while (length && text[length - 1] == '\n')
        length--;
    if (length) return etrt_fail(ETRT_FAULT, "%.*s", length, text);
    if (atomic_load(&dev->fault_address_known))
        return etrt_fail(ETRT_FAULT, "memory fault at device address 0x%llx",
                         (unsigned long long)atomic_load(&dev->fault_address));
    return etrt_fail(ETRT_FAULT, "the device's queue failed: %s",
                     etrt_hsa_text(hsa, (hsa_status_t)(broken - 1)));
}

etrt_status etrt_dispatch_wait(etrt_device *dev, hsa_signal_t signal, double silence) {
    const struct etrt_hsa *hsa = dev->hsa;
    uint64_t slice = dev->timestamp_hz / 20; /* look for faults 20 times a second */
    uint64_t seen = hsa->hsa_queue_load_read_index_scacquire(dev->queue);
    double since = now_seconds();
    for (;;) {
        hsa_signal_value_t v = hsa->hsa_signal_wait_scacquire(
            signal, HSA_SIGNAL_CONDITION_LT, 1, slice ? slice : 1, HSA_WAIT_STATE_BLOCKED);
        if (atomic_load(&dev->broken)) return fault(dev);
        if (v < 0) {
            atomic_store(&dev->broken, 1 + (uint32_t)HSA_STATUS_ERROR);
            return fault(dev);
        }
        if (v == 0) return ETRT_OK;
        uint64_t read = hsa->hsa_queue_load_read_index_scacquire(dev->queue);
        if (read != seen) {
            seen = read;
            since = now_seconds();
        } else if (now_seconds() - since > silence) {
            atomic_store(&dev->broken, 1 + (uint32_t)HSA_STATUS_ERROR);
            return etrt_fail(ETRT_DEVICE, "%s has not answered for %.0f seconds", dev->name,
                             silence);
        }
    }
}

etrt_status etrt_device_timing(etrt_device *dev, int on) {
    if (!dev) return etrt_fail(ETRT_INVALID, "etrt_device_timing: no device");
    const struct etrt_hsa *hsa = dev->hsa;
    if (!hsa->hsa_amd_profiling_set_profiler_enabled || !hsa->hsa_amd_profiling_get_dispatch_time)
        return etrt_fail(ETRT_UNSUPPORTED, "%s does not time dispatches", dev->name);
    hsa_status_t hs = hsa->hsa_amd_profiling_set_profiler_enabled(dev->queue, on != 0);
    if (hs != HSA_STATUS_SUCCESS)
        return etrt_fail(ETRT_DEVICE, "%s: %s", dev->name, etrt_hsa_text(hsa, hs));
    dev->timing = on != 0;
    return ETRT_OK;
}

etrt_status etrt_dispatch_seconds(const etrt_device *dev, hsa_signal_t signal, double *out) {
    hsa_amd_profiling_dispatch_time_t time = {0};
    hsa_status_t hs = dev->hsa->hsa_amd_profiling_get_dispatch_time(dev->gpu, signal, &time);
    *out = 0;
    if (hs != HSA_STATUS_SUCCESS)
        return etrt_fail(ETRT_DEVICE, "%s: %s", dev->name, etrt_hsa_text(dev->hsa, hs));
    *out = (double)(time.end - time.start) / (double)dev->timestamp_hz;
    return ETRT_OK;
}

double etrt_device_patience(const etrt_device *dev, double wait_limit) {
    const char *chosen = secure_getenv("ETRT_LAUNCH_TIMEOUT");
    double seconds = chosen ? strtod(chosen, NULL) : 0;
    if (seconds > 0) return seconds;
    /* A launch may be slow without ever waiting, above all when emulated. */
    return 60 + 10 * wait_limit + (dev->hsa->emulator ? 24 * 3600 : 0);
}
