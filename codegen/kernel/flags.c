/* Events of the system (ir/program/tags.h): each device counts its own arrivals; the last of them
 * stores a flag, the launch's number, into the inbox of every device. And waves that send. */
#include "codegen/kernel/kernel.h"
#include "codegen/step/step.h"
#include "ir/program/deal.h"

bool cg_is_flag(const cg *g, int event) {
    return g->whole->g->devices && g->p->events[event].scope == ET_SCOPE_SYSTEM;
}

bool cg_waits_for_flags(const cg *g, const et_grid *gr) {
    bool any = false;
    for (int i = 0; i < gr->nwaits; i++)
        any |= cg_is_flag(g, gr->waits[i].event);
    return any;
}

bool cg_notifies_flags(const cg *g, const et_grid *gr) {
    bool any = false;
    for (int i = 0; i < gr->nnotifies; i++)
        any |= cg_is_flag(g, gr->notifies[i].event);
    return any;
}

val cg_flag_value(cg *g) {
    val launch = LLVMBuildAnd(g->b, cg_launch(g), cg_i32(g, g->tags.launches - 1), "");
    return cg_addi(g, cg_muli(g, launch, g->tags.numbers), 1);
}

static val place(cg *g, val inbox, val word, val device) {
    val at = cg_add(g, cg_muli(g, word, g->whole->g->devices), device);
    at = LLVMBuildZExt(g->b, cg_muli(g, at, 4), g->i64, "");
    return cg_gep(g, cg_gepi(g, inbox, g->tags.flags), at);
}

val cg_flag_at(cg *g, val word, val device) {
    return place(g, g->own_inbox, word, device);
}

void cg_tell_devices(cg *g, int event, val word, val old) {
    cg_if last;
    val count = cg_event_need(g, event, NULL); /* which no tensor decides (tags.c) */
    val own = LLVMBuildTrunc(g->b, g->device, g->i32, "");
    cg_if_begin(g, &last, cg_icmp(g, LLVMIntEQ, cg_addi(g, old, 1), count));
    /* What others arrived with is told by this flag, too. */
    cg_fence_of(g, LLVMAtomicOrderingAcquireRelease, ET_SCOPE_SYSTEM, cg_weakened(g, event));
    val flag = cg_flag_value(g);
    for (int d = 0; d < g->whole->g->devices; d++) {
        val store = LLVMBuildStore(g->b, flag, place(g, g->inbox[d], word, own));
        LLVMSetAlignment(store, 4);
        LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
        LLVMSetAtomicSyncScopeID(store, g->sync[ET_SCOPE_SYSTEM]);
    }
    cg_if_end(g, &last);
}

/* ---- sends ----
 *
 * A store to another device holds up the SM that makes it until the link has taken it. So tiles of
 * tasks that are apart store what is for others in their own device's inbox, where what they store
 * for others has its place too, and waves beside those that run tiles copy it from there to the
 * others', and tell that the tile is done, while the next tile runs. They visit the grids as the
 * others do. */

bool cg_sends_apart(cg *g, int grid) {
    return g->send_at && g->p->grids[grid].apart;
}

void cg_leave_sending(cg *g) {
    cg_if first;
    cg_barrier(g);
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    cg_send_later(g);
    cg_if_end(g, &first);
}

void cg_send_tile(cg *g, int grid, val tile) {
    const et_grid *gr = &g->p->grids[grid];
    if (!cg_sends_apart(g, grid)) return;
    int mark = cg_scope(g);
    g->f = &g->p->funcs[gr->func];
    g->task = g->first_task + grid;
    cg_bind_tile(g, gr, tile);
    cg_send_await(g, g->producer);
    cg_if own, first;
    if (gr->deal.rows) {
        val owner = cg_emit_i32(g, et_deal_owner(g->p, gr));
        val device = LLVMBuildTrunc(g->b, g->device, g->i32, "");
        cg_if_begin(g, &own, cg_icmp(g, LLVMIntEQ, owner, device));
    }
    int inner = cg_scope(g);
    cg_step_send(g, &g->f->steps[g->f->nsteps - 1]);
    cg_scope_end(g, inner);
    if (gr->deal.rows) cg_if_end(g, &own);
    cg_sent(g, g->producer, &first);
    cg_notify_sent(g, grid);
    cg_send_done_with(g, &first);
    cg_scope_end(g, mark);
}
