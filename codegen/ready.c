/* Which dynamic tasks an arrival makes ready (ir/queue.h). Done by wave 0, uniformly: the counters
 * of a box are looked at side by side. */
#include "internal.h"
#include <string.h>

enum { MAX_CELL_VARS = ET_MAX_RANK + ET_MAX_LOOPS };

/* ---- names of another task's coordinates and loops ---- */

void cg_isolate(cg *g) {
    val *var = g->var;
    bool *divergent = g->divergent;
    g->memo = NULL;
    g->trail = NULL;
    g->nmemo = g->ntrail = g->ctrail = 0;
    g->guard = NULL;
    if (!g->nvar) return;
    g->var = et_alloc(g->arena, (size_t)g->nvar * sizeof *g->var);
    g->divergent = et_alloc(g->arena, (size_t)g->nvar * sizeof *g->divergent);
    memcpy(g->var, var, (size_t)g->nvar * sizeof *g->var);
    memcpy(g->divergent, divergent, (size_t)g->nvar * sizeof *g->divergent);
}

struct asking {
    const cg *g;
    bool yes;
};

static void ask_load(void *ctx, et_expr e) {
    struct asking *a = ctx;
    a->yes |= et_x(a->g->x, e)->op == ET_X_LOAD;
}

static bool reads(const cg *g, et_expr e) {
    struct asking a = {g, false};
    et_walk(g->x, e, ask_load, &a);
    return a.yes;
}

/* ---- cells ---- */

struct cell_var {
    int var;
    val extent;
};

struct cell {
    int grid, event;
    bool begun; /* what counts is that arrivals have begun */
    const et_grid *gr;
    const et_func *f;
    const et_queue_grid *q;
    const et_wait *w; /* that the counter may be in the box of */
    const val *index; /* the counter's */
    struct cell_var var[MAX_CELL_VARS];
    int nvars;
};

static void begin_cell(cg *g, struct cell *c, int grid) {
    c->grid = grid;
    c->gr = &g->p->grids[grid];
    c->f = &g->p->funcs[c->gr->func];
    c->q = &g->queues.grid[grid];
    c->begun = c->gr->early;
    int up[ET_MAX_LOOPS], n = 0;
    for (int l = c->gr->loop; l >= 0; l = g->p->g->loops[l].parent)
        up[n++] = l;
    for (int i = n - 1; i >= 0; i--) {
        const et_loop *l = &g->p->g->loops[up[i]];
        c->var[c->nvars++] = (struct cell_var){l->var, cg_i32(g, l->hi - l->lo)};
    }
    for (int k = 0; k < c->f->ncoords; k++)
        if (c->q->fixed >> k & 1)
            c->var[c->nvars++] = (struct cell_var){c->f->coord[k], cg_emit(g, c->gr->extent[k])};
}

/* Which iteration, over all loops. */
static val iteration(cg *g, const struct cell *c) {
    int64_t scale = 1;
    val n = cg_i32(g, 0);
    for (int l = c->gr->loop; l >= 0; l = g->p->g->loops[l].parent) {
        const et_loop *loop = &g->p->g->loops[l];
        n = cg_add(g, n, cg_muli(g, g->var[loop->var], scale));
        scale *= loop->hi - loop->lo;
    }
    return n;
}

/* ---- queueing a cell ---- */

struct tasks {
    const struct cell *c;
    val first; /* with the free coordinates 0 */
    int free[ET_MAX_RANK], n;
    val size[ET_MAX_RANK], stride[ET_MAX_RANK];
};

static val task_number(cg *g, void *ctx, val i) {
    const struct tasks *t = ctx;
    val task = t->first;
    for (int k = t->n - 1; k >= 0; k--) {
        val digit = k ? LLVMBuildURem(g->b, i, t->size[k], "") : i;
        if (k) i = LLVMBuildUDiv(g->b, i, t->size[k], "");
        task = cg_add(g, task, cg_mul(g, digit, t->stride[k]));
    }
    return task;
}

