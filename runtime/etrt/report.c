/* What went wrong inside a launch, in words; and the regions of memory that a launch may touch,
 * which faults are told by, and which captures hold. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHORT = 16 }; /* counters listed per event */

/* "e3[2, 5]" for word INDEX of an event. */
static const char *event_word(const struct etrt_event *e, uint32_t index, char *buf, size_t bytes) {
    int64_t at[ETRT_MAX_RANK];
    uint64_t rest = index;
    for (int d = e->rank; d-- > 0;) {
        at[d] = e->shape[d] ? (int64_t)(rest % (uint64_t)e->shape[d]) : 0;
        rest = e->shape[d] ? rest / (uint64_t)e->shape[d] : 0;
    }
    size_t used = (size_t)snprintf(buf, bytes, "%s[", e->name);
    for (int d = 0; d < e->rank && used < bytes; d++)
        used += (size_t)snprintf(buf + used, bytes - used, "%s%" PRId64, d ? ", " : "", at[d]);
    if (used < bytes) snprintf(buf + used, bytes - used, "]");
    return buf;
}

/* Where a workgroup ran. The raw register is always shown; its fields where they are known. */
static const char *place_text(const etrt_device *dev, const char *target,
                              const struct etrt_report *r, char *buf, size_t bytes) {
    struct etrt_unit u = etrt_device_unit(dev, target, r->hw_id);
    if (u.cu >= 0 && u.engine < 0)
        snprintf(buf, bytes, "die %u, CU %d", r->die, u.cu);
    else if (u.cu >= 0)
        snprintf(buf, bytes, "die %u, shader engine %d, CU %d (hardware id 0x%08x)", r->die,
                 u.engine, u.cu, r->hw_id);
    else
        snprintf(buf, bytes, "die %u (hardware id 0x%08x)", r->die, r->hw_id);
    return buf;
}

/* One line per event. Needs are known to the kernel only, so a counter counts as short when it is
 * below the largest of its event. */
static void dump_event(const struct etrt_event *e, const uint32_t *words) {
    uint32_t most = 0, full = 0, listed = 0, left = 0;
    char name[512];
    for (uint32_t i = 0; i < e->words; i++)
        if (words[i] > most) most = words[i];
    if (most == 0) {
        etrt_fail_more("\n  %s: no arrivals in %u counters", e->name, e->words);
        return;
    }
    for (uint32_t i = 0; i < e->words; i++)
        full += words[i] == most;
    etrt_fail_more("\n  %s: %u of %u counters at %u", e->name, full, e->words, most);
    for (uint32_t i = 0; i < e->words; i++) {
        if (words[i] == most) continue;
        if (listed++ < MAX_SHORT)
            etrt_fail_more("%s %s=%u", listed == 1 ? "; below:" : ",",
                           event_word(e, i, name, sizeof name), words[i]);
        else
            left++;
    }
    if (left) etrt_fail_more(" and %u more", left);
}

/* Ranks of the workgroups that started, by the die they ran on. */
static void dump_placement(const struct etrt_control *control, uint32_t launch,
                           uint32_t workgroups) {
    const struct etrt_placement *p = control->placement;
    uint32_t on[ETRT_MAX_DIES] = {0}, started = 0;
    for (uint32_t w = 0; w < workgroups; w++)
        if (p[w].launch == launch + 1 && p[w].die < ETRT_MAX_DIES) on[p[w].die]++;
    etrt_fail_more("\nworkgroups started:");
    for (uint32_t die = 0; die < ETRT_MAX_DIES; die++) {
        if (on[die]) etrt_fail_more("%s %u on die %u", started ? "," : "", on[die], die);
        started += on[die];
    }
    etrt_fail_more("%s of %u", started ? "" : " none", workgroups);
    for (uint32_t die = 0; die < ETRT_MAX_DIES; die++) {
        if (on[die]) etrt_fail_more("\n  die %u:", die);
        for (uint32_t w = 0; w < workgroups; w++)
            if (p[w].launch == launch + 1 && p[w].die == die) etrt_fail_more(" %u", w);
    }
}

