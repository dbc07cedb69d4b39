/* Groups of scans. */
#include "passes/fuse/lowering.h"
#include <string.h>

/* A part of a scan as the group has it: its variables, and its loads of arguments. */
struct part {
    et_lowering *lo;
    const et_node *n;
    int nvars, var[ET_SCAN_VARS];
    et_expr by[ET_SCAN_VARS];
};

static et_expr lower_part(void *ctx, et_exprs *x, et_expr leaf) {
    const struct part *s = ctx;
    et_node_x l = *et_x(x, leaf);
    if (l.op == ET_X_LOAD) return et_arg_at(&s->lo->lower, s->n, l.i, l.ops);
    for (int v = 0; l.op == ET_X_VAR && v < s->nvars; v++)
        if (l.i == s->var[v]) return s->by[v];
    return ET_NO_EXPR;
}

void et_scan_group(et_lowering *lo, et_group *gr, const et_node *n, const et_expr *at) {
    et_exprs *x = lo->g->exprs;
    struct part s = {.lo = lo, .n = n};
    s.nvars = et_scan_vars(n, s.var);
    gr->kind = ET_GROUP_SCAN;
    gr->pvar = et_graph_var(lo->g, "k", et_var_extent(x, s.var[s.nvars - 1]));
    memcpy(s.by, at, (size_t)gr->rank * sizeof *at);
    s.by[s.nvars - 1] = et_var(x, gr->pvar);
    for (int i = 0; i < ET_SC_PARTS; i++) {
        et_expr e = et_scan_part_of(n, (et_scan_part)i);
        gr->scan[i] = e.id ? et_subst(x, e, lower_part, &s) : e;
    }
    gr->state = (et_place){.space = ET_LOAD_TENSOR,
                           .id = lo->info[n->args[0].id].tensor,
                           .rank = et_val_of(lo->g, n->args[0])->shape.rank};
    for (int d = 0; d < gr->state.rank; d++)
        gr->state.index[d] = et_subst(x, et_scan_index(n)[d], lower_part, &s);
}
