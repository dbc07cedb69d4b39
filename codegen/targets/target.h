/* target.h - everything codegen needs to know of one GPU. A target is one of these in a file of its
 * own plus a row in targets.def; code outside asks the table and never tests for a name. */
#ifndef ET_TARGET_H
#define ET_TARGET_H

#include "codegen/codegen.h"

/* Which row of the first operand lane l holds; of the second it is always l % 16. */
typedef enum {
    ET_ROWS_PLAIN,  /* l % 16 */
    ET_ROWS_PAIRED, /* 8 * (l % 2) + l / 2 % 8: where an instruction deals rows of the result to the
                       halves of a wave in turn, each half ends up with consecutive ones */
    ET_ROWS_TURNED, /* (l % 16 + l / 16 * 8) % 16 */
} et_frag_rows;

/* What multiplies. */
typedef enum {
    ET_FRAG_MFMA, /* (A, B, C, cbsz, abid, blgp) */
    ET_FRAG_WMMA, /* (A, B, C), overloaded by the types of the result and of A */
    ET_FRAG_FMA,  /* no such instruction: a lane's products one by one. The text of $0 += $1 of lane
                     number %d of these sixteen * $2; ROWS_TURNED makes that row %d of the half */
} et_frag_kind;

/* One matrix product: a 16 x 16 tile of f32 from a 16-row A and a 16-column B. Lane l holds the
 * `lane_k` consecutive k from (l / 16 % groups) * lane_k on. The result has column l % 16 and the
 * 256 / wave consecutive rows from (l / 16) * (256 / wave) on. */
typedef struct {
    et_dtype operand;
    et_frag_kind kind;
    const char *name; /* of the intrinsic */
    int lane_k, groups;
    enum {
        ET_FRAG_F32,
        ET_FRAG_F16,
        ET_FRAG_BF16,
        ET_FRAG_I16
    } element; /* as the intrinsic has it */
    et_frag_rows rows;
} et_fragment;

/* A field of a hardware register, as s_getreg encodes it. */
typedef struct {
    int id, offset, bits; /* bits 0: the target has no such register, the value is 0 */
} et_hwreg;

struct et_target {
    const char *name; /* the LLVM processor */
    const char *triple;
    int wave;  /* work-items per wave */
    int loads; /* of 16 bytes that a lane has in flight for a product, when it is large enough */
    int simds; /* that share the waves of a workgroup */
    int lds_bytes; /* of what half keeps a second workgroup out, and what one may have */
    int oclc_isa;  /* __oclc_ISA_version of the device libraries */
    const et_fragment *fragments;
    int nfragments;
    et_hwreg die, hw_id;
    const char *clock; /* intrinsic reading the constant-rate clock */
    int clock_message; /* its argument and an i64 overload, where the clock is asked by message */
    const char *drain; /* instruction that waits until this wave's stores have been answered */
    /* Forgets what this CU's own caches hold, where several dies share no cache: enough to see what
     * another workgroup of the die wrote and had answered. NULL: fences of the device do. */
    const char *die_acquire;
    const char *features;
};

/* The instruction for OPERAND, or NULL. */
const et_fragment *et_target_fragment(const et_target *, et_dtype operand);

#endif
