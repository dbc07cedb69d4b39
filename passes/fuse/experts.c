/* The experts of a single token. Its rows are of one expert each, so a block has one row, and
 * blocks need not be sorted by expert: block i is the i-th of those that were chosen. Then the sum
 * over experts of their outputs, w[i] (y[i] @ W[i]), is one product, of the rows w[i] y[i] side by
 * side by the matrices one below the other: a tile has columns of all experts, and no task adds
 * them up. */
#include "ir/graph/op_util.h"
#include "passes/fuse/lowering.h"
#include "passes/pipeline/pipeline.h"
#include <string.h>

static const et_shape *shape_of(const et_graph *g, et_value v) {
    return &et_val_of(g, v)->shape;
}

static et_node *by(const et_graph *g, et_value v, const et_op *op) {
    const et_node *n = v.id ? et_node_of(g, v) : NULL;
    return n && n->op == op ? (et_node *)n : NULL;
}

static et_value reshaped(const et_graph *g, et_value v) {
    const et_node *n;
    while ((n = by(g, v, &et_op_reshape)))
        v = n->args[0];
    return v;
}

static bool is_one(const et_graph *g, et_expr e) {
    int64_t lo, hi;
    return et_bounds(g->exprs, e, &lo, &hi) && hi == 1;
}

/* ---- a grouping whose rows are of different groups ---- */

struct grouping {
    int first;      /* value: where groups begin */
    et_value index; /* the group of each row */
    et_value place, owner, rows;
    bool bad;
};

/* Are these the numbers of the largest of one row, which are different? */
static bool are_different(const et_graph *g, et_value index) {
    const et_node *n = by(g, reshaped(g, index), &et_op_reduce);
    if (!n || !et_is_of_largest(g, n)) return false;
    const et_shape *s = shape_of(g, n->result);
    for (int d = 0; d + 1 < s->rank; d++)
        if (!is_one(g, s->dim[d])) return false;
    return true;
}

/* Each value of what the grouping says, or of blocks of rows: their number is its first dimension.
 */
enum { NOTHING, PLACE, BLOCKS };

static bool same_blocks(const et_graph *g, const struct grouping *gr, et_value v) {
    const et_shape *s = shape_of(g, v);
    return s->rank > 0 && et_expr_eq(s->dim[0], shape_of(g, gr->index)->dim[0]);
}

/* What the result of N is, of whose arguments some are of blocks; BAD where another order of these
 * could be seen in it. */
static int follow(const et_graph *g, struct grouping *gr, const et_node *n, const char *is) {
    const et_shape *to = n->result.id ? shape_of(g, n->result) : NULL;
    int first = is[n->args[0].id];
    bool ok = to && !et_val_of(g, n->result)->is_output;
    if (n->op == &et_op_gather && n->nargs == 2 && is[n->args[1].id] == PLACE) {
        gr->bad |= first != BLOCKS || !same_blocks(g, gr, n->args[0]);
        return NOTHING;
    }
    if (first == PLACE) {
        gr->bad |= !ok || n->op != &et_op_reshape;
        return PLACE;
    }
    if (ok && n->op == &et_op_map) {
        for (int a = 0; a < n->nargs; a++) {
            const et_shape *s = shape_of(g, n->args[a]);
            ok &= is[n->args[a].id] == BLOCKS ||
                  (is[n->args[a].id] == NOTHING && (s->rank < to->rank || is_one(g, s->dim[0])));
        }
    } else if (ok && n->op == &et_op_gather) {
        ok = first == NOTHING;
    } else if (ok && n->op == &et_op_slice) {
        const et_expr *start = et_op_exprs(n, "start", shape_of(g, n->args[0])->rank);
        const et_attr *drop = et_attr_find(n, "drop");
        ok = et_is_int(g->exprs, start[0], &(int64_t){0}) && drop && drop->n && !drop->ints[0];
    } else if (ok && n->op == &et_op_contract) {
        ok = to->rank == 3 && first == BLOCKS && is[n->args[1].id] == BLOCKS;
    } else {
        ok &= n->op == &et_op_reshape;
    }
    gr->bad |= !ok || !same_blocks(g, gr, n->result);
    return BLOCKS;
}

