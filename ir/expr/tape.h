/* tape.h - a scalar expression flattened for evaluating it many times, each shared part once.
 */
#ifndef ET_EXPR_TAPE_H
#define ET_EXPR_TAPE_H

#include "ir/expr/expr.h"

typedef struct et_tape et_tape;
et_tape *et_tape_create(const et_exprs *, et_expr); /* NULL when there is no memory */
void et_tape_destroy(et_tape *);
/* The value of an expression without loads, in plain C: ARGS gives the values of ARG leaves (as
 * double; i32 too). Floats are computed in f32, integers as et_int_total says. */
typedef struct {
    int64_t i; /* of an integer or a predicate */
    float f;   /* of any: an integer rounded */
} et_scalar;
et_scalar et_tape_run(et_tape *, const double *args, const int64_t *syms, const int64_t *vars);

#endif
