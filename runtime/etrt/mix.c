/* Several models in one kernel: which of them a launch runs, and on which workgroups.
 *
 * With all models each has the part of the workgroups that the compiler gave it. When some are left
 * out, what is theirs alone is cut out and the rest stretched to all workgroups: everybody's part
 * grows by the same factor, and who shared workgroups with whom still does. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"

#include <string.h>

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
    if (s->in_flight) return etrt_fail(ETRT_INVALID, "etrt_select: a launch is in flight");
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
