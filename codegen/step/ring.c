/* The ring through which weights come (ir/program/stream.h): slots in LDS and two barriers for
 * each, one that a slot is full, one that it is free. A slot is used in turns; a barrier's phases
 * end alternately, and whoever waits knows by the turn which end it is. Who brings and who takes
 * each count slots and turns for themselves, in the same order. */
#include "codegen/step/step.h"
#include "ir/program/stream.h"

enum { BARRIER = 8, ALIGN = 128, PIECE = ET_RING_PIECE };

/* One more tells that a model begins, and then there is a word. */
static int barriers(int slots) {
    return ((2 * slots + 2) * BARRIER + ALIGN - 1) / ALIGN * ALIGN;
}

bool cg_ring_prefetches(const cg *g) {
    const et_stream_family *of = g->family->stream;
    bool any = false;
    const et_program *p;
    for (int k = 0; (p = et_program_part(g->whole, k)); k++)
        any |= p->ring.slots && p->ring.ahead;
    return any && of && of->ask && of->waves(g) > 1;
}

int cg_ring_words(const cg *g, int slots) {
    return barriers(slots) + (cg_ring_prefetches(g) ? g->t->wave * PIECE : 0);
}

int cg_ring_stages(const cg *g, const et_program *p, int room) {
    int slots = p->ring.slots;
    if (!g->family->stream || !slots) return 0;
    if (slots > room / p->ring.bytes) slots = room / p->ring.bytes;
    return slots < ET_RING_MIN_SLOTS ? 0 : slots;
}

static val of_slot(cg *g, int at, val slot, int64_t size) {
    return cg_gep(g, cg_gepi(g, g->lds, at), cg_muli(g, slot, size));
}

static val full(cg *g, val slot) {
    return of_slot(g, g->ring_at, slot, BARRIER);
}

static val empty(cg *g, val slot) {
    return of_slot(g, g->ring_at + g->ring_stages * BARRIER, slot, BARRIER);
}

static val begun(cg *g) {
    return cg_gepi(g, g->lds, g->ring_at + 2 * g->ring_stages * BARRIER);
}

/* A word: how many chunks have been brought or are in flight. */
static val brought(cg *g) {
    return cg_gepi(g, g->lds, g->ring_at + (2 * g->ring_stages + 1) * BARRIER);
}

val cg_ring_scrap(cg *g) {
    val own = cg_muli(g, g->lane, PIECE);
    return cg_gep(g, cg_gepi(g, g->lds, g->ring_at + barriers(g->ring_stages)), own);
}

val cg_ring_stage(cg *g, const cg_ring *r) {
    return of_slot(g, g->stages_at, r->slot, g->p->ring.bytes);
}

void cg_ring_init(cg *g) {
    LLVMBuildStore(g->b, cg_i32(g, 0), brought(g));
    for (int i = 0; i < g->ring_stages; i++) {
        val slot = cg_i32(g, i);
        g->family->stream->init(g, full(g, slot), g->t->wave);
        g->family->stream->init(g, empty(g, slot), g->p->workgroup / g->t->wave);
    }
    g->family->stream->init(g, begun(g), g->p->workgroup / g->t->wave);
}

/* ---- where one is ---- */

void cg_ring_begin(cg *g, cg_ring_state *s) {
    block here = cg_here(g);
    LLVMPositionBuilderBefore(g->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(g->fn)));
    s->slot = LLVMBuildAlloca(g->b, g->i32, "");
    s->turn = LLVMBuildAlloca(g->b, g->i32, "");
    cg_at(g, here);
    LLVMBuildStore(g->b, cg_i32(g, 0), s->slot);
    LLVMBuildStore(g->b, cg_i32(g, 0), s->turn);
}

val cg_ring_count(cg *g) {
    cg_ring_state s;
    cg_ring_begin(g, &s);
    return s.slot;
}

/* The slot that comes next, and on from there. */
cg_ring cg_ring_next(cg *g, const cg_ring_state *s) {
    cg_ring r = {LLVMBuildLoad2(g->b, g->i32, s->slot, ""),
                 LLVMBuildLoad2(g->b, g->i32, s->turn, "")};
    val next = cg_addi(g, r.slot, 1), zero = cg_i32(g, 0);
    val around = cg_icmp(g, LLVMIntEQ, next, cg_i32(g, g->stages_here));
    LLVMBuildStore(g->b, cg_select(g, around, zero, next), s->slot);
    val other = LLVMBuildXor(g->b, r.turn, cg_i32(g, 1), "");
    LLVMBuildStore(g->b, cg_select(g, around, other, r.turn), s->turn);
    return r;
}

/* ---- waits: no wave of another workgroup has a part in them ---- */

/* Until the phase TURN of the barrier has ended, or, with QUIT, the workgroup gives up: then at
 * QUIT. */
