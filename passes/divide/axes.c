/* What each operator needs of its arguments where its result is cut. */
#include "passes/divide/int.h"
#include <string.h>

bool div_has_parts(const et_graph *g, const et_shape *s, int axis, int devices) {
    int64_t n;
    et_shape part = *s;
    if (axis < 0 || axis >= s->rank || !et_is_int(g->exprs, s->dim[axis], &n) || n % devices ||
        n == 0)
        return false;
    part.dim[axis] = et_int(g->exprs, n / devices);
    return !et_shape_problem(g->exprs, &part, true);
}

/* An argument whose axes are the last of the result's, which it may repeat. */
static int broadcast(const et_graph *g, const et_node *n, int arg, int axis) {
    const et_shape *r = &et_val_of(g, n->result)->shape, *s = et_arg_shape(g, n, arg);
    int at = axis - (r->rank - s->rank);
    return at < 0 || et_is_one(g->exprs, s->dim[at]) ? WHOLE : at;
}

static bool contract(const et_graph *g, const et_node *n, int axis, int *out) {
    int rank = et_val_of(g, n->result)->shape.rank;
    bool trans = et_attr_int(n, "trans_b", 0);
    for (int a = 0; a < 2; a++) {
        int own = et_arg_shape(g, n, a)->rank;
        out[a] = axis < rank - 2          ? broadcast(g, n, a, axis)
                 : a == axis - (rank - 2) ? (a && trans) || !a ? own - 2 : own - 1
                                          : WHOLE;
    }
    return true;
}

static et_expr before(et_exprs *x, const et_shape *s, int axis) {
    et_expr e = et_int(x, 1);
    for (int d = 0; d < axis; d++)
        e = et_mul(x, e, s->dim[d]);
    return e;
}

/* The axis of the argument that begins where AXIS of the result does, and is cut where it is. */
static int reshaped(const et_graph *g, const et_node *n, int axis, int devices) {
    const et_shape *from = et_arg_shape(g, n, 0), *to = &et_val_of(g, n->result)->shape;
    et_expr outer = before(g->exprs, to, axis);
    for (int d = from->rank - 1; d >= 0; d--)
        if (et_expr_eq(before(g->exprs, from, d), outer) && div_has_parts(g, from, d, devices))
            return d;
    return WHOLE;
}

static int sliced(const et_graph *g, const et_node *n, int axis) {
    const et_shape *from = et_arg_shape(g, n, 0);
    const et_expr *start = et_op_exprs(n, "start", from->rank);
    const et_expr *size = et_op_exprs(n, "size", from->rank);
    const int64_t *drop = et_op_ints(n, "drop", from->rank);
    int64_t first;
    for (int d = 0; d < from->rank; d++) {
        if (drop[d] || axis--) continue;
        bool all = et_is_int(g->exprs, start[d], &first) && !first &&
                   et_expr_eq(size[d], from->dim[d]) && et_op_step(n, d) == 1;
        return all ? d : WHOLE;
    }
    return WHOLE;
}

static int unreduced(const et_graph *g, const et_node *n, int axis) {
    int over = et_op_axis_of(g, n);
    if (et_attr_int(n, "keep", 0)) return axis == over ? WHOLE : axis;
    return axis < over ? axis : axis + 1;
}

/* ---- attention: heads are cut, and what heads read of their own ---- */

enum { UNSEEN = WHOLE - 1 };

struct heads {
    et_graph *g;
    const et_node *n;
    int var, count, devices;
    int axis[ET_MAX_ARGS]; /* by argument */
    bool bad;
};

/* INDEX of an argument as the head goes through all: the same part as the head's own, and there as
 * the first part has it. */
static bool follows(const struct heads *h, et_expr index, int64_t size) {
    et_exprs *x = h->g->exprs;
    int64_t part = h->count / h->devices, each = size / h->devices, here, first;
    for (int64_t i = 0; i < h->count; i++) {
        et_expr at = et_subst_var(x, index, h->var, et_int(x, i));
        et_expr in = et_subst_var(x, index, h->var, et_int(x, i % part));
        if (!et_is_int(x, at, &here) || !et_is_int(x, in, &first) || first < 0 || first >= each ||
            here != i / part * each + first)
            return false;
    }
    return true;
}

static void note_load(void *ctx, et_expr e) {
    struct heads *h = ctx;
    const et_node_x n = *et_x(h->g->exprs, e);
    if (n.op != ET_X_LOAD || h->bad) return;
    int64_t size;
    int cut = WHOLE;
    const et_shape *s = et_arg_shape(h->g, h->n, n.i);
    for (int d = 0; d < n.nops; d++) {
        if (!et_expr_has_var(h->g->exprs, n.ops[d], h->var)) continue;
        h->bad |= cut != WHOLE || !div_has_parts(h->g, s, d, h->devices) ||
                  !et_is_int(h->g->exprs, s->dim[d], &size) || !follows(h, n.ops[d], size);
        cut = d;
    }
    int *axis = &h->axis[n.i];
    h->bad |= *axis != UNSEEN && *axis != cut;
    *axis = cut;
}

static et_expr no_load(void *ctx, et_exprs *x, et_expr leaf) {
    (void)ctx;
    const et_node_x *n = et_x(x, leaf);
    return n->op != ET_X_LOAD ? ET_NO_EXPR : n->type == ET_T_F32 ? et_float(x, 0.5) : et_int(x, 0);
}

