/* scaled.h - right operands that are quantised values times a scale, as in quantised checkpoints:
 * recognised here for codegen (packed pairs, unscaled products) and for costs. */
#ifndef ET_SCALED_H
#define ET_SCALED_H

#include "ir/program/program.h"

/* An element of such an operand: times * (load + 2^shift high + add_1 + ...) + plus, rounded to
 * bf16 or f16. */
typedef struct et_scaled {
    et_expr times; /* the scale, the same for all k of a run; none: 1 */
    et_expr load;  /* of quantised values, */
    et_expr high;  /* and of the bits above theirs, SHIFT bits up; none: all are there */
    int shift;
    et_expr add[4];
    bool less[4]; /* add[i] is subtracted */
    int n;
    int64_t more; /* a constant that is added */
    et_expr plus; /* a minimum, the same for all k of a run, with its sign; none: 0 */
    bool exact;   /* `times` has eight significant bits, so the product has sixteen at most */
} et_scaled;

/* Is E such an element? IS_SAME tells which expressions are the same for all k of a run. Where it
 * is `exact` the product is exact in f32: integers have eight significant bits. */
typedef bool et_same_fn(const void *ctx, et_expr);
bool et_scaled_codes(const et_program *, et_expr e, et_same_fn *is_same, const void *ctx,
                     et_scaled *out);

/* Bits of a value where E is such an element of e4m3, e2m1, i4 or u4 for runs of 16 k, and exact;
 * else 0. *OUT_PLAIN: it is of e4m3 for runs of 64, exact or not, with nothing added. *OUT_BARE:
 * bits of a value of any type for runs of 32, exact or not; else 0. */
int et_scaled_bits(const et_program *, et_expr e, int kvar, bool *out_plain, int *out_bare);

#endif
