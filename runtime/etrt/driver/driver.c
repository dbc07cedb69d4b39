/* What is the same for all devices: messages, the patience of waiting, fills without help. */
#include "runtime/etrt/driver/driver.h"

#include "runtime/etrt/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool etrt_device_owned(const etrt_device *dev) {
    return dev->owner == getpid();
}

etrt_status etrt_device_check(const etrt_device *dev) {
    if (!etrt_device_owned(dev))
        return etrt_fail(ETRT_FORKED, "%s was opened by process %ld; a child of fork cannot use it",
                         dev->name, (long)dev->owner);
    if (!atomic_load(&dev->broken)) return ETRT_OK;
    return etrt_fail(ETRT_FAULT, "the device stopped after a fault; close it and open it again");
}

etrt_status etrt_spec_number(const char *spec, int *out) {
    const char *number = strchr(spec, ':');
    *out = 0;
    if (!number++) return ETRT_OK;
    size_t digits = strspn(number, "0123456789");
    if (!digits || digits > 4 || number[digits])
        return etrt_fail(ETRT_INVALID, "device \"%s\": write %.*s:N, N from 0", spec,
                         (int)(number - 1 - spec), spec);
    *out = atoi(number);
    return ETRT_OK;
}

void etrt_device_tell(const etrt_device *dev, etrt_device_info *out) {
    snprintf(out->name, sizeof out->name, "%s", dev->name);
    snprintf(out->isa, sizeof out->isa, "%s", dev->isa);
    out->cus = dev->cus;
    out->memory_bytes = dev->memory_bytes;
    out->emulated = dev->emulated;
}

etrt_device *etrt_device_itself(const etrt_device *dev) {
    etrt_device *chosen = atomic_load(&((etrt_device *)dev)->chosen);
    return chosen ? chosen : (etrt_device *)dev;
}

etrt_status etrt_device_accept(etrt_device **device, const char *target) {
    etrt_status st = (*device)->driver->accept(*device, target);
    if (st == ETRT_OK) *device = etrt_device_itself(*device);
    return st;
}

/* ---- memory ---- */

struct etrt_unit etrt_device_unit(const etrt_device *dev, const char *target, uint32_t hw_id) {
    return dev->driver->unit ? dev->driver->unit(target, hw_id) : (struct etrt_unit){-1, -1, -1};
}

etrt_status etrt_mem_alloc(etrt_device *dev, enum etrt_place place, uint64_t bytes,
                           const char *what, void **out) {
    *out = NULL;
    /* An empty tensor still needs an address of its own. */
    if (dev->driver->alloc(dev, place, bytes ? bytes : 4, out) == ETRT_OK) return ETRT_OK;
    return etrt_fail_in(ETRT_NO_MEMORY, "%s: cannot allocate %llu bytes on %s", what,
                        (unsigned long long)bytes, dev->name);
}

void etrt_mem_free(etrt_device *dev, void *device) {
    if (device && etrt_device_owned(dev)) dev->driver->free(dev, device);
}

static etrt_status cannot(const etrt_device *dev, enum etrt_direction direction, uint64_t bytes) {
    return etrt_fail_in(ETRT_DEVICE, "cannot %s %llu bytes of memory of %s",
                        direction == ETRT_FROM_DEVICE ? "read" : "write", (unsigned long long)bytes,
                        dev->name);
}

static etrt_status copy(etrt_device *dev, void *to, const void *from, uint64_t bytes,
                        enum etrt_direction direction) {
    if (!bytes || dev->driver->copy(dev, to, from, bytes, direction) == ETRT_OK) return ETRT_OK;
    return cannot(dev, direction, bytes);
}

etrt_status etrt_mem_write(etrt_device *dev, void *device, const void *host, uint64_t bytes) {
    return copy(dev, device, host, bytes, ETRT_TO_DEVICE);
}

etrt_status etrt_mem_send(etrt_device *dev, void *device, const void *host, uint64_t bytes) {
    if (!dev->driver->send) return etrt_mem_write(dev, device, host, bytes);
    if (!bytes || dev->driver->send(dev, device, host, bytes) == ETRT_OK) return ETRT_OK;
    return cannot(dev, ETRT_TO_DEVICE, bytes);
}

etrt_status etrt_mem_settle(etrt_device *dev) {
    return dev->driver->settle ? dev->driver->settle(dev) : ETRT_OK;
}

etrt_status etrt_mem_read(etrt_device *dev, void *host, const void *device, uint64_t bytes) {
    return copy(dev, host, device, bytes, ETRT_FROM_DEVICE);
}

