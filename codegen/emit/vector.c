/* An expression at consecutive values of one variable: what is contiguous in memory there becomes
 * one wide access. */
#include "codegen/emit/emit.h"
#include "ir/base/diag.h"

void cg_unroll(cg *g, et_expr e, int var, et_expr base, int n, et_expr *out) {
    for (int j = 0; j < n; j++)
        out[j] = et_subst_var(g->x, e, var, et_add(g->x, base, et_int(g->x, j)));
}

/* Bytes N elements at OFFSET are aligned to; tensors and locals start at multiples of 16. 0 where
 * they do not begin with a byte. */
static int alignment(cg *g, et_expr offset, int bits, int n) {
    int align = bits / 8;
    for (int k = 2; k <= n && k * bits <= 128; k *= 2)
        if (cg_divisible(g, offset, k)) align = k * bits / 8;
    return align;
}

/* Can N elements of BITS each be loaded at once? They are whole words, or a part of one. */
static bool one_load(int n, int bits) {
    return bits >= 16 || n * bits == 8 || n * bits == 16 || n * bits % 32 == 0;
}

struct divided {
    const et_exprs *x;
    et_expr var;
    int64_t by;
};

static void find_divided(void *ctx, et_expr e) {
    struct divided *d = ctx;
    const et_node_x *n = et_x(d->x, e);
    int64_t by;
    if ((n->op == ET_X_IDIV || n->op == ET_X_MOD) && et_expr_eq(n->ops[0], d->var) &&
        et_is_int(d->x, n->ops[1], &by) && by > 1 && by < INT32_MAX)
        d->by = by;
}

int64_t cg_divisor(cg *g, et_expr e, int var) {
    struct divided d = {g->x, et_var(g->x, var), 0};
    et_walk(g->x, e, find_divided, &d);
    return d.by;
}

/* E, over VAR, where both digits of that are in it, grows by one with the low one; N values from
 * BASE on differ in that alone. */
static bool grows_with_digit(cg *g, et_expr e, int var, et_expr base, int n) {
    et_exprs *x = g->x;
    int64_t by = cg_divisor(g, e, var), lo, hi;
    if (!by || by % n || !cg_divisible(g, base, n) ||
        !et_bounds(x, et_var_extent(x, var), &lo, &hi) || hi < 1)
        return false;
    int high = cg_fresh_var(g, "high", (hi + by - 1) / by), low = cg_fresh_var(g, "low", by);
    et_expr k = et_add(x, et_mul(x, et_var(x, high), et_int(x, by)), et_var(x, low));
    et_expr rest = et_sub(x, et_subst_var(x, e, var, k), et_var(x, low));
    return !et_expr_has_var(x, rest, low);
}

/* Is E, where VAR is one of N values from BASE on, one more for each? Of what grows evenly two
 * tell.
 */
static bool contiguous(cg *g, et_expr e, int var, et_expr base, int n) {
    et_exprs *x = g->x;
    et_expr first = et_subst_var(x, e, var, base);
    if (et_growth_of(x, e, var) <= ET_EVEN && n > 2) n = 2;
    for (int j = 1; j < n; j++) {
        int64_t d;
        et_expr at = et_subst_var(x, e, var, et_add(x, base, et_int(x, j)));
        if (!et_is_int(x, et_sub(x, at, first), &d) || d != j) return false;
    }
    return true;
}

int cg_wide_align(cg *g, int space, int id, const et_expr *index, int var, et_expr base, int n) {
    et_expr all = cg_offset(g, space, id, index);
    int bits = et_dtype_bits(cg_place_dtype(g, space, id));
    int align = alignment(g, et_subst_var(g->x, all, var, base), bits, n);
    bool wide = contiguous(g, all, var, base, n) || grows_with_digit(g, all, var, base, n);
    return one_load(n, bits) && wide ? align : 0;
}

enum { SEEN = 256 };

struct wide {
    cg *g;
    int var, n;
    et_expr base;
    uint32_t
        seen[SEEN]; /* nodes whose loads are wide where they can be, each in a place of its own */
};

static void widen(struct wide *w, et_expr load) {
    cg *g = w->g;
    et_node_x x = *et_x(g->x, load);
    et_expr off, at[16];
    int align = cg_wide_align(g, x.i2, x.i, x.ops, w->var, w->base, w->n);
    if (!align) return;
    off = et_subst_var(g->x, cg_offset(g, x.i2, x.i, x.ops), w->var, w->base);
    cg_unroll(g, load, w->var, w->base, w->n, at);
    val v[16];
    cg_load_n(g, x.i2, x.i, cg_address(g, x.i2, x.i, off), w->n, align, v);
    for (int j = 0; j < w->n; j++)
        cg_remember(g, at[j], v[j]);
}

/* Loads reached only through one arm of a choice may be out of range outside it: those are left to
 * be loaded one by one, with care. */
static void visit(struct wide *w, et_expr e, bool sure) {
    et_node_x x = *et_x(w->g->x, e);
    if (x.nops == 0 || w->seen[e.id % SEEN] == e.id || !et_expr_has_var(w->g->x, e, w->var)) return;
    if (sure) w->seen[e.id % SEEN] = e.id;
    if (x.op == ET_X_LOAD) {
        for (int i = 0; i < x.nops; i++)
            visit(w, x.ops[i], sure);
        bool now = !w->g->hold || !cg_reads_mutable(w->g, e);
        if (now && (sure || cg_in_range(w->g, et_x(w->g->x, e)))) widen(w, e);
        return;
    }
    bool choice = x.op == ET_X_SELECT || x.op == ET_X_AND || x.op == ET_X_OR;
    for (int i = 0; i < x.nops; i++)
        visit(w, x.ops[i], sure && (!choice || i == 0));
}

void cg_unroll_loads(cg *g, et_expr e, int var, et_expr base, int n, et_expr *out) {
    et_check(n <= 16);
    struct wide w = {g, var, n, base, {0}};
    if (n > 1) visit(&w, e, !g->guard);
    cg_unroll(g, e, var, base, n, out);
}

void cg_emit_n(cg *g, et_expr e, int var, et_expr base, int n, val *out) {
    et_expr at[16];
    cg_unroll_loads(g, e, var, base, n, at);
    for (int j = 0; j < n; j++)
        out[j] = cg_emit(g, at[j]);
}
