/* timeline.h - what ran where and when in one launch: filled from a device's trace
 * or by the simulator, and written as a Chrome trace or as a page.
 *
 * A row is a workgroup, which has its CU for the whole launch. A span is one task on it. Times are
 * microseconds; which moment is zero does not matter, the writers count from the first.
 * Functions that allocate end the program with a message when memory runs out. */
#ifndef BENCH_TIMELINE_H
#define BENCH_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Where the times come from; pages and traces say so at their head. */
typedef enum {
    TIMELINE_PREDICTED, /* "predicted by the machine model MACHINE" */
    TIMELINE_COUNTED, /* "instruction counts on MACHINE": a microsecond stands for an instruction */
    TIMELINE_EMULATED, /* "MACHINE: shares of the host's time while emulating, not a GPU's" */
    TIMELINE_MEASURED, /* "measured on MACHINE" */
} timeline_source;

typedef struct timeline timeline;

/* TITLE is the model and what was launched: "stories_moe, N = 16, dynamic". Both are copied. */
timeline *timeline_create(const char *title, timeline_source, const char *machine);
void timeline_destroy(timeline *);

/* Names task TASK. Tasks are the grids of a program in its order; of a program with variants, those
 * of all variants one after the other, as in the manifest. A task without a name is "#N". */
void timeline_name_task(timeline *, int task, const char *name);

/* Places row ROW on a die and CU; CU -1: not known. A row that is never placed is on die 0. */
void timeline_place_row(timeline *, int row, int die, int cu);

typedef struct {
    int task;
    int64_t tile;      /* row-major in the grid's coordinates */
    int64_t iteration; /* of the loops around the grid as one number, outermost first, from 0 */
    int row;
    /* look <= reached <= ready <= done <= left. The workgroup looked for a task in a queue at LOOK
     * and had it at REACHED; a task of a static schedule has LOOK < 0, and counts as looked for as
     * soon as the one before it on the row has left. Waits ended at READY, the body at DONE;
     * notifications, and what they pushed, were out at LEFT. */
    double look, reached, ready, done, left;
} timeline_span;

/* Returns the span's number, from 0. Rows and tasks are created when first mentioned. */
int timeline_add(timeline *, const timeline_span *);

/* A note to the reader, shown at the head. Copied. */
void timeline_set_note(timeline *, const char *note);

/* The workgroups that may run TASK, in millionths of all of them. QUEUED: any of them takes the
 * next tile when it is free. Without this call the page does not say where tasks may run. */
void timeline_set_range(timeline *, int task, int from, int to, bool queued);

/* The number of records that the device had no room for, shown at the head. */
void timeline_set_dropped(timeline *, uint64_t dropped);

/* Dependencies are counters, numbered in any way from 0 (words of the event array will do); each
 * counts to its end once in a launch. SPAN adds to COUNTER when it is done; SPAN may begin when all
 * counters FROM .. TO - 1 are complete. link.h makes these calls for a program. */
void timeline_arrives(timeline *, int span, uint32_t counter);
void timeline_awaits(timeline *, int span, uint32_t from, uint32_t to);
/* EVENT names the counters FROM .. TO - 1, to label arrows. */
void timeline_name_counters(timeline *, uint32_t from, uint32_t to, const char *event);

/* ---- results: after */

/* Shares of the time of all rows between the first moment and the last; they add up to 1. */
typedef struct {
    double total;      /* microseconds from the first moment to the last */
    double body;       /* utilisation: tasks' bodies */
    double waiting;    /* tasks held by their waits */
    double idle;       /* no task: none available, not yet begun */
    double scheduling; /* finding a task, and notifying that it is done */
    int rows, dies, spans;
    int path;         /* spans on the critical path; 0 when no dependencies are known */
    double path_body; /* the share of the path's time in bodies */
} timeline_summary;
void timeline_summarise(timeline *, timeline_summary *out);

/* The spans of the critical path from the first to the last, *OUT_COUNT of them; owned by the
 * timeline. Each delayed its successor: of all that the successor waited for, and the span before
 * it on its row, it left last. NULL when no dependencies are known. */
const int *timeline_critical_path(timeline *, int *out_count);

/* "predicted by the machine model MI300X" and so on; owned by the timeline. */
const char *timeline_label(const timeline *);

/* ---- writers: false with a message in ERR; the file appears complete or not at all ---- */

enum { TIMELINE_ERR = 512 };

/* The trace event format of Chrome and Perfetto: a process per die, a thread per row, a slice per
 * task with its wait, body and notifications inside, and a flow from what a task waited for last.
 */
bool timeline_write_chrome(timeline *, const char *path, char err[TIMELINE_ERR]);
/* One page that needs nothing but a browser, of one launch or of several, between which the reader
 * chooses by their titles. */
bool timeline_write_html(timeline *const *, int count, const char *path, char err[TIMELINE_ERR]);
/* The same to an open file; false when that could not be written. */
bool timeline_put_html(timeline *const *, int count, FILE *);

#endif
