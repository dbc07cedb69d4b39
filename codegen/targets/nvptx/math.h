/* math.h - what the files that make mathematical functions share. */
#ifndef ET_NVPTX_MATH_H
#define ET_NVPTX_MATH_H

#include "codegen/targets/nvptx/nvptx.h"

/* ---- math.c ---- */
/* The polynomial of N coefficients, the constant first, at X, of type T. */
val nvptx_poly(cg *, LLVMTypeRef t, val x, int n, const double *c);
val nvptx_is(cg *, LLVMRealPredicate, val a, double b);
val nvptx_bits(cg *, val f32);
val nvptx_of_bits(cg *, val i32);
val nvptx_clamp(cg *, val x, double lo, double hi);

/* ---- angle.c, power.c: bodies of functions of f32 ---- */
val nvptx_sine(cg *, const val *x);
val nvptx_cosine(cg *, const val *x);
val nvptx_power(cg *, const val *x);

#endif
