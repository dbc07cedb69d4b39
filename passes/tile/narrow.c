/* Results that nothing but products read are kept as the products round them: half the bytes, and
 * copied to local memory as they are. The sums have the same bits. */
#include "ir/program/step.h"
#include "passes/tile/tiler.h"

/* Of each tensor, the type all its readers round it to; or what it cannot be narrowed for. */
enum { UNREAD = -1, WIDE = -2 };
struct readers {
    et_program *p;
    int *type;
};

static int tensor_of(const et_exprs *x, et_expr e) {
    const et_node_x *n = et_x(x, e);
    return n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR ? n->i : -1;
}

static void note_wide(void *ctx, et_expr e) {
    struct readers *r = ctx;
    int t = tensor_of(r->p->g->exprs, e);
    if (t >= 0) r->type[t] = WIDE;
}

/* The left operand of PRODUCT, where it is a tensor as it is. */
static void note_left(struct readers *r, const et_product *product) {
    const et_exprs *x = r->p->g->exprs;
    int t = tensor_of(x, product->a);
    if (t < 0 || et_dtype_bytes(product->operand) >= 4) {
        et_walk(x, product->a, note_wide, r);
        return;
    }
    et_node_x n = *et_x(x, product->a);
    for (int i = 0; i < n.nops; i++)
        et_walk(x, n.ops[i], note_wide, r);
    bool same = r->type[t] == UNREAD || r->type[t] == (int)product->operand;
    r->type[t] = same ? (int)product->operand : WIDE;
}

static void note_group(struct readers *r, et_group *gr) {
    et_expr *e[ET_GROUP_EXPRS];
    int n = et_group_exprs(gr, e);
    for (int i = 0; i < n; i++) {
        const et_product *of = NULL;
        for (int k = 0; k < gr->nproduct; k++)
            if (e[i] == &gr->product[k].a) of = &gr->product[k];
        if (of)
            note_left(r, of);
        else if (e[i]->id)
            et_walk(r->p->g->exprs, *e[i], note_wide, r);
    }
}

void et_tile_narrow(et_program *p) {
    struct readers r = {p, et_alloc(p->g->arena, ((size_t)p->ntensors + 1) * sizeof *r.type)};
    for (int t = 0; t < p->ntensors; t++)
        r.type[t] = UNREAD;
    for (int i = 0; i < p->ngroups; i++)
        note_group(&r, &p->groups[i]);
    for (int t = 0; t < p->ntensors; t++)
        if (p->tensors[t].kind == ET_TENSOR_TEMP && p->tensors[t].shape.dtype == ET_F32 &&
            r.type[t] >= 0)
            p->tensors[t].shape.dtype = (et_dtype)r.type[t];
}
