/* Capture one launch into a folder; the format is described in runtime/README.md. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt/base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
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
    struct etrt_region *regions;
    size_t count;
    json_t *launch; /* launch.json as far as it is known */
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
    if (!*out) return etrt_fail(ETRT_NO_MEMORY, "out of host memory");
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
                                const struct etrt_region *r) {
    char name[sizeof r->name + 16];
    void *data;
    snprintf(name, sizeof name, "%s.before", r->name);
    etrt_status st = fetch(dev, r, &data);
    if (st == ETRT_OK) st = put(c, name, data, r->bytes);
    free(data);
    return st;
}

/* Write the after-image unless it equals the before-image; OUT_NAME is the file that holds it. */
static etrt_status write_after(const struct etrt_capture *c, etrt_device *dev,
                               const struct etrt_region *r, char *out_name, size_t name_bytes) {
    char path[PATH_MAX];
    void *data = NULL, *before = NULL;
    size_t bytes;
    snprintf(out_name, name_bytes, "%s.before", r->name);
    etrt_status st = fetch(dev, r, &data);
    if (st == ETRT_OK) st = path_in(c, out_name, path);
    if (st == ETRT_OK) st = etrt_file_read(path, 0, UINT64_MAX, &before, &bytes);
    if (st == ETRT_OK && (bytes != r->bytes || memcmp(before, data, bytes) != 0)) {
        snprintf(out_name, name_bytes, "%s.after", r->name);
        st = put(c, out_name, data, r->bytes);
    }
    free(before);
    free(data);
    return st;
}

/* ---- launch.json ---- */

static json_t *hex(uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    return json_string(text);
}

static void set_int(json_t *o, const char *key, uint64_t value) {
    json_object_set_new(o, key, json_integer((json_int_t)value));
}

static void set_text(json_t *o, const char *key, const char *value) {
    json_object_set_new(o, key, json_string(value));
}

static json_t *list_of(uint64_t a, uint64_t b) {
    json_t *list = json_array();
    json_array_append_new(list, json_integer((json_int_t)a));
    json_array_append_new(list, json_integer((json_int_t)b));
    return list;
}

/* Element type and shape at the dims of the launch. */
static void set_type(json_t *o, const etrt_session *s, const struct etrt_tensor *t) {
    int64_t shape[ETRT_MAX_RANK], bytes;
    json_t *extents = json_array();
    if (etrt_tensor_shape(t, s->dims, shape, &bytes) == ETRT_OK)
        for (int d = 0; d < t->rank; d++)
            json_array_append_new(extents, json_integer((json_int_t)shape[d]));
    set_text(o, "dtype", etrt_dtype_name(t->dtype));
    json_object_set_new(o, "shape", extents);
}

