/* Load a code object: read, check its manifest against the device, let the device load it. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/error.h"
#include "runtime/etrt/file.h"
#include "runtime/etrt/manifest/elf_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static etrt_status check_kernel(const etrt_model *m) {
    const struct etrt_manifest *mf = &m->manifest;
    if (m->code.kernarg_bytes > mf->kernarg_bytes)
        return etrt_fail(ETRT_FORMAT,
                         "kernel %s reads %u bytes of arguments, its manifest describes %u",
                         mf->kernel, m->code.kernarg_bytes, mf->kernarg_bytes);
    if (m->code.group_bytes > mf->lds_bytes)
        return etrt_fail(ETRT_FORMAT, "kernel %s takes %u bytes of LDS, its manifest says %u",
                         mf->kernel, m->code.group_bytes, mf->lds_bytes);
    if (mf->lds_bytes > m->device->lds_bytes)
        return etrt_fail(ETRT_UNSUPPORTED, "kernel %s needs %u bytes of LDS, %s has %u", mf->kernel,
                         mf->lds_bytes, m->device->name, m->device->lds_bytes);
    return ETRT_OK;
}

/* Weights and one session must fit, before anything of them is allocated: a host that overcommits
 * memory notices only when it is too late. The manifest's own limits keep the sum from wrapping. */
static etrt_status check_memory(const etrt_model *m) {
    const struct etrt_manifest *mf = &m->manifest;
    uint64_t need = mf->workspace_bytes + 2 * etrt_events_bytes(mf);
    for (int i = 0; i < mf->ntensors; i++)
        need += (uint64_t)mf->tensors[i].max_bytes;
    if (m->device->memory_bytes && need > m->device->memory_bytes)
        return etrt_fail(ETRT_NO_MEMORY, "needs %llu bytes of device memory, %s has %llu",
                         (unsigned long long)need, m->device->name,
                         (unsigned long long)m->device->memory_bytes);
    return ETRT_OK;
}

static etrt_status load(etrt_model *m) {
    uint64_t value = 0, lo = 0, hi = 0;
    char kd[512];
    etrt_status st = etrt_file_read(m->path, &m->elf, &m->elf_bytes);
    if (st != ETRT_OK) return st; /* names the file already */
    st = etrt_manifest_of_code(m->elf, m->elf_bytes, &m->manifest);
    if (st == ETRT_OK && strcmp(m->manifest.target, m->device->isa) != 0)
        st = etrt_fail(ETRT_MISMATCH, "compiled for %s, but the device is %s (%s)",
                       m->manifest.target, m->device->isa, m->device->name);
    if (st == ETRT_OK) {
        snprintf(kd, sizeof kd, "%s.kd", m->manifest.kernel);
        st = etrt_elf_symbol(m->elf, m->elf_bytes, kd, &value);
    }
    if (st == ETRT_OK) st = etrt_elf_extent(m->elf, m->elf_bytes, &lo, &hi);
    if (st == ETRT_OK)
        st = etrt_code_load(m->device, m->elf, m->elf_bytes, m->manifest.kernel, &m->code);
    if (st == ETRT_OK) st = check_kernel(m);
    if (st == ETRT_OK) st = check_memory(m);
    /* Where the loader put the code object follows from where it put the kernel descriptor. */
    if (st == ETRT_OK) {
        m->load_lo = m->code.kernel_object - value + lo;
        m->load_hi = m->code.kernel_object - value + hi;
    }
    if (st == ETRT_OK) st = etrt_weights_alloc(m);
    return st == ETRT_OK ? st : etrt_fail_in(st, "%s", m->path);
}

etrt_status etrt_model_load(etrt_device *device, const char *hsaco_path, etrt_model **out_model) {
    if (!out_model) return etrt_fail(ETRT_INVALID, "etrt_model_load: no place for the model");
    *out_model = NULL;
    if (!device || !hsaco_path)
        return etrt_fail(ETRT_INVALID, "etrt_model_load: no device or no path");
    etrt_status st = etrt_device_check(device);
    if (st != ETRT_OK) return st;
    etrt_model *m = calloc(1, sizeof *m);
    if (m) m->device = device;
    if (!m || !(m->path = strdup(hsaco_path))) {
        free(m);
        return etrt_fail(ETRT_NO_MEMORY, "out of host memory");
    }
    st = load(m);
    if (st != ETRT_OK) {
        etrt_model_unload(m);
        return st;
    }
    *out_model = m;
    return ETRT_OK;
}

void etrt_model_unload(etrt_model *m) {
    if (!m) return;
    for (int i = 0; m->weights && i < m->manifest.ntensors; i++)
        etrt_mem_free(m->device, m->weights[i]);
    free(m->weights);
    free(m->weight_given);
    etrt_code_unload(m->device, &m->code);
    etrt_manifest_free(&m->manifest);
    free(m->elf);
    free(m->path);
    free(m);
}

const char *etrt_model_name(const etrt_model *m) {
    return m ? m->manifest.model : "";
}

etrt_status etrt_model_dim(const etrt_model *m, int index, etrt_dim_info *out) {
    if (!m || !out) return etrt_fail(ETRT_INVALID, "etrt_model_dim: NULL argument");
    memset(out, 0, sizeof *out);
    if (index < 0 || index >= m->manifest.nsymbols)
        return etrt_fail(ETRT_RANGE, "%s has %d dims", m->manifest.model, m->manifest.nsymbols);
    const struct etrt_symbol *s = &m->manifest.symbols[index];
    *out = (etrt_dim_info){s->name, s->lo, s->hi};
    return ETRT_OK;
}

etrt_status etrt_model_tensor(const etrt_model *m, int index, etrt_tensor_info *out) {
    if (!m || !out) return etrt_fail(ETRT_INVALID, "etrt_model_tensor: NULL argument");
    memset(out, 0, sizeof *out);
    if (index < 0 || index >= m->manifest.ntensors)
        return etrt_fail(ETRT_RANGE, "%s has %d tensors", m->manifest.model, m->manifest.ntensors);
    const struct etrt_tensor *t = &m->manifest.tensors[index];
    *out = (etrt_tensor_info){t->name, t->kind, t->dtype, t->rank, t->max_bytes};
    return ETRT_OK;
}
