/* Products whose waves each have a part of k to themselves, and all of a tile's columns.
 *
 * Where weights come ahead of a task, what it waits for are its rows. These go straight to the
 * registers of the wave whose k they have then, more of them in flight than local memory has
 * room for (codegen/step/product/rows_own.c). Each wave has sums of all columns then. Packed
 * weights need rows in another order than in memory, so these go through local memory then. */
#include "ir/product/product.h"
#include "passes/pipeline/pipeline.h"
#include "passes/tile/tiler.h"

enum {
    MOST_ROWS = 32,    /* of a tile */
    MOST_COLUMNS = 48, /* of all its products */
    TOGETHER = 4,      /* rows that are staged together whatever waves do */
};

bool et_tile_own_rows(const et_tiler *t, const et_step *s) {
    const et_machine *m = t->opt->machine;
    int unit = m->waves * m->k_bytes / et_dtype_bytes(s->operand);
    int64_t lo, rows, k;
    return et_may_stream(t->opt) && !t->opt->packed && s->tm <= MOST_ROWS &&
           s->nacc * s->tn <= MOST_COLUMNS && et_bounds(t->x, s->mlive, &lo, &rows) &&
           rows > TOGETHER && et_is_int(t->x, s->kextent, &k) && k % unit == 0 &&
           et_access_direct(t->p, &t->f, s, s->a, 16 / et_dtype_bytes(s->operand));
}
