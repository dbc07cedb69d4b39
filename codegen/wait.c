/* Waits and notifications: bounded polls of event counters, and what makes data visible. */
#include "diag.h"
#include "internal.h"
#include <stddef.h>
#include <string.h>

static val atomic_load(cg *g, val ptr) {
    val v = LLVMBuildLoad2(g->b, g->i32, ptr, "");
    LLVMSetAlignment(v, 4);
    LLVMSetOrdering(v, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(v, g->agent);
    return v;
}

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
static val applies(cg *g, const et_grid *gr, et_when when) {
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
static void strides(cg *g, const et_event *e, int64_t *out) {
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

/* What wave 0 leaves in local memory for the others: whether to go on, and, when its own wait ran
 * out, what it waited for. */
enum { QUIT, TASK, TILE, EVENT, INDEX, COUNT, NEED, WORDS };
_Static_assert(WORDS * 4 <= CG_FLAG_BYTES, "the words have their place in local memory");
enum { GO_ON, ABORTED, EXPIRED };

static val flag_word(cg *g, int i) {
    return cg_gepi(g, g->lds, g->flag_at + 4 * i);
}

/* Where waves go that were told to quit. The workgroup that raises `abort` reports. */
void cg_failed(cg *g) {
    block report_it = cg_block(g, "report"), won = cg_block(g, "won");
    val quit = LLVMBuildLoad2(g->b, g->i32, flag_word(g, QUIT), ""), one = cg_i32(g, 1);
    val mine = cg_icmp(g, LLVMIntEQ, quit, cg_i32(g, EXPIRED));
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
    static const size_t field[] = {[TASK] = offsetof(struct etrt_report, task),
                                   [TILE] = offsetof(struct etrt_report, tile),
                                   [EVENT] = offsetof(struct etrt_report, event),
                                   [INDEX] = offsetof(struct etrt_report, index),
                                   [COUNT] = offsetof(struct etrt_report, count),
                                   [NEED] = offsetof(struct etrt_report, need)};
    for (int i = TASK; i <= NEED; i++)
        report_store(g, report, field[i], LLVMBuildLoad2(g->b, g->i32, flag_word(g, i), ""));
    report_store(g, report, offsetof(struct etrt_report, launch), launch);
    report_store(g, report, offsetof(struct etrt_report, workgroup), g->wg);
    report_store(g, report, offsetof(struct etrt_report, die), cg_die(g));
    report_store(g, report, offsetof(struct etrt_report, hw_id), cg_hwreg(g, g->t->hw_id));
    LLVMBuildFenceSyncScope(g->b, LLVMAtomicOrderingRelease, g->system, "");
    report_store(g, report, offsetof(struct etrt_report, status), cg_i32(g, ETRT_REPORT_WAIT));
    cg_br(g, g->exit);
}

static val any(cg *g, val pred) {
    LLVMTypeRef t = g->t->wave == 64 ? g->i64 : g->i32;
    val mask = cg_call(g, "llvm.amdgcn.ballot", 1, &t, 1, &pred);
    return mask;
}

/* After the bound: the first lane whose counter is short tells which. */
static void expire(cg *g, const struct poll *w, val mask) {
    LLVMTypeRef t = LLVMTypeOf(mask);
    val first = cg_call(g, "llvm.cttz", 1, &t, 2, (val[]){mask, LLVMConstInt(g->i1, 1, 0)});
    if (t == g->i64) first = LLVMBuildTrunc(g->b, first, g->i32, "");
    cg_if me;
    cg_if_begin(g, &me, cg_icmp(g, LLVMIntEQ, g->lane, first));
    val say[] = {[TASK] = cg_i32(g, g->first_task + w->grid),
                 [TILE] = w->tile,
                 [EVENT] = cg_i32(g, g->first_event + w->event),
                 [INDEX] = w->index,
                 [COUNT] = w->count,
                 [NEED] = w->need};
    for (int i = TASK; i <= NEED; i++)
        LLVMBuildStore(g->b, say[i], flag_word(g, i));
    cg_if_end(g, &me);
}

/* Poll this lane's counter until no lane's is short. Returns whether to give up, uniform. */
static val poll_lanes(cg *g, struct poll *w, val active, val ptr) {
    block head = cg_block(g, "poll"), slow = cg_block(g, "short"), late = cg_block(g, "late"),
          expired = cg_block(g, "expired"), nap = cg_block(g, "nap"), gave_up = cg_block(g, "quit"),
          met = cg_block(g, "met"), out = cg_block(g, "polled");
    block before = cg_here(g);
    val zero64 = cg_i64(g, 0), zero = cg_i32(g, 0);
    cg_br(g, head);

    cg_at(g, head);
    val start = LLVMBuildPhi(g->b, g->i64, ""), tries = LLVMBuildPhi(g->b, g->i32, "");
    w->count = atomic_load(g, ptr);
    val lacking = cg_icmp(g, LLVMIntULT, w->count, w->need);
    if (active) lacking = LLVMBuildAnd(g->b, lacking, active, "");
    val mask = any(g, lacking);
    val none = LLVMConstInt(LLVMTypeOf(mask), 0, false);
    cg_cond(g, cg_icmp(g, LLVMIntEQ, mask, none), met, slow);

    cg_at(g, slow);
    val aborted = cg_uniform(g, atomic_load(g, g->control));
    val now = cg_clock(g);
    val since = cg_select(g, cg_icmp(g, LLVMIntEQ, tries, zero), now, start);
    cg_cond(g, cg_icmp(g, LLVMIntNE, aborted, zero), gave_up, late);

    cg_at(g, late);
    val waited = LLVMBuildSub(g->b, now, since, "");
    cg_cond(g, cg_icmp(g, LLVMIntUGT, waited, g->wait_ticks), expired, nap);

    cg_at(g, expired);
    expire(g, w, mask);
    block ran_out = cg_here(g);
    cg_br(g, out);

    cg_at(g, nap); /* short naps first: most waits end within a microsecond */
    block brief = cg_block(g, "brief"), longer = cg_block(g, "longer"),
          again = cg_block(g, "again");
    cg_cond(g, cg_icmp(g, LLVMIntULT, tries, cg_i32(g, 16)), brief, longer);
    cg_at(g, brief);
    val one = cg_i32(g, 1), many = cg_i32(g, 16);
    cg_call(g, "llvm.amdgcn.s.sleep", 0, NULL, 1, &one);
    cg_br(g, again);
    cg_at(g, longer);
    cg_call(g, "llvm.amdgcn.s.sleep", 0, NULL, 1, &many);
    cg_br(g, again);
    cg_at(g, again);
    val more = cg_addi(g, tries, 1);
    cg_br(g, head);
    LLVMAddIncoming(start, (val[]){zero64, since}, (block[]){before, again}, 2);
    LLVMAddIncoming(tries, (val[]){zero, more}, (block[]){before, again}, 2);

    cg_at(g, gave_up);
    cg_br(g, out);
    cg_at(g, met);
    cg_br(g, out);
    cg_at(g, out);
    val r = LLVMBuildPhi(g->b, g->i32, "");
    LLVMAddIncoming(r, (val[]){cg_i32(g, ABORTED), cg_i32(g, GO_ON), cg_i32(g, EXPIRED)},
                    (block[]){gave_up, met, ran_out}, 3);
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
    strides(g, e, stride);
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

/* What other workgroups wrote, or are to see, is ordered; WEAK as far as the options leave it. */
static void device_fence(cg *g, LLVMAtomicOrdering order, bool weak) {
    et_weaken how = weak ? g->opt->weaken : ET_WEAKEN_NOTHING;
    bool acquire = order == LLVMAtomicOrderingAcquire;
    if (how == ET_WEAKEN_FENCE || how == (acquire ? ET_WEAKEN_ACQUIRE : ET_WEAKEN_RELEASE)) return;
    LLVMBuildFenceSyncScope(g->b, order, how == ET_WEAKEN_SCOPE ? g->workgroup_scope : g->agent,
                            "");
}

static bool weakened(cg *g, int event) {
    return g->opt->weaken_event && strcmp(g->p->events[event].name, g->opt->weaken_event) == 0;
}

/* Does the box depend on what this kernel writes? Then an earlier wait of the task was for that. */
static bool reads_mutable(cg *g, const et_wait *w) {
    for (int i = 0; i < g->p->events[w->event].rank; i++)
        if (cg_reads_mutable(g, w->lo[i]) || cg_reads_mutable(g, w->hi[i])) return true;
    return false;
}

void cg_waits(cg *g, int grid, val tile) {
    const et_grid *gr = &g->p->grids[grid];
    if (!gr->nwaits) return;
    val flag = flag_word(g, QUIT);
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    val quit = cg_i32(g, 0);
    int mark = cg_scope(g);
    for (int i = 0; i < gr->nwaits; i++) {
        val when = applies(g, gr, gr->waits[i].when), zero = cg_i32(g, 0);
        val go = cg_icmp(g, LLVMIntEQ, quit, zero);
        if (when) go = LLVMBuildAnd(g->b, go, when, "");
        cg_if s;
        cg_if_begin(g, &s, go);
        int inner = cg_scope(g);
        if (reads_mutable(g, &gr->waits[i]))
            device_fence(g, LLVMAtomicOrderingAcquire,
                         i > 0 && weakened(g, gr->waits[i - 1].event));
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
        weak |= weakened(g, gr->waits[i].event);
    device_fence(g, LLVMAtomicOrderingAcquire, weak);
}

void cg_notifies(cg *g, int grid) {
    const et_grid *gr = &g->p->grids[grid];
    if (!gr->nnotifies) {
        cg_barrier(g); /* the next tile reuses the local buffers */
        return;
    }
    bool weak = false;
    for (int i = 0; i < gr->nnotifies; i++)
        weak |= weakened(g, gr->notifies[i].event);
    cg_barrier_drain(g);
    cg_if me;
    cg_if_begin(g, &me, cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, 0)));
    device_fence(g, LLVMAtomicOrderingRelease, weak);
    for (int i = 0; i < gr->nnotifies; i++) {
        const et_notify *n = &gr->notifies[i];
        const et_event *e = &g->p->events[n->event];
        val when = applies(g, gr, n->when);
        cg_if s;
        int mark = cg_scope(g);
        if (when) cg_if_begin(g, &s, when);
        int64_t stride[ET_MAX_RANK];
        strides(g, e, stride);
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