static void put_cell(cg *g, const struct cell *c) {
    struct tasks t = {.c = c};
    t.first = cg_addi(g, cg_muli(g, iteration(g, c), c->q->tiles), c->q->first);
    val count = cg_i32(g, 1), stride = cg_i32(g, 1);
    for (int k = c->f->ncoords - 1; k >= 0; k--) {
        int64_t n;
        val size = cg_emit(g, c->gr->extent[k]);
        bool one = et_is_int(g->x, c->gr->extent[k], &n) && n == 1;
        if (c->q->fixed >> k & 1) {
            t.first = cg_add(g, t.first, cg_mul(g, g->var[c->f->coord[k]], stride));
        } else if (!one) {
            memmove(t.size + 1, t.size, (size_t)t.n * sizeof *t.size);
            memmove(t.stride + 1, t.stride, (size_t)t.n * sizeof *t.stride);
            t.size[0] = size;
            t.stride[0] = stride;
            t.n++;
            count = cg_mul(g, count, size);
        }
        stride = cg_mul(g, stride, size);
    }
    cg_if any;
    cg_if_begin(g, &any, cg_icmp(g, LLVMIntSGT, count, cg_i32(g, 0)));
    cg_put(g, c->q->region, count, task_number, &t);
    cg_if_end(g, &any);
}

/* ---- is a cell ready? ---- */

/* Lanes whose counter lacks arrivals. */
static val lacking(cg *g, const struct cell *c, const cg_box *box, val item, val active) {
    const et_event *e = &g->p->events[box->w->event];
    val word = cg_box_word(g, box, item);
    if (c->begun) word = cg_addi(g, word, g->queues.begun[box->w->event] - e->base);
    val need = cg_box_need(g, box, item), seen = cg_atomic_load(g, cg_word(g, word));
    val less = cg_icmp(g, LLVMIntSLT, seen, need);
    return cg_ballot(g, active ? LLVMBuildAnd(g->b, less, active, "") : less);
}

static val box_ready(cg *g, const struct cell *c, const et_wait *w) {
    cg_box box;
    cg_box_begin(g, w, &box);
    val zero = cg_i32(g, 0);
    if (box.constant == 1) return cg_none(g, lacking(g, c, &box, zero, NULL));
    bool loop = !(box.most >= 0 && box.most <= g->t->wave);
    val first = zero, bad = LLVMConstInt(g->t->wave == 64 ? g->i64 : g->i32, 0, false);
    cg_for f;
    if (loop) first = cg_for_begin(g, &f, zero, box.total, cg_i32(g, g->t->wave), false, 1, &bad);
    int mark = cg_scope(g);
    val item = cg_add(g, first, g->lane), active = cg_icmp(g, LLVMIntSLT, item, box.total);
    val mask = lacking(g, c, &box, cg_select(g, active, item, zero), active);
    cg_scope_end(g, mark);
    if (!loop) return cg_none(g, mask);
    bad = LLVMBuildOr(g->b, bad, mask, "");
    cg_for_end(g, &f, &bad);
    return cg_none(g, bad);
}

/* On to NO unless all that the cell waits for is complete, as far as can be seen now. */
static void check_waits(cg *g, const struct cell *c, block no) {
    for (int i = 0; i < c->gr->nwaits; i++) {
        const et_wait *w = &c->gr->waits[i];
        val when = cg_applies(g, c->gr, w->when);
        cg_if s;
        int mark = cg_scope(g);
        if (when) cg_if_begin(g, &s, when);
        if (cg_wait_reads(g, w))
            cg_fence(g, LLVMAtomicOrderingAcquire,
                     i > 0 && cg_weakened(g, c->gr->waits[i - 1].event));
        block yes = cg_block(g, "complete");
        cg_cond(g, box_ready(g, c, w), yes, no);
        cg_at(g, yes);
        cg_scope_end(g, mark);
        if (when) cg_if_end(g, &s);
    }
}

