/* Capture one launch into a folder; the format is described in runtime/README.md. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt/base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_LIMIT ((uint64_t)16 << 30) /* bytes of a capture */

struct etrt_capture {
    char *dir, *temporary;
    struct etrt_captured *regions;
    size_t count;
};

/* ---- files ---- */

static etrt_status path_in(const struct etrt_capture *c, const char *name, char out[PATH_MAX]) {
    int n = snprintf(out, PATH_MAX, "%s/%s", c->temporary, name);
    if (n >= 0 && n < PATH_MAX) return ETRT_OK;
    return etrt_fail(ETRT_IO, "%s: the path is too long", c->dir);
}

static etrt_status put(const struct etrt_capture *c, const char *name, const void *data,
                       size_t bytes) {
    char path[PATH_MAX];
    etrt_status st = path_in(c, name, path);
    return st == ETRT_OK ? etrt_file_write(path, data, bytes) : st;
}

static etrt_status fetch(etrt_device *dev, const struct etrt_region *r, void **out) {
    *out = malloc(r->bytes + 1);
    if (!*out) return etrt_no_memory();
    etrt_status st = ETRT_OK;
    if (r->place == ETRT_ON_DEVICE)
        st = etrt_mem_read(dev, *out, r->address, r->bytes);
    else
        memcpy(*out, r->address, r->bytes);
    if (st != ETRT_OK) {
        free(*out);
        *out = NULL;
    }
    return st;
}

static etrt_status write_before(const struct etrt_capture *c, etrt_device *dev,
                                struct etrt_captured *r) {
    void *data;
    snprintf(r->before, sizeof r->before, "%s.before", r->region.name);
    etrt_status st = fetch(dev, &r->region, &data);
    if (st == ETRT_OK) st = put(c, r->before, data, r->region.bytes);
    free(data);
    return st;
}

/* Write the after-image unless it equals the before-image, which is in its place then. */
static etrt_status write_after(const struct etrt_capture *c, etrt_device *dev,
                               struct etrt_captured *r) {
    char path[PATH_MAX];
    void *data = NULL, *before = NULL;
    size_t bytes;
    memcpy(r->after, r->before, sizeof r->after);
    etrt_status st = fetch(dev, &r->region, &data);
    if (st == ETRT_OK) st = path_in(c, r->before, path);
    if (st == ETRT_OK) st = etrt_file_read(path, 0, UINT64_MAX, &before, &bytes);
    if (st == ETRT_OK && (bytes != r->region.bytes || memcmp(before, data, bytes) != 0)) {
        snprintf(r->after, sizeof r->after, "%s.after", r->region.name);
        st = put(c, r->after, data, r->region.bytes);
    }
    free(before);
    free(data);
    return st;
}

/* ---- begin and end ---- */

static etrt_status check_new(const char *dir) {
    struct stat info;
    if (!*dir) return etrt_fail(ETRT_INVALID, "a capture needs the name of a folder");
    if (lstat(dir, &info) == 0)
        return etrt_fail(ETRT_INVALID, "capture folder %s exists already", dir);
    return ETRT_OK;
}

etrt_status etrt_capture(etrt_session *s, const char *dir) {
    if (!s || !dir) return etrt_fail(ETRT_INVALID, "etrt_capture: NULL argument");
    if (s->model->manifest.devices > 1)
        return etrt_fail(ETRT_UNSUPPORTED, "a launch of several devices cannot be captured");
    if (s->model->manifest.resident)
        return etrt_fail(ETRT_UNSUPPORTED, "a launch of a kernel that stays cannot be captured");
    if (s->model->cache)
        return etrt_fail(ETRT_UNSUPPORTED,
                         "a launch that reads weights in host memory cannot be captured");
    etrt_status st = check_new(dir);
    if (st != ETRT_OK) return st;
    char *copy = strdup(dir);
    if (!copy) return etrt_no_memory();
    free(s->capture_dir);
    s->capture_dir = copy;
    return ETRT_OK;
}

etrt_status etrt_set_capture_limit(etrt_session *s, uint64_t bytes) {
    if (!s) return etrt_fail(ETRT_INVALID, "etrt_set_capture_limit: no session");
    if (!bytes) return etrt_fail(ETRT_RANGE, "a capture of no bytes holds nothing");
    s->capture_limit = bytes;
    return ETRT_OK;
}

static uint64_t limit_of(const etrt_session *s) {
    const char *text = secure_getenv("ETRT_CAPTURE_LIMIT");
    char *end = NULL;
    uint64_t chosen = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (s->capture_limit) return s->capture_limit;
    return chosen && !*end ? chosen : DEFAULT_LIMIT;
}

/* Memory of the caller's may be bound twice, and a replay has each region by itself. */
static etrt_status check_apart(const struct etrt_capture *c) {
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < i; k++) {
            const struct etrt_region *a = &c->regions[i].region, *b = &c->regions[k].region;
            if ((uintptr_t)a->address < (uintptr_t)b->address + b->bytes &&
                (uintptr_t)b->address < (uintptr_t)a->address + a->bytes)
                return etrt_fail(ETRT_UNSUPPORTED, "%s and %s share memory", b->name, a->name);
        }
    return ETRT_OK;
}

