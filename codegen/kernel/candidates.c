/* The cells whose box may hold a counter that has just been completed: from its index to values of
 * the coordinates and loops, or all of them side by side. */
#include "codegen/kernel/ready.h"

/* ---- the cells whose box may hold a counter ---- */

/* floor((p * var + q) / k) + c */
struct linear {
    int64_t p, q, k, c;
};

static int64_t magnitude(int64_t v) {
    return v < 0 ? -v : v;
}

static bool is_linear(cg *g, et_expr e, int var, struct linear *out) {
    et_node_x x = *et_x(g->x, e);
    struct linear a, b;
    int64_t n;
    switch (x.op) {
    case ET_X_INT:
        *out = (struct linear){0, x.n, 1, 0};
        return magnitude(x.n) <= (int64_t)1 << 40;
    case ET_X_VAR:
        *out = (struct linear){1, 0, 1, 0};
        return x.i == var;
    case ET_X_ADD:
    case ET_X_SUB:
        if (!is_linear(g, x.ops[0], var, &a) || !is_linear(g, x.ops[1], var, &b)) return false;
        if (x.op == ET_X_SUB) b = (struct linear){-b.p, -b.q, b.k, -b.c};
        if (a.p == 0 && a.k == 1)
            n = a.q + a.c, a = b;
        else if (b.p == 0 && b.k == 1)
            n = b.q + b.c;
        else
            return false;
        if (a.p < 0) return false;
        *out = a;
        out->c += n;
        return true;
    case ET_X_MUL:
        if (!et_is_int(g->x, x.ops[1], &n) || n < 1 || n > 1 << 20 ||
            !is_linear(g, x.ops[0], var, &a) || a.k != 1)
            return false;
        *out = (struct linear){a.p * n, a.q * n, 1, a.c * n};
        return a.p <= 1 << 10;
    case ET_X_IDIV:
        if (!et_is_int(g->x, x.ops[1], &n) || n < 1 || n > 1 << 20 ||
            !is_linear(g, x.ops[0], var, &a) || a.k != 1)
            return false;
        *out = (struct linear){a.p, a.q + a.c, n, 0};
        return true;
    default:
        return false;
    }
}

static val least(cg *g, const char *intrinsic, val a, val b) {
    return cg_call(g, intrinsic, 1, &g->i32, 2, (val[]){a, b});
}

/* Do 32 bits hold what is computed of an index below SIZE with these numbers? */
static bool fits(const struct linear *l, int64_t size) {
    int64_t c = magnitude(l->c), q = magnitude(l->q);
    return c <= 1 << 30 && q <= 1 << 30 && (size + c) * l->k + l->k + q + l->p <= INT32_MAX;
}

/* Values of a variable that a counter's index AT, below SIZE, leaves where it is at least (UPPER:
 * at most) what E says, tightening BOUND. */
static void tighten(cg *g, et_expr e, int var, val at, int64_t size, bool upper, val *bound) {
    const et_node_x *x = et_x(g->x, e);
    if (x->op == (upper ? ET_X_MAX : ET_X_MIN)) {
        et_expr both[] = {x->ops[0], x->ops[1]};
        for (int i = 0; i < 2; i++)
            tighten(g, both[i], var, at, size, upper, bound);
        return;
    }
    struct linear l;
    if (!is_linear(g, e, var, &l) || l.p < 1 || !fits(&l, size)) return;
    val n = cg_muli(g, cg_addi(g, at, -l.c), l.k);
    val zero = cg_i32(g, 0);
    n = cg_addi(g, n, upper ? l.k - 1 - l.q : l.p - 1 - l.q);
    if (l.p > 1) {
        val part = LLVMBuildUDiv(g->b, least(g, "llvm.smax", n, zero), cg_i32(g, l.p), "");
        n = upper ? cg_select(g, cg_icmp(g, LLVMIntSLT, n, zero), cg_i32(g, -1), part) : part;
    }
    *bound = least(g, upper ? "llvm.smin" : "llvm.smax", *bound, n);
}

/* The one value that index AT, below SIZE, of a dimension LO .. HI leaves a variable, or NULL. */
static val exact(cg *g, et_expr lo, et_expr hi, int var, val at, int64_t size) {
    struct linear l;
    const et_node_x *x = et_x(g->x, lo);
    bool point = et_expr_eq(lo, hi) ||
                 (x->op == ET_X_MAX && (et_expr_eq(x->ops[0], hi) || et_expr_eq(x->ops[1], hi)));
    if (!point || !is_linear(g, hi, var, &l) || l.p != 1 || l.k != 1 || !fits(&l, size))
        return NULL;
    return cg_addi(g, at, -l.q - l.c);
}

