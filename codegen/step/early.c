/* Before a tile's waits, as plans say: weights of products prefetched into the L2
 * (ir/product/early.c), and maps that copy auxiliary operands, such as a norm's weights, to LDS
 * (ET_MAP_EARLY_COPY). Loaded between rows and product these would cost a round trip to memory. */
#include "codegen/step/step.h"
#include "ir/product/items.h"

struct rows {
    cg *g;
    const et_step *s;
};

/* A row of BYTES from ADDRESS, a line each for as many work-items. */
static void prefetch_row(cg *g, val address, int64_t bytes) {
    cg_items items;
    int64_t lines = (bytes + ET_LINE - 1) / ET_LINE;
    val i = cg_items_begin(g, &items, cg_i32(g, lines), lines);
    val at = LLVMBuildZExt(g->b, cg_muli(g, i, ET_LINE), g->i64, "");
    g->family->prefetch(g, cg_gep(g, address, at));
    cg_items_end(g, &items);
}

static void find_row(void *ctx, et_expr e) {
    struct rows *a = ctx;
    cg *g = a->g;
    int64_t extent;
    if (!et_prefetch_row(cg_cx(g), a->s, e)) return;
    const et_node_x f = *et_x(g->x, et_subst_var(g->x, e, a->s->kvar, et_int(g->x, 0)));
    int mark = cg_scope(g);
    val at = cg_address(g, f.i2, f.i, cg_offset(g, f.i2, f.i, f.ops));
    et_is_int(g->x, et_var_extent(g->x, a->s->kvar), &extent);
    prefetch_row(g, at, extent * et_dtype_bytes(g->p->tensors[f.i].shape.dtype));
    cg_scope_end(g, mark);
}

/* LINES of each row of B, from number FROM on, shared out to work-items. */
static void prefetch_weights(cg *g, const et_step *s, et_expr b, int64_t from, int64_t lines) {
    const et_node_x n = *et_x(g->x, b);
    int mark = cg_scope(g);
    val last = cg_addi(g, cg_emit_i32(g, s->nlive), -1);
    cg_items items;
    val item = cg_items_begin(g, &items, cg_i32(g, s->tn * lines), s->tn * lines);
    int inner = cg_scope(g);
    val row = LLVMBuildUDiv(g->b, item, cg_i32(g, lines), "");
    val line = LLVMBuildURem(g->b, item, cg_i32(g, lines), "");
    cg_bind(g, s->nvar, cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){row, last}), true);
    et_expr first = et_subst_var(g->x, cg_offset(g, n.i2, n.i, n.ops), s->kvar, et_int(g->x, 0));
    val offset = LLVMBuildZExt(g->b, cg_muli(g, cg_addi(g, line, from), ET_LINE), g->i64, "");
    g->family->prefetch(g, cg_gep(g, cg_address(g, n.i2, n.i, first), offset));
    cg_scope_end(g, inner);
    cg_items_end(g, &items);
    cg_scope_end(g, mark);
}

void cg_prefetch_early(cg *g, const et_step *s) {
    const et_product_plan *w = cg_plan(g, s);
    struct rows a = {g, s};
    int64_t lines = (int64_t)w->prefetch * et_dtype_bytes(s->operand) / ET_LINE;
    if (w->prefetch_auxiliary) et_walk(g->x, s->a, find_row, &a);
    for (int i = 0; lines && i < s->nacc; i++)
        if (et_prefetch_may(cg_cx(g), s, i))
            prefetch_weights(g, s, s->b[i], et_prefetch_from(s, w), lines);
}

/* ---- weights beside rows, copied to LDS ---- */

static void copy_all(cg *g, const et_step *s) {
    const et_node_x from = *et_x(g->x, s->value);
    int each = s->map.vector;
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
                    cg_i32(g, ET_ITEM_BYTES));
    cg_scope_end(g, mark);
    cg_items_end(g, &items);
}

void cg_copy_early(cg *g) {
    bool any = false;
    for (int i = 0; i < g->f->nsteps; i++) {
        const et_step *s = &g->f->steps[i];
        if (s->map.early != ET_MAP_EARLY_COPY) continue;
        cg_if first;
        val once = cg_first_tile(g, s->map.reuse);
        if (once) cg_if_begin(g, &first, once);
        copy_all(g, s);
        if (once) cg_if_end(g, &first);
        any = true;
    }
    if (any) g->family->copy_group(g);
}