/* Images after the launch are written where they differ: at most all of them. */
static etrt_status check_size(const etrt_session *s, const struct etrt_capture *c) {
    uint64_t total = s->model->image_bytes + s->model->manifest.kernarg_bytes, limit = limit_of(s);
    for (size_t i = 0; i < c->count; i++)
        total += 2 * c->regions[i].region.bytes;
    if (total <= limit) return ETRT_OK;
    return etrt_fail(ETRT_RANGE,
                     "%s may take %llu bytes, more than the limit of %llu: etrt_set_capture_limit, "
                     "ETRT_CAPTURE_LIMIT or etrun --capture-limit raise it",
                     c->dir, (unsigned long long)total, (unsigned long long)limit);
}

/* The environment asks for the first launch of the process, whichever session makes it. */
static etrt_status take_environment(etrt_session *s) {
    static atomic_flag taken = ATOMIC_FLAG_INIT;
    const char *dir = secure_getenv("ETRT_CAPTURE");
    if (!dir || !*dir || atomic_flag_test_and_set(&taken) || s->capture_dir) return ETRT_OK;
    return etrt_capture(s, dir);
}

static etrt_status open_folder(struct etrt_capture *c, char *dir) {
    etrt_status st = check_new(dir);
    if (st != ETRT_OK) {
        free(dir);
        return st;
    }
    c->dir = dir;
    if (asprintf(&c->temporary, "%s.tmp.%ld", dir, (long)getpid()) < 0) {
        c->temporary = NULL;
        return etrt_no_memory();
    }
    if (mkdir(c->temporary, 0777) == 0) return ETRT_OK;
    st = etrt_fail(ETRT_IO, "%s: %s", c->temporary, strerror(errno));
    free(c->temporary);
    c->temporary = NULL;
    return st;
}

static etrt_status write_start(etrt_session *s, struct etrt_capture *c) {
    struct etrt_region *regions;
    etrt_status st = etrt_session_regions(s, &regions, &c->count);
    if (st != ETRT_OK) return st;
    c->regions = calloc(c->count, sizeof *c->regions);
    for (size_t i = 0; c->regions && i < c->count; i++)
        c->regions[i].region = regions[i];
    free(regions);
    st = c->regions ? check_size(s, c) : etrt_no_memory();
    if (st == ETRT_OK) st = check_apart(c);
    for (size_t i = 0; i < c->count && st == ETRT_OK; i++)
        st = write_before(c, s->model->device, &c->regions[i]);
    if (st == ETRT_OK) st = put(c, "code.hsaco", s->model->image, s->model->image_bytes);
    if (st == ETRT_OK) st = put(c, "kernarg.bin", s->kernarg, s->model->manifest.kernarg_bytes);
    return st;
}

etrt_status etrt_capture_begin(etrt_session *s) {
    etrt_status st = take_environment(s);
    if (st != ETRT_OK || !s->capture_dir) return st;
    if (etrt_launch_kernels(&s->model->manifest) > 1)
        return etrt_fail(ETRT_UNSUPPORTED, "capture: the launch is a sequence of %lld kernels",
                         (long long)etrt_launch_kernels(&s->model->manifest));
    s->capture = calloc(1, sizeof *s->capture);
    if (!s->capture) return etrt_no_memory();
    char *dir = s->capture_dir;
    s->capture_dir = NULL;
    st = open_folder(s->capture, dir);
    if (st == ETRT_OK) st = write_start(s, s->capture);
    if (st == ETRT_OK) return ETRT_OK;
    etrt_capture_drop(s);
    return etrt_fail_in(st, "capture");
}

void etrt_capture_drop(etrt_session *s) {
    struct etrt_capture *c = s->capture;
    if (!c) return;
    bool ours = etrt_device_owned(s->model->device); /* a child leaves its parent's folder alone */
    if (c->temporary && ours) etrt_folder_remove(c->temporary);
    free(c->regions);
    free(c->temporary);
    free(c->dir);
    free(c);
    s->capture = NULL;
}

/* After a fault or a dead device memory cannot be trusted or read: "after" stays null. */
static etrt_status write_end(etrt_session *s, struct etrt_capture *c, etrt_status launch_status,
                             const char *message) {
    bool readable = launch_status != ETRT_FAULT && launch_status != ETRT_DEVICE;
    char *text = NULL;
    size_t bytes;
    etrt_status st = ETRT_OK;
    for (size_t i = 0; readable && i < c->count && st == ETRT_OK; i++)
        st = write_after(c, s->model->device, &c->regions[i]);
    if (st == ETRT_OK)
        st = etrt_launch_json(s, c->regions, c->count, launch_status, message, &text, &bytes);
    if (st == ETRT_OK) st = put(c, "launch.json", text, bytes);
    free(text);
    if (st == ETRT_OK) st = check_new(c->dir);
    if (st == ETRT_OK && rename(c->temporary, c->dir) != 0)
        st = etrt_fail(ETRT_IO, "%s: %s", c->dir, strerror(errno));
    if (st != ETRT_OK) return etrt_fail_in(st, "capture");
    free(c->temporary);
    c->temporary = NULL;
    return ETRT_OK;
}

etrt_status etrt_capture_end(etrt_session *s, etrt_status launch_status) {
    if (!s->capture) return launch_status;
    char *launch_message = launch_status != ETRT_OK ? strdup(etrt_last_error()) : NULL;
    etrt_status st = write_end(s, s->capture, launch_status, launch_message ? launch_message : "");
    etrt_capture_drop(s);
    if (launch_status == ETRT_OK) return st;
    if (st != ETRT_OK && launch_message)
        etrt_fail(launch_status, "%s\nand the %s", launch_message, etrt_last_error());
    free(launch_message);
    return launch_status;
}
