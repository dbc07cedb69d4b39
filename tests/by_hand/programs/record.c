#include "tests/by_hand/programs/record.h"
#include "ir/graph/op_util.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000 };

struct recording {
    struct etrt_st_tensor tensor[MOST];
    size_t count;
};

static void add(recording *r, const char *name, const char *type, int64_t count, const void *data,
                size_t bytes) {
    if (r->count == MOST) abort();
    r->tensor[r->count++] = (struct etrt_st_tensor){.name = strdup(name),
                                                    .dtype = type,
                                                    .rank = 1,
                                                    .shape = {count},
                                                    .data = memcpy(malloc(bytes + 1), data, bytes),
                                                    .bytes = bytes};
}

recording *record_begin(double bound) {
    recording *r = calloc(1, sizeof *r);
    float f = (float)bound;
    if (!r) abort();
    add(r, "bound", "F32", 1, &f, sizeof f);
    return r;
}

void record_add(recording *r, const char *name, et_dtype type, int64_t count, const void *data) {
    size_t bytes = (size_t)et_dtype_size(type, count);
    bool whole = et_dtype_bits(type) >= 8;
    add(r, name, whole ? et_dtype_safetensors(type) : "U8", whole ? count : (int64_t)bytes, data,
        bytes);
}

bool record_end(recording *r, const char *path) {
    char err[ETRT_ST_ERR];
    bool ok = etrt_st_write(path, r->tensor, r->count, err, sizeof err);
    if (!ok) printf("%s\n", err);
    for (size_t i = 0; i < r->count; i++) {
        free((char *)r->tensor[i].name);
        free((void *)r->tensor[i].data);
    }
    free(r);
    return ok;
}
