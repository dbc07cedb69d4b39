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

/* To all work-items, behind the next barrier. */
static void leave(cg *g, const cg_claim *c) {
    cg_if first;
    first_item_begin(g, &first);
    if (!c->ahead) count_on(g, c);
    LLVMBuildStore(g->b, LLVMBuildLoad2(g->b, g->i32, c->place, ""), cg_flag(g, CG_TILE));
    LLVMBuildStore(g->b, cg_i32(g, CG_UNCLAIMED), c->place);
    cg_if_end(g, &first);
}

/* The word that is written was read at the tile's begin, before the barrier of its waits. */
void cg_claim_leave(cg *g, int grid) {
    cg_claim *c = g->claim;
    if (!c || !cg_waits_each_tile(g, grid)) return;
    leave(g, c);
    c->left = true;
}

/* The barrier is here and not where the loop begins: LLVM would put together what two places store
 * before one barrier, and the one that stores would then wait for the others, which wait for its
 * number. */
static void share(cg *g, const cg_claim *c) {
    if (c->left) return;
    leave(g, c);
    cg_barrier(g);
}

/* Runs TILE of a grid, asks for the next number and leaves it to all. */
static void run_claimed(cg *g, cg_claim *c, int grid, val tile, val again) {
    int mark = cg_scope(g);
    c->ahead = c->left = false;
    g->claim = c;
    g->again = again;
    cg_tile(g, grid, tile);
    g->again = NULL;
    g->claim = NULL;
    cg_scope_end(g, mark);
    share(g, c); /* behind all that read the tile's number */
}

/* Tiles of a block of the grid. */
static val block_tiles(cg *g, const et_grid *gr) {
    val n = cg_i32(g, 1);
    for (int i = 1; i < g->p->funcs[gr->func].ncoords; i++)
        n = cg_mul(g, n, cg_emit_i32(g, gr->extent[i]));
    return n;
}

/* As et_in_turn: which of two grids number AT of their tiles belongs to, an i1 for the second, and
 * in *TILE which of its tiles it is. */
static val in_turn(cg *g, const int *grid, val at, val *tile) {
    const et_grid *first = &g->p->grids[grid[0]], *second = &g->p->grids[grid[1]];
    val a = block_tiles(g, first), b = block_tiles(g, second), both = cg_add(g, a, b);
    val blocks = cg_emit_i32(g, first->extent[0]), zero = cg_i32(g, 0);
    val ahead = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){cg_i32(g, second->behind), blocks});
    val begun = cg_mul(g, ahead, a), turns = LLVMBuildSub(g->b, blocks, ahead, "");
    val all = cg_mul(g, turns, both);
    val turn = LLVMBuildSub(g->b, at, begun, "");
    val pair = LLVMBuildUDiv(g->b, turn, both, ""), of = LLVMBuildURem(g->b, turn, both, "");
    val starts = cg_icmp(g, LLVMIntSLT, turn, zero), ends = cg_icmp(g, LLVMIntSGE, turn, all);
    val one = cg_add(g, cg_mul(g, cg_add(g, pair, ahead), a), LLVMBuildSub(g->b, of, b, ""));
    val other = cg_add(g, cg_mul(g, pair, b), of);
    val rest = cg_add(g, LLVMBuildSub(g->b, turn, all, ""), cg_mul(g, turns, b));
    val is = LLVMBuildOr(g->b, ends, cg_icmp(g, LLVMIntULT, of, b), "");
    is = LLVMBuildAnd(g->b, is, LLVMBuildNot(g->b, starts, ""), "");
    *tile = cg_select(g, starts, at, cg_select(g, ends, rest, cg_select(g, is, other, one)));
    return is;
}

void cg_claimed_tiles(cg *g, const int *grid, int n, val ntiles) {
    val at = cg_muli(g, cg_iteration(g, g->p->grids[grid[0]].loop), ET_LINE_WORDS);
    cg_claim c = {.place = word_place(g),
                  .counter = cg_word(g, cg_addi(g, at, g->queues.claimed[grid[0]]))};
    block before, head = cg_block(g, "claim"), run = cg_block(g, "claimed"),
                  over = cg_block(g, "unclaimed");
    share(g, &c);
    before = cg_here(g);
    cg_br(g, head);
    cg_at(g, head);
    val again = LLVMBuildPhi(g->b, g->i1, "");
    LLVMAddIncoming(again, (val[]){LLVMConstInt(g->i1, 0, false)}, &before, 1);
    val tile = cg_uniform(g, LLVMBuildLoad2(g->b, g->i32, cg_flag(g, CG_TILE), ""));
    cg_cond(g, cg_icmp(g, LLVMIntULT, tile, ntiles), run, over);
    cg_at(g, run);
    if (n == 1) {
        run_claimed(g, &c, grid[0], tile, again);
    } else {
        block of[] = {cg_block(g, "first"), cg_block(g, "second")}, next = cg_block(g, "next");
        val second = in_turn(g, grid, tile, &tile);
        cg_cond(g, second, of[1], of[0]);
        for (int i = 0; i < n; i++) {
            cg outside = *g;
            cg_at(g, of[i]);
            cg_isolate(g);
            cg_load_arguments(g);
            run_claimed(g, &c, grid[i], tile, NULL);
            cg_br(g, next);
            *g = outside;
        }
        LLVMMoveBasicBlockAfter(next, LLVMGetLastBasicBlock(g->fn));
        cg_at(g, next);
    }
    block latch = cg_here(g);
    LLVMAddIncoming(again, (val[]){LLVMConstInt(g->i1, 1, false)}, &latch, 1);
    cg_br(g, head);
    LLVMMoveBasicBlockAfter(over, latch);
    cg_at(g, over);
    cg_barrier(g); /* nor is the next grid's first one there before */
}
