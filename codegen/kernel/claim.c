/* Static tiles that are claimed: a counter gives out their numbers in order, and each workgroup
 * asks for its next one while the last step of the one before goes on. */
#include "codegen/kernel/kernel.h"

/* A place of the kernel's own, for one word of each work-item. */
static val word_place(cg *g) {
    block here = cg_here(g);
    LLVMPositionBuilderBefore(g->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(g->fn)));
    val place = LLVMBuildAlloca(g->b, g->i32, "");
    cg_at(g, here);
    return place;
}

static void first_item_begin(cg *g, cg_if *first) {
    cg_if_begin(g, first, cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, 0)));
}

/* By one work-item, whose wave goes on until the number is used. */
static void count_on(cg *g, const cg_claim *c) {
    LLVMBuildStore(g->b, cg_atomic(g, LLVMAtomicRMWBinOpAdd, c->counter, cg_i32(g, 1)), c->place);
}

void cg_claim_next(cg *g, bool repeats) {
    cg_claim *c = g->claim;
    if (!c) return;
    cg_if first, none;
    first_item_begin(g, &first);
    if (repeats) {
        val has = LLVMBuildLoad2(g->b, g->i32, c->place, "");
        cg_if_begin(g, &none, cg_icmp(g, LLVMIntEQ, has, cg_i32(g, CG_UNCLAIMED)));
    }
    count_on(g, c);
    if (repeats) cg_if_end(g, &none);
    cg_if_end(g, &first);
    c->ahead = true;
}

/* To all work-items, which see it behind the next barrier. */
static void share(cg *g, const cg_claim *c) {
    cg_if first;
    first_item_begin(g, &first);
    if (!c->ahead) count_on(g, c);
    LLVMBuildStore(g->b, LLVMBuildLoad2(g->b, g->i32, c->place, ""), cg_flag(g, CG_TILE));
    LLVMBuildStore(g->b, cg_i32(g, CG_UNCLAIMED), c->place);
    cg_if_end(g, &first);
}

void cg_claimed_tiles(cg *g, int grid, val ntiles) {
    val at = cg_muli(g, cg_iteration(g, g->p->grids[grid].loop), ET_LINE_WORDS);
    cg_claim c = {.place = word_place(g),
                  .counter = cg_word(g, cg_addi(g, at, g->queues.claimed[grid]))};
    block before, head = cg_block(g, "claim"), run = cg_block(g, "claimed"),
                  over = cg_block(g, "unclaimed");
    share(g, &c);
    before = cg_here(g);
    cg_br(g, head);
    cg_at(g, head);
    val again = LLVMBuildPhi(g->b, g->i1, "");
    LLVMAddIncoming(again, (val[]){LLVMConstInt(g->i1, 0, false)}, &before, 1);
    cg_barrier(g);
    val tile = cg_uniform(g, LLVMBuildLoad2(g->b, g->i32, cg_flag(g, CG_TILE), ""));
    cg_cond(g, cg_icmp(g, LLVMIntULT, tile, ntiles), run, over);
    cg_at(g, run);
    int mark = cg_scope(g);
    g->claim = &c;
    g->again = again;
    cg_tile(g, grid, tile);
    g->again = NULL;
    g->claim = NULL;
    cg_scope_end(g, mark);
    share(g, &c); /* the barrier at its end is behind all that read its number */
    block latch = cg_here(g);
    LLVMAddIncoming(again, (val[]){LLVMConstInt(g->i1, 1, false)}, &latch, 1);
    cg_br(g, head);
    LLVMMoveBasicBlockAfter(over, latch);
    cg_at(g, over);
    cg_barrier(g); /* nor is the next grid's first one there before */
}