/* Whoever is first to find the cell ready queues it. */
static void claim(cg *g, const struct cell *c, block no) {
    val word = cg_muli(g, iteration(g, c), c->q->cells);
    for (int k = 0; k < c->f->ncoords; k++)
        if (c->q->fixed >> k & 1)
            word = cg_add(g, word, cg_muli(g, g->var[c->f->coord[k]], c->q->stride[k]));
    val old = cg_atomic_once(g, LLVMAtomicRMWBinOpXchg, cg_word(g, cg_addi(g, word, c->q->claim)),
                             cg_i32(g, 1));
    block mine = cg_block(g, "mine");
    cg_cond(g, cg_icmp(g, LLVMIntEQ, old, cg_i32(g, 0)), mine, no);
    cg_at(g, mine);
}

static void try_cell(cg *g, const struct cell *c) {
    block no = cg_block(g, "not_ready");
    int mark = cg_scope(g);
    check_waits(g, c, no);
    claim(g, c, no);
    put_cell(g, c);
    cg_scope_end(g, mark);
    cg_br(g, no);
    LLVMMoveBasicBlockAfter(no, cg_here(g));
    cg_at(g, no);
}

/* Does each cell of the grid wait for exactly one counter? Then the arrival that completes it need
 * look at nothing else. */
static bool waits_for_one(cg *g, const et_grid *gr, const et_queue_grid *q) {
    const et_wait *w = &gr->waits[0];
    if (gr->nwaits != 1 || q->seeded || w->when != ET_ALWAYS || w->nvars) return false;
    for (int d = 0; d < g->p->events[w->event].rank; d++)
        if (!et_expr_eq(w->lo[d], w->hi[d]) || reads(g, w->lo[d])) return false;
    return true;
}

/* ---- the cells whose box may hold a counter ---- */

/* floor((p * var + q) / k) + c */
struct linear {
    int64_t p, q, k, c;
};

