/* Code objects and launches. */
#include "runtime/etrt/hsa/device.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt/manifest/elf_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- code objects ---- */

struct loaded {
    hsa_code_object_reader_t reader;
    hsa_executable_t executable;
    bool has_reader, has_executable;
};

static etrt_status find_kernel(struct hsa_device *dev, const char *symbol, struct etrt_code *code) {
    const struct etrt_hsa *hsa = dev->hsa;
    const struct loaded *l = code->loaded;
    char name[512];
    hsa_executable_symbol_t found;
    hsa_symbol_kind_t kind;
    int n = snprintf(name, sizeof name, "%s.kd", symbol);
    if (n < 0 || (size_t)n >= sizeof name)
        return etrt_fail(ETRT_FORMAT, "the kernel's name is too long");
    hsa_status_t hs =
        hsa->hsa_executable_get_symbol_by_name(l->executable, name, &dev->gpu, &found);
    if (hs == HSA_STATUS_SUCCESS)
        hs = hsa->hsa_executable_symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind);
    if (hs != HSA_STATUS_SUCCESS || kind != HSA_SYMBOL_KIND_KERNEL)
        return etrt_fail(ETRT_FORMAT, "the code object holds no kernel \"%s\"", symbol);
    const struct {
        hsa_executable_symbol_info_t what;
        void *where;
    } asked[] = {
        {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &code->object},
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

etrt_status hsa_find(etrt_device *base, const struct etrt_code *code, const char *kernel,
                     struct etrt_code *out) {
    *out = *code;
    return find_kernel(hsa_of(base), kernel, out);
}

/* Where the loader put the code object follows from where it put the kernel's descriptor. */
static etrt_status find_extent(const void *image, size_t bytes, const char *symbol,
                               struct etrt_code *code) {
    uint64_t value = 0, lo = 0, hi = 0;
    char kd[512];
    snprintf(kd, sizeof kd, "%s.kd", symbol);
    etrt_status st = etrt_elf_symbol(image, bytes, kd, &value);
    if (st == ETRT_OK) st = etrt_elf_extent(image, bytes, &lo, &hi);
    code->load_lo = code->object - value + lo;
    code->load_hi = code->object - value + hi;
    return st;
}

etrt_status hsa_load(etrt_device *base, const void *image, size_t bytes, const char *kernel,
                     struct etrt_code *code) {
    struct hsa_device *dev = hsa_of(base);
    const struct etrt_hsa *hsa = dev->hsa;
    struct loaded *l = code->loaded = calloc(1, sizeof *l);
    if (!l) return etrt_no_memory();
    etrt_status st = ETRT_OK;
    hsa_status_t hs = hsa->hsa_code_object_reader_create_from_memory(image, bytes, &l->reader);
    l->has_reader = hs == HSA_STATUS_SUCCESS;
    if (l->has_reader) {
        hs = hsa->hsa_executable_create_alt(
            HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &l->executable);
        l->has_executable = hs == HSA_STATUS_SUCCESS;
    }
    if (l->has_executable)
        hs = hsa->hsa_executable_load_agent_code_object(l->executable, dev->gpu, l->reader, NULL,
                                                        NULL);
    if (hs == HSA_STATUS_SUCCESS) hs = hsa->hsa_executable_freeze(l->executable, NULL);
    if (hs != HSA_STATUS_SUCCESS) {
        const char *detail = hsa->etemu_last_fault ? hsa->etemu_last_fault() : "";
        st = etrt_fail(ETRT_FORMAT, "%s does not take the code object: %s", base->name,
                       *detail ? detail : etrt_hsa_text(hsa, hs));
    }
    if (st == ETRT_OK) st = find_kernel(dev, kernel, code);
    return st == ETRT_OK ? find_extent(image, bytes, kernel, code) : st;
}

void hsa_unload(etrt_device *base, struct etrt_code *code) {
    const struct etrt_hsa *hsa = hsa_of(base)->hsa;
    struct loaded *l = code->loaded;
    if (l->has_executable) hsa->hsa_executable_destroy(l->executable);
    if (l->has_reader) hsa->hsa_code_object_reader_destroy(l->reader);
    free(l);
}

/* ---- launches ---- */

enum {
    /* The barrier bit lets one launch finish before the next starts: two kernels that each want
     * every CU would starve each other. */
    PACKET_HEADER =
        HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER,
    PACKET_SETUP = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS,
};

struct etrt_ticket {
    hsa_signal_t signal; /* 1 while the launch runs, 0 after */
    hsa_signal_t first;  /* the same of its first kernel, where there are several */
    int kernels;
};

etrt_status hsa_ticket_make(etrt_device *base, struct etrt_ticket **out) {
    const struct etrt_hsa *hsa = hsa_of(base)->hsa;
    struct etrt_ticket *t = calloc(1, sizeof *t);
    if (!t) return etrt_no_memory();
    hsa_status_t hs = hsa->hsa_signal_create(1, 0, NULL, &t->signal), also = hs;
    if (hs == HSA_STATUS_SUCCESS) hs = hsa->hsa_signal_create(1, 0, NULL, &t->first);
    if (hs != HSA_STATUS_SUCCESS) {
        if (also == HSA_STATUS_SUCCESS) hsa->hsa_signal_destroy(t->signal);
        free(t);
        return etrt_fail(ETRT_DEVICE, "cannot create a signal: %s", etrt_hsa_text(hsa, hs));
    }
    *out = t;
    return ETRT_OK;
}

void hsa_ticket_free(etrt_device *base, struct etrt_ticket *t) {
    hsa_of(base)->hsa->hsa_signal_destroy(t->signal);
    hsa_of(base)->hsa->hsa_signal_destroy(t->first);
    free(t);
}

/* The host's writes are seen by the first kernel of a launch and the last one's by the host;
 * between them the device is enough. */
static uint32_t header(bool first, bool last) {
    uint32_t acquire = first ? HSA_FENCE_SCOPE_SYSTEM : HSA_FENCE_SCOPE_AGENT,
             release = last ? HSA_FENCE_SCOPE_SYSTEM : HSA_FENCE_SCOPE_AGENT;
    return (uint32_t)PACKET_HEADER | acquire << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
           release << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE | (uint32_t)PACKET_SETUP << 16;
}

static void write_packet(struct hsa_device *dev, uint64_t index, const struct etrt_dispatch *d,
                         uint32_t head, hsa_signal_t signal) {
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
        .kernel_object = d->code->object,
        .kernarg_address = d->kernarg,
        .completion_signal = signal,
    };
    memcpy((char *)slot + 4, (char *)&packet + 4, sizeof packet - 4);
    /* The header makes the packet valid, so it goes last. */
    __atomic_store_n((uint32_t *)slot, head, __ATOMIC_RELEASE);
}

