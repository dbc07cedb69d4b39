/* contract.h - a CONTRACT step as one lane sees it; what the files that emit it share. */
#ifndef ET_CODEGEN_CONTRACT_H
#define ET_CODEGEN_CONTRACT_H

#include "codegen/step/step.h"
#include "ir/program/step.h"
#include "ir/program/stream.h"

/* A work-item's pieces of a's rows: where they come from, bytes there are of each in a whole chunk,
 * its k and its place, in elements, within a chunk. */
typedef struct {
    cg_addr from[ET_MAX_AHEAD];
    val there[ET_MAX_AHEAD], k[ET_MAX_AHEAD], to[ET_MAX_AHEAD];
} et_ahead;

/* Rows of a that go to a wave's registers: where they are, and those of each chunk that is there or
 * on its way, of which number TURN is multiplied. */
typedef struct {
    cg_addr row[ET_MAX_ROWS];
    val *of;
    int turn;
} et_own;

/* Of rows of products. */
struct et_scales {
    val of[ET_MAX_ACC][ET_MAX_FRAGMENTS];
};

/* A product that is being emitted: its mainloop, and the values that it has so far. */
struct et_contract {
    et_mainloop p;
    struct et_scales *scale; /* unscaled: those that are the same for all k */
    struct et_scales *by;    /* and, of several pieces of rows, those of each unit's run, */
    struct et_scales *more;  /* and what is added to its values; or NULL */
    val mlive, nlive, kend;
    /* Few rows of a leave room, and so does a buffer that is larger than they: 2^slots chunks are
     * staged at once, 2^(4 + room - slots) rows apart. NULL: one. */
    val slots;
    bool staged; /* all are, before the first is multiplied */
    et_ahead *ahead;
    et_own *own;
    val nchunks;
    struct et_chunks *ring;      /* what was begun before the tile's waits; or NULL */
    struct et_contract *other;   /* the same of a packed b, or NULL */
    val is_packed;               /* with it: b is packed, an i1 */
    val some;                    /* with zeros: the bits of columns where there is anything */
    val begin;                   /* the first chunk that is multiplied */
    val before;                  /* with zeros: the one before this, or -1 */
    val m0, n0, ks, kpart;       /* of this wave */
    val product;                 /* that it has, where it has one of several; or NULL */
    val lane_m, lane_n, lane_k0; /* of this lane: first row of a, of b, first k */
    val group;                   /* lane_k0 counted in fragments */
    val row_n[ET_MAX_FRAGMENTS]; /* rows of b, which n */
    val out_n, out_m;            /* of the first of its sums */
    cg_addr row[ET_MAX_ACC][ET_MAX_FRAGMENTS]; /* rows of b */
    struct et_early *guess;                    /* of whose weights the first are; or NULL */
    val first[ET_DEEP][ET_MAX_FRAGMENTS];      /* those that come first, loaded */
};

/* What the derivation of mainloops may look at, of what is being emitted. */
const et_product_cx *cg_cx(cg *);
/* The product of step S by its plan, with nothing emitted. */
void cg_contract_plan(cg *, const et_step *, et_contract *out);

/* What to copy to LDS: E at rows row0 + r, r in [0, live), and the k of chunk CHUNK and, with
 * SLOTS, those after it; rounded to the operand type, zero past the last k. */
typedef struct {
    et_expr e;
    int rowvar, rows; /* rows: at most */
    val row0, live;   /* row0 NULL: 0 */
    int local, pitch;
    val chunk, slots, chunks; /* chunks: how many there are, with slots */
    int room;                 /* with slots: as of the contraction */
} et_staging;
void cg_contract_stage(cg *, const et_contract *, const et_staging *);

/* The elements of pairs next to each other. */
void cg_contract_pair_up(const et_contract *, int n, val *v);

/* Are the rows that the tile before has staged for the step there, where it had the same; all of
 * those of a chunk? */
bool cg_rows_still_there(cg *, const et_contract *);

/* ---- contract_ahead.c: a's rows, copied before their turn ---- */
void cg_contract_ahead_begin(cg *, et_contract *); /* after the tile's waits; by all waves */
/* CHUNK has come: where its rows begin in the buffer, in elements. The next is asked for. */
val cg_contract_ahead(cg *, const et_contract *, val chunk);

