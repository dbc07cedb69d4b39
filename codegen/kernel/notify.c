/* Notifications: what makes a tile's results visible, and the counters that say so. */
#include "codegen/kernel/kernel.h"
#include "codegen/step/step.h"
#include <string.h>

static val arrive(cg *g, val word) {
    return cg_atomic(g, LLVMAtomicRMWBinOpAdd, cg_word(g, word), cg_i32(g, 1));
}

/* What notifies: the first work-item, or wave 0 where lanes share the work or tasks may become
 * ready.
 */
struct teller {
    bool wave;
    bool begun; /* that the tile has begun, rather than that it is done */
};

static void notify_one(cg *g, const et_notify *n, const struct teller *by) {
    const et_event *e = &g->p->events[n->event];
    bool wakes = cg_wakes(g, n->event, by->begun);
    int64_t stride[ET_MAX_RANK];
    val index[ET_MAX_RANK], one = cg_i32(g, 1);
    cg_strides(g, e, stride);
    val word =
        by->begun ? cg_i32(g, g->queues.begun[n->event]) : cg_event_word(g, n->event, cg_i32(g, 0));
    for (int k = 0; k < e->rank; k++) {
        index[k] = cg_emit_i32(g, n->index[k]);
        if (wakes) index[k] = cg_uniform(g, index[k]);
        word = cg_add(g, word, cg_muli(g, index[k], stride[k]));
    }
    if (!by->wave) {
        val old = arrive(g, word);
        if (cg_is_flag(g, n->event)) cg_tell_devices(g, n->event, word, old);
    } else if (cg_is_flag(g, n->event)) {
        cg_if mine;
        cg_if_begin(g, &mine, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
        cg_tell_devices(g, n->event, word, arrive(g, word));
        cg_if_end(g, &mine);
    } else if (!wakes) {
        cg_atomic_tell(g, LLVMAtomicRMWBinOpAdd, cg_word(g, word), one);
    } else {
        val old = cg_atomic_once(g, LLVMAtomicRMWBinOpAdd, cg_word(g, word), one);
        cg_arrived(g, n->event, by->begun, index, old);
    }
}

/* By the lanes of a wave. */
static void notify_many(cg *g, const et_notify *n) {
    const et_event *e = &g->p->events[n->event];
    bool wakes = cg_wakes(g, n->event, false);
    et_wait w = {.event = n->event, .nvars = n->nvars};
    for (int i = 0; i < e->rank; i++)
        w.lo[i] = w.hi[i] = n->index[i];
    memcpy(w.vars, n->vars, sizeof w.vars);
    cg_box box;
    cg_for f;
    cg_if on;
    val zero = cg_i32(g, 0), inside, need, last = NULL;
    cg_box_begin(g, &w, &box);
    bool loop = box.most < 0 || box.most > g->t->wave;
    val item = g->lane;
    if (loop)
        item =
            cg_add(g, cg_for_begin(g, &f, zero, box.total, cg_i32(g, g->t->wave), false, 0, NULL),
                   g->lane);
    val word = cg_box_place(g, &box, item, &inside, wakes ? &need : NULL);
    cg_if_begin(g, &on, inside);
    val old = arrive(g, word);
    if (wakes) last = cg_icmp(g, LLVMIntEQ, cg_addi(g, old, 1), need);
    cg_if_end(g, &on);
    if (wakes) {
        val phi = LLVMBuildPhi(g->b, g->i1, ""), no = LLVMConstInt(g->i1, 0, false);
        LLVMAddIncoming(phi, (val[]){last, no}, (block[]){on.then, on.otherwise}, 2);
        cg_wake_lanes(g, n->event, phi, cg_addi(g, word, -e->base));
    }
    if (loop) cg_for_end(g, &f, NULL);
}

static void notify_all(cg *g, const et_grid *gr, const struct teller *by) {
    for (int i = 0; i < gr->nnotifies; i++) {
        const et_notify *n = &gr->notifies[i];
        if (by->begun && g->queues.begun[n->event] < 0) continue;
        val when = cg_applies(g, gr, n->when);
        cg_if s;
        int mark = cg_scope(g);
        if (when) cg_if_begin(g, &s, when);
        if (n->nvars)
            notify_many(g, n);
        else
            notify_one(g, n, by);
        if (when) cg_if_end(g, &s);
        cg_scope_end(g, mark);
    }
}

void cg_begin(cg *g, int grid) {
    const et_grid *gr = &g->p->grids[grid];
    bool any = false;
    for (int i = 0; i < gr->nnotifies; i++)
        any |= g->queues.begun[gr->notifies[i].event] >= 0;
    if (!any) return;
    cg_if me;
    cg_if_begin(g, &me, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    notify_all(g, gr, &(struct teller){.wave = true, .begun = true});
    cg_if_end(g, &me);
}

/* What a grid's notifications need before them. */
struct telling {
    struct teller by;
    bool weak, within, fenced;
};

static struct telling telling_of(cg *g, const et_grid *gr) {
    struct telling t = {.within = true};
    for (int i = 0; i < gr->nnotifies; i++) {
        t.weak |= cg_weakened(g, gr->notifies[i].event);
        t.within &= cg_within_die(g, gr->notifies[i].event);
        t.fenced |= !g->p->events[gr->notifies[i].event].unfenced;
        t.by.wave |= gr->notifies[i].nvars > 0 || cg_wakes(g, gr->notifies[i].event, false);
    }
    return t;
}

/* By the wave, or its first work-item. */
static void tell(cg *g, const et_grid *gr, const struct telling *t) {
    if (!t->within &&
        t->fenced) /* else the barrier saw to it that all stores have reached the die's cache */
        cg_fence_of(g, LLVMAtomicOrderingRelease,
                    cg_notifies_flags(g, gr) ? ET_SCOPE_SYSTEM : ET_SCOPE_DEVICE, t->weak);
    notify_all(g, gr, &t->by);
}

void cg_notify_sent(cg *g, int grid) {
    const et_grid *gr = &g->p->grids[grid];
    struct telling t = telling_of(g, gr);
    if (t.by.wave) {
        tell(g, gr, &t);
        return;
    }
    cg_if me;
    cg_if_begin(g, &me, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    tell(g, gr, &t);
    cg_if_end(g, &me);
}

/* ---- by a wave of its own ----
 *
 * Where weights stream, the fence of a tile waits behind what is in flight, while the other waves
 * begin the next tile, of which that wave has its part. So of tiles that are not a workgroup's last
 * of their grid a wave beside the producer tells, of one after the other. It visits the grids as
 * the producer does. */

bool cg_tells_apart(cg *g, int grid) {
    const et_grid *gr = &g->p->grids[grid];
    if (!g->tell_at || !gr->nawaits || !gr->nnotifies || !cg_streamed(g, grid)) return false;
    return !telling_of(g, gr).by.wave && !cg_notifies_flags(g, gr);
}

void cg_tell_tile(cg *g, int grid, val tile) {
    const et_grid *gr = &g->p->grids[grid];
    if (!g->more || !cg_tells_apart(g, grid)) return;
    struct telling t = telling_of(g, gr);
    cg_if more, me;
    cg_if_begin(g, &more, g->more);
    int mark = cg_scope(g);
    g->f = &g->p->funcs[gr->func];
    cg_bind_tile(g, gr, tile);
    cg_tell_await(g, g->producer);
    cg_if_begin(g, &me, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    tell(g, gr, &t);
    cg_if_end(g, &me);
    cg_tell_done_with(g);
    cg_scope_end(g, mark);
    cg_if_end(g, &more);
}

/* Leaves it to that wave, if the workgroup has another tile of the grid; true where it does not. */
static val leave_it(cg *g, int grid) {
    if (!g->more || !cg_tells_apart(g, grid)) return NULL;
    cg_if later, first;
    cg_if_begin(g, &later, g->more);
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    cg_tell_later(g);
    cg_if_end(g, &first);
    cg_if_end(g, &later);
    return LLVMBuildNot(g->b, g->more, "");
}

/* ---- of a tile ---- */

/* The wave that tells others of a tile. Where nothing streams, the last one: what its fence waits
 * for, and what the first wave polls for the next tile, is then in flight at once. A trace has
 * what the first one does. */
void cg_notifies(cg *g, int grid) {
    const et_grid *gr = &g->p->grids[grid];
    if (!gr->nnotifies) {
        cg_barrier(g); /* the next tile reuses the local buffers */
        return;
    }
    struct telling t = telling_of(g, gr);
    if (cg_sends_apart(g, grid)) {
        cg_leave_sending(g);
        return;
    }
    if (t.fenced)
        cg_barrier_drain(g);
    else
        cg_barrier(g);
    val last = leave_it(g, grid);
    int wave = cg_telling_wave(g);
    val teller = t.by.wave ? cg_i32(g, wave) : cg_i32(g, wave * g->t->wave);
    val is = cg_icmp(g, LLVMIntEQ, t.by.wave ? g->wave : g->tid, teller);
    cg_if me;
    cg_if_begin(g, &me, last ? LLVMBuildAnd(g->b, is, last, "") : is);
    tell(g, gr, &t);
    cg_if_end(g, &me);
}
