/* MAP steps, and how work-items share the iterations of any step. */
#include "codegen/step/step.h"
#include "ir/base/diag.h"

val cg_items_begin(cg *g, cg_items *s, val total, int64_t constant) {
    int wg = g->p->workgroup;
    *s = (cg_items){0};
    val item = g->tid;
    s->looped = constant < 0 || constant > wg;
    s->guarded = constant < 0 || constant % wg;
    if (s->looped) {
        val first =
            cg_for_begin(g, &s->loop, cg_i32(g, 0), total, cg_i32(g, wg), constant > 0, 0, NULL);
        item = cg_add(g, first, g->tid);
    }
    if (s->guarded) cg_if_begin(g, &s->guard, cg_icmp(g, LLVMIntULT, item, total));
    return item;
}

void cg_items_end(cg *g, cg_items *s) {
    if (s->guarded) cg_if_end(g, &s->guard);
    if (s->looped) cg_for_end(g, &s->loop, NULL);
}

void cg_decode(cg *g, val item, int n, const int *vars, const int64_t *extent) {
    for (int i = n - 1; i >= 0; i--) {
        if (extent[i] == 1) {
            cg_bind(g, vars[i], cg_i32(g, 0), false);
            continue;
        }
        bool top = true;
        for (int k = 0; k < i; k++)
            top &= extent[k] == 1;
        val size = cg_i32(g, extent[i]);
        cg_bind(g, vars[i], top ? item : LLVMBuildURem(g->b, item, size, ""), true);
        if (!top) item = LLVMBuildUDiv(g->b, item, size, "");
    }
}

/* The mask at BASE + j, if it is the same for every j < n: independent of the variable, or a bound
 * that is a multiple of n. */
static bool same_mask(cg *g, et_expr mask, int var, et_expr base, int n) {
    et_node_x x = *et_x(g->x, mask);
    if (!et_expr_has_var(g->x, mask, var)) return true;
    if (x.op == ET_X_AND || x.op == ET_X_OR)
        return same_mask(g, x.ops[0], var, base, n) && same_mask(g, x.ops[1], var, base, n);
    if (x.op == ET_X_NOT) return same_mask(g, x.ops[0], var, base, n);
    if (x.op != ET_X_LT || et_x(g->x, x.ops[0])->type != ET_T_I32) return false;
    int64_t step;
    et_expr a0 = et_subst_var(g->x, x.ops[0], var, base);
    et_expr a1 = et_subst_var(g->x, x.ops[0], var, et_add(g->x, base, et_int(g->x, 1)));
    return !et_expr_has_var(g->x, x.ops[1], var) && et_is_int(g->x, et_sub(g->x, a1, a0), &step) &&
           step == 1 && cg_divisible(g, a0, n) && cg_divisible(g, x.ops[1], n);
}

/* Elements per work-item: as many as fill a 16-byte store, divide the row, keep the mask whole and
 * leave enough work for the workgroup. */
static int width(cg *g, const et_step *s, int64_t last, int64_t total, et_dtype to) {
    if (!s->nvars || s->tag.id) return 1;
    int var = s->vars[s->nvars - 1];
    for (int n = 16 / et_dtype_bytes(to); n > 1; n /= 2) {
        if (last % n || total / n < g->p->workgroup / 2) continue;
        et_expr base = et_mul(g->x, et_var(g->x, cg_fresh_var(g, "u", last / n)), et_int(g->x, n));
        if (!s->mask.id || same_mask(g, s->mask, var, base, n)) return n;
    }
    return 1;
}

static void store_all(cg *g, const et_step *s, int var, et_expr base, int n, val *v) {
    et_expr off = cg_offset(g, s->to.space, s->to.id, s->to.index), at[16];
    cg_unroll(g, off, var, base, n, at);
    int size = et_dtype_bytes(cg_place_dtype(g, s->to.space, s->to.id));
    bool contiguous = true;
    for (int j = 1; j < n; j++) {
        int64_t d;
        contiguous &= et_is_int(g->x, et_sub(g->x, at[j], at[0]), &d) && d == j;
    }
    if (contiguous) {
        int align = size;
        for (int k = 2; k <= n && k * size <= 16; k *= 2)
            if (cg_divisible(g, at[0], k)) align = k * size;
        cg_store_n(g, s->to.space, s->to.id, cg_address(g, s->to.space, s->to.id, at[0]), n, align,
                   v);
        return;
    }
    for (int j = 0; j < n; j++)
        cg_store_n(g, s->to.space, s->to.id, cg_address(g, s->to.space, s->to.id, at[j]), 1, size,
                   &v[j]);
}

static void map_item(cg *g, const et_step *s, val item, int n, int64_t *extent) {
    int vars[ET_MAX_VARS], last = s->nvars - 1;
    et_expr base = ET_NO_EXPR;
    int var = -1;
    for (int i = 0; i < s->nvars; i++)
        vars[i] = s->vars[i];
    if (n > 1) {
        var = vars[last];
        vars[last] = cg_fresh_var(g, "u", extent[last] / n);
        base = et_mul(g->x, et_var(g->x, vars[last]), et_int(g->x, n));
        extent[last] /= n;
    }
    cg_decode(g, item, s->nvars, vars, extent);
    int mark = cg_scope(g);
    cg_if masked;
    if (s->mask.id) {
        et_expr m = n > 1 ? et_subst_var(g->x, s->mask, var, base) : s->mask;
        cg_if_begin(g, &masked, cg_emit(g, m));
    }
    val v[16];
    if (n > 1) {
        cg_emit_n(g, s->value, var, base, n, v);
        store_all(g, s, var, base, n, v);
    } else if (s->tag.id) {
        et_expr off = cg_offset(g, s->to.space, s->to.id, s->to.index);
        v[0] = cg_emit(g, s->value);
        cg_word_store(g, s->to.id, cg_emit_i64(g, off), v[0], cg_tag(g, s));
    } else {
        v[0] = cg_emit(g, s->value);
        et_expr off = cg_offset(g, s->to.space, s->to.id, s->to.index);
        cg_store_n(g, s->to.space, s->to.id, cg_address(g, s->to.space, s->to.id, off), 1, 1, v);
    }
    if (s->mask.id) cg_if_end(g, &masked);
    cg_scope_end(g, mark);
}

void cg_step_map(cg *g, const et_step *s) {
    int64_t extent[ET_MAX_VARS + 1], total = 1;
    for (int i = 0; i < s->nvars; i++) {
        if (!et_is_int(g->x, et_var_extent(g->x, s->vars[i]), &extent[i]))
            et_bug("the extent of %s in a map step is not constant", et_var_name(g->x, s->vars[i]));
        total *= extent[i];
    }
    cg_if outer;
    et_step copy = *s;
    et_dtype to = cg_place_dtype(g, s->to.space, s->to.id);
    if (to == ET_I32 && et_x(g->x, s->value)->type == ET_T_I32)
        copy.value = et_op1(g->x, ET_X_TO_I32, s->value);
    bool once = s->mask.id && !et_expr_has_vars(g->x, s->mask, s->nvars, s->vars);
    int mark = cg_scope(g);
    if (once) {
        cg_if_begin(g, &outer, cg_emit(g, s->mask));
        copy.mask = ET_NO_EXPR;
    }
    int n = s->nvars ? width(g, &copy, extent[s->nvars - 1], total, to) : 1;
    cg_items items;
    val item = cg_items_begin(g, &items, cg_i32(g, total / n), total / n);
    map_item(g, &copy, item, n, extent);
    cg_items_end(g, &items);
    if (once) cg_if_end(g, &outer);
    cg_scope_end(g, mark);
}
