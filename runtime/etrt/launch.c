/* One launch: kernel arguments, dispatch, wait, and what the kernel reports. */
#include "runtime/etrt/cache.h"
#include "runtime/etrt/residence.h"

#include "runtime/etrt/base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ranks of the dies: an even split, so that the die that a fraction of the ranks falls on does not
 * depend on how many there are. */
void etrt_set_places(struct etrt_kernarg *k, uint32_t dies) {
    k->dies = dies;
    for (uint32_t d = 0; d <= ETRT_MAX_DIES; d++)
        k->place[d] = (uint32_t)((uint64_t)k->workgroups * (d < dies ? d : dies) / dies);
}

uint32_t *etrt_kernarg_pointers(const struct etrt_manifest *mf, int *out_count) {
    enum { HEAD = offsetof(struct etrt_kernarg, workspace) / 8 + 1 };
    uint32_t *at = calloc((size_t)mf->ntensors + HEAD + 1, sizeof *at);
    int n = 0;
    *out_count = 0;
    if (!at) return NULL;
    while (n < HEAD) {
        at[n] = 8 * (uint32_t)n;
        n++;
    }
    at[n++] = offsetof(struct etrt_kernarg, trace);
    uint32_t first =
        (uint32_t)sizeof(struct etrt_kernarg) + ((uint32_t)mf->nsymbols * 4 + 7) / 8 * 8;
    for (int i = 0; i < mf->ntensors; i++)
        at[n++] = first + 8 * (uint32_t)i;
    *out_count = n;
    return at;
}

/* Are so many pieces zero, an eighth of those that there are maps of, that a kernel is faster where
 * it looks at maps? */
static bool zeros_worth_it(const etrt_model *m) {
    const uint64_t part = 8;
    uint64_t all = 0, zero = 0;
    for (int i = 0; i < m->manifest.ntensors; i++) {
        const struct etrt_tensor *t = &m->manifest.tensors[i];
        if (!t->zeros.columns) continue;
        all += (uint64_t)t->max_bytes;
        zero += m->weight_zero[i];
    }
    return zero && zero >= all / part;
}

void etrt_write_kernarg(etrt_session *s) {
    const struct etrt_manifest *mf = &s->model->manifest;
    struct etrt_kernarg head = {
        .control = (uintptr_t)s->control,
        .report = (uintptr_t)s->report,
        .events = (uintptr_t)s->events[s->events_now],
        .events_next = (uintptr_t)s->events[!s->events_now],
        .workspace = (uintptr_t)s->workspace,
        .wait_ticks = (uint64_t)(s->wait_limit * (double)s->model->device->realtime_hz),
        .workgroups = s->workgroups,
        .launch = s->launch,
        .trace = (uintptr_t)s->trace,
    };
    if (!head.wait_ticks) head.wait_ticks = 1;
    etrt_set_places(&head, s->model->device->dies);
    char *p = s->kernarg;
    memset(p, 0, mf->kernarg_bytes);
    if (mf->resident)
        etrt_resident_arguments(s, &head, p + mf->kernarg_bytes - sizeof(struct etrt_resident));
    memcpy(p, &head, sizeof head);
    p += sizeof head;
    for (int i = 0; i < mf->nsymbols; i++) {
        int32_t value = (int32_t)s->dims[i];
        memcpy(p + 4 * i, &value, 4);
    }
    p += (mf->nsymbols * 4 + 7) / 8 * 8;
    for (int i = 0; i < mf->ntensors; i++) {
        uint64_t address = (uintptr_t)s->tensors[i];
        memcpy(p + 8 * i, &address, 8);
    }
    p += 8 * mf->ntensors;
    etrt_mix_parts(s, s->workgroups, (struct etrt_part *)(void *)p);
    if (!mf->zeros) return;
    uint64_t look = zeros_worth_it(s->model);
    memcpy(p + (size_t)mf->nmodels * sizeof(struct etrt_part), &look, sizeof look);
}

/* So that no tag is found that a launch to come would take for its own. */
static etrt_status clear_tags(etrt_session *s) {
    const struct etrt_manifest *mf = &s->model->manifest;
    etrt_device *dev = s->model->device;
    etrt_status st = ETRT_OK;
    bool again = s->launch % (mf->tags_launches ? mf->tags_launches : 1) == 0;
    for (int i = 0; s->step && mf->tags_bytes && i < etrt_models(mf); i++)
        again |= etrt_mix_runs(s, i) && s->step[i] % mf->tags_launches == 0;
    if (mf->tags_bytes && (s->tags_open || again))
        st = etrt_mem_fill(dev, (char *)s->workspace + mf->tags_at, 0, mf->tags_bytes);
    if (st == ETRT_OK && mf->inbox_bytes && (s->tags_open || s->launch % mf->inbox_launches == 0))
        st = etrt_mem_fill(dev, s->inbox, 0, mf->inbox_bytes);
    return st;
}

static size_t reports_of(const etrt_session *s) {
    return s->step ? (size_t)etrt_models(&s->model->manifest) : 1;
}

