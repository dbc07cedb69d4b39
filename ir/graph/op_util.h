/* op_util.h - what the files of the operator table share. */
#ifndef ET_OP_UTIL_H
#define ET_OP_UTIL_H

#include "ir/graph/ops.h"

/* The columns of ops.def, for the definition of et_op_NAME: `.name`, `.nargs_min`, ... */
#define ET_OP_ROW(op)                                                                              \
    .name = #op, .nargs_min = ET_OP_MIN_##op, .nargs_max = ET_OP_MAX_##op, .help = et_op_help_##op
#define X(op, lo, hi, help)                                                                        \
    enum { ET_OP_MIN_##op = lo, ET_OP_MAX_##op = hi };                                             \
    extern const char et_op_help_##op[];
#include "ir/graph/ops.def"
#undef X

/* ---- shape rules ---- */

const et_shape *et_arg_shape(const et_graph *, const et_node *, int i);
const char *et_arg_text(et_graph *, const et_node *, int i); /* "[N, 256]" */

/* Report an error at the node; false, for `return et_op_error(...)`. */
bool et_op_error(et_graph *, const et_node *, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* False after an error when argument I, called WHAT, is not i32 or not of a float type. */
bool et_op_wants_i32(et_graph *, const et_node *, int i, const char *what);
bool et_op_wants_float(et_graph *, const et_node *, int i, const char *what);

/* Attribute "axis", counted from the end when negative. */
bool et_op_axis(et_graph *, const et_node *, int rank, int *out_axis);
int et_op_axis_of(const et_graph *, const et_node *); /* the same, of a node that was checked */

/* Attribute "step": elements of dimension K of argument 0 that lie between one taken and the next,
 * and one more. */
int64_t et_op_step(const et_node *, int k);
/* False after an error where SIZE elements of dimension K of argument 0, from START on, may leave
 * it. */
bool et_op_in_range(et_graph *, const et_node *, int k, et_expr start, et_expr size);

/* The dimension two dimensions broadcast to; false when neither is 1 and they differ. */
bool et_broadcast_dim(const et_exprs *, et_expr a, et_expr b, et_expr *out_dim);
bool et_is_one(const et_exprs *, et_expr);

/* Attributes an operator cannot do without; N is the length it must have. */
const et_attr *et_op_attr(const et_node *, const char *name, int kind);
const int64_t *et_op_ints(const et_node *, const char *name, int n);
const et_expr *et_op_exprs(const et_node *, const char *name, int n);

/* ---- reference evaluation ---- */

bool et_interp_error(const et_interp_args *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The elements of any tensor, to move without looking at them. */
typedef uint32_t __attribute__((may_alias)) et_word;
static inline et_word *et_words(const et_tensor_data *t) {
    return t->p;
}

int64_t et_tensor_count(const et_tensor_data *);
void et_strides(const et_tensor_data *, int64_t stride[ET_MAX_RANK]);
/* Step INDEX through row-major order; false after the last one. */
bool et_next_index(int rank, const int64_t *dim, int64_t *index);
int64_t et_offset(int rank, const int64_t *stride, const int64_t *index);
int64_t et_clamp(int64_t v, int64_t lo, int64_t hi);

/* Split a tensor at AXIS: outer * n * inner elements. */
void et_split_axis(const et_tensor_data *, int axis, int64_t *out_outer, int64_t *out_n,
                   int64_t *out_inner);

#endif
