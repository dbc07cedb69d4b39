/* The page: timeline.html with the data in its place. Numbers go as base64 of little-endian words,
 * times as fractions of the whole, so that half a million spans stay small and load fast. */
#include "ir/base/diag.h"
#include "ir/base/text.h"
#include "passes/timeline/int.h"

#include <stdlib.h>
#include <string.h>

/* Beyond so many edges only the last dependency of each span is written. */
enum { MAX_EDGES = 6000000 };

extern const char timeline_page[], timeline_page_end[];
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "timeline_page: .incbin \"" TIMELINE_PAGE "\"\n"
        "timeline_page_end: .byte 0\n"
        ".popsection");

struct page {
    timeline *t;
    FILE *to;
    double quantum;        /* microseconds */
    int *place;            /* a span's position in the order of rows */
    unsigned char rest[3]; /* bytes not yet written as base64 */
    int nrest;
};

/* ---- base64 ---- */

static void put_group(struct page *p) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned v = (unsigned)p->rest[0] << 16 | (unsigned)p->rest[1] << 8 | p->rest[2];
    for (int i = 0; i < 4; i++)
        fputc(i <= p->nrest ? digit[v >> (18 - 6 * i) & 63] : '=', p->to);
    p->nrest = 0;
    memset(p->rest, 0, sizeof p->rest);
}

static void put_word(struct page *p, uint32_t v) {
    for (int i = 0; i < 4; i++) {
        p->rest[p->nrest++] = (unsigned char)(v >> (8 * i));
        if (p->nrest == 3) put_group(p);
    }
}

static void words_begin(struct page *p, const char *key) {
    fprintf(p->to, ",\n\"%s\":\"", key);
}

static void words_end(struct page *p) {
    if (p->nrest) put_group(p);
    fputc('"', p->to);
}

/* ---- spans ---- */

