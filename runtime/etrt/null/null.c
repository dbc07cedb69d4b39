/* null - a device that computes nothing: the copy to start another driver from.
 *
 * It takes code of any target, holds memory (the host's) and copies. A launch ends at once and has
 * touched nothing. So all of libetrt works on it but results: what reads manifests, binds, sets,
 * captures and reports can be tried without GPU or emulator. */
#include "runtime/etrt/driver/driver.h"

#include "runtime/etrt/base/error.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const specs[] = {"null", NULL};

static etrt_status null_open(const char *spec, etrt_device **out) {
    if (strchr(spec, ':'))
        return etrt_fail(ETRT_INVALID, "device \"%s\": null takes no options", spec);
    etrt_device *dev = calloc(1, sizeof *dev);
    if (!dev) return etrt_no_memory();
    *dev = (etrt_device){.driver = &etrt_null_driver,
                         .name = "null device (computes nothing)",
                         .can = ETRT_CAN_TIME | ETRT_CAN_REOPEN,
                         .cus = 4,
                         .dies = 2,
                         .lds_bytes = UINT32_MAX,
                         .memory_bytes =
                             (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
                         .realtime_hz = 100000000};
    *out = dev;
    return ETRT_OK;
}

static void null_close(etrt_device *dev) {
    free(dev);
}

static etrt_status null_accept(etrt_device *dev, const char *target) {
    (void)dev, (void)target;
    return ETRT_OK;
}

/* ---- memory ---- */

static etrt_status null_alloc(etrt_device *dev, enum etrt_place place, uint64_t bytes, void **out) {
    (void)place;
    /* As aligned as memory of a GPU. */
    if (bytes > dev->memory_bytes || posix_memalign(out, 256, (size_t)bytes) != 0) *out = NULL;
    return *out ? ETRT_OK : etrt_no_memory();
}

static void null_free(etrt_device *dev, void *memory) {
    (void)dev;
    free(memory);
}

static etrt_status null_copy(etrt_device *dev, void *to, const void *from, uint64_t bytes,
                             enum etrt_direction direction) {
    (void)dev, (void)direction;
    memcpy(to, from, bytes);
    return ETRT_OK;
}

static bool null_fill(etrt_device *dev, void *memory, uint8_t byte, uint64_t bytes) {
    (void)dev;
    memset(memory, byte, bytes);
    return true;
}

/* ---- code and launches ---- */

/* There is nothing to keep of the code; something tells that it is loaded. */
static etrt_status null_load(etrt_device *dev, const void *image, size_t bytes, const char *kernel,
                             struct etrt_code *code) {
    (void)bytes, (void)kernel;
    code->loaded = dev;
    code->object = (uintptr_t)image;
    return ETRT_OK;
}

static void null_unload(etrt_device *dev, struct etrt_code *code) {
    (void)dev, (void)code;
}

struct etrt_ticket {
    uint64_t number; /* of the launch */
};

static etrt_status null_ticket_make(etrt_device *dev, struct etrt_ticket **out) {
    (void)dev;
    *out = calloc(1, sizeof **out);
    return *out ? ETRT_OK : etrt_no_memory();
}

static void null_ticket_free(etrt_device *dev, struct etrt_ticket *t) {
    (void)dev;
    free(t);
}

static etrt_status null_find(etrt_device *dev, const struct etrt_code *code, const char *kernel,
                             struct etrt_code *out) {
    (void)dev, (void)kernel;
    *out = *code;
    return ETRT_OK;
}

static etrt_status null_launch(etrt_device *dev, const struct etrt_dispatch *d, int count,
                               struct etrt_ticket *t) {
    (void)d, (void)count;
    t->number = atomic_load(&dev->launches) + 1;
    return ETRT_OK;
}

static bool null_wait(etrt_device *dev, struct etrt_ticket *t, double seconds,
                      uint64_t *out_ended) {
    (void)dev, (void)seconds;
    *out_ended = t->number;
    return true;
}

static void null_fault(etrt_device *dev) {
    etrt_fail(ETRT_FAULT, "%s: no faults", dev->name);
}

static etrt_status null_timing(etrt_device *dev) {
    (void)dev;
    return ETRT_OK;
}

static etrt_status null_seconds(etrt_device *dev, const struct etrt_ticket *t, double *out) {
    (void)dev, (void)t;
    *out = 0;
    return ETRT_OK;
}

const struct etrt_driver etrt_null_driver = {
    .specs = specs,
    .open = null_open,
    .close = null_close,
    .accept = null_accept,
    .alloc = null_alloc,
    .free = null_free,
    .copy = null_copy,
    .fill = null_fill,
    .load = null_load,
    .unload = null_unload,
    .find = null_find,
    .ticket_make = null_ticket_make,
    .ticket_free = null_ticket_free,
    .launch = null_launch,
    .wait = null_wait,
    .fault = null_fault,
    .seconds = null_seconds,
    .timing = null_timing,
};