static bool attention(et_graph *g, const et_node *n, int devices, int *out) {
    int64_t heads;
    struct heads h = {.g = g, .n = n, .var = et_attention_var(n, ET_AT_H), .devices = devices};
    if (!et_is_int(g->exprs, et_var_extent(g->exprs, h.var), &heads) || heads % devices)
        return false;
    h.count = (int)heads;
    for (int a = 0; a < n->nargs; a++)
        h.axis[a] = UNSEEN;
    for (int i = 0; i < n->nattrs && !h.bad; i++) {
        if (n->attrs[i].kind != ET_A_EXPR || !n->attrs[i].expr.id) continue;
        et_walk(g->exprs, n->attrs[i].expr, note_load, &h);
        et_expr rest = et_subst(g->exprs, n->attrs[i].expr, no_load, NULL);
        h.bad |= et_expr_has_var(g->exprs, rest, h.var);
    }
    for (int a = 0; a < n->nargs; a++)
        out[a] = h.axis[a] == UNSEEN ? WHOLE : h.axis[a];
    return !h.bad;
}

/* ---- all of them ---- */

bool div_axes(et_graph *g, const et_node *n, int axis, int devices, int out[ET_MAX_ARGS]) {
    int rank = et_val_of(g, n->result)->shape.rank;
    for (int a = 0; a < n->nargs; a++)
        out[a] = WHOLE;
    if (n->op == &et_op_map) {
        for (int a = 0; a < n->nargs; a++)
            out[a] = broadcast(g, n, a, axis);
        return true;
    }
    if (n->op == &et_op_contract) return contract(g, n, axis, out);
    if (n->op == &et_op_attention) return axis == 1 && attention(g, n, devices, out);
    if (n->op == &et_op_gather) {
        int own = et_arg_shape(g, n, 1)->rank;
        if (axis < own)
            out[1] = axis;
        else
            out[0] = axis - own + 1;
        return true;
    }
    if (n->op == &et_op_rmsnorm || n->op == &et_op_layernorm || n->op == &et_op_softmax) {
        out[0] = axis;
        return axis != (n->op == &et_op_softmax ? et_op_axis_of(g, n) : rank - 1);
    }
    if (n->op == &et_op_rope) {
        out[0] = axis;
        return axis > 0 && axis < rank - 1;
    }
    if (n->op == &et_op_concat) {
        for (int a = 0; a < n->nargs; a++)
            out[a] = axis;
        return axis != et_op_axis_of(g, n);
    }
    if (n->op == &et_op_reduce)
        out[0] = unreduced(g, n, axis);
    else if (n->op == &et_op_reshape)
        out[0] = reshaped(g, n, axis, devices);
    else if (n->op == &et_op_slice)
        out[0] = sliced(g, n, axis);
    else if (n->op == &et_op_transpose)
        out[0] = (int)et_op_ints(n, "perm", rank)[axis];
    return out[0] != WHOLE;
}

int div_updated_axis(const et_node *n, int axis) {
    const et_attr *kind = et_attr_find(n, "index");
    int next = n->nargs > 2; /* tensors that say where share the value's first */
    for (int d = 0; d < kind->n; d++) {
        if (kind->ints[d] != -1 && kind->ints[d] != -3) continue;
        if (next++ == axis) return kind->ints[d] == -1 ? d : WHOLE;
    }
    return WHOLE;
}

/* ---- attributes ---- */

static et_expr part_of(et_graph *g, et_expr dim, int devices) {
    int64_t n = 0;
    et_check(et_is_int(g->exprs, dim, &n) && n % devices == 0);
    return et_int(g->exprs, n / devices);
}

static et_attr *attr_of(et_node *n, const char *name) {
    for (int i = 0; i < n->nattrs; i++)
        if (strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i];
    return NULL;
}

static void cut_expr(et_graph *g, et_attr *a, int at, int devices) {
    size_t bytes = (size_t)a->n * sizeof *a->exprs;
    et_expr *e = memcpy(et_alloc(g->arena, bytes), a->exprs, bytes);
    e[at] = part_of(g, e[at], devices);
    a->exprs = e;
}

static void cut_heads(et_graph *g, et_node *n, int devices) {
    et_exprs *x = g->exprs;
    int old = et_attention_var(n, ET_AT_H);
    int var = et_var_add(x, et_var_name(x, old), part_of(g, et_var_extent(x, old), devices));
    et_attr *over = attr_of(n, "over");
    size_t bytes = (size_t)over->n * sizeof *over->ints;
    int64_t *vars = memcpy(et_alloc(g->arena, bytes), over->ints, bytes);
    vars[ET_AT_H] = var;
    over->ints = vars;
    for (int i = 0; i < n->nattrs; i++)
        if (n->attrs[i].kind == ET_A_EXPR && n->attrs[i].expr.id)
            n->attrs[i].expr = et_subst_var(x, n->attrs[i].expr, old, et_var(x, var));
}

void div_cut_attributes(et_graph *g, et_node *n, int axis, int devices) {
    if (n->op == &et_op_reshape)
        cut_expr(g, attr_of(n, "shape"), axis, devices);
    else if (n->op == &et_op_attention)
        cut_heads(g, n, devices);
    else if (n->op == &et_op_slice)
        cut_expr(g, attr_of(n, "size"), sliced(g, n, axis), devices);
}
