/* Waits and notifications: bounded polls of event counters, and what makes data visible. */
#include "diag.h"
#include "internal.h"
#include <stddef.h>
#include <string.h>

static void report_store(cg *g, val report, size_t field, val v) {
    val st = LLVMBuildStore(g->b, v, cg_gepi(g, report, (int64_t)field));
    LLVMSetAlignment(st, 4);
    LLVMSetOrdering(st, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(st, g->system);
}

val cg_clock(cg *g) {
    val message = cg_i32(g, g->t->clock_message);
    int n = g->t->clock_message != 0;
    return cg_call(g, g->t->clock, n, &g->i64, n, &message);
}

/* True where an edge applies in this iteration of the grid's loop; NULL = always. */
val cg_applies(cg *g, const et_grid *gr, et_when when) {
    if (when == ET_ALWAYS || gr->loop < 0) return NULL;
    const et_loop *l = &g->p->g->loops[gr->loop];
    val i = l->hi - l->lo == 1 ? cg_i32(g, 0) : g->var[l->var];
    switch (when) {
    case ET_FIRST_ITERATION:
        return cg_icmp(g, LLVMIntEQ, i, cg_i32(g, 0));
    case ET_LATER_ITERATIONS:
        return cg_icmp(g, LLVMIntNE, i, cg_i32(g, 0));
    default:
        return cg_icmp(g, LLVMIntEQ, i, cg_i32(g, l->hi - l->lo - 1));
    }
}

/* Strides of an event's dimensions: its words at the symbols' upper bounds, row-major. */
void cg_strides(cg *g, const et_event *e, int64_t *out) {
    int64_t s = 1;
    for (int i = e->rank - 1; i >= 0; i--) {
        int64_t lo, hi;
        out[i] = s;
        if (!et_bounds(g->x, e->dim[i], &lo, &hi))
            et_bug("dimension %d of event %s has no bounds", i, e->name);
        s *= hi;
    }
}

struct poll {
    const et_grid *gr;
    int grid, event;
    val tile, index, count, need, unmet; /* per lane */
};

val cg_flag(cg *g, int i) {
    return cg_gepi(g, g->lds, g->flag_at + 4 * i);
}

/* Where waves go that were told to quit. The workgroup that raises `abort` reports. */
void cg_failed(cg *g) {
    block report_it = cg_block(g, "report"), won = cg_block(g, "won");
    val quit = LLVMBuildLoad2(g->b, g->i32, cg_flag(g, CG_QUIT), ""), one = cg_i32(g, 1);
    val mine = cg_icmp(g, LLVMIntEQ, quit, cg_i32(g, CG_EXPIRED));
    mine = LLVMBuildAnd(g->b, mine, cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, 0)), "");
    cg_cond(g, mine, report_it, g->exit);
    cg_at(g, report_it);
    g->args = LLVMGetParam(g->fn, 0);
    val control = cg_argument(g, offsetof(struct etrt_kernarg, control), g->gptr);
    val swap = LLVMBuildAtomicCmpXchgSyncScope(g->b, control, cg_i32(g, 0), one,
                                               LLVMAtomicOrderingMonotonic,
                                               LLVMAtomicOrderingMonotonic, g->agent);
    cg_cond(g, LLVMBuildExtractValue(g->b, swap, 1, ""), won, g->exit);
    cg_at(g, won);
    val report = cg_argument(g, offsetof(struct etrt_kernarg, report), g->gptr);
    val launch = cg_argument(g, offsetof(struct etrt_kernarg, launch), g->i32);
    static const size_t field[] = {[CG_TASK] = offsetof(struct etrt_report, task),
                                   [CG_TILE] = offsetof(struct etrt_report, tile),
                                   [CG_EVENT] = offsetof(struct etrt_report, event),
                                   [CG_INDEX] = offsetof(struct etrt_report, index),
                                   [CG_COUNT] = offsetof(struct etrt_report, count),
                                   [CG_NEED] = offsetof(struct etrt_report, need)};
    for (int i = CG_TASK; i <= CG_NEED; i++)
        report_store(g, report, field[i], LLVMBuildLoad2(g->b, g->i32, cg_flag(g, i), ""));
    report_store(g, report, offsetof(struct etrt_report, launch), launch);
    report_store(g, report, offsetof(struct etrt_report, workgroup), g->wg);
    report_store(g, report, offsetof(struct etrt_report, die), cg_die(g));
    report_store(g, report, offsetof(struct etrt_report, hw_id), cg_hwreg(g, g->t->hw_id));
    LLVMBuildFenceSyncScope(g->b, LLVMAtomicOrderingRelease, g->system, "");
    val status = cg_i32(g, ETRT_REPORT_WAIT);
    if (g->queues.nregions) status = LLVMBuildLoad2(g->b, g->i32, cg_flag(g, CG_STATUS), "");
    report_store(g, report, offsetof(struct etrt_report, status), status);
    cg_br(g, g->exit);
}

