/* Several models in one kernel. All workgroups run their parts of the models of a launch in one
 * order. Tasks of a model wait for no other model, so workgroups with parts in several cannot
 * deadlock. */
#include "codegen/kernel/kernel.h"
#include <stddef.h>

static val part_word(cg *g, size_t field) {
    size_t at = cg_part_args(g) + (size_t)(g->part - 1) * sizeof(struct etrt_part);
    return cg_argument(g, at + field, g->i32);
}

val cg_part_has(cg *g, val model, val rank) {
    val at = LLVMBuildZExt(g->b, cg_muli(g, model, sizeof(struct etrt_part)), g->i64, "");
    cg of = *g;
    of.args = cg_gep(g, g->args, at);
    size_t first = cg_part_args(g) + offsetof(struct etrt_part, first);
    size_t count = cg_part_args(g) + offsetof(struct etrt_part, count);
    val number = LLVMBuildSub(g->b, rank, cg_argument(&of, first, g->i32), "");
    return cg_icmp(g, LLVMIntULT, number, cg_argument(&of, count, g->i32));
}

val cg_part_workgroups(cg *g) {
    return part_word(g, offsetof(struct etrt_part, count));
}

static void visit_own(cg *g) {
    int end = g->p->first + g->p->count;
    for (int i = g->p->first; i < end;) {
        int n = 0;
        while (i + n < end && et_item_model(g->p, &g->p->items[i + n]) == g->part - 1)
            n++;
        cg_visit(g, i, n);
        i += n ? n : 1;
    }
}

void cg_tell_done(cg *g, int model) {
    size_t word = offsetof(struct etrt_report, done) + 4 * (size_t)model;
    unsigned system = g->sync[ET_SCOPE_SYSTEM];
    g->args = LLVMGetParam(g->fn, 0);
    cg_load_arguments(g);
    cg_barrier_drain(g);
    cg_if me, last;
    cg_if_begin(g, &me, cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, 0)));
    cg_fence(g, LLVMAtomicOrderingRelease, false);
    val counter = cg_word(g, cg_i32(g, g->done_words + model));
    val left = cg_addi(g, cg_atomic(g, LLVMAtomicRMWBinOpAdd, counter, cg_i32(g, 1)), 1);
    cg_if_begin(g, &last, cg_icmp(g, LLVMIntEQ, left, g->nwg));
    cg_fence(g, LLVMAtomicOrderingAcquire, false);
    val report = cg_argument(g, offsetof(struct etrt_kernarg, report), g->gptr);
    val launch = cg_launch(g);
    LLVMBuildFenceSyncScope(g->b, LLVMAtomicOrderingRelease, system, "");
    val tell = LLVMBuildStore(g->b, cg_addi(g, launch, 1), cg_gepi(g, report, (int64_t)word));
    LLVMSetAlignment(tell, 4);
    LLVMSetOrdering(tell, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(tell, system);
    cg_if_end(g, &last);
    cg_if_end(g, &me);
}

/* i1: the launch and this workgroup run it, or the step is one of it. What local memory says of the
 * step may be that of the next one by now. */
static val runs(cg *g, int model) {
    if (!g->in_step) return cg_icmp(g, LLVMIntULT, g->wg, cg_part_workgroups(g));
    return cg_icmp(g, LLVMIntEQ, g->step_model, cg_i32(g, model));
}

void cg_models(cg *g) {
    for (int m = 0; m < g->p->g->nmodels; m++) {
        block mine = cg_block(g, "model"), next = cg_block(g, "next");
        cg outside = *g;
        g->part = m + 1;
        g->args = LLVMGetParam(g->fn, 0);
        if (!g->in_step)
            g->wg =
                LLVMBuildSub(g->b, g->rank, part_word(g, offsetof(struct etrt_part, first)), "");
        cg_cond(g, runs(g, m), mine, next);
        cg_at(g, mine);
        cg_isolate(g);
        cg_load_arguments(g);
        if (g->in_step && !g->producer) cg_clear_next_events(g, g->wg);
        if (g->in_step) cg_maps_begin(g);
        g->base = cg_i32(g, 0);
        bool enters = cg_ring_enters(g, m);
        if (!g->producer) cg_seed(g);
        if (cg_model_sliced(g, m)) cg_meet(g);
        if (enters) visit_own(g);
        if (g->in_step) cg_maps_end(g);
        if (!g->producer) cg_tell_done(g, m);
        cg_br(g, next);
        *g = outside;
        LLVMMoveBasicBlockAfter(next, LLVMGetLastBasicBlock(g->fn));
        cg_at(g, next);
    }
}
