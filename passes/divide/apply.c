/* The plan carried out on the graph. */
#include "ir/base/diag.h"
#include "passes/divide/int.h"
#include <string.h>

static void cut_shape(et_graph *g, et_value x, struct div_cut cut, int devices) {
    et_val *v = et_val_of(g, x);
    int64_t n = 0;
    int parts = devices / cut.repeat;
    et_check(et_is_int(g->exprs, v->shape.dim[cut.axis], &n) && n % parts == 0);
    v->shape.dim[cut.axis] = et_int(g->exprs, n / parts);
    if (v->kind == ET_V_WEIGHT || v->kind == ET_V_STATE || v->is_output)
        v->cut = (et_device_cut){.devices = devices, .axis = cut.axis, .repeat = cut.repeat};
}

/* ---- weights ---- */

/* A part of a weight as a node reads it: SIZE elements of its axis from FROM on are divided. */
struct part {
    struct div_cut cut;
    int64_t from, size;
};

struct weights {
    et_graph *g;
    const struct div_plan *p;
    et_shape *whole; /* by value: shape before the cut */
    et_value *of;    /* by value: the next one of the same weight */
};

static bool is_part(const struct weights *w, et_value x, const struct part *part) {
    const et_device_cut *c = &et_val_of(w->g, x)->cut;
    int64_t n = 0;
    et_is_int(w->g->exprs, et_val_of(w->g, x)->shape.dim[part->cut.axis], &n);
    return c->devices && c->axis == part->cut.axis && c->repeat == part->cut.repeat &&
           c->from == part->from && n * (c->devices / c->repeat) == part->size;
}

static void make_part(struct weights *w, et_value x, const struct part *part) {
    et_val *v = et_val_of(w->g, x);
    int64_t all = 0;
    et_is_int(w->g->exprs, v->shape.dim[part->cut.axis], &all);
    v->shape.dim[part->cut.axis] = et_int(w->g->exprs, part->size);
    cut_shape(w->g, x, part->cut, w->p->devices);
    if (part->size != all) v->cut.from = part->from, v->cut.of = all;
}

/* The part of weight X, the same value for all who want it so: itself, or where others need all of
 * it, or another part, another value. */
static et_value cut_weight(struct weights *w, et_value x, const struct part *part) {
    et_graph *g = w->g;
    if (!w->p->needed[x.id] && !et_val_of(g, x)->cut.devices) {
        w->whole[x.id] = et_val_of(g, x)->shape;
        make_part(w, x, part);
    }
    for (et_value c = x; c.id; c = w->of[c.id])
        if (is_part(w, c, part)) return c;
    et_val from = *et_val_of(g, x);
    if (from.cut.devices) from.shape = w->whole[x.id];
    from.cut = (et_device_cut){0};
    et_value c = et_graph_value(g, ET_V_WEIGHT, from.name, &from.shape, from.loc);
    from.name = et_val_of(g, c)->name;
    *et_val_of(g, c) = from;
    make_part(w, c, part);
    w->of[c.id] = w->of[x.id];
    w->of[x.id] = c;
    return c;
}

/* How node N reads argument A, which is cut so. A node that takes a piece of it takes all of that.
 */
static struct part part_of(et_graph *g, et_node *n, int a, struct div_cut cut) {
    int rank = et_arg_shape(g, n, a)->rank, axis;
    struct part part = {.cut = cut};
    int64_t first;
    et_check(et_is_int(g->exprs, et_arg_shape(g, n, a)->dim[cut.axis], &part.size));
    if (n->op != &et_op_slice) return part;
    et_is_int(g->exprs, et_op_exprs(n, "start", rank)[cut.axis], &part.from);
    for (int r = 0; r < et_val_of(g, n->result)->shape.rank; r++)
        if (div_is_piece(g, n, r, &axis, &first) && axis == cut.axis)
            et_is_int(g->exprs, et_val_of(g, n->result)->shape.dim[r], &part.size);
    return part;
}

typedef struct part parts_of[ET_MAX_ARGS];

/* By node and argument. */
static parts_of *find_parts(et_graph *g, const struct div_plan *p, int nnodes) {
    parts_of *parts = et_alloc(g->arena, ((size_t)nnodes + 1) * sizeof *parts);
    for (int i = 0; i < nnodes; i++)
        for (int a = 0; a < g->nodes[i].nargs; a++)
            if (p->arg[i][a].axis != WHOLE) parts[i][a] = part_of(g, &g->nodes[i], a, p->arg[i][a]);
    return parts;
}

static void cut_weights(et_graph *g, const struct div_plan *p, int nnodes, parts_of *parts) {
    size_t most = (size_t)g->nvals + (size_t)nnodes * ET_MAX_ARGS;
    struct weights w = {.g = g, .p = p};
    w.whole = et_alloc(g->arena, most * sizeof *w.whole);
    w.of = et_alloc(g->arena, most * sizeof *w.of);
    for (int i = 0; i < nnodes; i++)
        for (int a = 0; a < g->nodes[i].nargs; a++)
            if (p->arg[i][a].axis != WHOLE)
                g->nodes[i].args[a] = cut_weight(&w, g->nodes[i].args[a], &parts[i][a]);
}

