/* pipeline.h - products of many rows: chunks of both operands in a multistage pipeline in LDS.
 * Stages are filled and read in stage.c and boxes.c; the loops over stages are in pipeline.c and
 * warpgroup.c. */
#ifndef ET_CODEGEN_PIPELINE_H
#define ET_CODEGEN_PIPELINE_H

#include "codegen/step/operand/operand.h"

/* All chunks, into the sums ACC. */
void cg_contract_ring(cg *, const et_contract *, val *acc);
/* Before the tile's waits: addresses of the operands, and copies of as many chunks of b as the plan
 * says. */
void cg_contract_ring_begin(cg *, et_contract *);

enum {
    ET_UNIT_VALUES = 2 * (ET_MAX_ROWS + ET_MAX_SUMS) * ET_MAX_ROWS, /* of a wave's unit */
};

/* An operand on its way into the stages. Work-items have the same pieces of every chunk. */
typedef struct {
    et_expr e;
    int var, rows, local;
    int64_t at, bytes;         /* of its first row in a part of the local, and of such a part */
    val live;                  /* rows: those after them are not read */
    bool plain;                /* a tensor, as it is */
    bool async;                /* copied asynchronously */
    bool once;                 /* weights, copied such that they leave the L2 first */
    int grain;                 /* bytes that its pieces are aligned to; 0: it is not plain */
    int n;                     /* pieces of a work-item */
    val piece[ET_CHUNK_ITEMS]; /* of a row, that this work-item has: another than all operands'
                                  where neighbouring lanes load neighbouring rows */
    cg_addr from[ET_CHUNK_ITEMS];
    val first[ET_CHUNK_ITEMS]; /* of an async operand: the piece of the first chunk */
    val there[ET_CHUNK_ITEMS]; /* bytes of a piece; 0 in a row that is not live */
    val row[ET_CHUNK_ITEMS], to[ET_CHUNK_ITEMS], bits[ET_CHUNK_ITEMS][ET_CHUNK_PARTS];
    val map, begin, column; /* of TMA boxes: the tensor map, first row and element */
} et_chunk_operand;

typedef struct et_chunks {
    const et_contract *c;
    et_chunk_operand side[1 + ET_MAX_ACC];
    int nsides;
    int wide;   /* bytes of a row in a part */
    int parts;  /* of a chunk */
    bool async; /* work-items copy some operands */
    bool bulk;  /* operands from number BOXED on are copied as TMA boxes, not by work-items */
    int boxed;
    val piece; /* of a row, that this work-item has */
    int early; /* chunks of right operands in flight before any row is */
    bool late; /* set up behind the tile's waits: other waves may read the stages of the one before
                */
} et_chunks;

/* Sets up the pipeline for the tile's part of both operands; C is set. */
void cg_chunks_begin(cg *, et_chunks *);

/* ---- stage.c: into a stage ---- */
/* Which chunk of k comes in this turn: with spans, the chunks of one follow each other. */
val cg_chunk_in_turn(cg *, const et_chunks *, val turn);
bool cg_chunk_once(cg *, const et_chunks *, int i); /* does operand I leave the L2 first? */
/* The address, in the first chunk, of a work-item's piece number J of an operand. */
val cg_chunk_first(cg *, const et_chunks *, const et_chunk_operand *, int j);
/* Copies CHUNK of the async ones of operands FIRST to LAST into STAGE. */
void cg_chunk_copy(cg *, const et_chunks *, val chunk, val stage, int first, int last);
/* Loads CHUNK of the other operands to registers; stores these to STAGE. */
void cg_chunk_load(cg *, et_chunks *, val chunk);
void cg_chunk_store(cg *, const et_chunks *, val stage);
/* A piece of CHUNK; zero unless ANY, an i1: there is such a chunk. */
val cg_chunk_held(cg *, const et_chunks *, const et_chunk_operand *, int j, val chunk, int part,
                  val any);

/* ---- boxes.c ---- */
void cg_chunks_begin_box(cg *, et_chunks *, int i);
/* Boxes of chunks FROM to END, the first of the pipeline, of operands FIRST to LAST, the left one
 * last. The stages have been read. */
void cg_chunks_fill(cg *, const et_chunks *, int from, int end, int first, int last);
void cg_chunks_refill(cg *, const et_chunks *, val chunk, val stage); /* if there is one */
/* The parity of the phase of each stage's barrier, a bit a stage: from the tile before, read by all
 * before the first barrier of the loop; to the tile after, written by all after its last. */
val cg_chunks_phases(cg *);
void cg_chunks_phases_end(cg *, val phases);
void cg_chunk_await(cg *, val stage, val phases); /* waits for the boxes of STAGE */

/* ---- pipeline.c, warpgroup.c ---- */
val cg_chunks_next(cg *, const et_chunks *, val stage);
val cg_chunks_back(cg *, const et_chunks *, val stage, int n);
/* The same of operands up to LAST, if there is such a chunk. */
void cg_chunks_copy(cg *, const et_chunks *, val chunk, val stage, int last);
void cg_chunks_warpgroup(cg *, et_chunks *, val *acc); /* all chunks, by warpgroup MMA */

/* ---- out of a stage, by each wave for itself ---- */
/* The wave's fragments of a chunk's unit U: those of a, then those of each b. Returns how many. */
void cg_chunk_unit(cg *, const et_chunks *, val stage, int u, val *out);
int cg_chunk_unit_values(const et_contract *);
/* Multiplies such a unit OF; and all units of a chunk. */
void cg_chunk_multiply_unit(cg *, const et_contract *, const val *of, val *acc);
void cg_chunk_multiply(cg *, const et_chunks *, val stage, val *acc);

#endif
