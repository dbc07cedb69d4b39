/* Atomics, fences and bounded loops: what waits and queues are made of. */
#include "codegen/emit/emit.h"
#include <stddef.h>

val cg_word(cg *g, val index) {
    return cg_gep(g, g->events, LLVMBuildZExt(g->b, cg_muli(g, index, 4), g->i64, ""));
}

val cg_atomic_load(cg *g, val ptr) {
    val v = LLVMBuildLoad2(g->b, g->i32, ptr, "");
    LLVMSetAlignment(v, 4);
    LLVMSetOrdering(v, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(v, g->sync[ET_SCOPE_DEVICE]);
    return v;
}

void cg_atomic_store(cg *g, val ptr, val v) {
    val s = LLVMBuildStore(g->b, v, ptr);
    LLVMSetAlignment(s, 4);
    LLVMSetOrdering(s, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(s, g->sync[ET_SCOPE_DEVICE]);
}

val cg_atomic(cg *g, LLVMAtomicRMWBinOp op, val ptr, val v) {
    return LLVMBuildAtomicRMWSyncScope(g->b, op, ptr, v, LLVMAtomicOrderingMonotonic,
                                       g->sync[ET_SCOPE_DEVICE]);
}

val cg_atomic_once(cg *g, LLVMAtomicRMWBinOp op, val ptr, val v) {
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    val old = cg_atomic(g, op, ptr, v);
    cg_if_end(g, &first);
    return cg_uniform(g, cg_if_value(g, &first, old, cg_i32(g, 0)));
}

void cg_atomic_tell(cg *g, LLVMAtomicRMWBinOp op, val ptr, val v) {
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    cg_atomic(g, op, ptr, v);
    cg_if_end(g, &first);
}

val cg_ballot(cg *g, val pred) {
    return g->family->ballot(g, pred);
}

val cg_none(cg *g, val mask) {
    return cg_icmp(g, LLVMIntEQ, mask, LLVMConstInt(LLVMTypeOf(mask), 0, false));
}

val cg_first_lane(cg *g, val mask) {
    LLVMTypeRef t = LLVMTypeOf(mask);
    val first = cg_call(g, "llvm.cttz", 1, &t, 2, (val[]){mask, LLVMConstInt(g->i1, 1, 0)});
    return t == g->i64 ? LLVMBuildTrunc(g->b, first, g->i32, "") : first;
}

val cg_count_lanes(cg *g, val mask) {
    LLVMTypeRef t = LLVMTypeOf(mask);
    val n = cg_call(g, "llvm.ctpop", 1, &t, 1, &mask);
    return t == g->i64 ? LLVMBuildTrunc(g->b, n, g->i32, "") : n;
}

val cg_atomic_swap(cg *g, val ptr, val from, val to) {
    unsigned scope = g->sync[ET_SCOPE_DEVICE];
    val swap = LLVMBuildAtomicCmpXchgSyncScope(g->b, ptr, from, to, LLVMAtomicOrderingMonotonic,
                                               LLVMAtomicOrderingMonotonic, scope);
    return LLVMBuildExtractValue(g->b, swap, 1, "");
}

val cg_atomic_lanes(cg *g, LLVMAtomicRMWBinOp op, val active, val ptr, val v, val otherwise) {
    cg_if mine;
    cg_if_begin(g, &mine, active);
    val old = cg_atomic(g, op, ptr, v);
    cg_if_end(g, &mine);
    return cg_if_value(g, &mine, old, otherwise);
}

void cg_fence(cg *g, LLVMAtomicOrdering order, bool weak) {
    cg_fence_of(g, order, ET_SCOPE_DEVICE, weak);
}

void cg_fence_of(cg *g, LLVMAtomicOrdering order, et_scope scope, bool weak) {
    et_weaken how = weak ? g->opt->weaken : ET_WEAKEN_NOTHING;
    bool acquire = order == LLVMAtomicOrderingAcquire;
    if (how == ET_WEAKEN_FENCE || how == (acquire ? ET_WEAKEN_ACQUIRE : ET_WEAKEN_RELEASE)) return;
    if (how == ET_WEAKEN_SCOPE) scope = ET_SCOPE_WORKGROUP;
    LLVMBuildFenceSyncScope(g->b, order, g->sync[scope], "");
}

void cg_wave_meets(cg *g) {
    if (g->family->wave_meets) g->family->wave_meets(g);
}

void cg_acquire_wave(cg *g, bool weak) {
    cg_fence(g, LLVMAtomicOrderingAcquire, weak);
    cg_wave_meets(g);
}

/* ---- loops that wait for other workgroups ---- */

val cg_quits(cg *g, val abort) {
    if (g->whole->g->devices) return cg_icmp(g, LLVMIntEQ, abort, cg_i32(g, ETRT_ABORT_QUIT));
    return cg_icmp(g, LLVMIntNE, abort, cg_i32(g, 0));
}

void cg_spin_begin(cg *g, cg_spin *s) {
    s->others = false;
    block before = cg_here(g);
    val zero64 = cg_i64(g, 0), zero = cg_i32(g, 0);
    s->head = cg_block(g, "poll");
    cg_br(g, s->head);
    cg_at(g, s->head);
    s->start = LLVMBuildPhi(g->b, g->i64, "");
    s->tries = LLVMBuildPhi(g->b, g->i32, "");
    LLVMAddIncoming(s->start, &zero64, &before, 1);
    LLVMAddIncoming(s->tries, &zero, &before, 1);
}

void cg_spin_again(cg *g, cg_spin *s) {
    block here = cg_here(g), look = cg_block(g, "look"), late = cg_block(g, "late"),
          nap = cg_block(g, "nap"), brief = cg_block(g, "brief"), longer = cg_block(g, "longer"),
          again = cg_block(g, "again");
    int looks = g->family->looks;
    if (looks > 1) {
        val some = LLVMBuildAnd(g->b, s->tries, cg_i32(g, looks - 1), "");
        cg_cond(g, cg_icmp(g, LLVMIntEQ, some, cg_i32(g, looks - 1)), look, again);
    } else {
        cg_br(g, look);
    }
    cg_at(g, look);
    s->expired = cg_block(g, "expired");
    s->aborted = cg_block(g, "quit");
    val aborted = cg_uniform(g, cg_atomic_load(g, g->control));
    val now = g->family->clock(g);
    val since = cg_select(g, cg_icmp(g, LLVMIntEQ, s->start, cg_i64(g, 0)), now, s->start);
    cg_cond(g, cg_quits(g, aborted), s->aborted, late);

    cg_at(g, late);
    val waited = LLVMBuildSub(g->b, now, since, "");
    val over = cg_icmp(g, LLVMIntUGT, waited, g->wait_ticks);
    if (g->whole->g->devices) {
        int from = s->others ? ETRT_ABORT_ASK : ETRT_ABORT_ASK_ALL;
        val asked = cg_icmp(g, LLVMIntUGE, aborted, cg_i32(g, from));
        over = LLVMBuildOr(g->b, over, asked, "");
    }
    cg_cond(g, over, s->expired, nap);

    cg_at(g, nap); /* short naps first: most waits end within a microsecond */
    cg_cond(g, cg_icmp(g, LLVMIntULT, s->tries, cg_i32(g, 16LL * looks)), brief, longer);
    cg_at(g, brief);
    g->family->nap(g, CG_NAP);
    cg_br(g, again);
    cg_at(g, longer);
    g->family->nap(g, 16 * CG_NAP);
    cg_br(g, again);
    cg_at(g, again);
    val begun = since;
    if (looks > 1) {
        begun = LLVMBuildPhi(g->b, g->i64, "");
        LLVMAddIncoming(begun, (val[]){s->start, since, since}, (block[]){here, brief, longer}, 3);
    }
    val more = cg_addi(g, s->tries, 1);
    cg_br(g, s->head);
    LLVMAddIncoming(s->start, &begun, &again, 1);
    LLVMAddIncoming(s->tries, &more, &again, 1);
}

int cg_telling_wave(const cg *g) {
    bool last = g->family->cumulative && !g->queues.nregions && !g->p->ring.slots &&
                !g->opt->profile && !g->tags.bytes;
    return last ? g->p->workgroup / g->t->wave - 1 : 0;
}