etrt_status hsa_launch(etrt_device *base, const struct etrt_dispatch *d, int count,
                       struct etrt_ticket *t) {
    struct hsa_device *dev = hsa_of(base);
    const struct etrt_hsa *hsa = dev->hsa;
    t->kernels = count;
    if (hsa->etemu_expect_wait) hsa->etemu_expect_wait(d->wait_limit);
    hsa->hsa_signal_store_relaxed(t->signal, 1);
    hsa->hsa_signal_store_relaxed(t->first, 1);
    pthread_mutex_lock(&dev->lock);
    for (int i = 0; i < count; i++) {
        bool first = i == 0, last = i + 1 == count;
        uint64_t index = hsa->hsa_queue_add_write_index_relaxed(dev->queue, 1);
        while (index - hsa->hsa_queue_load_read_index_scacquire(dev->queue) >= dev->queue->size &&
               !atomic_load(&base->broken))
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        hsa_signal_t none = {0}, signal = last ? t->signal : first ? t->first : none;
        write_packet(dev, index, &d[i], header(first, last), signal);
        hsa->hsa_signal_store_screlease(dev->queue->doorbell_signal, (hsa_signal_value_t)index);
    }
    pthread_mutex_unlock(&dev->lock);
    return ETRT_OK;
}

bool hsa_wait(etrt_device *base, struct etrt_ticket *t, double seconds, uint64_t *out_ended) {
    struct hsa_device *dev = hsa_of(base);
    const struct etrt_hsa *hsa = dev->hsa;
    uint64_t slice = (uint64_t)(seconds * (double)dev->timestamp_hz);
    hsa_signal_value_t v = hsa->hsa_signal_wait_scacquire(
        t->signal, HSA_SIGNAL_CONDITION_LT, 1, slice ? slice : 1, HSA_WAIT_STATE_BLOCKED);
    if (v < 0) {
        atomic_store(&dev->queue_status, (uint32_t)HSA_STATUS_ERROR);
        atomic_store(&base->broken, true);
    }
    *out_ended = hsa->hsa_queue_load_read_index_scacquire(dev->queue);
    return v <= 0;
}

void hsa_fault(etrt_device *base) {
    struct hsa_device *dev = hsa_of(base);
    const struct etrt_hsa *hsa = dev->hsa;
    const char *text = hsa->etemu_last_fault ? hsa->etemu_last_fault() : "";
    int length = (int)strlen(text);
    while (length && text[length - 1] == '\n')
        length--;
    if (length)
        etrt_fail(ETRT_FAULT, "%.*s", length, text);
    else if (atomic_load(&dev->fault_address_known))
        etrt_fail(ETRT_FAULT, "memory fault at device address 0x%llx",
                  (unsigned long long)atomic_load(&dev->fault_address));
    else
        etrt_fail(ETRT_FAULT, "the device's queue failed: %s",
                  etrt_hsa_text(hsa, (hsa_status_t)atomic_load(&dev->queue_status)));
}

/* An emulator that is no GPU yet follows when it becomes one. */
etrt_status hsa_timing(etrt_device *base) {
    struct hsa_device *dev = hsa_of(base);
    const struct etrt_hsa *hsa = dev->hsa;
    if (!hsa) return ETRT_OK;
    if (!(base->can & ETRT_CAN_TIME))
        return etrt_fail(ETRT_UNSUPPORTED, "%s does not time dispatches", base->name);
    hsa_status_t hs = hsa->hsa_amd_profiling_set_profiler_enabled(dev->queue, base->timing);
    return hs == HSA_STATUS_SUCCESS
               ? ETRT_OK
               : etrt_fail(ETRT_DEVICE, "%s: %s", base->name, etrt_hsa_text(hsa, hs));
}

etrt_status hsa_seconds(etrt_device *base, const struct etrt_ticket *t, double *out) {
    struct hsa_device *dev = hsa_of(base);
    hsa_amd_profiling_dispatch_time_t time = {0};
    hsa_status_t hs = dev->hsa->hsa_amd_profiling_get_dispatch_time(dev->gpu, t->signal, &time);
    *out = 0;
    uint64_t end = time.end;
    if (hs == HSA_STATUS_SUCCESS && t->kernels > 1)
        hs = dev->hsa->hsa_amd_profiling_get_dispatch_time(dev->gpu, t->first, &time);
    if (hs != HSA_STATUS_SUCCESS)
        return etrt_fail(ETRT_DEVICE, "%s: %s", base->name, etrt_hsa_text(dev->hsa, hs));
    *out = (double)(end - time.start) / (double)dev->timestamp_hz;
    return ETRT_OK;
}
