/* Waits: bounded polls of event counters, and what makes data visible. */
#include "codegen/kernel/kernel.h"
#include "codegen/step/step.h"
#include "ir/base/diag.h"
#include <stddef.h>
#include <string.h>

static void report_store(cg *g, val report, size_t field, val v) {
    val st = LLVMBuildStore(g->b, v, cg_gepi(g, report, (int64_t)field));
    LLVMSetAlignment(st, 4);
    LLVMSetOrdering(st, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(st, g->sync[ET_SCOPE_SYSTEM]);
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
        return cg_icmp(g, LLVMIntEQ, i, cg_addi(g, cg_emit_i32(g, l->trips), -1));
    }
}

enum { MOST_SETS = 4 }; /* of counters, of which each lane has one */

struct poll {
    int grid;
    val tile;
    int n;       /* sets */
    bool system; /* they are flags of devices */
    struct {
        val event, index, count, need, ptr, active, lacking; /* per lane; active: NULL: all are */
    } of[MOST_SETS];
    val device; /* per lane, where they are flags */
};

/* May the kernel give up something else than a wait for a counter? */
static bool has_status(const cg *g) {
    return g->queued || g->sliced || g->tags.bytes || g->whole->g->devices;
}

val cg_flag(cg *g, int i) {
    return cg_gepi(g, g->lds, g->flag_at + 4 * i);
}

/* What the argument at FIELD points to; in a step what is PITCH bytes further on for each model
 * before the step's. */
static val of_model(cg *g, size_t field, int pitch) {
    val first = cg_argument(g, field, g->gptr);
    if (!g->opt->resident || !g->whole->g->nmodels) return first;
    val at = cg_muli(g, cg_step_word(g, CG_STEP_MODEL), pitch);
    return cg_gep(g, first, LLVMBuildZExt(g->b, at, g->i64, ""));
}

/* Of one device the word is 0 or 1; of several the host may have asked there. */
static val raises_abort(cg *g, val control) {
    val quit = cg_i32(g, ETRT_ABORT_QUIT);
    if (!g->whole->g->devices) return cg_atomic_swap(g, control, cg_i32(g, 0), quit);
    return cg_icmp(g, LLVMIntNE, cg_atomic(g, LLVMAtomicRMWBinOpXchg, control, quit), quit);
}