/* May the counter lie in the box? Bounds that read tensors are not looked at: the waits are. */
static val inside(cg *g, const struct cell *c) {
    val all = NULL;
    for (int d = 0; d < g->p->events[c->event].rank; d++) {
        const et_expr bound[] = {c->w->lo[d], c->w->hi[d]};
        bool point = et_expr_eq(bound[0], bound[1]);
        for (int i = 0; i < (point ? 1 : 2); i++) {
            if (et_expr_loads(g->x, bound[i]) ||
                et_expr_has_vars(g->x, bound[i], c->w->nvars, c->w->vars))
                continue;
            LLVMIntPredicate is = point ? LLVMIntEQ : i ? LLVMIntSGE : LLVMIntSLE;
            val in = cg_icmp(g, is, cg_emit_i32(g, bound[i]), c->index[d]);
            all = all ? LLVMBuildAnd(g->b, all, in, "") : in;
        }
    }
    return all ? all : LLVMConstInt(g->i1, 1, false);
}

static void one_cell(cg *g, const struct cell *c) {
    cg_if in;
    int mark = cg_scope(g);
    cg_if_begin(g, &in, inside(g, c));
    int inner = cg_scope(g);
    if (cg_waits_for_one(g, c->gr, c->q))
        cg_put_cell(g, c);
    else
        cg_try_cell(g, c);
    cg_scope_end(g, inner);
    cg_if_end(g, &in);
    cg_scope_end(g, mark);
}

/* ---- many cells, side by side in the lanes ---- */

/* Is counter number POINT of the wait complete? Sets MEMBER where it is the one that was completed.
 */
static val point_ready(cg *g, const struct cell *c, const et_wait *w, int point, val ok,
                       val *member) {
    const et_event *e = &g->p->events[w->event];
    int64_t stride[ET_MAX_RANK], extent = 1;
    val at[ET_MAX_RANK], same = ok, inside_event = ok;
    val word = cg_i32(g, c->begun ? g->queues.begun[w->event] : e->base), base = word;
    cg_strides(g, e, stride);
    for (int d = 0; d < e->rank; d++) {
        et_expr i = w->lo[d];
        int left = point;
        for (int k = w->nvars - 1; k >= 0; k--, left /= (int)extent) {
            et_is_int(g->x, et_var_extent(g->x, w->vars[k]), &extent);
            i = et_subst_var(g->x, i, w->vars[k], et_int(g->x, left % extent));
        }
        at[d] = cg_emit_i32(g, i);
        word = cg_add(g, word, cg_muli(g, at[d], stride[d]));
        val in = cg_icmp(g, LLVMIntULT, at[d], cg_emit_i32(g, e->dim[d]));
        inside_event = LLVMBuildAnd(g->b, inside_event, in, "");
        if (w == c->w)
            same = LLVMBuildAnd(g->b, same, cg_icmp(g, LLVMIntEQ, at[d], c->index[d]), "");
    }
    val outer = g->guard, need;
    g->guard = inside_event;
    need = cg_event_need(g, w->event, at);
    g->guard = outer;
    val seen = cg_atomic_load(g, cg_word(g, cg_select(g, inside_event, word, base)));
    if (w == c->w) *member = *member ? LLVMBuildOr(g->b, *member, same, "") : same;
    val short_of = cg_icmp(g, LLVMIntSLT, seen, need);
    return LLVMBuildNot(g->b, LLVMBuildAnd(g->b, inside_event, short_of, ""), "");
}

/* Which of the cells in the lanes (VAR is bound to a value in each) may be ready, and are waiting
 * for the counter; on to NO where what they all wait for is not complete. A wait that cannot be
 * looked at here is left for later, and so is all that reads tensors after it; then it is not *SURE
 * that they are. */
