/* slice.h - cutting operators into slices that each run on one die (slice.c). */
#ifndef ET_PASS_SLICE_H
#define ET_PASS_SLICE_H

#include "passes/pipeline/pipeline.h"

/* How a product with a left operand in slices is cut. */
typedef enum {
    ET_CUT_NONE,
    ET_CUT_ROWS, /* itself not; the producers of its operand are, along rows */
    ET_CUT_SUM,  /* along k, and the producers of its operand as well */
} et_cut;

/* The cuts possible for products of a program at stage fused with COUNT slices, by group: bits
 * 1 << ET_CUT_ROWS, where that keeps some value on a die, and 1 << ET_CUT_SUM. In the program's
 * arena. */
unsigned char *et_slice_cuts(et_program *, int count);
/* The last of these that is not after MOST. */
et_cut et_most_cut(unsigned char may, et_cut most);
/* Cut products as CUT says, by group; returns how many were cut. */
int et_slice_groups(et_program *, int count, const et_cut *cut, const et_pass_options *);
/* The cuts that placement chooses, by group; NULL: none (choose.c). Writes findings where the
 * options want them. ALL, unless ET_CUT_NONE, is done to all products that allow it, without a
 * choice. */
et_cut *et_slices_chosen(et_pipeline *, int count, et_cut all);

#endif
