/* state.h - a CONTRACT step while it is emitted, as one lane sees it. */
#ifndef ET_CODEGEN_OPERAND_STATE_H
#define ET_CODEGEN_OPERAND_STATE_H

#include "codegen/step/step.h"
#include "ir/program/step.h"
#include "ir/weights/stream.h"

/* Where this wave and lane are in the step: set before its mainloop begins. */
struct et_frame {
    val m0, n0, ks, kpart;       /* of this wave */
    val product;                 /* the wave's product, where it has one of several; or NULL */
    val lane_m, lane_n, lane_k0; /* of this lane: first row of a, of b, first k */
    val group;                   /* lane_k0 counted in fragments */
    val out_n, out_m;            /* row and column of its first sum */
    val row_n[ET_MAX_FRAGMENTS]; /* n of the rows of b, */
    cg_addr row[ET_MAX_ACC][ET_MAX_FRAGMENTS]; /* and their addresses */
};

/* Of rows of products. */
struct et_scales {
    val of[ET_MAX_ACC][ET_MAX_FRAGMENTS];
};

/* Values so far. */
struct et_live {
    val mlive, nlive, kend, nchunks;
    val first[ET_DEEP][ET_MAX_FRAGMENTS]; /* the first weights, loaded */
    /* Where the buffer has room, 2^slots chunks of a are staged at once, 2^(4 + room - slots) rows
     * apart. NULL: one. */
    val slots;
    bool staged;             /* all chunks of a are, before the first is multiplied */
    bool begun;              /* what decoding needs before the first chunk is there */
    struct et_ahead *ahead;  /* rows copied some chunks ahead; */
    struct et_own *own;      /* rows in registers of the wave, */
    int rowvals;             /* which are so many of the loop-carried values */
    struct et_chunks *ring;  /* a pipeline that began before the tile's waits; or NULL */
    struct et_early *guess;  /* which weights were loaded first, by what a tensor held; or NULL */
    val is_packed;           /* i1, of a step with two mainloops: b is packed */
    val some;                /* with zeros: a bit for each column that has weights */
    val begin;               /* the first chunk that is multiplied */
    val before;              /* with zeros: the one before this, or -1 */
    struct et_scales *scale; /* unscaled: scales that are the same for all k, */
    struct et_scales *by;    /* those of the k's that share one, */
    struct et_scales *more;  /* zero points, */
    struct et_scales *plus;  /* and minima; or NULL */
};

/* A product that is being emitted: its mainloop, the sources of its rows and weights, its values.
 */
typedef struct et_contract {
    et_mainloop p;
    const struct et_rows *rows;       /* product/rows.h */
    const struct et_weights *weights; /* product/weights.h */
    const struct et_decoding *decode; /* decode/decode.h; NULL: b is as it lies in memory */
    struct et_contract *other;        /* the same of a packed b, or NULL */
    struct et_frame at;
    struct et_live now;
} et_contract;

/* Which of a chunk's weights to load: those in memory, those in the stream. */
typedef enum { ET_FROM_MEMORY = 1, ET_FROM_RING = 2, ET_FROM_BOTH = 3 } et_source;

#endif
