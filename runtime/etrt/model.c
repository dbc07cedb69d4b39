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
    etrt_status st = etrt_manifest_memory(&m->manifest, NULL, m->device->cus, &memory);
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

static etrt_status load(etrt_model *m) {
    etrt_status st = etrt_manifest_of_code(m->image, m->image_bytes, &m->manifest);
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

/* Of IMAGE, or where that is NULL of the file PATH; PATH is what failures name. */
static etrt_status make(etrt_device *device, const char *path, const void *image, size_t bytes,
                        etrt_model **out) {
    etrt_status st = etrt_device_check(etrt_device_itself(device));
    if (st != ETRT_OK) return st;
    etrt_model *m = calloc(1, sizeof *m);
    if (m) m->device = device;
    if (!m || !(m->path = strdup(path))) {
        free(m);
        return etrt_no_memory();
    }
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
    return make(device, path, NULL, 0, out_model);
}

etrt_status etrt_model_load_memory(etrt_device *device, const void *image, size_t bytes,
                                   etrt_model **out_model) {
    if (!out_model) return etrt_fail(ETRT_INVALID, "etrt_model_load_memory: no place for it");
    *out_model = NULL;
    if (!device || !image)
        return etrt_fail(ETRT_INVALID, "etrt_model_load_memory: no device or no image");
    return make(device, "code in memory", image, bytes, out_model);
}

void etrt_model_unload(etrt_model *m) {
    if (!m) return;
    for (int i = 0; m->weights && i < m->manifest.ntensors; i++)
        etrt_mem_free(m->device, m->weights[i]);
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
