/* timeline_link.h - the dependencies of a timeline's spans, out of the program that ran. */
#ifndef BENCH_TIMELINE_LINK_H
#define BENCH_TIMELINE_LINK_H

#include "program.h"
#include "timeline.h"

/* Element AT (row-major) of tensor TENSOR of P during the launch, as far as waits and notifications
 * read it; false when it is not known. */
typedef bool (*timeline_read)(void *ctx, const et_program *p, int tensor, int64_t at, int64_t *out);

/* Name tasks and tell waits and notifications of every span added so far, at SYMBOLS values of the
 * program's symbols in order. READ may be NULL. Returns how many waits and notifications depend on
 * what READ does not know and so are missing. */
int64_t timeline_link(timeline *, et_program *, const int64_t *symbols, timeline_read read,
                      void *ctx);

#endif
