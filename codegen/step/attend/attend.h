/* attend.h - attention of one row of queries: what the ways through its positions share. */
#ifndef ET_CODEGEN_ATTEND_H
#define ET_CODEGEN_ATTEND_H

#include "codegen/step/step.h"
#include "ir/program/step.h"

/* Elements of a head that one lane holds at most: heads are so many waves' widths deep. */
enum { CG_ATTEND_PER_LANE = 32 };
void cg_step_attend(cg *, const et_step *);
/* Load what decides where the function's attention reads, for as long as the tile lasts. */
void cg_know_ahead(cg *, const et_func *);
/* Why a step of several rows of F cannot be emitted, or NULL. */
const char *cg_attend_rows_problem(cg *, const et_func *, const et_step *);

/* CHUNK: elements that are loaded at once. */
enum { CG_ATTEND_CHUNK = 8, CG_ATTEND_HEADS = 8 };

typedef struct {
    const et_step *s;
    int each;     /* elements of a head in one lane: 8, 16 or 32 */
    int lanes;    /* holding one position */
    int per_wave; /* positions */
    int nheads;   /* in this pass */
    int head0;
    val slice;   /* of d: 0 .. lanes - 1 */
    val owns;    /* this lane's d exist; NULL = always */
    val clamped; /* slice, at most the last that exists */
    val part;    /* lane group within the wave */
    val first, end;
    double factor;       /* of the product, multiplied into the queries */
    et_expr score;       /* over the product, or none where the factor is all there is to it */
    bool masked_by_head; /* the mask is not the same for all heads */
    int unroll;          /* positions of a lane group that are looked at together */
    bool ahead;          /* keys and values are loaded while those before them are looked at */
    val q[CG_ATTEND_HEADS][CG_ATTEND_PER_LANE];
} et_attend;

/* Below any score, and its difference to any score is finite. */
static inline double cg_attend_least(void) {
    return -1e38;
}

/* Bytes a lane's chunk of E is aligned to; 0 where it is not loaded as a whole, as it is. */
int cg_attend_whole(cg *, const et_attend *, et_expr e);
/* The chunk of E that begins D elements after element CHUNK * SLICE, where SLICE is less than N. */
val cg_attend_words(cg *, const et_attend *, et_expr e, val slice, int n, int d);
/* Element D of the state of HEAD that WAVE leaves: behind its elements the maximum and the sum. */
val cg_attend_left(cg *, const et_attend *, val wave, val head, val d);

/* The score over the product, or none where it is the product times OUT_FACTOR, in base 2. */
et_expr cg_attend_score(cg *, const et_step *, double *out_factor);

/* ---- heads.c ---- */
/* Can heads be the columns of matrix instructions? */
bool cg_attend_may_multiply(cg *, const et_attend *);
/* All positions of the wave, whose state is left. */
void cg_attend_heads(cg *, et_attend *);

#endif
