/* etrun --replay: run a captured launch again and compare what it leaves in memory. */
#include "runtime/etrun/etrun.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt/driver/driver.h"
#include "runtime/etrt/inspect.h"
#include "runtime/etrt_abi.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct replay {
    etrt_device *opened, *dev; /* DEV is what OPENED is */
    struct launch launch;
    struct etrt_code code;
    void *kernarg;
    struct etrt_ticket *ticket;
};

/* ---- memory ---- */

/* At its own address where the device can do that, else anywhere. */
static etrt_status place_region(struct replay *r, struct launch_region *region) {
    const struct etrt_driver *driver = r->dev->driver;
    if (driver->map_at && region->bytes && driver->map_at(r->dev, region->address, region->bytes)) {
        region->memory = (void *)(uintptr_t)region->address;
        region->mapped_at = true;
        return ETRT_OK;
    }
    return etrt_mem_alloc(r->dev, region->on_host ? ETRT_ON_HOST : ETRT_ON_DEVICE, region->bytes,
                          region->name, &region->memory);
}

static etrt_status put_image(struct replay *r, struct launch_region *region) {
    if (!region->on_host || region->mapped_at)
        return etrt_mem_write(r->dev, region->memory, region->before, region->bytes);
    memcpy(region->memory, region->before, region->bytes);
    return ETRT_OK;
}

static etrt_status get_image(struct replay *r, const struct launch_region *region, void *out) {
    if (!region->on_host || region->mapped_at)
        return etrt_mem_read(r->dev, out, region->memory, region->bytes);
    memcpy(out, region->memory, region->bytes);
    return ETRT_OK;
}

static struct launch_region *region_of(struct launch *l, uint64_t address) {
    for (size_t i = 0; i < l->nregions; i++) {
        struct launch_region *r = &l->regions[i];
        if (address >= r->address && address - r->address < (r->bytes ? r->bytes : 1)) return r;
    }
    return NULL;
}

/* Point the arguments at where the regions are now. */
static etrt_status write_kernarg(struct replay *r) {
    struct launch *l = &r->launch;
    memcpy(r->kernarg, l->kernarg, l->kernarg_bytes);
    for (size_t i = 0; i < l->npointers; i++) {
        uint64_t value;
        memcpy(&value, (char *)l->kernarg + l->pointers[i], 8);
        if (!value) continue;
        struct launch_region *region = region_of(l, value);
        if (!region)
            return etrt_fail(ETRT_FORMAT,
                             "argument at byte %u points to 0x%" PRIx64 ", which is in no region",
                             l->pointers[i], value);
        value = (uintptr_t)region->memory + (value - region->address);
        memcpy((char *)r->kernarg + l->pointers[i], &value, 8);
    }
    return ETRT_OK;
}

static etrt_status check_device(struct replay *r) {
    const struct launch *l = &r->launch;
    r->dev = r->opened;
    etrt_status st = etrt_device_accept(&r->dev, l->isa);
    if (st != ETRT_OK) return etrt_fail_in(st, "captured on %s", l->isa);
    if (l->workgroups > r->dev->cus)
        return etrt_fail(ETRT_RANGE, "the launch has %u workgroups, %s can hold %u at once",
                         l->workgroups, r->dev->name, r->dev->cus);
    return ETRT_OK;
}

static etrt_status prepare(struct replay *r, const struct options *o) {
    struct launch *l = &r->launch;
    etrt_status st = launch_read(o->replay, (uint64_t)o->capture_limit << 30, l);
    if (st == ETRT_OK) st = etrt_device_open(o->device, &r->opened);
    if (st == ETRT_OK) st = check_device(r);
    if (st == ETRT_OK) st = etrt_code_load(r->dev, l->code, l->code_bytes, l->symbol, &r->code);
    if (st == ETRT_OK && r->code.kernarg_bytes > l->kernarg_bytes)
        st = etrt_fail(ETRT_FORMAT, "the kernel reads %u bytes of arguments, the capture has %zu",
                       r->code.kernarg_bytes, l->kernarg_bytes);
    if (r->code.group_bytes > l->group_bytes) l->group_bytes = r->code.group_bytes;
    if (st == ETRT_OK && l->group_bytes > r->dev->lds_bytes)
        st = etrt_fail(ETRT_RANGE, "the launch takes %u bytes of LDS", l->group_bytes);
    for (size_t i = 0; i < l->nregions && st == ETRT_OK; i++)
        st = place_region(r, &l->regions[i]);
    if (st == ETRT_OK)
        st = etrt_mem_alloc(r->dev, ETRT_KERNARG, l->kernarg_bytes, "arguments", &r->kernarg);
    if (st == ETRT_OK) st = write_kernarg(r);
    if (st != ETRT_OK) return st;
    return r->dev->driver->ticket_make(r->dev, &r->ticket);
}

static void clean_up(struct replay *r) {
    for (size_t i = 0; r->dev && i < r->launch.nregions; i++) {
        struct launch_region *region = &r->launch.regions[i];
        if (region->mapped_at)
            r->dev->driver->unmap_at(r->dev, region->address);
        else
            etrt_mem_free(r->dev, region->memory);
    }
    if (r->dev) {
        etrt_mem_free(r->dev, r->kernarg);
        etrt_ticket_free(r->dev, r->ticket);
        etrt_code_unload(r->dev, &r->code);
    }
    etrt_device_close(r->opened);
    launch_free(&r->launch);
}

