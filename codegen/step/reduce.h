/* reduce.h - a REDUCE step while it is emitted. */
#ifndef ET_CODEGEN_REDUCE_H
#define ET_CODEGEN_REDUCE_H

#include "codegen/step/step.h"
#include "ir/product/items.h"

/* A running result: the value, and for ARGMAX and TOP its index. */
struct best {
    val v, at;
};

struct best cg_best_none(cg *, const et_reduce_loop *);
struct best cg_best_of(cg *, const et_reduce_loop *, struct best, struct best);

/* What lane SUB of those that share the bound row has of it, of TOP of what comes after BEHIND. */
void cg_reduce_parts(cg *, const et_reduce_loop *, const struct best *behind, val sub,
                     struct best *);
/* Parts of N rows that LANES side by side have, each combined in all of these. */
void cg_reduce_fold(cg *, const et_reduce_loop *, struct best *, int n, int lanes);
/* Stores the partial results of wave NUMBER of the N that share row ROW to LDS, in the order of the
 * waves that each of its parts is of; and, behind a barrier, these combined in their order. */
void cg_reduce_store_parts(cg *, const et_reduce_loop *, val row, val number, int n,
                           const struct best *);
struct best cg_reduce_waves(cg *, const et_reduce_loop *, val row, int n);
void cg_reduce_store(cg *, const et_reduce_loop *, struct best);

/* ---- reduce_top.c ---- */
/* The places of each row one after the other: the largest of what comes after the one before. */
void cg_reduce_top(cg *, const et_reduce_loop *);

/* ---- reduce_wide.c ---- */
/* A lane has whole rows, several next to each other; all lanes have as many. */
void cg_reduce_wide(cg *, const et_reduce_loop *);

#endif
