/* How much of k is staged at a time: of products whose operands go through local memory without a
 * pipeline. */
#include "passes/tile/tiler.h"

enum {
    STAGE_BYTES = 36 << 10, /* of local memory for staged operands, */
    LDS_SPARE = 4 << 10,    /* and what is left for reductions */
};

int et_tile_staged_k(const et_machine *m, int bytes, int rows, int wk, int used) {
    int unit = m->k_bytes / bytes * wk, pad = 16 / bytes;
    int left = m->lds_bytes - used - LDS_SPARE;
    left = left < STAGE_BYTES ? left : STAGE_BYTES;
    int most = (left / (rows * bytes) - 2 * pad) / unit * unit;
    return most > unit ? most : unit;
}
