/* zeros.h - weights that are zero in whole pieces, which products need not read.
 *
 * A weight is matrices [.., rows, k] that products walk along k. Its map has a word of 64 bits for
 * every ET_ZERO_ROWS rows of a matrix (the last word has those that are left), and in it a bit for
 * every so many columns, from the lowest: 0 says that all that the piece has is zero. The map lies
 * behind the weight; who loads the weight makes it (runtime/etrt_abi.h). Pieces depend on nothing
 * but the weight's shape, so that all tilings of all targets share a map. */
#ifndef ET_ZEROS_H
#define ET_ZEROS_H

#include "ir/program/program.h"

enum { ET_ZERO_ROWS = 16, ET_ZERO_BITS = 64 };

typedef struct {
    int64_t rows, k, groups; /* of a matrix; words that it has */
    int log2_columns;        /* of a piece */
    int64_t at;              /* bytes from the weight to its map */
} et_zeros;

/* Of a weight; false where it can have no map: it is none, or has no rows of a known length. */
bool et_zeros_of(const et_program *, int tensor, et_zeros *out);

/* The load which b[I] of a CONTRACT step walks along k and without whose elements it is zero, where
 * the step's k are the rows of a weight that can have a map, and the tile's rows lie 16 by 16 as
 * they do there; else no expression. */
et_expr et_zeros_load(const et_program *, const et_step *, int i);

/* Does some product of the program read the weight so? */
bool et_zeros_used(const et_program *, int tensor);

#endif
