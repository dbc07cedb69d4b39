/* target.h - everything codegen needs to know of one GPU. A target is one of these in a file of its
 * own plus a row in targets.def; code outside asks the table and never tests for a name. */
#ifndef ET_TARGET_H
#define ET_TARGET_H

#include "codegen.h"

/* One matrix instruction computing a 16 x 16 tile of f32 from a 16-row A and a 16-column B. Lane l
 * holds row (A) or column (B) l % 16 and `lane_k` consecutive k at (l / 16) * lane_k. The result
 * has column l % 16 and rows (l / 16) * 4 .. + 3. */
typedef struct {
    et_dtype operand;
    const char *intrinsic; /* (A, B, C, cbsz, abid, blgp) */
    int lane_k;
    enum { ET_FRAG_F32, ET_FRAG_F16, ET_FRAG_I16 } element; /* element type the intrinsic takes */
} et_fragment;

/* A field of a hardware register, as s_getreg encodes it. */
typedef struct {
    int id, offset, bits; /* bits 0: the target has no such register, the value is 0 */
} et_hwreg;

struct et_target {
    const char *name; /* the LLVM processor */
    const char *triple;
    int wave; /* work-items per wave */
    int lds_bytes;
    int oclc_isa; /* __oclc_ISA_version of the device libraries */
    const et_fragment *fragments;
    int nfragments;
    et_hwreg die, hw_id;
    const char *clock; /* intrinsic reading the constant-rate clock, i64 () */
    unsigned drain;    /* immediate of s_waitcnt that waits for this wave's stores and loads */
    const char *features;
};

/* The instruction for OPERAND, or NULL. */
const et_fragment *et_target_fragment(const et_target *, et_dtype operand);

#endif
