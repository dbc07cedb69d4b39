#include "runtime/etrt/manifest/manifest.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt/manifest/container.h"
#include "runtime/etrt_abi.h"
#include "runtime/etrt_dtype.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By enum etrt_kind. */
static const char kinds[][7] = {
    [ETRT_INPUT] = "input",
    [ETRT_OUTPUT] = "output",
    [ETRT_WEIGHT] = "weight",
    [ETRT_STATE] = "state",
};

/* By enum etrt_dtype, whose members stand in the order of the rows. Names in it, rather than
 * pointers to them, need no relocations. */
static const struct {
    char text[7], safetensors[8];
    unsigned char bits;
} dtypes[] = {
#define X(NAME, name, safetensors, bits, is_float) [ETRT_##NAME] = {#name, safetensors, bits},
    ETRT_DTYPES(X)
#undef X
};
#define X(NAME, name, safetensors, bits, is_float)                                                 \
    _Static_assert((int)ETRT_##NAME == (int)ETRT_ROW_##NAME, "etrt.h: " #NAME);
ETRT_DTYPES(X)
#undef X

const char *etrt_kind_name(enum etrt_kind kind) {
    return kinds[kind];
}
const char *etrt_dtype_name(enum etrt_dtype d) {
    return dtypes[d].text;
}
const char *etrt_dtype_safetensors(enum etrt_dtype d) {
    return dtypes[d].safetensors;
}
size_t etrt_dtype_bits(enum etrt_dtype d) {
    return dtypes[d].bits;
}
size_t etrt_dtype_bytes(enum etrt_dtype d) {
    return (dtypes[d].bits + 7u) / 8;
}

bool etrt_kind_find(const char *name, enum etrt_kind *out) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i], name) == 0) {
            *out = (enum etrt_kind)i;
            return true;
        }
    return false;
}

bool etrt_dtype_find(const char *name, enum etrt_dtype *out) {
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].text, name) == 0) {
            *out = (enum etrt_dtype)i;
            return true;
        }
    return false;
}

/* ---- shapes ---- */

etrt_status etrt_tensor_shape(const struct etrt_tensor *t, const int64_t *values,
                              int64_t out_shape[ETRT_MAX_RANK], int64_t *out_bytes) {
    int64_t bits = (int64_t)etrt_dtype_bits(t->dtype);
    bool empty = false;
    for (int d = 0; d < t->rank; d++) {
        int64_t n;
        if (!etrt_expr_eval(&t->shape[d], values, &n))
            return etrt_fail(ETRT_RANGE, "tensor %s: dimension %d overflows or divides by zero",
                             t->name, d);
        if (n < 0)
            return etrt_fail(ETRT_RANGE, "tensor %s: dimension %d is %lld", t->name, d,
                             (long long)n);
        out_shape[d] = n;
        if (n == 0) empty = true;
        if (n && __builtin_mul_overflow(bits, n, &bits)) bits = INT64_MAX;
    }
    int64_t bytes = bits / 8 + (bits % 8 != 0);
    if (bytes > ETRT_MAX_BYTES && !empty)
        return etrt_fail(ETRT_RANGE, "tensor %s: larger than %lld bytes", t->name,
                         (long long)ETRT_MAX_BYTES);
    *out_bytes = empty ? 0 : bytes;
    return ETRT_OK;
}

uint64_t etrt_tensor_memory(const struct etrt_tensor *t) {
    if (t->entries) return 8 * (uint64_t)(1 + t->entries);
    if (t->packed.matrices) return t->packed.at + t->packed.bytes;
    return t->zeros.columns ? t->zeros.at + t->zeros.bytes : (uint64_t)t->max_bytes;
}

uint64_t etrt_tensor_host(const struct etrt_tensor *t) {
    return t->entries ? (uint64_t)t->max_bytes : 0;
}

etrt_status etrt_manifest_of_code(const void *file, size_t bytes, struct etrt_manifest *out) {
    const char *text;
    char *owned;
    size_t text_bytes;
    memset(out, 0, sizeof *out);
    etrt_status st = etrt_container_manifest(file, bytes, &text, &text_bytes, &owned);
    if (st == ETRT_OK) st = etrt_manifest_parse(text, text_bytes, out);
    free(owned);
    return st;
}

static void free_tensor(struct etrt_tensor *t) {
    free(t->name);
    free(t->source);
    for (int d = 0; d < ETRT_MAX_RANK; d++) {
        etrt_expr_free(&t->shape[d]);
        free(t->loops[d].name);
    }
}

void etrt_manifest_free(struct etrt_manifest *m) {
    free(m->etcc);
    free(m->target);
    free(m->model);
    free(m->source_hash);
    free(m->schedule);
    free(m->kernel);
    for (int i = 0; i < m->nmodels; i++)
        free(m->models[i].name);
    for (int i = 0; i < m->nsymbols; i++)
        free(m->symbols[i].name);
    for (int i = 0; i < m->ntensors; i++)
        free_tensor(&m->tensors[i]);
    for (int i = 0; i < m->ntemporaries; i++)
        free_tensor(&m->temporaries[i].tensor);
    for (int i = 0; i < m->nevents; i++)
        free(m->events[i].name);
    for (int i = 0; i < m->ntasks; i++)
        free(m->tasks[i]);
    for (int i = 0; i < m->nkernels; i++) {
        free(m->kernels[i].symbol);
        for (int d = 0; d < ETRT_MAX_RANK; d++)
            etrt_expr_free(&m->kernels[i].tiles[d]);
    }
    for (int i = 0; i < m->nsequences; i++) {
        for (int k = 0; k < m->sequences[i].nsteps; k++)
            if (m->sequences[i].steps[k].varies) etrt_expr_free(&m->sequences[i].steps[k].until);
        free(m->sequences[i].steps);
    }
    free(m->kernels);
    free(m->sequences);
    free(m->models);
    free(m->paces);
    free(m->symbols);
    free(m->tensors);
    free(m->temporaries);
    free(m->events);
    free(m->tasks);
    memset(m, 0, sizeof *m);
}

int etrt_manifest_tensor(const struct etrt_manifest *m, const char *name) {
    for (int i = 0; i < m->ntensors; i++)
        if (strcmp(m->tensors[i].name, name) == 0) return i;
    return -1;
}

int etrt_manifest_model(const struct etrt_manifest *m, const char *name) {
    for (int i = 0; i < m->nmodels; i++)
        if (strcmp(m->models[i].name, name) == 0) return i;
    return -1;
}

int etrt_manifest_symbol(const struct etrt_manifest *m, const char *name) {
    for (int i = 0; i < m->nsymbols; i++)
        if (strcmp(m->symbols[i].name, name) == 0) return i;
    return -1;
}