static bool is_linear(cg *g, et_expr e, int var, struct linear *out) {
    et_node_x x = *et_x(g->x, e);
    struct linear a, b;
    int64_t n;
    switch (x.op) {
    case ET_X_INT:
        *out = (struct linear){0, x.n, 1, 0};
        return true;
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

/* Values of a variable that a counter's index AT leaves where it is at least (UPPER: at most) what
 * E says, tightening BOUND. */
static void tighten(cg *g, et_expr e, int var, val at, bool upper, val *bound) {
    const et_node_x *x = et_x(g->x, e);
    if (x->op == (upper ? ET_X_MAX : ET_X_MIN)) {
        et_expr both[] = {x->ops[0], x->ops[1]};
        for (int i = 0; i < 2; i++)
            tighten(g, both[i], var, at, upper, bound);
        return;
    }
    struct linear l;
    if (!is_linear(g, e, var, &l) || l.p < 1) return;
    val n = cg_muli(g, cg_addi(g, at, -l.c), l.k);
    val zero = cg_i32(g, 0);
    n = cg_addi(g, n, upper ? l.k - 1 - l.q : l.p - 1 - l.q);
    if (l.p > 1) {
        val part = LLVMBuildUDiv(g->b, least(g, "llvm.smax", n, zero), cg_i32(g, l.p), "");
        n = upper ? cg_select(g, cg_icmp(g, LLVMIntSLT, n, zero), cg_i32(g, -1), part) : part;
    }
    *bound = least(g, upper ? "llvm.smin" : "llvm.smax", *bound, n);
}

/* The one value that index AT of a dimension LO .. HI leaves a variable, or NULL. */
static val exact(cg *g, et_expr lo, et_expr hi, int var, val at) {
    struct linear l;
    const et_node_x *x = et_x(g->x, lo);
    bool point = et_expr_eq(lo, hi) ||
                 (x->op == ET_X_MAX && (et_expr_eq(x->ops[0], hi) || et_expr_eq(x->ops[1], hi)));
    if (!point || !is_linear(g, hi, var, &l) || l.p != 1 || l.k != 1) return NULL;
    return cg_addi(g, at, -l.q - l.c);
}

/* Does the counter lie in the box? What tensors decide is left for the waits to find out. */
static val inside(cg *g, const struct cell *c) {
    val all = NULL;
    for (int d = 0; d < g->p->events[c->event].rank; d++) {
        const et_expr bound[] = {c->w->lo[d], c->w->hi[d]};
        bool point = et_expr_eq(bound[0], bound[1]);
        for (int i = 0; i < (point ? 1 : 2); i++) {
            if (reads(g, bound[i]) || cg_mentions(g, bound[i], c->w->nvars, c->w->vars)) continue;
            LLVMIntPredicate is = point ? LLVMIntEQ : i ? LLVMIntSGE : LLVMIntSLE;
            val in = cg_icmp(g, is, cg_emit(g, bound[i]), c->index[d]);
            all = all ? LLVMBuildAnd(g->b, all, in, "") : in;
        }
    }
    return all ? all : LLVMConstInt(g->i1, 1, false);
}

static void each_cell(cg *g, const struct cell *c, int k) {
    if (k == c->nvars) {
        cg_if in;
        int mark = cg_scope(g);
        cg_if_begin(g, &in, inside(g, c));
        int inner = cg_scope(g);
        if (waits_for_one(g, c->gr, c->q))
            put_cell(g, c);
        else
            try_cell(g, c);
        cg_scope_end(g, inner);
        cg_if_end(g, &in);
        cg_scope_end(g, mark);
        return;
    }
    const struct cell_var *v = &c->var[k];
    int rank = g->p->events[c->event].rank;
    for (int d = 0; d < rank; d++) {
        val only = exact(g, c->w->lo[d], c->w->hi[d], v->var, c->index[d]);
        if (!only) continue;
        cg_if in;
        cg_if_begin(g, &in, cg_icmp(g, LLVMIntULT, only, v->extent));
        int mark = cg_scope(g);
        cg_bind(g, v->var, only, false);
        each_cell(g, c, k + 1);
        cg_scope_end(g, mark);
        cg_if_end(g, &in);
        return;
    }
    val first = cg_i32(g, 0), last = cg_addi(g, v->extent, -1), none = NULL;
    for (int d = 0; d < rank; d++) {
        tighten(g, c->w->hi[d], v->var, c->index[d], false, &first);
        tighten(g, c->w->lo[d], v->var, c->index[d], true, &last);
    }
    cg_for f;
    val i = cg_for_begin(g, &f, first, cg_addi(g, last, 1), cg_i32(g, 1), false, 0, &none);
    int mark = cg_scope(g);
    cg_bind(g, v->var, i, false);
    each_cell(g, c, k + 1);
    cg_scope_end(g, mark);
    cg_for_end(g, &f, &none);
}

/* ---- arrivals ---- */

bool cg_wakes(cg *g, int event, bool begun) {
    for (int i = 0; i < g->p->ngrids; i++) {
        const et_grid *gr = &g->p->grids[i];
        for (int w = 0; gr->dynamic && gr->early == begun && w < gr->nwaits; w++)
            if (gr->waits[w].event == event) return true;
    }
    return false;
}

/* Need several counters be seen in one order by all? */
static bool looks_further(cg *g, int event, bool begun) {
    for (int i = 0; i < g->p->ngrids; i++) {
        const et_grid *gr = &g->p->grids[i];
        for (int w = 0; gr->dynamic && gr->early == begun && w < gr->nwaits; w++)
            if (gr->waits[w].event == event && !waits_for_one(g, gr, &g->queues.grid[i]))
                return true;
    }
    return false;
}

static void wake(cg *g, int event, bool begun, const val *index) {
    if (looks_further(g, event, begun))
        LLVMBuildFenceSyncScope(g->b, LLVMAtomicOrderingSequentiallyConsistent, g->agent, "");
    for (int i = 0; i < g->p->ngrids; i++) {
        const et_grid *gr = &g->p->grids[i];
        for (int w = 0; gr->dynamic && gr->early == begun && w < gr->nwaits; w++) {
            if (gr->waits[w].event != event) continue;
            cg here = *g;
            cg_isolate(g);
            struct cell c = {.event = event, .index = index};
            begin_cell(g, &c, i);
            c.w = &gr->waits[w];
            each_cell(g, &c, 0);
            *g = here;
        }
    }
}

void cg_arrived(cg *g, int event, bool begun, const val *index, val old) {
    cg here = *g;
    cg_isolate(g);
    val need = cg_event_need(g, event, index);
    *g = here;
    cg_if last;
    cg_if_begin(g, &last, cg_icmp(g, LLVMIntEQ, cg_addi(g, old, 1), cg_uniform(g, need)));
    wake(g, event, begun, index);
    cg_if_end(g, &last);
}

void cg_wake_lanes(cg *g, int event, val pred, val word) {
    const et_event *e = &g->p->events[event];
    block before = cg_here(g), head = cg_block(g, "woken"), body = cg_block(g, "wake"),
          done = cg_block(g, "all_woken");
    val mask = cg_ballot(g, pred), index[ET_MAX_RANK];
    cg_br(g, head);
    cg_at(g, head);
    val left = LLVMBuildPhi(g->b, LLVMTypeOf(mask), "");
    cg_cond(g, cg_none(g, left), done, body);
    cg_at(g, body);
    val at =
        cg_call(g, "llvm.amdgcn.readlane", 1, &g->i32, 2, (val[]){word, cg_first_lane(g, left)});
    int64_t stride[ET_MAX_RANK];
    cg_strides(g, e, stride);
    for (int d = 0; d < e->rank; d++) {
        val by = cg_i32(g, stride[d]);
        index[d] = LLVMBuildUDiv(g->b, at, by, "");
        at = LLVMBuildURem(g->b, at, by, "");
    }
    wake(g, event, false, index);
    val rest = LLVMBuildAnd(g->b, left, cg_addi(g, left, -1), "");
    block latch = cg_here(g);
    cg_br(g, head);
    LLVMAddIncoming(left, (val[]){mask, rest}, (block[]){before, latch}, 2);
    LLVMMoveBasicBlockAfter(done, latch);
    cg_at(g, done);
}

/* ---- what is ready when the launch starts ---- */

static void seed(cg *g, int grid) {
    struct cell c = {0};
    cg here = *g;
    cg_isolate(g);
    begin_cell(g, &c, grid);
    val total = cg_i32(g, 1), none = NULL;
    for (int i = 0; i < c.nvars; i++)
        total = cg_mul(g, total, c.var[i].extent);
    cg_for f;
    val n = cg_for_begin(g, &f, g->wg, total, g->nwg, false, 0, &none);
    int mark = cg_scope(g);
    for (int i = c.nvars - 1; i >= 0; i--) {
        cg_bind(g, c.var[i].var, i ? LLVMBuildURem(g->b, n, c.var[i].extent, "") : n, false);
        if (i) n = LLVMBuildUDiv(g->b, n, c.var[i].extent, "");
    }
    if (c.gr->nwaits)
        try_cell(g, &c);
    else
        put_cell(g, &c);
    cg_scope_end(g, mark);
    cg_for_end(g, &f, &none);
    *g = here;
}

void cg_seed(cg *g) {
    bool any = false;
    for (int i = 0; i < g->p->ngrids; i++)
        any |= g->p->grids[i].dynamic && g->queues.grid[i].seeded;
    if (!any) return;
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    for (int i = 0; i < g->p->ngrids; i++)
        if (g->p->grids[i].dynamic && g->queues.grid[i].seeded) seed(g, i);
    cg_if_end(g, &first);
}
