/* Where sums over devices are exchanged. What operators compute that are linear in a value which is
 * partial over devices is partial, too, and may be smaller: the sum over a row's experts is one
 * row, what it adds up is one for each. The exchange waits for that where less is sent then. */
#include "ir/base/diag.h"
#include "passes/divide/int.h"
#include <string.h>

/* Expressions are walked over node by node of their text. */
enum { MOST_TEXT = 1000 };

struct late {
    et_graph *g;
    struct div_plan *p;
    int *uses; /* by value: readers, loops that carry it, and outputs */
    int *home; /* by node: the loop that it is in, or -1 */
    /* By value: partial for its one reader, if what it is computed of is not exchanged before; less
     * is exchanged here than before; its reader's result is partial, too; is exchanged; bytes that
     * are exchanged at least, here or before. */
    bool *part, *here, *taken, *exchanged;
    double *bytes;
};

static double bytes_of(const struct late *t, et_value x) {
    return (double)et_shape_max_bytes(t->g->exprs, &et_val_of(t->g, x)->shape);
}

/* ---- maps ---- */

/* How the value of an expression hangs on arguments that are partial. */
enum { NOT, LINEAR, AFFINE, OTHERWISE };

static int larger(int a, int b) {
    return a > b ? a : b;
}

static int of_sum(int a, int b) {
    if (a == OTHERWISE || b == OTHERWISE) return OTHERWISE;
    return (a == NOT) == (b == NOT) ? larger(a, b) : AFFINE;
}

static int kind_of(const et_graph *g, const bool *part, const et_node *n, et_expr e) {
    const et_node_x x = *et_x(g->exprs, e);
    int of[3] = {NOT, NOT, NOT}, most = NOT;
    if (x.op == ET_X_ARG) return x.i >= 0 && part[n->args[x.i].id] ? LINEAR : NOT;
    for (int i = 0; i < x.nops; i++) {
        int own = kind_of(g, part, n, x.ops[i]);
        most = larger(most, own);
        if (i < 3) of[i] = own;
    }
    if (most == NOT) return NOT;
    switch (x.op) {
    case ET_X_NEG:
        return most;
    case ET_X_ADD:
    case ET_X_SUB:
        return of_sum(of[0], of[1]);
    case ET_X_MUL:
        return of[0] == NOT || of[1] == NOT ? most : OTHERWISE;
    case ET_X_DIV:
        return of[1] == NOT ? most : OTHERWISE;
    case ET_X_SELECT:
        return of[0] == NOT ? of_sum(of[1], of[2]) : OTHERWISE;
    default:
        return OTHERWISE;
    }
}

static const et_attr *body_of(const et_node *n) {
    return n->op == &et_op_map ? et_attr_find(n, "body") : NULL;
}

/* ---- nodes ---- */

/* Argument A of N is none of those before it. */
static bool is_new(const et_node *n, int a) {
    for (int k = 0; k < a; k++)
        if (n->args[k].id == n->args[a].id) return false;
    return true;
}

/* Would N's result be partial? */
static bool stays_partial(const struct late *t, int node) {
    const et_node *n = &t->g->nodes[node];
    bool any = false;
    if (!n->result.id || t->p->cut[n->result.id].axis != WHOLE ||
        t->p->gathered[n->result.id].axis != WHOLE ||
        et_val_of(t->g, n->result)->shape.dtype != ET_F32)
        return false;
    for (int a = 0; a < n->nargs; a++) {
        int x = (int)n->args[a].id;
        if (t->p->cut[x].axis != WHOLE || t->p->arg[node][a].axis != WHOLE) return false;
        if (!t->part[x]) continue;
        any = true;
        if (t->home[t->g->vals[x].node] != t->home[node]) return false;
    }
    if (!any) return false;
    const et_attr *body = body_of(n);
    if (body) {
        if (et_x(t->g->exprs, body->expr)->size > MOST_TEXT) return false;
        int kind = kind_of(t->g, t->part, n, body->expr);
        return kind == LINEAR || kind == AFFINE;
    }
    if (n->op == &et_op_gather) return t->part[n->args[0].id] && !t->part[n->args[1].id];
    if (n->nargs != 1) return false;
    return n->op == &et_op_reshape || n->op == &et_op_slice || n->op == &et_op_transpose ||
           (n->op == &et_op_reduce && et_attr_int(n, "kind", -1) == ET_RED_SUM);
}

/* X is exchanged, or what it is computed of, unless that happens LATER. What nodes compute in
 * between is of one device. */
static void choose(struct late *t, et_value x, bool later) {
    const et_node *n = et_node_of(t->g, x);
    bool first = t->p->partial[x.id], here = !later && (first || t->here[x.id]);
    t->exchanged[x.id] = here;
    if (first) return;
    t->p->through[et_val_of(t->g, x)->node] = later || here;
    for (int a = 0; a < n->nargs; a++)
        if (t->part[n->args[a].id] && is_new(n, a)) choose(t, n->args[a], later || here);
}

static void look(struct late *t, int node) {
    const et_node *n = &t->g->nodes[node];
    int x = (int)n->result.id;
    if (!x || (!t->p->partial[x] && !stays_partial(t, node))) return;
    double own = bytes_of(t, n->result), before = 0;
    for (int a = 0; a < n->nargs && !t->p->partial[x]; a++) {
        if (!t->part[n->args[a].id] || !is_new(n, a)) continue;
        before += t->bytes[n->args[a].id];
        t->taken[n->args[a].id] = true;
    }
    t->here[x] = own < before;
    t->bytes[x] = t->here[x] || !before ? own : before;
    t->part[x] = t->uses[x] == 1; /* where several read it all get the sum */
    if (!t->part[x]) choose(t, n->result, false);
}

