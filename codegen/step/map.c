/* MAP steps, and how work-items share the iterations of any step. */
#include "codegen/step/step.h"
#include "ir/base/diag.h"
#include <string.h>

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

/* A map at work: N elements of an item along VAR, from BASE on, or one. */
struct map {
    const et_step *s;
    int n, var, nvars, vars[ET_MAX_VARS];
    int64_t extent[ET_MAX_VARS + 1];
    et_expr base;
};

static struct map begin_map(cg *g, const et_step *s, int n, const int64_t *extent) {
    struct map m = {.s = s, .n = n, .var = -1, .nvars = s->nvars};
    int last = s->nvars - 1;
    memcpy(m.vars, s->vars, sizeof m.vars);
    memcpy(m.extent, extent, sizeof m.extent);
    if (n == 1) return m;
    m.var = m.vars[last];
    m.vars[last] = cg_fresh_var(g, "u", extent[last] / n);
    m.base = et_mul(g->x, et_var(g->x, m.vars[last]), et_int(g->x, n));
    m.extent[last] /= n;
    return m;
}

static val mask_of(cg *g, const struct map *m) {
    et_expr mask = m->s->mask;
    return cg_emit(g, m->n > 1 ? et_subst_var(g->x, mask, m->var, m->base) : mask);
}

static void values_of(cg *g, const struct map *m, val *v) {
    if (m->n > 1)
        cg_emit_n(g, m->s->value, m->var, m->base, m->n, v);
    else
        v[0] = cg_emit(g, m->s->value);
}

static void store_values(cg *g, const struct map *m, val *v) {
    const et_step *s = m->s;
    if (m->n > 1) {
        store_all(g, s, m->var, m->base, m->n, v);
        return;
    }
    et_expr off = cg_offset(g, s->to.space, s->to.id, s->to.index);
    if (s->tag.id)
        cg_word_store(g, s->to.id, cg_emit_i64(g, off), v[0], cg_tag(g, s));
    else
        cg_store_n(g, s->to.space, s->to.id, cg_address(g, s->to.space, s->to.id, off), 1, 1, v);
}

static void map_item(cg *g, const struct map *m, val item) {
    val v[16];
    cg_if masked;
    cg_decode(g, item, m->nvars, m->vars, m->extent);
    int mark = cg_scope(g);
    if (m->s->mask.id) cg_if_begin(g, &masked, mask_of(g, m));
    values_of(g, m, v);
    store_values(g, m, v);
    if (m->s->mask.id) cg_if_end(g, &masked);
    cg_scope_end(g, mark);
}

/* ---- several items of a work-item at once ---- */

enum { MOST_AT_ONCE = 4, LOADED = 80 /* registers of what is loaded for them */ };

/* What is loaded for an item, and is any of it from memory? */
struct loaded {
    const cg *g;
    const struct map *m;
    int elements;
    bool far;
};

static void count_load(void *ctx, et_expr e) {
    struct loaded *l = ctx;
    const et_node_x *n = et_x(l->g->x, e);
    if (n->op != ET_X_LOAD || !et_expr_has_vars(l->g->x, e, l->m->s->nvars, l->m->s->vars)) return;
    l->elements += l->m->n;
    l->far |= n->i2 == ET_LOAD_TENSOR;
}

/* How many items of a work-item are loaded before the first is stored: a round trip to memory for
 * all of them in place of one for each. */
static int at_once(cg *g, const struct map *m, int64_t items) {
    struct loaded l = {g, m, 0, false};
    int n = MOST_AT_ONCE;
    et_walk(g->x, m->s->value, count_load, &l);
    if (!l.far || m->s->tag.id || items % g->p->workgroup) return 1;
    while (n > 1 && (items / g->p->workgroup % n || n * l.elements > LOADED))
        n /= 2;
    return n;
}

static val decode_nth(cg *g, const struct map *m, val item, int i) {
    item = cg_addi(g, item, (int64_t)i * g->p->workgroup);
    cg_decode(g, item, m->nvars, m->vars, m->extent);
    return item;
}

static void load_and_store(cg *g, const struct map *m, val item, int n) {
    val v[MOST_AT_ONCE][16];
    for (int i = 0; i < n; i++) {
        int mark = cg_scope(g);
        decode_nth(g, m, item, i);
        values_of(g, m, v[i]);
        cg_scope_end(g, mark);
    }
    for (int i = 0; i < n; i++) {
        int mark = cg_scope(g);
        decode_nth(g, m, item, i);
        store_values(g, m, v[i]);
        cg_scope_end(g, mark);
    }
}

/* Where the mask leaves out one of the items, they are looked at one by one. */
static void map_items(cg *g, const struct map *m, val item, int n) {
    val all = NULL, step = cg_i32(g, g->p->workgroup);
    if (!m->s->mask.id) {
        load_and_store(g, m, item, n);
        return;
    }
    for (int i = 0; i < n; i++) {
        int mark = cg_scope(g);
        decode_nth(g, m, item, i);
        val in = mask_of(g, m);
        all = all ? LLVMBuildAnd(g->b, all, in, "") : in;
        cg_scope_end(g, mark);
    }
    cg_if some, each;
    cg_for f;
    cg_if_begin(g, &some, all);
    load_and_store(g, m, item, n);
    cg_if_end(g, &some);
    cg_if_begin(g, &each, LLVMBuildNot(g->b, all, ""));
    val end = cg_addi(g, item, (int64_t)n * g->p->workgroup);
    val one = cg_for_begin(g, &f, item, end, step, true, 0, NULL);
    int mark = cg_scope(g);
    map_item(g, m, one);
    cg_scope_end(g, mark);
    cg_for_end(g, &f, NULL);
    cg_if_end(g, &each);
}

static void map_all(cg *g, const et_step *s, int n, const int64_t *extent, int64_t total) {
    struct map m = begin_map(g, s, n, extent);
    int many = at_once(g, &m, total / n);
    if (many == 1) {
        cg_items items;
        val item = cg_items_begin(g, &items, cg_i32(g, total / n), total / n);
        map_item(g, &m, item);
        cg_items_end(g, &items);
        return;
    }
    cg_for f;
    val zero = cg_i32(g, 0), end = cg_i32(g, total / n), by = cg_i32(g, many * g->p->workgroup);
    val first = cg_for_begin(g, &f, zero, end, by, true, 0, NULL);
    map_items(g, &m, cg_add(g, first, g->tid), many);
    cg_for_end(g, &f, NULL);
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
    map_all(g, &copy, n, extent, total);
    if (once) cg_if_end(g, &outer);
    cg_scope_end(g, mark);
}
