/* Sessions: the device memory of one user of a model, and copying tensors in and out. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- create ---- */

static bool make_arrays(etrt_session *s) {
    const struct etrt_manifest *mf = &s->model->manifest;
    size_t nsymbols = (size_t)mf->nsymbols + 1, ntensors = (size_t)mf->ntensors + 1;
    s->dims = calloc(nsymbols, sizeof *s->dims);
    s->dim_set = calloc(nsymbols, sizeof *s->dim_set);
    s->tensors = calloc(ntensors, sizeof *s->tensors);
    s->own = calloc(ntensors, sizeof *s->own);
    s->at_host = calloc(ntensors, sizeof *s->at_host);
    s->bound = calloc(ntensors, sizeof *s->bound);
    s->bound_size = calloc(ntensors, sizeof *s->bound_size);
    s->written = calloc(ntensors, sizeof *s->written);
    s->left_out = calloc((size_t)mf->nmodels + 1, sizeof *s->left_out);
    s->dispatch = calloc((size_t)etrt_launch_kernels(mf), sizeof *s->dispatch);
    s->pointers = etrt_kernarg_pointers(mf, &s->npointers);
    if (!s->dims || !s->dim_set || !s->tensors || !s->own || !s->at_host || !s->bound ||
        !s->bound_size || !s->written || !s->left_out || !s->dispatch || !s->pointers)
        return false;
    for (int i = 0; i < mf->nsymbols; i++) {
        s->dims[i] = mf->symbols[i].lo;
        s->dim_set[i] = mf->symbols[i].lo == mf->symbols[i].hi;
    }
    return true;
}

/* Memory whose contents a kernel must not rely on starts as NaNs, so that relying on it shows. */
enum { POISON = 0xFF };

static etrt_status make_memory(etrt_session *s, enum etrt_place place, uint64_t bytes,
                               const char *what, uint8_t fill, void **out) {
    etrt_device *dev = s->model->device;
    etrt_status st = etrt_mem_alloc(dev, place, bytes, what, out);
    if (st != ETRT_OK) return st;
    if (place == ETRT_ON_DEVICE || place == ETRT_FROM_PEERS)
        return etrt_mem_fill(dev, *out, fill, bytes);
    memset(*out, fill, bytes);
    return ETRT_OK;
}

/* An output of few bytes, which the kernel never reads, lies in the host's memory: a copy takes
 * longer to begin than the device to store them there. The host reads it when the launch has ended,
 * and no sooner. */
static enum etrt_place place_of(const struct etrt_manifest *mf, const struct etrt_tensor *t) {
    enum { FEW = 4096 };
    bool whole = !mf->resident && !mf->devices && mf->nmodels <= 1;
    return whole && t->stored && t->max_bytes <= FEW ? ETRT_ON_HOST : ETRT_ON_DEVICE;
}

static etrt_status make_tensors(etrt_session *s) {
    const struct etrt_manifest *mf = &s->model->manifest;
    etrt_status st = ETRT_OK;
    for (int i = 0; i < mf->ntensors && st == ETRT_OK; i++) {
        const struct etrt_tensor *t = &mf->tensors[i];
        if (t->kind == ETRT_WEIGHT)
            s->tensors[i] = s->model->weights[i];
        else
            st = make_memory(s, place_of(mf, t), (uint64_t)t->max_bytes, t->name,
                             t->kind == ETRT_STATE ? 0 : POISON, &s->own[i]);
        s->at_host[i] = t->kind != ETRT_WEIGHT && place_of(mf, t) == ETRT_ON_HOST;
        if (t->kind != ETRT_WEIGHT) s->tensors[i] = s->own[i];
    }
    return st;
}

