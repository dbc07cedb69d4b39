/* The trace event format: chrome://tracing, ui.perfetto.dev. */
#include "ir/base/text.h"
#include "passes/timeline/int.h"

#include <inttypes.h>
#include <math.h>

struct chrome {
    timeline *t;
    FILE *to;
    bool any;
};

static void begin(struct chrome *c, const char *phase) {
    fprintf(c->to, "%s{\"ph\":\"%s\"", c->any ? ",\n" : "\n", phase);
    c->any = true;
}

static void put_name(struct chrome *c, const char *name) {
    fputs(",\"name\":", c->to);
    et_put_json(c->to, name);
}

static void put_where(struct chrome *c, const timeline_span *s) {
    fprintf(c->to, ",\"pid\":%d,\"tid\":%d", c->t->row[s->row].die, s->row);
}

/* Whole nanoseconds, so that a slice inside another one is still inside it after rounding. */
static int64_t moment(const struct chrome *c, double us) {
    return llround((us - c->t->first) * 1e3);
}

static void put_time(struct chrome *c, const char *key, int64_t ns) {
    fprintf(c->to, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

static void put_extent(struct chrome *c, double from, double to) {
    put_time(c, "ts", moment(c, from));
    put_time(c, "dur", moment(c, to) - moment(c, from));
}

static void metadata(struct chrome *c, const char *what, int pid, int tid, const char *name) {
    begin(c, "M");
    put_name(c, what);
    fprintf(c->to, ",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":", pid, tid);
    et_put_json(c->to, name);
    fputs("}}", c->to);
}

static void rows(struct chrome *c) {
    const timeline *t = c->t;
    char name[80];
    for (int i = 0; i < t->nrows; i++) {
        bool seen = false;
        for (int k = 0; k < i && !seen; k++)
            seen = t->row[k].die == t->row[i].die;
        snprintf(name, sizeof name, "die %d", t->row[i].die);
        if (!seen) metadata(c, "process_name", t->row[i].die, i, name);
        if (t->row[i].cu >= 0)
            snprintf(name, sizeof name, "CU %d (workgroup %d)", t->row[i].cu, i);
        else
            snprintf(name, sizeof name, "workgroup %d", i);
        metadata(c, "thread_name", t->row[i].die, i, name);
    }
}

static void part(struct chrome *c, const timeline_span *s, const char *name, double from,
                 double to) {
    if (!(to > from)) return;
    begin(c, "X");
    put_name(c, name);
    put_where(c, s);
    put_extent(c, from, to);
    fprintf(c->to, ",\"cat\":\"part\"}");
}

static void slice(struct chrome *c, int index) {
    const timeline_span *s = &c->t->span[index];
    double from = s->look >= 0 ? s->look : s->reached;
    char buf[24];
    begin(c, "X");
    put_name(c, timeline_task(c->t, s->task, buf));
    put_where(c, s);
    put_extent(c, from, s->left);
    fprintf(c->to, ",\"cat\":\"task\",\"args\":{\"tile\":%lld,\"iteration\":%lld}}",
            (long long)s->tile, (long long)s->iteration);
    part(c, s, "pop", from, s->reached);
    part(c, s, "wait", s->reached, s->ready);
    part(c, s, "body", s->ready, s->done);
    part(c, s, "notify", s->done, s->left);
}

/* An arrow per task, from the task that it waited for last. It must not begin after it ends, which
 * clocks of two dies could make it that disagree a little. */
static void flow(struct chrome *c, int index) {
    const timeline *t = c->t;
    int from = t->cause[index];
    if (from < 0) return;
    double at = t->span[index].ready, since = t->span[from].done;
    for (int end = 0; end < 2; end++) {
        begin(c, end ? "f" : "s");
        put_name(c, timeline_event(t, t->cause_of[index]));
        put_where(c, &t->span[end ? index : from]);
        put_time(c, "ts", moment(c, end || since > at ? at : since));
        fprintf(c->to, ",\"cat\":\"event\",\"id\":%d%s}", index, end ? ",\"bp\":\"e\"" : "");
    }
}

bool timeline_write_chrome(timeline *t, const char *path, char err[TIMELINE_ERR]) {
    et_output f;
    timeline_finish(t);
    if (!timeline_open(&f, path, err)) return false;
    struct chrome c = {.t = t, .to = f.to};
    fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"title\":", f.to);
    et_put_json(f.to, t->title);
    fputs(",\"times\":", f.to);
    et_put_json(f.to, t->label);
    if (t->source == TIMELINE_COUNTED)
        fputs(",\"unit\":\"a microsecond stands for an instruction\"", f.to);
    fputs(",\"dependencies\":", f.to);
    et_put_json(f.to, !timeline_linked(t) ? "not known" : t->missing ? "known in part" : "known");
    fprintf(f.to, ",\"dropped\":\"%llu\"},\"traceEvents\":[", (unsigned long long)t->dropped);
    rows(&c);
    for (int i = 0; i < t->nspans; i++)
        slice(&c, t->order[i]);
    for (int i = 0; i < t->nspans; i++)
        flow(&c, i);
    fputs("\n]}\n", f.to);
    return timeline_close(&f, err);
}
