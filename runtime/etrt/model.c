/* Load a file of code: read, check its manifest against the device, let the device load it. */
#include "runtime/etrt/cache.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt/base/file.h"

#include <stdlib.h>
#include <string.h>

static etrt_status check_kernel(const etrt_model *m, const struct etrt_code *code, const char *name,
                                uint32_t lds_bytes) {
    const struct etrt_manifest *mf = &m->manifest;
    if (code->kernarg_bytes > mf->kernarg_bytes)
        return etrt_fail(ETRT_FORMAT,
                         "kernel %s reads %u bytes of arguments, its manifest describes %u", name,
                         code->kernarg_bytes, mf->kernarg_bytes);
    if (code->group_bytes > lds_bytes)
        return etrt_fail(ETRT_FORMAT, "kernel %s takes %u bytes of LDS, its manifest says %u", name,
                         code->group_bytes, lds_bytes);
    if (lds_bytes > m->device->lds_bytes)
        return etrt_fail(ETRT_UNSUPPORTED, "kernel %s needs %u bytes of LDS, %s has %u", name,
                         lds_bytes, m->device->name, m->device->lds_bytes);
    return ETRT_OK;
}

static etrt_status check_kernels(const etrt_model *m) {
    const struct etrt_manifest *mf = &m->manifest;
    etrt_status st = check_kernel(m, &m->code, mf->kernel, mf->lds_bytes);
    for (int i = 0; st == ETRT_OK && i < mf->nkernels; i++)
        st = check_kernel(m, &m->kernels[i], mf->kernels[i].symbol, mf->kernels[i].lds_bytes);
    return st;
}

/* Weights and one session must fit, before anything of them is allocated: a host that overcommits
 * memory notices only when it is too late. The manifest's own limits keep the sum from wrapping. */
static etrt_status check_memory(const etrt_model *m) {
    struct etrt_memory memory;
    etrt_status st = etrt_model_memory(m, NULL, &memory);
    uint64_t need = memory.weights + memory.session, have = m->device->memory_bytes;
    if (st == ETRT_OK && have && need > have)
        st = etrt_fail(ETRT_NO_MEMORY, "needs %llu bytes of device memory, %s has %llu",
                       (unsigned long long)need, m->device->name, (unsigned long long)have);
    return st;
}

static etrt_status check_devices(const etrt_model *m) {
    int need = m->manifest.devices ? m->manifest.devices : 1, have = etrt_members(m->device);
    if (need == have) return ETRT_OK;
    return etrt_fail(ETRT_MISMATCH, "compiled for %d device%s, and %s %s %d", need,
                     need == 1 ? "" : "s", m->device->name, have == 1 ? "is" : "are", have);
}

/* ---- two kernels of a model ---- */

static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Are the bytes of weight A those of B, given the same? Of what is in host memory, or has a map or
 * a packed copy, each kernel keeps its own. */
static bool laid_out_alike(const struct etrt_tensor *a, const struct etrt_tensor *b) {
    int64_t of_a[ETRT_MAX_RANK], of_b[ETRT_MAX_RANK], bytes;
    bool plain = !a->zeros.columns && !b->zeros.columns && !a->packed.matrices &&
                 !b->packed.matrices && !a->entries && !b->entries;
    bool same = plain && a->kind == ETRT_WEIGHT && b->kind == ETRT_WEIGHT && a->dtype == b->dtype &&
                a->rank == b->rank && a->max_bytes == b->max_bytes && a->nloops == b->nloops &&
                a->cut == b->cut && a->repeat == b->repeat && a->from == b->from &&
                a->of == b->of && a->relaid == b->relaid && same_text(a->source, b->source) &&
                etrt_tensor_shape(a, NULL, of_a, &bytes) == ETRT_OK &&
                etrt_tensor_shape(b, NULL, of_b, &bytes) == ETRT_OK;
    for (int d = 0; same && d < a->rank; d++)
        same = of_a[d] == of_b[d] && (!a->relaid || a->order[d] == b->order[d]);
    for (int i = 0; same && i < a->nloops; i++)
        same = same_text(a->loops[i].name, b->loops[i].name) && a->loops[i].lo == b->loops[i].lo &&
               a->loops[i].hi == b->loops[i].hi;
    return same;
}

/* Which weights are those of the model's first kernel. */
static etrt_status borrow(etrt_model *m) {
    const struct etrt_manifest *mf = &m->manifest, *of = m->first ? &m->first->manifest : NULL;
    if (!of) return ETRT_OK;
    if (strcmp(mf->model, of->model) != 0 || mf->devices != of->devices)
        return etrt_fail(ETRT_MISMATCH, "a kernel of %s, and not of %s", mf->model, of->model);
    m->lent = malloc(((size_t)mf->ntensors + 1) * sizeof *m->lent);
    if (!m->lent) return etrt_no_memory();
    for (int i = 0; i < mf->ntensors; i++) {
        int k = etrt_manifest_tensor(of, mf->tensors[i].name);
        m->lent[i] = k >= 0 && laid_out_alike(&mf->tensors[i], &of->tensors[k]) ? k : -1;
    }
    return ETRT_OK;
}