static val may_be_ready(cg *g, const struct cell *c, int var, val active, block no, bool *sure) {
    val ok = active, outer = g->guard;
    bool told = true;
    *sure = false;
    for (int i = 0; i < c->gr->nwaits; i++) {
        const et_wait *w = &c->gr->waits[i];
        bool tensors = cg_wait_reads(g, w);
        int n = et_wait_points(g->p, w);
        if (tensors && !told) break;
        if (w->when == ET_ALWAYS && !et_wait_mentions(g->p, w, var)) {
            cg_check_wait(g, c, i, no);
        } else if (w->when == ET_ALWAYS && n) {
            val member = NULL;
            cg_acquire(g, c, i);
            for (int k = 0; k < n; k++) {
                g->guard = ok;
                int mark = cg_scope(g);
                val ready = point_ready(g, c, w, k, ok, &member);
                cg_scope_end(g, mark);
                ok = LLVMBuildAnd(g->b, ok, ready, "");
            }
            g->guard = outer;
            if (member) ok = LLVMBuildAnd(g->b, ok, member, "");
        } else {
            told = false;
        }
    }
    *sure = told;
    return ok;
}

/* Try the cells that may be ready, one by one: VAR is FROM plus the number of the lane. */
static void ask_each(cg *g, const struct cell *c, int var, val from, val mask) {
    cg_lanes l;
    val lane = cg_lanes_begin(g, &l, mask);
    int inner = cg_scope(g);
    cg_bind(g, var, cg_add(g, from, lane), false);
    one_cell(g, c);
    cg_scope_end(g, inner);
    cg_lanes_end(g, &l);
}

/* The cells where VAR is FIRST .. LAST and everything else is bound. */
static void each_lane(cg *g, const struct cell *c, int var, val first, val last) {
    val none = NULL;
    cg_for f;
    block no = cg_block(g, "none_ready");
    int mark = cg_scope(g);
    val from =
        cg_for_begin(g, &f, first, cg_addi(g, last, 1), cg_i32(g, g->t->wave), false, 0, &none);
    int inner = cg_scope(g);
    val i = cg_add(g, from, g->lane), active = cg_icmp(g, LLVMIntSLE, i, last);
    cg_bind(g, var, cg_select(g, active, i, first), true);
    bool sure;
    val ok = may_be_ready(g, c, var, active, no, &sure);
    if (sure)
        cg_put_cells(g, c, ok);
    else
        ask_each(g, c, var, from, cg_ballot(g, ok));
    cg_scope_end(g, inner);
    cg_for_end(g, &f, &none);
    cg_scope_end(g, mark);
    cg_br(g, no);
    LLVMMoveBasicBlockAfter(no, cg_here(g));
    cg_at(g, no);
}

/* Of dimension D of the event, at most. */
static int64_t size_of(cg *g, const struct cell *c, int d) {
    int64_t lo, hi;
    et_span(g->x, g->p->events[c->event].dim[d], &lo, &hi);
    return hi;
}

void cg_each_cell(cg *g, const struct cell *c, int k) {
    if (k == c->nvars) {
        one_cell(g, c);
        return;
    }
    const struct cell_var *v = &c->var[k];
    int rank = g->p->events[c->event].rank;
    for (int d = 0; d < rank; d++) {
        val only = exact(g, c->w->lo[d], c->w->hi[d], v->var, c->index[d], size_of(g, c, d));
        if (!only) continue;
        cg_if in;
        cg_if_begin(g, &in, cg_icmp(g, LLVMIntULT, only, v->extent));
        int mark = cg_scope(g);
        cg_bind(g, v->var, only, false);
        cg_each_cell(g, c, k + 1);
        cg_scope_end(g, mark);
        cg_if_end(g, &in);
        return;
    }
    val first = cg_i32(g, 0), last = cg_addi(g, v->extent, -1), none = NULL;
    for (int d = 0; d < rank; d++) {
        int64_t size = size_of(g, c, d);
        tighten(g, c->w->hi[d], v->var, c->index[d], size, false, &first);
        tighten(g, c->w->lo[d], v->var, c->index[d], size, true, &last);
    }
    if (k == c->nvars - 1 && (c->gr->nwaits > 1 || cg_wait_reads(g, c->w))) {
        each_lane(g, c, v->var, first, last);
        return;
    }
    cg_for f;
    val i = cg_for_begin(g, &f, first, cg_addi(g, last, 1), cg_i32(g, 1), false, 0, &none);
    int mark = cg_scope(g);
    cg_bind(g, v->var, i, false);
    cg_each_cell(g, c, k + 1);
    cg_scope_end(g, mark);
    cg_for_end(g, &f, &none);
}