static etrt_status make_launch_memory(etrt_session *s) {
    const struct etrt_manifest *mf = &s->model->manifest;
    uint64_t reports = mf->resident ? (uint64_t)etrt_models(mf) : 1;
    void *p[6] = {0};
    etrt_status st =
        make_memory(s, ETRT_ON_DEVICE, mf->workspace_bytes, "workspace", POISON, &p[0]);
    if (st == ETRT_OK && mf->resident) st = etrt_resident_make(s);
    for (int i = 1; i < 3 && st == ETRT_OK && !mf->resident; i++)
        st = make_memory(s, ETRT_ON_DEVICE, etrt_events_bytes(mf), "events", 0, &p[i]);
    if (st == ETRT_OK)
        st = make_memory(s, ETRT_ON_DEVICE, etrt_control_bytes(s->model->device), "control", 0,
                         &p[3]);
    if (st == ETRT_OK)
        st = make_memory(s, ETRT_ON_HOST, reports * sizeof(struct etrt_report), "report", 0, &p[4]);
    if (st == ETRT_OK)
        st =
            make_memory(s, ETRT_KERNARG, etrt_kernarg_pitch(mf) * (uint64_t)etrt_launch_kernels(mf),
                        "kernel arguments", 0, &p[5]);
    if (st == ETRT_OK && mf->inbox_bytes)
        st = make_memory(s, ETRT_FROM_PEERS, mf->inbox_bytes, "inbox", 0, &s->inbox);
    s->workspace = p[0];
    if (p[1]) s->events[0] = p[1];
    s->events[1] = p[2];
    s->control = p[3];
    s->report = p[4];
    s->kernarg = p[5];
    return st;
}

/* The default number of workgroups, from the environment. */
static uint32_t usual_workgroups(const etrt_device *dev) {
    const char *chosen = secure_getenv("ETRT_WORKGROUPS");
    unsigned long w = chosen ? strtoul(chosen, NULL, 10) : 0;
    return w < dev->cus ? (uint32_t)w : dev->cus;
}

etrt_status etrt_session_create(etrt_model *model, etrt_session **out_session) {
    if (!out_session) return etrt_fail(ETRT_INVALID, "etrt_session_create: no place for it");
    *out_session = NULL;
    if (!model) return etrt_fail(ETRT_INVALID, "etrt_session_create: no model");
    etrt_device *dev = model->device;
    etrt_status st = etrt_device_check(dev);
    if (st != ETRT_OK) return st;
    etrt_session *s = calloc(1, sizeof *s);
    if (!s) return etrt_no_memory();
    s->model = model;
    pthread_mutex_init(&s->lock, NULL);
    s->seconds = -1;
    s->workgroups_wanted = usual_workgroups(dev);
    s->wait_limit = dev->emulated ? 60 : 2;
    st = make_arrays(s) ? ETRT_OK : etrt_no_memory();
    if (st == ETRT_OK) st = make_tensors(s);
    if (st == ETRT_OK) st = make_launch_memory(s);
    if (st == ETRT_OK) st = dev->driver->ticket_make(dev, &s->ticket);
    if (st != ETRT_OK) {
        etrt_session_destroy(s);
        return st;
    }
    *out_session = s;
    return ETRT_OK;
}

void etrt_session_destroy(etrt_session *s) {
    if (!s) return;
    etrt_device *dev = s->model->device;
    etrt_residence_close(s->residence);
    if (s->in_flight) etrt_wait(s);
    etrt_watch_end(s);
    etrt_capture_drop(s);
    for (int i = 0; s->own && i < s->model->manifest.ntensors; i++)
        etrt_mem_free(dev, s->own[i]);
    etrt_mem_free(dev, s->workspace);
    etrt_mem_free(dev, s->inbox);
    etrt_mem_free(dev, s->events[0]);
    etrt_mem_free(dev, s->events[1]);
    etrt_mem_free(dev, s->mailbox);
    etrt_mem_free(dev, s->board);
    free(s->step);
    etrt_mem_free(dev, s->control);
    etrt_mem_free(dev, s->report);
    etrt_mem_free(dev, s->kernarg);
    etrt_mem_free(dev, s->trace);
    etrt_ticket_free(dev, s->ticket);
    free(s->dims);
    free(s->dim_set);
    free(s->tensors);
    free(s->own);
    free(s->at_host);
    free(s->bound);
    free(s->bound_size);
    free(s->written);
    free(s->left_out);
    free(s->dispatch);
    free(s->pointers);
    free(s->capture_dir);
    if (etrt_device_owned(dev)) pthread_mutex_destroy(&s->lock);
    free(s);
}

etrt_status etrt_session_idle(const etrt_session *s, const char *call) {
    if (!s) return etrt_fail(ETRT_INVALID, "%s: no session", call);
    etrt_status st = etrt_device_check(s->model->device);
    if (st != ETRT_OK) return st;
    if (s->residence)
        return etrt_fail(ETRT_INVALID, "%s: the session's kernel stays on the device", call);
    return s->in_flight ? etrt_fail(ETRT_INVALID, "%s: a launch is in flight already", call)
                        : ETRT_OK;
}