static etrt_status start(etrt_session *s) {
    etrt_device *dev = s->model->device;
    etrt_residence_rest(dev);
    s->workgroups = s->workgroups_wanted ? s->workgroups_wanted : dev->cus;
    etrt_status st = clear_tags(s);
    if (st == ETRT_OK) st = etrt_trace_begin(s);
    if (st != ETRT_OK) return st;
    s->tags_open = true;
    memset(s->report, 0, reports_of(s) * sizeof *s->report);
    etrt_write_kernarg(s);
    st = etrt_capture_begin(s);
    if (st == ETRT_OK && s->step) st = etrt_board_launch(s);
    if (st != ETRT_OK) return st;
    int count = 0;
    s->seconds = -1;
    st = etrt_sequence_make(s, &count);
    if (st == ETRT_OK) st = etrt_launch_start(dev, s->dispatch, count, s->ticket);
    if (st != ETRT_OK) etrt_capture_drop(s);
    return st;
}

void etrt_outputs_written(etrt_session *s, int model, bool written) {
    const struct etrt_manifest *mf = &s->model->manifest;
    for (int i = 0; i < mf->ntensors; i++)
        if (mf->tensors[i].kind == ETRT_OUTPUT && mf->tensors[i].model == model)
            s->written[i] = written;
}

/* What the models that a launch runs give is there or not, all of it. */
static void mark_outputs(etrt_session *s, bool written) {
    for (int i = 0; i < etrt_models(&s->model->manifest); i++)
        if (etrt_mix_runs(s, i)) etrt_outputs_written(s, i, written);
}

/* From here on a launch can be cancelled, or not any more. */
static void set_in_flight(etrt_session *s, bool in_flight) {
    pthread_mutex_lock(&s->lock);
    s->in_flight = in_flight;
    pthread_mutex_unlock(&s->lock);
}

etrt_status etrt_launch_session(etrt_session *s) {
    etrt_status st = etrt_session_ready(s);
    if (st == ETRT_OK) {
        s->cancelled = false;
        s->patience = (struct etrt_patience){0};
        st = etrt_cache_begin(s->model);
        if (st == ETRT_OK && (st = start(s)) != ETRT_OK) etrt_cache_end(s->model);
    }
    if (st != ETRT_OK) return st;
    set_in_flight(s, true);
    mark_outputs(s, false);
    return ETRT_OK;
}

static etrt_status submit(etrt_session *s, const char *call) {
    if (etrt_each_has(s)) return etrt_each_submit(s, call);
    etrt_status st = etrt_session_idle(s, call);
    return st == ETRT_OK ? etrt_launch_session(s) : st;
}

etrt_status etrt_submit(etrt_session *s) {
    etrt_status st = submit(s, "etrt_submit");
    if (st == ETRT_OK && !etrt_each_has(s)) etrt_watch_launch(s);
    return st;
}

/* Explain an aborted launch, or step, from what is left in memory. */
etrt_status etrt_explain(etrt_session *s, int model) {
    const struct etrt_report *report = &s->report[model];
    if (report->status < ETRT_REPORT_WAIT || report->status > ETRT_REPORT_WORD)
        return etrt_fail(ETRT_DEVICE, "the kernel reports status %u, which is unknown",
                         report->status);
    int member = etrt_member_failed(s->model->device);
    etrt_device *dev = etrt_member(s->model->device, member);
    const void *here[] = {
        etrt_member_memory(s->model->device, member,
                           s->step ? etrt_step_events(s, model) : s->events[s->events_now]),
        etrt_member_memory(s->model->device, member, s->control)};
    const struct etrt_manifest *mf = &s->model->manifest;
    uint64_t control_bytes = etrt_control_bytes(dev);
    uint32_t *events = malloc(etrt_events_bytes(mf));
    struct etrt_control *control = calloc(1, control_bytes);
    bool got = events && control &&
               etrt_mem_read(dev, events, here[0], etrt_events_bytes(mf)) == ETRT_OK &&
               etrt_mem_read(dev, control, here[1], control_bytes) == ETRT_OK;
    etrt_status st = etrt_report_wait(dev, mf, report, got ? events : NULL, got ? control : NULL,
                                      s->workgroups, etrt_waited(s->model->device, s->wait_limit));
    free(events);
    free(control);
    if (mf->devices) etrt_fail_in(st, "device %d of %d", member, mf->devices);
    return st;
}

/* A device of several is gone: what another waited for in vain tells more. */
static etrt_status explain_lost(etrt_session *s) {
    struct etrt_report report;
    memcpy(&report, s->report, sizeof report);
    etrt_device *dev = s->model->device;
    if (report.status < ETRT_REPORT_WAIT || report.status > ETRT_REPORT_WORD) return ETRT_FAULT;
    etrt_explain(s, 0);
    etrt_fail_in(ETRT_FAULT, "device %d of %d does not answer any more", etrt_member_lost(dev),
                 etrt_members(dev));
    return ETRT_FAULT;
}

