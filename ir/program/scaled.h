/* scaled.h - right operands of products that are codes of weights times a scale, as those of
 * quantised checkpoints are: what codegen computes in vectors of two bf16 where the target has
 * such, and what a code costs there. */
#ifndef ET_SCALED_H
#define ET_SCALED_H

#include "ir/program/program.h"

/* bf16 or f16 of times * (load + add_1 + ...): an element of such an operand. */
typedef struct et_scaled {
    et_expr times; /* the same for all k's of a run; none: 1 */
    et_expr load;  /* of codes */
    et_expr add[4];
    bool less[4]; /* is taken away */
    int n;
    int64_t more; /* and a number */
    bool exact;   /* `times` has eight significant bits, and so the product sixteen at most */
} et_scaled;

/* Is E that, where IS_SAME says what is the same for all k's of a run? Where it is `exact`, too,
 * the product is so in f32: integers have eight significant bits. */
typedef bool et_same_fn(const void *ctx, et_expr);
bool et_scaled_codes(const et_program *, et_expr e, et_same_fn *is_same, const void *ctx,
                     et_scaled *out);

/* The bits of a code of e4m3, i4 or u4 where the whole of E is that for runs of 16 k's, and exact;
 * else 0. *OUT_PLAIN: E is codes of e4m3 for runs of 64, exact or not, with nothing added.
 * *OUT_BARE: the bits of any code for runs of 32, exact or not; else 0. */
int et_scaled_bits(const et_program *, et_expr e, int kvar, bool *out_plain, int *out_bare);

#endif
