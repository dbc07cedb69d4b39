/* contract.h - a CONTRACT step as one lane sees it. */
#ifndef ET_CODEGEN_CONTRACT_H
#define ET_CODEGEN_CONTRACT_H

#include "internal.h"

#define ET_MAX_FRAGMENTS 64

struct et_contract {
    const et_step *s;
    const et_fragment *fr;
    bool direct;       /* b goes from memory to registers */
    int size;          /* bytes of an operand element */
    int lane_k;        /* consecutive k in one load of a lane */
    int unit_k;        /* k covered by one load of all lanes */
    int nsub, msub;    /* 16-row pieces of this wave's n, of m */
    int group, groups; /* units loaded together, groups per chunk */
    int64_t k, chunks; /* extent and chunks, -1 when known at run time only */
    bool tail;         /* the last chunk is not full */
    int nload;         /* fragments of b in one group */
    val mlive, nlive, kend;
    val n0, ks, kpart;                         /* of this wave */
    val lane_row, lane_group, lane_k0;         /* of this lane */
    cg_addr row[ET_MAX_ACC][ET_MAX_FRAGMENTS]; /* rows of b */
    val first[ET_MAX_FRAGMENTS];               /* the first group, loaded */
};

#endif
