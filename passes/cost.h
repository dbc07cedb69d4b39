/* cost.h - predicted time of a tiled program on a machine model. */
#ifndef ET_COST_H
#define ET_COST_H

#include "passes.h"

typedef struct {
    double tiles;
    double memory_bytes; /* from or to memory by all tiles: each tensor once */
    double cache_bytes;  /* from the shared caches by all tiles */
    double matrix_flops, vector_flops;
    double us; /* predicted time of the grid alone */
} et_grid_cost;

typedef struct {
    double us;           /* predicted time of one launch */
    double events_us;    /* of it, waiting for events */
    double memory_bytes; /* moved, all iterations */
    int tasks, events;   /* grids and grids that must wait, per launch, all iterations */
} et_cost;

/* Where the bounds of the symbols are sampled: the least, the geometric mean, the largest. Beyond
 * ET_LARGE nothing changes in kind, so larger bounds decide like it. */
enum { ET_SAMPLES = 3, ET_MAX_SYMS = 64, ET_LARGE = 1024 };
void et_sample_symbols(const et_exprs *, int64_t syms[ET_SAMPLES][ET_MAX_SYMS]);

/* One tile grid of P at these values of the symbols, run once. */
et_grid_cost et_grid_cost_at(et_program *, const et_grid *, const et_machine *,
                             const int64_t *syms);
/* One launch of a program at stage tiled or later. Neighbouring grids that do not read one
 * another's results overlap. Loops count TRIPS iterations, or as many as they have if TRIPS is 0:
 * decisions that must not depend on depth fix it. */
et_cost et_cost_at(et_program *, const et_machine *, const int64_t *syms, int64_t trips);

#endif
