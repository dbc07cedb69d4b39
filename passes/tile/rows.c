/* rows.c - which groups multiply the same rows. */
#include "passes/tile/tiler.h"
#include <string.h>

struct reads {
    const et_exprs *x;
    et_rows *rows;
};

/* In ascending order. */
static void read(void *ctx, et_expr e) {
    const struct reads *of = ctx;
    et_rows *r = of->rows;
    const et_node_x *n = et_x(of->x, e);
    if (n->op != ET_X_LOAD || n->i2 != ET_LOAD_TENSOR) return;
    int known = r->n < ET_ROWS_TENSORS ? r->n : ET_ROWS_TENSORS, at = 0;
    while (at < known && r->tensor[at] < n->i)
        at++;
    if (at < known && r->tensor[at] == n->i) return;
    r->n++;
    if (known == ET_ROWS_TENSORS) return;
    memmove(r->tensor + at + 1, r->tensor + at, (size_t)(known - at) * sizeof *r->tensor);
    r->tensor[at] = n->i;
}

static bool is_route(const void *exprs, et_expr e) {
    const et_node_x *n = et_x(exprs, e);
    for (int i = 0; n->op == ET_X_LOAD && i < n->nops; i++)
        if (et_expr_loads(exprs, n->ops[i])) return true;
    return false;
}

et_rows et_tile_rows_of(const et_program *p, const et_group *gr) {
    const et_exprs *x = p->g->exprs;
    const et_product *of = &gr->product[0];
    if (!gr->nproduct) return (et_rows){0};
    if (et_expr_eq(gr->rows.a, of->a) && et_expr_eq(gr->rows.b, of->b)) return gr->rows;
    et_rows r = {.a = of->a, .b = of->b, .routed = et_expr_any(x, of->b, is_route, x)};
    et_walk(x, of->a, read, &(struct reads){x, &r});
    return r;
}

bool et_tile_same_rows(const et_program *p, int other, const et_group *gr, const et_rows *rows) {
    et_group *o = &p->groups[other];
    if (!o->nproduct || !gr->nproduct || o->loop != gr->loop) return false;
    if (!et_expr_eq(o->rows.a, o->product[0].a) || !et_expr_eq(o->rows.b, o->product[0].b))
        o->rows = et_tile_rows_of(p, o);
    /* What is routed waits for the router, which multiplies the same rows. */
    return o->rows.n == rows->n && rows->n <= ET_ROWS_TENSORS && o->rows.routed == rows->routed &&
           !memcmp(o->rows.tensor, rows->tensor, (size_t)rows->n * sizeof *rows->tensor);
}
