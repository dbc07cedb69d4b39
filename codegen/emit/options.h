/* options.h - options and results of codegen. */
#ifndef ET_CODEGEN_OPTIONS_H
#define ET_CODEGEN_OPTIONS_H

#include "codegen/targets/targets.h"
#include <stdbool.h>
#include <stdint.h>

/* Fault injection: how to weaken the fences of an event. */
typedef enum {
    ET_WEAKEN_NOTHING,
    ET_WEAKEN_FENCE,   /* both */
    ET_WEAKEN_SCOPE,   /* both order the workgroup only */
    ET_WEAKEN_RELEASE, /* the one before arrivals */
    ET_WEAKEN_ACQUIRE, /* the one after waits */
    ET_WEAKEN_HINT,    /* flag-in-data: no task waits for its counter; must change no result */
    ET_WEAKEN_TAG,     /* flag-in-data: tags are not compared either; must change results */
} et_weaken;

/* Which zeros of weights products skip. */
typedef enum {
    ET_SPARSE_NONE,
    ET_SPARSE_ZEROS, /* blocks that are all zero (ir/weights/zeros.h) */
    ET_SPARSE_2_4,   /* two of every four, where the target has it (ir/weights/packed.h) */
} et_sparse;

typedef struct {
    const et_target *target;
    const char
        *output; /* path of the code object, or NULL; written to a temporary name and renamed */
    const char *emit_llvm; /* path for the LLVM IR text, or NULL */
    bool unoptimised;      /* that text is the one before LLVM's passes */
    /* The same for the machine code of loops with matrix instructions, as regions of llvm-mca. */
    const char *emit_loops;
    const char
        *device_libs;      /* folder of the target's mathematical functions, NULL = as configured */
    const char *assembler; /* of the target's family, where it needs one; NULL = looked for */
    int opt_level;         /* 0..3 */
    const char *break_event; /* fault injection: waits on events of this name need one arrival too
                                many; NULL = none */
    bool time_passes;        /* report LLVM's stages to stderr */
    bool profile;            /* the kernel records when and where every task ran */
    bool resident;           /* the kernel stays and takes steps from mailboxes */
    et_sparse sparse;
    bool count;               /* machine code of products is counted, where the family does that */
    et_weaken weaken;         /* fault injection: the fences of task grids that wait on or notify */
    const char *weaken_event; /* events of this name lack this */
} et_codegen_options;

/* The blocks of a task's machine code that have matrix instructions in them: what a wave runs of
 * them for a tile, and, [1], each time around a loop. */
typedef struct et_product_code {
    int64_t instructions[2], flops[2]; /* flops: of the matrix instructions */
    bool deeper;                       /* some are in loops of loops */
    bool codes;                        /* some are fp8 x fp8 */
} et_product_code;

/* Facts about what was made, for -v and tests. */
typedef struct et_codegen_info {
    int vgprs, agprs, sgprs, lds_bytes, scratch_bytes;
    int64_t text_bytes, file_bytes;
    et_product_code *code; /* by task of all variants, where it was counted; else NULL */
    int ncode;
    bool packed; /* some product reads weights packed, where they are */
} et_codegen_info;

#endif
