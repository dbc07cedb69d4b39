/* A kernel that stays (etrt_abi.h: struct etrt_resident): workgroups look at the board for a step
 * that has their rank, run it, and look again.
 *
 * The first workgroup of each model also reads the model's mailbox and writes new steps to the
 * board. That and closing the board's gate are told apart by one word that both modify: who adds to
 * it a step that is being written sees whether it is closed, and who closes it does so only at the
 * value that it has seen, with no step being written. So a step is taken by all of its workgroups
 * or by none, and every wait for one has a bound: idle_ticks without a new step close the gate. */
#include "codegen/kernel/kernel.h"
#include "codegen/step/step.h"
#include <stddef.h>

enum { CLOSED = 1, WRITING = 2, WRITTEN = 256 - WRITING, OPEN_BITS = 255 };
enum { MOST_SYMBOLS = 64 };

static int models(const cg *g) {
    return g->whole->g->nmodels ? g->whole->g->nmodels : 1;
}

const char *cg_resident_problem(cg *g) {
    return !g->opt->resident      ? NULL
           : cg_is_sequence(g)    ? "a kernel that stays is one, not a sequence of kernels"
           : g->opt->profile      ? "a kernel that stays records no profile"
           : g->whole->g->devices ? "a kernel that stays runs on one device"
           : cg_has_zeros(g)      ? "a kernel that stays does not skip zeros of weights"
           : g->whole->g->nmodels && g->whole->nvariants
               ? "a kernel that stays has no variants of several models"
           : et_sym_count(g->x) > MOST_SYMBOLS ? "a kernel that stays has at most 64 dims"
                                               : NULL;
}

/* ---- what a workgroup knows of its step ---- */

int cg_step_bytes(const cg *g) {
    if (!g->opt->resident) return 0;
    return (4 * (CG_STEP_SYMBOLS + et_sym_count(g->x)) + 15) / 16 * 16;
}

static val place(cg *g, int word) {
    return cg_gepi(g, g->lds, g->step_at + 4 * (int64_t)word);
}

/* An assembler that finds for itself what is uniform is not told; where it is so scalars cost the
 * same registers as all else, and these few are kept. */
val cg_step_word(cg *g, int word) {
    if (g->step_words && !g->in_body) return g->step_words[word];
    val v = LLVMBuildLoad2(g->b, g->i32, place(g, word), "");
    return g->family->same ? v : cg_uniform(g, v);
}

val cg_launch(cg *g) {
    return g->opt->resident ? cg_step_word(g, CG_STEP_NUMBER)
                            : cg_argument(g, offsetof(struct etrt_kernarg, launch), g->i32);
}

val cg_step_events(cg *g, bool next) {
    int64_t pitch = etrt_events_pitch((uint32_t)g->event_words);
    val first = cg_argument(g, offsetof(struct etrt_kernarg, events_next), g->gptr);
    val odd = LLVMBuildAnd(g->b, cg_step_word(g, CG_STEP_NUMBER), cg_i32(g, 1), "");
    val second = cg_icmp(g, next ? LLVMIntEQ : LLVMIntNE, odd, cg_i32(g, 0));
    int64_t at = g->part ? 2 * pitch * (g->part - 1) : 0;
    return cg_select(g, second, cg_gepi(g, first, at + pitch), cg_gepi(g, first, at));
}

/* ---- mailbox and board ---- */

static val memory(cg *g, size_t field) {
    size_t at = cg_last_args(g) - sizeof(struct etrt_resident);
    cg of = *g;
    of.args = LLVMGetParam(g->fn, 0);
    return cg_argument(&of, at + field,
                       field == offsetof(struct etrt_resident, idle_ticks) ? g->i64 : g->gptr);
}

static val mailbox(cg *g) {
    return memory(g, offsetof(struct etrt_resident, mailbox));
}

static val board(cg *g) {
    return memory(g, offsetof(struct etrt_resident, board));
}

static val entry(cg *g, val first, val model) {
    val at = cg_muli(g, model, etrt_mail_pitch((uint32_t)et_sym_count(g->x)));
    return cg_gepi(g, cg_gep(g, first, LLVMBuildZExt(g->b, at, g->i64, "")),
                   sizeof(struct etrt_mail));
}

