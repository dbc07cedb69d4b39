/* scan.h - what the files of SCAN steps share. */
#ifndef ET_CODEGEN_SCAN_H
#define ET_CODEGEN_SCAN_H

#include "codegen/step/step.h"
#include "ir/product/scan.h"

enum {
    CG_SCAN_WIDE = 4,   /* elements of a lane next to each other, if it has so many */
    CG_SCAN_LOADS = 96, /* values that are loaded ahead; more are loaded where they are used */
};

typedef struct {
    cg *g;
    const et_step *s;
    int lanes, wide, n; /* N: elements of a lane, WIDE of them next to each other */
    int sub, key;       /* variables: the lane among those that share; where the state lies */
    et_expr row;        /* the state's place by what is not of a result or an element */
    et_expr element;    /* and by the rest: their sum is the offset */
    val at;             /* SUB */
    val item;           /* number of the lanes' result in the tile */
    val state[ET_SCAN_ELEMENTS];
    int later;                   /* a variable: a row of the next block */
    et_expr load[CG_SCAN_LOADS]; /* what a row loads that its state has no part in */
    int nloads;
    et_scan_chunk chunk;              /* where the step has some */
    et_scan_window window;            /* where it has one */
    int64_t all, extent[ET_MAX_VARS]; /* results of a tile */
} cg_scan;

/* The state of row ROW, which begins a chunk, in place of the one at BEFORE; its place, -1: none.
 */
val cg_scan_enter(cg_scan *, val row, val before);
/* Where the state of ROW, which may differ in each lane, lies; -1 where it is not kept. */
val cg_scan_key(cg_scan *, val row, bool divergent);

/* Of all lanes that share the result, from what each has in order: their sum, as one of them has
 * it.
 */
val cg_scan_sum(cg_scan *, val *of_element);

/* ---- scan_window.c ---- */
/* The first row from ROW on that begins a run of more rows than a wave has lanes, or the number of
 * rows. Uniform. */
val cg_scan_find_run(cg_scan *, val row);
/* Rows from FIRST on as far as the run goes, of all results of the tile, by all work-items, with
 * the state in memory before and after them. The row behind them. */
val cg_scan_run(cg_scan *, val first);

/* ---- scan_chunk.c ---- */
/* The first row from ROW on that begins a chunk, or the number of rows. Uniform. */
val cg_scan_find(cg_scan *, val row);
/* The chunk that begins with ROW, and those of its sequence behind it. V: the state before and
 * after them, and where it lies; the row after them. */
val cg_scan_chunks(cg_scan *, val row, val *v);

#endif
