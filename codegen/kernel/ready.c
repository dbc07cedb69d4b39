/* Which dynamic tasks an arrival makes ready (ir/program/queue.h). Done by wave 0, uniformly: the
 * counters of a box are looked at side by side. */
#include "codegen/kernel/ready.h"
#include <string.h>

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

/* ---- cells ---- */

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
        c->var[c->nvars++] = (struct cell_var){l->var, cg_emit_i32(g, l->trips)};
    }
    for (int k = 0; k < c->f->ncoords; k++)
        if (c->q->fixed >> k & 1)
            c->var[c->nvars++] =
                (struct cell_var){c->f->coord[k], cg_emit_i32(g, c->gr->extent[k])};
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

/* ---- pushing a cell ---- */

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

/* Its tasks, and their number; names may have other values in every lane. */
static val tasks_of(cg *g, const struct cell *c, struct tasks *t) {
    *t = (struct tasks){.c = c};
    t->first = cg_addi(g, cg_muli(g, iteration(g, c), c->q->tiles), c->q->first);
    val count = cg_i32(g, 1), stride = cg_i32(g, 1);
    for (int k = c->f->ncoords - 1; k >= 0; k--) {
        int64_t n;
        val size = cg_emit_i32(g, c->gr->extent[k]);
        bool one = et_is_int(g->x, c->gr->extent[k], &n) && n == 1;
        if (c->q->fixed >> k & 1) {
            t->first = cg_add(g, t->first, cg_mul(g, g->var[c->f->coord[k]], stride));
        } else if (!one) {
            memmove(t->size + 1, t->size, (size_t)t->n * sizeof *t->size);
            memmove(t->stride + 1, t->stride, (size_t)t->n * sizeof *t->stride);
            t->size[0] = size;
            t->stride[0] = stride;
            t->n++;
            count = cg_mul(g, count, size);
        }
        stride = cg_mul(g, stride, size);
    }
    return count;
}

void cg_put_cell(cg *g, const struct cell *c) {
    struct tasks t;
    val count = tasks_of(g, c, &t);
    cg_if any;
    cg_if_begin(g, &any, cg_icmp(g, LLVMIntSGT, count, cg_i32(g, 0)));
    cg_put(g, c->q->region, count, task_number, &t);
    cg_if_end(g, &any);
}

/* ---- is a cell ready? ---- */

/* Lanes whose counter lacks arrivals. Inactive lanes load the event's first counter: of an empty
 * box their own may lie anywhere. */
static val lacking(cg *g, const struct cell *c, const cg_box *box, val item, val active) {
    const et_event *e = &g->p->events[box->w->event];
    val word = cg_box_word(g, box, item), outer = g->guard;
    if (c->begun) word = cg_addi(g, word, g->queues.begun[box->w->event] - e->base);
    if (active) {
        val base = cg_i32(g, c->begun ? g->queues.begun[box->w->event] : e->base);
        word = cg_select(g, active, word, base);
        g->guard = outer ? LLVMBuildAnd(g->b, outer, active, "") : active;
    }
    val need = cg_box_need(g, box, item), seen = cg_atomic_load(g, cg_word(g, word));
    g->guard = outer;
    val less = cg_icmp(g, LLVMIntSLT, seen, need);
    return cg_ballot(g, active ? LLVMBuildAnd(g->b, less, active, "") : less);
}

