/* operand.h - operands of a product, as a lane reads them from memory, LDS and the weight stream.
 */
#ifndef ET_CODEGEN_OPERAND_H
#define ET_CODEGEN_OPERAND_H

#include "codegen/step/operand/state.h"

/* ---- place.c ---- */
/* The mainloop of step S by its plan, and its frame; loads nothing. */
void cg_contract_plan(cg *, const et_step *, et_contract *out);
void cg_contract_place(cg *, et_contract *);
val cg_contract_dealt(cg *, const et_deal *);                    /* the lane's place in a deal */
int cg_contract_sum(const et_contract *, int i, int ms, int ns); /* its place among the sums */

/* ---- memory.c ---- */
void cg_contract_rows(cg *, et_contract *); /* addresses of b's rows, or their n */
/* The address of row R, of variable ROWVAR, of E, an operand that lies in memory as it is, for this
 * lane. */
cg_addr cg_contract_row(cg *, const et_contract *, et_expr e, int rowvar, val r);
LLVMTypeRef cg_fragment_type(cg *, const et_contract *);
/* The fragment of unit U at that row, of the wave's part of the chunk that begins at K0. */
val cg_contract_fragment(cg *, const et_contract *, const cg_addr *, val k0, int u);
/* A fragment in two steps, of a lane's two words of either. */
val cg_contract_halves(cg *, val low, val high);
/* V, a piece of a row from K on, with zeros for elements past the last k. */
val cg_contract_mask(cg *, const et_contract *, val v, val k);
/* N elements of EXPRESSION from element U * N of CHUNK on, as f32 or i32; zero past the last k. */
void cg_contract_elements(cg *, const et_contract *, et_expr e, bool divergent, val chunk, val u,
                          int n, val *v);
val cg_low_bits(cg *, val v, val bits); /* v mod 2^bits */

/* ---- staged.c ---- */
/* Are fragments read by `load_blocks` of the family, eight rows at a time? */
bool cg_contract_in_blocks(const cg *, const et_contract *);
/* A fragment of staged row ROW at k within the chunk. */
val cg_contract_staged(cg *, const et_contract *, int local, int pitch, val row, val k);
/* Of operand elements in the buffer of a or b. */
val cg_contract_staged_ptr(cg *, const et_contract *, int local, val elements);

/* ---- row_packed.c ---- */
/* The lane's pieces of UNITS units from K on; those of an operand's rows follow each other. */
void cg_row_packed_load(cg *, const et_contract *, val row, val k, int units, val *a);
/* Unit U's products with the pieces A, added to SUM; and the total over the sets of a sum. */
val cg_row_packed_multiply(cg *, const et_contract *, int u, const val *of, const val *a, val sum);
val cg_row_packed_sum(cg *, const et_contract *, val sum);
/* The same of several rows, whose sums take turns as those of one do that is packed. */
val cg_in_turn_multiply(cg *, const et_contract *, int u, const val *of, const val *a, val sum);
val cg_in_turn_sum(cg *, const et_contract *, val sum);
/* The number of the value of a sum that set J has, for the first row of b; two more for the second.
 */
int cg_row_packed_value(const et_contract *, int j);

/* ---- consume.c: weights from a stage of the stream ---- */
/* The next chunk of b. */
void cg_contract_consume(cg *, const et_contract *, val *out);
/* Where ANY is 0 the tile has no chunks: consumes the one empty stage in their place. */
void cg_contract_consume_none(cg *, val any);
/* The vector of BITS bits from element K of the chunk on, of row N of the lane's of product I. */
val cg_contract_from_stage(cg *, const et_contract *, val stage, int i, int n, val k, int bits);
/* Do a lane's loads of codes lie in a stage as blocks of eight rows of 16 bytes, of which the
 * family reads four at a time? Then all of them: the word of unit U, of row N of the lane's of
 * product I, to OUT[U * nsub * rows_n + N]. */
bool cg_contract_stage_in_blocks(const cg *, const et_contract *);
void cg_contract_blocks_from_stage(cg *, const et_contract *, val stage, int i, val *out);
/* By how many bytes, less than twice ET_STREAM_SWAP, the pieces of a row have changed places; of a
 * row that is known. */
enum { ET_STREAM_SWAP = 64 };
val cg_contract_swapped(cg *, const et_contract *, val row);
int cg_contract_swap(const cg *, const et_contract *, int row);

/* ---- zeros.c ---- */
void cg_contract_find_zeros(cg *, et_contract *); /* loads the bits of the tile */
/* The first chunk from CHUNK on with weights; the number of chunks where there is none. */
val cg_contract_next(cg *, const et_contract *, val chunk);

/* ---- packed.c: b packed or not, as was found when it was loaded ---- */
/* The mainloop for a packed b beside C, or NULL. */
et_contract *cg_contract_other(cg *, const et_contract *c);
void cg_contract_packed_rows(cg *, et_contract *); /* addresses of its rows */
val cg_contract_is_packed(cg *, const et_contract *);
/* The address of the sixteen rows from row N of product I on. */
val cg_contract_packed_at(cg *, const et_contract *, int i, val n);
/* B of the wave's part of a chunk, from memory or the stream, by unit, product and sixteen rows:
 * the lane's values of its rows, then the index of each. */
void cg_contract_packed(cg *, const et_contract *, val chunk, val *out);
void cg_contract_packed_consume(cg *, const et_contract *, val *out);

#endif