etrt_status etrt_report_wait(const etrt_device *dev, const struct etrt_manifest *m,
                             const struct etrt_report *r, const uint32_t *events,
                             const struct etrt_control *control, uint32_t workgroups,
                             double wait_limit) {
    char task[300], event[512], place[128];
    const char *where = place_text(dev, m->target, r, place, sizeof place);
    if (r->task < (uint32_t)m->ntasks)
        snprintf(task, sizeof task, "%s", m->tasks[r->task]);
    else
        snprintf(task, sizeof task, "#%u", r->task);
    if (r->event < (uint32_t)m->nevents)
        event_word(&m->events[r->event], r->index, event, sizeof event);
    else
        snprintf(event, sizeof event, "#%u word %u", r->event, r->index);
    if (r->status == ETRT_REPORT_IDLE)
        etrt_fail(ETRT_WAIT,
                  "launch %u: workgroup %u found nothing to do for longer than %g s among "
                  "tasks from %s on: %u of %u taken in run %u; on %s",
                  r->launch, r->workgroup, wait_limit, task, r->count, r->need, r->index, where);
    else if (r->status == ETRT_REPORT_START)
        etrt_fail(ETRT_WAIT,
                  "launch %u: workgroup %u waited longer than %g s for all workgroups%s%.*s to "
                  "start: %u of %u have; on %s",
                  r->launch, r->workgroup, wait_limit, m->nmodels ? " of " : "",
                  m->nmodels ? (int)strcspn(task, ".") : 0, task, r->count, r->need, where);
    else if (r->status == ETRT_REPORT_WORD)
        etrt_fail(ETRT_WAIT,
                  "launch %u: workgroup %u waited longer than %g s in task %s, tile %u, for what "
                  "step %u takes: work-item %u finds tag %u where %u was to come; on %s",
                  r->launch, r->workgroup, wait_limit, task, r->tile, r->event + 1, r->index,
                  r->count, r->need, where);
    else if (r->need == ETRT_NO_COUNTER && r->event < (uint32_t)m->nevents)
        etrt_fail(ETRT_WAIT,
                  "launch %u: workgroup %u in task %s, tile %u, waits for a counter that event %s "
                  "does not have, as a tensor says; on %s",
                  r->launch, r->workgroup, task, r->tile, m->events[r->event].name, where);
    else
        etrt_fail(
            ETRT_WAIT,
            "launch %u: workgroup %u waited longer than %g s in task %s, tile %u, for event %s: "
            "%u arrivals of %u needed; on %s",
            r->launch, r->workgroup, wait_limit, task, r->tile, event, r->count, r->need, where);
    if (r->device) etrt_fail_more(", from device %u", r->device - 1);
    if (!events) return ETRT_WAIT;
    etrt_fail_more("\nevents of this launch:");
    for (int i = 0; i < m->nevents; i++)
        dump_event(&m->events[i], events + m->events[i].base);
    if (control) dump_placement(control, r->launch, workgroups);
    return ETRT_WAIT;
}

/* ---- regions ---- */

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
    uint64_t events = etrt_events_bytes(mf), all = etrt_resident_bytes(mf);
    /* Where workgroups ran is no property of the launch: placement and the counts of workgroups
     * per die may differ when it runs again. */
    add(r, &n, "control", s->control, etrt_control_bytes(s->model->device));
    r[n - 1].check_hi = sizeof(struct etrt_control);
    add(r, &n, "report", s->report, sizeof *s->report);
    r[n - 1].place = ETRT_ON_HOST;
    add(r, &n, "events", s->events[s->events_now], mf->resident ? all : events);
    r[n - 1].check_lo = ETRT_EVENT_FIRST * 4;
    r[n - 1].check_hi = counters_end(mf);
    if (s->events[1]) add(r, &n, "events_next", s->events[!s->events_now], events);
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

/* ---- faults ---- */

enum { NEAR = 1 << 20 };

/* The region that holds ADDRESS, or the one it overshoots or undershoots by least. */
static const struct etrt_region *nearest(const struct etrt_region *regions, size_t count,
                                         uint64_t address, int64_t *out_offset) {
    const struct etrt_region *best = NULL;
    uint64_t best_distance = NEAR;
    for (size_t i = 0; i < count; i++) {
        uint64_t lo = (uintptr_t)regions[i].address, hi = lo + regions[i].bytes;
        uint64_t distance = address < lo ? lo - address : address >= hi ? address - hi + 1 : 0;
        if (distance >= best_distance) continue;
        best = &regions[i];
        best_distance = distance;
        *out_offset = (int64_t)(address - lo);
    }
    return best;
}

/* Which tile the faulting workgroup had begun, by the marks that kernels leave. */
static void report_tile(const struct etrt_manifest *m, const char *text) {
    const char *marks = strstr(text, "last marks ");
    unsigned task, tile;
    if (!marks || sscanf(marks, "last marks %u, %u", &task, &tile) != 2) return;
    if (task < (unsigned)m->ntasks) etrt_fail_more("\nin task %s, tile %u", m->tasks[task], tile);
}

void etrt_report_fault(const etrt_session *s) {
    char text[8192];
    struct etrt_region *regions;
    size_t count;
    snprintf(text, sizeof text, "%s", etrt_last_error());
    report_tile(&s->model->manifest, text);
    if (etrt_session_regions(s, &regions, &count) != ETRT_OK) return;
    /* The offending address comes first in the text; the bounds of allocations follow. */
    const struct etrt_region *r = NULL;
    for (char *p = text; !r && (p = strstr(p, "0x")); p += 2) {
        uint64_t address = strtoull(p + 2, NULL, 16);
        int64_t offset = 0;
        r = nearest(regions, count, address, &offset);
        if (r && offset >= 0 && (uint64_t)offset < r->bytes)
            etrt_fail_more("\n0x%" PRIx64 " is byte %" PRId64 " of %s (%" PRIu64 " bytes)", address,
                           offset, r->name, r->bytes);
        else if (r)
            etrt_fail_more("\n0x%" PRIx64 " is %" PRId64 " bytes %s %s (%" PRIu64 " bytes)",
                           address, offset < 0 ? -offset : offset - (int64_t)r->bytes,
                           offset < 0 ? "before" : "past the end of", r->name, r->bytes);
    }
    free(regions);
}
