/* split_k.h - split-K: products cut along k. sums.c and passes/slice decide which. */
#ifndef ET_SPLIT_K_H
#define ET_SPLIT_K_H

#include "ir/program/program.h"

/* E as a product plus the rest, or none; false when it is not such a sum. */
bool et_split_off_product(et_exprs *, et_expr e, et_expr *product, et_expr *rest);
/* One more axis of the group, in front of the others, over PARTS; returns its variable. */
et_expr et_add_part_axis(et_program *, et_group *, int parts);
/* The group stores to part PART of its tensor. */
void et_store_in_part(et_group *, et_expr part);
/* E in part 0, zero in the others. */
et_expr et_in_first(et_exprs *, et_expr part, et_expr e);
/* The group, whose value can be taken apart and has one product of a fixed k that is a multiple of
 * PARTS, computes PART of it. */
void et_cut_product(et_program *, et_group *, int parts, et_expr part);
/* The element at AT, of RANK, of a tensor in PARTS: their sum, in their order. */
et_expr et_add_parts_up(et_exprs *, int tensor, et_type, int rank, const et_expr *at, int parts);
/* The tensor gets a dimension of PARTS partial sums. */
void et_split_tensor(et_exprs *, et_tensor *, int parts);

#endif
