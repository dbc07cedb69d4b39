/* The regions of memory that a launch may touch, for captures and reports of faults. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"

#include <stdio.h>
#include <stdlib.h>

static void add(struct etrt_region *r, size_t *count, const char *name, void *address,
                uint64_t bytes) {
    r += (*count)++;
    *r = (struct etrt_region){.address = address, .bytes = bytes, .check_hi = bytes};
    snprintf(r->name, sizeof r->name, "%s", name);
}

/* What follows the counters of events: rings of tasks, counts of workgroups. */
static uint64_t counters_end(const struct etrt_manifest *mf) {
    uint64_t end = ETRT_EVENT_FIRST;
    for (int i = 0; i < mf->nevents; i++)
        if (mf->events[i].base + mf->events[i].words > end)
            end = mf->events[i].base + mf->events[i].words;
    return 4 * end;
}

etrt_status etrt_session_regions(const etrt_session *s, struct etrt_region **out,
                                 size_t *out_count) {
    const struct etrt_manifest *mf = &s->model->manifest;
    struct etrt_region *r = calloc((size_t)mf->ntensors + 6, sizeof *r);
    size_t n = 0;
    *out = r;
    *out_count = 0;
    if (!r) return etrt_no_memory();
    uint64_t events = etrt_events_bytes(mf);
    /* Where workgroups ran is no property of the launch: placement and the counts of workgroups
     * per die may differ when it runs again. */
    add(r, &n, "control", s->control, etrt_control_bytes(s->model->device));
    r[n - 1].check_hi = sizeof(struct etrt_control);
    add(r, &n, "report", s->report, sizeof *s->report);
    r[n - 1].place = ETRT_ON_HOST;
    add(r, &n, "events", s->events[s->events_now], events);
    r[n - 1].check_lo = ETRT_EVENT_FIRST * 4;
    r[n - 1].check_hi = counters_end(mf);
    add(r, &n, "events_next", s->events[!s->events_now], events);
    add(r, &n, "workspace", s->workspace, mf->workspace_bytes);
    if (s->trace) { /* times differ */
        add(r, &n, "trace", s->trace, etrt_trace_bytes(s));
        r[n - 1].check_hi = 0;
    }
    for (int i = 0; i < mf->ntensors; i++) {
        char name[160];
        snprintf(name, sizeof name, "tensor.%s", mf->tensors[i].name);
        add(r, &n, name, s->tensors[i], etrt_tensor_memory(&mf->tensors[i]));
        r[n - 1].tensor = &mf->tensors[i];
    }
    *out_count = n;
    return ETRT_OK;
}
