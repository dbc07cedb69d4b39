/* passes.h - from a graph to a scheduled event-tensor program. */
#ifndef ET_PASSES_H
#define ET_PASSES_H

#include "passes/pipeline/options.h"

/* The graph made again with symbol SYM bounded by LO..HI, with diagnostics of its own; NULL when
 * that fails. */
typedef et_graph *(*et_narrow_fn)(void *ctx, const char *sym, int64_t lo, int64_t hi);

/* A program with a variant for each of the ranges that the bounds of G's first symbol are split
 * into: as few (at most MOST) as keep the predicted time of every launch within 3 % of a program
 * compiled for that launch alone, or within the least that MOST of them can keep, and one more for
 * the value 1 where weights stream. NULL where one range will do, or some range cannot be lowered:
 * then the passes are run as for one. */
et_program *et_make_variants(et_graph *g, const et_pass_options *, int most, et_narrow_fn narrow,
                             void *ctx);

#endif
