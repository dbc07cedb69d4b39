/* form.h - expressions as sums of numbers of a problem, and predicates as its conditions. */
#ifndef ET_VERIFY_FORM_H
#define ET_VERIFY_FORM_H

#include "ir/expr/expr.h"
#include "ir/verify/steps/solve.h"

/* What variables stand for. A frame may lie around another one: what the inner one does not say is
 * as in the outer one, so that an expression without the inner one's variables is the same number
 * in both. */
typedef struct vs_frame vs_frame;

vs_frame *vs_frame_create(et_arena *, et_exprs *, vs_problem *, vs_frame *outer);
/* Forgets everything, as vs_clear does with the problem; OUTER may change. */
void vs_frame_clear(vs_frame *, vs_frame *outer);
/* VAR is in [0, extent), not in what it was made with. */
void vs_frame_extent(vs_frame *, int var, et_expr extent);
/* VAR is F. */
void vs_frame_bind(vs_frame *, int var, const vs_linear *f);
/* VAR is a number of this frame's own, within its extent. */
vs_linear vs_frame_own(vs_frame *, int var);

/* What is known of elements of local buffers: between *LO and *HI, which are set to all that 32
 * bits can hold. */
typedef void (*vs_element_fn)(void *ctx, int local, int64_t *lo, int64_t *hi);
void vs_frame_elements(vs_frame *, vs_element_fn, void *ctx);

/* The integer E. Elements that are loaded are numbers of their own, and the same element of one
 * frame is the same number; what cannot be said in sums is any number. */
vs_linear vs_form(vs_frame *, et_expr e);
/* What follows when the predicate holds or does not; what depends on floats says nothing. */
vs_cond vs_holds(vs_frame *, et_expr pred);
vs_cond vs_fails(vs_frame *, et_expr pred);

/* After VS_YES: what a variable of this frame's own, or a symbol, was found to be; false where
 * nothing asked for it. */
bool vs_frame_value(const vs_frame *, int var, int64_t *out);
bool vs_frame_symbol(const vs_frame *, int sym, int64_t *out);

/* a + by * b; any number where that does not fit. */
vs_linear vs_sum(vs_frame *, const vs_linear *a, const vs_linear *b, int64_t by);
/* The floor of A / DIVISOR, which is at least 1. */
vs_linear vs_quotient(vs_frame *, const vs_linear *a, int64_t divisor);

#endif