/* Those of the workspace in a launch of these dims. */
static json_t *describe_temporaries(const etrt_session *s) {
    const struct etrt_manifest *mf = &s->model->manifest;
    json_t *list = json_array();
    for (int i = 0; i < mf->ntemporaries; i++) {
        const struct etrt_temporary *t = &mf->temporaries[i];
        if (t->symbol >= 0 && (s->dims[t->symbol] < t->lo || s->dims[t->symbol] > t->hi)) continue;
        json_t *o = json_object();
        set_text(o, "name", t->tensor.name);
        set_int(o, "offset", t->offset);
        set_type(o, s, &t->tensor);
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *describe_region(const etrt_session *s, const struct etrt_region *r) {
    char before[sizeof r->name + 16];
    snprintf(before, sizeof before, "%s.before", r->name);
    json_t *o = json_object();
    set_text(o, "name", r->name);
    json_object_set_new(o, "address", hex((uintptr_t)r->address));
    set_int(o, "bytes", r->bytes);
    set_text(o, "memory", r->place == ETRT_ON_DEVICE ? "device" : "host");
    set_text(o, "before", before);
    json_object_set_new(o, "after", json_null());
    json_object_set_new(o, "check", list_of(r->check_lo, r->check_hi));
    if (r->address == s->workspace && r->bytes)
        json_object_set_new(o, "temporaries", describe_temporaries(s));
    if (!r->tensor) return o;
    set_text(o, "kind", etrt_kind_name(r->tensor->kind));
    set_type(o, s, r->tensor);
    return o;
}

/* What `task` and `tile` in reports, traces and the words given to s_ttracedata mean. */
static json_t *describe_tasks(const struct etrt_manifest *mf) {
    json_t *list = json_array();
    for (int i = 0; i < mf->ntasks; i++)
        json_array_append_new(list, json_string(mf->tasks[i]));
    return list;
}

/* Byte offsets of the device pointers in the kernarg segment. */
static json_t *pointer_offsets(const struct etrt_manifest *mf) {
    json_t *list = json_array();
    for (size_t at = 0; at <= offsetof(struct etrt_kernarg, workspace); at += 8)
        json_array_append_new(list, json_integer((json_int_t)at));
    json_array_append_new(list, json_integer(offsetof(struct etrt_kernarg, trace)));
    json_int_t end =
        (json_int_t)mf->kernarg_bytes - (json_int_t)sizeof(struct etrt_part) * mf->nmodels;
    for (int i = 0; i < mf->ntensors; i++)
        json_array_append_new(list, json_integer(end - 8 * (mf->ntensors - i)));
    return list;
}

static json_t *describe_device(const etrt_model *m) {
    const etrt_device *dev = m->device;
    json_t *o = json_object();
    set_text(o, "name", dev->name);
    set_text(o, "isa", *dev->isa ? dev->isa : m->manifest.target);
    json_object_set_new(o, "emulated", json_boolean(dev->emulated));
    set_int(o, "cus", dev->cus);
    set_int(o, "dies", dev->dies);
    set_int(o, "realtime_hz", dev->realtime_hz);
    return o;
}

static json_t *describe_kernel(const etrt_model *m) {
    json_t *o = json_object();
    set_text(o, "symbol", m->manifest.kernel);
    json_object_set_new(o, "object", hex(m->code.object));
    set_int(o, "kernarg_bytes", m->code.kernarg_bytes);
    set_int(o, "group_bytes", m->manifest.lds_bytes);
    set_int(o, "private_bytes", m->code.private_bytes);
    return o;
}

static json_t *describe_kernarg(const etrt_session *s) {
    json_t *o = json_object();
    set_text(o, "file", "kernarg.bin");
    json_object_set_new(o, "address", hex((uintptr_t)s->kernarg));
    set_int(o, "bytes", s->model->manifest.kernarg_bytes);
    json_object_set_new(o, "pointers", pointer_offsets(&s->model->manifest));
    return o;
}

static json_t *describe_code(const etrt_model *m) {
    json_t *o = json_object(), *range = json_array();
    json_array_append_new(range, hex(m->code.load_lo));
    json_array_append_new(range, hex(m->code.load_hi));
    set_text(o, "file", "code.hsaco");
    json_object_set_new(o, "loaded", range);
    return o;
}

/* A size in three dimensions, of which this kernel uses one. */
static json_t *extent(uint64_t x) {
    json_t *list = list_of(x, 1);
    json_array_append_new(list, json_integer(1));
    return list;
}

static json_t *describe_launch(const etrt_session *s, const struct etrt_capture *c) {
    const struct etrt_manifest *mf = &s->model->manifest;
    json_t *o = json_object(), *regions = json_array(), *dims = json_object();
    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(regions, describe_region(s, &c->regions[i]));
    for (int i = 0; i < mf->nsymbols; i++)
        json_object_set_new(dims, mf->symbols[i].name, json_integer((json_int_t)s->dims[i]));
    set_text(o, "format", "etrt-launch");
    set_int(o, "version", 1);
    set_text(o, "model", mf->model);
    set_text(o, "status", etrt_status_name(ETRT_OK));
    set_text(o, "message", "");
    json_object_set_new(o, "device", describe_device(s->model));
    json_object_set_new(o, "code", describe_code(s->model));
    json_object_set_new(o, "kernel", describe_kernel(s->model));
    json_object_set_new(o, "grid", extent((uint64_t)s->workgroups * mf->workgroup));
    json_object_set_new(o, "workgroup", extent(mf->workgroup));
    json_object_set_new(o, "wait_limit", json_real(s->wait_limit));
    json_object_set_new(o, "dims", dims);
    json_object_set_new(o, "kernarg", describe_kernarg(s));
    json_object_set_new(o, "tasks", describe_tasks(mf));
    json_object_set_new(o, "regions", regions);
    return o;
}

static etrt_status write_launch(const struct etrt_capture *c) {
    char *text = json_dumps(c->launch, JSON_INDENT(1));
    if (!text) return etrt_fail(ETRT_NO_MEMORY, "out of host memory");
    etrt_status st = put(c, "launch.json", text, strlen(text));
    free(text);
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
    etrt_status st = check_new(dir);
    if (st != ETRT_OK) return st;
    char *copy = strdup(dir);
    if (!copy) return etrt_fail(ETRT_NO_MEMORY, "out of host memory");
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

/* Images after the launch are written where they differ: at most all of them. */
static etrt_status check_size(const etrt_session *s, const struct etrt_capture *c) {
    uint64_t total = s->model->image_bytes + s->model->manifest.kernarg_bytes, limit = limit_of(s);
    for (size_t i = 0; i < c->count; i++)
        total += 2 * c->regions[i].bytes;
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
        return etrt_fail(ETRT_NO_MEMORY, "out of host memory");
    }
    if (mkdir(c->temporary, 0777) == 0) return ETRT_OK;
    st = etrt_fail(ETRT_IO, "%s: %s", c->temporary, strerror(errno));
    free(c->temporary);
    c->temporary = NULL;
    return st;
}

static etrt_status write_start(etrt_session *s, struct etrt_capture *c) {
    etrt_status st = etrt_session_regions(s, &c->regions, &c->count);
    if (st == ETRT_OK) st = check_size(s, c);
    for (size_t i = 0; i < c->count && st == ETRT_OK; i++)
        st = write_before(c, s->model->device, &c->regions[i]);
    if (st == ETRT_OK) st = put(c, "code.hsaco", s->model->image, s->model->image_bytes);
    if (st == ETRT_OK) st = put(c, "kernarg.bin", s->kernarg, s->model->manifest.kernarg_bytes);
    if (st != ETRT_OK) return st;
    c->launch = describe_launch(s, c);
    return c->launch ? ETRT_OK : etrt_fail(ETRT_NO_MEMORY, "out of host memory");
}

etrt_status etrt_capture_begin(etrt_session *s) {
    etrt_status st = take_environment(s);
    if (st != ETRT_OK || !s->capture_dir) return st;
    if (s->model->manifest.nkernels)
        return etrt_fail(ETRT_UNSUPPORTED, "capture: the launch is a sequence of %lld kernels",
                         (long long)etrt_launch_kernels(&s->model->manifest));
    s->capture = calloc(1, sizeof *s->capture);
    if (!s->capture) return etrt_fail(ETRT_NO_MEMORY, "out of host memory");
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
    json_decref(c->launch);
    free(c->regions);
    free(c->temporary);
    free(c->dir);
    free(c);
    s->capture = NULL;
}

/* After a fault or a dead device memory cannot be trusted or read: "after" stays null. */
static etrt_status write_end(etrt_session *s, struct etrt_capture *c, etrt_status launch_status) {
    bool readable = launch_status != ETRT_FAULT && launch_status != ETRT_DEVICE;
    json_t *regions = json_object_get(c->launch, "regions");
    etrt_status st = ETRT_OK;
    json_object_set_new(c->launch, "status", json_string(etrt_status_name(launch_status)));
    if (launch_status != ETRT_OK)
        json_object_set_new(c->launch, "message", json_string(etrt_last_error()));
    for (size_t i = 0; readable && i < c->count && st == ETRT_OK; i++) {
        char name[sizeof c->regions->name + 16];
        st = write_after(c, s->model->device, &c->regions[i], name, sizeof name);
        if (st == ETRT_OK)
            json_object_set_new(json_array_get(regions, i), "after", json_string(name));
    }
    if (st == ETRT_OK) st = write_launch(c);
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
    etrt_status st = write_end(s, s->capture, launch_status);
    etrt_capture_drop(s);
    if (launch_status == ETRT_OK) return st;
    if (st != ETRT_OK && launch_message)
        etrt_fail(launch_status, "%s\nand the %s", launch_message, etrt_last_error());
    free(launch_message);
    return launch_status;
}
