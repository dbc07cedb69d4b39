/* Weights that a tile's product reads beside its rows, as those of a norm are: a map before the
 * product copies them to LDS. Nobody writes them, so where the family can copy without waiting this
 * is asked for before the tile's waits; loaded in their place between rows and products they would
 * be a round trip to memory that nothing hides. */
#include "codegen/step/contract.h"
#include "ir/program/step.h"

enum { PIECE = 16 };

/* The elements from memory in its order, PIECE bytes at a time. */
static bool is_copy(cg *g, const et_step *s) {
    const et_node_x from = *et_x(g->x, s->value);
    int64_t n, step;
    if (s->mask.id || s->tag.id || s->nvars != 1 || s->to.space != ET_LOAD_LOCAL ||
        from.op != ET_X_LOAD || from.i2 != ET_LOAD_TENSOR || cg_reads_mutable(g, s->value) ||
        !et_is_int(g->x, et_var_extent(g->x, s->vars[0]), &n))
        return false;
    et_dtype t = g->p->tensors[from.i].shape.dtype;
    int each = et_dtype_bits(t) < 8 ? 0 : PIECE / et_dtype_bytes(t);
    if (!each || n % each || t != g->f->locals[s->to.id].dtype) return false;
    et_expr at[] = {cg_offset(g, from.i2, from.i, from.ops),
                    cg_offset(g, s->to.space, s->to.id, s->to.index)};
    for (int i = 0; i < 2; i++) {
        et_expr first = et_subst_var(g->x, at[i], s->vars[0], et_int(g->x, 0));
        et_expr second = et_subst_var(g->x, at[i], s->vars[0], et_int(g->x, 1));
        if (!et_is_int(g->x, et_sub(g->x, second, first), &step) || step != 1 ||
            et_expr_has_var(g->x, et_sub(g->x, at[i], et_var(g->x, s->vars[0])), s->vars[0]) ||
            !cg_divisible(g, first, each))
            return false;
    }
    return true;
}

bool cg_comes_early(cg *g, int step) {
    const et_func *f = g->f;
    bool product = false;
    if (!g->family->copy || f->steps[step].kind != ET_STEP_MAP || !is_copy(g, &f->steps[step]))
        return false;
    for (int i = step; i < f->nsteps; i++)
        product |= f->steps[i].kind == ET_STEP_CONTRACT;
    for (int i = 0; i < step; i++) {
        const et_place *to = et_step_to(&f->steps[i]);
        if (f->steps[i].kind == ET_STEP_CONTRACT ||
            (to && to->space == ET_LOAD_LOCAL && to->id == f->steps[step].to.id))
            return false;
    }
    return product;
}

static void copy_all(cg *g, const et_step *s) {
    const et_node_x from = *et_x(g->x, s->value);
    int each = PIECE / et_dtype_bytes(g->p->tensors[from.i].shape.dtype);
    int64_t n;
    et_is_int(g->x, et_var_extent(g->x, s->vars[0]), &n);
    cg_items items;
    val item = cg_items_begin(g, &items, cg_i32(g, n / each), n / each);
    int mark = cg_scope(g), u = cg_fresh_var(g, "u", n / each);
    cg_bind(g, u, item, true);
    et_expr k = et_mul(g->x, et_var(g->x, u), et_int(g->x, each));
    et_expr of = et_subst_var(g->x, cg_offset(g, from.i2, from.i, from.ops), s->vars[0], k);
    et_expr to = cg_offset(g, s->to.space, s->to.id, s->to.index);
    to = et_subst_var(g->x, to, s->vars[0], k);
    g->family->copy(g, cg_address(g, s->to.space, s->to.id, to), cg_address(g, from.i2, from.i, of),
                    cg_i32(g, PIECE));
    cg_scope_end(g, mark);
    cg_items_end(g, &items);
}

void cg_ask_early(cg *g) {
    bool any = false;
    for (int i = 0; i < g->f->nsteps; i++) {
        if (!cg_comes_early(g, i)) continue;
        copy_all(g, &g->f->steps[i]);
        any = true;
    }
    if (any) g->family->copy_group(g);
}
