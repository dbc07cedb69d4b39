/* scalar.h - what operators do to floats, for the interpreters of graphs and of programs. What they
 * do to integers is in int_ops.h. */
#ifndef ET_SCALAR_H
#define ET_SCALAR_H

#include "ir/expr/expr.h"

/* Arithmetic, functions and roundings of f32: computed in double where C has the choice and rounded
 * once, as good as f32 gets. */
float et_float_op(et_xop, float a, float b);
/* What a function of one operand is in C; NULL of all other operators. */
typedef double et_function(double);
et_function *et_function_of(et_xop);
bool et_compare_op(et_xop, float a, float b);

#endif