/* Walks over all that reads the grouping. */
static void look(const et_graph *g, struct grouping *gr) {
    char *is = memset(et_alloc(g->arena, (size_t)g->nvals), NOTHING, (size_t)g->nvals);
    for (int i = 0; i < g->nnodes && !gr->bad; i++) {
        const et_node *n = &g->nodes[i];
        bool of = n->nargs == 3 && n->args[2].id == (uint32_t)gr->first;
        if (n->op == &et_op_group_place && of) {
            gr->place = n->result, is[n->result.id] = PLACE;
        } else if (n->op == &et_op_group_rows && of) {
            gr->rows = n->result, is[n->result.id] = BLOCKS;
            gr->bad |= !same_blocks(g, gr, n->result) || et_val_of(g, n->result)->is_output;
        } else if (n->op == &et_op_group_owner && n->args[0].id == (uint32_t)gr->first) {
            gr->owner = n->result, is[n->result.id] = BLOCKS;
            gr->bad |= !same_blocks(g, gr, n->result) || et_val_of(g, n->result)->is_output;
        } else {
            bool any = false;
            for (int a = 0; a < n->nargs; a++) {
                any |= is[n->args[a].id] != NOTHING;
                gr->bad |= n->args[a].id == (uint32_t)gr->first;
            }
            if (any && n->result.id) is[n->result.id] = (char)follow(g, gr, n, is);
            gr->bad |= any && !n->result.id;
        }
    }
    for (int l = 0; l < g->nloops; l++)
        for (int c = 0; c < g->loops[l].ncarry; c++)
            gr->bad |= is[g->loops[l].carry[c].init.id] || is[g->loops[l].carry[c].out.id];
}

static void become(et_node *n, const et_op *op, int nargs, const et_value *args, int nattrs,
                   et_attr *attrs) {
    n->op = op;
    n->nargs = nargs;
    memcpy(n->args, args, (size_t)nargs * sizeof *args);
    n->nattrs = nattrs;
    n->attrs = attrs;
    for (int v = 0; v < ET_MAX_NODE_VARS; v++)
        n->vars[v] = -1;
}

static et_attr *with_shape(et_graph *g, int rank, const et_expr *dim) {
    et_attr *a = et_alloc(g->arena, sizeof *a);
    et_expr *own = et_alloc(g->arena, (size_t)rank * sizeof *own);
    memcpy(own, dim, (size_t)rank * sizeof *own);
    *a = (et_attr){.name = "shape", .kind = ET_A_EXPRS, .n = rank, .exprs = own};
    return a;
}

/* Block i has row i. */
static bool leave_in_order(et_graph *g, const et_node *first) {
    struct grouping gr = {.first = (int)first->result.id, .index = first->args[1]};
    if (et_attr_int(first, "pad", 0) != 1 || et_val_of(g, first->result)->is_output ||
        !are_different(g, gr.index))
        return false;
    look(g, &gr);
    if (gr.bad || !gr.place.id || !gr.owner.id || et_val_of(g, gr.place)->is_output) return false;
    const et_shape *s = shape_of(g, gr.index);
    become((et_node *)et_node_of(g, gr.place), &et_op_iota, 0, &gr.place, 1,
           with_shape(g, 1, s->dim));
    become((et_node *)et_node_of(g, gr.owner), &et_op_reshape, 1, &gr.index, 1,
           with_shape(g, 1, s->dim));
    if (gr.rows.id)
        become((et_node *)et_node_of(g, gr.rows), &et_op_reshape, 1, &gr.place, 1,
               with_shape(g, 2, shape_of(g, gr.rows)->dim));
    return true;
}

/* ---- the sum over experts as one product ---- */

/* Most of the waves can share the k's of an expert's rows in chunks of them alone. */
static bool are_shared(const et_machine *m, int64_t k) {
    int unit = m->k_bytes / 2, waves = m->waves;
    while (k / unit % waves)
        waves--;
    return k % unit == 0 && 4 * waves >= 3 * m->waves;
}

struct sum {
    int loop, s, node;            /* the block, the statement, and its node: a sum over experts */
    et_value weights, row, right; /* of the sum; of the product: [K, 1, F], [K, F, H] or .. */
    bool trans_b;                 /* .. [K, H, F] */
    et_value plus;                /* added to each product, [K, 1, H], or none */
};

static bool is_body(const et_graph *g, const et_node *n, et_xop op) {
    const et_attr *body = et_attr_find(n, "body");
    if (n->nargs != 2 || !body) return false;
    const et_node_x *x = et_x(g->exprs, body->expr);
    return x->op == op && et_x(g->exprs, x->ops[0])->op == ET_X_ARG &&
           et_x(g->exprs, x->ops[1])->op == ET_X_ARG && !et_expr_eq(x->ops[0], x->ops[1]);
}

