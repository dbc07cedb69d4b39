/* use.h - how a product is multiplied, as far as its cost depends on that. */
#ifndef ET_COST_USE_H
#define ET_COST_USE_H

#include "passes/cost/cost.h"

typedef struct {
    et_rows_from rows;
    int chunk;     /* k's that are multiplied at a time */
    int in_flight; /* chunks that are asked for while one is multiplied, of both operands or of rows
                      alone; 0: those of rows are not */
    bool by_chunk; /* weights are computed in registers of what no stream brings: a chunk is loaded
                      while the one before it is multiplied, and no more */
} et_product_use;

/* What the plan of S, a CONTRACT step of F, says. Tiles are priced before there are plans, many
 * times over: then it is what a plan is expected to say for such a tile of K k's. */
et_product_use et_product_use_of(const et_program *, const et_func *f, const et_step *s,
                                 const et_machine *, double k);
/* The same of how B, an operand of S, is decoded for M rows. */
et_decode_as et_product_decode_of(const et_step *s, const et_machine *, const et_element_cost *b,
                                  double m);

#endif
