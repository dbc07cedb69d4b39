/* Adding nodes to the graph, in the block being filled or in one around it. */
#include "frontend/sema/sema.h"

et_attr et_attr_of_int(const char *name, int64_t i) {
    return (et_attr){.name = name, .kind = ET_A_INT, .i = i};
}

et_attr et_attr_of_float(const char *name, double f) {
    return (et_attr){.name = name, .kind = ET_A_FLOAT, .f = f};
}

et_attr et_attr_of_ints(const char *name, int n, const int64_t *ints) {
    return (et_attr){.name = name, .kind = ET_A_INTS, .n = n, .ints = ints};
}

et_attr et_attr_of_exprs(const char *name, int n, const et_expr *exprs) {
    return (et_attr){.name = name, .kind = ET_A_EXPRS, .n = n, .exprs = exprs};
}

et_block *et_sema_block(et_sema *s, int loop) {
    return loop < 0 ? &s->graph->body : et_graph_loop_body(s->graph, loop);
}

static void set_home(et_sema *s, et_value v, int loop) {
    while (s->nhome <= (int)v.id) {
        ET_GROW(s->arena, s->home, s->nhome, s->chome);
        s->home[s->nhome++] = -1;
    }
    s->home[v.id] = loop;
}

int et_sema_home(et_sema *s, et_value v) {
    const et_val *val = et_val_of(s->graph, v);
    switch (val->kind) {
    case ET_V_STATE:
        return s->loop;
    case ET_V_CARRY:
        return val->node;
    case ET_V_LOOP:
        return s->graph->loops[val->node].parent;
    case ET_V_NODE:
        return s->home[v.id];
    default:
        return -1;
    }
}

/* The graph reports what the operator's shape rule finds wrong. */
static bool add(et_sema *s, int loop, const et_op *op, et_loc loc, int nargs, const et_value *args,
                int nattrs, const et_attr *attrs, et_value *out) {
    int before = et_diag_errors(s->diags);
    if (!et_graph_node(s->graph, et_sema_block(s, loop), op, et_sema_loc(s, loc), nargs, args,
                       nattrs, attrs, out)) {
        if (et_diag_errors(s->diags) > before) et_sema_note_calls(s);
        return false;
    }
    if (out->id) set_home(s, *out, loop);
    return true;
}

bool et_sema_node_in(et_sema *s, int loop, const et_op *op, et_loc loc, int nargs,
                     const et_value *args, int nattrs, const et_attr *attrs, et_value *out) {
    *out = ET_NO_VALUE;
    if (!add(s, loop, op, loc, nargs, args, nattrs, attrs, out)) return false;
    if (loop == s->loop) return true;
    et_block *b = et_sema_block(s, loop); /* its last statement but one is the open loop */
    bool open = b->n >= 2 && b->stmt[b->n - 2].kind == ET_S_LOOP;
    et_check(open || et_diag_errors(s->diags) > 0); /* a loop whose head is wrong is not there */
    if (!open) return true;
    et_stmt added = b->stmt[b->n - 1];
    b->stmt[b->n - 1] = b->stmt[b->n - 2];
    b->stmt[b->n - 2] = added;
    return true;
}

bool et_sema_node(et_sema *s, const et_op *op, et_loc loc, int nargs, const et_value *args,
                  int nattrs, const et_attr *attrs, et_elem *out) {
    et_value v;
    if (!et_sema_node_in(s, s->loop, op, loc, nargs, args, nattrs, attrs, &v)) return false;
    if (v.id) *out = et_elem_value(s, v);
    return true;
}
