/* Device memory and copies. */
#include "runtime/etrt/hsa/device.h"

#include "runtime/etrt/error.h"

#include <stdlib.h>
#include <string.h>

etrt_status etrt_mem_alloc(etrt_device *dev, enum etrt_place place, uint64_t bytes,
                           const char *what, void **out) {
    const struct etrt_hsa *hsa = dev->hsa;
    hsa_amd_memory_pool_t pool = place == ETRT_ON_DEVICE ? dev->device_pool
                                 : place == ETRT_ON_HOST ? dev->host_pool
                                                         : dev->kernarg_pool;
    *out = NULL;
    /* An empty tensor still needs an address of its own. */
    hsa_status_t hs = hsa->hsa_amd_memory_pool_allocate(pool, bytes ? bytes : 4, 0, out);
    if (hs == HSA_STATUS_SUCCESS && place != ETRT_ON_DEVICE) {
        hs = hsa->hsa_amd_agents_allow_access(1, &dev->gpu, NULL, *out);
        if (hs != HSA_STATUS_SUCCESS) {
            hsa->hsa_amd_memory_pool_free(*out);
            *out = NULL;
        }
    }
    if (hs != HSA_STATUS_SUCCESS)
        return etrt_fail(ETRT_NO_MEMORY, "%s: cannot allocate %llu bytes on %s: %s", what,
                         (unsigned long long)bytes, dev->name, etrt_hsa_text(hsa, hs));
    return ETRT_OK;
}

void etrt_mem_free(etrt_device *dev, void *device) {
    if (device) dev->hsa->hsa_amd_memory_pool_free(device);
}

static etrt_status copy(etrt_device *dev, void *to, const void *from, uint64_t bytes,
                        const char *verb) {
    if (!bytes) return ETRT_OK;
    hsa_status_t hs = dev->hsa->hsa_memory_copy(to, from, bytes);
    if (hs == HSA_STATUS_SUCCESS) return ETRT_OK;
    return etrt_fail(ETRT_DEVICE, "cannot %s %llu bytes of memory of %s: %s", verb,
                     (unsigned long long)bytes, dev->name, etrt_hsa_text(dev->hsa, hs));
}

etrt_status etrt_mem_write(etrt_device *dev, void *device, const void *host, uint64_t bytes) {
    return copy(dev, device, host, bytes, "write");
}

etrt_status etrt_mem_read(etrt_device *dev, void *host, const void *device, uint64_t bytes) {
    return copy(dev, host, device, bytes, "read");
}

etrt_status etrt_mem_fill(etrt_device *dev, void *device, uint8_t byte, uint64_t bytes) {
    enum { CHUNK = 65536 };
    uint64_t words = dev->hsa->hsa_amd_memory_fill ? bytes / 4 : 0;
    if (words &&
        dev->hsa->hsa_amd_memory_fill(device, byte * 0x01010101u, words) != HSA_STATUS_SUCCESS)
        words = 0;
    if (words * 4 == bytes) return ETRT_OK;
    char *pattern = malloc(CHUNK);
    if (!pattern) return etrt_fail(ETRT_NO_MEMORY, "out of host memory");
    memset(pattern, byte, CHUNK);
    etrt_status st = ETRT_OK;
    for (uint64_t at = words * 4; at < bytes && st == ETRT_OK; at += CHUNK)
        st = etrt_mem_write(dev, (char *)device + at, pattern,
                            bytes - at < CHUNK ? bytes - at : CHUNK);
    free(pattern);
    return st;
}
