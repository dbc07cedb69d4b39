/* The plan carried out on the graph. */
#include "ir/base/diag.h"
#include "passes/divide/int.h"
#include <string.h>

static void cut_shape(et_graph *g, et_value x, int axis, int devices) {
    et_val *v = et_val_of(g, x);
    int64_t n = 0;
    et_check(et_is_int(g->exprs, v->shape.dim[axis], &n) && n % devices == 0);
    v->shape.dim[axis] = et_int(g->exprs, n / devices);
    if (v->kind == ET_V_WEIGHT || v->kind == ET_V_STATE || v->is_output)
        v->cut = (et_device_cut){devices, axis};
}

/* Weight X cut along AXIS, the same for all who want it so: itself, or where others need all of it,
 * or want it cut otherwise, another value. OF: the next one of the same weight. */
static et_value cut_weight(et_graph *g, const struct div_plan *p, et_value x, int axis,
                           et_value *of) {
    et_val *v = et_val_of(g, x);
    if (!p->needed[x.id] && !v->cut.devices) cut_shape(g, x, axis, p->devices);
    for (et_value c = x; c.id; c = of[c.id])
        if (et_val_of(g, c)->cut.devices && et_val_of(g, c)->cut.axis == axis) return c;
    et_val from = *et_val_of(g, x);
    if (from.cut.devices)
        from.shape.dim[from.cut.axis] =
            et_mul(g->exprs, from.shape.dim[from.cut.axis], et_int(g->exprs, p->devices));
    from.cut = (et_device_cut){0};
    et_value c = et_graph_value(g, ET_V_WEIGHT, from.name, &from.shape, from.loc);
    from.name = et_val_of(g, c)->name;
    *et_val_of(g, c) = from;
    cut_shape(g, c, axis, p->devices);
    of[c.id] = of[x.id];
    of[x.id] = c;
    return c;
}

/* The sum of X over devices takes the place of X for all who read it; S is the statement after the
 * node that makes it. */
static void add_exchange(et_graph *g, int block_loop, int s, int node) {
    et_value sum = g->nodes[node].result;
    et_val *v = et_val_of(g, sum);
    et_value part = et_graph_value(g, ET_V_NODE, NULL, &v->shape, v->loc), again;
    et_val_of(g, part)->node = node;
    et_val_of(g, part)->model = et_val_of(g, sum)->model;
    g->nodes[node].result = part;
    et_block *b = block_loop < 0 ? &g->body : &g->loops[block_loop].body;
    et_check(et_graph_node(g, b, &et_op_exchange, g->nodes[node].loc, 1, &part, 0, NULL, &again));
    b = block_loop < 0 ? &g->body : &g->loops[block_loop].body;
    int last = b->n - 1;
    et_stmt own = b->stmt[last];
    memmove(&b->stmt[s + 1], &b->stmt[s], (size_t)(last - s) * sizeof *b->stmt);
    b->stmt[s] = own;
    g->nodes[own.index].result = sum;
    et_val_of(g, sum)->node = own.index;
    et_check(again.id == (uint32_t)g->nvals - 1);
    g->nvals--; /* the value that was made for the exchange */
}

static void add_exchanges(et_graph *g, const struct div_plan *p, int loop) {
    for (int s = 0; s < (loop < 0 ? &g->body : &g->loops[loop].body)->n; s++) {
        et_stmt at = (loop < 0 ? &g->body : &g->loops[loop].body)->stmt[s];
        if (at.kind == ET_S_LOOP)
            add_exchanges(g, p, at.index);
        else if (g->nodes[at.index].result.id && p->partial[g->nodes[at.index].result.id])
            add_exchange(g, loop, ++s, at.index);
    }
}

static void cut_nodes(et_graph *g, const struct div_plan *p) {
    for (int i = 0; i < g->nnodes; i++) {
        et_value r = g->nodes[i].result;
        if (r.id && p->axis[r.id] != WHOLE)
            div_cut_attributes(g, &g->nodes[i], p->axis[r.id], p->devices);
    }
}

static void check_shapes(et_graph *g) {
    for (int i = 0; i < g->nnodes; i++) {
        et_shape s = {0};
        const et_node *n = &g->nodes[i];
        et_check(n->op->shape(g, n, &s));
        et_check(!n->result.id || et_shape_eq(&s, &et_val_of(g, n->result)->shape));
    }
}

void div_apply(et_graph *g, const struct div_plan *p) {
    int nvals = g->nvals;
    size_t most = (size_t)nvals + (size_t)g->nnodes * ET_MAX_ARGS;
    et_value *of = et_alloc(g->arena, most * sizeof *of);
    cut_nodes(g, p); /* by shapes before the cut */
    for (int i = 0; i < g->nnodes; i++)
        for (int a = 0; a < g->nodes[i].nargs; a++)
            if (p->arg[i][a] != WHOLE)
                g->nodes[i].args[a] = cut_weight(g, p, g->nodes[i].args[a], p->arg[i][a], of);
    for (int i = 1; i < nvals; i++)
        if (p->axis[i] != WHOLE) cut_shape(g, (et_value){(uint32_t)i}, p->axis[i], p->devices);
    g->devices = p->devices;
    add_exchanges(g, p, -1);
    check_shapes(g);
}
