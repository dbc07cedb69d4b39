/* slice.h - cutting operators into slices that each run on one die (slice.c). */
#ifndef ET_PASS_SLICE_H
#define ET_PASS_SLICE_H

#include "passes.h"

/* Cut what can be cut of a program at stage fused into COUNT slices; how many products were. */
int et_slice_groups(et_program *, int count, const et_pass_options *);

#endif