static void until(cg *g, val barrier, val turn, block quit) {
    block look = cg_block(g, "look"), over = cg_block(g, "over");
    cg_br(g, look);
    cg_at(g, look);
    val is = g->family->stream->passed(g, barrier, turn);
    if (quit) {
        block no = cg_block(g, "not_yet");
        cg_cond(g, is, over, no);
        cg_at(g, no);
        val flag = LLVMBuildLoad2(g->b, g->i32, cg_gepi(g, g->lds, g->flag_at), "");
        LLVMSetVolatile(flag, true);
        cg_cond(g, cg_icmp(g, LLVMIntNE, flag, cg_i32(g, 0)), quit, look);
    } else {
        cg_cond(g, is, over, look);
    }
    cg_at(g, over);
    cg_wave_meets(g);
}

void cg_ring_consumer_wait(cg *g, const cg_ring *r) {
    until(g, full(g, r->slot), r->turn, NULL);
}

static void arrive(cg *g, val barrier) {
    cg_if first;
    cg_wave_meets(g);
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    g->family->stream->arrive(g, barrier);
    cg_if_end(g, &first);
    cg_wave_meets(g);
}

void cg_ring_consumer_release(cg *g, const cg_ring *r) {
    arrive(g, empty(g, r->slot));
}

void cg_ring_model_begins(cg *g) {
    arrive(g, begun(g));
}

void cg_ring_await_model(cg *g, val turn, block quit) {
    val now = LLVMBuildLoad2(g->b, g->i32, turn, "");
    until(g, begun(g), now, quit);
    LLVMBuildStore(g->b, LLVMBuildXor(g->b, now, cg_i32(g, 1), ""), turn);
}

static val counted(cg *g, val word) {
    val n = LLVMBuildLoad2(g->b, g->i32, word, "");
    LLVMBuildStore(g->b, cg_addi(g, n, 1), word);
    return n;
}

/* A slot is free for its first turn from the start. */
void cg_ring_producer_acquire(cg *g, const cg_ring *r, const cg_producer *by) {
    until(g, empty(g, r->slot), LLVMBuildXor(g->b, r->turn, cg_i32(g, 1), ""), by->quit);
    if (by->late || !cg_ring_prefetches(g)) return;
    val n = cg_addi(g, counted(g, by->chunks), 1);
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    LLVMSetVolatile(LLVMBuildStore(g->b, n, brought(g)), true);
    cg_if_end(g, &first);
    cg_wave_meets(g);
}

static val seen(cg *g, val word) {
    val v = LLVMBuildLoad2(g->b, g->i32, word, "");
    LLVMSetVolatile(v, true);
    return v;
}

/* What is brought, or will be at once for the first slots, need not be asked for; what slots and
 * AHEAD have no room for yet is waited for. */
void cg_ring_prefetch(cg *g, const cg_producer *by, int ahead, block asked) {
    enum { NAP = 256 };
    block look = cg_block(g, "look"), near = cg_block(g, "near"), far = cg_block(g, "far");
    block nap = cg_block(g, "nap"), ask = cg_block(g, "ask");
    val n = counted(g, by->chunks);
    cg_br(g, look);
    cg_at(g, look);
    val b = seen(g, brought(g));
    val from = cg_call(g, "llvm.smax", 1, &g->i32, 2, (val[]){b, cg_i32(g, g->stages_here)});
    cg_cond(g, cg_icmp(g, LLVMIntSLT, n, from), asked, near);
    cg_at(g, near);
    cg_cond(g, cg_icmp(g, LLVMIntSLT, n, cg_addi(g, b, ahead)), ask, far);
    cg_at(g, far);
    val flag = seen(g, cg_gepi(g, g->lds, g->flag_at));
    cg_cond(g, cg_icmp(g, LLVMIntNE, flag, cg_i32(g, 0)), by->quit, nap);
    cg_at(g, nap);
    g->family->nap(g, NAP);
    cg_br(g, look);
    cg_at(g, ask);
    cg_wave_meets(g);
}

val cg_ring_is_low(cg *g, const cg_ring *r, int ahead) {
    val at = cg_addi(g, r->slot, ahead), slots = cg_i32(g, g->stages_here);
    val around = cg_icmp(g, LLVMIntSGE, at, slots);
    at = cg_select(g, around, LLVMBuildSub(g->b, at, slots, ""), at);
    val one = cg_i32(g, 1), other = LLVMBuildXor(g->b, r->turn, one, "");
    return g->family->stream->is_past(g, empty(g, at), cg_select(g, around, r->turn, other));
}

void cg_ring_producer_commit(cg *g, const cg_ring *r) {
    g->family->stream->copied(g, full(g, r->slot));
}
