/* The calls of etrt.h about kernels that stay; and the thread behind the descriptor, which looks
 * after steps and writes to it. */
#include "runtime/etrt/residence.h"

#include "runtime/etrt/base/error.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* ---- the descriptor ---- */

static bool has_steps(const struct etrt_residence *r) {
    bool any = false;
    for (int i = 0; i < r->models; i++)
        any |= r->seat[i].state == HELD || r->seat[i].state == POSTED;
    return any;
}

static void *watch(void *of) {
    enum { NAP = 10000, SELDOM = 32 };
    struct etrt_residence *r = of;
    pthread_mutex_lock(&r->lock);
    for (uint32_t looks = 0; !r->quit; looks++) {
        if (!has_steps(r)) {
            pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        etrt_residence_tend(r, looks % SELDOM == 0);
        pthread_mutex_unlock(&r->lock);
        nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* Signals are for the program's own threads. */
static etrt_status start_thread(struct etrt_residence *r) {
    sigset_t all, before;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), error = fd < 0 ? errno : 0;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_cond_init(&r->changed, NULL);
    if (!error) error = pthread_create(&r->thread, NULL, watch, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error) {
        r->fd = fd;
        return ETRT_OK;
    }
    if (fd >= 0) close(fd);
    return etrt_fail(ETRT_NO_MEMORY, "cannot watch steps: %s", strerror(error));
}

etrt_status etrt_residence_fd(etrt_residence *r, int *out_fd) {
    if (!r || !out_fd) return etrt_fail(ETRT_INVALID, "etrt_residence_fd: NULL argument");
    *out_fd = -1;
    etrt_status st = etrt_device_check(r->s->model->device);
    if (st != ETRT_OK) return st;
    pthread_mutex_lock(&r->lock);
    if (r->fd < 0) st = start_thread(r);
    *out_fd = r->fd;
    pthread_mutex_unlock(&r->lock);
    return st;
}

/* A child of fork has the descriptor and not the thread. */
static void unwatch(struct etrt_residence *r) {
    if (r->fd < 0) return;
    if (etrt_device_owned(r->s->model->device)) {
        pthread_mutex_lock(&r->lock);
        r->quit = true;
        pthread_cond_signal(&r->changed);
        pthread_mutex_unlock(&r->lock);
        pthread_join(r->thread, NULL);
        pthread_cond_destroy(&r->changed);
    }
    close(r->fd);
    r->fd = -1;
}

/* ---- open and close ---- */

static etrt_status check(const etrt_session *s, etrt_ranges ranges) {
    static const char call[] = "etrt_residence_open";
    etrt_status st = etrt_session_idle(s, call);
    if (st != ETRT_OK) return st;
    const etrt_device *dev = s->model->device;
    uint32_t workgroups = s->workgroups_wanted ? s->workgroups_wanted : dev->cus;
    if (ranges != ETRT_RANGES_ELASTIC && ranges != ETRT_RANGES_FIXED)
        return etrt_fail(ETRT_RANGE, "%s: no such ranges: %d", call, (int)ranges);
    if (!s->model->manifest.resident || !(dev->can & ETRT_CAN_COMPUTE))
        return etrt_fail(ETRT_UNSUPPORTED, "%s: %s", call,
                         dev->can & ETRT_CAN_COMPUTE ? "the model was compiled without --resident"
                                                     : "nothing stays on a device that computes "
                                                       "nothing");
    if (workgroups < (uint32_t)etrt_models(&s->model->manifest))
        return etrt_fail(ETRT_UNSUPPORTED, "%s: %d models need as many workgroups, not %u", call,
                         s->model->manifest.nmodels, workgroups);
    if (atomic_load(&dev->resident))
        return etrt_fail(ETRT_INVALID, "%s: another session's kernel stays on the device", call);
    return ETRT_OK;
}

etrt_status etrt_residence_open(etrt_session *s, etrt_ranges ranges, etrt_residence **out) {
    if (!out) return etrt_fail(ETRT_INVALID, "etrt_residence_open: no place for it");
    *out = NULL;
    etrt_status st = check(s, ranges);
    if (st != ETRT_OK) return st;
    struct etrt_residence *r = calloc(1, sizeof *r), *none = NULL;
    if (!r) return etrt_no_memory();
    etrt_device *dev = s->model->device;
    r->s = s;
    r->fd = -1;
    r->ranges = ranges;
    r->changes = 2000;
    r->models = etrt_models(&s->model->manifest);
    pthread_mutex_init(&r->lock, NULL);
    if (!atomic_compare_exchange_strong(&dev->resident, &none, r)) {
        pthread_mutex_destroy(&r->lock);
        free(r);
        st = check(s, ranges);
        return st != ETRT_OK ? st
                             : etrt_fail(ETRT_INVALID, "etrt_residence_open: another one opens");
    }
    s->workgroups = s->workgroups_wanted ? s->workgroups_wanted : dev->cus;
    memset(s->report, 0, (size_t)r->models * sizeof *s->report);
    memset(s->left_out, 0, (size_t)r->models);
    etrt_make_homes(r);
    s->residence = r;
    *out = r;
    return ETRT_OK;
}

etrt_status etrt_residence_close(etrt_residence *r) {
    if (!r) return ETRT_OK;
    etrt_session *s = r->s;
    etrt_device *dev = s->model->device;
    bool each = r->seat[0].each;
    unwatch(r);
    if (etrt_device_owned(dev)) {
        pthread_mutex_lock(&r->lock);
        for (int i = 0; i < r->models; i++)
            if (r->seat[i].state == HELD) r->seat[i].state = FREE;
        if (!each) etrt_residence_quiet(r);
        pthread_mutex_unlock(&r->lock);
        pthread_mutex_destroy(&r->lock);
    }
    if (each)
        etrt_each_close(r);
    else
        atomic_store(&dev->resident, NULL);
    s->residence = NULL;
    s->tags_open |= atomic_load(&dev->broken);
    free(r);
    return etrt_device_check(dev);
}

/* ---- steps ---- */

static const char *name_of(const struct etrt_residence *r, int model) {
    const etrt_session *each = r->seat[model].each;
    const struct etrt_manifest *mf = &(each ? each : r->s)->model->manifest;
    return mf->nmodels ? mf->models[each ? 0 : model].name : mf->model;
}

static etrt_status find(const struct etrt_residence *r, const char *name, int *out) {
    const struct etrt_manifest *mf = &r->s->model->manifest;
    bool each = r->seat[0].each;
    *out = 0;
    if (!name && (each ? r->models == 1 : !mf->nmodels)) return ETRT_OK;
    if (!name) name = "(null)";
    while (each && *out < r->models - 1 && strcmp(name, name_of(r, *out)) != 0)
        ++*out;
    for (int i = *out + 1; each && i < r->models; i++)
        if (strcmp(name, name_of(r, i)) == 0)
            return etrt_fail(ETRT_INVALID, "two models are called %s: submit their sessions", name);
    int model = 0;
    etrt_status st = etrt_mix_find(each ? &r->seat[*out].each->model->manifest : mf, name, &model);
    if (!each) *out = model;
    return st;
}

static etrt_status begin(etrt_residence *r, const char *call, const char *name, int *out) {
    if (!r) return etrt_fail(ETRT_INVALID, "%s: no residence", call);
    etrt_status st = etrt_device_check(r->s->model->device);
    if (st == ETRT_OK) st = find(r, name, out);
    if (st == ETRT_OK) pthread_mutex_lock(&r->lock);
    return st;
}

/* Of a kernel without predictions: by the first dim that has more than one value, in fours. */
static int size_of(const struct seat *x, const etrt_session *s) {
    const struct etrt_manifest *mf = &s->model->manifest;
    int i = 0, size = 0;
    if (x->pace.by || !x->each) return etrt_pace_size(x->pace.by, s->dims);
    while (i < mf->nsymbols && mf->symbols[i].lo == mf->symbols[i].hi)
        i++;
    for (int64_t n = i < mf->nsymbols ? s->dims[i] : 1; n > 1 && size < ETRT_MAX_SIZES - 1; n /= 4)
        size++;
    return size;
}

etrt_status etrt_step_post(struct etrt_residence *r, const char *call, int model) {
    struct seat *x = &r->seat[model];
    etrt_status st = ETRT_OK;
    if (x->state != FREE)
        st = etrt_fail(ETRT_INVALID, "%s: model %s has a step already", call, name_of(r, model));
    etrt_session *s = x->each ? x->each : r->s;
    int of = x->each ? 0 : model;
    if (st == ETRT_OK) st = etrt_model_ready(s, of);
    if (st == ETRT_OK) {
        x->state = HELD;
        x->posted = etrt_now();
        x->kernel = x->each ? 0 : etrt_kernel_now(s);
        x->suited = x->each && etrt_each_suits(x);
        x->pace.size = x->half.size = size_of(x, s);
        etrt_outputs_written(s, of, false);
        etrt_residence_tend(r, false);
        if (r->fd >= 0) pthread_cond_signal(&r->changed);
    }
    return st;
}

etrt_status etrt_residence_post(etrt_residence *r, const char *name) {
    static const char call[] = "etrt_residence_post";
    int model;
    etrt_status st = begin(r, call, name, &model);
    if (st != ETRT_OK) return st;
    st = etrt_step_post(r, call, model);
    pthread_mutex_unlock(&r->lock);
    return st;
}

static etrt_status take(struct seat *x) {
    if (x->state != ENDED) return ETRT_TIMEOUT;
    x->state = FREE;
    return x->status == ETRT_OK ? ETRT_OK : etrt_fail(x->status, "%s", x->why);
}

/* Steps of a few milliseconds are waited for without sleep, which would be longer than asked for.
 * Looking at the kernel costs more than looking at what it writes. */
static void pause_for(double waited) {
    static const double eager = 2e-3;
    if (waited > eager)
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    else
        sched_yield();
}

etrt_status etrt_step_done(struct etrt_residence *r, const char *call, int model, double seconds) {
    enum { SELDOM = 64 };
    etrt_status st = ETRT_OK;
    pthread_mutex_lock(&r->lock);
    if (!(seconds >= 0))
        st = etrt_fail(ETRT_RANGE, "%s: %g seconds", call, seconds);
    else if (r->seat[model].state == FREE)
        st = etrt_fail(ETRT_INVALID, "%s: model %s has no step", call, name_of(r, model));
    pthread_mutex_unlock(&r->lock);
    if (st != ETRT_OK) return st;
    double from = etrt_now();
    for (;;) {
        pthread_mutex_lock(&r->lock);
        etrt_residence_tend(r, r->looks++ % SELDOM == 0);
        st = take(&r->seat[model]);
        pthread_mutex_unlock(&r->lock);
        if (st != ETRT_TIMEOUT) return st;
        double waited = etrt_now() - from;
        if (waited >= seconds) return etrt_not_done(name_of(r, model), seconds);
        pause_for(waited);
    }
}

etrt_status etrt_residence_done(etrt_residence *r, const char *name, double seconds) {
    static const char call[] = "etrt_residence_done";
    int model;
    etrt_status st = begin(r, call, name, &model);
    if (st != ETRT_OK) return st;
    pthread_mutex_unlock(&r->lock);
    return etrt_step_done(r, call, model, seconds);
}

/* ---- which workgroups ---- */

etrt_status etrt_residence_aims(etrt_residence *r, const char *name, double weight, double latency,
                                double changes) {
    static const char call[] = "etrt_residence_aims";
    int model;
    etrt_status st = begin(r, call, name, &model);
    if (st != ETRT_OK) return st;
    if (weight > 0 && weight < 1e6 && latency > 0 && changes > 0) {
        r->planned = 0;
        r->changes = changes;
        r->seat[model].pace.weight = weight;
        r->seat[model].pace.latency_ns = latency * 1e9;
    } else
        st = etrt_fail(ETRT_RANGE, "%s: %g, %g, %g", call, weight, latency, changes);
    pthread_mutex_unlock(&r->lock);
    return st;
}

/* ---- what others may do meanwhile ---- */

etrt_status etrt_residence_settled(const etrt_session *s, const char *call, int model) {
    struct etrt_residence *r = s->residence;
    etrt_status st = etrt_device_check(s->model->device);
    if (st != ETRT_OK) return st;
    if (r->seat[0].each) model = etrt_each_model(r, s);
    pthread_mutex_lock(&r->lock);
    bool settled = r->seat[model].state == FREE;
    pthread_mutex_unlock(&r->lock);
    return settled ? ETRT_OK
                   : etrt_fail(ETRT_INVALID, "%s: model %s has a step", call, name_of(r, model));
}

/* Kernels of the driver's own, which fill and copy, would wait for one that has every CU. */
void etrt_residence_rest(etrt_device *dev) {
    struct etrt_residence *r = atomic_load(&dev->resident);
    if (!r || !etrt_device_owned(dev)) return;
    pthread_mutex_lock(&r->lock);
    etrt_residence_quiet(r);
    pthread_mutex_unlock(&r->lock);
}
