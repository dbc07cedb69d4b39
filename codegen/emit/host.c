/* Weights that lie in host memory (ir/weights/host.h), where the table says that is their argument:
 * a pointer to words of which the kernel sets those of entries that it uses, then each entry's
 * address. An offset in such a weight is that in an entry, plus the entry's number times a variable
 * that stands for nothing else. */
#include "ir/weights/host.h"
#include "codegen/emit/emit.h"

static int entry_var(cg *g) {
    if (g->entry_of != g->x) {
        g->entry = cg_fresh_var(g, "entry", INT32_MAX);
        g->entry_of = g->x;
    }
    return g->entry;
}

static et_expr with(cg *g, et_expr offset, int value) {
    return et_subst_var(g->x, offset, entry_var(g), et_int(g->x, value));
}

et_expr cg_host_offset(cg *g, int tensor, const et_expr *index) {
    const et_tensor *t = &g->p->tensors[tensor];
    et_expr entry = et_int(g->x, 0), in = entry;
    for (int d = 0; d < t->shape.rank; d++) {
        et_expr *to = d < t->host ? &entry : &in;
        *to = et_add(g->x, et_mul(g->x, *to, t->shape.dim[d]), index[d]);
    }
    return et_add(g->x, in, et_mul(g->x, entry, et_var(g->x, entry_var(g))));
}

et_expr cg_in_entry(cg *g, et_expr offset) {
    return g->entry_of == g->x ? with(g, offset, 0) : offset;
}

/* The entry of OFFSET; whatever a tensor says, it is one that there is. */
static val entry_of(cg *g, int tensor, et_expr offset) {
    et_expr e = et_sub(g->x, with(g, offset, 1), with(g, offset, 0));
    int64_t lo, hi, most = et_host_entries(g->p, &g->p->tensors[tensor]) - 1;
    val at = cg_emit_i32(g, e);
    if (et_bounds(g->x, e, &lo, &hi) && lo >= 0 && hi <= most) return at;
    return cg_call(g, "llvm.umin", 1, &g->i32, 2, (val[]){at, cg_i32(g, most)});
}

static val pointer_at(cg *g, val at) {
    val v = LLVMBuildLoad2(g->b, g->gptr, at, "");
    LLVMSetAlignment(v, 8);
    return cg_invariant(g, v);
}

val cg_entry_address(cg *g, int tensor, et_expr offset) {
    val at = LLVMBuildZExt(g->b, cg_muli(g, entry_of(g, tensor, offset), 8), g->i64, "");
    return pointer_at(g, cg_gepi(g, cg_gep(g, g->tensor[tensor], at), 8));
}

struct marking {
    cg *g;
    const et_step *s;
    et_expr seen[ET_MAX_ACC * ET_MOST_LOADS]; /* loads */
    int n;
};

/* The tile that has an entry's first element says that it is used. */
static void mark(void *ctx, et_expr e) {
    struct marking *m = ctx;
    cg *g = m->g;
    et_node_x x = *et_x(g->x, e);
    int64_t first;
    if (x.op != ET_X_LOAD || x.i2 != ET_LOAD_TENSOR || !g->p->tensors[x.i].host) return;
    et_expr off = cg_host_offset(g, x.i, x.ops), zero = et_int(g->x, 0);
    off = et_subst_var(g->x, et_subst_var(g->x, off, m->s->nvar, zero), m->s->kvar, zero);
    for (int i = 0; i < m->n; i++)
        if (et_expr_eq(m->seen[i], e)) return;
    if (m->n < ET_MAX_ACC * ET_MOST_LOADS) m->seen[m->n++] = e;
    et_expr in = cg_in_entry(g, off);
    if (et_is_int(g->x, in, &first) && first) return;
    cg_if is_first;
    cg_if_begin(g, &is_first, cg_icmp(g, LLVMIntEQ, cg_emit_i32(g, in), cg_i32(g, 0)));
    int inside = cg_scope(g);
    val at = LLVMBuildZExt(g->b, cg_muli(g, entry_of(g, x.i, off), 4), g->i64, "");
    cg_atomic_store(g, cg_gep(g, pointer_at(g, g->tensor[x.i]), at), cg_i32(g, 1));
    cg_scope_end(g, inside);
    cg_if_end(g, &is_first);
}

void cg_mark_entries(cg *g, const et_step *s) {
    struct marking m = {.g = g, .s = s};
    bool any = false;
    for (int t = 0; t < g->p->ntensors; t++)
        any |= g->p->tensors[t].host > 0;
    if (!any) return;
    cg_if one;
    int outer = cg_scope(g);
    cg_if_begin(g, &one, cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, 0)));
    for (int i = 0; i < s->nacc; i++) {
        int inner = cg_scope(g);
        et_walk(g->x, s->b[i], mark, &m);
        cg_scope_end(g, inner);
    }
    cg_if_end(g, &one);
    cg_scope_end(g, outer);
}