/* Is E argument I, or that where another one is not negative, else zero, as products by groups are?
 */
static bool is_product(const et_exprs *x, et_expr e, int i) {
    const et_node_x *n = et_x(x, e);
    if (n->op == ET_X_SELECT) {
        const et_node_x *cond = et_x(x, n->ops[0]);
        int64_t zero;
        if (cond->op != ET_X_LE || !et_is_int(x, cond->ops[0], &zero) || zero) return false;
        n = et_x(x, n->ops[1]);
    }
    return n->op == ET_X_ARG && n->i == i;
}

/* Is V a weight as it is? Codes of eight bits were slower so: a chunk has k's of one expert alone,
 * which fill a third of a stage. */
static bool is_plain(const et_graph *g, et_value v) {
    const et_node *n;
    while ((n = by(g, v, &et_op_slice)) || (n = by(g, v, &et_op_transpose)))
        v = n->args[0];
    return et_val_of(g, v)->kind == ET_V_WEIGHT;
}

/* Y, [K, 1, H], is a product by each expert's weights, and perhaps something is added to it. */
static bool find_product(const et_graph *g, const et_machine *m, et_value y, struct sum *s) {
    const et_node *n = et_node_of(g, y), *of = by(g, y, &et_op_contract);
    for (int a = 0; n && n->op == &et_op_map && a < n->nargs && !of; a++) {
        of = by(g, n->args[a], &et_op_contract);
        const et_attr *body = et_attr_find(n, "body");
        if (!of || !body) continue;
        const et_node_x *sum = et_x(g->exprs, body->expr);
        if (is_product(g->exprs, body->expr, a)) continue;
        const et_node_x *more = sum->op == ET_X_ADD ? et_x(g->exprs, sum->ops[1]) : NULL;
        if (!more || !is_product(g->exprs, sum->ops[0], a) || more->op != ET_X_ARG || more->i == a)
            return false;
        s->plus = n->args[more->i];
    }
    if (!of || shape_of(g, of->result)->rank != 3) return false;
    const et_node *right = by(g, of->args[1], &et_op_gather);
    int64_t f;
    if (!et_is_int(g->exprs, shape_of(g, of->args[0])->dim[2], &f) || !are_shared(m, f))
        return false;
    if (!right || !is_plain(g, right->args[0])) return false;
    s->row = of->args[0], s->right = of->args[1], s->trans_b = et_attr_int(of, "trans_b", 0) != 0;
    return is_one(g, shape_of(g, of->result)->dim[1]) &&
           et_val_of(g, right->args[0])->shape.rank == 3;
}

/* A sum over axis 1 of weights times rows that are where they are, one after the other. */
static bool find_sum(const et_graph *g, const et_machine *m, int node, struct sum *s) {
    const et_node *n = &g->nodes[node];
    if (n->op != &et_op_reduce || et_attr_int(n, "kind", 0) != ET_RED_SUM ||
        et_attr_int(n, "axis", -1) != 1 || et_attr_int(n, "keep", 0) ||
        shape_of(g, n->result)->rank != 2 || !is_one(g, shape_of(g, n->result)->dim[0]))
        return false;
    const et_node *times = by(g, n->args[0], &et_op_map);
    if (!times || !is_body(g, times, ET_X_MUL)) return false;
    for (int a = 0; a < 2; a++) {
        const et_node *rows = by(g, times->args[a], &et_op_gather);
        const et_node *order = rows ? by(g, reshaped(g, rows->args[1]), &et_op_iota) : NULL;
        if (!order) continue;
        s->node = node;
        s->weights = times->args[1 - a];
        const et_shape *w = shape_of(g, s->weights), *i = shape_of(g, order->result);
        if (w->rank != 3 || !is_one(g, w->dim[0]) || !is_one(g, w->dim[2]) ||
            !et_expr_eq(w->dim[1], i->dim[0]) || shape_of(g, rows->args[0])->rank != 2 ||
            !et_expr_eq(shape_of(g, rows->args[0])->dim[0], i->dim[0]))
            return false;
        return find_product(g, m, reshaped(g, rows->args[0]), s);
    }
    return false;
}

static et_attr int_attr(const char *name, int64_t i) {
    return (et_attr){.name = name, .kind = ET_A_INT, .i = i};
}

/* One more node in front of the sum. */
static et_value before(et_graph *g, struct sum *s, const et_op *op, int nargs, const et_value *args,
                       int nattrs, const et_attr *attrs) {
    int was = g->building; /* what is added is of the sum's model */
    g->building = et_val_of(g, g->nodes[s->node].result)->model;
    et_value result = et_graph_node_before(g, s->loop, &s->s, op, g->nodes[s->node].loc, nargs,
                                           args, nattrs, attrs);
    g->building = was;
    return result;
}

