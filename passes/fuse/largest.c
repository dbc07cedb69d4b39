/* The k largest one after the other, in place of ranks. A source's topk is what has ranks 0 .. k -
 * 1, and each rank is a comparison with all others: one of few rows takes no longer so, since all
 * work-items compare at the same time, but comparisons grow with the square of a row's length and
 * maxima with k times it. */
#include "passes/fuse/lowering.h"
#include <math.h>
#include <string.h>

static const et_shape *shape_of(const et_graph *g, et_value v) {
    return &et_val_of(g, v)->shape;
}

static const et_node *by(const et_graph *g, et_value v, const et_op *op) {
    const et_node *n = v.id ? et_node_of(g, v) : NULL;
    return n && n->op == op ? n : NULL;
}

/* V as it is read through reshapes. */
static et_value reshaped(const et_graph *g, et_value v) {
    const et_node *n;
    while ((n = by(g, v, &et_op_reshape)))
        v = n->args[0];
    return v;
}

/* Does the map say whether its two arguments are equal, as 1 or 0? */
static bool is_equality(const et_graph *g, const et_node *n) {
    const et_attr *body = et_attr_find(n, "body");
    int64_t one, zero;
    if (n->nargs != 2 || !body) return false;
    et_node_x is = *et_x(g->exprs, body->expr);
    if (is.op != ET_X_SELECT || !et_is_int(g->exprs, is.ops[1], &one) || one != 1 ||
        !et_is_int(g->exprs, is.ops[2], &zero) || zero != 0)
        return false;
    et_node_x eq = *et_x(g->exprs, is.ops[0]);
    if (eq.op != ET_X_EQ) return false;
    const et_node_x *a = et_x(g->exprs, eq.ops[0]), *b = et_x(g->exprs, eq.ops[1]);
    return a->op == ET_X_ARG && b->op == ET_X_ARG && a->i + b->i == 1 && a->i != b->i;
}

/* Are the arguments ranks RANK along the last axis, and 0, 1, ... along the one in front of it? */
static bool meets_places(const et_graph *g, const et_node *map, int ranks, const et_node *rank) {
    const et_shape *all = shape_of(g, map->result), *of = shape_of(g, rank->result);
    const et_shape *r = shape_of(g, map->args[ranks]), *c = shape_of(g, map->args[1 - ranks]);
    const et_exprs *x = g->exprs;
    int64_t n;
    bool ok = all->rank == of->rank + 1 && r->rank == all->rank && c->rank == 2 &&
              et_expr_eq(r->dim[r->rank - 1], of->dim[of->rank - 1]) &&
              et_is_int(x, r->dim[r->rank - 2], &n) && n == 1 && et_is_int(x, c->dim[1], &n) &&
              n == 1 && et_expr_eq(c->dim[0], all->dim[all->rank - 2]);
    for (int d = 0; ok && d < of->rank - 1; d++)
        ok = et_expr_eq(r->dim[d], of->dim[d]);
    return ok;
}

/* The ranks of which N is the index of each below the number of its last dimension, or NULL. */
static const et_node *ranks_of(const et_graph *g, const et_node *n) {
    if (n->op != &et_op_reduce || et_attr_int(n, "kind", 0) != ET_RED_ARGMAX ||
        et_attr_int(n, "keep", 0))
        return NULL;
    const et_node *map = by(g, n->args[0], &et_op_map);
    if (!map || !is_equality(g, map) ||
        et_attr_int(n, "axis", -1) != shape_of(g, n->args[0])->rank - 1)
        return NULL;
    for (int a = 0; a < 2; a++) {
        const et_node *rank = by(g, reshaped(g, map->args[a]), &et_op_rank);
        bool counts = by(g, reshaped(g, map->args[1 - a]), &et_op_iota);
        if (rank && counts && meets_places(g, map, a, rank)) return rank;
    }
    return NULL;
}

bool et_is_of_largest(const et_graph *g, const et_node *n) {
    return ranks_of(g, n) || (n->op == &et_op_reduce && et_attr_int(n, "kind", 0) == ET_RED_TOP);
}

/* ---- which takes longer? ---- */

/* For ROWS of N elements: a CU has a row of its own as long as there are CUs; then ranks are a
 * task, and an event. */
static double ranks_us(const et_machine *m, double rows, double n) {
    enum { SLOTS = 10 }; /* of instructions for a pair: two comparisons, two of places, a sum */
    double rate = m->vector_tflops / m->cus * 1e6 / 2;
    return ceil(rows / m->cus) * n * n * SLOTS / rate + (rows > m->cus ? m->event_us : 0);
}

