/* slice.h - cutting operators into slices that each run on one die (slice.c). */
#ifndef ET_PASS_SLICE_H
#define ET_PASS_SLICE_H

#include "pipeline.h"

/* Cut what can be cut of a program at stage fused into COUNT slices; how many products were. */
int et_slice_groups(et_program *, int count, const et_pass_options *);
/* Is a launch of it predicted to take less time in COUNT slices? (slice_try.c) Tells what it found
 * where the options ask for that. */
bool et_slicing_pays(et_pipeline *, int count);

#endif
