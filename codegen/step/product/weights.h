/* weights.h - where the weights of a product come from, on their way to registers. */
#ifndef ET_CODEGEN_PRODUCT_WEIGHTS_H
#define ET_CODEGEN_PRODUCT_WEIGHTS_H

#include "codegen/step/product/product.h"

/* One way: a row of the table in weights.c. */
struct et_weights {
    void (*begin)(cg *, et_contract *); /* where the lane's rows are; NULL: nothing to know */
    void (*load)(cg *, const et_contract *, val chunk, et_source, val *out);
    /* Products of one fragment with rows A, into SUM. */
    val (*multiply)(cg *, const et_contract *, const val *of, const val *a, val sum);
    int per_row;   /* values of a row of a fragment */
    bool streamed; /* chunks come in the stream's order, and near: from LDS */
};
const struct et_weights *cg_weights_of(const et_mainloop *);

/* B of the wave's part of CHUNK, which is the next of those that come through the stream: what does
 * so, what comes from memory, or both. */
void cg_contract_load(cg *, const et_contract *, val chunk, et_source, val *out);
/* The same of a chunk that may be past the last of CHUNKS: the registers hold what they will then.
 */
void cg_contract_load_later(cg *, const et_contract *, val chunk, val chunks, et_source, val *out);

#endif
