/* The weight stream (ir/weights/stream.h): stages in LDS, each with two barriers, one for full and
 * one for free. A barrier's phases alternate in parity: a wait names the parity of the
 * use of the stage that it is for. Producer and consumers each count stages and phases for
 * themselves, in the same order. */
#include "codegen/step/step.h"
#include "ir/weights/stream.h"

enum { BARRIER = ET_RING_BARRIER, PIECE = ET_RING_PIECE };

bool cg_ring_prefetches(const cg *g) {
    const et_stream_family *of = g->family->stream;
    bool any = false;
    const et_program *p;
    for (int k = 0; (p = et_program_part(g->whole, k)); k++)
        any |= p->ring.slots && p->ring.prefetch;
    return any && of && of->prefetch && of->waves(g) > 1;
}

int cg_ring_words(const cg *g, int stages) {
    return et_ring_words(stages, g->t->wave, cg_ring_prefetches(g));
}

static val of_stage(cg *g, int at, val stage, int64_t size) {
    return cg_gep(g, cg_gepi(g, g->lds, at), cg_muli(g, stage, size));
}

static val full(cg *g, val stage) {
    return of_stage(g, g->ring_at, stage, BARRIER);
}

static val empty(cg *g, val stage) {
    return of_stage(g, g->ring_at + g->ring_stages * BARRIER, stage, BARRIER);
}

static val begun(cg *g) {
    return cg_gepi(g, g->lds, g->ring_at + 2 * g->ring_stages * BARRIER);
}

/* A word: the number of chunks that the producer has issued. */
static val issued(cg *g) {
    return cg_gepi(g, g->lds, g->ring_at + (2 * g->ring_stages + 1) * BARRIER);
}

val cg_ring_scrap(cg *g) {
    val own = cg_muli(g, g->lane, PIECE);
    return cg_gep(
        g, cg_gepi(g, g->lds, g->ring_at + et_ring_words(g->ring_stages, g->t->wave, false)), own);
}

val cg_ring_stage(cg *g, const cg_ring *r) {
    return of_stage(g, g->stages_at, r->stage, g->p->ring.bytes);
}

/* Of the wave that tells: a tile is done; that wave is free for it. */
enum { DONE, FREE };

static val telling(cg *g, int which) {
    return cg_gepi(g, g->lds, g->tell_at + which * BARRIER);
}

void cg_ring_init(cg *g) {
    LLVMBuildStore(g->b, cg_i32(g, 0), issued(g));
    for (int i = 0; i < g->ring_stages; i++) {
        val stage = cg_i32(g, i);
        g->family->stream->init(g, full(g, stage), g->t->wave);
        g->family->stream->init(g, empty(g, stage), g->p->workgroup / g->t->wave);
    }
    g->family->stream->init(g, begun(g), g->p->workgroup / g->t->wave);
    for (int i = 0; i < 2 && g->tell_at; i++)
        g->family->stream->init(g, telling(g, i), 1);
}

/* ---- the next stage ---- */

void cg_ring_begin(cg *g, cg_ring_state *s) {
    block here = cg_here(g);
    LLVMPositionBuilderBefore(g->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(g->fn)));
    s->stage = LLVMBuildAlloca(g->b, g->i32, "");
    s->phase = LLVMBuildAlloca(g->b, g->i32, "");
    cg_at(g, here);
    LLVMBuildStore(g->b, cg_i32(g, 0), s->stage);
    LLVMBuildStore(g->b, cg_i32(g, 0), s->phase);
}

val cg_ring_count(cg *g) {
    cg_ring_state s;
    cg_ring_begin(g, &s);
    return s.stage;
}

/* The next stage; then the one behind it is the next. */
cg_ring cg_ring_next(cg *g, const cg_ring_state *s) {
    cg_ring r = {LLVMBuildLoad2(g->b, g->i32, s->stage, ""),
                 LLVMBuildLoad2(g->b, g->i32, s->phase, "")};
    val next = cg_addi(g, r.stage, 1), zero = cg_i32(g, 0);
    val around = cg_icmp(g, LLVMIntEQ, next, cg_i32(g, g->stages_here));
    LLVMBuildStore(g->b, cg_select(g, around, zero, next), s->stage);
    val other = LLVMBuildXor(g->b, r.phase, cg_i32(g, 1), "");
    LLVMBuildStore(g->b, cg_select(g, around, other, r.phase), s->phase);
    return r;
}

/* ---- waits: no wave of another workgroup has a part in them ---- */

/* Waits until the phase of parity TURN of the barrier has ended; goes to QUIT, unless NULL, where
 * the workgroup gives up. */
static void until(cg *g, val barrier, val phase, block quit) {
    block look = cg_block(g, "look"), over = cg_block(g, "over");
    cg_br(g, look);
    cg_at(g, look);
    val is = g->family->stream->passed(g, barrier, phase);
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
    until(g, full(g, r->stage), r->phase, NULL);
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
    arrive(g, empty(g, r->stage));
}

void cg_ring_model_begins(cg *g) {
    arrive(g, begun(g));
}

