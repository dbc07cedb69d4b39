/* attend.h - how an ATTEND step is done.
 *
 * As with products, the plan (et_attend_plan) is what passes/product decides, and data of the step.
 * All that follows from it is derived here: what lanes, waves and the workgroup have of heads,
 * elements, rows of queries and positions. Codegen emits that and chooses nothing. */
#ifndef ET_PRODUCT_ATTEND_H
#define ET_PRODUCT_ATTEND_H

#include "ir/product/product.h"

enum {
    ET_ATTEND_EACH = 8, /* elements that are loaded at once, of 16 bits */
    /* One row of queries. */
    ET_ATTEND_LANE_D = 32,    /* elements of a head in one lane, at most */
    ET_ATTEND_HEADS = 8,      /* whose state is in registers, at most */
    ET_ATTEND_POSITIONS = 4,  /* of a block of a group of lanes, at most */
    ET_ATTEND_LOADS = 8,      /* of keys and values of a lane in flight, at most */
    ET_ATTEND_COLUMNS_P = 16, /* positions of a block where heads are columns, */
    ET_ATTEND_COLUMNS_D = 64, /* elements of a head are a multiple of so many, */
    ET_ATTEND_COLUMNS_MOST_D = 128,
    /* Several. */
    ET_ATTEND_ROWS = 32,      /* of a tile, at most */
    ET_ATTEND_ROWS_D = 256,   /* elements of a head, at most, a multiple of: */
    ET_ATTEND_ROWS_UNIT = 32, /* elements */
    ET_ATTEND_APART = 2,      /* waves share rows of deeper heads than ET_ATTEND_WAVE_D, */
    ET_ATTEND_ITEMS = 8,      /* loads of a work-item for a block's keys, or values, at most */
    ET_ATTEND_LANE_ROWS = 2,  /* of sixteen rows in a lane, at most */
    ET_ATTEND_GROUP_ROW = 64, /* bytes of a row of keys and values, for warpgroup MMA */
};

/* What follows from a plan. */
typedef struct {
    et_attend_plan plan;
    const et_step *s;
    /* The score in base 2 of a product of query and key: its multiple by `factor` where there is no
     * `score`, which is an expression over it. With several rows `before` is another factor, that
     * comes first, where f32 has no room for weights of that base or order would change. */
    double factor, before;
    et_expr score;
    bool masked_by_head; /* the mask is not the same for all heads */

    /* COLUMNS of several rows: such as have columns side by side, and groups of them at once. */
    int beside, at_once;

    /* LANES: */
    int lanes;    /* that hold one position, a power of two */
    int per_wave; /* positions */

    /* Several rows: operands of products are fragments of sixteen rows. */
    et_dtype operand;
    const et_fragment *fr;
    const et_layout *sums;               /* how they are dealt to lanes */
    bool warpgroup;                      /* by warpgroup MMA */
    int groups, columns, nrows, results; /* of a lane: groups of k; columns of a sum, its rows,
                                            both together */
    int unit;                            /* k of an operand of ET_ATTEND_EACH a lane */
    bool apart; /* waves that share rows have all positions, and elements of values of their own */
    int values; /* elements of values that a wave has sums of */
    int fragments;  /* sixteens of rows, of all heads */
    int partner;    /* from a wave to the next that shares its sixteen */
    int nk, nv;     /* loads of a work-item */
    int key, value; /* bytes between rows in local memory */
} et_attend_loop;

/* What is derived of S by its plan; false, and *OUT_WHY says why, where it has none, or that does
 * not suit the step, its buffers or the target. */
bool et_attend_loop_of(const et_product_cx *, const et_step *, et_attend_loop *out,
                       const char **out_why);

/* The same step by step, for the search for a plan. What is known before there is one: false where
 * S cannot be done on the target. */
bool et_attend_begin(const et_product_cx *, const et_step *, et_attend_loop *out,
                     const char **out_why);
/* Several rows: may so many waves share sixteen rows? And use warpgroup MMA then? */
bool et_attend_may_share(const et_product_cx *, const et_attend_loop *, int waves);
bool et_attend_may_group(const et_product_cx *, const et_attend_loop *, int waves);
bool et_attend_may_columns(const et_product_cx *, const et_step *);
/* Several rows, of several sequences: may a run of one be done as one row, whose state of each wave
 * lies where blocks do? */
bool et_attend_may_alone(const et_product_cx *, const et_step *);
/* Are the buffers of a step of several rows those of heads as columns, of each row its own? */
bool et_attend_has_columns(const et_product_cx *, const et_step *);
/* May keys and values of so many positions with LANE_D elements in a lane be in flight, as they lie
 * in memory, while those before them are used? */
bool et_attend_may_double(const et_product_cx *, const et_step *, int positions, int lane_d);

/* Bytes that ET_ATTEND_EACH elements of E, at a multiple of LANE_D, are aligned to; 0 where they
 * are not loaded as a whole, as they are. */
int et_attend_whole(const et_product_cx *, const et_step *, et_expr e, int lane_d);

/* Which of a lane's rows value V of a sum is of, or -1. */
int et_attend_row_of(const et_layout *, int v);

/* ---- before the waits of a tile ---- */
/* Is LOAD, in a part of S, an integer that no task writes, at a place that the tile alone decides?
 */
bool et_attend_is_index(const et_product_cx *, const et_step *, et_expr load);
/* May so much be asked for, or known, of what a tile of the context's function attends to? */
bool et_attend_may_early(const et_product_cx *, const et_step *, et_attend_early_as);

#endif
