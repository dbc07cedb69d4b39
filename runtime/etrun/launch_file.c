/* launch.json and the files beside it, as untrusted input. */
#include "runtime/etrun/etrun.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt/base/file.h"
#include "runtime/etrt/base/json.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REGIONS = 16384, MAX_KERNARG = 1 << 20, MAX_LAUNCH_JSON = 64 << 20 };
#define MAX_REGION_BYTES ((int64_t)1 << 46)

static etrt_status copy(const struct etrt_json_at *at, json_t *object, const char *key,
                        char **out) {
    const char *s;
    etrt_status st = etrt_json_string(at, object, key, &s);
    if (st != ETRT_OK) return st;
    *out = strdup(s);
    return *out ? ETRT_OK : etrt_fail(ETRT_NO_MEMORY, "out of host memory");
}

static etrt_status number(const struct etrt_json_at *at, json_t *object, const char *key,
                          int64_t lo, int64_t hi, uint32_t *out) {
    int64_t v = 0;
    etrt_status st = etrt_json_int(at, object, key, lo, hi, &v);
    *out = (uint32_t)v;
    return st;
}

/* Read the file of LEAST to MOST bytes that member KEY names; it must lie in the folder itself. */
static etrt_status read_named(const char *dir, const struct etrt_json_at *up, json_t *object,
                              const char *key, uint64_t least, uint64_t most, void **out,
                              size_t *out_bytes) {
    struct etrt_json_at at = {up, key, 0};
    char path[PATH_MAX];
    const char *name;
    etrt_status st = etrt_json_string(up, object, key, &name);
    if (st != ETRT_OK) return st;
    if (strchr(name, '/') || name[0] == '.')
        return etrt_json_fail(&at, "\"%s\" is not the name of a file in the folder", name);
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    if (n < 0 || (size_t)n >= sizeof path) return etrt_json_fail(&at, "the path is too long");
    return etrt_file_read(path, least, most, out, out_bytes);
}

static void read_dtype(json_t *object, struct launch_region *r) {
    const char *s = json_string_value(json_object_get(object, "dtype"));
    r->has_dtype = s && etrt_dtype_find(s, &r->dtype);
}

static etrt_status read_check(const struct etrt_json_at *up, json_t *object,
                              struct launch_region *r) {
    struct etrt_json_at at = {up, "check", 0};
    json_t *pair;
    int64_t lo = 0, hi = 0;
    etrt_status st = etrt_json_array(up, object, "check", 2, &pair);
    if (st == ETRT_OK)
        st = etrt_json_check_int(&at, json_array_get(pair, 0), 0, (int64_t)r->bytes, &lo);
    if (st == ETRT_OK)
        st = etrt_json_check_int(&at, json_array_get(pair, 1), lo, (int64_t)r->bytes, &hi);
    r->check_lo = (uint64_t)lo;
    r->check_hi = (uint64_t)hi;
    return st;
}

/* A hexadecimal "0x..." string: addresses of 64 bits do not survive in JSON numbers. */
static etrt_status read_address(const struct etrt_json_at *up, json_t *object, const char *key,
                                uint64_t *out) {
    struct etrt_json_at at = {up, key, 0};
    const char *s;
    char *end;
    etrt_status st = etrt_json_string(up, object, key, &s);
    if (st != ETRT_OK) return st;
    errno = 0;
    *out = strncmp(s, "0x", 2) == 0 && s[2] ? strtoull(s + 2, &end, 16) : (end = NULL, 0);
    if (!end || *end || errno || s[2] == '-' || s[2] == '+' || s[2] == ' ')
        return etrt_json_fail(&at, "must be a string like \"0x1f00\"");
    return ETRT_OK;
}

/* All but the images. */
static etrt_status read_region(const struct etrt_json_at *at, json_t *object,
                               struct launch_region *r) {
    const char *memory = "";
    int64_t bytes = 0;
    if (!json_is_object(object)) return etrt_json_fail(at, "must be an object");
    etrt_status st = copy(at, object, "name", &r->name);
    if (st == ETRT_OK) st = read_address(at, object, "address", &r->address);
    if (st == ETRT_OK) st = etrt_json_int(at, object, "bytes", 0, MAX_REGION_BYTES, &bytes);
    if (st == ETRT_OK) st = etrt_json_string(at, object, "memory", &memory);
    if (st != ETRT_OK) return st;
    r->bytes = (uint64_t)bytes;
    r->on_host = strcmp(memory, "host") == 0;
    if (!r->on_host && strcmp(memory, "device") != 0)
        return etrt_json_fail(at, "memory \"%s\" is neither device nor host", memory);
    if (r->address > UINT64_MAX - r->bytes) return etrt_json_fail(at, "wraps around");
    st = read_check(at, object, r);
    r->has_after = !json_is_null(json_object_get(object, "after"));
    read_dtype(object, r);
    return st;
}

