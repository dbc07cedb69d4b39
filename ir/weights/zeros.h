/* zeros.h - weights with blocks of zeros, which products skip.
 *
 * A weight is matrices [.., rows, k]. Its map has a word of 64 bits for every ET_ZERO_ROWS rows of
 * a matrix (the last word for those that are left), with a bit for each block of columns, lowest
 * first: 0 means that the block is all zero. The map follows the weight in memory; the loader of
 * the weight computes it (runtime/etrt_abi.h). Blocks depend on the weight's shape alone, so all
 * tilings of all targets share a map. */
#ifndef ET_ZEROS_H
#define ET_ZEROS_H

#include "ir/program/program.h"

enum { ET_ZERO_ROWS = 16, ET_ZERO_BITS = 64 };

typedef struct {
    int64_t rows, k, groups; /* of a matrix; words of its map */
    int log2_columns;        /* of a block */
    int64_t at;              /* bytes from the weight to its map */
} et_zeros;

/* The map of a weight; false where TENSOR is no weight, or its rows have no constant length. */
bool et_zeros_of(const et_program *, int tensor, et_zeros *out);

/* The load of b[I] of a CONTRACT step that has a map, runs along k, and makes b[I] zero where it is
 * zero, if its blocks of 16 rows coincide with the tile's; else no expression. */
et_expr et_zeros_load(const et_program *, const et_step *, int i);

/* Does a product of the program use the weight's map? */
bool et_zeros_used(const et_program *, int tensor);

#endif
