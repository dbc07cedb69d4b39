/* "auto": the GPU that runs the first model loaded, else the emulator of the one it is for.
 *
 * Where no GPU answers it is the emulator from the start. Else it is a device of its own that
 * becomes another (its `chosen`) when it is first asked to accept code: nothing but that, its
 * timing and its end reach it before. */
#include "runtime/etrt/base/error.h"
#include "runtime/etrt/driver/driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct auto_device {
    struct etrt_device base; /* first */
    pthread_mutex_t lock;    /* of choosing */
};

/* The GPU of number INDEX among those of all drivers; false past the last. */
static bool gpu_at(int index, etrt_device_info *out) {
    int gpus = 0;
    for (int i = 0; etrt_device_at(i, out) == ETRT_OK; i++)
        if (!out->emulated && gpus++ == index) return true;
    return false;
}

/* Append the last error to WHY. */
static void note(char *why, size_t bytes) {
    size_t used = strlen(why);
    snprintf(why + used, bytes - used, "%s%s", used ? "; and " : "", etrt_last_error());
}

/* Each vendor's library says why it has none. */
static etrt_status open_emulator(etrt_device **out) {
    static const char *const vendors[] = {"hsa", "cuda"};
    char why[1024] = "";
    etrt_status st = etrt_hsa_driver.open("emu", out);
    if (st == ETRT_OK) return ETRT_OK;
    note(why, sizeof why);
    for (int i = 0; i < 2; i++) {
        const struct etrt_driver *driver = i ? &etrt_cuda_driver : &etrt_hsa_driver;
        etrt_device *none = NULL;
        if (driver->open(vendors[i], &none) != ETRT_OK)
            note(why, sizeof why);
        else
            driver->close(none);
    }
    return etrt_fail(st, "%s", why);
}

static etrt_status auto_open(const char *spec, etrt_device **out) {
    (void)spec;
    etrt_device_info info;
    if (!gpu_at(0, &info)) return open_emulator(out);
    struct auto_device *dev = calloc(1, sizeof *dev);
    if (!dev) return etrt_no_memory();
    pthread_mutex_init(&dev->lock, NULL);
    dev->base.driver = &etrt_auto_driver;
    snprintf(dev->base.name, sizeof dev->base.name,
             "a GPU that runs the first model, else its emulator");
    *out = &dev->base;
    return ETRT_OK;
}

static void auto_close(etrt_device *base) {
    struct auto_device *dev = (struct auto_device *)base;
    etrt_device_close(atomic_load(&base->chosen));
    pthread_mutex_destroy(&dev->lock);
    free(dev);
}

/* Open SPEC if it runs code for TARGET. */
static etrt_status try(const char *spec, const char *target, bool timing, etrt_device **out) {
    etrt_status st = etrt_device_open(spec, out);
    if (st == ETRT_OK) st = (*out)->driver->accept(*out, target);
    if (st == ETRT_OK && timing) st = etrt_device_timing(*out, 1);
    if (st == ETRT_OK) return ETRT_OK;
    etrt_device_close(*out);
    *out = NULL;
    return st;
}

static etrt_status choose(struct auto_device *dev, const char *target) {
    char why[1024] = "";
    etrt_device_info info;
    etrt_device *chosen = NULL;
    etrt_status st = ETRT_NO_DEVICE;
    for (int i = 0; st != ETRT_OK && gpu_at(i, &info); i++) {
        st = try(info.spec, target, dev->base.timing, &chosen);
        if (st != ETRT_OK) note(why, sizeof why);
    }
    if (st != ETRT_OK) {
        st = try("emu", target, dev->base.timing, &chosen);
        if (st != ETRT_OK) note(why, sizeof why);
    }
    if (st != ETRT_OK) return etrt_fail(st, "%s", why);
    atomic_store(&dev->base.chosen, chosen);
    return ETRT_OK;
}

static etrt_status auto_accept(etrt_device *base, const char *target) {
    struct auto_device *dev = (struct auto_device *)base;
    pthread_mutex_lock(&dev->lock);
    etrt_device *chosen = atomic_load(&base->chosen);
    etrt_status st = chosen ? chosen->driver->accept(chosen, target) : choose(dev, target);
    pthread_mutex_unlock(&dev->lock);
    return st;
}

/* What it becomes is told. */
static etrt_status auto_timing(etrt_device *base) {
    (void)base;
    return ETRT_OK;
}

static const char *const specs[] = {"auto", NULL};

const struct etrt_driver etrt_auto_driver = {
    .specs = specs,
    .open = auto_open,
    .close = auto_close,
    .accept = auto_accept,
    .timing = auto_timing,
};
