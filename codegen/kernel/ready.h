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
    bool begun; /* counts tasks that have begun, not those that are done */
    const et_grid *gr;
    const et_func *f;
    const et_queue_grid *q;
    const et_wait *w; /* whose box may have the counter */
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
void cg_put_cell(cg *, const struct cell *); /* push its tasks */
/* The same for a cell in each lane, those that are READY and not claimed yet. */
void cg_put_cells(cg *, const struct cell *, val ready);
void cg_try_cell(cg *, const struct cell *); /* if it is ready and not claimed yet */
/* Does each cell of the grid wait for exactly one counter? Then the arrival that completes it need
 * look at nothing else. */
bool cg_waits_for_one(cg *, const et_grid *, const et_queue_grid *);
/* An acquire fence before a wait whose box, extents or counts read tensors that the kernel writes.
 */
void cg_acquire(cg *, const struct cell *, int wait);
/* Branches to NO unless the wait is over. */
void cg_check_wait(cg *, const struct cell *, int wait, block no);

/* Try every cell that may wait for the counter of C; variables before K are bound. */
void cg_each_cell(cg *, const struct cell *, int k);

#endif
