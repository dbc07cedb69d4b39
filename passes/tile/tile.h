/* tile.h - device functions and grids for the groups of a program. */
#ifndef ET_TILE_H
#define ET_TILE_H

#include "passes/pipeline/pipeline.h"

/* A trial: tilings by rule, not by cost, and groups that may be made again in another way. */
typedef struct {
    void (*force)(void *ctx, et_value);  /* called to materialise a value that prevents a tiling */
    bool (*stale)(void *ctx, int group); /* does it hold a value that was forced? */
    bool (*known)(
        void *ctx,
        int group); /* its price is known: it needs no tiles, and its grid has no function */
    void *ctx;
} et_tile_trial;

/* Turn every group of P into a device function and its grid; false after a diagnostic. In a trial
 * (else NULL) values that prevent a tiling are forced, not reported, also for the groups after it,
 * unless these are stale by then: P is of no use after that. */
bool et_tile_program(et_program *p, const et_pass_options *, const et_tile_trial *);

/* The context assumed when attention is split by positions, as only a launch knows it: half of the
 * positions, at least ET_GUESSED_CONTEXT. */
int64_t et_assumed_context(const et_program *, const et_group *);

#endif