/* Where waves go that were told to quit. The workgroup that raises `abort` reports. */
static void failed(cg *g) {
    block report_it = cg_block(g, "report"), won = cg_block(g, "won");
    cg_maps_settle(g);
    val quit = LLVMBuildLoad2(g->b, g->i32, cg_flag(g, CG_QUIT), "");
    val mine = cg_icmp(g, LLVMIntEQ, quit, cg_i32(g, CG_EXPIRED));
    mine = LLVMBuildAnd(g->b, mine, cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, 0)), "");
    block out = g->opt->resident ? cg_block(g, "leave") : g->exit;
    cg_cond(g, mine, report_it, out);
    cg_at(g, report_it);
    g->args = LLVMGetParam(g->fn, 0);
    val control = of_model(g, offsetof(struct etrt_kernarg, control), 4);
    cg_cond(g, raises_abort(g, control), won, out);
    cg_at(g, won);
    val report = of_model(g, offsetof(struct etrt_kernarg, report), sizeof(struct etrt_report));
    val launch = cg_launch(g);
    static const size_t field[] = {[CG_TASK] = offsetof(struct etrt_report, task),
                                   [CG_TILE] = offsetof(struct etrt_report, tile),
                                   [CG_EVENT] = offsetof(struct etrt_report, event),
                                   [CG_INDEX] = offsetof(struct etrt_report, index),
                                   [CG_COUNT] = offsetof(struct etrt_report, count),
                                   [CG_NEED] = offsetof(struct etrt_report, need)};
    for (int i = CG_TASK; i <= CG_NEED; i++)
        report_store(g, report, field[i], LLVMBuildLoad2(g->b, g->i32, cg_flag(g, i), ""));
    report_store(g, report, offsetof(struct etrt_report, launch), launch);
    report_store(g, report, offsetof(struct etrt_report, workgroup), g->rank);
    report_store(g, report, offsetof(struct etrt_report, die), cg_die(g));
    report_store(g, report, offsetof(struct etrt_report, hw_id), g->family->hardware_id(g));
    if (g->whole->g->devices) {
        val what = LLVMBuildLoad2(g->b, g->i32, cg_flag(g, CG_STATUS), ""), none = cg_i32(g, 0);
        val no = LLVMBuildOr(g->b, cg_icmp(g, LLVMIntEQ, what, cg_i32(g, ETRT_REPORT_IDLE)),
                             cg_icmp(g, LLVMIntEQ, what, cg_i32(g, ETRT_REPORT_START)), "");
        val of = LLVMBuildLoad2(g->b, g->i32, cg_flag(g, CG_OTHER), "");
        report_store(g, report, offsetof(struct etrt_report, device), cg_select(g, no, none, of));
    }
    LLVMBuildFenceSyncScope(g->b, LLVMAtomicOrderingRelease, g->sync[ET_SCOPE_SYSTEM], "");
    val status = cg_i32(g, ETRT_REPORT_WAIT);
    if (has_status(g)) status = LLVMBuildLoad2(g->b, g->i32, cg_flag(g, CG_STATUS), "");
    report_store(g, report, offsetof(struct etrt_report, status), status);
    cg_br(g, out);
    if (!g->opt->resident) return;
    LLVMMoveBasicBlockAfter(out, LLVMGetLastBasicBlock(g->fn));
    cg_at(g, out);
    cg_leave_early(g);
    cg_br(g, g->exit);
}

void cg_kernel_ends(cg *g) {
    LLVMMoveBasicBlockAfter(g->failed, LLVMGetLastBasicBlock(g->fn));
    cg_at(g, g->failed);
    failed(g);
    LLVMMoveBasicBlockAfter(g->exit, LLVMGetLastBasicBlock(g->fn));
    cg_at(g, g->exit);
    LLVMBuildRetVoid(g->b);
}

/* After the bound: the first lane whose counter is short tells which. */
static void expire(cg *g, const struct poll *w, val mask) {
    cg_if me;
    cg_if_begin(g, &me, cg_icmp(g, LLVMIntEQ, g->lane, cg_first_lane(g, mask)));
    val say[] = {[CG_TASK] = cg_task_number(g, w->grid), [CG_TILE] = w->tile,
                 [CG_EVENT] = w->of[w->n - 1].event,     [CG_INDEX] = w->of[w->n - 1].index,
                 [CG_COUNT] = w->of[w->n - 1].count,     [CG_NEED] = w->of[w->n - 1].need};
    for (int i = w->n - 2; i >= 0; i--) {
        val short_of[] = {[CG_EVENT] = w->of[i].event,
                          [CG_INDEX] = w->of[i].index,
                          [CG_COUNT] = w->of[i].count,
                          [CG_NEED] = w->of[i].need};
        for (int k = CG_EVENT; k <= CG_NEED; k++)
            say[k] = cg_select(g, w->of[i].lacking, short_of[k], say[k]);
    }
    for (int i = CG_TASK; i <= CG_NEED; i++)
        LLVMBuildStore(g->b, say[i], cg_flag(g, i));
    if (has_status(g)) LLVMBuildStore(g->b, cg_i32(g, ETRT_REPORT_WAIT), cg_flag(g, CG_STATUS));
    if (g->whole->g->devices)
        LLVMBuildStore(g->b, w->system ? cg_addi(g, w->device, 1) : cg_i32(g, 0),
                       cg_flag(g, CG_OTHER));
    cg_if_end(g, &me);
}

static val load_flag(cg *g, val ptr) {
    val v = cg_atomic_load(g, ptr);
    LLVMSetAtomicSyncScopeID(v, g->sync[ET_SCOPE_SYSTEM]);
    return v;
}

