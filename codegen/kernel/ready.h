/* ready.h - what ready.c and candidates.c share: the cells of dynamic grids (ir/program/queue.h).
 */
#ifndef ET_READY_H
#define ET_READY_H

#include "codegen/kernel/kernel.h"

enum { CG_CELL_VARS = ET_MAX_RANK + ET_MAX_LOOPS };

struct cell_var {
    int var;
    val extent;
};

struct cell {
    int grid, event;
    bool begun; /* what counts is that arrivals have begun */
    const et_grid *gr;
    const et_func *f;
    const et_queue_grid *q;
    const et_wait *w; /* that the counter may be in the box of */
    const val *index; /* the counter's */
    struct cell_var var[CG_CELL_VARS];
    int nvars;
};

/* ---- ready.c ---- */
/* A loop over the lanes whose bits are set in MASK, an integer: uniform, the first one first. */
typedef struct {
    block head, done;
    val left;
} cg_lanes;
val cg_lanes_begin(cg *, cg_lanes *, val mask);
void cg_lanes_end(cg *, cg_lanes *);
void cg_put_cell(cg *, const struct cell *); /* queue its tasks */
/* The same of the cells in the lanes, those that are READY and nobody has claimed. */
void cg_put_cells(cg *, const struct cell *, val ready);
void cg_try_cell(cg *, const struct cell *); /* if it is ready and nobody has claimed it */
/* Does each cell of the grid wait for exactly one counter? Then the arrival that completes it need
 * look at nothing else. */
bool cg_waits_for_one(cg *, const et_grid *, const et_queue_grid *);
/* Before a wait whose box, extents or counts read what this kernel writes. */
void cg_acquire(cg *, const struct cell *, int wait);
/* On to NO unless the wait is over. */
void cg_check_wait(cg *, const struct cell *, int wait, block no);

/* Try every cell that the counter C is about may be waited for in; variables before K are bound. */
void cg_each_cell(cg *, const struct cell *, int k);

#endif