static etrt_status load(etrt_model *m) {
    etrt_status st = etrt_manifest_of_code(m->image, m->image_bytes, &m->manifest);
    if (st == ETRT_OK) st = borrow(m);
    if (st == ETRT_OK) st = etrt_device_accept(&m->device, m->manifest.target);
    etrt_device *dev = m->device;
    if (st == ETRT_OK) st = check_devices(m);
    if (st == ETRT_OK)
        st = etrt_code_load(dev, m->image, m->image_bytes, m->manifest.kernel, &m->code);
    if (st == ETRT_OK) st = etrt_sequence_load(m);
    if (st == ETRT_OK) st = check_kernels(m);
    if (st == ETRT_OK) st = check_memory(m);
    if (st == ETRT_OK) st = etrt_weights_alloc(m);
    return st == ETRT_OK ? st : etrt_fail_in(st, "%s", m->path);
}

/* A copy of an image, since what becomes of the caller's is the caller's affair. */
static etrt_status copy_image(etrt_model *m, const void *image, size_t bytes) {
    if (bytes > ETRT_MAX_CODE)
        return etrt_fail(ETRT_FORMAT, "%s: has %zu bytes, not 0 to %d", m->path, bytes,
                         ETRT_MAX_CODE);
    m->image = malloc(bytes + 1);
    if (!m->image) return etrt_no_memory();
    memcpy(m->image, image, bytes);
    m->image_bytes = bytes;
    return ETRT_OK;
}

/* Of IMAGE, or where that is NULL of the file PATH; PATH is what failures name. FIRST may be NULL.
 */
static etrt_status make(etrt_device *device, etrt_model *first, const char *path, const void *image,
                        size_t bytes, etrt_model **out) {
    etrt_status st = etrt_device_check(etrt_device_itself(device));
    if (st != ETRT_OK) return st;
    etrt_model *m = calloc(1, sizeof *m);
    if (m) m->device = device;
    if (!m || !(m->path = strdup(path))) {
        free(m);
        return etrt_no_memory();
    }
    atomic_init(&m->users, 1);
    m->first = first;
    if (first) atomic_fetch_add(&first->users, 1);
    st = image ? copy_image(m, image, bytes)
               : etrt_file_read(path, 0, ETRT_MAX_CODE, &m->image, &m->image_bytes);
    if (st == ETRT_OK) st = load(m);
    if (st == ETRT_OK)
        *out = m;
    else
        etrt_model_unload(m);
    return st;
}

etrt_status etrt_model_load(etrt_device *device, const char *path, etrt_model **out_model) {
    if (!out_model) return etrt_fail(ETRT_INVALID, "etrt_model_load: no place for the model");
    *out_model = NULL;
    if (!device || !path) return etrt_fail(ETRT_INVALID, "etrt_model_load: no device or no path");
    return make(device, NULL, path, NULL, 0, out_model);
}

etrt_status etrt_model_load_with(etrt_model *first, const char *path, etrt_model **out_model) {
    if (!out_model) return etrt_fail(ETRT_INVALID, "etrt_model_load_with: no place for the model");
    *out_model = NULL;
    if (!first || !path)
        return etrt_fail(ETRT_INVALID, "etrt_model_load_with: no first kernel or no path");
    /* Of a chain, the one that has the memory. */
    return make(first->device, first->first ? first->first : first, path, NULL, 0, out_model);
}

etrt_status etrt_model_load_memory(etrt_device *device, const void *image, size_t bytes,
                                   etrt_model **out_model) {
    if (!out_model) return etrt_fail(ETRT_INVALID, "etrt_model_load_memory: no place for it");
    *out_model = NULL;
    if (!device || !image)
        return etrt_fail(ETRT_INVALID, "etrt_model_load_memory: no device or no image");
    return make(device, NULL, "code in memory", image, bytes, out_model);
}

void etrt_model_unload(etrt_model *m) {
    if (!m || atomic_fetch_sub(&m->users, 1) > 1) return;
    for (int i = 0; m->weights && i < m->manifest.ntensors; i++)
        if (!m->first || m->lent[i] < 0) etrt_mem_free(m->device, m->weights[i]);
    etrt_model_unload(m->first);
    free(m->lent);
    etrt_cache_free(m);
    free(m->weights);
    free(m->hosted);
    free(m->weight_given);
    free(m->weight_zero);
    etrt_code_unload(m->device, &m->code);
    etrt_manifest_free(&m->manifest);
    free(m->kernels);
    free(m->image);
    free(m->path);
    free(m);
}

const char *etrt_model_name(const etrt_model *m) {
    return m ? m->manifest.model : "";
}
