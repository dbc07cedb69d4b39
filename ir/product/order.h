/* order.h - in which order the terms of sums are added up, and that all variants of a program have
 * the same: then a row of a result has the same bits whatever launch it is computed in.
 *
 * Of products over k and of attention over positions the order is that of the variant for the
 * fewest rows, which is the fastest there is for these; the others follow it where they make tiles
 * and plans, or are refused. Of sums of a row it follows from the row alone
 * (et_reduce_lanes_alone). */
#ifndef ET_PRODUCT_ORDER_H
#define ET_PRODUCT_ORDER_H

#include "ir/product/attend.h"
#include "ir/product/product.h"

/* By what terms are multiplied: operands as they are written; the same in steps of k's in a row, as
 * warpgroup MMA has them, in which their order is nothing to the sum; by groups of waves that have
 * parts of k; operands without scales, as f16 or e4m3, or packed. */
typedef enum {
    ET_TERMS_AS_WRITTEN,
    ET_TERMS_IN_STEPS,
    ET_TERMS_TOGETHER,
    ET_TERMS_UNSCALED,
    ET_TERMS_F16,
    ET_TERMS_FP8,
    ET_TERMS_PACKED
} et_terms;
/* Of a product: k's of a tile, of which each of WAVES, or of a wave's spans, has a part of every
 * CHUNK, and LANE in a row in each lane; of the wave's pieces of k, one after the other, each goes
 * to the next of TURNS sums. A chunk is 0 where nothing hangs on it. */
typedef struct {
    int64_t k; /* -1: a launch decides */
    int waves, chunk, lane, turns;
    et_terms terms;
} et_product_order;
/* Of attention: positions in PARTS of tiles, and the plan, of which `early` does not count. */
typedef struct {
    int parts, heads;
    et_attend_plan plan;
} et_attend_order;
/* By what a sum is found in every variant: the first weight that the product reads, with where in
 * it the product's first column and k are, as far as no tensor says that; or the name of the
 * attention. */
typedef struct {
    const char *tensor, *source; /* SOURCE: in the checkpoint, or NULL; two tensors may have one */
    int64_t at[ET_MAX_RANK];
    int rank;
} et_order_key;
typedef struct {
    et_order_key key;
    bool attends;
    et_product_order product;
    et_attend_order attend;
} et_order;
typedef struct et_orders {
    et_order *of;
    int n, c;
} et_orders;

/* The order of a mainloop's sums. */
et_product_order et_order_of(const et_mainloop *);
bool et_order_eq(const et_product_order *, const et_product_order *);
/* E where all variables and symbols are 0; false where that is no number. */
bool et_order_first(et_exprs *, et_expr e, int64_t *out);
/* The order of such a product, or of attention NAME; NULL where ORDERS are NULL or have none. */
const et_product_order *et_orders_product(const et_orders *, const et_program *, et_expr e);
const et_attend_order *et_orders_attend(const et_orders *, const char *name);

/* Adds the orders of P, a scheduled program that has plans, and no variants. False, with an error,
 * where the same sum has two in it. */
bool et_orders_add(et_orders *, const et_program *, const et_target *, et_features without);
/* Sums that are also FROM's, of the same terms, get the orders that they have there. */
void et_orders_take(et_orders *, const et_orders *from);
/* Has P the orders that ORDERS have, and no other sums? False, with errors that name those that
 * differ. */
bool et_orders_suit(const et_orders *, const et_program *, const et_target *, et_features without);

#endif
