/* Events of the system (ir/program/tags.h): each device counts its own arrivals; the last of them
 * stores a flag, the launch's number, into the inbox of every device. */
#include "codegen/kernel/kernel.h"

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