static void use(struct late *t, et_value x) {
    t->uses[x.id]++;
}

static void count(struct late *t, const et_block *b, int loop) {
    for (int i = 0; i < b->n; i++) {
        int at = b->stmt[i].index;
        if (b->stmt[i].kind == ET_S_NODE) {
            const et_node *n = &t->g->nodes[at];
            t->home[at] = loop;
            for (int a = 0; a < n->nargs; a++)
                if (is_new(n, a)) use(t, n->args[a]);
            continue;
        }
        const et_loop *l = &t->g->loops[at];
        for (int c = 0; c < l->ncarry; c++)
            use(t, l->carry[c].init), use(t, l->carry[c].out);
        count(t, &l->body, at);
    }
}

static void look_at(struct late *t, const et_block *b) {
    for (int i = 0; i < b->n; i++) {
        if (b->stmt[i].kind == ET_S_NODE)
            look(t, b->stmt[i].index);
        else
            look_at(t, &t->g->loops[b->stmt[i].index].body);
    }
}

void div_exchange_late(et_graph *g, struct div_plan *p) {
    size_t n = (size_t)g->nvals, nodes = (size_t)g->nnodes + 1;
    struct late t = {.g = g, .p = p};
    t.uses = et_alloc(g->arena, n * sizeof *t.uses);
    t.home = et_alloc(g->arena, nodes * sizeof *t.home);
    t.part = et_alloc(g->arena, n);
    t.here = et_alloc(g->arena, n);
    t.taken = et_alloc(g->arena, n);
    t.bytes = et_alloc(g->arena, n * sizeof *t.bytes);
    p->through = et_alloc(g->arena, nodes);
    t.exchanged = memcpy(et_alloc(g->arena, n), p->partial, n);
    for (size_t x = 1; x < n; x++)
        t.uses[x] = g->vals[x].is_output;
    count(&t, &g->body, -1);
    look_at(&t, &g->body);
    for (size_t x = 1; x < n; x++)
        if (t.part[x] && !t.taken[x]) choose(&t, (et_value){(uint32_t)x}, false);
    p->partial = t.exchanged;
    p->part = t.part;
}

/* ---- what all devices have, added to what is partial ---- */

struct share {
    struct div_block *in;
    const struct div_plan *p;
    int node;
};

/* Expression E, of which every device adds its share: an argument is one more node's result. */
static et_expr share_of(struct share *s, et_expr e) {
    et_graph *g = s->in->g;
    et_node *n = &g->nodes[s->node];
    const et_node_x x = *et_x(g->exprs, e);
    et_expr factor = et_float(g->exprs, 1.0 / s->p->devices);
    if (x.op == ET_X_FLOAT && x.f == 0) return e;
    if (x.op != ET_X_ARG || x.type != ET_T_F32 || n->nargs == ET_MAX_ARGS)
        return et_op2(g->exprs, ET_X_MUL, e, factor);
    et_value arg = n->args[x.i];
    const et_attr attrs[] = {
        {.name = "body",
         .kind = ET_A_EXPR,
         .expr = et_op2(g->exprs, ET_X_MUL, et_arg(g->exprs, 0, ET_T_F32), factor)},
        {.name = "dtype", .kind = ET_A_INT, .i = ET_F32}};
    et_value part = div_node_before(s->in, &et_op_map, 1, &arg, 2, attrs, n->loc);
    n = &g->nodes[s->node];
    n->args[n->nargs] = part;
    return et_arg(g->exprs, n->nargs++, ET_T_F32);
}

/* E as each device computes it whose results are added up. */
static et_expr part_of(struct share *s, et_expr e) {
    et_graph *g = s->in->g;
    et_exprs *x = g->exprs;
    const et_node_x own = *et_x(x, e);
    int kind = kind_of(g, s->p->part, &g->nodes[s->node], e);
    if (kind != AFFINE) return kind == NOT ? share_of(s, e) : e;
    et_expr op[3] = {own.ops[0], own.nops > 1 ? own.ops[1] : ET_NO_EXPR,
                     own.nops > 2 ? own.ops[2] : ET_NO_EXPR};
    bool sum = own.op == ET_X_ADD || own.op == ET_X_SUB;
    for (int i = own.op == ET_X_SELECT; i < own.nops; i++)
        if (sum || own.op == ET_X_SELECT ||
            kind_of(g, s->p->part, &g->nodes[s->node], op[i]) != NOT)
            op[i] = part_of(s, op[i]);
    return own.nops == 1   ? et_op1(x, own.op, op[0])
           : own.nops == 2 ? et_op2(x, own.op, op[0], op[1])
                           : et_select(x, op[0], op[1], op[2]);
}

void div_add_shares(et_graph *g, const struct div_plan *p, int nnodes, int loop) {
    struct div_block in = {g, loop, 0};
    for (; in.at < et_graph_block(g, loop)->n; in.at++) {
        et_stmt at = et_graph_block(g, loop)->stmt[in.at];
        if (at.kind == ET_S_LOOP) {
            div_add_shares(g, p, nnodes, at.index);
            continue;
        }
        const et_attr *body =
            at.index < nnodes && p->through[at.index] ? body_of(&g->nodes[at.index]) : NULL;
        if (!body) continue;
        struct share s = {&in, p, at.index};
        et_expr part = part_of(&s, body->expr);
        ((et_attr *)body_of(&g->nodes[at.index]))->expr = part;
    }
}
