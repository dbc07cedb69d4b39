/* contract.h - a CONTRACT step as one lane sees it; what the files that emit it share. */
#ifndef ET_CODEGEN_CONTRACT_H
#define ET_CODEGEN_CONTRACT_H

#include "codegen/step/step.h"
#include "ir/program/step.h"
#include "ir/program/stream.h"

enum {
    ET_DEEP = 2,             /* chunks of b in registers at once, where there is room for two */
    ET_MAX_FRAGMENTS = 64,   /* of b in a lane, for one unit of many accumulators */
    ET_MAX_SUMS = 64,        /* 16 x 16 sums of a wave */
    ET_MAX_ROWS = 8,         /* of sixteen in a lane */
    ET_FEW_ROWS = 4,         /* of a: their chunks are staged several at a time */
    ET_MAX_AHEAD = 16,       /* pieces of a chunk of a that a work-item copies */
    ET_MOST_SIDE_COPIES = 8, /* of a chunk that a lane makes of what lies beside codes */
};

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

/* What comes beside the codes of a product (codes/beside.c). */
typedef struct {
    et_expr load;
    int group;  /* k's that share an element */
    int bytes;  /* of a row of a chunk, */
    int piece;  /* that one copy brings so many of */
    int copies; /* a lane makes for a chunk */
    int at;     /* in a slot, the first row's */
} et_side;
struct et_sides {
    et_side of[ET_MAX_ACC][ET_MOST_BESIDE];
    int count[ET_MAX_ACC], copies; /* of all */
};

struct et_scaled;

/* Of rows of products. */
struct et_scales {
    val of[ET_MAX_ACC][ET_MAX_FRAGMENTS];
};

struct et_contract {
    const et_step *s;
    const et_fragment *fr;
    int rows_n, rows_m;      /* of sixteen that a lane holds */
    bool streamed;           /* b comes through the ring */
    bool direct;             /* b goes from memory to registers */
    struct et_coded *coded;  /* and is computed there of what was loaded; or NULL */
    struct et_sides *sides;  /* some of which comes through the ring beside b; or NULL */
    int stages;              /* chunks in the ring of a and b, see contract_chunk.h; or 0 */
    et_group_rows together;  /* whose rows are the waves' that multiply together */
    const et_layout *sums;   /* how they are dealt to lanes */
    bool late;               /* each fragment when its turn comes, not all of a chunk at once */
    bool codes;              /* both operands are codes of e4m3 */
    int size;                /* bytes of an operand element */
    int bits;                /* of an element of b where it comes from */
    bool bare;               /* codes are multiplied without their scale (codes/bare.c), */
    bool halves;             /* and so is the row, as f16 (codes/halves.c) */
    struct et_scales *scale; /* with `bare`: those that are the same for all k */
    struct et_scales *by;    /* and, of several pieces of rows, those of each unit's run, */
    struct et_scales *more;  /* and what is added to its codes; or NULL */
    int apart;               /* a's k's are staged in pairs of such that are so far apart, or 0 */
    int lane_k;              /* consecutive k in one fragment of a lane */
    int piece;               /* of which one load brings so many */
    int unit_k;              /* k covered by one fragment of all lanes */
    int results;             /* elements of a sum in one lane */
    int sets;                /* of such, a power of two, which are added up at the end */
    int spread;              /* a single row's k is dealt to so many rows of an operand; or 0 */
    float times;             /* what they are to be multiplied by then */
    int products;            /* that a wave has sums of: all, or one */
    bool side_by_side;       /* one, which is all of them (et_step_side_by_side) */
    int nsub, msub;          /* 16-row pieces of this wave's n, of m */
    int next_m;              /* rows from one of the latter to the next */
    int bands;               /* in which they are put into local memory, one after the other */
    int kc, units;           /* k per chunk, and units in a wave's part of it */
    int slot_k;              /* k of a slot, of several chunks, where only b comes in them; or 0 */
    int pitch_a;             /* between staged rows of a */
    int64_t k, chunks;       /* extent and chunks, -1 when known at run time only */
    bool tail;               /* the last chunk is not full */
    int nload;               /* fragments of b in one chunk, or registers that they are made of */
    et_expr extent, cond;    /* k, where cond holds if there is one; elsewhere the sums are zero */
    val mlive, nlive, kend;
    /* Few rows of a leave room, and so does a buffer that is larger than they: 2^slots chunks are
     * staged at once, 2^(4 + room - slots) rows apart. NULL: one. */
    val slots;
    bool staged; /* all are, before the first is multiplied */
    int room;    /* log2 of how many times 16 rows of a chunk the buffer for a holds */
    int turns; /* chunks of a that are there or on their way at once (contract_ahead.c); 0: none */
    et_ahead *ahead;
    /* Chunks whose rows of a are in registers or on their way there, where a wave has a part of k
     * to itself (contract_own.c); 0: rows go through LDS. */
    int deep_a;
    bool through; /* they do that whatever waves have */
    et_own *own;
    val nchunks;
    struct et_chunks *ring;      /* what was begun before the tile's waits; or NULL */
    bool packed;                 /* b is read packed (contract_packed.c) */
    bool either;                 /* b may be, as it turns out: sums are where those would be */
    struct et_contract *other;   /* the plan for that of a step that can, or NULL */
    val is_packed;               /* with it: b is packed, an i1 */
    bool zeros;                  /* chunks whose weights are zero are left out (zeros.c) */
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
    struct et_guess *guess;                    /* of whose weights the first are; or NULL */
    bool deep;                                 /* two chunks of b in registers */
    val first[ET_DEEP][ET_MAX_FRAGMENTS];      /* those that come first, loaded */
};

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

