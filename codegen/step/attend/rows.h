/* rows.h - what the files of ATTEND steps of several rows share. */
#ifndef ET_CODEGEN_ATTEND_ROWS_H
#define ET_CODEGEN_ATTEND_ROWS_H

#include "codegen/step/step.h"
#include "ir/product/attend.h"

enum {
    CG_ROWS_DEPTH16 = ET_ATTEND_ROWS_D / 16, /* sixteens of a head */
    CG_ROWS_UNITS = ET_ATTEND_ROWS_D / 16,   /* of a head, which are sixteen elements or more */
    CG_ROWS_STATE = 2 * ET_ATTEND_LANE_ROWS + CG_ROWS_DEPTH16,
};

typedef struct cg_rows {
    et_attend_loop loop;
    val lane_m, lane_n, group, column; /* of this lane; group: of k; column: of sums */
    val wave_p, head, row16, writes;   /* of this wave */
    val live;
    val row[ET_ATTEND_LANE_ROWS], q[CG_ROWS_UNITS][ET_ATTEND_LANE_ROWS];
    val held[CG_ROWS_DEPTH16][4];                           /* the same with warpgroup MMA */
    val from[ET_ATTEND_LANE_ROWS], to[ET_ATTEND_LANE_ROWS]; /* positions of a row, in this run */
    val all_from, all_to; /* those that all rows of the wave have */
    val run, after;       /* its first row, and the one after its last */
    val first, end;       /* of the positions of all its rows, and the one after the last */
} cg_rows;

#define CG_ROWS_LEAST (-1e37) /* the largest score of a row without any yet */

void cg_attend_rows(cg *, const et_attend_loop *);
/* The first run, before the tile's waits. */
void cg_attend_rows_early(cg *, const et_attend_loop *);

/* The end of the run that begins with row RUN of LIVE: the first row after it with other keys. */
val cg_rows_run_end(cg *, const et_step *, val run, val live);
val cg_rows_over_lanes(cg *, val v, bool most); /* the largest, or smallest, of a wave's */

/* ---- warpgroup.c ---- */
void cg_attend_warpgroup_queries(cg *, cg_rows *);
/* Copy the block from position P0 on, if there is one, into a stage; wait for such copies. */
void cg_attend_warpgroup_copy(cg *, const cg_rows *, val p0, val stage);
void cg_attend_warpgroup_copied(cg *);
/* Products with keys: sums of so many sixteens of positions from FIRST of the block at P0 on. */
void cg_attend_warpgroup_scores(cg *, const cg_rows *, val stage, val p0, val first, int sixteens,
                                val s[][16]);
/* Issue products with values; wait for all that were issued. SUM: of sixteens of elements. */
void cg_attend_warpgroup_values(cg *, const cg_rows *, val stage, val first, int sixteens,
                                val p[][16], val *sum);
void cg_attend_warpgroup_over(cg *, const cg_rows *, val *sum);

/* ---- block.c ---- */
int cg_rows_row(const cg_rows *, int v); /* which of the lane's rows value V of a sum is of */
val cg_rows_at_most(cg *, val v, val most);
val cg_rows_at_least(cg *, val v, val few);
val cg_rows_minus(cg *, val x, val y);
val cg_rows_power(cg *, const cg_rows *, val x, val y);
val cg_rows_over_columns(cg *, const cg_rows *, val v, bool add);
val cg_rows_scaled(cg *, const cg_rows *, val sum, const val *by);
val cg_rows_sums(cg *, const cg_rows *);
val cg_rows_load_piece(cg *, const cg_rows *, et_expr e, val piece);
void cg_rows_bind(cg *, const cg_rows *, int j);
val cg_rows_scratch(cg *, const cg_rows *, val bytes); /* an address in the step's scratch */
val cg_rows_stage(cg *, const cg_rows *, val stage, val bytes); /* and in a stage of it */
void cg_rows_load_block(cg *, const cg_rows *, val p0, val *out);
void cg_rows_store_block(cg *, const cg_rows *, val stage, const val *in);
void cg_rows_multiply(cg *, const cg_rows *, val stage, val p0, val *state);

#endif