/* ---- contract_own.c: a's rows straight to registers ---- */
/* The first chunks, behind sums and b in CARRIED; returns how many values they are. */
int cg_contract_own_begin(cg *, et_contract *, val *carried);
val *cg_contract_own(const et_contract *); /* fragments of the chunk: by unit, piece and row */
/* CHUNK has been multiplied: the registers are loaded again. */
void cg_contract_own_next(cg *, const et_contract *, val chunk);

/* ---- contract_direct.c: products with b in registers ---- */
/* Unit U's products with the pieces A, into SUM; and what all sets of that are together. */
val cg_contract_multiply_spread(cg *, const et_contract *, int u, const val *of, const val *a,
                                val sum);
val cg_contract_gathered(cg *, const et_contract *, val sum);
/* Which value of a sum, of the first row of b, is set J's; the second row's is two behind it. */
int cg_contract_spread_value(const et_contract *, int j);
void cg_contract_chunks(cg *, et_contract *, val chunks, val *carried);

/* ---- zeros.c ---- */
void cg_contract_find_zeros(cg *, et_contract *); /* loads those of the tile */
/* The first chunk from CHUNK on that is to be multiplied; how many there are, where none is. */
val cg_contract_next(cg *, const et_contract *, val chunk);

/* ---- contract_packed.c: b packed, or as it is, as the load found it ---- */
/* The plan for a packed b beside C, or NULL. */
et_contract *cg_contract_other(cg *, const et_contract *c);
void cg_contract_packed_rows(cg *, et_contract *); /* addresses of its rows */
val cg_contract_is_packed(cg *, const et_contract *);
/* Where the sixteen rows that begin with row N of product I begin. */
val cg_contract_packed_at(cg *, const et_contract *, int i, val n);
/* B of the wave's part of a chunk: of each unit, product and sixteen rows what a lane has of its
 * rows, then the index of each. */
void cg_contract_packed(cg *, const et_contract *, val chunk, val *out);

/* ---- contract_stream.c ---- */
/* The next chunk of b, from its slot: all of it, or of a computed one what comes that way. */
void cg_contract_take(cg *, const et_contract *, val *out);
/* The vector of BITS bits from element K of the chunk on, of row N of the lane's of product I. */
val cg_contract_from_slot(cg *, const et_contract *, val slot, int i, int n, val k, int bits);
/* Rows of a product that is brought, those from N on: on to PAST where there are none, which is
 * NULL where all tiles have all; and there. */
block cg_contract_past(cg *, const et_contract *);
void cg_contract_skip(cg *, const et_contract *, int n, block past);
void cg_contract_pass(cg *, block past);

/* N elements of EXPRESSION from element U * N of CHUNK on, as f32 or i32; zero past the last k. */
void cg_contract_elements(cg *, const et_contract *, et_expr e, bool divergent, val chunk, val u,
                          int n, val *v);

/* All chunks through the ring, into the sums ACC. */
void cg_contract_ring(cg *, const et_contract *, val *acc);
/* All sums of the tile, and those of the first band, whose rows begin at ROW0 (NULL: all, from 0),
 * into local memory. */
void cg_contract_multiply(cg *, et_contract *, val *sums);
void cg_contract_write(cg *, const et_contract *, val row0, const val *sums);
int cg_contract_sum(const et_contract *, int i, int ms, int ns); /* its place among the sums */
val cg_contract_dealt(cg *, const et_deal *);                    /* the place that the lane has */

val cg_low_bits(cg *, val v, val bits); /* v mod 2^bits */
LLVMTypeRef cg_fragment_type(cg *, const et_contract *);
/* b of the wave's part of CHUNK, which is the next of those that come through the ring: what does
 * so, what comes from memory, or both. */
typedef enum { ET_FROM_MEMORY = 1, ET_FROM_RING = 2, ET_FROM_BOTH = 3 } et_source;
void cg_contract_load(cg *, const et_contract *, val chunk, et_source, val *out);
/* The same of a chunk that may be past the last of CHUNKS: the registers hold what they will then.
 */
void cg_contract_load_later(cg *, const et_contract *, val chunk, val chunks, et_source, val *out);
/* Of a step with a guess, after the tile's waits and with the rows' addresses: its first loads. */
void cg_contract_guessed(cg *, et_contract *);
/* V, a piece of a row from K on, with its elements from the last k on made zero. */
val cg_contract_mask(cg *, const et_contract *, val v, val k);
void cg_contract_rows(cg *, et_contract *); /* addresses of its rows */
/* Where E, an operand that is read as it is, has row R of variable ROWVAR for this lane. */
cg_addr cg_contract_row(cg *, const et_contract *, et_expr e, int rowvar, val r);
/* The fragment of unit U there, of the wave's part of the chunk that begins at K0. */
val cg_contract_fragment(cg *, const et_contract *, const cg_addr *, val k0, int u);

