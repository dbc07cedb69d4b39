/* ops.h - the operator table: for each operator its shape rule, its element at an index, which the
 * passes inline, its value in plain C, and how dear it is to inline. Its name in the language is
 * the front end's affair; attention and updates, which have no element at an index, are the
 * passes'. */
#ifndef ET_OPS_H
#define ET_OPS_H

#include "ir/graph/graph.h"

/* Lowering: the value of ARG number I of the node at INDEX. The pass that lowers decides whether
 * that is a load of a materialised tensor or the argument's own expression. */
typedef struct et_lower et_lower;
struct et_lower {
    et_graph *g;
    et_expr (*value_at)(et_lower *, et_value, const et_expr *index);
    void *ctx;
    bool clamps; /* what is inside a size that is no number says so itself */
};
static inline et_expr et_arg_at(et_lower *lo, const et_node *n, int i, const et_expr *index) {
    return lo->value_at(lo, n->args[i], index);
}

/* Where in shape X the element at INDEX of shape Y is, of as many elements in the same order. */
void et_reshaped_index(et_lower *, const et_shape *x, const et_shape *y, const et_expr *index,
                       et_expr *out_from);

/* Plain-C evaluation, float32 (i32 tensors are held as int32_t in the same storage). Tensors are
 * contiguous and row-major. */
typedef struct et_tensor_data {
    et_dtype dtype; /* F32 or I32 in memory; F16 and BF16 values are held as f32, rounded */
    int rank;
    int64_t dim[ET_MAX_RANK];
    union {
        float *f;
        int32_t *i;
        void *p;
    };
} et_tensor_data;

typedef struct et_interp_args {
    const et_graph *g;
    const et_node *node;
    const int64_t *syms; /* values of the symbols */
    const int64_t *vars; /* values of loop variables, indexed by variable */
    et_tensor_data **args;
    et_tensor_data *result; /* allocated with its shape; NULL for update, which writes args[0] */
    char *err;              /* 256 bytes: set when returning false (index out of range, ...) */
} et_interp_args;

typedef enum {
    ET_CLASS_VIEW,      /* moves elements: always free to inline */
    ET_CLASS_MAP,       /* elementwise: inlining repeats its arithmetic */
    ET_CLASS_REDUCE,    /* holds a reduction over an axis */
    ET_CLASS_CONTRACT,  /* a matrix product */
    ET_CLASS_ATTENTION, /* has a device function of its own */
    ET_CLASS_SCAN,      /* the same, and it writes a state */
    ET_CLASS_UPDATE,    /* writes a state, and has no result */
} et_op_class;

struct et_op {
    const char *name;
    et_op_class class;
    int nargs_min, nargs_max;
    const char *help;
    /* Shape of the result from arguments and attributes, or an error through g->diags at n->loc
     * naming what was found and what was expected. */
    bool (*shape)(et_graph *g, const et_node *n, et_shape *out_shape);
    /* The result's element at INDEX (one integer expression per dimension) in terms of its
     * arguments'. NULL for attention and update, which are never inlined; for contract it is the
     * CONTRACT leaf. */
    et_expr (*at)(et_lower *, const et_node *, const et_expr *index);
    bool (*interp)(const et_interp_args *);
};
/* Does the node write the state that is its first argument? */
static inline bool et_writes_state(const et_node *n) {
    return n->op->class == ET_CLASS_UPDATE || n->op->class == ET_CLASS_SCAN;
}

#define X(name, lo, hi, help) extern const et_op et_op_##name;
#include "ir/graph/ops.def"
#undef X
const et_op *et_op_find(const char *name);

/* Run the whole graph in plain C float32. TENSORS is indexed by value id: inputs, weights, states
 * filled by the caller (states are updated in place), outputs allocated by the caller. False with a
 * message when an index leaves its tensor. */
bool et_graph_interp(const et_graph *, const int64_t *syms, et_tensor_data **tensors,
                     char err[256]);
/* The same, calling WATCH (unless NULL) after every node with a result; VARS gives the iterations
 * of the loops around it. */
typedef void (*et_watch_fn)(void *ctx, const et_node *, const int64_t *vars,
                            const et_tensor_data *result);
bool et_graph_interp_watch(const et_graph *, const int64_t *syms, et_tensor_data **tensors,
                           et_watch_fn watch, void *ctx, char err[256]);

#endif
