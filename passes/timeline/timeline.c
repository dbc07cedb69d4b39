/* Timelines: spans, rows and counters as they are added; names, shares and labels. */
#include "passes/timeline/int.h"

#include <stdlib.h>
#include <string.h>

static void out_of_memory(void) {
    fputs("timeline: out of memory\n", stderr);
    exit(1);
}

void *timeline_alloc(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    if (!p) out_of_memory();
    return p;
}

/* Makes room for one more element in an array of COUNT with capacity *CAP. */
static void *grow(void *array, int count, int *cap, size_t size) {
    if (count < *cap) return array;
    if (*cap > INT32_MAX / 2) out_of_memory();
    *cap = *cap ? *cap * 2 : 64;
    array = realloc(array, (size_t)*cap * size);
    if (!array) out_of_memory();
    return array;
}

static char *copy(const char *s) {
    char *c = strdup(s ? s : "");
    if (!c) out_of_memory();
    return c;
}

timeline *timeline_create(const char *title, timeline_source source, const char *machine) {
    timeline *t = timeline_alloc(1, sizeof *t);
    t->title = copy(title);
    t->machine = copy(machine);
    t->source = source;
    static const char *const form[] = {
        [TIMELINE_PREDICTED] = "predicted by the machine model %s",
        [TIMELINE_COUNTED] = "instruction counts on %s",
        [TIMELINE_EMULATED] = "%s: shares of the host's time while emulating, not a GPU's",
        [TIMELINE_MEASURED] = "measured on %s"};
    if (asprintf(&t->label, form[source], t->machine) < 0) out_of_memory();
    return t;
}

void timeline_destroy(timeline *t) {
    if (!t) return;
    for (int i = 0; i < t->ntasks; i++)
        free(t->task[i]);
    for (int i = 0; i < t->nnames; i++)
        free(t->name[i].event);
    void *const all[] = {t->title, t->machine, t->label, t->note,     t->span,    t->arrival,
                         t->await, t->name,    t->row,   t->where,    t->task,    t->order,
                         t->cause, t->before,  t->path,  t->cause_of, t->counter, t->completer};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(t);
}

/* ---- additions ---- */

static void have_task(timeline *t, int task) {
    while (t->ntasks <= task) {
        t->task = grow(t->task, t->ntasks, &t->ctasks, sizeof *t->task);
        t->task[t->ntasks++] = NULL;
    }
}

static void have_row(timeline *t, int row) {
    while (t->nrows <= row) {
        t->row = grow(t->row, t->nrows, &t->crows, sizeof *t->row);
        t->row[t->nrows++] = (struct timeline_row){.cu = -1};
    }
}

void timeline_name_task(timeline *t, int task, const char *name) {
    have_task(t, task);
    free(t->task[task]);
    t->task[task] = copy(name);
}

void timeline_place_row(timeline *t, int row, int die, int cu) {
    have_row(t, row);
    t->row[row].die = die;
    t->row[row].cu = cu;
}

int timeline_add(timeline *t, const timeline_span *s) {
    have_task(t, s->task);
    have_row(t, s->row);
    t->span = grow(t->span, t->nspans, &t->cspans, sizeof *t->span);
    t->span[t->nspans] = *s;
    return t->nspans++;
}

void timeline_set_dropped(timeline *t, uint64_t dropped) {
    t->dropped = dropped;
}

void timeline_set_note(timeline *t, const char *note) {
    free(t->note);
    t->note = copy(note);
}

void timeline_set_range(timeline *t, int task, int from, int to, bool queued) {
    have_task(t, task);
    t->where = grow(t->where, t->nwheres, &t->cwheres, sizeof *t->where);
    t->where[t->nwheres++] = (struct timeline_where){task, from, to, queued};
}

void timeline_arrives(timeline *t, int span, uint32_t counter) {
    t->arrival = grow(t->arrival, t->narrivals, &t->carrivals, sizeof *t->arrival);
    t->arrival[t->narrivals++] = (struct timeline_arrival){span, counter};
}

void timeline_awaits(timeline *t, int span, uint32_t from, uint32_t to) {
    if (from >= to) return;
    struct timeline_await *last = t->nawaits ? &t->await[t->nawaits - 1] : NULL;
    if (last && last->span == span && last->range.to == from) {
        last->range.to = to;
        return;
    }
    t->await = grow(t->await, t->nawaits, &t->cawaits, sizeof *t->await);
    t->await[t->nawaits++] = (struct timeline_await){span, {from, to}};
}

void timeline_name_counters(timeline *t, uint32_t from, uint32_t to, const char *event) {
    t->name = grow(t->name, t->nnames, &t->cnames, sizeof *t->name);
    t->name[t->nnames++] = (struct timeline_name){{from, to}, copy(event)};
}

/* ---- accessors ---- */

const char *timeline_label(const timeline *t) {
    return t->label;
}

bool timeline_linked(const timeline *t) {
    return t->narrivals > 0 || t->nawaits > 0;
}

const char *timeline_task(const timeline *t, int task, char buf[24]) {
    if (t->task[task]) return t->task[task];
    snprintf(buf, 24, "#%d", task);
    return buf;
}

const char *timeline_event(const timeline *t, uint32_t counter) {
    for (int i = 0; i < t->nnames; i++)
        if (counter >= t->name[i].range.from && counter < t->name[i].range.to)
            return t->name[i].event;
    return "event";
}

double timeline_look(const timeline *t, int span) {
    const timeline_span *s = &t->span[span];
    if (s->look >= 0) return s->look;
    return t->before[span] < 0 ? s->reached : t->span[t->before[span]].left;
}

static int dies(const timeline *t) {
    int n = 0;
    for (int i = 0; i < t->nrows; i++) {
        bool seen = false;
        for (int k = 0; k < i && !seen; k++)
            seen = t->row[k].die == t->row[i].die;
        n += !seen;
    }
    return n;
}

void timeline_summarise(timeline *t, timeline_summary *out) {
    timeline_finish(t);
    *out = (timeline_summary){
        .total = t->last - t->first, .rows = t->nrows, .dies = dies(t), .spans = t->nspans};
    double all = out->total * t->nrows;
    for (int i = 0; i < t->nspans; i++) {
        const timeline_span *s = &t->span[i];
        out->body += s->done - s->ready;
        out->waiting += s->ready - s->reached;
        out->scheduling += s->reached - timeline_look(t, i) + s->left - s->done;
    }
    out->idle = all - out->body - out->waiting - out->scheduling;
    double *const shares[] = {&out->body, &out->waiting, &out->scheduling, &out->idle};
    for (int i = 0; i < 4; i++)
        *shares[i] = all > 0 && *shares[i] > 0 ? *shares[i] / all : 0;
    out->path = t->npath;
    for (int i = 0; i < t->npath; i++)
        out->path_body += t->span[t->path[i]].done - t->span[t->path[i]].ready;
    out->path_body = out->total > 0 ? out->path_body / out->total : 0;
}

const int *timeline_critical_path(timeline *t, int *out_count) {
    timeline_finish(t);
    *out_count = t->npath;
    return t->path;
}
