/* slice.h - cutting operators into slices that each run on one die (slice.c). */
#ifndef ET_PASS_SLICE_H
#define ET_PASS_SLICE_H

#include "passes/pipeline/pipeline.h"

/* What becomes of a product whose left operand comes in slices. */
typedef enum {
    ET_CUT_NONE,
    ET_CUT_ROWS, /* it stays whole, what its operand comes from is in slices of rows */
    ET_CUT_SUM,  /* so is that, and the product is cut along what it sums over */
} et_cut;

/* What can be done to products of a program at stage fused with COUNT slices, by group: bits
 * 1 << ET_CUT_ROWS where something would stay on a die by that, and 1 << ET_CUT_SUM. In the
 * program's arena. */
unsigned char *et_slice_cuts(et_program *, int count);
/* The last of these that is not after MOST. */
et_cut et_most_cut(unsigned char may, et_cut most);
/* Do to products what CUT says, by group; to how many it was done. */
int et_slice_groups(et_program *, int count, const et_cut *cut, const et_pass_options *);
/* What the program of placement does to products, by group; NULL where it says nothing
 * (choose.c). Tells what it found where the options ask for that. Where ALL is anything, it
 * is not asked: that is done to all that it can be done to. */
et_cut *et_slices_chosen(et_pipeline *, int count, et_cut all);

#endif
