/* A graph without what none of its statements reads: values, nodes and loops are numbered anew. */
#include "passes/divide/stage_int.h"
#include <string.h>

struct keep {
    et_graph *g;
    bool *value, *node, *loop;
    uint32_t *to; /* by value */
    int *node_to, *loop_to;
};

static void keep_value(struct keep *k, et_value x) {
    if (!x.id || k->value[x.id]) return;
    k->value[x.id] = true;
    const et_val *v = et_val_of(k->g, x);
    for (int l = 0; l < v->nloops; l++)
        k->loop[v->loops[l]] = true;
}

static void keep_stmt(struct keep *k, et_stmt s) {
    if (s.kind == ET_S_NODE) {
        const et_node *n = &k->g->nodes[s.index];
        k->node[s.index] = true;
        for (int a = 0; a < n->nargs; a++)
            keep_value(k, n->args[a]);
        keep_value(k, n->result);
        return;
    }
    const et_loop *l = &k->g->loops[s.index];
    k->loop[s.index] = true;
    for (int c = 0; c < l->ncarry; c++) {
        keep_value(k, l->carry[c].init);
        keep_value(k, l->carry[c].in);
        keep_value(k, l->carry[c].out);
        keep_value(k, l->carry[c].result);
    }
    for (int i = 0; i < l->body.n; i++)
        keep_stmt(k, l->body.stmt[i]);
}

/* Statements of the outermost block, the last first: of a node nobody reads nothing is kept. */
static void keep_body(struct keep *k) {
    et_block *b = &k->g->body;
    int first = b->n;
    for (int i = b->n - 1; i >= 0; i--) {
        et_stmt s = b->stmt[i];
        const et_node *n = s.kind == ET_S_NODE ? &k->g->nodes[s.index] : NULL;
        if (n && !et_writes_state(n) && !k->value[n->result.id]) continue;
        keep_stmt(k, s);
        b->stmt[--first] = s;
    }
    memmove(b->stmt, b->stmt + first, (size_t)(b->n - first) * sizeof *b->stmt);
    b->n -= first;
}

static void number(struct keep *k) {
    et_graph *g = k->g;
    int n = 1;
    for (int i = 1; i < g->nvals; i++)
        if (k->value[i]) k->to[i] = (uint32_t)n++;
    n = 0;
    for (int i = 0; i < g->nnodes; i++)
        if (k->node[i]) k->node_to[i] = n++;
    n = 0;
    for (int i = 0; i < g->nloops; i++)
        if (k->loop[i]) k->loop_to[i] = n++;
}

static void move_block(const struct keep *k, et_block *b) {
    for (int i = 0; i < b->n; i++)
        b->stmt[i].index = b->stmt[i].kind == ET_S_NODE ? k->node_to[b->stmt[i].index]
                                                        : k->loop_to[b->stmt[i].index];
}

static void move(const struct keep *k, et_value *x) {
    x->id = k->to[x->id];
}

static void move_values(struct keep *k) {
    et_graph *g = k->g;
    int n = 1;
    for (int i = 1; i < g->nvals; i++) {
        if (!k->value[i]) continue;
        et_val v = g->vals[i];
        if (v.kind == ET_V_NODE) v.node = k->node_to[v.node];
        if (v.kind == ET_V_CARRY || v.kind == ET_V_LOOP) v.node = k->loop_to[v.node];
        for (int l = 0; l < v.nloops; l++)
            v.loops[l] = k->loop_to[v.loops[l]];
        g->vals[n++] = v;
    }
    g->nvals = n;
}

static void move_nodes(struct keep *k) {
    et_graph *g = k->g;
    int n = 0;
    for (int i = 0; i < g->nnodes; i++) {
        if (!k->node[i]) continue;
        et_node own = g->nodes[i];
        for (int a = 0; a < own.nargs; a++)
            move(k, &own.args[a]);
        move(k, &own.result);
        g->nodes[n++] = own;
    }
    g->nnodes = n;
}

static void move_loops(struct keep *k) {
    et_graph *g = k->g;
    int n = 0;
    for (int i = 0; i < g->nloops; i++) {
        if (!k->loop[i]) continue;
        et_loop l = g->loops[i];
        if (l.parent >= 0) l.parent = k->loop_to[l.parent];
        move_block(k, &l.body);
        for (int c = 0; c < l.ncarry; c++) {
            move(k, &l.carry[c].init);
            move(k, &l.carry[c].in);
            move(k, &l.carry[c].out);
            move(k, &l.carry[c].result);
        }
        g->loops[n++] = l;
    }
    g->nloops = n;
}

void stage_keep(et_graph *g, bool all) {
    struct keep k = {.g = g};
    k.value = et_alloc(g->arena, (size_t)g->nvals);
    k.node = et_alloc(g->arena, (size_t)g->nnodes + 1);
    k.loop = et_alloc(g->arena, (size_t)g->nloops + 1);
    k.to = et_alloc(g->arena, (size_t)g->nvals * sizeof *k.to);
    k.node_to = et_alloc(g->arena, ((size_t)g->nnodes + 1) * sizeof *k.node_to);
    k.loop_to = et_alloc(g->arena, ((size_t)g->nloops + 1) * sizeof *k.loop_to);
    for (int i = 1; i < g->nvals; i++)
        if (all && (g->vals[i].kind == ET_V_INPUT || g->vals[i].kind == ET_V_STATE))
            k.value[i] = true;
    for (int i = 0; i < g->noutputs; i++)
        keep_value(&k, g->outputs[i]);
    keep_body(&k);
    number(&k);
    move_block(&k, &g->body);
    for (int i = 0; i < g->noutputs; i++)
        move(&k, &g->outputs[i]);
    move_loops(&k);
    move_nodes(&k);
    move_values(&k);
}
