/* step.h - the steps of a device function, as code. */
#ifndef ET_CODEGEN_STEP_H
#define ET_CODEGEN_STEP_H

#include "codegen/emit/emit.h"

/* Prefetch what a product of the tile whose coordinates are bound will read, as far as its events
 * need not be waited for. */
void cg_prefetch_early(cg *, const et_step *);
/* The copies of weights to LDS whose maps' plans say that they start before the tile's waits. The
 * first product waits for them. */
void cg_copy_early(cg *);
/* i1: the tile is the workgroup's first of its grid; NULL: what the step does is not for a next
 * one, or there is none. REUSE is its plan's. */
val cg_first_tile(cg *, bool reuse);
void cg_step_map(cg *, const et_step *);
/* Loads of maps whose plans say that they are early: of what no task writes before the tile's
 * waits, by the first; of the rest after the waits, by the second. */
void cg_maps_early(cg *, const et_func *);
void cg_maps_early_waited(cg *);
void cg_step_reduce(cg *, const et_step *);
void cg_step_scan(cg *, const et_step *);
/* Why the chunks of a scan cannot be emitted, or NULL. */
const char *cg_scan_problem(cg *, const et_step *);
/* The lane's part of places that are dealt to lanes so. */
val cg_dealt(cg *, const et_deal *);
/* ---- plan.c: products ---- */
/* What the derivation of mainloops may look at, of what is being emitted. */
const et_product_cx *cg_cx(cg *);
/* Which plan of a product holds here: where weights that are zero are left out there may be
 * another.
 */
et_plan_of cg_plan_of(const cg *, const et_step *);
const et_product_plan *cg_plan(const cg *, const et_step *);
/* Why the step cannot be emitted, or NULL; for a step whose sizes divide among the waves. */
const char *cg_contract_problem(cg *, const et_step *);

/* ---- ring.c: the weight stream ---- */
/* A stage, and the parity of the phase in which it is used. */
typedef struct {
    val stage, phase;
} cg_ring;
typedef struct cg_producer {
    block quit; /* for the wave, when it has nothing left to copy */
    cg_ring_state next;
    val models; /* a word: the phase of cg_ring_await_model */
    val chunks; /* a word: how many so far */
    val told;   /* a word: the phase of cg_tell_await */
    val turn;   /* a word, of one of two producers: 0 where the next chunk is its own */
    val sent;   /* a word: the phase of cg_sent */
    bool sends; /* it copies nothing: it is one of those that send (kernel/flags.c) */
    bool tells; /* it copies nothing: it tells others of tiles (kernel/notify.c) */
    bool asks;  /* it only prefetches them into the L2, ahead of the producer */
    bool calm;  /* the grid is */
    bool late;  /* the grid's weights are not known from the start: they are not prefetched */
} cg_producer;
int cg_ring_words(const cg *, int stages); /* bytes of its barriers, and what belongs to them */
bool cg_ring_prefetches(const cg *);       /* is there a wave that prefetches? */
val cg_ring_scrap(cg *); /* 16 bytes of the lane, never read, where its prefetches go */
/* Continues where the next chunk is to be prefetched, at most MOST chunks after those that are
 * copied; at ASKED where it need not be. */
void cg_ring_prefetch(cg *, const cg_producer *, int most, block asked);
void cg_ring_init(cg *); /* by one work-item */
void cg_ring_begin(cg *, cg_ring_state *);
val cg_ring_count(cg *); /* a word, zero */
cg_ring cg_ring_next(cg *, const cg_ring_state *);
/* Producers take turns: is the next chunk this one's? i1, or NULL: there is one producer. */
val cg_ring_turn(cg *, const cg_producer *);
val cg_ring_stage(cg *, const cg_ring *); /* its address */
/* Of several models: the wave has finished those before. By the producer: wait until all waves
 * have; PHASE is a word that alternates. */
void cg_ring_model_begins(cg *);
void cg_ring_await_model(cg *, val phase, block quit);
/* By all lanes of a consumer: wait until the stage is full; it has been read. */
void cg_ring_consumer_wait(cg *, const cg_ring *);
void cg_ring_consumer_release(cg *, const cg_ring *);
/* By the producer: wait until the stage is free; all its copies have been issued. */
void cg_ring_producer_acquire(cg *, const cg_ring *, const cg_producer *);
void cg_ring_producer_commit(cg *, const cg_ring *);
/* By all lanes of a wave: leave a tile that is done to the wave that tells, when that is free. By
 * that wave: wait for the tile; it has told of it. */
/* ---- ring.c: tiles that waves of their own send (kernel/flags.c) ---- */
enum { CG_SEND_BARRIERS = 3 };
void cg_send_init(cg *);  /* by one work-item */
void cg_send_later(cg *); /* by the first wave of those that run tiles */
void cg_send_await(cg *, const cg_producer *);
/* By all waves that send, FIRST one of them: what they send of the tile has been stored by all. */
void cg_sent(cg *, const cg_producer *, cg_if *first);
void cg_send_done_with(cg *, cg_if *first);
/* map.c: what the step, the last of the tile, has stored in this device's inbox, to the others'. */
void cg_step_send(cg *, const et_step *);
void cg_tell_later(cg *);
void cg_tell_await(cg *, const cg_producer *);
void cg_tell_done_with(cg *);
/* i1, without waiting: is the stage that comes AHEAD stages after it free, too? */
val cg_ring_is_low(cg *, const cg_ring *, int ahead);

/* Work-items of the workgroup share [0, total): the body runs once per item with I = item. */
typedef struct {
    cg_for loop;
    cg_if guard;
    bool looped, guarded;
} cg_items;
val cg_items_begin(cg *, cg_items *, val total, int64_t constant); /* constant < 0: only in total */
void cg_items_end(cg *, cg_items *);
/* Bind VARS to the digits of ITEM, last fastest; CLAST is the extent to use for the last. */
void cg_decode(cg *, val item, int n, const int *vars, const int64_t *extent);

#endif
