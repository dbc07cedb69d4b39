/* Devices as etrt.h offers them: which driver a specification means, and what all have in common.
 */
#include "runtime/etrt/base/error.h"
#include "runtime/etrt/driver/driver.h"
#include "runtime/etrt/inspect.h"

#include <string.h>

const struct etrt_driver *const etrt_drivers[] = {&etrt_hsa_driver, &etrt_cuda_driver,
                                                  &etrt_null_driver, NULL};

/* The driver of a specification: all of it, or what comes before its first colon. */
static const struct etrt_driver *driver_of(const char *spec) {
    size_t n = strcspn(spec, ":");
    for (int i = 0; etrt_drivers[i]; i++)
        for (const char *const *s = etrt_drivers[i]->specs; *s; s++)
            if (strlen(*s) == n && memcmp(*s, spec, n) == 0) return etrt_drivers[i];
    return NULL;
}

static etrt_status unknown(const char *spec) {
    etrt_fail(ETRT_INVALID, "unknown device \"%s\": write auto", spec);
    for (int i = 0; etrt_drivers[i]; i++)
        for (const char *const *s = etrt_drivers[i]->specs; *s; s++)
            etrt_fail_more(", %s", *s);
    etrt_fail_more(", hsa:N, cuda:N or emu:OPTIONS");
    return ETRT_INVALID;
}

etrt_status etrt_device_open(const char *spec, etrt_device **out_device) {
    if (!out_device) return etrt_fail(ETRT_INVALID, "etrt_device_open: no place for the device");
    *out_device = NULL;
    if (!spec || strcmp(spec, "auto") == 0) return etrt_auto_driver.open("auto", out_device);
    const struct etrt_driver *driver = driver_of(spec);
    return driver ? driver->open(spec, out_device) : unknown(spec);
}

void etrt_device_close(etrt_device *dev) {
    if (dev) dev->driver->close(dev);
}

etrt_status etrt_device_at(int index, etrt_device_info *out) {
    if (!out) return etrt_fail(ETRT_INVALID, "etrt_device_at: no place for what it is");
    memset(out, 0, sizeof *out);
    int left = index;
    for (int i = 0; left >= 0 && etrt_drivers[i]; i++) {
        etrt_status st = etrt_drivers[i]->list ? ETRT_OK : ETRT_RANGE;
        for (int k = 0; st == ETRT_OK; k++) {
            st = etrt_drivers[i]->list(k, out);
            if (st != ETRT_RANGE && left-- == 0) return st;
            memset(out, 0, sizeof *out);
        }
    }
    return etrt_fail(ETRT_RANGE, "there is no device of number %d", index);
}

int etrt_device_count(void) {
    etrt_device_info info;
    int count = 0;
    while (etrt_device_at(count, &info) == ETRT_OK)
        count++;
    return count;
}

const char *etrt_device_name(const etrt_device *dev) {
    return dev ? etrt_device_itself(dev)->name : "";
}
const char *etrt_device_isa(const etrt_device *dev) {
    return dev ? etrt_device_itself(dev)->isa : "";
}
int etrt_device_is_emulated(const etrt_device *dev) {
    return dev && etrt_device_itself(dev)->emulated;
}

uint32_t etrt_device_cus(const etrt_device *dev) {
    return etrt_device_itself(dev)->cus;
}
bool etrt_device_counted(const etrt_device *dev) {
    return etrt_device_itself(dev)->counted;
}

etrt_status etrt_device_timing(etrt_device *dev, int on) {
    if (!dev) return etrt_fail(ETRT_INVALID, "etrt_device_timing: no device");
    dev = etrt_device_itself(dev);
    if (!dev->driver->timing)
        return etrt_fail(ETRT_UNSUPPORTED, "%s does not time launches", dev->name);
    bool before = dev->timing;
    dev->timing = on != 0;
    etrt_status st = dev->driver->timing(dev);
    if (st != ETRT_OK) dev->timing = before;
    return st;
}

void etrt_device_stats(const etrt_device *dev, etrt_stats *out) {
    if (!out) return;
    memset(out, 0, sizeof *out);
    if (!dev) return;
    dev = etrt_device_itself(dev);
    if (dev->driver->stats) dev->driver->stats(dev, out);
    out->launches = atomic_load(&dev->launches);
}
