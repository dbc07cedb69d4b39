/* How much of k is staged at a time: of products whose operands go through local memory without a
 * pipeline. */
#include "passes/tile/tiler.h"

enum {
    STAGE_BYTES = 36 << 10, /* of local memory for staged operands, */
    LDS_SPARE = 4 << 10,    /* and what is left for reductions */
    WHOLE_BYTES = 48 << 10, /* where that has all k's, so that rows are waited for once a tile */
};

int et_tile_staged_k(const et_machine *m, int bytes, int rows, int wk, int used) {
    int unit = m->k_bytes / bytes * wk, pad = 16 / bytes;
    int left = m->lds_bytes - used - LDS_SPARE;
    left = left < STAGE_BYTES ? left : STAGE_BYTES;
    int most = (left / (rows * bytes) - 2 * pad) / unit * unit;
    return most > unit ? most : unit;
}

/* Behind a router a tile's rows come from memory after its first weights, and each window of k's
 * costs a trip and two barriers. Measured on an H200: five windows of MXFP4 in one, a launch of 8
 * tokens 0.97; two of FP8, 1.016. */
bool et_tile_staged_whole(const et_tiler *t, const et_step *s, int unit, int dim[2]) {
    enum { WINDOWS = 2 }; /* so many are as good */
    int64_t lo, most, k;
    int rows = 1, bytes = et_dtype_bytes(s->operand), pad = 16 / bytes;
    bool chosen = et_x(t->x, s->kextent)->op == ET_X_SELECT;
    if (!chosen || !et_may_stream(t->opt) || !et_bounds(t->x, s->mlive, &lo, &most) ||
        !et_is_int(t->x, et_var_extent(t->x, s->kvar), &k) || most > s->tm / 2)
        return false;
    while (rows < most)
        rows *= 2;
    k = (k + unit - 1) / unit * unit;
    if (k <= WINDOWS * dim[1] || rows * (k + 2 * pad) * bytes > WHOLE_BYTES) return false;
    dim[0] = rows, dim[1] = (int)k;
    return true;
}