static etrt_status read_images(const char *dir, const struct etrt_json_at *at, json_t *object,
                               struct launch_region *r) {
    size_t got;
    etrt_status st = read_named(dir, at, object, "before", r->bytes, r->bytes, &r->before, &got);
    if (st == ETRT_OK && r->has_after)
        st = read_named(dir, at, object, "after", r->bytes, r->bytes, &r->after, &got);
    return st;
}

/* What a file says must not take all memory there is. */
static etrt_status check_total(const struct launch *l, uint64_t limit) {
    uint64_t total = 0;
    for (size_t i = 0; i < l->nregions; i++)
        total += l->regions[i].bytes * (l->regions[i].has_after ? 2 : 1);
    if (total <= limit) return ETRT_OK;
    return etrt_fail(ETRT_RANGE,
                     "regions: %llu bytes of memory, more than the limit of %llu; --capture-limit "
                     "raises it",
                     (unsigned long long)total, (unsigned long long)limit);
}

static int by_address(const void *a, const void *b) {
    const struct launch_region *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* Pointers are looked up by address, so regions must not share any. They come out sorted. */
static etrt_status read_regions(const char *dir, json_t *root, uint64_t limit, struct launch *l) {
    struct etrt_json_at up = {NULL, "regions", 0};
    json_t *array;
    etrt_status st = etrt_json_array(NULL, root, "regions", MAX_REGIONS, &array);
    if (st != ETRT_OK) return st;
    size_t n = json_array_size(array);
    l->regions = calloc(n + 1, sizeof *l->regions);
    if (!l->regions) return etrt_fail(ETRT_NO_MEMORY, "out of host memory");
    for (size_t i = 0; i < n && st == ETRT_OK; i++) {
        struct etrt_json_at at = {&up, NULL, i};
        l->nregions = i + 1;
        st = read_region(&at, json_array_get(array, i), &l->regions[i]);
    }
    if (st == ETRT_OK) st = check_total(l, limit);
    for (size_t i = 0; i < n && st == ETRT_OK; i++) {
        struct etrt_json_at at = {&up, NULL, i};
        st = read_images(dir, &at, json_array_get(array, i), &l->regions[i]);
    }
    if (st != ETRT_OK) return st;
    qsort(l->regions, n, sizeof *l->regions, by_address);
    for (size_t i = 1; i < n; i++)
        if (l->regions[i].address < l->regions[i - 1].address + l->regions[i - 1].bytes ||
            l->regions[i].address == l->regions[i - 1].address)
            return etrt_json_fail(&up, "%s and %s overlap", l->regions[i - 1].name,
                                  l->regions[i].name);
    return ETRT_OK;
}

static etrt_status read_kernarg(const char *dir, json_t *root, struct launch *l) {
    const struct etrt_json_at up = {NULL, "kernarg", 0}, at = {&up, "pointers", 0};
    json_t *kernarg, *pointers;
    int64_t bytes = 0;
    etrt_status st = etrt_json_object(NULL, root, "kernarg", &kernarg);
    if (st == ETRT_OK) st = etrt_json_int(&up, kernarg, "bytes", 0, MAX_KERNARG, &bytes);
    if (st == ETRT_OK)
        st = read_named(dir, &up, kernarg, "file", (uint64_t)bytes, (uint64_t)bytes, &l->kernarg,
                        &l->kernarg_bytes);
    if (st == ETRT_OK) st = etrt_json_array(&up, kernarg, "pointers", MAX_KERNARG / 8, &pointers);
    if (st != ETRT_OK) return st;
    l->npointers = json_array_size(pointers);
    l->pointers = calloc(l->npointers + 1, sizeof *l->pointers);
    if (!l->pointers) return etrt_fail(ETRT_NO_MEMORY, "out of host memory");
    for (size_t i = 0; i < l->npointers && st == ETRT_OK; i++) {
        struct etrt_json_at in = {&at, NULL, i};
        int64_t offset = 0;
        st = etrt_json_check_int(&in, json_array_get(pointers, i), 0, bytes - 8, &offset);
        if (st == ETRT_OK && offset % 8) st = etrt_json_fail(&in, "is not a multiple of 8");
        l->pointers[i] = (uint32_t)offset;
    }
    return st;
}

static etrt_status read_extent(json_t *root, const char *key, int64_t hi, uint32_t *out) {
    const struct etrt_json_at at = {NULL, key, 0};
    json_t *array;
    int64_t v[3];
    etrt_status st = etrt_json_array(NULL, root, key, 3, &array);
    for (size_t d = 0; d < 3 && st == ETRT_OK; d++)
        st = etrt_json_check_int(&at, json_array_get(array, d), 1, d ? 1 : hi, &v[d]);
    if (st == ETRT_OK) *out = (uint32_t)v[0];
    return st;
}

static etrt_status read_kernel(json_t *root, struct launch *l) {
    const struct etrt_json_at at = {NULL, "kernel", 0};
    json_t *kernel;
    uint32_t grid = 0;
    etrt_status st = etrt_json_object(NULL, root, "kernel", &kernel);
    if (st == ETRT_OK) st = copy(&at, kernel, "symbol", &l->symbol);
    if (st == ETRT_OK) st = number(&at, kernel, "group_bytes", 0, 1 << 20, &l->group_bytes);
    if (st == ETRT_OK) st = number(&at, kernel, "private_bytes", 0, 1 << 24, &l->private_bytes);
    if (st == ETRT_OK) st = read_extent(root, "workgroup", 1024, &l->workgroup_size);
    if (st == ETRT_OK) st = read_extent(root, "grid", INT32_MAX, &grid);
    if (st != ETRT_OK) return st;
    if (grid % l->workgroup_size)
        return etrt_fail(ETRT_FORMAT, "grid: %u is no multiple of the workgroup", grid);
    l->workgroups = grid / l->workgroup_size;
    return ETRT_OK;
}

static etrt_status read_all(const char *dir, json_t *root, uint64_t limit, struct launch *l) {
    const struct etrt_json_at device_at = {NULL, "device", 0}, code_at = {NULL, "code", 0};
    const char *format = "";
    int64_t version = 0;
    json_t *device, *code;
    etrt_status st = etrt_json_string(NULL, root, "format", &format);
    if (st == ETRT_OK && strcmp(format, "etrt-launch") != 0)
        st = etrt_fail(ETRT_FORMAT, "format \"%s\" is not etrt-launch", format);
    if (st == ETRT_OK) st = etrt_json_int(NULL, root, "version", 0, INT32_MAX, &version);
    if (st == ETRT_OK && version != 1)
        st = etrt_fail(ETRT_UNSUPPORTED, "format version %lld, this etrun reads version 1",
                       (long long)version);
    if (st == ETRT_OK) st = copy(NULL, root, "status", &l->status);
    if (st == ETRT_OK) st = etrt_json_object(NULL, root, "device", &device);
    if (st == ETRT_OK) st = copy(&device_at, device, "isa", &l->isa);
    if (st == ETRT_OK) st = read_kernel(root, l);
    if (st == ETRT_OK) st = etrt_json_object(NULL, root, "code", &code);
    if (st == ETRT_OK)
        st = read_named(dir, &code_at, code, "file", 0, ETRT_MAX_CODE, &l->code, &l->code_bytes);
    if (st == ETRT_OK) st = read_kernarg(dir, root, l);
    if (st == ETRT_OK) st = read_regions(dir, root, limit, l);
    l->wait_limit = json_number_value(json_object_get(root, "wait_limit"));
    return st;
}

etrt_status launch_read(const char *dir, uint64_t limit, struct launch *out) {
    char path[PATH_MAX];
    void *text;
    size_t bytes;
    json_t *root = NULL;
    memset(out, 0, sizeof *out);
    int n = snprintf(path, sizeof path, "%s/launch.json", dir);
    if (n < 0 || (size_t)n >= sizeof path) return etrt_fail(ETRT_IO, "the path is too long");
    etrt_status st = etrt_file_read(path, 0, MAX_LAUNCH_JSON, &text, &bytes);
    if (st != ETRT_OK) return st;
    st = etrt_json_parse(text, bytes, &root);
    free(text);
    if (st == ETRT_OK) st = read_all(dir, root, limit, out);
    json_decref(root);
    if (st == ETRT_OK) return ETRT_OK;
    launch_free(out);
    return etrt_fail_in(st, "%s", path);
}

void launch_free(struct launch *l) {
    for (size_t i = 0; i < l->nregions; i++) {
        free(l->regions[i].name);
        free(l->regions[i].before);
        free(l->regions[i].after);
    }
    free(l->regions);
    free(l->pointers);
    free(l->isa);
    free(l->status);
    free(l->symbol);
    free(l->code);
    free(l->kernarg);
    memset(l, 0, sizeof *l);
}