static val box_ready(cg *g, const struct cell *c, const et_wait *w) {
    cg_box box;
    cg_box_begin(g, w, &box);
    val zero = cg_i32(g, 0);
    if (box.constant == 1) return cg_none(g, lacking(g, c, &box, zero, NULL));
    bool loop = !(box.most >= 0 && box.most <= g->t->wave);
    val first = zero, bad = LLVMConstInt(g->mask, 0, false);
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

void cg_acquire(cg *g, const struct cell *c, int wait) {
    if (cg_wait_reads(g, &c->gr->waits[wait]))
        cg_acquire_wave(g, wait > 0 && cg_weakened(g, c->gr->waits[wait - 1].event));
}

void cg_check_wait(cg *g, const struct cell *c, int wait, block no) {
    cg_acquire(g, c, wait);
    block yes = cg_block(g, "complete");
    cg_cond(g, box_ready(g, c, &c->gr->waits[wait]), yes, no);
    cg_at(g, yes);
}

/* Branches to NO unless all waits of the cell are complete, as far as is known. */
static void check_waits(cg *g, const struct cell *c, block no) {
    for (int i = 0; i < c->gr->nwaits; i++) {
        val when = cg_applies(g, c->gr, c->gr->waits[i].when);
        cg_if s;
        int mark = cg_scope(g);
        if (when) cg_if_begin(g, &s, when);
        cg_check_wait(g, c, i, no);
        cg_scope_end(g, mark);
        if (when) cg_if_end(g, &s);
    }
}

static val claim_word(cg *g, const struct cell *c) {
    val word = cg_muli(g, iteration(g, c), c->q->cells);
    for (int k = 0; k < c->f->ncoords; k++)
        if (c->q->fixed >> k & 1)
            word = cg_add(g, word, cg_muli(g, g->var[c->f->coord[k]], c->q->stride[k]));
    return cg_word(g, cg_addi(g, word, c->q->claim));
}

/* The first workgroup that finds the cell ready pushes its tasks. */
static void claim(cg *g, const struct cell *c, block no) {
    val old = cg_atomic_once(g, LLVMAtomicRMWBinOpXchg, claim_word(g, c), cg_i32(g, 1));
    block mine = cg_block(g, "mine");
    cg_cond(g, cg_icmp(g, LLVMIntEQ, old, cg_i32(g, 0)), mine, no);
    cg_at(g, mine);
}

void cg_put_cells(cg *g, const struct cell *c, val ready) {
    val one = cg_i32(g, 1), zero = cg_i32(g, 0);
    int mark = cg_scope(g);
    val old = cg_atomic_lanes(g, LLVMAtomicRMWBinOpXchg, ready, claim_word(g, c), one, one);
    val mine = cg_icmp(g, LLVMIntEQ, old, zero);
    struct tasks t;
    val each = tasks_of(g, c, &t), some = LLVMBuildNot(g->b, cg_none(g, cg_ballot(g, mine)), "");
    cg_if any;
    cg_if_begin(g, &any, LLVMBuildAnd(g->b, some, cg_icmp(g, LLVMIntSGT, each, zero), ""));
    cg_put_each(g, c->q->region, mine, each, task_number, &t);
    cg_if_end(g, &any);
    cg_scope_end(g, mark);
}

void cg_try_cell(cg *g, const struct cell *c) {
    block no = cg_block(g, "not_ready");
    int mark = cg_scope(g);
    check_waits(g, c, no);
    claim(g, c, no);
    cg_put_cell(g, c);
    cg_scope_end(g, mark);
    cg_br(g, no);
    LLVMMoveBasicBlockAfter(no, cg_here(g));
    cg_at(g, no);
}

bool cg_waits_for_one(cg *g, const et_grid *gr, const et_queue_grid *q) {
    const et_wait *w = &gr->waits[0];
    if (gr->nwaits != 1 || q->seeded || w->when != ET_ALWAYS || w->nvars) return false;
    for (int d = 0; d < g->p->events[w->event].rank; d++)
        if (!et_expr_eq(w->lo[d], w->hi[d]) || et_expr_loads(g->x, w->lo[d])) return false;
    return true;
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

/* Have all workgroups to see several counters in one order? */
static bool looks_further(cg *g, int event, bool begun) {
    for (int i = 0; i < g->p->ngrids; i++) {
        const et_grid *gr = &g->p->grids[i];
        for (int w = 0; gr->dynamic && gr->early == begun && w < gr->nwaits; w++)
            if (gr->waits[w].event == event && !cg_waits_for_one(g, gr, &g->queues.grid[i]))
                return true;
    }
    return false;
}

val cg_lanes_begin(cg *g, cg_lanes *l, val mask) {
    block before = cg_here(g), body;
    l->head = cg_block(g, "lane");
    body = cg_block(g, "for_lane");
    l->done = cg_block(g, "no_lane");
    cg_br(g, l->head);
    cg_at(g, l->head);
    l->left = LLVMBuildPhi(g->b, LLVMTypeOf(mask), "");
    LLVMAddIncoming(l->left, &mask, &before, 1);
    cg_cond(g, cg_none(g, l->left), l->done, body);
    cg_at(g, body);
    return cg_first_lane(g, l->left);
}

void cg_lanes_end(cg *g, cg_lanes *l) {
    val rest = LLVMBuildAnd(g->b, l->left, cg_addi(g, l->left, -1), "");
    block latch = cg_here(g);
    cg_br(g, l->head);
    LLVMAddIncoming(l->left, &rest, &latch, 1);
    LLVMMoveBasicBlockAfter(l->done, latch);
    cg_at(g, l->done);
}

static void wake(cg *g, int event, bool begun, const val *index) {
    if (looks_further(g, event, begun)) {
        cg_wave_meets(g);
        LLVMBuildFenceSyncScope(g->b, LLVMAtomicOrderingSequentiallyConsistent,
                                g->sync[ET_SCOPE_DEVICE], "");
    }
    for (int i = 0; i < g->p->ngrids; i++) {
        const et_grid *gr = &g->p->grids[i];
        for (int w = 0; gr->dynamic && gr->early == begun && w < gr->nwaits; w++) {
            if (gr->waits[w].event != event) continue;
            cg here = *g;
            cg_isolate(g);
            struct cell c = {.event = event, .index = index};
            begin_cell(g, &c, i);
            c.w = &gr->waits[w];
            cg_each_cell(g, &c, 0);
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
    cg_lanes l;
    val lane = cg_lanes_begin(g, &l, cg_ballot(g, pred)), index[ET_MAX_RANK];
    val at = g->family->read_lane(g, word, lane);
    int64_t stride[ET_MAX_RANK];
    cg_strides(g, e, stride);
    for (int d = 0; d < e->rank; d++) {
        val by = cg_i32(g, stride[d]);
        index[d] = LLVMBuildUDiv(g->b, at, by, "");
        at = LLVMBuildURem(g->b, at, by, "");
    }
    wake(g, event, false, index);
    cg_lanes_end(g, &l);
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
        cg_try_cell(g, &c);
    else
        cg_put_cell(g, &c);
    cg_scope_end(g, mark);
    cg_for_end(g, &f, &none);
    *g = here;
}

static bool is_seeded(const cg *g, int grid) {
    const et_grid *gr = &g->p->grids[grid];
    return gr->dynamic && g->queues.grid[grid].seeded && (!g->part || gr->model == g->part - 1);
}

void cg_seed(cg *g) {
    bool any = false;
    for (int i = 0; i < g->p->ngrids; i++)
        any |= is_seeded(g, i);
    if (!any) return;
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    for (int i = 0; i < g->p->ngrids; i++)
        if (is_seeded(g, i)) seed(g, i);
    cg_if_end(g, &first);
}
