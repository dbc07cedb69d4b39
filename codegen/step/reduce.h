/* reduce.h - a REDUCE step while it is emitted. */
#ifndef ET_CODEGEN_REDUCE_H
#define ET_CODEGEN_REDUCE_H

#include "codegen/step/step.h"

struct reduce {
    const et_step *s;
    bool real;
    et_expr value;  /* an integer as an element keeps it */
    int64_t extent; /* of rvar, -1 when only known at run time */
    int n;          /* consecutive elements of a lane at a time */
    int lanes;      /* sharing one row: at most a wave, or several waves */
    int wide;       /* neighbouring rows that a lane has at once */
};

/* A running result: the value, and for ARGMAX its index. */
struct best {
    val v, at;
};

struct best cg_best_none(cg *, const struct reduce *);
struct best cg_best_of(cg *, const struct reduce *, struct best, struct best);

/* ---- reduce_wide.c ---- */
/* How many rows next to each other a lane has at once, of rows that meet. What is gathered takes
 * two round trips to memory, so a lane asks for as much as a load brings while it is at it. */
int cg_reduce_wide_of(cg *, const struct reduce *, int64_t rows, const int64_t *extent);
/* A lane has whole rows, several next to each other; all lanes have as many. */
void cg_reduce_wide(cg *, const struct reduce *, int64_t rows, const int64_t *extent);

#endif
