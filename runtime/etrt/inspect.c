#include "runtime/etrt/inspect.h"

#include "runtime/etrt/cache.h"
#include "runtime/etrt/residence.h"

#include <string.h>

const struct etrt_manifest *etrt_model_manifest(const etrt_model *m) {
    return &m->manifest;
}

uint32_t etrt_device_cus(const etrt_device *dev) {
    return etrt_device_itself(dev)->cus;
}

bool etrt_device_counted(const etrt_device *dev) {
    return etrt_device_itself(dev)->counted;
}

etrt_status etrt_session_shape(const etrt_session *s, const struct etrt_tensor *t,
                               int64_t out_shape[ETRT_MAX_RANK], int64_t *out_bytes) {
    etrt_status st = etrt_tensor_shape(t, s->dims, out_shape, out_bytes);
    if (st == ETRT_OK) etrt_whole(&s->model->manifest, t, out_shape, out_bytes);
    return st;
}

etrt_status etrt_session_peek(const etrt_session *s, int index, uint64_t offset, void *out,
                              uint64_t bytes) {
    const char *from = index == ETRT_WORKSPACE ? s->workspace : s->tensors[index];
    return etrt_mem_read(s->model->device, out, from + offset, bytes);
}

bool etrt_model_given(const etrt_model *m, int index) {
    return *etrt_weight_given(m, index);
}

etrt_status etrt_model_poke(etrt_model *m, int index, uint64_t offset, const void *data,
                            uint64_t bytes) {
    char *to = m->weights[index], *hosted = m->hosted[index];
    etrt_status st = ETRT_OK;
    bool last = offset + bytes == (uint64_t)m->manifest.tensors[index].max_bytes;
    if (hosted)
        memcpy(hosted + offset, data, bytes);
    else
        st = etrt_mem_write(m->device, to + offset, data, bytes);
    if (hosted && last) st = etrt_cache_fill(m);
    *etrt_weight_given(m, index) |= st == ETRT_OK && last;
    return st;
}

bool etrt_residence_halved(etrt_residence *r, int model, int64_t *out_steps) {
    pthread_mutex_lock(&r->lock);
    bool halved = r->seat[model].halved;
    *out_steps = r->seat[model].halves;
    pthread_mutex_unlock(&r->lock);
    return halved;
}

bool etrt_residence_begun(etrt_residence *r, int model, struct etrt_part *out) {
    pthread_mutex_lock(&r->lock);
    bool begun = r->seat[model].state != HELD;
    *out = r->seat[model].on;
    pthread_mutex_unlock(&r->lock);
    return begun;
}
