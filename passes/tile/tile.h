/* tile.h - device functions and grids for the groups of a program. */
#ifndef ET_TILE_H
#define ET_TILE_H

#include "passes/pipeline/pipeline.h"

/* A trial, with tilings by rule instead of by cost, whose groups may be made again otherwise. */
typedef struct {
    void (*force)(void *ctx, et_value);  /* asked to materialise the value that is in the way */
    bool (*stale)(void *ctx, int group); /* does it hold a value that was forced? */
    bool (*known)(void *ctx, int group); /* is it needless to tile it? its grid has no function */
    void *ctx;
} et_tile_trial;

/* Turn every group of P into a device function and its grid; false after a diagnostic. In a trial
 * (else NULL) what is in the way of a group is forced instead of reported, and so is what is in the
 * way of the groups after it, but for those that are stale by then: P is of no use after that. */
bool et_tile_program(et_program *p, const et_pass_options *, const et_tile_trial *);

/* The context that the parts of an attention's positions are chosen for, which only a launch knows:
 * half of the positions there are, and no less than ET_GUESSED_CONTEXT of them. */
int64_t et_assumed_context(const et_program *, const et_group *);

#endif
