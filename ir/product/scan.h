/* scan.h - the chunked form of a SCAN step: many rows of a sequence at once, by matrix products.
 *
 * It is derived where a row changes a state by a multiple of itself and one product:
 *
 *     seen = sum_j looks[j] s[j]        s[j] = kept s[j] + (added + sees seen) along[j]
 *     out = sum_j outs[j] s[j]
 *
 * and only `added` is of a result. With rows t of a chunk, and T[t][u] the product of what rows u +
 * 1 to t keep, what they add, U, is a triangular system, and the rest are products:
 *
 *     U[t] = added[t] + sees[t] (T[t - 1][-1] (looks[t] . S) + sum_{u < t} T[t - 1][u] (looks[t] .
 *            along[u]) U[u])
 *     out[t] = T[t][-1] (outs[t] . S) + sum_{u <= t} T[t][u] (outs[t] . along[u]) U[u]
 *     S' = T[last][-1] S + sum_u T[last][u] U[u] along[u]
 *
 * Sums go over all rows of a chunk, those behind t with factors of zero: a NaN or an infinity that
 * a row brings may be in results of rows before it.
 *
 * A chunk has the rows of one sequence from a position that its rows divide on, which follow one
 * another in the launch. All others are taken one by one. */
#ifndef ET_PRODUCT_SCAN_H
#define ET_PRODUCT_SCAN_H

#include "ir/product/product.h"

enum {
    ET_SCAN_CHUNK_UNIT = 16, /* rows, results and elements are multiples of it */
    ET_SCAN_LANE_K = 4,      /* of a product, next to each other in a lane */
    ET_SCAN_TILES = 8,       /* of a product that a wave has, at most */
    ET_SCAN_PIECES = 64,     /* of a matrix that a work-item loads, at most */
};

typedef struct {
    et_expr kept, sees, added, looks, along, outs; /* SEES, LOOKS: none where nothing is seen */
    et_expr position;                              /* an integer of the row, 0 where it is fresh */
} et_scan_form;

/* The parts of S, a SCAN step, in that form. False, and *OUT_WHY says why, where it has none. */
bool et_scan_form_of(et_exprs *, const et_step *, et_scan_form *out, const char **out_why);

/* The other form that does rows at once, to the same bits: an element of the state is what one of
 * the last rows brought, as in a short convolution,
 *
 *     s[j] = brought where count % J == j, else s[j]
 *
 * so that along a run, rows of one sequence that follow one another and whose COUNT goes up by
 * one, element j of row t is of row t - (count(t) - j) % J, or as it was before the run. */
typedef struct {
    et_expr count, brought; /* an integer of the row; of the row, the result and the element */
    int elements;           /* J */
} et_scan_window;

enum { ET_SCAN_WINDOW = 16 }; /* elements at most */

/* S, a SCAN step of which ITEMS work-items have a tile, in that form; likewise. */
bool et_scan_window_of(et_exprs *, const et_step *, int items, et_scan_window *out,
                       const char **out_why);

/* Where a chunk's matrices lie in the step's scratch, in f32 words, and how far apart their rows.
 */
typedef struct {
    et_scan_form form;
    int rows, results, elements; /* of a chunk; of a tile, in a row; of a state of a result */
    int pitch; /* of `outs`, behind them looks; of along, behind them the states */
    int outs, along, states;
    int products, product_pitch; /* of the former two by the latter two: [2 rows][rows + results] */
    int kept, sees;              /* vectors of a chunk */
    int table, table_pitch;      /* T, [1 + rows][1 + rows], by t + 1 and u + 1 */
    int adds, add_pitch;         /* U, and added at first */
    int words;
} et_scan_chunk;

/* The same for a step of which ITEMS work-items, in waves of WAVE, have a tile; ROWS of a chunk. */
bool et_scan_chunk_of(et_exprs *, const et_step *, int items, int wave, int rows,
                      et_scan_chunk *out, const char **out_why);

/* Can S, which has a chunk or a window, be done so on the context's target, in its scratch? */
bool et_scan_suits(const et_product_cx *, const et_step *, const char **out_why);

#endif
