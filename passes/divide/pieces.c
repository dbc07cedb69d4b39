/* Pieces of pieces of weights taken at once, so that the weight itself can be cut: q, k and v of
 * one tensor of a layer. */
#include "passes/divide/int.h"
#include <string.h>

/* N takes a piece of what OUTER takes of a weight, one after the other in both. */
static bool joins(const et_graph *g, const et_node *n, const et_node *outer) {
    if (n->op != &et_op_slice || !outer || outer->op != &et_op_slice) return false;
    if (et_val_of(g, outer->args[0])->kind != ET_V_WEIGHT) return false;
    for (int d = 0; d < et_arg_shape(g, n, 0)->rank; d++)
        if (et_op_step(n, d) != 1) return false;
    for (int d = 0; d < et_arg_shape(g, outer, 0)->rank; d++)
        if (et_op_step(outer, d) != 1) return false;
    return true;
}

static void join(et_graph *g, et_node *n, const et_node *outer) {
    int rank = et_arg_shape(g, outer, 0)->rank, inner = et_arg_shape(g, n, 0)->rank, k = 0;
    const int64_t *drop = et_op_ints(outer, "drop", rank), *own = et_op_ints(n, "drop", inner);
    const et_expr *start = et_op_exprs(outer, "start", rank),
                  *size = et_op_exprs(outer, "size", rank);
    et_expr *from = et_alloc(g->arena, (size_t)rank * sizeof *from);
    et_expr *count = et_alloc(g->arena, (size_t)rank * sizeof *count);
    int64_t *gone = et_alloc(g->arena, (size_t)rank * sizeof *gone);
    for (int d = 0; d < rank; d++) {
        from[d] = start[d], count[d] = size[d], gone[d] = drop[d];
        if (drop[d]) continue;
        from[d] = et_add(g->exprs, start[d], et_op_exprs(n, "start", inner)[k]);
        count[d] = et_op_exprs(n, "size", inner)[k];
        gone[d] = own[k++];
    }
    et_attr *attrs = et_alloc(g->arena, 3 * sizeof *attrs);
    attrs[0] = (et_attr){.name = "start", .kind = ET_A_EXPRS, .n = rank, .exprs = from};
    attrs[1] = (et_attr){.name = "size", .kind = ET_A_EXPRS, .n = rank, .exprs = count};
    attrs[2] = (et_attr){.name = "drop", .kind = ET_A_INTS, .n = rank, .ints = gone};
    n->attrs = attrs;
    n->nattrs = 3;
    n->args[0] = outer->args[0];
}

void div_join_pieces(et_graph *g) {
    for (int i = 0; i < g->nnodes; i++) {
        const et_node *outer = g->nodes[i].nargs ? et_node_of(g, g->nodes[i].args[0]) : NULL;
        if (joins(g, &g->nodes[i], outer)) join(g, &g->nodes[i], outer);
    }
}