/* Of a word that is 0 or 1: what it was; it is the other one now. */
static val alternate(cg *g, val word) {
    val now = LLVMBuildLoad2(g->b, g->i32, word, "");
    LLVMBuildStore(g->b, LLVMBuildXor(g->b, now, cg_i32(g, 1), ""), word);
    return now;
}

void cg_ring_await_model(cg *g, val phase, block quit) {
    until(g, begun(g), alternate(g, phase), quit);
}

static val counted(cg *g, val word) {
    val n = LLVMBuildLoad2(g->b, g->i32, word, "");
    LLVMBuildStore(g->b, cg_addi(g, n, 1), word);
    return n;
}

val cg_ring_turn(cg *g, const cg_producer *by) {
    if (g->producers == 1) return NULL;
    return cg_icmp(g, LLVMIntEQ, alternate(g, by->turn), cg_i32(g, 0));
}

/* A stage is free for its first use from the start. */
void cg_ring_producer_acquire(cg *g, const cg_ring *r, const cg_producer *by) {
    until(g, empty(g, r->stage), LLVMBuildXor(g->b, r->phase, cg_i32(g, 1), ""), by->quit);
    if (by->late || !cg_ring_prefetches(g)) return;
    val n = cg_addi(g, counted(g, by->chunks), 1);
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    LLVMSetVolatile(LLVMBuildStore(g->b, n, issued(g)), true);
    cg_if_end(g, &first);
    cg_wave_meets(g);
}

static val seen(cg *g, val word) {
    val v = LLVMBuildLoad2(g->b, g->i32, word, "");
    LLVMSetVolatile(v, true);
    return v;
}

/* Chunks that are issued, or go to the first stages at once, need no prefetch; chunks more than
 * MOST beyond those that are issued wait. */
void cg_ring_prefetch(cg *g, const cg_producer *by, int most, block asked) {
    enum { NAP = 256 };
    block look = cg_block(g, "look"), near = cg_block(g, "near"), far = cg_block(g, "far");
    block nap = cg_block(g, "nap"), ask = cg_block(g, "ask");
    val n = counted(g, by->chunks);
    cg_br(g, look);
    cg_at(g, look);
    val b = seen(g, issued(g));
    val from = cg_call(g, "llvm.smax", 1, &g->i32, 2, (val[]){b, cg_i32(g, g->stages_here)});
    cg_cond(g, cg_icmp(g, LLVMIntSLT, n, from), asked, near);
    cg_at(g, near);
    cg_cond(g, cg_icmp(g, LLVMIntSLT, n, cg_addi(g, b, most)), ask, far);
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
    val at = cg_addi(g, r->stage, ahead), stages = cg_i32(g, g->stages_here);
    val around = cg_icmp(g, LLVMIntSGE, at, stages);
    at = cg_select(g, around, LLVMBuildSub(g->b, at, stages, ""), at);
    val one = cg_i32(g, 1), other = LLVMBuildXor(g->b, r->phase, one, "");
    return g->family->stream->is_past(g, empty(g, at), cg_select(g, around, r->phase, other));
}

void cg_ring_producer_commit(cg *g, const cg_ring *r) {
    g->family->stream->copied(g, full(g, r->stage));
}

/* ---- tiles that waves of their own send ---- */

/* A tile is done; those waves are free for it; they have all stored what they send of it. */
enum { STORED, READY, SENT };

static val sending(cg *g, int which) {
    return cg_gepi(g, g->lds, g->send_at + which * BARRIER);
}

void cg_send_init(cg *g) {
    g->family->stream->init(g, sending(g, STORED), 1);
    g->family->stream->init(g, sending(g, READY), 1);
    g->family->stream->init(g, sending(g, SENT), g->family->stream->waves(g));
}

/* They are free for the first tile from the start. */
void cg_send_later(cg *g) {
    val now = alternate(g, g->tell_phase);
    until(g, sending(g, READY), LLVMBuildXor(g->b, now, cg_i32(g, 1), ""), NULL);
    arrive(g, sending(g, STORED));
}

void cg_send_await(cg *g, const cg_producer *by) {
    until(g, sending(g, STORED), alternate(g, by->told), by->quit);
}

void cg_sent(cg *g, const cg_producer *by, cg_if *first) {
    arrive(g, sending(g, SENT));
    val phase = alternate(g, by->sent), is = cg_i32(g, g->p->workgroup / g->t->wave);
    cg_if_begin(g, first, cg_icmp(g, LLVMIntEQ, g->wave, is));
    until(g, sending(g, SENT), phase, by->quit);
}

void cg_send_done_with(cg *g, cg_if *first) {
    arrive(g, sending(g, READY));
    cg_if_end(g, first);
}

/* ---- tiles that a wave of its own tells others of ---- */

/* The wave is free for the first tile from the start. */
void cg_tell_later(cg *g) {
    val now = alternate(g, g->tell_phase);
    until(g, telling(g, FREE), LLVMBuildXor(g->b, now, cg_i32(g, 1), ""), NULL);
    arrive(g, telling(g, DONE));
}

void cg_tell_await(cg *g, const cg_producer *by) {
    until(g, telling(g, DONE), alternate(g, by->told), by->quit);
}

void cg_tell_done_with(cg *g) {
    arrive(g, telling(g, FREE));
}
