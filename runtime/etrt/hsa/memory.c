/* Device memory and copies. */
#include "runtime/etrt/hsa/device.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt_abi.h"

etrt_status hsa_alloc(etrt_device *base, enum etrt_place place, uint64_t bytes, void **out) {
    struct hsa_device *dev = hsa_of(base);
    const struct etrt_hsa *hsa = dev->hsa;
    /* Writes of other devices are seen in fine-grained memory alone; an emulator has no other. */
    bool peers = place == ETRT_FROM_PEERS;
    if (peers && !dev->has_peer_pool && !base->emulated)
        return etrt_fail(ETRT_UNSUPPORTED,
                         "%s has no memory that other devices can write while it "
                         "reads",
                         base->name);
    hsa_amd_memory_pool_t pool = peers && dev->has_peer_pool        ? dev->peer_pool
                                 : peers || place == ETRT_ON_DEVICE ? dev->device_pool
                                 : place == ETRT_ON_HOST            ? dev->host_pool
                                                                    : dev->kernarg_pool;
    hsa_status_t hs = hsa->hsa_amd_memory_pool_allocate(pool, bytes, 0, out);
    if (hs == HSA_STATUS_SUCCESS && place != ETRT_ON_DEVICE && !peers) {
        hs = hsa->hsa_amd_agents_allow_access(1, &dev->gpu, NULL, *out);
        if (hs != HSA_STATUS_SUCCESS) {
            hsa->hsa_amd_memory_pool_free(*out);
            *out = NULL;
        }
    }
    return hs == HSA_STATUS_SUCCESS ? ETRT_OK
                                    : etrt_fail(ETRT_NO_MEMORY, "%s", etrt_hsa_text(hsa, hs));
}

etrt_status hsa_share(etrt_device *base, void *memory, etrt_device *const *all, int n) {
    const struct etrt_hsa *hsa = hsa_of(base)->hsa;
    hsa_agent_t gpu[ETRT_MAX_DEVICES];
    for (int i = 0; i < n; i++)
        gpu[i] = hsa_of(all[i])->gpu;
    hsa_status_t hs = hsa->hsa_amd_agents_allow_access((uint32_t)n, gpu, NULL, memory);
    return hs == HSA_STATUS_SUCCESS
               ? ETRT_OK
               : etrt_fail(ETRT_UNSUPPORTED, "others cannot reach memory of %s: %s", base->name,
                           etrt_hsa_text(hsa, hs));
}

void hsa_free(etrt_device *base, void *device) {
    hsa_of(base)->hsa->hsa_amd_memory_pool_free(device);
}

etrt_status hsa_copy(etrt_device *base, void *to, const void *from, uint64_t bytes,
                     enum etrt_direction direction) {
    const struct etrt_hsa *hsa = hsa_of(base)->hsa;
    (void)direction; /* the addresses tell */
    hsa_status_t hs = hsa->hsa_memory_copy(to, from, bytes);
    return hs == HSA_STATUS_SUCCESS ? ETRT_OK
                                    : etrt_fail(ETRT_DEVICE, "%s", etrt_hsa_text(hsa, hs));
}

bool hsa_fill(etrt_device *base, void *device, uint8_t byte, uint64_t bytes) {
    const struct etrt_hsa *hsa = hsa_of(base)->hsa;
    if (!hsa->hsa_amd_memory_fill || bytes % 4) return false;
    return !bytes ||
           hsa->hsa_amd_memory_fill(device, byte * 0x01010101u, bytes / 4) == HSA_STATUS_SUCCESS;
}

bool hsa_map_at(etrt_device *base, uint64_t address, uint64_t bytes) {
    const struct etrt_hsa *hsa = hsa_of(base)->hsa;
    return hsa->etemu_map_at && hsa->etemu_map_at(address, bytes) == 0;
}

void hsa_unmap_at(etrt_device *base, uint64_t address) {
    hsa_of(base)->hsa->etemu_unmap(address);
}