/* Poll this lane's counters until no lane's is short. Returns whether to give up, uniform. */
static val poll_lanes(cg *g, struct poll *w) {
    block slow = cg_block(g, "short"), met = cg_block(g, "met"), out = cg_block(g, "polled");
    cg_spin s;
    cg_spin_begin(g, &s);
    val lacking = NULL;
    for (int i = 0; i < w->n; i++)
        w->of[i].count = w->system ? load_flag(g, w->of[i].ptr) : cg_atomic_load(g, w->of[i].ptr);
    for (int i = 0; i < w->n; i++) {
        val less = cg_icmp(g, LLVMIntULT, w->of[i].count, w->of[i].need);
        if (w->of[i].active) less = LLVMBuildAnd(g->b, less, w->of[i].active, "");
        w->of[i].lacking = less;
        lacking = i ? LLVMBuildOr(g->b, lacking, less, "") : less;
    }
    val mask = cg_ballot(g, lacking);
    cg_cond(g, cg_none(g, mask), met, slow);

    cg_at(g, slow);
    s.others = w->system;
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

/* Which counter of a box ITEM is of, with a flag of EACH device for each. */
static val of_device(cg *g, val item, int each, val *out_device) {
    *out_device = LLVMBuildURem(g->b, item, cg_i32(g, each), "");
    return LLVMBuildUDiv(g->b, item, cg_i32(g, each), "");
}

static val wait_one(cg *g, int grid, const et_wait *w, val tile) {
    const et_event *e = &g->p->events[w->event];
    struct poll s = {.grid = grid, .tile = tile, .n = 1};
    s.of[0].event = cg_event_number(g, w->event);
    cg_box box;
    cg_box_begin(g, w, &box);
    val zero = cg_i32(g, 0), quit = zero;
    /* Of a counter of the system there is a flag for each device. */
    int each = cg_is_flag(g, w->event) ? g->whole->g->devices : 1;
    val total = each > 1 ? cg_muli(g, box.total, each) : box.total, device = NULL;
    bool single = box.constant == 1 && each == 1;
    bool loop = !single && !(box.most >= 0 && box.most * each <= g->t->wave);
    cg_for f;
    val first = zero, active = NULL, item = zero;
    if (loop) first = cg_for_begin(g, &f, zero, total, cg_i32(g, g->t->wave), false, 1, &quit);
    if (!single) {
        item = cg_add(g, first, g->lane);
        active = cg_icmp(g, LLVMIntSLT, item, total);
        item = cg_select(g, active, item, zero);
    }
    if (each > 1) item = of_device(g, item, each, &device);
    cg_if on;
    val before = quit;
    if (loop) cg_if_begin(g, &on, cg_icmp(g, LLVMIntEQ, quit, zero));
    val index = cg_box_index(g, &box, item, &s.of[0].need);
    /* The others poll a counter of the event too: not the box's first, since an empty one may lie
     * anywhere. */
    if (active) index = cg_select(g, active, index, zero);
    s.of[0].index = index;
    s.of[0].active = active;
    s.of[0].ptr = g->row ? cg_word(g, cg_event_word(g, w->event, index))
                         : cg_gep(g, cg_gepi(g, g->events, 4 * (int64_t)e->base),
                                  LLVMBuildZExt(g->b, cg_muli(g, index, 4), g->i64, ""));
    if (each > 1) {
        s.system = true;
        s.device = device;
        s.of[0].ptr = cg_flag_at(g, cg_event_word(g, w->event, index), device);
        s.of[0].need = cg_flag_value(g);
    }
    quit = poll_lanes(g, &s);
    if (!loop) return quit;
    cg_if_end(g, &on);
    val phi = cg_if_value(g, &on, quit, before);
    cg_for_end(g, &f, &phi);
    return phi;
}

/* ---- several waits in one look ---- */

/* What the wait names can be worked out even where the wait does not apply. */
static bool is_harmless(cg *g, const et_wait *w) {
    return w->when == ET_ALWAYS || !et_wait_loads(g->p, w);
}

/* Where the counters of a box are among those that are looked at together, of which AT come before
 * it: in one set, or from the first lane of one on. */
static int64_t place_of(const cg *g, int64_t at, int64_t most) {
    int64_t wave = g->t->wave, in = at % wave;
    return in && in + most > wave ? at + wave - in : at;
}

/* How many waits from number FIRST on are looked at together: there are lanes enough for their
 * counters in as many sets as the family loads at once, and none reads what another is for. 0: the
 * first is looked at by itself. */
static int together(cg *g, const et_grid *gr, int first) {
    int64_t all = 0, room = (int64_t)g->family->sets * g->t->wave;
    int n = 0;
    for (; first + n < gr->nwaits; n++) {
        const et_wait *w = &gr->waits[first + n];
        cg_box box;
        cg_box_shape(g, w, &box);
        int64_t from = place_of(g, all, box.most < 0 ? 0 : box.most);
        bool fits = box.most >= 0 && from + box.most <= room && is_harmless(g, w) &&
                    !cg_is_flag(g, w->event);
        if (!fits || (n > 0 && cg_wait_reads(g, w))) break;
        all = from + box.most;
    }
    return n > 1 || all > g->t->wave ? n : 0;
}

/* Does every tile of the grid wait for the same? Then a workgroup does so before its first one. */
static bool is_common(cg *g, const et_grid *gr, const et_wait *w) {
    const et_func *f = &g->p->funcs[gr->func];
    bool same = !cg_wait_reads(g, w);
    for (int i = 0; i < g->p->events[w->event].rank && same; i++)
        same = !et_expr_has_vars(g->x, w->lo[i], f->ncoords, f->coord) &&
               !et_expr_has_vars(g->x, w->hi[i], f->ncoords, f->coord);
    for (int i = 0; i < w->nvars && same; i++)
        same = !et_expr_has_vars(g->x, et_var_extent(g->x, w->vars[i]), f->ncoords, f->coord);
    return same;
}

static bool are_common(cg *g, const et_grid *gr, int first, int n) {
    bool all = true;
    for (int i = first; i < first + n; i++)
        all &= is_common(g, gr, &gr->waits[i]);
    return all;
}

static val both(cg *g, val a, val b) {
    return a && b ? LLVMBuildAnd(g->b, a, b, "") : a ? a : b;
}

/* The counters of a wait that lanes have in set I; BOX begins at FROM. */
static void add_to_set(cg *g, struct poll *s, int i, const et_wait *w, const cg_box *box,
                       int64_t from, val when) {
    int64_t before = from - (int64_t)i * g->t->wave;
    val item = before ? cg_addi(g, g->lane, -before) : g->lane, zero = cg_i32(g, 0), need;
    val mine = cg_icmp(g, LLVMIntULT, item, cg_i32(g, box->most));
    if (box->constant != box->most) /* a box may be empty, its size less than nothing */
        mine = LLVMBuildAnd(g->b, mine, cg_icmp(g, LLVMIntSLT, item, box->total), "");
    if (when) mine = LLVMBuildAnd(g->b, mine, when, "");
    item = cg_select(g, mine, item, zero);
    val index = cg_select(g, mine, cg_box_index(g, box, item, &need), zero);
    val word = cg_event_word(g, w->event, index), event = cg_event_number(g, w->event);
    bool more = s->of[i].active != NULL;
    s->of[i].active = more ? LLVMBuildOr(g->b, s->of[i].active, mine, "") : mine;
    s->of[i].ptr = more ? cg_select(g, mine, word, s->of[i].ptr) : word;
    s->of[i].index = more ? cg_select(g, mine, index, s->of[i].index) : index;
    s->of[i].need = more ? cg_select(g, mine, need, s->of[i].need) : need;
    s->of[i].event = more ? cg_select(g, mine, event, s->of[i].event) : event;
}

/* Waits FIRST to FIRST + N, each with lanes of its own. */
static val wait_together(cg *g, int grid, int first, int n, val tile) {
    const et_grid *gr = &g->p->grids[grid];
    struct poll s = {.grid = grid, .tile = tile};
    int64_t from = 0, wave = g->t->wave;
    for (int k = 0; k < n; k++) {
        const et_wait *w = &gr->waits[first + k];
        val when = both(g, cg_applies(g, gr, w->when), cg_first_tile(g, is_common(g, gr, w)));
        cg_box box;
        cg_box_begin(g, w, &box);
        from = place_of(g, from, box.most);
        for (int64_t i = from / wave; i * wave < from + box.most; i++)
            add_to_set(g, &s, (int)i, w, &box, from, when);
        from += box.most;
    }
    for (; s.n < MOST_SETS && s.of[s.n].active; s.n++)
        s.of[s.n].ptr = cg_word(g, s.of[s.n].ptr);
    return s.n ? poll_lanes(g, &s) : cg_i32(g, 0);
}

bool cg_weakened(cg *g, int event) {
    return g->opt->weaken_event && strcmp(g->p->events[event].name, g->opt->weaken_event) == 0;
}

bool cg_wait_reads(cg *g, const et_wait *w) {
    const et_event *e = &g->p->events[w->event];
    for (int i = 0; i < e->rank; i++)
        if (cg_reads_mutable(g, w->lo[i]) || cg_reads_mutable(g, w->hi[i])) return true;
    for (int i = 0; i < w->nvars; i++)
        if (cg_reads_mutable(g, et_var_extent(g->x, w->vars[i]))) return true;
    return cg_reads_mutable(g, e->count);
}

static void wait_all(cg *g, int grid, val tile) {
    const et_grid *gr = &g->p->grids[grid];
    val flag = cg_flag(g, CG_QUIT);
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    val quit = cg_i32(g, 0);
    int mark = cg_scope(g);
    for (int i = 0, n; i < gr->nwaits; i += n) {
        int many = together(g, gr, i);
        n = many ? many : 1;
        val when = many ? NULL : cg_applies(g, gr, gr->waits[i].when), zero = cg_i32(g, 0);
        val go = both(g, cg_icmp(g, LLVMIntEQ, quit, zero), when);
        go = both(g, go, cg_first_tile(g, are_common(g, gr, i, n)));
        cg_if s;
        cg_if_begin(g, &s, go);
        int inner = cg_scope(g);
        if (cg_wait_reads(g, &gr->waits[i]))
            cg_acquire_wave(g, i > 0 && cg_weakened(g, gr->waits[i - 1].event));
        val r = many ? wait_together(g, grid, i, n, tile) : wait_one(g, grid, &gr->waits[i], tile);
        cg_scope_end(g, inner);
        cg_if_end(g, &s);
        quit = cg_if_value(g, &s, r, quit);
    }
    cg_scope_end(g, mark);
    bool weak = false, within = true, fenced = false;
    for (int i = 0; i < gr->nwaits; i++) {
        weak |= cg_weakened(g, gr->waits[i].event);
        within &= cg_within_die(g, gr->waits[i].event);
        fenced |= !g->p->events[gr->waits[i].event].unfenced;
    }
    et_scope scope = cg_waits_for_flags(g, gr) ? ET_SCOPE_SYSTEM : ET_SCOPE_DEVICE;
    if (g->family->cumulative && fenced) cg_fence_of(g, LLVMAtomicOrderingAcquire, scope, weak);
    LLVMBuildStore(g->b, quit, flag);
    cg_if_end(g, &first);
    cg_barrier(g);
    val seen = cg_uniform(g, LLVMBuildLoad2(g->b, g->i32, flag, ""));
    block go = cg_block(g, "ready");
    cg_cond(g, cg_icmp(g, LLVMIntNE, seen, cg_i32(g, 0)), g->failed, go);
    cg_at(g, go);
    if (g->family->cumulative || !fenced) return;
    if (within)
        cg_die_acquire(g, weak);
    else
        cg_fence_of(g, LLVMAtomicOrderingAcquire, scope, weak);
}

bool cg_waits_each_tile(cg *g, int grid) {
    const et_grid *gr = &g->p->grids[grid];
    return gr->nwaits && !are_common(g, gr, 0, gr->nwaits);
}

void cg_waits(cg *g, int grid, val tile) {
    const et_grid *gr = &g->p->grids[grid];
    if (!gr->nwaits) return;
    cg_if s;
    val some = cg_first_tile(g, are_common(g, gr, 0, gr->nwaits));
    int mark = cg_scope(g);
    if (some) cg_if_begin(g, &s, some);
    wait_all(g, grid, tile);
    cg_scope_end(g, mark);
    if (some) cg_if_end(g, &s);
}

/* ---- the producer's waits ---- */

/* No bound: the consumers of the tile wait for no less, and when they give up they say so. */
static void await_one(cg *g, const et_wait *w, block quit) {
    val first = cg_i32(g, 0), need;
    cg_box box;
    cg_for f;
    cg_box_begin(g, w, &box);
    int each = cg_is_flag(g, w->event) ? g->whole->g->devices : 1;
    val total = each > 1 ? cg_muli(g, box.total, each) : box.total, device = NULL;
    bool loop = box.constant != 1 && !(box.most >= 0 && box.most * each <= g->t->wave);
    if (loop) first = cg_for_begin(g, &f, first, total, cg_i32(g, g->t->wave), false, 0, NULL);
    val item = cg_add(g, first, g->lane), zero = cg_i32(g, 0);
    val mine = cg_icmp(g, LLVMIntSLT, item, total);
    if (each > 1) item = of_device(g, item, each, &device);
    val index = cg_box_index(g, &box, cg_select(g, mine, item, zero), &need);
    val word = cg_event_word(g, w->event, cg_select(g, mine, index, zero));
    if (each > 1) need = cg_flag_value(g);
    word = each > 1 ? cg_flag_at(g, word, device) : cg_word(g, word);
    block look = cg_block(g, "look"), no = cg_block(g, "not_yet"), nap = cg_block(g, "nap"),
          over = cg_block(g, "over");
    cg_br(g, look);
    cg_at(g, look);
    val seen = each > 1 ? load_flag(g, word) : cg_atomic_load(g, word);
    val less = cg_icmp(g, LLVMIntULT, seen, need);
    val mask = cg_ballot(g, LLVMBuildAnd(g->b, less, mine, ""));
    cg_cond(g, cg_none(g, mask), over, no);
    cg_at(g, no);
    val flag = LLVMBuildLoad2(g->b, g->i32, cg_flag(g, CG_QUIT), "");
    LLVMSetVolatile(flag, true);
    cg_cond(g, cg_icmp(g, LLVMIntNE, cg_uniform(g, flag), zero), quit, nap);
    cg_at(g, nap);
    g->family->nap(g, CG_NAP);
    cg_br(g, look);
    cg_at(g, over);
    if (loop) cg_for_end(g, &f, NULL);
}

void cg_awaits(cg *g, int grid, block quit) {
    const et_grid *gr = &g->p->grids[grid];
    if (!gr->nawaits) return;
    cg_if first;
    val due = cg_first_tile(g, true);
    if (due) cg_if_begin(g, &first, due);
    int mark = cg_scope(g);
    for (int i = 0; i < gr->nawaits; i++)
        await_one(g, &gr->awaits[i], quit);
    bool flags = false;
    for (int i = 0; i < gr->nawaits; i++)
        flags |= cg_is_flag(g, gr->awaits[i].event);
    if (flags) cg_fence_of(g, LLVMAtomicOrderingAcquire, ET_SCOPE_SYSTEM, false);
    cg_acquire_wave(g, false);
    cg_scope_end(g, mark);
    if (due) cg_if_end(g, &first);
}
