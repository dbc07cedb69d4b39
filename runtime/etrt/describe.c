/* What a model says of itself: dims, tensors, where weights come from, the memory it needs. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static etrt_status no_place(const char *call) {
    return etrt_fail(ETRT_INVALID, "%s: no place for the answer", call);
}

etrt_status etrt_model_dim(const etrt_model *m, int index, etrt_dim_info *out) {
    if (!m || !out) return etrt_fail(ETRT_INVALID, "etrt_model_dim: NULL argument");
    memset(out, 0, sizeof *out);
    if (index < 0 || index >= m->manifest.nsymbols)
        return etrt_fail(ETRT_RANGE, "%s has %d dims", m->manifest.model, m->manifest.nsymbols);
    const struct etrt_symbol *s = &m->manifest.symbols[index];
    *out = (etrt_dim_info){s->name, s->lo, s->hi, s->tile, s->chunk};
    return ETRT_OK;
}

/* Tensor INDEX, for CALL; NULL leaves the reason. */
static const struct etrt_tensor *tensor_at(const etrt_model *m, const char *call, int index,
                                           etrt_status *out) {
    *out = ETRT_OK;
    if (!m)
        *out = etrt_fail(ETRT_INVALID, "%s: no model", call);
    else if (index < 0 || index >= m->manifest.ntensors)
        *out = etrt_fail(ETRT_RANGE, "%s has %d tensors", m->manifest.model, m->manifest.ntensors);
    return *out == ETRT_OK ? &m->manifest.tensors[index] : NULL;
}

etrt_status etrt_model_tensor(const etrt_model *m, int index, etrt_tensor_info *out) {
    etrt_status st;
    if (!out) return no_place("etrt_model_tensor");
    memset(out, 0, sizeof *out);
    const struct etrt_tensor *t = tensor_at(m, "etrt_model_tensor", index, &st);
    if (!t) return st;
    *out =
        (etrt_tensor_info){t->name, t->kind, t->dtype, t->rank, t->max_bytes, t->source, t->nloops};
    return ETRT_OK;
}

/* DIMS as the caller has them, or the upper bounds, to be freed. */
static etrt_status values_of(const struct etrt_manifest *mf, const int64_t *dims, int64_t **out) {
    *out = calloc((size_t)mf->nsymbols + 1, sizeof **out);
    if (!*out) return etrt_no_memory();
    for (int i = 0; i < mf->nsymbols; i++) {
        const struct etrt_symbol *s = &mf->symbols[i];
        int64_t value = dims ? dims[i] : s->hi;
        etrt_status st = etrt_dim_check(s, value);
        if (st != ETRT_OK) return st;
        (*out)[i] = value;
    }
    return ETRT_OK;
}

etrt_status etrt_model_shape(const etrt_model *m, int index, const int64_t *dims,
                             int64_t out_shape[ETRT_MAX_RANK], int64_t *out_bytes) {
    etrt_status st;
    int64_t *values = NULL;
    if (!out_shape || !out_bytes) return no_place("etrt_model_shape");
    memset(out_shape, 0, ETRT_MAX_RANK * sizeof *out_shape);
    *out_bytes = 0;
    const struct etrt_tensor *t = tensor_at(m, "etrt_model_shape", index, &st);
    if (st == ETRT_OK) st = values_of(&m->manifest, dims, &values);
    if (st == ETRT_OK) st = etrt_tensor_shape(t, values, out_shape, out_bytes);
    if (st == ETRT_OK) etrt_whole(&m->manifest, t, out_shape, out_bytes);
    free(values);
    return st;
}

/* ---- texts ---- */

static etrt_status give_text(const char *call, const char *text, char *out, size_t room) {
    size_t n = strlen(text) + 1;
    if (n > room) return etrt_fail(ETRT_RANGE, "%s: %zu bytes are needed, not %zu", call, n, room);
    memcpy(out, text, n);
    return ETRT_OK;
}

