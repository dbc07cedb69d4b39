/* reduce.h - a REDUCE step while it is emitted. */
#ifndef ET_CODEGEN_REDUCE_H
#define ET_CODEGEN_REDUCE_H

#include "codegen/step/step.h"
#include "ir/product/items.h"

/* A running result: the value, and for ARGMAX its index. */
struct best {
    val v, at;
};

struct best cg_best_none(cg *, const et_reduce_loop *);
struct best cg_best_of(cg *, const et_reduce_loop *, struct best, struct best);

/* ---- reduce_wide.c ---- */
/* A lane has whole rows, several next to each other; all lanes have as many. */
void cg_reduce_wide(cg *, const et_reduce_loop *);

#endif
