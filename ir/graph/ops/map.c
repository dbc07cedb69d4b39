#include "ir/expr/int_ops.h"
#include "ir/expr/tape.h"
#include "ir/graph/op_util.h"
#include <stdlib.h>

static et_dtype result_dtype(const et_node *n) {
    return (et_dtype)et_op_attr(n, "dtype", ET_A_INT)->i;
}

struct body_check {
    et_graph *g;
    const et_node *n;
};

static void check_leaf(void *ctx, et_expr e) {
    const struct body_check *c = ctx;
    const et_node_x *x = et_x(c->g->exprs, e);
    if (x->op == ET_X_LOAD || x->op == ET_X_REDUCE || x->op == ET_X_CONTRACT)
        et_bug("the body of a map holds a %s", et_xop_text(x->op));
    if (x->op == ET_X_ARG)
        et_check(x->i >= 0 && x->i < c->n->nargs &&
                 x->type == et_dtype_type(et_arg_shape(c->g, c->n, x->i)->dtype));
}

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    et_expr body = et_op_attr(n, "body", ET_A_EXPR)->expr;
    et_walk(g->exprs, body, check_leaf, &(struct body_check){g, n});
    *out_shape = (et_shape){.dtype = result_dtype(n)};
    et_check(et_dtype_is_float(out_shape->dtype) || et_x(g->exprs, body)->type != ET_T_F32);
    for (int i = 0; i < n->nargs; i++) {
        const et_shape *s = et_arg_shape(g, n, i);
        et_shape was = *out_shape;
        for (; out_shape->rank < s->rank; out_shape->rank++) {
            for (int k = out_shape->rank; k > 0; k--)
                out_shape->dim[k] = out_shape->dim[k - 1];
            out_shape->dim[0] = et_int(g->exprs, 1);
        }
        for (int k = 1; k <= s->rank; k++) {
            et_expr *d = &out_shape->dim[out_shape->rank - k], with = s->dim[s->rank - k], both;
            if (!et_broadcast_dim(g->exprs, *d, with, &both))
                return et_op_error(g, n, "%s and %s do not broadcast: dimensions %s and %s differ",
                                   et_dims_text(g->exprs, was.rank, was.dim), et_arg_text(g, n, i),
                                   et_expr_text(g->exprs, *d, NULL, NULL),
                                   et_expr_text(g->exprs, with, NULL, NULL));
            *d = both;
        }
    }
    return true;
}

struct inlining {
    et_lower *lo;
    const et_node *n;
    const et_expr *index;
};

static et_expr inline_arg(void *ctx, et_exprs *p, et_expr leaf) {
    const struct inlining *in = ctx;
    const et_node_x *x = et_x(p, leaf);
    if (x->op != ET_X_ARG) return ET_NO_EXPR;
    int i = x->i, rank = et_val_of(in->lo->g, in->n->result)->shape.rank;
    const et_shape *s = et_arg_shape(in->lo->g, in->n, i);
    et_expr index[ET_MAX_RANK];
    for (int k = 0; k < s->rank; k++)
        index[k] = et_is_one(p, s->dim[k]) ? et_int(p, 0) : in->index[rank - s->rank + k];
    return et_arg_at(in->lo, in->n, i, index);
}

static et_expr at(et_lower *lo, const et_node *n, const et_expr *index) {
    et_exprs *p = lo->g->exprs;
    et_expr e = et_op_attr(n, "body", ET_A_EXPR)->expr;
    e = et_subst(p, e, inline_arg, &(struct inlining){lo, n, index});
    et_dtype dtype = et_dtype_stored(result_dtype(n));
    switch (dtype) {
    case ET_I32:
        return et_op1(p, ET_X_TO_I32, e);
    case ET_F16:
        return et_op1(p, ET_X_TO_F16, e);
    case ET_BF16:
        return et_op1(p, ET_X_TO_BF16, e);
    default:
        return et_op1(p, ET_X_TO_F32, e);
    }
}

/* The arguments' strides over the result's dimensions: 0 where they broadcast. */
static void broadcast_strides(const et_interp_args *a, int64_t (*stride)[ET_MAX_RANK]) {
    int rank = a->result->rank;
    for (int i = 0; i < a->node->nargs; i++) {
        const et_tensor_data *t = a->args[i];
        int64_t own[ET_MAX_RANK];
        et_strides(t, own);
        for (int k = 0; k < rank; k++) {
            int from = k - (rank - t->rank);
            stride[i][k] = from < 0 || t->dim[from] == 1 ? 0 : own[from];
        }
    }
}

static bool interp(const et_interp_args *a) {
    et_tape *tape = et_tape_create(a->g->exprs, et_op_attr(a->node, "body", ET_A_EXPR)->expr);
    if (!tape) return et_interp_error(a, "out of memory");
    et_dtype dtype = result_dtype(a->node);
    int64_t stride[ET_MAX_ARGS][ET_MAX_RANK], index[ET_MAX_RANK] = {0};
    double arg[ET_MAX_ARGS];
    broadcast_strides(a, stride);
    int64_t out = 0;
    do {
        for (int i = 0; i < a->node->nargs; i++) {
            const et_tensor_data *t = a->args[i];
            int64_t from = et_offset(a->result->rank, stride[i], index);
            arg[i] = et_dtype_is_float(t->dtype) ? (double)t->f[from] : (double)t->i[from];
        }
        et_scalar v = et_tape_run(tape, arg, a->syms, a->vars);
        if (!et_dtype_is_float(dtype))
            a->result->i[out++] = (int32_t)et_int_low(v.i);
        else
            a->result->f[out++] = et_round_to(dtype, v.f);
    } while (et_next_index(a->result->rank, a->result->dim, index));
    et_tape_destroy(tape);
    return true;
}

const et_op et_op_map = {
    ET_OP_ROW(map), .class = ET_CLASS_MAP, .shape = shape, .at = at, .interp = interp,
};
