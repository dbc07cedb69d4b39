/* An expression at consecutive values of one variable: what is contiguous in memory there becomes
 * one wide access. */
#include "codegen/emit/emit.h"
#include "ir/base/diag.h"

void cg_unroll(cg *g, et_expr e, int var, et_expr base, int n, et_expr *out) {
    for (int j = 0; j < n; j++)
        out[j] = et_subst_var(g->x, e, var, et_add(g->x, base, et_int(g->x, j)));
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
    int align = et_access_align(g->p, g->f, x.i2, x.i, x.ops, w->var, w->base, w->n);
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
        if (now && (sure || cg_in_range(w->g, e))) widen(w, e);
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
