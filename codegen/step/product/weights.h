/* weights.h - sources of the weights of a product, on their way to registers. */
#ifndef ET_CODEGEN_PRODUCT_WEIGHTS_H
#define ET_CODEGEN_PRODUCT_WEIGHTS_H

#include "codegen/step/product/product.h"

/* A source: a row of the table in weights.c. */
struct et_weights {
    void (*begin)(cg *, et_contract *); /* addresses of the lane's rows; NULL: none needed */
    void (*load)(cg *, const et_contract *, val chunk, et_source, val *out);
    /* Products of one fragment with rows A, into SUM. */
    val (*multiply)(cg *, const et_contract *, const val *of, const val *a, val sum);
    int per_row;   /* values of a row of a fragment */
    bool streamed; /* chunks are in LDS, in the stream's order */
};
const struct et_weights *cg_weights_of(const et_mainloop *);

/* Products of weights in registers with rows A, into SUM. */
val cg_contract_product(cg *, const et_contract *, const val *of, const val *a, val sum);

/* B of the wave's part of CHUNK, the next one of the stream: the operands in the stream, those in
 * memory, or both. */
void cg_contract_load(cg *, const et_contract *, val chunk, et_source, val *out);
/* The same of a chunk that may be past the last of CHUNKS: the registers hold what they will then.
 */
void cg_contract_load_later(cg *, const et_contract *, val chunk, val chunks, et_source, val *out);

#endif
