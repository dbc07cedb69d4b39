/* rows.h - sources of the rows of a product whose weights are in registers. */
#ifndef ET_CODEGEN_PRODUCT_ROWS_H
#define ET_CODEGEN_PRODUCT_ROWS_H

#include "codegen/step/product/product.h"

/* A source: a row of the table in rows.c. */
struct et_rows {
    /* Before the first chunk. Puts its loop-carried values behind sums and weights in CARRIED;
     * returns how many. */
    int (*begin)(cg *, et_contract *, val *carried);
    /* Before CHUNK is multiplied: the offset of its rows in the buffer, in elements; NULL: they are
     * to be staged, or are in registers. Issues copies of later chunks. */
    val (*at)(cg *, const et_contract *, val chunk);
    /* Fragments of the chunk in registers: by unit, piece and row; NULL: none are. */
    val *(*fragments)(const et_contract *);
    void (*next)(cg *, const et_contract *, val chunk); /* after CHUNK has been multiplied */
};
const struct et_rows *cg_rows_of(const et_mainloop *);

/* What to copy to LDS: E at rows row0 + r, r in [0, live), and the k of chunk CHUNK and, with
 * SLOTS, those after it; rounded to the operand type, zero past the last k. */
typedef struct {
    et_expr e;
    int rowvar, rows; /* rows: at most */
    val row0, live;   /* row0 NULL: 0 */
    int local, pitch;
    val chunk, slots, chunks; /* chunks: how many there are, with slots */
    int room;                 /* with slots: as of the contraction */
    bool meet; /* others may still read the buffer: a barrier comes before the first store */
    bool all;  /* with slots: all chunks, from the first */
} et_staging;
void cg_contract_stage(cg *, const et_contract *, const et_staging *);

/* ---- rows_ahead.c: copied to LDS some chunks ahead ---- */
int cg_rows_ahead_begin(cg *, et_contract *, val *carried);
val cg_rows_ahead_at(cg *, const et_contract *, val chunk);

/* ---- rows_own.c: straight to registers ---- */
int cg_rows_own_begin(cg *, et_contract *, val *carried);
val *cg_rows_own_fragments(const et_contract *);
void cg_rows_own_next(cg *, const et_contract *, val chunk);
void cg_rows_own_select(const et_contract *,
                        int turn); /* of the chunks in registers, which is next */

#endif
