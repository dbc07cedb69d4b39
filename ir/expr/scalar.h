/* scalar.h - what operators do to elements of tensors, for the interpreters of graphs and of
 * programs. What they do to integers that are no elements (dimensions, indices) is in int_ops.h. */
#ifndef ET_SCALAR_H
#define ET_SCALAR_H

#include "ir/expr/expr.h"

/* Arithmetic of elements of type i32, which hold the low 32 bits of what int_ops.h says, and 0
 * where that has no value. B is not looked at by operators of one operand. */
int64_t et_int_op(et_xop, int64_t a, int64_t b);
/* Arithmetic, functions and roundings of f32: computed in double where C has the choice and rounded
 * once, as good as f32 gets. */
float et_float_op(et_xop, float a, float b);
bool et_compare_op(et_xop, float a, float b);

#endif