static uint32_t clamp_word(int64_t v) {
    return v < 0 ? 0 : v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static uint32_t moment(const struct page *p, double us) {
    double v = (us - p->t->first) / p->quantum + 0.5;
    return v >= 4294967294.0 ? 4294967294u : v > 0 ? (uint32_t)v : 0;
}

static uint32_t field(const struct page *p, const timeline_span *s, int which) {
    switch (which) {
    case 0:
        return clamp_word(s->task);
    case 1:
        return clamp_word(s->tile);
    case 2:
        return clamp_word(s->iteration);
    case 3:
        return s->look < 0 ? UINT32_MAX : moment(p, s->look);
    case 4:
        return moment(p, s->reached);
    case 5:
        return moment(p, s->ready);
    case 6:
        return moment(p, s->done);
    default:
        return moment(p, s->left);
    }
}

static void put_spans(struct page *p) {
    static const char *const key[] = {"task",    "tile",  "iteration", "look",
                                      "reached", "ready", "done",      "left"};
    const timeline *t = p->t;
    for (int k = 0; k < 8; k++) {
        words_begin(p, key[k]);
        for (int i = 0; i < t->nspans; i++)
            put_word(p, field(p, &t->span[t->order[i]], k));
        words_end(p);
    }
    words_begin(p, "rowFirst");
    int at = 0;
    for (int r = 0; r < t->nrows; at += t->row[r++].count)
        put_word(p, (uint32_t)at);
    put_word(p, (uint32_t)at);
    words_end(p);
}

/* ---- dependencies ---- */

static int by_counter(const void *a, const void *b) {
    const struct timeline_arrival *x = a, *y = b;
    return (x->counter > y->counter) - (x->counter < y->counter);
}

static int by_span(const void *a, const void *b, void *place) {
    const int *of = place;
    int x = of[((const struct timeline_await *)a)->span];
    int y = of[((const struct timeline_await *)b)->span];
    return (x > y) - (x < y);
}

static void put_arrivals(struct page *p) {
    timeline *t = p->t;
    if (t->narrivals) qsort(t->arrival, (size_t)t->narrivals, sizeof *t->arrival, by_counter);
    words_begin(p, "arrivalCounter");
    for (int i = 0; i < t->narrivals; i++)
        put_word(p, t->arrival[i].counter);
    words_end(p);
    words_begin(p, "arrivalSpan");
    for (int i = 0; i < t->narrivals; i++)
        put_word(p, (uint32_t)p->place[t->arrival[i].span]);
    words_end(p);
}

static void put_awaits(struct page *p) {
    timeline *t = p->t;
    if (t->nawaits) qsort_r(t->await, (size_t)t->nawaits, sizeof *t->await, by_span, p->place);
    for (int k = 0; k < 3; k++) {
        words_begin(p, k == 0 ? "awaitSpan" : k == 1 ? "awaitFrom" : "awaitTo");
        for (int i = 0; i < t->nawaits; i++)
            put_word(p, k == 0   ? (uint32_t)p->place[t->await[i].span]
                        : k == 1 ? t->await[i].range.from
                                 : t->await[i].range.to);
        words_end(p);
    }
}

static void put_causes(struct page *p) {
    const timeline *t = p->t;
    words_begin(p, "cause");
    for (int i = 0; i < t->nspans; i++) {
        int cause = t->cause[t->order[i]];
        put_word(p, cause < 0 ? UINT32_MAX : (uint32_t)p->place[cause]);
    }
    words_end(p);
    words_begin(p, "causeOf");
    for (int i = 0; i < t->nspans; i++)
        put_word(p, t->cause_of[t->order[i]]);
    words_end(p);
    words_begin(p, "path");
    for (int i = 0; i < t->npath; i++)
        put_word(p, (uint32_t)p->place[t->path[i]]);
    words_end(p);
}

static void put_dependencies(struct page *p) {
    bool cut = (int64_t)p->t->narrivals + p->t->nawaits > MAX_EDGES;
    fprintf(p->to, ",\n\"cut\":%s", cut ? "true" : "false");
    put_causes(p);
    if (cut) return;
    put_arrivals(p);
    put_awaits(p);
}

/* ---- the rest ---- */

static void put_names(struct page *p) {
    const timeline *t = p->t;
    char buf[24];
    fputs(",\n\"tasks\":[", p->to);
    for (int i = 0; i < t->ntasks; i++) {
        if (i) fputc(',', p->to);
        et_put_json(p->to, timeline_task(t, i, buf));
    }
    fputs("],\n\"rows\":[", p->to);
    for (int i = 0; i < t->nrows; i++)
        fprintf(p->to, "%s[%d,%d]", i ? "," : "", t->row[i].die, t->row[i].cu);
    fputs("],\n\"events\":[", p->to);
    for (int i = 0; i < t->nnames; i++) {
        fprintf(p->to, "%s[%u,%u,", i ? "," : "", t->name[i].range.from, t->name[i].range.to);
        et_put_json(p->to, t->name[i].event);
        fputc(']', p->to);
    }
    fputs("],\n\"ranges\":[", p->to);
    for (int i = 0; i < t->nwheres; i++)
        fprintf(p->to, "%s[%d,%d,%d,%d]", i ? "," : "", t->where[i].task, t->where[i].from,
                t->where[i].to, t->where[i].queued);
    fputc(']', p->to);
}

static void put_head(struct page *p) {
    static const char *const source[] = {[TIMELINE_PREDICTED] = "predicted",
                                         [TIMELINE_COUNTED] = "counted",
                                         [TIMELINE_EMULATED] = "emulated",
                                         [TIMELINE_MEASURED] = "measured"};
    const timeline *t = p->t;
    timeline_summary s;
    timeline_summarise(p->t, &s);
    fprintf(p->to, "{\"source\":\"%s\",\"title\":", source[t->source]);
    et_put_json(p->to, t->title);
    fputs(",\"label\":", p->to);
    et_put_json(p->to, t->label);
    fputs(",\"note\":", p->to);
    et_put_json(p->to, t->note ? t->note : "");
    fprintf(p->to,
            ",\n\"spans\":%d,\"total\":%.9g,\"quantum\":%.17g,\"linked\":%s,\"missing\":%lld,"
            "\"dropped\":\"%llu\",\n\"summary\":{\"body\":%.6g,\"waiting\":%.6g,\"idle\":%.6g,"
            "\"scheduling\":%.6g,\"dies\":%d,\"path_body\":%.6g}",
            t->nspans, s.total, p->quantum, timeline_linked(t) ? "true" : "false",
            (long long)t->missing, (unsigned long long)t->dropped, s.body, s.waiting, s.idle,
            s.scheduling, s.dies, s.path_body);
}

static void put_launch(timeline *t, FILE *to) {
    timeline_finish(t);
    double total = t->last - t->first;
    struct page p = {.t = t, .to = to, .quantum = total > 0 ? total / 4294967000.0 : 1};
    p.place = timeline_alloc((size_t)t->nspans, sizeof *p.place);
    for (int i = 0; i < t->nspans; i++)
        p.place[t->order[i]] = i;
    put_head(&p);
    put_names(&p);
    put_spans(&p);
    put_dependencies(&p);
    fputc('}', to);
    free(p.place);
}

bool timeline_put_html(timeline *const *t, int count, FILE *to) {
    static const char marker[] = "@DATA@";
    const char *hole = memmem(timeline_page, (size_t)(timeline_page_end - timeline_page), marker,
                              sizeof marker - 1);
    et_check(hole);
    fwrite(timeline_page, 1, (size_t)(hole - timeline_page), to);
    for (int i = 0; i < count; i++) {
        fputs(i ? ",\n" : "[", to);
        put_launch(t[i], to);
    }
    fputc(']', to);
    hole += sizeof marker - 1;
    fwrite(hole, 1, (size_t)(timeline_page_end - hole), to);
    return !ferror(to);
}

bool timeline_write_html(timeline *const *t, int count, const char *path, char err[TIMELINE_ERR]) {
    et_output f;
    if (!timeline_open(&f, path, err)) return false;
    timeline_put_html(t, count, f.to);
    return timeline_close(&f, err);
}
