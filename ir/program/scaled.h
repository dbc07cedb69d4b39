/* scaled.h - right operands of products that are codes of weights times a scale, as those of
 * quantised checkpoints are: what codegen computes in vectors of two bf16 where the target has
 * such, and what a code costs there. */
#ifndef ET_SCALED_H
#define ET_SCALED_H

#include "ir/program/program.h"

/* bf16(times * (load + add_1 + ...)): an element of such an operand. */
typedef struct {
    et_expr times; /* the same for all k's of a run; none: 1 */
    et_expr load;  /* of codes */
    et_expr add[4];
    bool less[4]; /* is taken away */
    int n;
    int64_t more; /* and a number */
} et_scaled;

/* Is E that, where IS_SAME says what is the same for all k's of a run? Then the product is exact in
 * f32: integers and scales have eight significant bits. */
typedef bool et_same_fn(const void *ctx, et_expr);
bool et_scaled_codes(const et_program *, et_expr e, et_same_fn *is_same, const void *ctx,
                     et_scaled *out);

/* The bits of a code where the whole of E is that for runs of 16 k's; else 0. */
int et_scaled_bits(const et_program *, et_expr e, int kvar);

#endif
