/* packed.h - 2:4 sparse weights: at most two of every four elements of a row are not zero. Products
 * read them packed: those two and their places (layout: runtime/etrt_abi.h).
 *
 * Behind a weight [.., rows, k] follow its matrices packed, and a word for each that says whether
 * it is packed, which the loader of the weight decides. A matrix that is not 2:4 is multiplied
 * dense. */
#ifndef ET_PACKED_H
#define ET_PACKED_H

#include "ir/program/program.h"

enum {
    ET_PACKED_ROWS = 16,
    ET_PACKED_K = 64,
    ET_PACKED_LANE_K = 16,
    ET_PACKED_BYTES = 1152,
    ET_PACKED_ALIGN = 128
};

typedef struct {
    int64_t high, wide;    /* blocks of a matrix */
    int64_t matrices;      /* of the weight */
    int64_t at, is_packed; /* bytes from the weight to the packed blocks; to the words */
} et_packed;

/* The layout for a weight; false where TENSOR cannot be packed. */
bool et_packed_of(const et_program *, int tensor, et_packed *out);

/* Can b[I] of a CONTRACT step be read packed: is it a weight, read along all of its k, whose blocks
 * of 16 rows coincide with the tile's? */
bool et_packed_can(const et_program *, const et_step *, int i);

/* Does a product of the program read the weight packed? */
bool et_packed_used(const et_program *, int tensor);

#endif
