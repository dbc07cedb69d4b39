/* packed.h - weights of which at most two of every four elements of a row are not zero, and which
 * products read packed: those two, and where they were (runtime/etrt_abi.h has how they lie).
 *
 * Behind a weight, of matrices [.., rows, k], lie its matrices packed and a word for each that says
 * whether it is: who loads the weight finds out. One that is not 2:4 is multiplied as it is. */
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
    int64_t at, is_packed; /* bytes from the weight to the blocks, to the words */
} et_packed;

/* Of a weight; false where it is none that can be packed. */
bool et_packed_of(const et_program *, int tensor, et_packed *out);

/* Can the b[I] of a CONTRACT step be read packed: is it a weight, walked along all of its k, whose
 * rows lie 16 by 16 in the tile as they do there? */
bool et_packed_can(const et_program *, const et_step *, int i);

/* Is there a product of the program that reads the weight so? */
bool et_packed_used(const et_program *, int tensor);

#endif