etrt_status etrt_model_shape_text(const etrt_model *m, int index, char *out_text, size_t room) {
    etrt_status st;
    char *text = NULL;
    size_t bytes;
    if (!out_text || !room) return no_place("etrt_model_shape_text");
    *out_text = 0;
    const struct etrt_tensor *t = tensor_at(m, "etrt_model_shape_text", index, &st);
    if (!t) return st;
    FILE *f = open_memstream(&text, &bytes);
    if (f) etrt_shape_print(f, &m->manifest, t);
    st = f && fclose(f) == 0 ? give_text("etrt_model_shape_text", text, out_text, room)
                             : etrt_no_memory();
    free(text);
    return st;
}

etrt_status etrt_model_source(const etrt_model *m, int index, int64_t slice, char *out_text,
                              size_t room) {
    etrt_status st;
    char name[ETRT_SLICE_NAME];
    if (!out_text || !room) return no_place("etrt_model_source");
    *out_text = 0;
    const struct etrt_tensor *t = tensor_at(m, "etrt_model_source", index, &st);
    if (t && t->kind != ETRT_WEIGHT)
        st = etrt_fail(ETRT_INVALID, "etrt_model_source: %s is no weight but %s", t->name,
                       etrt_kind_name(t->kind));
    if (st == ETRT_OK) st = etrt_slice_name(t, slice, name, sizeof name);
    return st == ETRT_OK ? give_text("etrt_model_source", name, out_text, room) : st;
}

/* ---- memory ---- */

etrt_status etrt_manifest_memory(const struct etrt_manifest *mf, const int64_t *dims, uint32_t cus,
                                 etrt_memory *out) {
    int64_t *values, shape[ETRT_MAX_RANK], bytes;
    etrt_memory r = {.workspace = mf->workspace_bytes + mf->inbox_bytes};
    *out = (etrt_memory){0};
    etrt_status st = values_of(mf, dims, &values);
    for (int i = 0; st == ETRT_OK && i < mf->ntensors; i++) {
        const struct etrt_tensor *t = &mf->tensors[i];
        bool weight = t->kind == ETRT_WEIGHT;
        r.weights += 4 * (uint64_t)t->entries;
        r.host += etrt_tensor_host(t);
        if (!weight) r.session += (uint64_t)t->max_bytes;
        st = etrt_tensor_shape(t, values, shape, &bytes);
        *(weight                  ? &r.weights
          : t->kind == ETRT_STATE ? &r.states
          : t->kind == ETRT_INPUT ? &r.inputs
                                  : &r.outputs) += weight ? etrt_tensor_memory(t) : (uint64_t)bytes;
    }
    free(values);
    r.session += r.workspace + etrt_resident_bytes(mf) + sizeof(struct etrt_control) +
                 (uint64_t)cus * sizeof(struct etrt_placement);
    if (st == ETRT_OK) *out = r;
    return st;
}

etrt_status etrt_model_memory(const etrt_model *m, const int64_t *dims, etrt_memory *out) {
    if (!m || !out) return etrt_fail(ETRT_INVALID, "etrt_model_memory: NULL argument");
    etrt_status st = etrt_manifest_memory(&m->manifest, dims, m->device->cus, out);
    for (int i = 0; st == ETRT_OK && m->first && i < m->manifest.ntensors; i++)
        if (m->lent[i] >= 0) out->weights -= etrt_tensor_memory(&m->manifest.tensors[i]);
    return st;
}

etrt_status etrt_memory_needed(const void *image, size_t bytes, etrt_memory *out) {
    struct etrt_manifest mf;
    if (!image || !out) return etrt_fail(ETRT_INVALID, "etrt_memory_needed: NULL argument");
    memset(out, 0, sizeof *out);
    etrt_status st = etrt_manifest_of_code(image, bytes, &mf);
    if (st != ETRT_OK) return st;
    st = etrt_manifest_memory(&mf, NULL, 0, out);
    etrt_manifest_free(&mf);
    return st;
}

etrt_status etrt_memory_needed_file(const char *path, etrt_memory *out) {
    void *image;
    size_t bytes;
    if (!path || !out) return etrt_fail(ETRT_INVALID, "etrt_memory_needed_file: NULL argument");
    memset(out, 0, sizeof *out);
    etrt_status st = etrt_file_read(path, 0, ETRT_MAX_CODE, &image, &bytes);
    if (st != ETRT_OK) return st;
    st = etrt_memory_needed(image, bytes, out);
    free(image);
    return st == ETRT_OK ? st : etrt_fail_in(st, "%s", path);
}
