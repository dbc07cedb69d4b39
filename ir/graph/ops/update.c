#include "ir/graph/op_util.h"
#include <stdlib.h>
#include <string.h>

/* Per dimension of the state, attribute "index": */
enum {
    WHOLE = -1,
    SCALAR = -2, /* at "scalar" */
    RANGE = -3,  /* "size" elements from "scalar" on, every "step"-th */
};               /* otherwise the number of an index tensor, argument 2 + k */

static bool check_indices(et_graph *g, const et_node *n, et_expr *out_lead) {
    int tensors = n->nargs - 2;
    *out_lead = ET_NO_EXPR;
    for (int i = 2; i < n->nargs; i++) {
        const et_shape *s = et_arg_shape(g, n, i);
        if (!et_op_wants_i32(g, n, i, "an index tensor")) return false;
        if (s->rank != 1)
            return et_op_error(g, n, "an index tensor must have one dimension, found %s",
                               et_arg_text(g, n, i));
        if (out_lead->id && !et_expr_eq(*out_lead, s->dim[0]))
            return et_op_error(g, n, "index tensors %s and %s must have the same length",
                               et_arg_text(g, n, 2), et_arg_text(g, n, i));
        *out_lead = s->dim[0];
    }
    const et_shape *state = et_arg_shape(g, n, 0);
    const int64_t *index = et_op_ints(n, "index", state->rank);
    for (int k = 0; k < state->rank; k++)
        et_check(index[k] >= RANGE && index[k] < tensors);
    return true;
}

/* Append to DIM the size of what is written along each dimension that is not one index. */
static bool add_sizes(et_graph *g, const et_node *n, et_shape *dims) {
    const et_shape *state = et_arg_shape(g, n, 0);
    const int64_t *index = et_op_ints(n, "index", state->rank);
    const et_expr *scalar = et_op_exprs(n, "scalar", state->rank);
    for (int k = 0; k < state->rank; k++) {
        if (index[k] != WHOLE && index[k] != RANGE) continue;
        et_expr size = state->dim[k];
        if (index[k] == RANGE) {
            size = et_op_exprs(n, "size", state->rank)[k];
            if (!et_op_in_range(g, n, k, scalar[k], size)) return false;
        }
        et_check(dims->rank < ET_MAX_RANK);
        dims->dim[dims->rank++] = size;
    }
    return true;
}

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    const et_val *target = et_val_of(g, n->args[0]);
    const et_shape *state = et_arg_shape(g, n, 0), *v = et_arg_shape(g, n, 1);
    *out_shape = (et_shape){0};
    if (target->kind != ET_V_STATE)
        return et_op_error(g, n, "%s is not a state: only states can be written",
                           target->name ? target->name : "this value");
    et_shape want = {.dtype = v->dtype};
    et_expr lead;
    if (!check_indices(g, n, &lead)) return false;
    if (lead.id) want.dim[want.rank++] = lead;
    if (!add_sizes(g, n, &want)) return false;
    if (et_dtype_is_float(v->dtype) != et_dtype_is_float(state->dtype))
        return et_op_error(g, n, "a value of type %s written to a state of type %s",
                           et_dtype_name(v->dtype), et_dtype_name(state->dtype));
    if (!et_shape_eq(&want, v))
        return et_op_error(g, n, "the value written here must be %s, found %s",
                           et_dims_text(g->exprs, want.rank, want.dim), et_arg_text(g, n, 1));
    return true;
}

struct target {
    const et_interp_args *a;
    const int64_t *index;
    int64_t fixed[ET_MAX_RANK]; /* of SCALAR and RANGE dimensions */
    int64_t stride[ET_MAX_RANK];
};

/* Where the value's element AT goes; -1 when it is dropped. */
static int64_t place(const struct target *t, const int64_t *at) {
    const et_tensor_data *state = t->a->args[0];
    int next = t->a->node->nargs > 2; /* dimension 0 of the value walks the index tensors */
    int64_t to = 0;
    for (int k = 0; k < state->rank; k++) {
        int64_t i = t->fixed[k];
        if (t->index[k] == WHOLE)
            i = at[next++];
        else if (t->index[k] == RANGE)
            i += et_op_step(t->a->node, k) * at[next++];
        else if (t->index[k] >= 0)
            i = t->a->args[2 + t->index[k]]->i[at[0]];
        if (i < 0 || i >= state->dim[k]) return -1;
        to += i * t->stride[k];
    }
    return to;
}

static void write_all(const et_interp_args *a) {
    const et_tensor_data *state = a->args[0], *v = a->args[1];
    et_dtype dtype = et_arg_shape(a->g, a->node, 0)->dtype;
    struct target t = {.a = a, .index = et_op_ints(a->node, "index", state->rank)};
    const et_expr *scalar = et_op_exprs(a->node, "scalar", state->rank);
    et_strides(state, t.stride);
    for (int k = 0; k < state->rank; k++)
        if (t.index[k] == SCALAR || t.index[k] == RANGE)
            t.fixed[k] = et_eval(a->g->exprs, scalar[k], a->syms, a->vars);
    int64_t at[ET_MAX_RANK] = {0}, from = 0;
    do {
        int64_t to = place(&t, at);
        if (to >= 0 && dtype == ET_I32)
            state->i[to] = v->i[from];
        else if (to >= 0)
            state->f[to] = et_round_to(dtype, v->f[from]);
        from++;
    } while (et_next_index(v->rank, v->dim, at));
}

/* The value and the indices are what they were before the update: where one is the state itself,
 * all of them are read from a copy. */
static bool interp(const et_interp_args *a) {
    et_tensor_data before = *a->args[0], *args[ET_MAX_ARGS] = {a->args[0]};
    size_t bytes = (size_t)et_tensor_count(&before) * sizeof(float);
    bool itself = false;
    for (int k = 1; k < a->node->nargs; k++) {
        args[k] = a->args[k] == a->args[0] ? &before : a->args[k];
        itself |= args[k] == &before;
    }
    if (itself) {
        before.p = malloc(bytes);
        if (!before.p) return et_interp_error(a, "no memory for a copy of the state");
        memcpy(before.p, a->args[0]->p, bytes);
    }
    et_interp_args copied = *a;
    copied.args = args;
    write_all(&copied);
    if (itself) free(before.p);
    return true;
}

const et_op et_op_update = {
    ET_OP_ROW(update), .class = ET_CLASS_UPDATE, .shape = shape, .at = NULL, .interp = interp,
};
