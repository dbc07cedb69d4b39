/* Results that only products read are stored as the products round them: half the bytes, and copied
 * to local memory unchanged. The sums have the same bits. So are queries, where attention
 * multiplies rows of them, which is known when tiles are. */
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

static struct readers begin(et_program *p) {
    struct readers r = {p, et_alloc(p->g->arena, ((size_t)p->ntensors + 1) * sizeof *r.type)};
    for (int t = 0; t < p->ntensors; t++)
        r.type[t] = UNREAD;
    return r;
}

static void narrow(const struct readers *r) {
    for (int t = 0; t < r->p->ntensors; t++) {
        et_tensor *v = &r->p->tensors[t];
        if (v->kind != ET_TENSOR_TEMP || v->shape.dtype != ET_F32 || r->type[t] < 0) continue;
        if (v->partial) continue; /* parts that are to be added */
        v->shape.dtype = (et_dtype)r->type[t];
        v->max_bytes = et_shape_max_bytes(r->p->g->exprs, &v->shape);
    }
}

void et_tile_narrow(et_program *p) {
    struct readers r = begin(p);
    for (int i = 0; i < p->ngroups; i++)
        note_group(&r, &p->groups[i]);
    narrow(&r);
}

/* ---- queries ---- */

static bool is_query(const et_exprs *x, const et_step *s, int tensor) {
    if (s->kind != ET_STEP_ATTEND || !s->rows || tensor_of(x, s->part[ET_AT_Q]) != tensor)
        return false;
    for (int k = 0; k < ET_AT_PARTS; k++)
        if (k != ET_AT_Q && et_expr_loads_tensor(x, s->part[k], tensor)) return false;
    return true;
}

static void note_access(void *ctx, const et_step *s, int tensor, bool is_store,
                        const et_expr *index) {
    (void)index;
    struct readers *r = ctx;
    int *type = &r->type[tensor];
    et_dtype operand;
    if (is_store) return;
    bool is = is_query(r->p->g->exprs, s, tensor) && et_attend_operand(r->p, s, &operand);
    *type = is && (*type == UNREAD || *type == (int)operand) ? (int)operand : WIDE;
}

void et_tile_narrow_queries(et_program *p) {
    struct readers r = begin(p);
    for (int i = 0; i < p->ngrids; i++)
        et_func_accesses(p, &p->funcs[p->grids[i].func], note_access, &r);
    narrow(&r);
}
