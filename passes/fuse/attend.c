/* Groups of attention. */
#include "passes/fuse/lowering.h"

/* A part of an attention as the group has it: its variables, and its loads of arguments. */
struct part {
    et_lowering *lo;
    const et_node *n;
    et_expr by[ET_AT_VARS];
};

static et_expr lower_part(void *ctx, et_exprs *x, et_expr leaf) {
    const struct part *s = ctx;
    et_node_x l = *et_x(x, leaf);
    if (l.op == ET_X_LOAD) return et_arg_at(&s->lo->lower, s->n, l.i, l.ops);
    for (int v = 0; l.op == ET_X_VAR && v < ET_AT_VARS; v++)
        if (l.i == et_attention_var(s->n, v)) return s->by[v];
    return ET_NO_EXPR;
}

static et_expr part_at(struct part *s, et_attention_part part) {
    et_exprs *x = s->lo->g->exprs;
    et_expr e = et_attention_part_of(x, s->n, part);
    return e.id ? et_subst(x, e, lower_part, s) : e;
}

/* Keys and values where the heads are sets of SHARED, and a head is number `which` of set gvar: do
 * they depend on the set alone? */
static bool keys_shared(struct part *s, et_group *gr, int heads, int shared) {
    et_exprs *x = s->lo->g->exprs;
    gr->shared = shared;
    gr->gvar = et_graph_var(s->lo->g, "g", et_int(x, heads / shared));
    int which = et_graph_var(s->lo->g, "h", et_int(x, shared));
    s->by[ET_AT_H] = et_mul(x, et_var(x, gr->gvar), et_int(x, shared));
    s->by[ET_AT_H] = et_add(x, s->by[ET_AT_H], et_var(x, which));
    gr->part[ET_AT_K] = part_at(s, ET_AT_K);
    gr->part[ET_AT_V] = part_at(s, ET_AT_V);
    for (int i = ET_AT_K; i <= ET_AT_V; i++)
        if (!et_expr_eq(gr->part[i], et_subst_var(x, gr->part[i], which, et_int(x, 0))))
            return false;
    return true;
}

void et_attend_group(et_lowering *lo, et_group *gr, const et_node *n, const et_expr *at) {
    et_exprs *x = lo->g->exprs;
    int64_t heads = 1;
    gr->kind = ET_GROUP_ATTEND;
    et_is_int(x, et_var_extent(x, gr->axis[1]), &heads);
    gr->pvar = et_graph_var(lo->g, "p", et_var_extent(x, et_attention_var(n, ET_AT_P)));
    struct part s = {lo, n, {at[0], at[1], et_var(x, gr->pvar), at[2]}};
    for (int i = 0; i < ET_AT_PARTS; i++)
        if (i != ET_AT_K && i != ET_AT_V) gr->part[i] = part_at(&s, (et_attention_part)i);
    for (int shared = (int)heads; shared >= 1; shared--)
        if (heads % shared == 0 && keys_shared(&s, gr, (int)heads, shared)) return;
}
