/* footprint.h - which part of a tensor one tile touches. */
#ifndef ET_FOOTPRINT_H
#define ET_FOOTPRINT_H

#include "ir/program/program.h"

/* Elements lo..hi (inclusive) of one dimension, as expressions over tile coordinates, loop
 * variables and symbols; or the whole dimension where that cannot be told before the launch. hi may
 * lie past the end of the dimension in the last tile.
 *
 * LOAD, where there is one, is a load of an index tensor that the interval depends on: the elements
 * are those from lo to hi for every value of the variables in the load's own index that are neither
 * coordinates nor loops. These variables are made for the footprint, and within their extents the
 * load is inside its tensor. Whoever cannot use that takes the interval for the whole dimension. */
typedef struct {
    bool whole;
    et_expr lo, hi;
    et_expr load; /* or none */
} et_interval;

typedef struct {
    int tensor;
    bool is_store;
    et_interval dim[ET_MAX_RANK];
} et_footprint;

typedef struct {
    et_footprint *v;
    int n, cap;
} et_footprints;

/* Everything one tile of GRID reads and writes; equal footprints are listed once. */
void et_grid_footprints(et_program *, const et_grid *, et_footprints *out);

#endif
