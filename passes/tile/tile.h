/* tile.h - device functions and grids for the groups of a program. */
#ifndef ET_TILE_H
#define ET_TILE_H

#include "passes/pipeline/pipeline.h"

/* Turn every group of P into a device function and its grid. A group with no tiling is reported,
 * or, where FORCE is given (a trial, with tilings by rule instead of by cost), FORCE is asked to
 * materialise the value that is in the way. */
typedef void (*et_force_fn)(void *ctx, et_value);
bool et_tile_program(et_program *p, const et_pass_options *, et_force_fn force, void *ctx);

#endif