static val symbol(cg *g, val entry, val number) {
    return cg_gepi(g, cg_gep(g, entry, LLVMBuildZExt(g->b, cg_muli(g, number, 4), g->i64, "")), 8);
}

static val relaxed(cg *g, val access, LLVMTypeRef t, et_scope scope) {
    LLVMSetAlignment(access, t == g->i64 ? 8 : 4);
    LLVMSetOrdering(access, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(access, g->sync[scope]);
    return access;
}

static val look_at(cg *g, val ptr, LLVMTypeRef t, et_scope scope) {
    return relaxed(g, LLVMBuildLoad2(g->b, t, ptr, ""), t, scope);
}

static void write_to(cg *g, val ptr, val v) {
    relaxed(g, LLVMBuildStore(g->b, v, ptr), LLVMTypeOf(v), ET_SCOPE_DEVICE);
}

static val low(cg *g, val word) {
    return LLVMBuildTrunc(g->b, word, g->i32, "");
}

static val high(cg *g, val word) {
    return low(g, LLVMBuildLShr(g->b, word, cg_i64(g, 32), ""));
}

static val of_lane(cg *g, val v, val lane) {
    return g->family->read_lane(g, v, lane);
}

static void acquire_all(cg *g) {
    LLVMBuildFenceSyncScope(g->b, LLVMAtomicOrderingAcquire, g->sync[ET_SCOPE_SYSTEM], "");
    cg_wave_meets(g);
}

static void release(cg *g) {
    cg_wave_meets(g);
    cg_fence(g, LLVMAtomicOrderingRelease, false);
    cg_wave_meets(g);
}

/* A wave copies the symbols of a step to the board, or from there to local memory. */
static void copy_symbols(cg *g, val from, val to) {
    int n = et_sym_count(g->x);
    for (int i = 0; i < n; i += g->t->wave) {
        val at = cg_addi(g, g->lane, i);
        cg_if mine;
        cg_if_begin(g, &mine, cg_icmp(g, LLVMIntULT, at, cg_i32(g, n)));
        val v = look_at(g, symbol(g, from, at), g->i32, to ? ET_SCOPE_SYSTEM : ET_SCOPE_DEVICE);
        if (to)
            write_to(g, symbol(g, to, at), v);
        else
            LLVMBuildStore(g->b, v, cg_gep(g, place(g, CG_STEP_SYMBOLS), cg_muli(g, at, 4)));
        cg_if_end(g, &mine);
    }
}

/* ---- steps from the mailbox to the board ---- */

static void put_on_board(cg *g, val word) {
    cg_if open;
    val one = cg_i32(g, WRITING), from = entry(g, mailbox(g), g->home);
    val to = entry(g, board(g), g->home);
    acquire_all(g);
    val old = cg_atomic_once(g, LLVMAtomicRMWBinOpAdd, board(g), one);
    val closed = LLVMBuildAnd(g->b, old, cg_i32(g, CLOSED), "");
    cg_if_begin(g, &open, cg_icmp(g, LLVMIntEQ, closed, cg_i32(g, 0)));
    copy_symbols(g, from, to);
    release(g);
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    write_to(g, to, word);
    cg_if_end(g, &first);
    release(g);
    cg_if_end(g, &open);
    cg_atomic_tell(g, LLVMAtomicRMWBinOpAdd, board(g), cg_i32(g, WRITTEN));
}

/* By the first workgroup of a model: lane 0 looks for a step, lane 1 for whether to end. NUMBER is
 * that of the step on the board. */
static void read_mail(cg *g, val number) {
    cg_if fresh, quits;
    val first = cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0));
    val at = cg_select(g, first, entry(g, mailbox(g), g->home), mailbox(g));
    val word = look_at(g, at, g->i64, ET_SCOPE_SYSTEM);
    val top = high(g, word), posted = of_lane(g, top, cg_i32(g, 0));
    val quit = of_lane(g, top, cg_i32(g, 1)), zero = cg_i32(g, 0);
    cg_if_begin(g, &fresh, cg_icmp(g, LLVMIntNE, posted, number));
    put_on_board(g, word);
    cg_if_end(g, &fresh);
    cg_if_begin(g, &quits, cg_icmp(g, LLVMIntNE, quit, zero));
    cg_atomic_tell(g, LLVMAtomicRMWBinOpOr, board(g), cg_i32(g, CLOSED));
    cg_if_end(g, &quits);
}

/* ---- looking for a step ---- */

