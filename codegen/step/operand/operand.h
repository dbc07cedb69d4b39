/* operand.h - operands of a product, as a lane reads them from memory, LDS and the weight stream.
 */
#ifndef ET_CODEGEN_OPERAND_H
#define ET_CODEGEN_OPERAND_H

#include "codegen/step/operand/state.h"

/* ---- place.c ---- */
/* The mainloop of step S by its plan, and its frame, with nothing loaded. */
void cg_contract_plan(cg *, const et_step *, et_contract *out);
void cg_contract_place(cg *, et_contract *);
val cg_contract_dealt(cg *, const et_deal *);                    /* the place that the lane has */
int cg_contract_sum(const et_contract *, int i, int ms, int ns); /* its place among the sums */

/* ---- memory.c ---- */
void cg_contract_rows(cg *, et_contract *); /* addresses of b's rows, or which n they are */
/* Where E, an operand that is read as it is, has row R of variable ROWVAR for this lane. */
cg_addr cg_contract_row(cg *, const et_contract *, et_expr e, int rowvar, val r);
LLVMTypeRef cg_fragment_type(cg *, const et_contract *);
/* The fragment of unit U there, of the wave's part of the chunk that begins at K0. */
val cg_contract_fragment(cg *, const et_contract *, const cg_addr *, val k0, int u);
/* V, a piece of a row from K on, with its elements from the last k on made zero. */
val cg_contract_mask(cg *, const et_contract *, val v, val k);
/* N elements of EXPRESSION from element U * N of CHUNK on, as f32 or i32; zero past the last k. */
void cg_contract_elements(cg *, const et_contract *, et_expr e, bool divergent, val chunk, val u,
                          int n, val *v);
val cg_low_bits(cg *, val v, val bits); /* v mod 2^bits */

/* ---- staged.c ---- */
/* Are fragments read as blocks of eight rows, of which the lane names a piece? */
bool cg_contract_in_blocks(const cg *, const et_contract *);
/* A fragment of staged row ROW at k within the chunk. */
val cg_contract_staged(cg *, const et_contract *, int local, int pitch, val row, val k);
/* Of operand elements in the buffer of a or b. */
val cg_contract_staged_ptr(cg *, const et_contract *, int local, val elements);

/* ---- row_packed.c ---- */
/* The lane's pieces of UNITS units from K on, of which as many follow each other as there are rows.
 */
void cg_row_packed_load(cg *, const et_contract *, val row, val k, int units, val *a);
/* Unit U's products with the pieces A, into SUM; and the total of all sets of that. */
val cg_row_packed_multiply(cg *, const et_contract *, int u, const val *of, const val *a, val sum);
val cg_row_packed_sum(cg *, const et_contract *, val sum);
/* Which value of a sum, of the first row of b, is set J's; the second row's is two behind it. */
int cg_row_packed_value(const et_contract *, int j);

/* ---- consume.c: weights from a stage of the stream ---- */
/* The next chunk of b. */
void cg_contract_consume(cg *, const et_contract *, val *out);
/* Where ANY is 0 the tile has no chunks: the empty stage that stands for them. */
void cg_contract_consume_none(cg *, val any);
/* The vector of BITS bits from element K of the chunk on, of row N of the lane's of product I. */
val cg_contract_from_stage(cg *, const et_contract *, val stage, int i, int n, val k, int bits);
/* By how many bytes, less than twice ET_STREAM_SWAP, the pieces of a row have changed places; of a
 * row that is known. */
enum { ET_STREAM_SWAP = 64 };
val cg_contract_swapped(cg *, const et_contract *, val row);
int cg_contract_swap(const cg *, const et_contract *, int row);

/* ---- zeros.c ---- */
void cg_contract_find_zeros(cg *, et_contract *); /* loads those of the tile */
/* The first chunk from CHUNK on that is to be multiplied; how many there are, where none is. */
val cg_contract_next(cg *, const et_contract *, val chunk);

/* ---- packed.c: b packed, or as it is, as the load found it ---- */
/* The mainloop for a packed b beside C, or NULL. */
et_contract *cg_contract_other(cg *, const et_contract *c);
void cg_contract_packed_rows(cg *, et_contract *); /* addresses of its rows */
val cg_contract_is_packed(cg *, const et_contract *);
/* Where the sixteen rows that begin with row N of product I begin. */
val cg_contract_packed_at(cg *, const et_contract *, int i, val n);
/* B of the wave's part of a chunk, from memory or the stream: of each unit, product and sixteen
 * rows what a lane has of its rows, then the index of each. */
void cg_contract_packed(cg *, const et_contract *, val chunk, val *out);
void cg_contract_packed_consume(cg *, const et_contract *, val *out);

#endif
