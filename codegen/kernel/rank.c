/* Which rank a workgroup has: what schedules count workgroups by. Ranks are laid out die after die
 * (etrt_abi.h: place), so that a range of ranks is a range of dies; where a workgroup finds its die
 * full it takes a rank of the next that is not. Any one-to-one map gives right results. */
#include "codegen/kernel/kernel.h"
#include <stddef.h>

static val place_word(cg *g, val die, int next) {
    val at = cg_gep(g, cg_gepi(g, g->args, (int64_t)offsetof(struct etrt_kernarg, place)),
                    LLVMBuildZExt(g->b, cg_muli(g, die, 4), g->i64, ""));
    val v = LLVMBuildLoad2(g->b, g->i32, cg_gepi(g, at, 4 * next), "");
    LLVMSetAlignment(v, 4);
    return cg_invariant(g, v);
}

/* The number the launch has for this die: its own, where all are below the count. */
static val launch_die(cg *g, val die, val dies) {
    cg_if odd;
    cg_if_begin(g, &odd, cg_icmp(g, LLVMIntUGE, die, dies));
    val rest = LLVMBuildURem(g->b, die, dies, "");
    cg_if_end(g, &odd);
    return cg_if_value(g, &odd, rest, die);
}

/* By wave 0. One addition per die tried. There are as many places as workgroups and none is given
 * back, so the loop ends within DIES tries. */
static val claim(cg *g, val die, val dies) {
    val first = launch_die(g, die, dies), zero = cg_i32(g, 0);
    block before = cg_here(g), head = cg_block(g, "claim"), full = cg_block(g, "full"),
          out = cg_block(g, "claimed");
    cg_br(g, head);
    cg_at(g, head);
    val at = LLVMBuildPhi(g->b, g->i32, "");
    val lo = place_word(g, at, 0), hi = place_word(g, at, 1);
    val rank =
        cg_add(g, lo, cg_atomic_once(g, LLVMAtomicRMWBinOpAdd, cg_word(g, at), cg_i32(g, 1)));
    cg_cond(g, cg_icmp(g, LLVMIntULT, rank, hi), out, full);
    cg_at(g, full);
    val next = cg_addi(g, at, 1);
    next = cg_select(g, cg_icmp(g, LLVMIntEQ, next, dies), zero, next);
    cg_br(g, head);
    LLVMAddIncoming(at, (val[]){first, next}, (block[]){before, full}, 2);
    cg_at(g, out);
    return rank;
}

/* For reports; by work-item 0. */
static void write_placement(cg *g, val rank, val number) {
    val launch = cg_argument(g, offsetof(struct etrt_kernarg, launch), g->i32);
    const struct {
        size_t at;
        val value;
    } field[] = {
        {offsetof(struct etrt_placement, launch), cg_addi(g, launch, 1)},
        {offsetof(struct etrt_placement, workgroup), number},
        {offsetof(struct etrt_placement, die), cg_die(g)},
        {offsetof(struct etrt_placement, hw_id), g->family->hardware_id(g)},
    };
    val at = LLVMBuildMul(g->b, LLVMBuildZExt(g->b, rank, g->i64, ""),
                          cg_i64(g, sizeof(struct etrt_placement)), "");
    val slot =
        cg_gep(g, cg_gepi(g, g->control, (int64_t)offsetof(struct etrt_control, placement)), at);
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        LLVMSetAlignment(
            LLVMBuildStore(g->b, field[i].value, cg_gepi(g, slot, (int64_t)field[i].at)),
            i ? 4 : 16);
}

/* Without a register for the die there is one, or it is not known: any order will do. */
val cg_rank(cg *g, val number) {
    bool dies = g->t->dies;
    cg_if first, me;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    val rank = number;
    if (dies)
        rank = claim(g, cg_die(g), cg_argument(g, offsetof(struct etrt_kernarg, dies), g->i32));
    cg_if_begin(g, &me, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    if (dies) LLVMBuildStore(g->b, rank, cg_flag(g, CG_RANK));
    write_placement(g, rank, number);
    cg_if_end(g, &me);
    cg_if_end(g, &first);
    if (!dies) return number;
    cg_barrier(g);
    return cg_uniform(g, LLVMBuildLoad2(g->b, g->i32, cg_flag(g, CG_RANK), ""));
}