/* A look at the board: lane m has model m's, the one after the last the gate. */
struct look {
    val number, range, mine; /* mine: a step that this workgroup has not run and is to run */
};

static struct look look(cg *g) {
    int n = models(g);
    val is = cg_icmp(g, LLVMIntULT, g->lane, cg_i32(g, n)), zero = cg_i32(g, 0);
    val model = cg_select(g, is, g->lane, zero), at = board(g);
    val word = look_at(g, cg_select(g, is, entry(g, at, model), at), g->i64, ET_SCOPE_DEVICE);
    struct look k = {high(g, word), low(g, word), NULL};
    val seen =
        LLVMBuildLoad2(g->b, g->i32, cg_gep(g, place(g, CG_STEP_SEEN), cg_muli(g, model, 4)), "");
    val first = LLVMBuildLShr(g->b, k.range, cg_i32(g, 16), "");
    val count = LLVMBuildAnd(g->b, k.range, cg_i32(g, 0xffff), "");
    val in = cg_icmp(g, LLVMIntULT, LLVMBuildSub(g->b, g->rank, first, ""), count);
    k.mine = LLVMBuildAnd(g->b, is, cg_icmp(g, LLVMIntNE, k.number, seen), "");
    k.mine = LLVMBuildAnd(g->b, k.mine, in, "");
    return k;
}

