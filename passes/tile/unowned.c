/* Blocks of places that no group owns are not stored where nothing reads them: where all that is
 * read of a temporary by blocks is read by the places of rows, or by products that have no k in
 * such blocks. */
#include "ir/program/step.h"
#include "passes/tile/tiler.h"

enum { FEW = 16 }; /* smaller blocks are stored: it takes no longer */

/* Of each tensor by blocks: the tensor that says whose they are, or -1; and whether something else
 * reads or stores it. */
struct blocks {
    et_program *p;
    const et_func *f;
    int *owner;
    bool *other;
};

static bool is_coord(const et_program *p, const et_func *f, et_expr e) {
    for (int c = 0; c < f->ncoords; c++)
        if (et_expr_eq(e, et_var(p->g->exprs, f->coord[c]))) return true;
    return false;
}

/* Of a product whose block has k where a group owns it: that condition, and in *OUT_BLOCK and
 * *OUT_OWNER the block and the tensor of owners. Else none. */
static et_expr owned(const et_program *p, const et_func *f, const et_step *s, et_expr *out_block,
                     int *out_owner) {
    et_exprs *x = p->g->exprs;
    int64_t n;
    if (s->kind != ET_STEP_CONTRACT) return ET_NO_EXPR;
    et_node_x k = *et_x(x, s->kextent);
    if (k.op != ET_X_SELECT || !et_is_int(x, k.ops[2], &n) || n) return ET_NO_EXPR;
    et_expr is = k.ops[0];
    et_node_x le = *et_x(x, is);
    if (le.op != ET_X_LE || !et_is_int(x, le.ops[0], &n) || n) return ET_NO_EXPR;
    et_node_x load = *et_x(x, le.ops[1]);
    if (load.op != ET_X_LOAD || load.i2 != ET_LOAD_TENSOR || load.nops != 1) return ET_NO_EXPR;
    if (p->tensors[load.i].grouping.pad < FEW || !is_coord(p, f, load.ops[0])) return ET_NO_EXPR;
    *out_block = load.ops[0];
    *out_owner = load.i;
    return is;
}

/* The condition of the function's product, likewise. */
static et_expr owned_in(const et_program *p, const et_func *f, et_expr *out_block, int *out_owner) {
    et_expr is = ET_NO_EXPR;
    for (int i = 0; i < f->nsteps && !is.id; i++)
        is = owned(p, f, &f->steps[i], out_block, out_owner);
    return is;
}

/* E without bounds that no tensor decides. */
static et_expr unclamped(const et_exprs *x, et_expr e) {
    et_node_x n = *et_x(x, e);
    while (n.op == ET_X_MIN || n.op == ET_X_MAX) {
        bool first = et_expr_loads(x, n.ops[0]);
        if (first == et_expr_loads(x, n.ops[1])) return e;
        e = n.ops[!first];
        n = *et_x(x, e);
    }
    return e;
}

/* The block of a row's place, of the grouping that OWNER is of. Rows without a place are taken to
 * be at the first one. */
static bool is_by_place(const et_program *p, const et_tensor *owner, et_expr e) {
    const et_exprs *x = p->g->exprs;
    int64_t by;
    et_node_x n = *et_x(x, unclamped(x, e));
    if (n.op != ET_X_IDIV || !et_is_int(x, n.ops[1], &by) || by != owner->grouping.pad)
        return false;
    n = *et_x(x, unclamped(x, n.ops[0]));
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_TENSOR) return false;
    const et_tensor *place = &p->tensors[n.i];
    return !place->grouping.pad && place->grouping.number == owner->grouping.number;
}

static void look(void *ctx, const et_step *s, int tensor, bool is_store, const et_expr *index) {
    struct blocks *b = ctx;
    const et_exprs *x = b->p->g->exprs;
    et_expr block;
    int owner = -1, *is = &b->owner[tensor];
    if (b->other[tensor]) return;
    if (is_store) {
        bool own = s->kind == ET_STEP_MAP && !s->tag.id &&
                   owned_in(b->p, b->f, &block, &owner).id && et_expr_eq(index[0], block);
        b->other[tensor] = !own || (*is >= 0 && *is != owner);
        *is = owner;
        return;
    }
    bool multiplied = *is >= 0 && owned(b->p, b->f, s, &block, &owner).id && owner == *is &&
                      et_expr_eq(index[0], block) && !et_expr_loads_tensor(x, s->mlive, tensor) &&
                      !et_expr_loads_tensor(x, s->nlive, tensor);
    b->other[tensor] =
        *is < 0 || (!multiplied && !is_by_place(b->p, &b->p->tensors[*is], index[0]));
}

/* Grids are in the order of the program, so stores come before what reads them. */
static void look_at_all(struct blocks *b) {
    et_program *p = b->p;
    b->owner = et_alloc(p->g->arena, ((size_t)p->ntensors + 1) * sizeof *b->owner);
    b->other = et_alloc(p->g->arena, ((size_t)p->ntensors + 1) * sizeof *b->other);
    for (int i = 0; i < p->ntensors; i++) {
        const et_tensor *t = &p->tensors[i];
        b->owner[i] = -1;
        b->other[i] = t->kind != ET_TENSOR_TEMP || t->carried || t->partial || !t->shape.rank ||
                      t->shape.dtype == ET_I32;
    }
    for (int i = 0; i < p->ngrids; i++) {
        b->f = &p->funcs[p->grids[i].func];
        et_func_accesses(p, b->f, look, b);
    }
}

/* The first block is stored in any case: rows without a place read it. */
static void leave_out(const struct blocks *b, et_func *f) {
    et_exprs *x = b->p->g->exprs;
    et_expr block;
    int owner;
    et_expr is = owned_in(b->p, f, &block, &owner);
    for (int i = 0; i < f->nsteps && is.id; i++) {
        et_step *s = &f->steps[i];
        if (s->kind != ET_STEP_MAP || s->to.space != ET_LOAD_TENSOR || b->other[s->to.id]) continue;
        et_expr mask = et_op2(x, ET_X_OR, is, et_op2(x, ET_X_EQ, block, et_int(x, 0)));
        s->mask = s->mask.id ? et_op2(x, ET_X_AND, s->mask, mask) : mask;
        s->promised = true;
    }
}

void et_tile_unowned(et_program *p) {
    struct blocks b = {.p = p};
    bool any = false;
    for (int i = 0; i < p->ntensors; i++)
        any |= p->tensors[i].grouping.pad >= FEW;
    if (!any) return;
    look_at_all(&b);
    for (int i = 0; i < p->ngrids; i++)
        leave_out(&b, &p->funcs[p->grids[i].func]);
}
