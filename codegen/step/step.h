/* step.h - the steps of a device function, as code. */
#ifndef ET_CODEGEN_STEP_H
#define ET_CODEGEN_STEP_H

#include "codegen/emit/emit.h"

/* Ask for what the tile whose coordinates are bound will read and can be told by now. */
void cg_prefetch_ahead(cg *, const et_func *);
/* Step number STEP of the function being emitted is a map that copies weights to LDS, and has been
 * asked for when the tile begins, by the second: before the product it is only waited for. */
bool cg_comes_early(cg *, int step);
void cg_copy_early(cg *);
/* Is what STEP of the function being emitted leaves in local memory the same in all tiles of a
 * grid, and still there in the next one? Then it is left out where g->again. */
bool cg_still_there(cg *, const et_step *);
/* Is E, of STEP, the same in all tiles of a grid; and does nothing else lie where LOCAL does? */
bool cg_is_same(cg *, const et_step *, et_expr e);
bool cg_stays(cg *, int local);
void cg_step_map(cg *, const et_step *);
/* Where the kernel has a ring: what the maps after the tile's streamed product load, or those of a
 * tile of maps and reductions, as far as a work-item has one item of them; what nobody writes
 * before the tile's waits, the rest after these. */
void cg_maps_ahead(cg *, const et_func *);
void cg_maps_ahead_waited(cg *);
void cg_step_reduce(cg *, const et_step *);
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

/* ---- ring.c: weights through the weight stream ---- */
typedef struct {
    val slot, turn;
} cg_ring;
typedef struct cg_producer {
    block quit; /* where the wave goes that need bring no more */
    cg_ring_state next;
    val models; /* a word: turns of cg_ring_await_model */
    val chunks; /* a word: how many so far */
    bool asks; /* it only has them come to the cache that all CUs share, ahead of who brings them */
    bool late; /* the grid's weights are not known from the start: nobody asks for them ahead */
} cg_producer;
int cg_ring_stages(const cg *, const et_program *, int room); /* that fit there; 0: no ring */
int cg_ring_words(const cg *, int slots); /* bytes of its barriers, and what belongs to them */
bool cg_ring_prefetches(const cg *);      /* is there a wave that asks for weights ahead? */
val cg_ring_scrap(cg *); /* the lane's 16 bytes that nobody reads, for what it asks for */
/* On where the next chunk is to be asked for, up to AHEAD after those that are brought; at ASKED
 * where it need not be. */
void cg_ring_prefetch(cg *, const cg_producer *, int ahead, block asked);
void cg_ring_init(cg *); /* by one work-item */
void cg_ring_begin(cg *, cg_ring_state *);
val cg_ring_count(cg *); /* a word, zero */
cg_ring cg_ring_next(cg *, const cg_ring_state *);
val cg_ring_stage(cg *, const cg_ring *); /* its address */
/* Of several models: the wave that arrives has done all of those before. By who brings, that all
 * waves have; TURN is a word that takes turns. */
void cg_ring_model_begins(cg *);
void cg_ring_await_model(cg *, val turn, block quit);
/* Taking: wait until the slot is full; by all lanes of a wave, which has read it. */
void cg_ring_consumer_wait(cg *, const cg_ring *);
void cg_ring_consumer_release(cg *, const cg_ring *);
/* Bringing: wait until the slot is free; say that all is in flight. */
void cg_ring_producer_acquire(cg *, const cg_ring *, const cg_producer *);
void cg_ring_producer_commit(cg *, const cg_ring *);
/* Is the slot that comes AHEAD slots after it free, too? Nobody waits for that. */
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