static void take(cg *g, const struct look *k, val mask) {
    val model = cg_first_lane(g, mask);
    val number = of_lane(g, k->number, model), range = of_lane(g, k->range, model);
    acquire_all(g);
    copy_symbols(g, entry(g, board(g), model), NULL);
    cg_if one;
    cg_if_begin(g, &one, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    LLVMBuildStore(g->b, model, place(g, CG_STEP_MODEL));
    LLVMBuildStore(g->b, number, place(g, CG_STEP_NUMBER));
    LLVMBuildStore(g->b, LLVMBuildLShr(g->b, range, cg_i32(g, 16), ""), place(g, CG_STEP_FIRST));
    LLVMBuildStore(g->b, LLVMBuildAnd(g->b, range, cg_i32(g, 0xffff), ""), place(g, CG_STEP_COUNT));
    LLVMBuildStore(g->b, number, cg_gep(g, place(g, CG_STEP_SEEN), cg_muli(g, model, 4)));
    cg_if_end(g, &one);
    cg_wave_meets(g);
}

static void end_steps(cg *g) {
    cg_if one;
    cg_if_begin(g, &one, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    LLVMBuildStore(g->b, cg_i32(g, -1), place(g, CG_STEP_MODEL));
    cg_if_end(g, &one);
}

/* The longer nothing comes, the longer the naps. */
static void nap(cg *g, val tries) {
    static const struct {
        int upto, nap;
    } of[] = {{64, CG_NAP}, {4096, 4 * CG_NAP}, {0, 64 * CG_NAP}};
    block out = cg_block(g, "awake");
    for (int i = 0; of[i].upto; i++) {
        block now = cg_block(g, "nap"), later = cg_block(g, "later");
        cg_cond(g, cg_icmp(g, LLVMIntULT, tries, cg_i32(g, of[i].upto)), now, later);
        cg_at(g, now);
        g->family->nap(g, of[i].nap);
        cg_br(g, out);
        cg_at(g, later);
    }
    g->family->nap(g, of[2].nap);
    cg_br(g, out);
    LLVMMoveBasicBlockAfter(out, LLVMGetLastBasicBlock(g->fn));
    cg_at(g, out);
}

/* GATE, as it was seen, is closed where it has been the same for too long. Since when it has. */
static val mind_time(cg *g, val gate, val before, val since) {
    val now = g->family->clock(g), zero = cg_i32(g, 0);
    val anew = LLVMBuildOr(g->b, cg_icmp(g, LLVMIntNE, gate, before),
                           cg_icmp(g, LLVMIntEQ, since, cg_i64(g, 0)), "");
    since = cg_select(g, anew, now, since);
    val late = cg_icmp(g, LLVMIntUGT, LLVMBuildSub(g->b, now, since, ""),
                       memory(g, offsetof(struct etrt_resident, idle_ticks)));
    val at_rest = cg_icmp(g, LLVMIntEQ, LLVMBuildAnd(g->b, gate, cg_i32(g, OPEN_BITS), ""), zero);
    val me = cg_icmp(g, LLVMIntEQ, g->lane, zero);
    cg_if idle;
    cg_if_begin(g, &idle, LLVMBuildAnd(g->b, LLVMBuildAnd(g->b, late, at_rest, ""), me, ""));
    cg_atomic_swap(g, board(g), gate, cg_addi(g, gate, CLOSED));
    cg_if_end(g, &idle);
    return since;
}

/* By wave 0. Behind a closed gate there is one more look: what was written before it closed is seen
 * by then. */
static void await_step(cg *g) {
    block before = cg_here(g), head = cg_block(g, "look"), got = cg_block(g, "got"),
          none = cg_block(g, "none"), shut = cg_block(g, "shut"), last = cg_block(g, "last"),
          open = cg_block(g, "open"), over = cg_block(g, "over"), out = cg_block(g, "told");
    val zero = cg_i32(g, 0), zero64 = cg_i64(g, 0), no = LLVMConstInt(g->i1, 0, false);
    cg_br(g, head);
    cg_at(g, head);
    val since = LLVMBuildPhi(g->b, g->i64, ""), seen = LLVMBuildPhi(g->b, g->i32, "");
    val tries = LLVMBuildPhi(g->b, g->i32, ""), again = LLVMBuildPhi(g->b, g->i1, "");
    LLVMAddIncoming(since, &zero64, &before, 1);
    LLVMAddIncoming(seen, &zero, &before, 1);
    LLVMAddIncoming(tries, &zero, &before, 1);
    LLVMAddIncoming(again, &no, &before, 1);
    struct look k = look(g);
    val mask = cg_ballot(g, k.mine);
    cg_cond(g, cg_none(g, mask), none, got);
    cg_at(g, got);
    take(g, &k, mask);
    cg_br(g, out);

    cg_at(g, none);
    val gate = of_lane(g, k.range, cg_i32(g, models(g)));
    cg_if leads;
    val home = cg_select(g, cg_icmp(g, LLVMIntSGE, g->home, zero), g->home, zero);
    val posted = of_lane(g, k.number, home);
    cg_if_begin(g, &leads, cg_icmp(g, LLVMIntSGE, g->home, zero));
    read_mail(g, posted);
    cg_if_end(g, &leads);
    val bits = LLVMBuildAnd(g->b, gate, cg_i32(g, OPEN_BITS), "");
    cg_cond(g, cg_icmp(g, LLVMIntEQ, bits, cg_i32(g, CLOSED)), shut, open);
    cg_at(g, shut);
    cg_cond(g, again, over, last);
    cg_at(g, last);
    cg_acquire_wave(g, false);
    val yes = LLVMConstInt(g->i1, 1, false);
    block from_last = cg_here(g);
    cg_br(g, head);
    cg_at(g, open);
    val later = mind_time(g, gate, seen, since), more = cg_addi(g, tries, 1);
    nap(g, tries);
    block from_nap = cg_here(g);
    cg_br(g, head);
    LLVMAddIncoming(since, (val[]){since, later}, (block[]){from_last, from_nap}, 2);
    LLVMAddIncoming(seen, (val[]){gate, gate}, (block[]){from_last, from_nap}, 2);
    LLVMAddIncoming(tries, (val[]){tries, more}, (block[]){from_last, from_nap}, 2);
    LLVMAddIncoming(again, (val[]){yes, no}, (block[]){from_last, from_nap}, 2);
    cg_at(g, over);
    end_steps(g);
    cg_br(g, out);
    LLVMMoveBasicBlockAfter(out, LLVMGetLastBasicBlock(g->fn));
    cg_at(g, out);
}

/* ---- the kernel around steps ---- */

/* Which model's mailbox the workgroup reads, or -1. */
static val find_home(cg *g) {
    val zero = cg_i32(g, 0), none = cg_i32(g, -1);
    if (!g->whole->g->nmodels)
        return cg_select(g, cg_icmp(g, LLVMIntEQ, g->rank, zero), zero, none);
    val is = cg_icmp(g, LLVMIntULT, g->lane, cg_i32(g, models(g)));
    val at = cg_muli(g, cg_select(g, is, g->lane, zero), sizeof(struct etrt_part));
    cg of = *g;
    of.args = cg_gep(g, LLVMGetParam(g->fn, 0), LLVMBuildZExt(g->b, at, g->i64, ""));
    val first = cg_argument(&of, cg_part_args(g) + offsetof(struct etrt_part, first), g->i32);
    val mine = cg_ballot(g, LLVMBuildAnd(g->b, is, cg_icmp(g, LLVMIntEQ, first, g->rank), ""));
    return cg_select(g, cg_none(g, mine), none, cg_first_lane(g, mine));
}

void cg_prepare_steps(cg *g) {
    cg_if first, some;
    g->home = find_home(g);
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    cg_if_begin(g, &some, cg_icmp(g, LLVMIntULT, g->lane, cg_i32(g, ETRT_MAX_MODELS)));
    val at = cg_gep(g, cg_gepi(g, board(g), offsetof(struct etrt_mail, last)),
                    LLVMBuildZExt(g->b, cg_muli(g, g->lane, 4), g->i64, ""));
    LLVMBuildStore(g->b, cg_atomic_load(g, at),
                   cg_gep(g, place(g, CG_STEP_SEEN), cg_muli(g, g->lane, 4)));
    cg_if_end(g, &some);
    cg_if_end(g, &first);
    cg_wave_meets(g);
    if (g->box_bytes_lds) cg_box_barriers(g);
}

/* All waves of the workgroup, with those that produce. */
static void meet(cg *g) {
    if (g->ring_stages)
        g->family->stream->meet(g,
                                g->p->workgroup / g->t->wave + 1 + (cg_ring_prefetches(g) ? 1 : 0));
    else
        cg_barrier(g);
}

/* Where the step's model and arguments are known. Goes to OVER where there is none. */
static void enter_step(cg *g, block over) {
    g->step_begin = cg_block(g, "step");
    val model = cg_uniform(g, LLVMBuildLoad2(g->b, g->i32, place(g, CG_STEP_MODEL), ""));
    cg_cond(g, cg_icmp(g, LLVMIntSLT, model, cg_i32(g, 0)), over, g->step_begin);
    cg_at(g, g->step_begin);
    cg_isolate(g);
    g->in_step = true;
    g->step_model = model;
    int n = CG_STEP_SYMBOLS + et_sym_count(g->x);
    val *words = et_alloc(g->arena, (size_t)n * sizeof *words);
    for (int i = 0; g->family->same && i < n; i++)
        words[i] = cg_step_word(g, i);
    g->step_words = g->family->same ? words : NULL;
    g->args = LLVMGetParam(g->fn, 0);
    cg_load_arguments(g);
    if (g->whole->g->nmodels)
        g->wg = LLVMBuildSub(g->b, g->rank, cg_step_word(g, CG_STEP_FIRST), "");
}

/* Waves of the ring that are still about the last step have read its symbols before others come. */
void cg_stay(cg *g, void (*visit)(cg *)) {
    block head = cg_block(g, "rest");
    cg_br(g, head);
    cg_at(g, head);
    cg outside = *g;
    cg_isolate(g);
    if (g->ring_stages) meet(g);
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    await_step(g);
    cg_if_end(g, &first);
    meet(g);
    enter_step(g, g->exit);
    if (!g->family->cumulative) acquire_all(g);
    if (!g->whole->g->nmodels) cg_clear_next_events(g, g->wg);
    if (g->sliced && !g->whole->g->nmodels) cg_meet(g);
    visit(g);
    if (!g->whole->g->nmodels) cg_tell_done(g, 0);
    cg_br(g, head);
    *g = outside;
}

void cg_stay_producing(cg *g, void (*visit)(cg *)) {
    block head = cg_block(g, "rest"), over = cg_block(g, "over");
    cg_br(g, head);
    cg_at(g, head);
    cg outside = *g;
    cg_isolate(g);
    meet(g);
    meet(g);
    enter_step(g, over);
    visit(g);
    cg_br(g, head);
    *g = outside;
    cg_at(g, over);
    g->family->stream->drain(g);
    cg_br(g, g->exit);
}

/* Those that the others wait for before the next step. */
void cg_leave_early(cg *g) {
    cg_if one;
    cg_if_begin(g, &one, cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, 0)));
    LLVMBuildStore(g->b, cg_i32(g, -1), place(g, CG_STEP_MODEL));
    cg_if_end(g, &one);
    if (!g->ring_stages) return;
    meet(g);
    meet(g);
}
