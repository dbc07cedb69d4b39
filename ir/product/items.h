/* items.h - how the iterations of MAP and REDUCE steps are dealt to work-items.
 *
 * As with products, the plans (et_map_plan, et_reduce_plan) are what passes/product decides, and
 * data of the step. What may be planned is said here, once for who chooses and for who checks;
 * codegen emits a plan and chooses nothing. */
#ifndef ET_PRODUCT_ITEMS_H
#define ET_PRODUCT_ITEMS_H

#include "ir/product/product.h"

enum {
    ET_ITEM_BYTES = 16, /* of the elements of an item, at most */
    ET_MAP_UNROLL = 8,  /* items loaded before the first is stored, at most, */
    ET_MAP_LOADED = 80, /* and registers of what is loaded for them from memory */
    ET_MAP_ROUNDS = 2,  /* items of a work-item of which something is loaded early, at most */
    ET_REDUCE_VECTOR = 8,
    ET_REDUCE_UNROLL = 8,
    ET_REDUCE_ROWS = 4,  /* that a lane has parts of at once, at most */
    ET_REDUCE_PARTS = 8, /* of a row, in a lane, at most */
};

/* ---- MAP ---- */
/* A step whose extents are numbers, as it is emitted. */
typedef struct {
    et_step s; /* its value as an element keeps it; no mask where that is ONCE */
    bool once; /* the mask of the step is the same for all iterations */
    int64_t extent[ET_MAX_VARS + 1], total;
} et_map_loop;
et_map_loop et_map_loop_of(const et_product_cx *, const et_step *);

/* Does the step wait for flag-in-data words? */
bool et_map_receives(const et_product_cx *, const et_step *);
/* May an item have so many elements? It is one load or store, and its mask is one. */
bool et_map_may_vector(const et_product_cx *, const et_map_loop *, int n);
/* Registers that what is loaded from memory takes for an item of so many elements. */
int et_map_loaded(const et_product_cx *, const et_map_loop *, int vector);
/* May N items of so many elements be loaded before the first is stored? */
bool et_map_may_unroll(const et_product_cx *, const et_map_loop *, int vector, int n);
/* The conjunct of the mask that only bounds the tile's rows, `first + row < limit`, with the limit
 * known before the tile begins, and the rest of the mask, or none; false where there is no such.
 * Where the last row is inside, tiles are full. */
bool et_map_may_be_full(const et_product_cx *, const et_map_loop *, et_expr *out_bound,
                        et_expr *out_rest);
/* May the step, of the context's function, copy weights to local memory before the waits? */
bool et_map_may_copy(const et_product_cx *, const et_step *);
/* Turns in which the workgroup sees to all items, of which something may be loaded early; 0: it may
 * not. */
int et_map_early_rounds(const et_product_cx *, const et_map_loop *, int vector);
/* Why the step, of the context's function, cannot have the plan that it has, or NULL. */
const char *et_map_problem(const et_product_cx *, const et_step *);

/* ---- REDUCE ---- */
typedef struct {
    const et_step *s;
    et_reduce_plan plan; /* of S, where it has one */
    bool real;           /* not of integers */
    et_expr value;       /* as an element keeps it */
    int64_t extent;      /* of rvar, or -1 where only the launch knows it */
    int64_t rows, row_extent[ET_MAX_VARS + 1];
    int64_t places; /* of TOP: the extent of the last variable, which ROWS leave out; else 1 */
} et_reduce_loop;
et_reduce_loop et_reduce_loop_of(const et_product_cx *, const et_step *);

/* Rows that are reduced side by side where so many lanes share one. */
int64_t et_reduce_beside(const et_product_cx *, int lanes);
/* Is that all of the workgroup, for several rows one after the other, of which the first may be the
 * only ones that exist? */
bool et_reduce_by_workgroup(const et_product_cx *, const et_reduce_loop *, int lanes);
/* May rows that do not exist be reduced like the others, without a store? Then lanes do not
 * diverge, and each may have parts of several rows at once. */
bool et_reduce_may_all(const et_product_cx *, const et_reduce_loop *, int lanes);
bool et_reduce_may_rows(const et_product_cx *, const et_reduce_loop *, int lanes, int rows);
/* May a lane have so many rows next to each other, all of each? */
bool et_reduce_may_wide(const et_product_cx *, const et_reduce_loop *, int lanes, int vector,
                        int n);
/* The order of a sum that all variants share: lanes of a row that no wave has room for, were it
 * alone in its tile, with *OUT_VECTOR elements at a time; 0: rows are short, or no sums of f32, and
 * have the same bits whatever lanes share them; -1: only a launch knows how long they are. */
int et_reduce_lanes_alone(const et_product_cx *, const et_reduce_loop *, int *out_vector);
const char *et_reduce_problem(const et_product_cx *, const et_step *);

#endif
