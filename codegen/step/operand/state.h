/* state.h - a CONTRACT step while it is emitted, as one lane sees it. */
#ifndef ET_CODEGEN_OPERAND_STATE_H
#define ET_CODEGEN_OPERAND_STATE_H

#include "codegen/step/step.h"
#include "ir/program/step.h"
#include "ir/program/stream.h"

/* Where this wave and lane are in the step: set before its mainloop begins. */
struct et_frame {
    val m0, n0, ks, kpart;       /* of this wave */
    val product;                 /* that it has, where it has one of several; or NULL */
    val lane_m, lane_n, lane_k0; /* of this lane: first row of a, of b, first k */
    val group;                   /* lane_k0 counted in fragments */
    val out_n, out_m;            /* of the first of its sums */
    val row_n[ET_MAX_FRAGMENTS]; /* rows of b, which n */
    cg_addr row[ET_MAX_ACC][ET_MAX_FRAGMENTS]; /* and where they are */
};

/* Of rows of products. */
struct et_scales {
    val of[ET_MAX_ACC][ET_MAX_FRAGMENTS];
};

/* Values that the mainloop has so far. */
struct et_live {
    val mlive, nlive, kend, nchunks;
    val first[ET_DEEP][ET_MAX_FRAGMENTS]; /* the weights that come first, loaded */
    /* Few rows of a leave room, and so does a buffer that is larger than they: 2^slots chunks are
     * staged at once, 2^(4 + room - slots) rows apart. NULL: one. */
    val slots;
    bool staged;             /* all are, before the first is multiplied */
    struct et_ahead *ahead;  /* rows that are copied ahead of their chunk */
    struct et_own *own;      /* rows of the wave's own, */
    int rowvals;             /* which are so many of the values that go from chunk to chunk */
    struct et_chunks *ring;  /* a pipeline that began before the tile's waits; or NULL */
    struct et_early *guess;  /* of whose weights the first are; or NULL */
    val is_packed;           /* of a step with two mainloops: b is packed, an i1 */
    val some;                /* with zeros: the bits of columns where there is anything */
    val begin;               /* the first chunk that is multiplied */
    val before;              /* with zeros: the one before this, or -1 */
    struct et_scales *scale; /* unscaled: those that are the same for all k */
    struct et_scales *by;    /* and, of several pieces of rows, those of each unit's run, */
    struct et_scales *more;  /* and what is added to its values; or NULL */
};

/* A product that is being emitted: its mainloop, how that gets its rows and weights, and what there
 * is of it. */
typedef struct et_contract {
    et_mainloop p;
    const struct et_rows *rows;       /* product/rows.h */
    const struct et_weights *weights; /* product/weights.h */
    const struct et_decoding *decode; /* decode/decode.h; NULL: b is as it lies in memory */
    struct et_contract *other;        /* the same of a packed b, or NULL */
    struct et_frame at;
    struct et_live now;
} et_contract;

/* What of a chunk's weights is loaded: what lies in memory, what comes through the stream. */
typedef enum { ET_FROM_MEMORY = 1, ET_FROM_RING = 2, ET_FROM_BOTH = 3 } et_source;

#endif
