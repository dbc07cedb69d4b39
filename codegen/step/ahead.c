/* Prefetches and copies of products that need not wait for a tile's events.
 *
 * Auxiliary operands, and the first weights of a multistage pipeline of both operands, are
 * prefetched into the L2. A prefetch is no access: data written in the meantime is written to the
 * L2 too, and read from there.
 *
 * A map before the product copies its auxiliary operands, such as a norm's weights, to LDS. No task
 * writes them, so where the family has asynchronous copies they start before the tile's waits.
 * Loaded between rows and product they would cost a round trip to memory that nothing hides. */
#include "codegen/step/step.h"
#include "ir/program/step.h"

enum {
    LINE = 128,
    WEIGHTS = 64 << 10, /* bytes of a tile's weights: more would only stand in line for memory */
    READERS = 2,        /* tiles that read the same of them, at most */
    PIECE = 16,         /* bytes of a copy */
};

struct ahead {
    cg *g;
    const et_step *s;
    int var; /* that goes through a row */
};

/* A row of BYTES from ADDRESS, a line each for as many work-items. */
static void prefetch_row(cg *g, val address, int64_t bytes) {
    cg_items items;
    int64_t lines = (bytes + LINE - 1) / LINE;
    val i = cg_items_begin(g, &items, cg_i32(g, lines), lines);
    val at = LLVMBuildZExt(g->b, cg_muli(g, i, LINE), g->i64, "");
    g->family->prefetch(g, cg_gep(g, address, at));
    cg_items_end(g, &items);
}

/* A row of a weight that is the same for all of the tile. */
static void find_row(void *ctx, et_expr e) {
    struct ahead *a = ctx;
    cg *g = a->g;
    const et_node_x n = *et_x(g->x, e);
    int64_t extent;
    et_step_var v[ET_STEP_VARS];
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_TENSOR || cg_reads_mutable(g, e) ||
        g->p->tensors[n.i].kind != ET_TENSOR_WEIGHT ||
        !et_is_int(g->x, et_var_extent(g->x, a->var), &extent) ||
        et_dtype_bits(g->p->tensors[n.i].shape.dtype) < 8)
        return;
    if (!et_expr_eq(n.ops[n.nops - 1], et_var(g->x, a->var))) return;
    for (int i = 0, count = et_step_vars(g->x, a->s, v); i < count; i++)
        for (int d = 0; d + 1 < n.nops; d++)
            if (et_expr_has_var(g->x, n.ops[d], v[i].var)) return;
    et_expr first = et_subst_var(g->x, e, a->var, et_int(g->x, 0));
    const et_node_x f = *et_x(g->x, first);
    if (f.op != ET_X_LOAD) return;
    int mark = cg_scope(g);
    val at = cg_address(g, f.i2, f.i, cg_offset(g, f.i2, f.i, f.ops));
    prefetch_row(g, at, extent * et_dtype_bytes(g->p->tensors[n.i].shape.dtype));
    cg_scope_end(g, mark);
}

/* How many tiles read the same as this one. */
static int64_t readers(cg *g, et_expr e) {
    const et_func *f = g->f;
    int64_t lo, hi, n = 1;
    for (int i = 0; i < f->ncoords; i++) {
        if (et_expr_has_var(g->x, e, f->coord[i])) continue;
        if (!et_bounds(g->x, et_var_extent(g->x, f->coord[i]), &lo, &hi)) hi = READERS + 1;
        n *= hi < READERS + 1 ? hi : READERS + 1;
    }
    return n;
}

/* The first k of a product's weights, which come through a ring after the waits: with few tiles
 * that read the same they come from memory, which has nothing to do until then. */
static void prefetch_weights(cg *g, const et_step *s, et_expr b) {
    const et_node_x n = *et_x(g->x, b);
    int bytes = et_dtype_bytes(s->operand);
    int64_t k, lines = WEIGHTS / LINE / (s->nacc * s->tn);
    const et_product_plan *plan = cg_plan(g, s);
    int64_t from = (int64_t)plan->early_chunks * plan->chunk * bytes / LINE;
    if (g->f->locals[s->stage_b].slot || cg_reads_mutable(g, b) || cg_reads_mutable(g, s->nlive) ||
        !et_access_direct(g->p, g->f, s, b, 16 / bytes) ||
        g->p->tensors[n.i].kind != ET_TENSOR_WEIGHT || !et_is_int(g->x, s->kextent, &k) ||
        readers(g, b) > READERS)
        return;
    if (lines > k * bytes / LINE) lines = k * bytes / LINE;
    lines -= from;
    if (lines < 1) return;
    int mark = cg_scope(g);
    val last = cg_addi(g, cg_emit_i32(g, s->nlive), -1);
    cg_items items;
    val item = cg_items_begin(g, &items, cg_i32(g, s->tn * lines), s->tn * lines);
    int inner = cg_scope(g);
    val row = LLVMBuildUDiv(g->b, item, cg_i32(g, lines), "");
    val line = LLVMBuildURem(g->b, item, cg_i32(g, lines), "");
    cg_bind(g, s->nvar, cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){row, last}), true);
    et_expr first = et_subst_var(g->x, cg_offset(g, n.i2, n.i, n.ops), s->kvar, et_int(g->x, 0));
    val ahead = LLVMBuildZExt(g->b, cg_muli(g, cg_addi(g, line, from), LINE), g->i64, "");
    g->family->prefetch(g, cg_gep(g, cg_address(g, n.i2, n.i, first), ahead));
    cg_scope_end(g, inner);
    cg_items_end(g, &items);
    cg_scope_end(g, mark);
}

void cg_prefetch_ahead(cg *g, const et_step *s) {
    struct ahead a = {g, s, s->kvar};
    if (!g->family->prefetch) return;
    et_walk(g->x, s->a, find_row, &a);
    for (int b = 0; et_step_stages(g->f, s) && b < s->nacc; b++)
        prefetch_weights(g, s, s->b[b]);
}

/* ---- weights beside rows, copied to LDS ---- */

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

void cg_copy_early(cg *g) {
    bool any = false;
    for (int i = 0; i < g->f->nsteps; i++) {
        if (!cg_comes_early(g, i)) continue;
        const et_step *s = &g->f->steps[i];
        cg_if first;
        bool once = cg_still_there(g, s);
        if (once) cg_if_begin(g, &first, LLVMBuildNot(g->b, g->again, ""));
        copy_all(g, s);
        if (once) cg_if_end(g, &first);
        any = true;
    }
    if (any) g->family->copy_group(g);
}
