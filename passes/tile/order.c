/* The order that a group's products are to be added up in, where variants share it. */
#include "ir/program/step.h"
#include "passes/tile/contract.h"

/* The first column that the group has of its product number P. */
struct columns {
    et_exprs *x;
    int p;
    int64_t first;
};

static void find_first(void *ctx, et_expr e) {
    struct columns *c = ctx;
    const et_node_x *n = et_x(c->x, e);
    int64_t at;
    if (n->op != ET_X_CONTRACT || n->i != c->p) return;
    if (et_order_first(c->x, n->ops[n->nops - 1], &at) && at < c->first) c->first = at;
}

const et_product_order *et_tile_sums_order(const et_tiler *t, const et_group *gr, int p) {
    struct columns c = {t->p->g->exprs, p, INT64_MAX};
    if (!t->opt->orders || p >= gr->nproduct) return NULL;
    et_walk(c.x, gr->value, find_first, &c);
    et_expr b = gr->product[p].b;
    if (c.first != INT64_MAX) b = et_subst_var(c.x, b, gr->product[p].n, et_int(c.x, c.first));
    return et_orders_product(t->opt->orders, t->p, b);
}

bool et_tile_ordered_alike(const et_tiler *t, int p, int q) {
    const et_product_order *a = et_tile_sums_order(t, t->gr, p),
                           *b = et_tile_sums_order(t, t->gr, q);
    return !a || !b || et_order_eq(a, b);
}

/* Of chunks of KC that the order of sums says: so many of rows have room at once. */
int et_tile_chunks_ahead(const et_contract_tiler *c, const et_step *s, int kc) {
    enum { MOST = 8, ROOM = 36 << 10 };
    int64_t lo, rows, k = et_cut_upper(c, s->kextent) / kc;
    int bytes = s->tm * kc * et_dtype_bytes(s->operand), n = ROOM / bytes;
    if (!c->order || !c->order->chunk || !c->direct || !c->t.opt->machine->local_copies ||
        !et_bounds(c->t.x, s->mlive, &lo, &rows) || rows <= 4)
        return 1;
    n = n > MOST ? MOST : n;
    return n > k ? (int)k : n;
}

/* With a multistage pipeline waves have all of k, one after the other; warpgroup MMA may have
 * spans, whose sums are those of the waves of others. */
bool et_tile_ring_has_order(const et_contract_tiler *c) {
    return !c->order || c->order->terms == ET_TERMS_TOGETHER ||
           (c->order->terms == ET_TERMS_IN_STEPS && c->t.opt->machine->group_waves) ||
           (c->order->waves == 1 && c->order->turns == 1 && !c->t.opt->machine->group_waves);
}

/* Has what was built last the order that it is to have? */
bool et_tile_has_order(const et_contract_tiler *c) {
    if (!c->order || !c->unfit) return true;
    et_diag(c->t.p->g->diags, ET_ERROR, c->t.gr->loc,
            "%s: no tile of %d rows adds up products in the order of the variant for the fewest "
            "rows, as --same-sums asks",
            c->t.gr->name, et_cut_rows(c));
    return false;
}
