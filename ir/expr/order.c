/* An order of expressions that depends on what they are and not on when they were made, so that
 * sums and products come out the same in a pool built by the passes and in one built by reading
 * their text. Variables compare by name: within one group or function names are unique. */
#include "ir/expr/pool.h"
#include <string.h>

static int three_way(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int order_vars(const et_exprs *p, int a, int b) {
    if (a == b) return 0;
    int c = strcmp(p->var[a].name, p->var[b].name);
    if (c) return c;
    if (p->var[a].extent.id && p->var[b].extent.id)
        c = et_expr_order(p, p->var[a].extent, p->var[b].extent);
    return c ? c : three_way(a, b);
}

static int order_leaf(const et_exprs *p, const et_node_x *x, const et_node_x *y) {
    switch (x->op) {
    case ET_X_INT:
        return three_way(x->n, y->n);
    case ET_X_FLOAT: { /* by bits: any order will do, but equal bits alone are equal */
        int64_t u, v;
        memcpy(&u, &x->f, sizeof u);
        memcpy(&v, &y->f, sizeof v);
        return three_way(u, v);
    }
    case ET_X_VAR:
        return order_vars(p, x->i, y->i);
    case ET_X_LOAD:
        return x->i2 == y->i2 ? three_way(x->i, y->i) : three_way(x->i2, y->i2);
    case ET_X_REDUCE:
        return x->i == y->i ? order_vars(p, x->i2, y->i2) : three_way(x->i, y->i);
    default:
        return three_way(x->i, y->i);
    }
}

/* Two different nodes differ in a leaf or in the first operand that differs: one path down. */
int et_expr_order(const et_exprs *p, et_expr a, et_expr b) {
    while (!et_expr_eq(a, b)) {
        const et_node_x *x = et_x_in(p, a), *y = et_x_in(p, b);
        int c = three_way(x->op, y->op);
        if (!c) c = three_way(x->type, y->type);
        if (!c) c = three_way(x->nops, y->nops);
        if (!c) c = order_leaf(p, x, y);
        if (c) return c;
        int k = 0;
        while (et_expr_eq(x->ops[k], y->ops[k]))
            k++;
        a = x->ops[k];
        b = y->ops[k];
    }
    return 0;
}