/* ---- contract_plan.c: of S and STREAMED; false where b needs a buffer in LDS and has none ---- */
bool cg_contract_plan(cg *, et_contract *);
bool cg_contract_may_deepen(cg *, const et_contract *); /* two chunks of a streamed b at once */

/* ---- contract_ahead.c: a's rows, copied before their turn ---- */
bool cg_contract_may_turn(cg *, const et_contract *); /* rows and operand are such that they may */
/* Of how many chunks the buffer is a ring; 0: rows are staged when their turn comes. */
int cg_contract_turns(cg *, const et_contract *);
void cg_contract_ahead_begin(cg *, et_contract *); /* after the tile's waits; by all waves */
/* CHUNK has come: where its rows begin in the buffer, in elements. The next is asked for. */
val cg_contract_ahead(cg *, const et_contract *, val chunk);

/* ---- contract_own.c: a's rows straight to registers ---- */
bool cg_contract_may_own(cg *, const et_contract *); /* rows, waves and operand are such */
/* Units of a chunk then: at most MOST, and a whole number of chunks in ALL. */
int cg_contract_own_units(const et_contract *, int64_t all, int most);
/* Of how many chunks; 0: they are not a wave's own, or there is no room. */
int cg_contract_deep_a(cg *, const et_contract *);
/* The first chunks, behind sums and b in CARRIED; returns how many values they are. */
int cg_contract_own_begin(cg *, et_contract *, val *carried);
val *cg_contract_own(const et_contract *); /* fragments of the chunk: by unit, piece and row */
/* CHUNK has been multiplied: the registers are loaded again. */
void cg_contract_own_next(cg *, const et_contract *, val chunk);

/* ---- contract_direct.c: products with b in registers ---- */
/* The plan is one for a single row whose pieces are spread, where it can be. */
void cg_contract_spread(cg *, et_contract *);
/* Unit U's products with the pieces A, into SUM; and what all sets of that are together. */
val cg_contract_multiply_spread(cg *, const et_contract *, int u, const val *of, const val *a,
                                val sum);
val cg_contract_gathered(cg *, const et_contract *, val sum);
/* Which value of a sum, of the first row of b, is set J's; the second row's is two behind it. */
int cg_contract_spread_value(const et_contract *, int j);
void cg_contract_chunks(cg *, et_contract *, val chunks, val *carried);

/* ---- zeros.c ---- */
bool cg_contract_zeros(cg *, const et_contract *); /* are there words of what is zero? */
void cg_contract_find_zeros(cg *, et_contract *);  /* loads those of the tile */
/* The first chunk from CHUNK on that is to be multiplied; how many there are, where none is. */
val cg_contract_next(cg *, const et_contract *, val chunk);

/* ---- contract_packed.c: b packed, or as it is, as the load found it ---- */
/* May C's b be? The plan is one for a b as it is. */
bool cg_contract_may_pack(cg *, const et_contract *);
/* The plan for a packed b beside C, or NULL. */
et_contract *cg_contract_other(cg *, const et_contract *c);
void cg_contract_packed_rows(cg *, et_contract *); /* addresses of its rows */
val cg_contract_is_packed(cg *, const et_contract *);
/* Of sixteen rows of a chunk, one after the other. */
int cg_contract_packed_bytes(const et_contract *);
int cg_contract_packed_units(const et_contract *, int bytes); /* that a slot has room for */
/* Where the sixteen rows that begin with row N of product I begin. */
val cg_contract_packed_at(cg *, const et_contract *, int i, val n);
/* B of the wave's part of a chunk: of each unit, product and sixteen rows what a lane has of its
 * rows, then the index of each. */
