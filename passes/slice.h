/* slice.h - cutting operators into slices that each run on one die (slice.c). */
#ifndef ET_PASS_SLICE_H
#define ET_PASS_SLICE_H

#include "pipeline.h"

/* Groups of a program at stage fused whose products can be cut into COUNT, by group; in its arena.
 */
bool *et_slice_cuts(et_program *, int count);
/* Cut those of CUT, or all where it is NULL, and slice what they come from; how many were. */
int et_slice_groups(et_program *, int count, const bool *cut, const et_pass_options *);
/* Groups whose products the program of placement cuts, by group; NULL where it says nothing
 * (slice_choose.c). With ALL it is not asked, and all are. Tells what it found where the options
 * ask for that. */
bool *et_slices_chosen(et_pipeline *, int count, bool all);

#endif