/* After the bound: the first lane whose counter is short tells which. */
static void expire(cg *g, const struct poll *w, val mask) {
    cg_if me;
    cg_if_begin(g, &me, cg_icmp(g, LLVMIntEQ, g->lane, cg_first_lane(g, mask)));
    val say[] = {[CG_TASK] = cg_i32(g, g->first_task + w->grid),
                 [CG_TILE] = w->tile,
                 [CG_EVENT] = cg_i32(g, g->first_event + w->event),
                 [CG_INDEX] = w->index,
                 [CG_COUNT] = w->count,
                 [CG_NEED] = w->need};
    for (int i = CG_TASK; i <= CG_NEED; i++)
        LLVMBuildStore(g->b, say[i], cg_flag(g, i));
    if (g->queues.nregions)
        LLVMBuildStore(g->b, cg_i32(g, ETRT_REPORT_WAIT), cg_flag(g, CG_STATUS));
    cg_if_end(g, &me);
}

/* Poll this lane's counter until no lane's is short. Returns whether to give up, uniform. */
static val poll_lanes(cg *g, struct poll *w, val active, val ptr) {
    block slow = cg_block(g, "short"), met = cg_block(g, "met"), out = cg_block(g, "polled");
    cg_spin s;
    cg_spin_begin(g, &s);
    w->count = cg_atomic_load(g, ptr);
    val lacking = cg_icmp(g, LLVMIntULT, w->count, w->need);
    if (active) lacking = LLVMBuildAnd(g->b, lacking, active, "");
    val mask = cg_ballot(g, lacking);
    cg_cond(g, cg_none(g, mask), met, slow);

    cg_at(g, slow);
    cg_spin_again(g, &s);

    cg_at(g, s.expired);
    expire(g, w, mask);
    block ran_out = cg_here(g);
    cg_br(g, out);
    cg_at(g, s.aborted);
    cg_br(g, out);
    cg_at(g, met);
    cg_br(g, out);
    cg_at(g, out);
    val r = LLVMBuildPhi(g->b, g->i32, "");
    LLVMAddIncoming(r, (val[]){cg_i32(g, CG_ABORTED), cg_i32(g, CG_GO_ON), cg_i32(g, CG_EXPIRED)},
                    (block[]){s.aborted, met, ran_out}, 3);
    return r;
}

void cg_box_begin(cg *g, const et_wait *w, cg_box *box) {
    const et_event *e = &g->p->events[w->event];
    et_expr total = et_int(g->x, 1);
    *box = (cg_box){.w = w, .constant = -1, .most = -1};
    for (int i = 0; i < e->rank; i++) {
        box->size[i] = et_add(g->x, et_sub(g->x, w->hi[i], w->lo[i]), et_int(g->x, 1));
        total = et_mul(g->x, total, box->size[i]);
    }
    box->need = cg_emit(g, e->count);
    if (g->opt->break_event && strcmp(e->name, g->opt->break_event) == 0)
        box->need = cg_addi(g, box->need, 1);
    box->total = cg_emit(g, total);
    int64_t lo, hi;
    if (!et_is_int(g->x, total, &box->constant)) box->constant = -1;
    if (et_bounds(g->x, total, &lo, &hi)) box->most = hi;
}

/* The counter's word among its event's. */
static val box_index(cg *g, const cg_box *box, val item) {
    const et_event *e = &g->p->events[box->w->event];
    int64_t stride[ET_MAX_RANK], n;
    cg_strides(g, e, stride);
    val word = cg_i32(g, 0);
    for (int i = e->rank - 1; i >= 0; i--) {
        val at = cg_emit(g, box->w->lo[i]);
        bool one = et_is_int(g->x, box->size[i], &n) && n == 1, top = true;
        for (int k = 0; k < i; k++)
            top &= et_is_int(g->x, box->size[k], &n) && n == 1;
        if (!one) {
            val s = cg_emit(g, box->size[i]);
            at = cg_add(g, at, top ? item : LLVMBuildURem(g->b, item, s, ""));
            if (!top) item = LLVMBuildUDiv(g->b, item, s, "");
        }
        word = cg_add(g, word, cg_muli(g, at, stride[i]));
    }
    return word;
}

val cg_box_word(cg *g, const cg_box *box, val item) {
    return cg_addi(g, box_index(g, box, item), g->p->events[box->w->event].base);
}

val cg_box_need(cg *g, const cg_box *box, val item) {
    (void)g, (void)item;
    return box->need;
}

