/* attend.h - attention: what the kinds of plans (ir/product/attend.h) share. */
#ifndef ET_CODEGEN_ATTEND_H
#define ET_CODEGEN_ATTEND_H

#include "codegen/step/step.h"
#include "ir/product/attend.h"

void cg_step_attend(cg *, const et_step *);
/* Before the tile's waits, as the plans of ATTEND steps say: load the integers that decide where
 * they read, for all of the tile; prefetch keys and values. */
void cg_attend_early(cg *, const et_func *);
void cg_attend_prefetch(cg *, const et_step *);
/* Why a step cannot be emitted, or NULL. */
const char *cg_attend_problem(cg *, const et_step *);

typedef struct {
    et_attend_loop loop;
    et_attend_block block; /* of the heads being computed: */
    int heads, head0;      /* how many, and the first */
    val slice;             /* of d: 0 .. lanes - 1 */
    val owns;              /* this lane's d exist; NULL = always */
    val clamped;           /* slice, at most the last that exists */
    val part;              /* group of lanes within the wave */
    val first, end;
    val alone; /* of several rows, the one that is done by itself; or NULL */
    val q[ET_ATTEND_HEADS][ET_ATTEND_LANE_D];
} cg_attend;

/* Below any score, and its difference to any score is finite. */
static inline double cg_attend_least(void) {
    return -1e38;
}

/* ET_ATTEND_EACH elements of E from element ET_ATTEND_EACH * SLICE + D on, by one load where E
 * allows it; SLICE < N. */
val cg_attend_words(cg *, const cg_attend *, et_expr e, int each, val slice, int n, int d);
/* The place in scratch of element D of the state of HEAD that WAVE stores: sums of values, then the
 * maximum and the sum of weights. */
val cg_attend_state(cg *, const cg_attend *, val wave, val head, val d);

/* ---- columns.c ---- */
/* All positions of the wave, with heads as columns of matrix instructions; stores the wave's state.
 */
void cg_attend_columns(cg *, cg_attend *);
/* The same of several rows, of LIVE that there are. */
void cg_attend_columns_rows(cg *, cg_attend *, val live);
/* And of the row ALONE among them. */
void cg_attend_columns_alone(cg *, cg_attend *, val live);

/* Of a step of several rows the row ROW of LIVE, by all waves, with positions from FIRST to END.
 * Scratch is free before it and behind it. */
void cg_attend_alone(cg *, const et_attend_loop *, val row, val live, val first, val end);

#endif