static et_value reshape(et_graph *g, struct sum *s, et_value v, int rank, const et_expr *dim) {
    return before(g, s, &et_op_reshape, 1, &v, 1, with_shape(g, rank, dim));
}

static et_attr *body_of(et_graph *g, et_xop op) {
    et_exprs *x = g->exprs;
    et_attr *attrs = et_alloc(g->arena, 2 * sizeof *attrs);
    et_expr body = et_op2(x, op, et_arg(x, 0, ET_T_F32), et_arg(x, 1, ET_T_F32));
    attrs[0] = (et_attr){.name = "body", .kind = ET_A_EXPR, .expr = body};
    attrs[1] = int_attr("dtype", ET_F32);
    return attrs;
}

static et_value times(et_graph *g, struct sum *s, et_value a, et_value b) {
    return before(g, s, &et_op_map, 2, (et_value[]){a, b}, 2, body_of(g, ET_X_MUL));
}

/* The rows, each times its weight: where a map computes them, it does both. */
static et_value weighted(et_graph *g, struct sum *s, et_value w) {
    const et_node *n = by(g, s->row, &et_op_map);
    const et_attr *body = n ? et_attr_find(n, "body") : NULL;
    if (!body || n->nargs == ET_MAX_ARGS || shape_of(g, s->row)->dtype != ET_F32)
        return times(g, s, s->row, w);
    et_value args[ET_MAX_ARGS];
    int count = n->nargs;
    memcpy(args, n->args, (size_t)count * sizeof *args);
    args[count] = w;
    et_attr *attrs = body_of(g, ET_X_MUL);
    attrs[0].expr = et_mul(g->exprs, body->expr, et_arg(g->exprs, count, ET_T_F32));
    return before(g, s, &et_op_map, count + 1, args, 2, attrs);
}

static void join(et_graph *g, struct sum *s) {
    et_exprs *x = g->exprs;
    const et_shape row = *shape_of(g, s->row), right = *shape_of(g, s->right);
    et_expr one = et_int(x, 1), k = row.dim[0], f = row.dim[2], all = et_mul(x, k, f);
    et_expr h = right.dim[s->trans_b ? 1 : 2];
    et_value w = reshape(g, s, s->weights, 3, (et_expr[]){k, one, one}), plus = ET_NO_VALUE;
    et_value rows = reshape(g, s, weighted(g, s, w), 2, (et_expr[]){one, all});
    et_value matrix = s->right;
    static const int64_t swap[] = {0, 2, 1};
    et_attr perm = {.name = "perm", .kind = ET_A_INTS, .n = 3, .ints = swap};
    if (s->trans_b) matrix = before(g, s, &et_op_transpose, 1, &matrix, 1, &perm);
    et_value both[] = {rows, reshape(g, s, matrix, 2, (et_expr[]){all, h})};
    if (!s->plus.id) {
        become(&g->nodes[s->node], &et_op_contract, 2, both, 0, NULL);
        return;
    }
    et_attr attrs[] = {int_attr("kind", ET_RED_SUM), int_attr("axis", 0), int_attr("keep", 0)};
    plus = times(g, s, s->plus, w);
    plus = before(g, s, &et_op_reduce, 1, &plus, 3, attrs);
    et_value sum[] = {before(g, s, &et_op_contract, 2, both, 0, NULL), plus};
    become(&g->nodes[s->node], &et_op_map, 2, sum, 2, body_of(g, ET_X_ADD));
}

void et_join_experts(et_graph *g, const et_pass_options *opt) {
    bool any = false;
    if (!et_may_stream(opt) || opt->same_sums || opt->experts_on_host) return;
    for (int i = 0; i < g->nnodes; i++)
        if (g->nodes[i].op == &et_op_group_first) any |= leave_in_order(g, &g->nodes[i]);
    for (int l = -1; any && l < g->nloops; l++)
        for (int s = 0; s < et_graph_block(g, l)->n; s++) {
            struct sum sum = {.loop = l, .s = s};
            const et_stmt *st = &et_graph_block(g, l)->stmt[s];
            if (st->kind != ET_S_NODE || !find_sum(g, opt->machine, st->index, &sum)) continue;
            join(g, &sum);
            s = sum.s;
        }
    if (any) et_drop_unread(g, et_reads_of(g));
}
