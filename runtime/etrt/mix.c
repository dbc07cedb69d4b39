/* Several models in one kernel: which of them a launch runs, and on which workgroups.
 *
 * With all models each has the part of the workgroups that the compiler gave it. When some are left
 * out, what is theirs alone is cut out and the rest stretched to all workgroups: everybody's part
 * grows by the same factor, and who shared workgroups with whom still does.
 *
 * And of a launch in flight, which models are done. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"

#include <string.h>
#include <time.h>

enum { WHOLE = 1000000 };

etrt_status etrt_mix_find(const struct etrt_manifest *m, const char *name, int *out) {
    *out = m->nmodels ? etrt_manifest_model(m, name) : strcmp(name, m->model) == 0 ? 0 : -1;
    if (*out >= 0) return ETRT_OK;
    return etrt_fail(ETRT_NOT_FOUND,
                     m->nmodels ? "the kernel %s holds no model %s"
                                : "the kernel is of model %s, not of %s",
                     m->model, name);
}

const char *etrt_model_part(const etrt_model *m, int index) {
    if (!m || index < 0 || index >= m->manifest.nmodels) return NULL;
    return m->manifest.models[index].name;
}

etrt_status etrt_select(etrt_session *s, const char *name, int on) {
    if (!s || !name) return etrt_fail(ETRT_INVALID, "etrt_select: NULL argument");
    if (s->in_flight || s->residence)
        return etrt_fail(ETRT_INVALID, "etrt_select: a launch is in flight");
    int model;
    etrt_status st = etrt_mix_find(&s->model->manifest, name, &model);
    if (st == ETRT_OK) s->left_out[model] = !on;
    return st;
}

int etrt_selected(const etrt_session *s, const char *name) {
    const struct etrt_manifest *m = s ? &s->model->manifest : NULL;
    int model =
        m && name ? m->nmodels ? etrt_manifest_model(m, name) : -!!strcmp(name, m->model) : -1;
    return model >= 0 && !s->left_out[model];
}

bool etrt_mix_runs(const etrt_session *s, int model) {
    return !s->left_out[model];
}

/* How much of [0, AT) belongs to a model that runs. */
static int64_t in_use(const etrt_session *s, int64_t at) {
    const struct etrt_manifest *mf = &s->model->manifest;
    int64_t used = 0, from = 0;
    for (;;) { /* the next part that begins at FROM or includes it, as far as it goes */
        int64_t begin = at, end = at;
        for (int i = 0; i < mf->nmodels; i++) {
            const struct etrt_mixed *m = &mf->models[i];
            if (s->left_out[i] || m->to <= from) continue;
            int64_t first = m->from > from ? m->from : from;
            if (first < begin || (first == begin && m->to > end)) begin = first, end = m->to;
        }
        if (begin >= at) return used;
        used += (end < at ? end : at) - begin;
        from = end;
    }
}

void etrt_mix_parts(const etrt_session *s, uint32_t workgroups, struct etrt_part *out) {
    const struct etrt_manifest *mf = &s->model->manifest;
    bool all = true;
    for (int i = 0; i < mf->nmodels; i++)
        all &= !s->left_out[i];
    int64_t whole = all ? WHOLE : in_use(s, WHOLE);
    for (int i = 0; i < mf->nmodels; i++) {
        const struct etrt_mixed *m = &mf->models[i];
        int64_t from = all ? m->from : in_use(s, m->from), to = all ? m->to : in_use(s, m->to);
        uint32_t first = (uint32_t)(workgroups * (uint64_t)from / (uint64_t)(whole ? whole : 1));
        uint32_t end = (uint32_t)(workgroups * (uint64_t)to / (uint64_t)(whole ? whole : 1));
        if (first >= workgroups) first = workgroups - 1;
        if (end <= first) end = first + 1;
        out[i] = (struct etrt_part){first, s->left_out[i] ? 0 : end - first};
        if (s->left_out[i]) out[i].first = 0;
    }
}

/* ---- done before the others ---- */

static bool is_done(const etrt_session *s, int model) {
    const struct etrt_manifest *mf = &s->model->manifest;
    if (!mf->nmodels) return false; /* until the launch ends */
    const char *word = (const char *)s->report + mf->models[model].done;
    return __atomic_load_n((const uint32_t *)(const void *)word, __ATOMIC_ACQUIRE) ==
           (s->step ? s->step[model] : s->launch) + 1;
}

static bool has_ended(etrt_session *s) {
    bool ended;
    if (etrt_watch_has(s, &ended)) return ended;
    return etrt_launch_look(s->model->device, s->ticket, s->wait_limit, &s->patience, 0) !=
           ETRT_RUNNING;
}

/* Of a launch that has ended, and its report with it. */
static etrt_status ended(const etrt_session *s, const char *name) {
    const struct etrt_report *r = s->report;
    etrt_status st = atomic_load(&s->model->device->broken) ? ETRT_FAULT
                     : r->status != ETRT_REPORT_OK          ? ETRT_WAIT
                     : s->cancelled                         ? ETRT_CANCELLED
                                                            : ETRT_OK;
    if (st == ETRT_OK) return st;
    return etrt_fail(st, "the launch ended before model %s was done", name);
}

/* What a launch writes there is not seen until it is looked at, so the looks get rarer. */
static void nap(int looks) {
    const long least = 2000, most = 200000;
    long ns = looks < 64 ? least : least * looks / 64;
    nanosleep(&(struct timespec){.tv_nsec = ns < most ? ns : most}, NULL);
}

etrt_status etrt_not_done(const char *name, double seconds) {
    return etrt_fail(ETRT_TIMEOUT, "model %s is not done within %g s", name, seconds);
}

/* Until the model is done or the launch has ended: the word is looked at once more after that. */
static etrt_status wait_done(etrt_session *s, int model, const char *name, double seconds) {
    double until = etrt_now() + seconds;
    for (int looks = 0;; looks++) {
        if (is_done(s, model)) return ETRT_OK;
        if (has_ended(s)) return is_done(s, model) ? ETRT_OK : ended(s, name);
        if (etrt_now() >= until) return etrt_not_done(name, seconds);
        nap(looks);
    }
}

etrt_status etrt_wait_model(etrt_session *s, const char *name, double seconds) {
    static const char call[] = "etrt_wait_model";
    int model;
    if (!s || !name) return etrt_fail(ETRT_INVALID, "%s: NULL argument", call);
    etrt_status st = etrt_device_check(s->model->device);
    if (st == ETRT_OK) st = etrt_mix_find(&s->model->manifest, name, &model);
    if (st != ETRT_OK) return st;
    if (!(seconds >= 0)) return etrt_fail(ETRT_RANGE, "%s: %g seconds", call, seconds);
    if (!s->in_flight) return etrt_fail(ETRT_INVALID, "%s: no launch is in flight", call);
    if (s->left_out[model])
        return etrt_fail(ETRT_INVALID, "%s: the launch leaves out model %s", call, name);
    st = wait_done(s, model, name, seconds);
    if (st == ETRT_OK) etrt_outputs_written(s, model, true);
    return st;
}