/* ---- nodes that come between ---- */

et_value div_node_before(struct div_block *in, const et_op *op, int nargs, const et_value *args,
                         int nattrs, const et_attr *attrs, et_loc loc) {
    return et_graph_node_before(in->g, in->loop, &in->at, op, loc, nargs, args, nattrs, attrs);
}

/* The gather in statement S reads rows of a part of its table: it takes the first indices alone. */
static void take_first(struct div_block *in, int node, int parts) {
    et_graph *g = in->g;
    et_exprs *x = g->exprs;
    int64_t size = 0;
    static const int64_t none[1] = {0};
    et_check(et_is_int(x, et_arg_shape(g, &g->nodes[node], 1)->dim[0], &size));
    et_expr *e = et_alloc(g->arena, 2 * sizeof *e);
    e[0] = et_int(x, 0);
    e[1] = et_int(x, size / parts);
    const et_attr attrs[] = {{.name = "start", .kind = ET_A_EXPRS, .n = 1, .exprs = &e[0]},
                             {.name = "size", .kind = ET_A_EXPRS, .n = 1, .exprs = &e[1]},
                             {.name = "drop", .kind = ET_A_INTS, .n = 1, .ints = none}};
    et_value all = g->nodes[node].args[1];
    et_value first = div_node_before(in, &et_op_slice, 1, &all, 3, attrs, g->nodes[node].loc);
    g->nodes[node].args[1] = first;
}

static void follow(et_graph *g, const struct div_plan *p, int nvals, int loop) {
    struct div_block in = {g, loop, 0};
    for (; in.at < et_graph_block(g, loop)->n; in.at++) {
        et_stmt at = et_graph_block(g, loop)->stmt[in.at];
        if (at.kind == ET_S_LOOP) {
            follow(g, p, nvals, at.index);
            continue;
        }
        et_value r = g->nodes[at.index].result;
        if (!r.id || (int)r.id >= nvals || div_made(p, r).axis == WHOLE) continue;
        int parts = p->devices / div_made(p, r).repeat;
        if (div_follows(g, &g->nodes[at.index], div_made(p, r).axis, parts))
            take_first(&in, at.index, parts);
    }
}

void div_take_result(et_graph *g, et_value from, et_value x) {
    int own = et_val_of(g, from)->node;
    et_check(from.id == (uint32_t)g->nvals - 1);
    g->nodes[own].result = x;
    et_val_of(g, x)->node = own;
    g->nvals--; /* the value that was made for the node */
}

/* The sum of X over devices takes the place of X for all who read it, before a statement. */
static void add_exchange(struct div_block *in, int node) {
    et_graph *g = in->g;
    et_value sum = g->nodes[node].result;
    et_val *v = et_val_of(g, sum);
    et_value part = et_graph_value(g, ET_V_NODE, NULL, &v->shape, v->loc);
    et_val_of(g, part)->node = node;
    et_val_of(g, part)->model = et_val_of(g, sum)->model;
    g->nodes[node].result = part;
    div_take_result(g, div_node_before(in, &et_op_exchange, 1, &part, 0, NULL, g->nodes[node].loc),
                    sum);
}

static void add_exchanges(et_graph *g, const struct div_plan *p, int nvals, int loop) {
    struct div_block in = {g, loop, 0};
    while (in.at < et_graph_block(g, loop)->n) {
        et_stmt at = et_graph_block(g, loop)->stmt[in.at++];
        if (at.kind == ET_S_LOOP) {
            add_exchanges(g, p, nvals, at.index);
            continue;
        }
        et_value r = g->nodes[at.index].result;
        if (!r.id || (int)r.id >= nvals) continue;
        if (p->partial[r.id]) add_exchange(&in, at.index);
        if (p->gathered[r.id].axis != WHOLE)
            div_gather(&in, at.index, p->gathered[r.id], p->devices);
    }
}

static void cut_nodes(et_graph *g, const struct div_plan *p, int nnodes) {
    for (int i = 0; i < nnodes; i++) {
        et_value r = g->nodes[i].result;
        if (r.id && div_made(p, r).axis != WHOLE)
            div_cut_attributes(g, &g->nodes[i], div_made(p, r).axis,
                               p->devices / div_made(p, r).repeat);
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
    int nvals = g->nvals, nnodes = g->nnodes;
    /* By shapes before the cut. */
    parts_of *parts = find_parts(g, p, nnodes);
    follow(g, p, nvals, -1);
    cut_nodes(g, p, nnodes);
    cut_weights(g, p, nnodes, parts);
    for (int i = 1; i < nvals; i++)
        if (p->cut[i].axis != WHOLE) cut_shape(g, (et_value){(uint32_t)i}, p->cut[i], p->devices);
    g->devices = p->devices;
    div_add_shares(g, p, nnodes, -1);
    add_exchanges(g, p, nvals, -1);
    check_shapes(g);
}