/* ---- comparison ---- */

static void show_element(const struct launch_region *region, const unsigned char *image,
                         uint64_t at) {
    uint64_t n = region->bytes - at < 4 ? region->bytes - at : 4;
    if (region->has_dtype && at + etrt_dtype_bytes(region->dtype) <= region->bytes)
        print_values(stdout, region->dtype, image + at, 1);
    printf(" (bytes");
    for (uint64_t i = 0; i < n; i++)
        printf(" %02x", image[at + i]);
    printf(")");
}

/* True when the region is as captured; prints the first difference otherwise. */
static bool compare_image(const struct launch_region *region, const unsigned char *now) {
    const unsigned char *then = region->after;
    uint64_t first = region->check_hi, count = 0;
    for (uint64_t i = region->check_lo; i < region->check_hi; i++)
        if (then[i] != now[i]) {
            if (!count++) first = i;
        }
    if (!count) return true;
    uint64_t element = region->has_dtype ? etrt_dtype_bytes(region->dtype) : 4;
    uint64_t at = first - first % element;
    printf("%s: %" PRIu64 " of %" PRIu64 " bytes differ, first at offset %" PRIu64
           " (element %" PRIu64 "): captured",
           region->name, count, region->check_hi - region->check_lo, first, first / element);
    show_element(region, then, at);
    printf(", replayed");
    show_element(region, now, at);
    printf("\n");
    return false;
}

static etrt_status compare(struct replay *r, size_t *out_compared, size_t *out_different) {
    *out_compared = *out_different = 0;
    for (size_t i = 0; i < r->launch.nregions; i++) {
        struct launch_region *region = &r->launch.regions[i];
        if (!region->has_after) continue;
        void *now = malloc(region->bytes + 1);
        if (!now) return etrt_fail(ETRT_NO_MEMORY, "out of host memory");
        etrt_status st = get_image(r, region, now);
        if (st == ETRT_OK && !compare_image(region, now)) ++*out_different;
        ++*out_compared;
        free(now);
        if (st != ETRT_OK) return st;
    }
    return ETRT_OK;
}

/* ---- running ---- */

/* The kernel's own report, when the capture is of an etcc kernel. */
static etrt_status read_report(struct replay *r) {
    struct launch *l = &r->launch;
    struct etrt_report report = {0};
    struct etrt_manifest m;
    etrt_status st = ETRT_OK;
    for (size_t i = 0; i < l->nregions && st == ETRT_OK; i++)
        if (strcmp(l->regions[i].name, "report") == 0 && l->regions[i].bytes == sizeof report)
            st = get_image(r, &l->regions[i], &report);
    if (st != ETRT_OK || report.status == ETRT_REPORT_OK) return st;
    st = etrt_manifest_of_code(l->code, l->code_bytes, &m);
    if (st != ETRT_OK) return st;
    st = etrt_report_wait(r->dev, &m, &report, NULL, NULL, l->workgroups, l->wait_limit);
    etrt_manifest_free(&m);
    return st;
}

static etrt_status run_once(struct replay *r) {
    struct launch *l = &r->launch;
    etrt_status st = ETRT_OK;
    for (size_t i = 0; i < l->nregions && st == ETRT_OK; i++)
        st = put_image(r, &l->regions[i]);
    if (st != ETRT_OK) return st;
    struct etrt_dispatch d = {
        .code = &r->code,
        .kernarg = r->kernarg,
        .kernarg_bytes = (uint32_t)l->kernarg_bytes,
        .workgroups = l->workgroups,
        .workgroup_size = l->workgroup_size,
        .group_bytes = l->group_bytes,
        .private_bytes = r->code.private_bytes,
        .resident = true,
        .wait_limit = l->wait_limit,
    };
    struct etrt_patience patience = {0};
    st = etrt_launch_start(r->dev, &d, 1, r->ticket);
    if (st == ETRT_OK) st = etrt_launch_wait(r->dev, r->ticket, l->wait_limit, &patience, INFINITY);
    return st == ETRT_OK ? read_report(r) : st;
}

/* Run and judge once: the same ending and, where it was a good one, the same memory. */
static bool replay_once(struct replay *r) {
    size_t compared, different;
    etrt_status st = run_once(r);
    if (strcmp(etrt_status_name(st), r->launch.status) != 0) {
        if (st != ETRT_OK) fail_status(st);
        return fail("the captured launch ended with %s, the replay with %s", r->launch.status,
                    etrt_status_name(st));
    }
    if (st != ETRT_OK) {
        printf("%s\nthe replay ended as the captured launch did: %s\n", etrt_last_error(),
               r->launch.status);
        return true;
    }
    st = compare(r, &compared, &different);
    if (st != ETRT_OK) return fail_status(st);
    printf("%zu regions compared, %zu differ\n", compared, different);
    return different == 0;
}

bool replay_launch(const struct options *o) {
    struct replay r = {0};
    etrt_status st = prepare(&r, o);
    bool ok = st == ETRT_OK || fail_status(st);
    if (ok) print_device(r.dev);
    double from = now();
    for (long k = 0; k < o->repeat && ok; k++)
        ok = replay_once(&r);
    if (r.dev && o->stats) print_stats(r.dev, now() - from);
    clean_up(&r);
    return ok;
}
