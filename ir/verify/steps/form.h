/* form.h - expressions as sums of numbers of a problem, and predicates as its conditions. */
#ifndef ET_VERIFY_STEPS_FORM_H
#define ET_VERIFY_STEPS_FORM_H

#include "ir/expr/expr.h"
#include "ir/verify/steps/solve.h"

/* What variables stand for. A frame may lie around another one: what the inner one does not say is
 * as in the outer one, so that an expression without the inner one's variables is the same number
 * in both. */
typedef struct sv_frame sv_frame;

sv_frame *sv_frame_create(et_arena *, et_exprs *, sv_problem *, sv_frame *outer);
/* Forgets everything, as sv_clear does with the problem; OUTER may change. */
void sv_frame_clear(sv_frame *, sv_frame *outer);
/* VAR is in [0, extent), not in what it was made with. */
void sv_frame_extent(sv_frame *, int var, et_expr extent);
/* VAR is F. */
void sv_frame_bind(sv_frame *, int var, const sv_linear *f);
/* VAR is a number of this frame's own, within its extent. */
sv_linear sv_frame_own(sv_frame *, int var);

/* What is known of elements of local buffers: between *LO and *HI, which are set to all that 32
 * bits can hold. */
typedef void (*sv_element_fn)(void *ctx, int local, int64_t *lo, int64_t *hi);
void sv_frame_elements(sv_frame *, sv_element_fn, void *ctx);

/* The integer E. Elements that are loaded are numbers of their own, and the same element of one
 * frame is the same number; what cannot be said in sums is any number. */
sv_linear sv_form(sv_frame *, et_expr e);
/* What follows when the predicate holds or does not; what depends on floats says nothing. */
sv_cond sv_holds(sv_frame *, et_expr pred);
sv_cond sv_fails(sv_frame *, et_expr pred);

/* After SV_YES: what a variable of this frame's own, or a symbol, was found to be; false where
 * nothing asked for it. */
bool sv_frame_value(const sv_frame *, int var, int64_t *out);
bool sv_frame_symbol(const sv_frame *, int sym, int64_t *out);

/* a + by * b; any number where that does not fit. */
sv_linear sv_sum(sv_frame *, const sv_linear *a, const sv_linear *b, int64_t by);
/* The floor of A / DIVISOR, which is at least 1. */
sv_linear sv_quotient(sv_frame *, const sv_linear *a, int64_t divisor);

#endif
