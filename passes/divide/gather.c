/* What each device has a part of, made whole on all: a part is a word of its own device, in place
 * of a part of a sum (ir/program/tags.h, "own"). */
#include "ir/base/diag.h"
#include "passes/divide/int.h"

static et_value reshape(struct div_block *in, et_value x, const et_shape *to, et_loc loc) {
    et_expr *dim = et_alloc(in->g->arena, ET_MAX_RANK * sizeof *dim);
    for (int d = 0; d < to->rank; d++)
        dim[d] = to->dim[d];
    const et_attr shape = {.name = "shape", .kind = ET_A_EXPRS, .n = to->rank, .exprs = dim};
    return div_node_before(in, &et_op_reshape, 1, &x, 1, &shape, loc);
}

/* The first of N arguments as DTYPE, in the shape that all broadcast to. */
static et_value first_of(struct div_block *in, int n, const et_value *x, et_dtype dtype,
                         et_loc loc) {
    const et_attr attrs[] = {
        {.name = "body", .kind = ET_A_EXPR, .expr = et_arg(in->g->exprs, 0, ET_T_F32)},
        {.name = "dtype", .kind = ET_A_INT, .i = dtype}};
    return div_node_before(in, &et_op_map, n, x, 2, attrs, loc);
}

/* X, of which dimension AXIS is 1, with an index there for each device, the same for all. */
static et_value for_each(struct div_block *in, et_value x, int axis, int devices, et_loc loc) {
    et_exprs *e = in->g->exprs;
    et_expr *n = et_alloc(in->g->arena, sizeof *n);
    *n = et_int(e, devices);
    const et_attr shape = {.name = "shape", .kind = ET_A_EXPRS, .n = 1, .exprs = n};
    et_value number = div_node_before(in, &et_op_iota, 0, NULL, 1, &shape, loc);
    et_shape column = {.dtype = ET_I32, .rank = et_val_of(in->g, x)->shape.rank - axis};
    for (int d = 0; d < column.rank; d++)
        column.dim[d] = et_int(e, d ? 1 : devices);
    et_value both[] = {x, reshape(in, number, &column, loc)};
    return first_of(in, 2, both, ET_F32, loc);
}

void div_gather(struct div_block *in, int node, struct div_cut cut, int devices) {
    et_graph *g = in->g;
    et_value x = g->nodes[node].result;
    et_val was = *et_val_of(g, x);
    et_loc loc = g->nodes[node].loc;
    et_shape part = was.shape;
    int64_t n = 0;
    et_check(et_is_int(g->exprs, part.dim[cut.axis], &n) && n % devices == 0);
    part.dim[cut.axis] = et_int(g->exprs, n / devices);
    et_value own = et_graph_value(g, ET_V_NODE, NULL, &part, was.loc);
    et_val_of(g, own)->node = node;
    et_val_of(g, own)->model = was.model;
    g->nodes[node].result = own;
    et_shape row = part;
    for (int d = row.rank++; d > cut.axis; d--)
        row.dim[d] = row.dim[d - 1];
    row.dim[cut.axis] = et_int(g->exprs, 1);
    et_value all = for_each(in, reshape(in, own, &row, loc), cut.axis, devices, loc);
    const et_attr of = {.name = "own", .kind = ET_A_INT, .i = cut.axis};
    all = div_node_before(in, &et_op_exchange, 1, &all, 1, &of, loc);
    all = reshape(in, all, &was.shape, loc);
    if (was.shape.dtype != ET_F32) all = first_of(in, 1, &all, was.shape.dtype, loc);
    div_take_result(g, all, x);
}
