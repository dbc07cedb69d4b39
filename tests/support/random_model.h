/* random_model.h - random tensors for a graph, and how far results are from what they should be. */
#ifndef RANDOM_MODEL_H
#define RANDOM_MODEL_H

#include "ir/graph/ops.h"

/* Parse an .etg file; diagnostics go to D. NULL on errors. */
et_graph *tm_parse(et_arena *, et_diags *, const char *path);
/* The symbol NAME of "NAME=VALUE" set in SYMS; false when there is no such symbol. */
bool tm_set_dim(const et_graph *, const char *text, int64_t *syms);
/* A tensor of this shape at these symbols. */
et_tensor_data *tm_tensor(et_arena *, const et_graph *, const et_shape *, const int64_t *syms);
/* Floats in [-1, 1) rounded to the tensor's type. Integers count up from a small random number:
 * small and distinct, so that scatters do not collide. The same sequence in every process. */
void tm_fill(et_tensor_data *);
/* The elements in their storage type, row-major. */
void *tm_bytes(et_arena *, const et_tensor_data *);
/* ||got - want|| / ||want|| with GOT in storage type; infinity if either holds a NaN. */
double tm_relative_error(const et_tensor_data *want, const void *got);

#endif
