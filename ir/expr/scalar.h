/* scalar.h - what the operators of expressions do to numbers, for every interpreter of them. */
#ifndef ET_SCALAR_H
#define ET_SCALAR_H

#include "ir/expr/expr.h"

/* Arithmetic of i32: A and B in range, the result wrapped into it; B is not looked at by operators
 * of one operand. A quotient by 0 and its remainder are 0. */
int64_t et_int_op(et_xop, int64_t a, int64_t b);
/* Arithmetic, functions and roundings of f32: computed in double where C has the choice and rounded
 * once, as good as f32 gets. */
float et_float_op(et_xop, float a, float b);
/* Of two numbers of one type, doubles holding either exactly. */
bool et_compare_op(et_xop, double a, double b);

#endif
