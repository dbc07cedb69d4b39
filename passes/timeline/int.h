/* int.h - the contents of a timeline, for the files that write it. */
#ifndef BENCH_TIMELINE_INT_H
#define BENCH_TIMELINE_INT_H

#include "passes/timeline/timeline.h"
#include "runtime/files/output.h"

struct timeline_row {
    int die, cu;
    int first, count; /* of `order` */
};

struct timeline_range {
    uint32_t from, to; /* [from, to) */
};

struct timeline_arrival {
    int span;
    uint32_t counter;
};

struct timeline_await {
    int span;
    struct timeline_range range;
};

struct timeline_name {
    struct timeline_range range;
    char *event;
};

/* Where a task may run, in millionths of the workgroups. */
struct timeline_where {
    int task, from, to;
    bool queued;
};

struct timeline {
    char *title, *machine, *label, *note; /* note: or NULL */
    timeline_source source;
    uint64_t dropped;
    int64_t missing; /* waits and notifications that timeline_link could not resolve */

    timeline_span *span;
    struct timeline_arrival *arrival;
    struct timeline_await *await;
    struct timeline_name *name;
    struct timeline_row *row;
    struct timeline_where *where;
    char **task;
    int nspans, narrivals, nawaits, nnames, nrows, nwheres, ntasks;
    int cspans, carrivals, cawaits, cnames, crows, cwheres, ctasks;

    /* Set by timeline_finish: */
    bool finished;
    double first, last; /* start of the first span and end of the last */
    int *order;         /* spans by row and time */
    int *before;        /* the previous span of the same row, or -1 */
    int *cause;         /* of the spans that a span waited for, the one that ended last; or -1 */
    uint32_t *cause_of; /* the counter that it completed */
    int *path;
    int npath;
    uint32_t *counter; /* counters with arrivals, ascending */
    int *completer;    /* a tree over them, of the span that ended last */
    int ncounters;
};

/* Sorts and indexes spans, and finds causes and the critical path. Called once, after the last
 * addition. */
void timeline_finish(timeline *);

/* When the workgroup began to look for the span's task; under a static schedule the end of the span
 * before it. */
double timeline_look(const timeline *, int span);

/* Whether any dependency is known. */
bool timeline_linked(const timeline *);

const char *timeline_task(const timeline *, int task, char buf[24]);
/* The name of the event that a counter belongs to, or "event". */
const char *timeline_event(const timeline *, uint32_t counter);

/* et_output_open and et_output_close, with a message in ERR on failure. */
bool timeline_open(et_output *, const char *path, char err[TIMELINE_ERR]);
bool timeline_close(et_output *, char err[TIMELINE_ERR]);

/* Zeroed memory; ends the program where there is none. */
void *timeline_alloc(size_t count, size_t size);

#endif
