/* rows.c - which groups multiply the same rows. */
#include "passes/tile/tiler.h"

enum { MOST = 16 };

struct reads {
    const et_exprs *x;
    int tensor[MOST], n;
};

static bool has(const struct reads *r, int tensor) {
    for (int i = 0; i < r->n; i++)
        if (r->tensor[i] == tensor) return true;
    return false;
}

static void read(void *ctx, et_expr e) {
    struct reads *r = ctx;
    const et_node_x *n = et_x(r->x, e);
    if (n->op != ET_X_LOAD || n->i2 != ET_LOAD_TENSOR || has(r, n->i)) return;
    if (r->n < MOST) r->tensor[r->n] = n->i;
    r->n++;
}

static bool is_route(const void *exprs, et_expr e) {
    const et_node_x *n = et_x(exprs, e);
    for (int i = 0; n->op == ET_X_LOAD && i < n->nops; i++)
        if (et_expr_loads(exprs, n->ops[i])) return true;
    return false;
}

/* Does a tensor decide which of its right operand's elements are multiplied? */
static bool is_routed(const et_exprs *x, const et_product *p) {
    return et_expr_any(x, p->b, is_route, x);
}

bool et_tile_same_rows(const et_program *p, const et_group *a, const et_group *b) {
    const et_exprs *x = p->g->exprs;
    struct reads ra = {.x = x}, rb = {.x = x};
    if (!a->nproduct || !b->nproduct || a->loop != b->loop) return false;
    et_walk(x, a->product[0].a, read, &ra);
    et_walk(x, b->product[0].a, read, &rb);
    /* What is routed waits for the router, which multiplies the same rows. */
    bool same = ra.n == rb.n && ra.n <= MOST &&
                is_routed(x, &a->product[0]) == is_routed(x, &b->product[0]);
    for (int i = 0; same && i < ra.n; i++)
        same = has(&rb, ra.tensor[i]);
    return same;
}
