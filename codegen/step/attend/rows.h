/* rows.h - what the files of ATTEND steps of several rows share. */
#ifndef ET_CODEGEN_ATTEND_ROWS_H
#define ET_CODEGEN_ATTEND_ROWS_H

#include "codegen/step/step.h"
#include "ir/program/step.h"

enum {
    CG_ROWS_EACH = 8,     /* elements of a load, of 16 bytes */
    CG_ROWS_ITEMS = 8,    /* loads of a work-item for a block */
    CG_ROWS_OF_LANE = 2,  /* of sixteen in a lane */
    CG_ROWS_UNITS = 16,   /* of a head */
    CG_ROWS_DEPTH16 = 16, /* sixteens of a head */
    CG_ROWS_STATE = 2 * CG_ROWS_OF_LANE + CG_ROWS_DEPTH16,
};

typedef struct cg_rows {
    const et_step *s;
    const et_fragment *fr;
    const et_layout *sums; /* how they are dealt to lanes */
    bool together;         /* by warpgroup MMA (group.c) */
    et_dtype operand;
    int groups, columns, nrows, results; /* of a lane: columns of a sum, its rows, both together */
    int unit;                            /* k of an operand of CG_ROWS_EACH a lane */
    int waves_p, fragments;              /* waves that share a sixteen of rows; these */
    int partner;                         /* from one such to the next */
    int nk, nv;                          /* loads of a work-item */
    int key, value;                      /* bytes between rows in LDS */
    val lane_m, lane_n, group, column;   /* of this lane; group: of k; column: of sums */
    val wave_p, head, row16, writes;     /* of this wave */
    val live;
    /* What a product is multiplied by to be its score in base 2: before anything else is done with
     * it, where that does not keep the order of scores or leaves the range of f32, and then. */
    double before, factor;
    et_expr score; /* over the product, or none where the factors are all there is to it */
    val row[CG_ROWS_OF_LANE], q[CG_ROWS_UNITS][CG_ROWS_OF_LANE];
    val held[CG_ROWS_DEPTH16][4];                   /* the same with warpgroup MMA */
    val from[CG_ROWS_OF_LANE], to[CG_ROWS_OF_LANE]; /* positions of a row, in this run */
    val all_from, all_to;                           /* those that all rows of the wave have */
    val run, after;                                 /* its first row, and the one after its last */
    val first, end; /* of the positions of all its rows, and the one after the last */
} et_rows;

#define CG_ROWS_LEAST (-1e37) /* the largest score of a row where none has been seen */

void cg_attend_rows(cg *, const et_step *);
/* What can be known of it before the tile's waits. */
void cg_attend_rows_ahead(cg *, const et_step *);

/* ---- group.c: with warpgroup MMA ---- */
/* Can they? Of FRAGMENTS sixteens of rows, each of which so many waves share. */
bool cg_rows_may_group(cg *, const et_func *, const et_step *, int fragments, int waves_p);
void cg_rows_hold_queries(cg *, et_rows *);
/* The block from position P0 on, if there is one, into a slot; and what was asked for is there. */
void cg_rows_group_copy(cg *, const et_rows *, val p0, val slot);
void cg_rows_group_copied(cg *);
/* Products with keys: sums of so many sixteens of positions from FIRST of the block at P0 on. */
void cg_rows_group_scores(cg *, const et_rows *, val slot, val p0, val first, int sixteens,
                          val s[][16]);
/* Those with values, which begin; and all that did is over. SUM: of sixteens of elements. */
void cg_rows_group_values(cg *, const et_rows *, val slot, val first, int sixteens, val p[][16],
                          val *sum);
void cg_rows_group_over(cg *, const et_rows *, val *sum);

/* ---- block.c ---- */
int cg_rows_row_of(const et_layout *, int v); /* which of the lane's rows value V of a sum is of */
int cg_rows_row(const et_rows *, int v);      /* the same of these */
val cg_rows_at_most(cg *, val v, val most);
val cg_rows_at_least(cg *, val v, val few);
val cg_rows_minus(cg *, val x, val y);
val cg_rows_power(cg *, const et_rows *, val x, val y);
val cg_rows_over_columns(cg *, const et_rows *, val v, bool add);
val cg_rows_scaled(cg *, const et_rows *, val sum, const val *by);
val cg_rows_sums(cg *, const et_rows *);
val cg_rows_load_piece(cg *, const et_rows *, et_expr e, val piece);
void cg_rows_bind(cg *, const et_rows *, int j);
val cg_rows_scratch(cg *, const et_rows *, val bytes);        /* an address in the step's scratch */
val cg_rows_slot(cg *, const et_rows *, val slot, val bytes); /* and in a slot of it */
void cg_rows_load_block(cg *, const et_rows *, val p0, val *out);
void cg_rows_store_block(cg *, const et_rows *, val slot, const val *in);
void cg_rows_multiply(cg *, const et_rows *, val slot, val p0, val *state);

#endif