/* ---- contract.c: the waves' parts of k, added up where their sums are read ---- */
void cg_sums_begin(cg *, const et_step *); /* from now on, in the function that is emitted */

/* ---- codes/beside.c: what comes through the ring beside codes ---- */
/* The element of the k's about element K of the chunk, of the lane's row number ROW. */
val cg_contract_side_value(cg *, const et_contract *, const et_side *, val slot, int row, val k);
/* Where the lane's copies of the first chunk come FROM, and how many there are; a chunk's copies;
 * and on by so many CHUNKS, NULL: by one. */
int cg_contract_begin_sides(cg *, const et_contract *, val *from);
void cg_contract_bring_sides(cg *, const et_contract *, val slot, val *from);
void cg_contract_move_sides(cg *, const et_contract *, val chunks, val *from);

/* ---- codes/computed.c: a b that is computed of what is loaded ---- */
/* What is loaded for a chunk. */
void cg_contract_raws(cg *, const et_contract *, val chunk, et_source, val *out);
et_source cg_contract_raw_source(const et_contract *, int i); /* of number I of these */
/* The fragments of units FROM to TO - 1. */
void cg_contract_decode(cg *, const et_contract *, val chunk, const val *raw, int from, int to,
                        val *out);
/* E, made of what is the same for a lane's k's, for each of the lane's rows of product I; RAW is
 * what was loaded for the chunk, or NULL: E has no k. */
void cg_contract_of_rows(cg *, const et_contract *, val chunk, const val *raw, int i, et_expr e,
                         val *out);

/* ---- codes/both.c: products of codes of e4m3 ---- */
/* The codes of N values of e4m3 to PTR. */
void cg_contract_store_codes(cg *, val ptr, int n, int align, const val *v);
/* Are fragments read as blocks of eight rows, of which the lane names a piece? */
bool cg_contract_in_blocks(const cg *, const et_contract *);
/* A fragment of staged row ROW at k within the chunk. */
val cg_contract_staged(cg *, const et_contract *, int local, int pitch, val row, val k);
/* Of operand elements in the buffer of a or b. */
val cg_contract_staged_ptr(cg *, const et_contract *, int local, val elements);

/* ---- codes/pairs.c: computed in vectors of two bf16 ---- */
/* The fragment of unit U of product I, divided by TIMES. RAW: V[k] is what raw[k] brought. */
val cg_contract_paired(cg *, const et_contract *, int i, int u, const et_raw *raw, const val *v);
/* ---- codes/bare.c: codes without their scale ---- */
/* Which of RAW is what unit U has of CODES, a load. */
int cg_contract_raw_of(const et_raw *raw, int u, et_expr codes);
/* The fragment of unit U of product I, of codes alone. */
val cg_contract_bared(cg *, const et_contract *, int i, int u, const et_raw *raw, const val *v);
/* Several pieces of rows take turns with CHUNK: what their sums are multiplied by, from now on. */
void cg_contract_scale_pieces(cg *, et_contract *, val chunk, const val *raw);
/* Unit U's products of fragments OF with rows A, or number IN_A of the units whose pieces A are.
 * PART: the sums of k's that share a scale. */
void cg_contract_multiply_bare(cg *, const et_contract *, val chunk, int u, const val *raw,
                               const val *of, const val *a, int in_a, val *part, val *acc);
void cg_contract_begin_bare(cg *, et_contract *); /* before the first chunk */
void cg_contract_end_bare(cg *, const et_contract *, val *acc);

/* ---- codes/halves.c: such codes as f16, by one row ---- */
/* The largest of MOST and the sizes of N elements. */
val cg_contract_larger(cg *, val most, int n, const val *v);
/* What to multiply the row's elements by, of which MOST is the largest that the work-item has; with
 * a barrier, of all waves. */
val cg_contract_row_factor(cg *, const et_contract *, val most);
/* N bf16 of words as f16, times BY; with codes of four bits those of each second word a sixteenth.
 */
val cg_contract_halve(cg *, const et_contract *, int n, val words, val by);
val cg_contract_of_row(cg *, const et_contract *); /* what sums of the row are multiplied by */
/* All chunks of the row at once, where there always is one and the work-items have registers for
 * it; false: else. Nobody reads it before a barrier. */
bool cg_contract_stage_row(cg *, const et_contract *);

#endif
