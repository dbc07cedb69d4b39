/* What each operator needs of its arguments where its result is cut. */
#include "passes/divide/int.h"
#include <string.h>

bool div_has_parts(const et_graph *g, const et_shape *s, int axis, int parts) {
    int64_t n;
    et_shape part = *s;
    if (axis < 0 || axis >= s->rank || !et_is_int(g->exprs, s->dim[axis], &n) || n % parts ||
        n == 0)
        return false;
    part.dim[axis] = et_int(g->exprs, n / parts);
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
static int reshaped(const et_graph *g, const et_node *n, int axis, int parts) {
    const et_shape *from = et_arg_shape(g, n, 0), *to = &et_val_of(g, n->result)->shape;
    et_expr outer = before(g->exprs, to, axis);
    for (int d = from->rank - 1; d >= 0; d--)
        if (et_expr_eq(before(g->exprs, from, d), outer) && div_has_parts(g, from, d, parts))
            return d;
    return WHOLE;
}

bool div_is_piece(const et_graph *g, const et_node *n, int axis, int *out_axis,
                  int64_t *out_first) {
    if (n->op != &et_op_slice) return false;
    int rank = et_arg_shape(g, n, 0)->rank;
    const int64_t *drop = et_op_ints(n, "drop", rank);
    for (int d = 0; d < rank; d++) {
        if (drop[d] || axis--) continue;
        *out_axis = d;
        return et_is_int(g->exprs, et_op_exprs(n, "start", rank)[d], out_first) &&
               et_op_step(n, d) == 1;
    }
    return false;
}

/* The same, and all of that axis of the argument. */
static int sliced(const et_graph *g, const et_node *n, int axis) {
    const et_shape *from = et_arg_shape(g, n, 0);
    int64_t first;
    int d;
    return div_is_piece(g, n, axis, &d, &first) && !first &&
                   et_expr_eq(et_op_exprs(n, "size", from->rank)[d], from->dim[d])
               ? d
               : WHOLE;
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
    int var, count, parts;
    int axis[ET_MAX_ARGS], repeat[ET_MAX_ARGS]; /* by argument */
    bool bad;
};

/* INDEX of an argument of SIZE as the head goes through all: the part that REPEAT parts of the
 * heads share, and there as the first part has it. */
static bool follows(const struct heads *h, et_expr index, int64_t size, int repeat) {
    et_exprs *x = h->g->exprs;
    int64_t part = h->count / h->parts, each = size / (h->parts / repeat), here, first;
    for (int64_t i = 0; i < h->count; i++) {
        et_expr at = et_subst_var(x, index, h->var, et_int(x, i));
        et_expr in = et_subst_var(x, index, h->var, et_int(x, i % part));
        if (!et_is_int(x, at, &here) || !et_is_int(x, in, &first) || first < 0 || first >= each ||
            here != i / part / repeat * each + first)
            return false;
    }
    return true;
}

/* How many parts of the heads have one part of dimension D of an argument, which INDEX is of: few
 * heads of keys are repeated. 0: none have. */
static int repeat_of(const struct heads *h, const et_shape *s, int d, et_expr index) {
    int64_t size;
    if (!et_is_int(h->g->exprs, s->dim[d], &size)) return 0;
    for (int r = 1; r <= h->parts; r++)
        if (h->parts % r == 0 && div_has_parts(h->g, s, d, h->parts / r) &&
            follows(h, index, size, r))
            return r;
    return 0;
}

static void note_load(void *ctx, et_expr e) {
    struct heads *h = ctx;
    const et_node_x n = *et_x(h->g->exprs, e);
    if (n.op != ET_X_LOAD || h->bad) return;
    int cut = WHOLE, repeat = 1;
    const et_shape *s = et_arg_shape(h->g, h->n, n.i);
    for (int d = 0; d < n.nops; d++) {
        if (!et_expr_has_var(h->g->exprs, n.ops[d], h->var)) continue;
        repeat = cut == WHOLE ? repeat_of(h, s, d, n.ops[d]) : 0;
        h->bad |= !repeat;
        cut = d;
    }
    if (repeat == h->parts) cut = WHOLE, repeat = 1;
    int *axis = &h->axis[n.i];
    h->bad |= *axis != UNSEEN && (*axis != cut || h->repeat[n.i] != repeat);
    *axis = cut;
    h->repeat[n.i] = repeat;
}

static et_expr no_load(void *ctx, et_exprs *x, et_expr leaf) {
    (void)ctx;
    const et_node_x *n = et_x(x, leaf);
    return n->op != ET_X_LOAD ? ET_NO_EXPR : n->type == ET_T_F32 ? et_float(x, 0.5) : et_int(x, 0);
}

static bool attention(et_graph *g, const et_node *n, int parts, int *out, int *out_repeat) {
    int64_t heads;
    struct heads h = {.g = g, .n = n, .var = et_attention_var(n, ET_AT_H), .parts = parts};
    if (!et_is_int(g->exprs, et_var_extent(g->exprs, h.var), &heads) || heads % parts) return false;
    h.count = (int)heads;
    for (int a = 0; a < n->nargs; a++)
        h.axis[a] = UNSEEN;
    for (int i = 0; i < n->nattrs && !h.bad; i++) {
        if (n->attrs[i].kind != ET_A_EXPR || !n->attrs[i].expr.id) continue;
        et_walk(g->exprs, n->attrs[i].expr, note_load, &h);
        et_expr rest = et_subst(g->exprs, n->attrs[i].expr, no_load, NULL);
        h.bad |= et_expr_has_var(g->exprs, rest, h.var);
    }
    for (int a = 0; a < n->nargs; a++) {
        out[a] = h.axis[a] == UNSEEN ? WHOLE : h.axis[a];
        if (out[a] != WHOLE) out_repeat[a] = h.repeat[a];
    }
    return !h.bad;
}

/* ---- gather ---- */

struct place {
    et_graph *g;
    const et_node *n;
    et_expr at, size;
};

static et_expr index_at(et_graph *g, et_value x, et_expr at, et_expr size);

static et_expr arg_at(void *ctx, et_exprs *x, et_expr leaf) {
    const struct place *p = ctx;
    const et_node_x *n = et_x(x, leaf);
    return n->op == ET_X_ARG ? index_at(p->g, p->n->args[n->i], p->at, p->size) : ET_NO_EXPR;
}

/* Element AT of X, if that is SIZE elements that are computed of their indices alone. */
static et_expr index_at(et_graph *g, et_value x, et_expr at, et_expr size) {
    const et_node *n = et_node_of(g, x);
    const et_shape *s = &et_val_of(g, x)->shape;
    if (!n || s->rank != 1 || !et_expr_eq(s->dim[0], size)) return ET_NO_EXPR;
    if (n->op == &et_op_iota) return at;
    if (n->op != &et_op_map) return ET_NO_EXPR;
    struct place p = {g, n, at, size};
    for (int a = 0; a < n->nargs; a++)
        if (!index_at(g, n->args[a], at, size).id) return ET_NO_EXPR;
    return et_subst(g->exprs, et_attr_find(n, "body")->expr, arg_at, &p);
}

/* Each of so many parts of the indices is of one part of the table's rows, as many parts as REPEAT
 * of the same, and there as in the first. */
static bool follow_rows(et_graph *g, const et_node *n, int parts, int64_t size, int64_t rows,
                        int repeat) {
    et_exprs *x = g->exprs;
    et_expr all = et_arg_shape(g, n, 1)->dim[0];
    et_expr i = et_var(x, et_var_add(x, "i", et_int(x, size / parts)));
    et_expr first = index_at(g, n->args[1], i, all);
    for (int p = 1; p < parts && first.id; p++) {
        et_expr at = et_add(x, i, et_int(x, p * (size / parts)));
        et_expr base = et_int(x, p / repeat * (rows / (parts / repeat)));
        if (!et_expr_eq(index_at(g, n->args[1], at, all), et_add(x, first, base))) return false;
    }
    return first.id != 0;
}

int div_follows(et_graph *g, const et_node *n, int axis, int parts) {
    int64_t size, rows;
    if (n->op != &et_op_gather || axis || parts < 2) return 0;
    const et_shape *table = et_arg_shape(g, n, 0), *index = et_arg_shape(g, n, 1);
    if (index->rank != 1 || !et_is_int(g->exprs, index->dim[0], &size) || size % parts ||
        !et_is_int(g->exprs, table->dim[0], &rows))
        return 0;
    for (int r = 1; r <= parts; r++)
        if (parts % r == 0 && (r == parts || div_has_parts(g, table, 0, parts / r)) &&
            follow_rows(g, n, parts, size, rows, r))
            return r;
    return 0;
}

/* ---- all of them ---- */

bool div_axes(et_graph *g, const et_node *n, int axis, int parts, int out[ET_MAX_ARGS],
              int out_repeat[ET_MAX_ARGS]) {
    int rank = et_val_of(g, n->result)->shape.rank;
    for (int a = 0; a < n->nargs; a++)
        out[a] = WHOLE, out_repeat[a] = 1;
    if (n->op == &et_op_map) {
        for (int a = 0; a < n->nargs; a++)
            out[a] = broadcast(g, n, a, axis);
        return true;
    }
    if (n->op == &et_op_contract) return contract(g, n, axis, out);
    if (n->op == &et_op_attention) return axis == 1 && attention(g, n, parts, out, out_repeat);
    if (n->op == &et_op_gather) {
        int own = et_arg_shape(g, n, 1)->rank;
        int repeat = div_follows(g, n, axis, parts);
        if (repeat)
            out[0] = repeat == parts ? WHOLE : 0, out_repeat[0] = repeat;
        else if (axis < own)
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
        out[0] = reshaped(g, n, axis, parts);
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

static et_expr part_of(et_graph *g, et_expr dim, int parts) {
    int64_t n = 0;
    et_check(et_is_int(g->exprs, dim, &n) && n % parts == 0);
    return et_int(g->exprs, n / parts);
}

static et_attr *attr_of(et_node *n, const char *name) {
    for (int i = 0; i < n->nattrs; i++)
        if (strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i];
    return NULL;
}

static void set_expr(et_graph *g, et_attr *a, int at, et_expr to) {
    size_t bytes = (size_t)a->n * sizeof *a->exprs;
    et_expr *e = memcpy(et_alloc(g->arena, bytes), a->exprs, bytes);
    e[at] = to;
    a->exprs = e;
}

static void cut_expr(et_graph *g, et_attr *a, int at, int parts) {
    set_expr(g, a, at, part_of(g, a->exprs[at], parts));
}

static void cut_heads(et_graph *g, et_node *n, int parts) {
    et_exprs *x = g->exprs;
    int old = et_attention_var(n, ET_AT_H);
    int var = et_var_add(x, et_var_name(x, old), part_of(g, et_var_extent(x, old), parts));
    et_attr *over = attr_of(n, "over");
    size_t bytes = (size_t)over->n * sizeof *over->ints;
    int64_t *vars = memcpy(et_alloc(g->arena, bytes), over->ints, bytes);
    vars[ET_AT_H] = var;
    over->ints = vars;
    for (int i = 0; i < n->nattrs; i++)
        if (n->attrs[i].kind == ET_A_EXPR && n->attrs[i].expr.id)
            n->attrs[i].expr = et_subst_var(x, n->attrs[i].expr, old, et_var(x, var));
}

void div_cut_attributes(et_graph *g, et_node *n, int axis, int parts) {
    int64_t first;
    int own;
    if (n->op == &et_op_reshape)
        cut_expr(g, attr_of(n, "shape"), axis, parts);
    else if (n->op == &et_op_attention)
        cut_heads(g, n, parts);
    else if (div_is_piece(g, n, axis, &own, &first)) {
        cut_expr(g, attr_of(n, "size"), own, parts);
        set_expr(g, attr_of(n, "start"), own, et_int(g->exprs, 0));
    }
}
