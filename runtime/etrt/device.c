/* Devices as etrt.h offers them: which driver a specification means, and what all have in common.
 */
#include "runtime/etrt/base/error.h"
#include "runtime/etrt/driver/driver.h"
#include "runtime/etrt/inspect.h"

#include <stdio.h>
#include <string.h>

const struct etrt_driver *const etrt_drivers[] = {&etrt_hsa_driver, &etrt_cuda_driver,
                                                  &etrt_null_driver, NULL};

/* What "auto" tries, in this order. */
static const char *const automatic[] = {"hsa", "emu", NULL};

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
    etrt_fail_more(" or emu:OPTIONS");
    return ETRT_INVALID;
}

static etrt_status open_automatic(etrt_device **out) {
    char why[1024] = "";
    etrt_status st = ETRT_NO_DEVICE;
    for (const char *const *s = automatic; *s; s++) {
        st = driver_of(*s)->open(*s, out);
        if (st == ETRT_OK) return ETRT_OK;
        size_t used = strlen(why);
        snprintf(why + used, sizeof why - used, "%s%s", used ? "; and " : "", etrt_last_error());
    }
    return etrt_fail(st, "%s", why);
}

etrt_status etrt_device_open(const char *spec, etrt_device **out_device) {
    if (!out_device) return etrt_fail(ETRT_INVALID, "etrt_device_open: no place for the device");
    *out_device = NULL;
    if (!spec || strcmp(spec, "auto") == 0) return open_automatic(out_device);
    const struct etrt_driver *driver = driver_of(spec);
    return driver ? driver->open(spec, out_device) : unknown(spec);
}

void etrt_device_close(etrt_device *dev) {
    if (dev) dev->driver->close(dev);
}

const char *etrt_device_name(const etrt_device *dev) {
    return dev ? dev->name : "";
}
const char *etrt_device_isa(const etrt_device *dev) {
    return dev ? dev->isa : "";
}
int etrt_device_is_emulated(const etrt_device *dev) {
    return dev && dev->emulated;
}

uint32_t etrt_device_cus(const etrt_device *dev) {
    return dev->cus;
}
bool etrt_device_counted(const etrt_device *dev) {
    return dev->counted;
}

etrt_status etrt_device_timing(etrt_device *dev, int on) {
    if (!dev) return etrt_fail(ETRT_INVALID, "etrt_device_timing: no device");
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
    if (dev->driver->stats) dev->driver->stats(dev, out);
    out->launches = atomic_load(&dev->launches);
}
