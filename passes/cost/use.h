/* use.h - how a product is multiplied and attention done, as far as costs depend on that. */
#ifndef ET_COST_USE_H
#define ET_COST_USE_H

#include "ir/program/step.h"
#include "passes/machine/machine.h"

typedef struct {
    et_rows_from rows;
    int chunk;     /* k's that are multiplied at a time */
    int in_flight; /* of a pipeline: chunks that are asked for while one is multiplied; else 0 */
    bool by_chunk; /* weights go through registers or local memory, and no stream brings them: a
                      chunk is loaded while the one before it is multiplied, and no more */
    bool streamed; /* weights come through the weight stream */
    et_decode_as decode;
    et_warpgroup_rows warpgroup; /* of a pipeline */
} et_product_use;

/* What the plan of S, a CONTRACT step of F, says, or the one that it would get
 * (passes/product/product.h). */
et_product_use et_product_use_of(const et_program *, const et_func *f, const et_step *s,
                                 const et_machine *);

typedef struct {
    bool matrix;   /* products are made by matrix instructions */
    int passes;    /* over all positions, of a few heads each */
    int positions; /* of a block, of all waves together */
    int in_flight; /* blocks that are there or in flight at once */
} et_attend_use;

/* The same of an ATTEND step. */
et_attend_use et_attend_use_of(const et_program *, const et_func *f, const et_step *s,
                               const et_machine *);

#endif