void cg_contract_packed(cg *, const et_contract *, val chunk, val *out);

/* ---- contract_stream.c ---- */
/* May the operand come through the ring? The plan is one for that. */
bool cg_contract_streams(cg *, const et_contract *);
bool cg_contract_fits(cg *, const et_contract *); /* a chunk's pieces, slot and lanes */
int cg_contract_slot_bytes(const et_contract *);  /* of a slot, that a chunk of b takes */
int cg_contract_row_bytes(const et_contract *);   /* of a row of that */
/* Are the rows that lanes bring PER at a time, from each row on that they begin with, as far apart
 * as the first ones? */
bool cg_contract_alike(cg *, const et_contract *, int per);
/* The next chunk of b, from its slot: all of it, or of a computed one what comes that way. */
void cg_contract_take(cg *, const et_contract *, val *out);
/* The vector of BITS bits from element K of the chunk on, of row N of the lane's of product I. */
val cg_contract_from_slot(cg *, const et_contract *, val slot, int i, int n, val k, int bits);
et_contract *cg_contract_shape(cg *, const et_step *); /* the plan alone, of a streamed step */
/* Rows of a product that is brought, those from N on: on to PAST where there are none, which is
 * NULL where all tiles have all; and there. */
block cg_contract_past(cg *, const et_contract *);
void cg_contract_skip(cg *, const et_contract *, int n, block past);
void cg_contract_pass(cg *, block past);

/* N elements of EXPRESSION from element U * N of CHUNK on, as f32 or i32; zero past the last k. */
void cg_contract_elements(cg *, const et_contract *, et_expr e, bool divergent, val chunk, val u,
                          int n, val *v);

/* Every tile has rows, as nobody has to ask where waves multiply together: contract_group.c. */
bool cg_chunks_have_rows(const cg *, const et_contract *);
/* All chunks through the ring, into the sums ACC. */
void cg_contract_ring(cg *, const et_contract *, val *acc);
const char *cg_contract_ring_problem(cg *, const et_contract *);
/* All sums of the tile, and those of the first band, whose rows begin at ROW0 (NULL: all, from 0),
 * into local memory. */
void cg_contract_multiply(cg *, et_contract *, val *sums);
void cg_contract_write(cg *, const et_contract *, val row0, const val *sums);
const char *cg_bands_problem(cg *, const et_contract *);
int cg_contract_sum(const et_contract *, int i, int ms, int ns); /* its place among the sums */
int cg_contract_sums(const et_contract *);
val cg_contract_dealt(cg *, const et_deal *); /* the place that the lane has */

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

/* ---- contract_plan.c: the waves' parts of k, added up where their sums are read ---- */
bool cg_sums_as_read(cg *, const et_step *);
void cg_sums_begin(cg *, const et_step *); /* from now on, in the function that is emitted */

/* ---- codes/beside.c: what comes through the ring beside codes ---- */
/* What does, where chunks have CODES bytes of these. */
void cg_contract_plan_sides(cg *, et_contract *, int codes);
const et_side *cg_contract_side(const et_contract *, int i, et_expr load); /* or NULL */
/* The element of the k's about element K of the chunk, of the lane's row number ROW. */
val cg_contract_side_value(cg *, const et_contract *, const et_side *, val slot, int row, val k);
/* Where the lane's copies of the first chunk come FROM, and how many there are; a chunk's copies;
 * and on by so many CHUNKS, NULL: by one. */
int cg_contract_begin_sides(cg *, const et_contract *, val *from);
void cg_contract_bring_sides(cg *, const et_contract *, val slot, val *from);
void cg_contract_move_sides(cg *, const et_contract *, val chunks, val *from);

/* ---- codes/computed.c: a b that is computed of what is loaded ---- */
/* What a load brings: elements for the lane's K values of unit U, or one for all of them. */
struct et_raw {
    et_expr load; /* as it stands in b */
    et_expr node; /* at the first of its k */
    int u, n, align;
    bool ring;           /* comes through it, */
    const et_side *side; /* beside that; or NULL */
};
/* Can it be, at most MOST units to a chunk? The plan is one for that then. */
bool cg_contract_code(cg *, et_contract *, int most);
/* What is loaded for a chunk. */
void cg_contract_raws(cg *, const et_contract *, val chunk, et_source, val *out);
et_source cg_contract_raw_source(const et_contract *, int i); /* of number I of these */
/* The fragments of units FROM to TO - 1. */
void cg_contract_decode(cg *, const et_contract *, val chunk, const val *raw, int from, int to,
                        val *out);