static val wait_one(cg *g, int grid, const et_wait *w, val tile) {
    const et_event *e = &g->p->events[w->event];
    struct poll s = {.gr = &g->p->grids[grid], .grid = grid, .event = w->event, .tile = tile};
    cg_box box;
    cg_box_begin(g, w, &box);
    val zero = cg_i32(g, 0), quit = zero;
    bool single = box.constant == 1;
    bool loop = !single && !(box.most >= 0 && box.most <= g->t->wave);
    cg_for f;
    val first = zero, active = NULL, item = zero;
    if (loop) first = cg_for_begin(g, &f, zero, box.total, cg_i32(g, g->t->wave), false, 1, &quit);
    if (!single) {
        item = cg_add(g, first, g->lane);
        active = cg_icmp(g, LLVMIntSLT, item, box.total);
        item = cg_select(g, active, item, zero); /* the others poll the first counter too */
    }
    cg_if on;
    val before = quit;
    if (loop) cg_if_begin(g, &on, cg_icmp(g, LLVMIntEQ, quit, zero));
    s.need = cg_box_need(g, &box, item);
    s.index = box_index(g, &box, item);
    val ptr = cg_gep(g, cg_gepi(g, g->events, 4 * (int64_t)e->base),
                     LLVMBuildZExt(g->b, cg_muli(g, s.index, 4), g->i64, ""));
    quit = poll_lanes(g, &s, active, ptr);
    if (!loop) return quit;
    cg_if_end(g, &on);
    val phi = LLVMBuildPhi(g->b, g->i32, "");
    LLVMAddIncoming(phi, (val[]){quit, before}, (block[]){on.then, on.otherwise}, 2);
    cg_for_end(g, &f, &phi);
    return phi;
}

bool cg_weakened(cg *g, int event) {
    return g->opt->weaken_event && strcmp(g->p->events[event].name, g->opt->weaken_event) == 0;
}

/* Does the box depend on what this kernel writes? Then an earlier wait of the task was for that. */
bool cg_wait_reads(cg *g, const et_wait *w) {
    for (int i = 0; i < g->p->events[w->event].rank; i++)
        if (cg_reads_mutable(g, w->lo[i]) || cg_reads_mutable(g, w->hi[i])) return true;
    return false;
}

void cg_waits(cg *g, int grid, val tile) {
    const et_grid *gr = &g->p->grids[grid];
    if (!gr->nwaits) return;
    val flag = cg_flag(g, CG_QUIT);
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    val quit = cg_i32(g, 0);
    int mark = cg_scope(g);
    for (int i = 0; i < gr->nwaits; i++) {
        val when = cg_applies(g, gr, gr->waits[i].when), zero = cg_i32(g, 0);
        val go = cg_icmp(g, LLVMIntEQ, quit, zero);
        if (when) go = LLVMBuildAnd(g->b, go, when, "");
        cg_if s;
        cg_if_begin(g, &s, go);
        int inner = cg_scope(g);
        if (cg_wait_reads(g, &gr->waits[i]))
            cg_fence(g, LLVMAtomicOrderingAcquire, i > 0 && cg_weakened(g, gr->waits[i - 1].event));
        val r = wait_one(g, grid, &gr->waits[i], tile);
        cg_scope_end(g, inner);
        cg_if_end(g, &s);
        val q = LLVMBuildPhi(g->b, g->i32, "");
        LLVMAddIncoming(q, (val[]){r, quit}, (block[]){s.then, s.otherwise}, 2);
        quit = q;
    }
    cg_scope_end(g, mark);
    LLVMBuildStore(g->b, quit, flag);
    cg_if_end(g, &first);
    cg_barrier(g);
    val seen = cg_uniform(g, LLVMBuildLoad2(g->b, g->i32, flag, ""));
    block go = cg_block(g, "ready");
    cg_cond(g, cg_icmp(g, LLVMIntNE, seen, cg_i32(g, 0)), g->failed, go);
    cg_at(g, go);
    bool weak = false;
    for (int i = 0; i < gr->nwaits; i++)
        weak |= cg_weakened(g, gr->waits[i].event);
    cg_fence(g, LLVMAtomicOrderingAcquire, weak);
}

void cg_notifies(cg *g, int grid) {
    const et_grid *gr = &g->p->grids[grid];
    if (!gr->nnotifies) {
        cg_barrier(g); /* the next tile reuses the local buffers */
        return;
    }
    bool weak = false;
    for (int i = 0; i < gr->nnotifies; i++)
        weak |= cg_weakened(g, gr->notifies[i].event);
    cg_barrier_drain(g);
    cg_if me;
    cg_if_begin(g, &me, cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, 0)));
    cg_fence(g, LLVMAtomicOrderingRelease, weak);
    for (int i = 0; i < gr->nnotifies; i++) {
        const et_notify *n = &gr->notifies[i];
        const et_event *e = &g->p->events[n->event];
        val when = cg_applies(g, gr, n->when);
        cg_if s;
        int mark = cg_scope(g);
        if (when) cg_if_begin(g, &s, when);
        int64_t stride[ET_MAX_RANK];
        cg_strides(g, e, stride);
        val word = cg_i32(g, e->base);
        for (int k = 0; k < e->rank; k++)
            word = cg_add(g, word, cg_muli(g, cg_emit(g, n->index[k]), stride[k]));
        val ptr = cg_gep(g, g->events, LLVMBuildZExt(g->b, cg_muli(g, word, 4), g->i64, ""));
        LLVMBuildAtomicRMWSyncScope(g->b, LLVMAtomicRMWBinOpAdd, ptr, cg_i32(g, 1),
                                    LLVMAtomicOrderingMonotonic, g->agent);
        if (when) cg_if_end(g, &s);
        cg_scope_end(g, mark);
    }
    cg_if_end(g, &me);
}
