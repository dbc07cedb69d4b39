/* simplex.h - linear inequalities over unknowns that are not negative. */
#ifndef ET_VERIFY_STEPS_SIMPLEX_H
#define ET_VERIFY_STEPS_SIMPLEX_H

#include "ir/base/arena.h"
#include <stdbool.h>
#include <stdint.h>

typedef __int128 sv_wide;
typedef struct sv_table sv_table;

/* Room for so many rows and columns. */
sv_table *sv_table_create(et_arena *, int rows, int cols);
void sv_table_clear(sv_table *, int ncols);
/* One more row, of zeros: factors of the columns, then a constant. Their sum is at least 0. NULL
 * when there is no room. */
sv_wide *sv_table_row(sv_table *);
/* No values of the columns that are at least 0 satisfy all rows: a proof. False where they do, and
 * where numbers or the time that it takes grow too large. Adds to *WORK what was done. */
bool sv_table_never(sv_table *, int64_t *work);

#endif