etrt_status etrt_mem_copy(etrt_device *dev, void *to, const void *from, uint64_t bytes) {
    return copy(dev, to, from, bytes, ETRT_ON_IT);
}

etrt_status etrt_mem_fill(etrt_device *dev, void *device, uint8_t byte, uint64_t bytes) {
    enum { CHUNK = 65536 };
    if (dev->driver->fill && dev->driver->fill(dev, device, byte, bytes)) return ETRT_OK;
    char *pattern = malloc(CHUNK);
    if (!pattern) return etrt_no_memory();
    memset(pattern, byte, CHUNK);
    etrt_status st = ETRT_OK;
    for (uint64_t at = 0; at < bytes && st == ETRT_OK; at += CHUNK)
        st = etrt_mem_write(dev, (char *)device + at, pattern,
                            bytes - at < CHUNK ? bytes - at : CHUNK);
    free(pattern);
    return st;
}

/* ---- code and launches ---- */

etrt_status etrt_code_load(etrt_device *dev, const void *image, size_t bytes, const char *kernel,
                           struct etrt_code *code) {
    memset(code, 0, sizeof *code);
    etrt_status st = dev->driver->load(dev, image, bytes, kernel, code);
    if (st != ETRT_OK) etrt_code_unload(dev, code);
    return st;
}

void etrt_code_unload(etrt_device *dev, struct etrt_code *code) {
    if (code->loaded && etrt_device_owned(dev)) dev->driver->unload(dev, code);
    memset(code, 0, sizeof *code);
}

void etrt_ticket_free(etrt_device *dev, struct etrt_ticket *ticket) {
    if (ticket && etrt_device_owned(dev)) dev->driver->ticket_free(dev, ticket);
}

etrt_status etrt_launch_start(etrt_device *dev, const struct etrt_dispatch *d, int count,
                              struct etrt_ticket *ticket) {
    etrt_status st = etrt_device_check(dev);
    if (st == ETRT_OK) st = dev->driver->launch(dev, d, count, ticket);
    if (st == ETRT_OK) atomic_fetch_add(&dev->launches, 1);
    return st;
}

double etrt_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A launch may be slow without ever waiting, above all when emulated. */
double etrt_silence(const etrt_device *dev, double wait_limit) {
    const char *chosen = secure_getenv("ETRT_LAUNCH_TIMEOUT");
    double seconds = chosen ? strtod(chosen, NULL) : 0;
    return seconds > 0 ? seconds : 60 + 10 * wait_limit + (dev->emulated ? 24 * 3600 : 0);
}

enum etrt_outcome etrt_launch_look(etrt_device *dev, struct etrt_ticket *ticket, double wait_limit,
                                   struct etrt_patience *p, double seconds) {
    const double slice = 0.05;
    double limit = etrt_silence(dev, wait_limit), from = etrt_now(), left = seconds;
    for (;;) {
        uint64_t ended = 0;
        bool over = dev->driver->wait(dev, ticket, left < slice ? left : slice, &ended);
        if (atomic_load(&dev->broken)) return ETRT_BROKEN;
        if (over) return ETRT_ENDED;
        double now = etrt_now();
        if (!p->begun || ended != p->ended)
            *p = (struct etrt_patience){.begun = true, .since = now, .ended = ended};
        else if (now - p->since > limit)
            return ETRT_SILENT;
        left = seconds - (now - from);
        if (left <= 0) return ETRT_RUNNING;
    }
}

etrt_status etrt_device_unmatched(const etrt_device *dev, const char *target) {
    return etrt_fail(ETRT_MISMATCH, "compiled for %s, but the device is %s (%s)", target, dev->isa,
                     dev->name);
}

etrt_status etrt_device_silent(etrt_device *dev, double wait_limit) {
    atomic_store(&dev->broken, true);
    return etrt_fail(ETRT_DEVICE, "%s has not answered for %.0f seconds", dev->name,
                     etrt_silence(dev, wait_limit));
}

etrt_status etrt_launch_wait(etrt_device *dev, struct etrt_ticket *ticket, double wait_limit,
                             struct etrt_patience *p, double seconds) {
    switch (etrt_launch_look(dev, ticket, wait_limit, p, seconds)) {
    case ETRT_ENDED:
        return ETRT_OK;
    case ETRT_RUNNING:
        return etrt_fail(ETRT_TIMEOUT, "the launch has not ended within %g s", seconds);
    case ETRT_BROKEN:
        dev->driver->fault(dev);
        return ETRT_FAULT;
    default:
        return etrt_device_silent(dev, wait_limit);
    }
}
