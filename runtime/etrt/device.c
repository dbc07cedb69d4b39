/* Devices as etrt.h offers them: which driver a specification means, and what all have in common.
 */
#include "runtime/etrt/base/error.h"
#include "runtime/etrt/driver/driver.h"
#include "runtime/etrt/group/group.h"
#include "runtime/etrt/inspect.h"

#include <string.h>
#include <unistd.h>

/* NULL at the end. */
static const struct etrt_driver *const drivers[] = {&etrt_hsa_driver, &etrt_cuda_driver,
                                                    &etrt_null_driver, NULL};

/* The driver of a specification: all of it, or what comes before its first colon. */
static const struct etrt_driver *driver_of(const char *spec) {
    size_t n = strcspn(spec, ":");
    for (int i = 0; drivers[i]; i++)
        for (const char *const *s = drivers[i]->specs; *s; s++)
            if (strlen(*s) == n && memcmp(*s, spec, n) == 0) return drivers[i];
    return NULL;
}

static etrt_status unknown(const char *spec) {
    etrt_fail(ETRT_INVALID, "unknown device \"%s\": write auto", spec);
    for (int i = 0; drivers[i]; i++)
        for (const char *const *s = drivers[i]->specs; *s; s++)
            etrt_fail_more(", %s", *s);
    etrt_fail_more(", hsa:N, cuda:N or emu:OPTIONS; cuda:0,1 for several");
    return ETRT_INVALID;
}

/* How many devices are open and which process opened them: its number above, theirs below. Read
 * before any lock is taken, which a parent's thread may have held at the fork. */
static _Atomic uint64_t opened;

static bool enter(void) {
    uint64_t me = (uint64_t)(uint32_t)getpid() << 32, was = atomic_load(&opened);
    do {
        if ((uint32_t)was && was >> 32 << 32 != me) return false;
    } while (!atomic_compare_exchange_weak(&opened, &was, me | ((uint32_t)was + 1)));
    return true;
}

static void leave(void) {
    atomic_fetch_sub(&opened, 1);
}

static etrt_status forked(void) {
    return etrt_fail(ETRT_FORKED, "process %ld had a device open when this one was forked",
                     (long)(atomic_load(&opened) >> 32));
}

static etrt_status open_any(const char *spec, etrt_device **out) {
    if (!spec || strcmp(spec, "auto") == 0) return etrt_auto_driver.open("auto", out);
    if (etrt_is_group(spec)) return etrt_group_driver.open(spec, out);
    const struct etrt_driver *driver = driver_of(spec);
    return driver ? driver->open(spec, out) : unknown(spec);
}

etrt_status etrt_device_open(const char *spec, etrt_device **out_device) {
    if (!out_device) return etrt_fail(ETRT_INVALID, "etrt_device_open: no place for the device");
    *out_device = NULL;
    if (!enter()) return forked();
    etrt_status st = open_any(spec, out_device);
    if (st == ETRT_OK)
        (*out_device)->owner = getpid();
    else
        leave();
    return st;
}

void etrt_device_close(etrt_device *dev) {
    if (!dev || !etrt_device_owned(dev)) return;
    dev->driver->close(dev);
    leave();
}

static etrt_status find_device(int index, etrt_device_info *out) {
    int left = index;
    for (int i = 0; left >= 0 && drivers[i]; i++) {
        etrt_status st = drivers[i]->list ? ETRT_OK : ETRT_RANGE;
        for (int k = 0; st == ETRT_OK; k++) {
            st = drivers[i]->list(k, out);
            if (st != ETRT_RANGE && left-- == 0) return st;
            memset(out, 0, sizeof *out);
        }
    }
    return etrt_fail(ETRT_RANGE, "there is no device of number %d", index);
}

etrt_status etrt_device_at(int index, etrt_device_info *out) {
    if (!out) return etrt_fail(ETRT_INVALID, "etrt_device_at: no place for what it is");
    memset(out, 0, sizeof *out);
    if (!enter()) return forked();
    etrt_status st = find_device(index, out);
    leave();
    return st;
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

atomic_bool etrt_sharing;

void etrt_devices_share(int on) {
    atomic_store(&etrt_sharing, on != 0);
}

etrt_status etrt_device_timing(etrt_device *dev, int on) {
    if (!dev) return etrt_fail(ETRT_INVALID, "etrt_device_timing: no device");
    dev = etrt_device_itself(dev);
    if (!etrt_device_owned(dev)) return etrt_device_check(dev);
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
    if (dev->driver->stats && etrt_device_owned(dev)) dev->driver->stats(dev, out);
    out->launches = atomic_load(&dev->launches);
}
