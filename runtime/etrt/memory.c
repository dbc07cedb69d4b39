/* Device memory of the caller's: allocated here or by the driver's own library, copied to and from,
 * and put in the place of a session's. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"

#include <string.h>

/* The device that can be asked now: "auto" and "emu" are none before they have become one. */
static etrt_status ready(etrt_device **device, const char *call) {
    if (!*device) return etrt_fail(ETRT_INVALID, "%s: no device", call);
    *device = etrt_device_itself(*device);
    etrt_status st = etrt_device_check(*device);
    if (st == ETRT_OK && !(*device)->cus)
        st = etrt_fail(ETRT_INVALID, "%s: %s is chosen when a model is loaded", call,
                       (*device)->name);
    return st;
}

etrt_status etrt_device_alloc(etrt_device *device, uint64_t bytes, void **out_memory) {
    if (!out_memory) return etrt_fail(ETRT_INVALID, "etrt_device_alloc: no place for the address");
    *out_memory = NULL;
    etrt_status st = ready(&device, "etrt_device_alloc");
    if (st != ETRT_OK) return st;
    return etrt_mem_alloc(device, ETRT_ON_DEVICE, bytes, "etrt_device_alloc", out_memory);
}

void etrt_device_free(etrt_device *device, void *memory) {
    if (device) etrt_mem_free(etrt_device_itself(device), memory);
}

etrt_status etrt_device_write(etrt_device *device, void *memory, const void *data, size_t bytes) {
    etrt_status st = ready(&device, "etrt_device_write");
    if (st == ETRT_OK && bytes && (!memory || !data))
        st = etrt_fail(ETRT_INVALID, "etrt_device_write: NULL argument");
    return st == ETRT_OK ? etrt_mem_write(device, memory, data, bytes) : st;
}

etrt_status etrt_device_read(etrt_device *device, void *out_data, const void *memory,
                             size_t bytes) {
    etrt_status st = ready(&device, "etrt_device_read");
    if (st == ETRT_OK && bytes && (!memory || !out_data))
        st = etrt_fail(ETRT_INVALID, "etrt_device_read: NULL argument");
    return st == ETRT_OK ? etrt_mem_read(device, out_data, memory, bytes) : st;
}

/* As aligned as what drivers allocate: kernels read many bytes at a time. */
enum { ALIGN = 256 };

etrt_status etrt_bind_device(etrt_session *s, const char *name, void *memory, uint64_t bytes) {
    static const char call[] = "etrt_bind_device";
    int i;
    etrt_status st = etrt_session_idle(s, call);
    if (st == ETRT_OK) st = etrt_session_tensor(s, name, &i);
    if (st != ETRT_OK) return st;
    const struct etrt_tensor *t = &s->model->manifest.tensors[i];
    if (t->kind == ETRT_WEIGHT) return etrt_fail(ETRT_INVALID, "%s: %s is a weight", call, name);
    if (memory && bytes < (uint64_t)t->max_bytes)
        return etrt_fail(ETRT_MISMATCH, "%s: %s may have %lld bytes, not %llu", call, name,
                         (long long)t->max_bytes, (unsigned long long)bytes);
    if ((uintptr_t)memory % ALIGN)
        return etrt_fail(ETRT_INVALID, "%s: %s: the address is no multiple of %d", call, name,
                         ALIGN);
    s->tensors[i] = memory ? memory : s->own[i];
    s->bound[i] = memory != NULL;
    s->bound_size[i] = ETRT_ANY_SIZE;
    s->written[i] = false;
    return ETRT_OK;
}