bool cg_contract_direct(cg *, const et_step *, et_expr b, int lane_k);
/* OFF, which is AT0 where VAR is 0, grows with VAR by TIMES. */
bool cg_grows_with(cg *, et_expr off, int var, int64_t times, et_expr at0);
/* The k's of lane and unit U, the first of them. */
et_expr cg_contract_k(cg *, const et_contract *, int u);

/* E at unit U, where it is the same for all of its k's; else none. */
et_expr cg_contract_of_unit(cg *, const et_contract *, et_expr e, int u);
/* E, made of what is the same for a lane's k's, for each of the lane's rows of product I; RAW is
 * what was loaded for the chunk, or NULL: E has no k. */
void cg_contract_of_rows(cg *, const et_contract *, val chunk, const val *raw, int i, et_expr e,
                         val *out);

/* ---- codes/both.c: products of codes of e4m3 ---- */
/* S as such a product, in the arena; NULL where it is none, or the target has none. */
const et_step *cg_contract_codes(cg *, const et_step *);
/* The codes of N values of e4m3 to PTR. */
void cg_contract_store_codes(cg *, val ptr, int n, int align, const val *v);
/* How many operand elements there are from one staged row of a to the next in its buffer. */
int cg_contract_pitch(const cg *, const et_contract *);
/* Are fragments read as blocks of eight rows, of which the lane names a piece? */
bool cg_contract_in_blocks(const cg *, const et_contract *);
/* A fragment of staged row ROW at k within the chunk. */
val cg_contract_staged(cg *, const et_contract *, int local, int pitch, val row, val k);
/* Of operand elements in the buffer of a or b. */
val cg_contract_staged_ptr(cg *, const et_contract *, int local, val elements);

/* ---- codes/pairs.c: computed in vectors of two bf16 ---- */
/* How far apart a pair's k's are, 1 or more; 0 where B[I] is not computed so. */
int cg_contract_pairs(cg *, const et_contract *, int i);
/* The fragment of unit U of product I, divided by TIMES. RAW: V[k] is what raw[k] brought. */
val cg_contract_paired(cg *, const et_contract *, int i, int u, const struct et_raw *raw,
                       const val *v);
float cg_contract_pairs_times(void);
/* Is B[I] codes times a scale that is the same for a lane's k's? */
bool cg_contract_scaled(cg *, const et_contract *, int i, struct et_scaled *out);

/* ---- codes/bare.c: codes without their scale ---- */
/* Is product I codes times a scale, and what is added to them, that all lanes share in a unit? */
bool cg_contract_may_bare(cg *, const et_contract *, int i);
/* The plan is one for codes without it, as operands of the product, where it can be. */
bool cg_contract_take_bare(cg *, et_contract *);
et_dtype cg_contract_code_of(cg *, const et_contract *, int i); /* of those */
/* Which of RAW is what unit U has of CODES, a load. */
int cg_contract_raw_of(const struct et_raw *raw, int u, et_expr codes);
/* The fragment of unit U of product I, of codes alone. */
val cg_contract_bared(cg *, const et_contract *, int i, int u, const struct et_raw *raw,
                      const val *v);
/* Several pieces of rows take turns with CHUNK: what their sums are multiplied by, from now on. */
void cg_contract_scale_pieces(cg *, et_contract *, val chunk, const val *raw);
/* Unit U's products of fragments OF with rows A, or number IN_A of the units whose pieces A are.
 * PART: the sums of k's that share a scale. */
void cg_contract_multiply_bare(cg *, const et_contract *, val chunk, int u, const val *raw,
                               const val *of, const val *a, int in_a, val *part, val *acc);
void cg_contract_begin_bare(cg *, et_contract *); /* before the first chunk */
void cg_contract_end_bare(cg *, const et_contract *, val *acc);

/* ---- codes/halves.c: such codes as f16, by one row ---- */
/* The plan is one for that, where it can be. */
bool cg_contract_take_halves(cg *, et_contract *);
/* Bytes behind the row that hold the largest element that each wave has found, and what to multiply
 * sums by. */
int cg_contract_kept(const cg *);
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
