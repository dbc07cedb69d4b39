/* link.h - the dependencies of a timeline's spans, out of the program that ran. */
#ifndef BENCH_TIMELINE_LINK_H
#define BENCH_TIMELINE_LINK_H

#include "ir/program/program.h"
#include "passes/simulate/simulate.h"
#include "passes/timeline/timeline.h"

/* The number of the first task of the part of P that a launch with these SYMBOLS runs: what to add
 * to its grids' numbers. 0 for a program without variants. */
int timeline_first_task(et_program *p, const int64_t *symbols);

/* The element at INDEX of tensor TENSOR of the part that runs, an integer one that waits and
 * notifications read, in an iteration of the loops around the reader; false when it is not known.
 * et_sim_value is one. */
typedef bool (*timeline_read)(void *ctx, int tensor, int64_t iteration, const int64_t *index,
                              int64_t *out);

/* Name tasks and events and tell the waits and notifications of every span added so far, at SYMBOLS
 * values of the program's symbols in order. READ may be NULL. Returns how many waits and
 * notifications depend on what READ does not know, or do not belong to a task of the program, and
 * so are missing. */
int64_t timeline_link(timeline *, et_program *, const int64_t *symbols, timeline_read read,
                      void *ctx);

/* Takes the tasks of a launch as the simulator plays them; `first` is what timeline_first_task
 * says. Such a function is et_sim_options.task. */
struct timeline_collector {
    timeline *t;
    int first;
};
void timeline_collect(struct timeline_collector *, const et_sim_task *);

#endif
