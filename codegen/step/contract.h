/* contract.h - a CONTRACT step as one lane sees it; what the files that emit it share. */
#ifndef ET_CODEGEN_CONTRACT_H
#define ET_CODEGEN_CONTRACT_H

#include "codegen/step/step.h"

enum {
    ET_DEEP = 2,           /* chunks of b in registers at once, where there is room for two */
    ET_MAX_FRAGMENTS = 64, /* of b in a lane, for one unit of many accumulators */
    ET_MAX_SUMS = 64,      /* 16 x 16 sums of a wave */
    ET_MAX_ROWS = 8,       /* of sixteen in a lane */
};

struct et_contract {
    const et_step *s;
    const et_fragment *fr;
    int rows_n, rows_m;     /* of sixteen that a lane holds */
    bool streamed;          /* b comes through the ring */
    bool direct;            /* b goes from memory to registers */
    struct et_coded *coded; /* and is computed there of what was loaded; or NULL */
    int stages;             /* chunks in the ring of a and b, see contract_ring.c; or 0 */
    int size;               /* bytes of an operand element */
    int lane_k;             /* consecutive k in one fragment of a lane */
    int piece;              /* of which one load brings so many */
    int unit_k;             /* k covered by one fragment of all lanes */
    int results;            /* elements of a sum in one lane */
    int nsub, msub;         /* 16-row pieces of this wave's n, of m */
    int kc, units;          /* k per chunk, and units in a wave's part of it */
    int pitch_a;            /* between staged rows of a */
    int64_t k, chunks;      /* extent and chunks, -1 when known at run time only */
    bool tail;              /* the last chunk is not full */
    int nload;              /* fragments of b in one chunk, or registers that they are made of */
    et_expr extent, cond;   /* k, where cond holds if there is one; elsewhere the sums are zero */
    val mlive, nlive, kend;
    /* Few rows of a leave room: 2^slots chunks are staged at once, rows 2^(4 - slots) apart. NULL:
     * one. */
    val slots;
    val nchunks;
    val m0, n0, ks, kpart;                     /* of this wave */
    val lane_m, lane_n, lane_k0;               /* of this lane: first row of a, of b, first k */
    val group;                                 /* lane_k0 counted in fragments */
    val row_n[ET_MAX_FRAGMENTS];               /* rows of b, which n */
    val out_n, out_m;                          /* of the first of its sums */
    cg_addr row[ET_MAX_ACC][ET_MAX_FRAGMENTS]; /* rows of b */
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
} et_staging;
void cg_contract_stage(cg *, const et_contract *, const et_staging *);

/* ---- contract_stream.c ---- */
/* May the operand come through the ring? The plan is one for that. */
bool cg_contract_streams(cg *, const et_contract *);
void cg_contract_take(cg *, const et_contract *, val *out); /* the next chunk of b, from its slot */
et_contract *cg_contract_shape(cg *, const et_step *);      /* the plan alone, of a streamed step */

/* N elements of EXPRESSION from element U * N of CHUNK on, as f32 or i32; zero past the last k. */
void cg_contract_elements(cg *, const et_contract *, et_expr e, bool divergent, val chunk, val u,
                          int n, val *v);

/* All chunks through the ring, into the sums ACC. */
void cg_contract_ring(cg *, const et_contract *, val *acc);
const char *cg_contract_ring_problem(cg *, const et_contract *);
int cg_contract_sum(const et_contract *, int i, int ms, int ns); /* its place among the sums */
int cg_contract_sums(const et_contract *);

val cg_low_bits(cg *, val v, val bits); /* v mod 2^bits */
LLVMTypeRef cg_fragment_type(cg *, const et_contract *);
/* b of the wave's part of CHUNK, which is the next of those that come through the ring. */
void cg_contract_load(cg *, const et_contract *, val chunk, val *out);
/* The same of a chunk that may be past the last of CHUNKS: the registers hold what they will then.
 */
void cg_contract_load_later(cg *, const et_contract *, val chunk, val chunks, val *out);
/* V, a piece of a row from K on, with its elements from the last k on made zero. */
val cg_contract_mask(cg *, const et_contract *, val v, val k);
void cg_contract_rows(cg *, et_contract *); /* addresses of its rows */

/* ---- contract_code.c: a b that is computed of what is loaded ---- */
/* Can it be, at most MOST units to a chunk? The plan is one for that then. */
bool cg_contract_code(cg *, et_contract *, int most);
void cg_contract_raws(cg *, const et_contract *, val chunk,
                      val *out); /* what is loaded for a chunk */
void cg_contract_decode(cg *, const et_contract *, val chunk, const val *raw, val *out);
bool cg_contract_direct(cg *, const et_step *, et_expr b, int lane_k);

#endif
