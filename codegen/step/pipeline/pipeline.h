/* pipeline.h - products of many rows: chunks of both operands in a multistage pipeline in LDS. What
 * fills and reads a stage is in stage.c and boxes.c, the loops over stages in pipeline.c and
 * warpgroup.c. */
#ifndef ET_CODEGEN_PIPELINE_H
#define ET_CODEGEN_PIPELINE_H

#include "codegen/step/operand/operand.h"

/* All chunks, into the sums ACC. */
void cg_contract_ring(cg *, const et_contract *, val *acc);
/* Before the tile's waits: where the operands are, and as many chunks of b as the plan says. */
void cg_contract_ring_begin(cg *, et_contract *);

enum {
    ET_UNIT_VALUES = 2 * (ET_MAX_ROWS + ET_MAX_SUMS) * ET_MAX_ROWS, /* of a wave's unit */
};

/* An operand on its way into the stages. Work-items have the same pieces of every chunk. */
typedef struct {
    et_expr e;
    int var, rows, local;
    int64_t at, bytes; /* of its first row in a part of the local, and of such a part */
    val live;          /* rows: those after them are not read */
    bool plain;        /* a tensor, as it is */
    bool async;        /* and copied */
    bool once;         /* weights, copied as what is the first to leave the L2 */
    int n;             /* pieces of a work-item */
    cg_addr from[ET_CHUNK_ITEMS];
    val first[ET_CHUNK_ITEMS]; /* the same of an async one as a pointer, of the first chunk */
    val there[ET_CHUNK_ITEMS]; /* bytes of a piece: none of a row that is not live */
    val row[ET_CHUNK_ITEMS], to[ET_CHUNK_ITEMS], bits[ET_CHUNK_ITEMS][ET_CHUNK_PARTS];
    val map, begin, column; /* of one that is copied as TMA boxes: its first row and element */
} et_chunk_operand;

typedef struct et_chunks {
    const et_contract *c;
    et_chunk_operand side[1 + ET_MAX_ACC];
    int nsides;
    int wide;   /* bytes of a row in a part */
    int parts;  /* of a chunk */
    bool async; /* some are copied by work-items */
    bool bulk;  /* those from number BOXED on as TMA boxes: no work-item has pieces of these */
    int boxed;
    val piece; /* of a row, that this work-item has */
    int early; /* of so many chunks right operands are in flight before any row is */
} et_chunks;

/* The ring, for what the tile has of both operands; C is set. */
void cg_chunks_begin(cg *, et_chunks *);

/* ---- stage.c: into a stage ---- */
bool cg_chunk_once(cg *, et_expr); /* is it read by tiles that run at the same time alone? */
/* Where an operand that is copied begins, for a work-item's piece number J. */
val cg_chunk_first(cg *, const et_chunks *, const et_chunk_operand *, int j);
/* CHUNK, of the operands FIRST to LAST that are copied, into STAGE. */
void cg_chunk_copy(cg *, const et_chunks *, val chunk, val stage, int first, int last);
/* CHUNK, of the others, into registers of theirs; and from there into STAGE. */
void cg_chunk_load(cg *, et_chunks *, val chunk);
void cg_chunk_store(cg *, const et_chunks *, val stage);
/* A piece of CHUNK, if ANY: there is a chunk of that number. */
val cg_chunk_held(cg *, const et_chunks *, const et_chunk_operand *, int j, val chunk, int part,
                  val any);

/* ---- boxes.c ---- */
void cg_chunks_begin_box(cg *, et_chunks *, et_chunk_operand *);
/* Chunks FROM to END, those that the ring begins with, of operands FIRST to LAST, those on the left
 * after the others. What was in the ring has been read. */
void cg_chunks_fill(cg *, const et_chunks *, int from, int end, int first, int last);
void cg_chunks_refill(cg *, const et_chunks *, val chunk, val stage); /* if there is one */
/* A bit for each stage, which changes with each chunk that has come there: as the tile before has
 * left them, by all before the first barrier of the loop; and as this one leaves them, by all after
 * its last. */
val cg_chunks_phases(cg *);
void cg_chunks_phases_end(cg *, val turns);
void cg_chunk_await(cg *, val stage, val turns); /* until the chunk in STAGE is there */

/* ---- pipeline.c, warpgroup.c ---- */
val cg_chunks_next(cg *, const et_chunks *, val stage);
val cg_chunks_back(cg *, const et_chunks *, val stage, int n);
/* CHUNK, of operands up to LAST, if there is one of that number. */
void cg_chunks_copy(cg *, const et_chunks *, val chunk, val stage, int last);
void cg_chunks_warpgroup(cg *, et_chunks *, val *acc); /* all chunks, by waves together */

/* ---- out of it, by each wave for itself ---- */
/* What a wave reads of a chunk's unit U, one after the other in OUT: the fragments of a, then those
 * of each b. How many that are. */
void cg_chunk_unit(cg *, const et_chunks *, val stage, int u, val *out);
int cg_chunk_unit_values(const et_contract *);
/* OF, such a unit, multiplied; and all units of a chunk. */
void cg_chunk_multiply_unit(cg *, const et_contract *, const val *of, val *acc);
void cg_chunk_multiply(cg *, const et_chunks *, val stage, val *acc);

#endif
