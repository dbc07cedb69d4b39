/* product.h - plans of steps: which, and that every step has one. */
#ifndef ET_PASS_PRODUCT_H
#define ET_PASS_PRODUCT_H

#include "ir/product/attend.h"
#include "ir/product/order.h"
#include "ir/product/product.h"
#include "ir/product/scan.h"

/* The plans of step S to OUT: with b through the weight stream where STREAMED and it can, two
 * chunks of it in registers then where DEEP and there is room. ZEROS: weights may be zero in whole
 * pieces, too. *C is the mainloop of the first plan. False where there is no plan. */
bool et_product_choose(const et_product_cx *, const et_step *, bool streamed, bool deep, bool zeros,
                       et_product_plan out[ET_PLANS], et_mainloop *c);

/* Adds to a plan what follows its mainloop: boxes, partial sums, staging and what of it a
 * workgroup's next tile finds; and what the first product of a tile of GRID loads or copies before
 * the waits. */
void et_product_finish(const et_product_cx *, const et_reuse *, const et_mainloop *,
                       et_product_plan *);
void et_product_early(const et_product_cx *, const et_grid *, const et_mainloop *,
                      et_product_plan *);

/* Adds what a plan without packed weights prefetches into the L2, behind what it has early. */
void et_product_prefetch(const et_product_cx *, const et_step *, et_product_plan *);
/* The plan of an ATTEND step to OUT, with what comes before waits where the context knows what is
 * stored; false where it cannot be done on the target. */
bool et_attend_choose(const et_product_cx *, const et_step *, et_attend_plan *out);
/* The plan of a MAP step, in whose function the product STREAMED, or none, has weights that come
 * through the weight stream; and of a REDUCE step. */
void et_map_choose(const et_product_cx *, const et_step *, const et_step *streamed, bool reuse,
                   et_map_plan *out);
void et_reduce_choose(const et_product_cx *, const et_step *, bool reuse, et_reduce_plan *out);

/* What plans depend on beside the program. */
typedef struct et_product_options {
    const et_target *target;
    et_features without;
    bool packed, zeros;      /* weights may be 2:4; or zero in whole pieces */
    bool resident;           /* the kernel stays */
    bool alone;              /* what other functions store is not known (et_product_expect) */
    const et_orders *orders; /* of sums, which variants share (order.h); NULL: each has its own */
    int stream_bytes; /* of weights in a stage of the weight stream, where they may come through
                         it; else 0 */
} et_product_options;

/* Bytes of a stage that holds so many of weights and BESIDE of auxiliary operands; PACKED: as many
 * weights that are 2:4. */
int et_stream_stage(int bytes, int64_t beside, bool packed);

/* The plan that S, a step of F, would get as it is now: its weights come through the weight stream
 * where they could, which only the pass `stream` decides. False where it would get none. */
bool et_product_expect(const et_product_options *, const et_program *, const et_func *f,
                       const et_step *s, et_product_plan *out);
/* Would its sums then have ORDER? *OUT_STREAMS: its weights come through the weight stream. */
/* Bytes of a stage that a chunk of S would have by that plan, all where it has all of k; 0: S would
 * not stream. */
int et_product_expect_stage(const et_product_options *, const et_program *, const et_func *f,
                            const et_step *s);
bool et_product_has_order(const et_product_options *, const et_program *, const et_func *f,
                          const et_step *s, const et_product_order *order, bool *out_streams);
/* Whose rows are the waves', in a product of S by warpgroup MMA. */
et_warpgroup_rows et_product_warpgroup(const et_product_options *, const et_program *,
                                       const et_func *f, const et_step *s);
bool et_attend_expect(const et_product_options *, const et_program *, const et_func *f,
                      const et_step *s, et_attend_plan *out);

/* Every step of P and of its variants that has no plan gets one, and a weight stream its producers
 * (producers.c). Where none will do a CONTRACT or
 * ATTEND step stays without, and codegen says why. False, with diagnostics, where a plan that
 * was there does not suit its step or the target. */
bool et_product_plan_all(et_program *, const et_product_options *);
/* How many waves fill the stages of the weight stream of a whole program, whose steps have plans.
 * False, with a diagnostic, where a text gives it as many as it cannot have. */
bool et_producers_plan(et_program *whole, const et_product_options *);
/* Would every product and attention of P get one, or keep that which it has? For passes before, of
 * what they are about to change. P stays as it is. */
bool et_product_possible(et_program *, const et_product_options *);

#endif
