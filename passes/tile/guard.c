/* Tiles whose results need no product, and which so have no k. */
#include "passes/tile/contract.h"

/* Where products of E matter: the condition under which E reads any, or none where it always does.
 * LEFT bounds the work, for expressions that share parts. */
static et_expr guard_below(et_contract_tiler *c, et_expr e, int *left) {
    et_node_x x = *et_x(c->t.x, e);
    et_expr all = ET_NO_EXPR;
    if (x.op == ET_X_CONTRACT || --*left < 0) return ET_NO_EXPR;
    bool first = x.op != ET_X_SELECT || et_expr_has_op(c->t.x, x.ops[0], ET_X_CONTRACT);
    if (!first && !et_expr_has_op(c->t.x, x.ops[2], ET_X_CONTRACT)) return x.ops[0];
    for (int i = 0; i < x.nops; i++) {
        if (!et_expr_has_op(c->t.x, x.ops[i], ET_X_CONTRACT)) continue;
        et_expr one = guard_below(c, x.ops[i], left);
        if (!one.id || (all.id && !et_expr_eq(all, one))) return ET_NO_EXPR;
        all = one;
    }
    return all;
}

et_expr et_tile_guard(et_contract_tiler *c) {
    int left = ET_TILE_LEAVES * 8;
    et_expr e = guard_below(c, c->t.gr->value, &left);
    if (!e.id) return e;
    e = et_tiler_subst(&c->t, e);
    if (et_expr_has_op(c->t.x, e, ET_X_REDUCE)) return ET_NO_EXPR;
    for (int d = 0; d < c->t.gr->rank; d++)
        if ((c->t.inner[d] >= 0 && et_expr_has_var(c->t.x, e, c->t.inner[d])) ||
            (c->t.piece[d] >= 0 && et_expr_has_var(c->t.x, e, c->t.piece[d])))
            return ET_NO_EXPR;
    return e;
}
