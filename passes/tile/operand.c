/* What a product's operands are in terms of a tile. */
#include "passes/tile/tiler.h"

struct operand {
    const et_product *p;
    const et_node_x *leaf;
    et_expr row, column, k;
};

static et_expr operand_var(void *ctx, et_exprs *x, et_expr e) {
    struct operand *o = ctx;
    const et_node_x *n = et_x(x, e);
    if (n->op != ET_X_VAR) return ET_NO_EXPR;
    for (int b = 0; b < o->p->nbatch; b++)
        if (n->i == o->p->batch[b]) return o->leaf->ops[b];
    return n->i == o->p->m   ? o->row
           : n->i == o->p->n ? o->column
           : n->i == o->p->k ? o->k
                             : ET_NO_EXPR;
}

et_expr et_tiler_operand(et_tiler *t, const et_product *p, const et_node_x *leaf, bool left,
                         et_expr at, et_expr k) {
    struct operand o = {.p = p, .leaf = leaf, .row = at, .column = at, .k = k};
    return et_tiler_subst(t, et_subst(t->x, left ? p->a : p->b, operand_var, &o));
}