/* While a kernel stays what is free goes by models. */
etrt_status etrt_session_free(const etrt_session *s, const char *call, int model) {
    return s && s->residence ? etrt_residence_settled(s, call, model) : etrt_session_idle(s, call);
}

etrt_status etrt_session_settled(const etrt_session *s, const char *call, const char *tensor) {
    int i = s && tensor ? etrt_manifest_tensor(&s->model->manifest, tensor) : -1;
    if (s && s->residence && i >= 0)
        return etrt_residence_settled(s, call, s->model->manifest.tensors[i].model);
    if (!s || !s->in_flight) return etrt_session_idle(s, call);
    bool there = i >= 0 && s->model->manifest.tensors[i].kind == ETRT_OUTPUT && s->written[i] &&
                 etrt_mix_runs(s, s->model->manifest.tensors[i].model);
    return there ? etrt_device_check(s->model->device) : etrt_session_idle(s, call);
}

/* Everything that a launch needs of the model is there and fits. */
etrt_status etrt_model_ready(const etrt_session *s, int model) {
    const struct etrt_manifest *mf = &s->model->manifest;
    if (!etrt_weights_loaded(s->model, model))
        return etrt_fail(ETRT_UNBOUND, "the weights of model %s are not loaded",
                         mf->nmodels ? mf->models[model].name : mf->model);
    for (int i = 0; i < mf->nsymbols; i++)
        if (!s->dim_set[i] && mf->symbols[i].model == model)
            return etrt_fail(ETRT_INVALID, "dim %s (%lld..%lld) is not set", mf->symbols[i].name,
                             (long long)mf->symbols[i].lo, (long long)mf->symbols[i].hi);
    for (int i = 0; i < mf->ntensors; i++) {
        const struct etrt_tensor *t = &mf->tensors[i];
        int64_t shape[ETRT_MAX_RANK], bytes;
        if (t->model != model) continue;
        etrt_status st = etrt_session_now(s, t, shape, &bytes);
        if (st != ETRT_OK) return st;
        if (t->kind != ETRT_INPUT || bytes == 0) continue;
        if (!s->bound[i]) return etrt_fail(ETRT_UNBOUND, "input %s is not bound", t->name);
        if (s->bound_size[i] != bytes && s->bound_size[i] != ETRT_ANY_SIZE)
            return etrt_fail(ETRT_MISMATCH,
                             "input %s was bound with %lld bytes and needs %lld at these dims",
                             t->name, (long long)s->bound_size[i], (long long)bytes);
    }
    return ETRT_OK;
}

etrt_status etrt_session_ready(const etrt_session *s) {
    int running = 0;
    etrt_status st = ETRT_OK;
    for (int i = 0; i < etrt_models(&s->model->manifest) && st == ETRT_OK; i++)
        if (etrt_mix_runs(s, i)) {
            running++;
            st = etrt_model_ready(s, i);
        }
    return running ? st : etrt_fail(ETRT_INVALID, "no model is selected");
}

/* ---- knobs ---- */

etrt_status etrt_set_wait_limit(etrt_session *s, double seconds) {
    etrt_status st = etrt_session_idle(s, "etrt_set_wait_limit");
    if (st != ETRT_OK) return st;
    if (!isfinite(seconds) || seconds < 1e-6 || seconds > 1e6)
        return etrt_fail(ETRT_RANGE, "a wait limit of %g seconds is outside 1e-6..1e6", seconds);
    s->wait_limit = seconds;
    return ETRT_OK;
}

etrt_status etrt_set_workgroups(etrt_session *s, int workgroups) {
    etrt_status st = etrt_session_idle(s, "etrt_set_workgroups");
    if (st != ETRT_OK) return st;
    if (workgroups < 0 || (uint32_t)workgroups > s->model->device->cus)
        return etrt_fail(ETRT_RANGE, "%d workgroups cannot all be resident on the %u CUs of %s",
                         workgroups, s->model->device->cus, s->model->device->name);
    s->workgroups_wanted = (uint32_t)workgroups;
    return ETRT_OK;
}
