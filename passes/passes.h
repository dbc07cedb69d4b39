/* passes.h - from a graph to a scheduled event-tensor program. */
#ifndef ET_PASSES_H
#define ET_PASSES_H

#include "passes/pipeline/options.h"

/* The graph made again with symbol SYM bounded by LO..HI, with diagnostics of its own; NULL when
 * that fails. WHOLE: all of it where G is what one of several devices computes. */
typedef et_graph *(*et_narrow_fn)(void *ctx, const char *sym, int64_t lo, int64_t hi, bool whole);

/* As et_passes_run. Of a machine whose CUs hold several workgroups it decides how many CUs there
 * are for these: beside.c. */
bool et_passes_beside(et_graph *g, const et_pass_options *, et_program **out_program);

/* So many CUs, ascending and fewer than the machine has. */
enum { ET_MAX_WIDTHS = 3 };
typedef struct {
    int n, cus[ET_MAX_WIDTHS];
} et_widths;

/* A program with a variant for each of the ranges that the bounds of G's first symbol are split
 * into: as few (at most MOST) as keep the predicted time of every launch within 3 % of a program
 * compiled for that launch alone, or within the least that MOST of them can keep, and one more for
 * the value 1 where weights stream. The same again for each of WIDTHS, or NULL, for launches on
 * about so many workgroups (within 3 %); ET_MAX_VARIANTS are enough for all. NULL where one range
 * will do and there are no widths, or some range cannot be lowered: then the passes are run as for
 * one. */
et_program *et_make_variants(et_graph *g, const et_pass_options *, int most,
                             const et_widths *widths, et_narrow_fn narrow, void *ctx);

/* What a launch of each of several models alone takes, by its size and its part of the chip, as far
 * as the simulator tells in reasonable time; to `pace` of the models. P is scheduled. */
void et_find_paces(et_program *p, const et_pass_options *);

/* A stream and claims exclude each other. Of P, one kernel for all sizes, made with a weight
 * stream: are there tasks that stream and could be claimed without it, since a tensor decides about
 * their tiles? */
bool et_streams_unevenly(et_program *p, const et_pass_options *);
/* And is the same program better CLAIMED, without a stream: is it predicted to take less time? The
 * options are those that each was made with. */
bool et_is_better_claimed(et_program *claimed, const et_pass_options *claimed_by,
                          et_program *streamed, const et_pass_options *streamed_by);
/* Is the same program better with tiles that are CLAIMED than with a queue for some: is it
 * predicted to take less time, over the ranges that QUEUED has variants for? */
bool et_is_better_than_queued(et_program *claimed, const et_pass_options *claimed_by,
                              et_program *queued, const et_pass_options *queued_by);

#endif