/* An aborted launch leaves counts behind that the next one must not see. */
static etrt_status clean_up(etrt_session *s) {
    etrt_device *dev = s->model->device;
    uint64_t bytes = etrt_events_bytes(&s->model->manifest);
    etrt_status st = ETRT_OK;
    for (int i = 0; s->step && st == ETRT_OK && i < etrt_models(&s->model->manifest); i++)
        if (etrt_mix_runs(s, i)) st = etrt_step_over(s, i, true);
    for (int i = 0; !s->step && st == ETRT_OK && i < 2; i++)
        st = etrt_mem_fill(dev, s->events[i], 0, bytes);
    if (st == ETRT_OK) st = etrt_mem_fill(dev, s->control, 0, etrt_control_bytes(dev));
    return st;
}

static etrt_status succeeded(etrt_session *s) {
    etrt_device *dev = s->model->device;
    etrt_status st = etrt_capture_end(s, ETRT_OK);
    mark_outputs(s, true);
    for (int i = 0; s->step && i < etrt_models(&s->model->manifest); i++)
        if (etrt_mix_runs(s, i)) etrt_step_over(s, i, false);
    s->events_now = s->step ? 0 : !s->events_now;
    s->launch++;
    s->tags_open = false;
    if (st == ETRT_OK && dev->timing) st = dev->driver->seconds(dev, s->ticket, &s->seconds);
    return st;
}

/* Workgroups that the host told to quit report nothing. */
static etrt_status finish(etrt_session *s) {
    size_t failed = 0;
    while (failed < reports_of(s) && s->report[failed].status == ETRT_REPORT_OK)
        failed++;
    bool reported = failed < reports_of(s);
    if (!reported && !s->cancelled) return succeeded(s);
    etrt_status st = reported ? etrt_explain(s, (int)failed)
                              : etrt_fail(ETRT_CANCELLED, "launch %u was cancelled", s->launch);
    st = etrt_capture_end(s, st);
    s->launch++;
    s->tags_open = false;
    etrt_status cleaned = clean_up(s);
    return cleaned == ETRT_OK ? st : cleaned;
}

etrt_status etrt_launch_over(etrt_session *s, double seconds) {
    if (!s) return etrt_fail(ETRT_INVALID, "etrt_wait: no session");
    if (!etrt_device_owned(s->model->device)) return etrt_device_check(s->model->device);
    if (!s->in_flight) return etrt_fail(ETRT_INVALID, "etrt_wait: no launch is in flight");
    if (!(seconds >= 0)) return etrt_fail(ETRT_RANGE, "etrt_wait_for: %g seconds", seconds);
    bool mine = etrt_watch_yield(s, seconds);
    if (!mine) return etrt_fail(ETRT_TIMEOUT, "the launch has not ended within %g s", seconds);
    etrt_status st =
        etrt_launch_wait(s->model->device, s->ticket, s->wait_limit, &s->patience, seconds);
    if (st == ETRT_TIMEOUT) return st;
    set_in_flight(s, false);
    etrt_cache_end(s->model);
    if (st == ETRT_OK) return finish(s);
    if (st == ETRT_FAULT && etrt_member_lost(s->model->device) >= 0)
        st = explain_lost(s);
    else if (st == ETRT_FAULT)
        etrt_report_fault(s);
    return etrt_capture_end(s, st);
}

etrt_status etrt_wait_for(etrt_session *s, double seconds) {
    return etrt_each_has(s) ? etrt_each_wait(s, seconds) : etrt_launch_over(s, seconds);
}

etrt_status etrt_wait(etrt_session *s) {
    return etrt_wait_for(s, INFINITY);
}

etrt_status etrt_run(etrt_session *s) {
    etrt_status st = submit(s, "etrt_run");
    return st == ETRT_OK ? etrt_wait(s) : st;
}

etrt_status etrt_cancel(etrt_session *s) {
    if (!s) return etrt_fail(ETRT_INVALID, "etrt_cancel: no session");
    return etrt_each_has(s) ? etrt_each_cancel(s) : etrt_launch_cancel(s);
}

/* What the first workgroup that gives up would set. A launch that has ended meanwhile is waited for
 * as one that was cancelled: nothing tells whether it came to the end. */
etrt_status etrt_launch_cancel(etrt_session *s) {
    uint32_t abort[ETRT_MAX_MODELS];
    for (int i = 0; i < ETRT_MAX_MODELS; i++)
        abort[i] = 1;
    etrt_status st = etrt_device_check(s->model->device);
    if (st != ETRT_OK) return st;
    pthread_mutex_lock(&s->lock);
    if (!s->in_flight)
        st = etrt_fail(ETRT_INVALID, "etrt_cancel: no launch is in flight");
    else
        st = etrt_mem_write(s->model->device, &s->control->abort, abort, 4 * reports_of(s));
    if (st == ETRT_OK) s->cancelled = true;
    pthread_mutex_unlock(&s->lock);
    return st;
}

etrt_status etrt_launch_seconds(const etrt_session *s, double *out_seconds) {
    if (!s || !out_seconds) return etrt_fail(ETRT_INVALID, "etrt_launch_seconds: NULL argument");
    *out_seconds = s->seconds < 0 ? 0 : s->seconds;
    return s->seconds >= 0 ? ETRT_OK
                           : etrt_fail(ETRT_INVALID, "etrt_launch_seconds: no launch was timed");
}
