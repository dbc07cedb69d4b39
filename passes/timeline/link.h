/* link.h - the dependencies of a timeline's spans, derived from the program that ran. */
#ifndef BENCH_TIMELINE_LINK_H
#define BENCH_TIMELINE_LINK_H

#include "ir/program/program.h"
#include "passes/simulate/simulate.h"
#include "passes/timeline/timeline.h"

/* The number of the first task of the variant of P that a launch with these SYMBOLS runs, to be
 * added to its grids' numbers. 0 for a program without variants. */
int timeline_first_task(et_program *p, const int64_t *symbols);

/* Reads the element at INDEX of integer tensor TENSOR of the variant that runs, in an iteration of
 * the loops around the reader, for waits and notifications; false when it is not known.
 * et_sim_value is one. */
typedef bool (*timeline_read)(void *ctx, int tensor, int64_t iteration, const int64_t *index,
                              int64_t *out);

/* Names tasks and events, and adds the waits and notifications of every span added so far, at
 * SYMBOLS, values of the program's symbols in order. READ may be NULL. Returns how many waits and
 * notifications are missing, because they depend on what READ does not know or belong to no task of
 * the program. */
int64_t timeline_link(timeline *, et_program *, const int64_t *symbols, timeline_read read,
                      void *ctx);

/* Collects the tasks of a launch from the simulator; `first` is from timeline_first_task. The
 * function is an et_sim_options.task. */
struct timeline_collector {
    timeline *t;
    int first;
};
void timeline_collect(struct timeline_collector *, const et_sim_task *);

#endif