static double largest_us(const et_machine *m, double rows, double n, double k) {
    enum { EACH = 5, FOLD = 12 }; /* instructions for an element, and for a step of lanes */
    double all = (double)m->waves * m->wave_size, each = ceil(rows / m->cus), lanes = m->wave_size;
    double rounds = 1;
    while (lanes > 1 && lanes * each > all)
        lanes /= 2;
    if (lanes * each > all) rounds = ceil(lanes * each / all);
    double instructions = EACH * ceil(n / lanes) + FOLD * log2(2 * lanes);
    return rounds * k * instructions * m->issue_cycles / (m->clock_ghz * 1e3);
}

static bool pays(const et_graph *g, const et_machine *m, const et_node *n, const et_node *rank) {
    const et_shape *all = shape_of(g, rank->result), *some = shape_of(g, n->result);
    double rows = 1;
    int64_t least, most, of, k;
    for (int d = 0; d < all->rank - 1; d++) {
        if (!et_bounds(g->exprs, all->dim[d], &least, &most)) return false;
        rows *= (double)most;
    }
    return et_is_int(g->exprs, all->dim[all->rank - 1], &of) &&
           et_is_int(g->exprs, some->dim[some->rank - 1], &k) && k <= of && m->cus > 0 &&
           largest_us(m, rows, (double)of, (double)k) < ranks_us(m, rows, (double)of);
}

/* ---- in the graph ---- */

int *et_reads_of(const et_graph *g) {
    int *reads = et_alloc(g->arena, (size_t)g->nvals * sizeof *reads);
    for (int b = -1; b < g->nloops; b++) {
        const et_block *block = b < 0 ? &g->body : &g->loops[b].body;
        for (int s = 0; s < block->n; s++) {
            if (block->stmt[s].kind != ET_S_NODE) continue;
            const et_node *n = &g->nodes[block->stmt[s].index];
            for (int a = 0; a < n->nargs; a++)
                reads[n->args[a].id]++;
        }
        for (int c = 0; b >= 0 && c < g->loops[b].ncarry; c++)
            reads[g->loops[b].carry[c].init.id]++, reads[g->loops[b].carry[c].out.id]++;
    }
    for (int i = 0; i < g->noutputs; i++)
        reads[g->outputs[i].id]++;
    return reads;
}

static void drop_unread(const et_graph *g, et_block *b, int *reads) {
    int n = b->n, kept = b->n;
    for (int s = n - 1; s >= 0; s--) {
        const et_node *of = b->stmt[s].kind == ET_S_NODE ? &g->nodes[b->stmt[s].index] : NULL;
        if (!of || !of->result.id || reads[of->result.id] || et_writes_state(of)) {
            b->stmt[--kept] = b->stmt[s];
            continue;
        }
        for (int a = 0; a < of->nargs; a++)
            reads[of->args[a].id]--;
    }
    for (int s = kept; s < n; s++)
        b->stmt[s - kept] = b->stmt[s];
    b->n = n - kept;
}

void et_drop_unread(et_graph *g, int *reads) {
    for (int b = -1; b < g->nloops; b++)
        drop_unread(g, b < 0 ? &g->body : &g->loops[b].body, reads);
}

static et_attr whole(const char *name, int64_t i) {
    return (et_attr){.name = name, .kind = ET_A_INT, .i = i};
}

static void take(et_graph *g, et_node *n, const et_node *rank) {
    const et_shape *s = shape_of(g, n->result);
    et_attr *attrs = et_alloc(g->arena, (size_t)(n->nattrs + 4) * sizeof *attrs);
    int count = 0;
    int64_t k = 0;
    for (int i = 0; i < n->nattrs; i++)
        if (strcmp(n->attrs[i].name, "kind") != 0 && strcmp(n->attrs[i].name, "axis") != 0 &&
            strcmp(n->attrs[i].name, "keep") != 0)
            attrs[count++] = n->attrs[i];
    et_is_int(g->exprs, s->dim[s->rank - 1], &k);
    attrs[count++] = whole("kind", ET_RED_TOP);
    attrs[count++] = whole("axis", s->rank - 1);
    attrs[count++] = whole("keep", 1);
    attrs[count++] = whole("count", k);
    n->attrs = attrs, n->nattrs = count;
    n->args[0] = rank->args[0];
    for (int v = 0; v < ET_MAX_NODE_VARS; v++)
        n->vars[v] = -1;
}

void et_take_largest(et_graph *g, const et_machine *m) {
    int *reads = et_reads_of(g), taken = 0;
    for (int i = 0; i < g->nnodes; i++) {
        const et_node *rank = ranks_of(g, &g->nodes[i]);
        if (!rank || reads[rank->result.id] != 1 || reads[g->nodes[i].args[0].id] != 1 ||
            !pays(g, m, &g->nodes[i], rank))
            continue;
        reads[g->nodes[i].args[0].id]--;
        reads[rank->args[0].id]++;
        take(g, &g->nodes[i], rank);
        taken++;
    }
    if (taken) et_drop_unread(g, reads);
}
