/* options.h - what codegen is asked for, and what it tells. */
#ifndef ET_CODEGEN_OPTIONS_H
#define ET_CODEGEN_OPTIONS_H

#include "codegen/targets/targets.h"
#include "ir/program/features.h"
#include <stdbool.h>
#include <stdint.h>

/* What to take from the fences that go with an event. */
typedef enum {
    ET_WEAKEN_NOTHING,
    ET_WEAKEN_FENCE,   /* both */
    ET_WEAKEN_SCOPE,   /* both order the workgroup only */
    ET_WEAKEN_RELEASE, /* the one before arrivals */
    ET_WEAKEN_ACQUIRE, /* the one after waits */
    ET_WEAKEN_HINT,    /* of a carried event: no task waits for it; nothing may come of that */
    ET_WEAKEN_TAG,     /* nor do those that would look at the tags of what they take */
} et_weaken;

/* What of weights that have zeros products leave out. */
typedef enum {
    ET_SPARSE_NONE,
    ET_SPARSE_ZEROS, /* pieces that are zero all over (ir/program/zeros.h) */
    ET_SPARSE_2_4,   /* two of every four, where the target multiplies so (ir/program/packed.h) */
} et_sparse;

typedef struct {
    const et_target *target;
    const char
        *output; /* path of the code object, or NULL; written to a temporary name and renamed */
    const char *emit_llvm; /* path for the optimised LLVM IR text, or NULL */
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
    et_sparse sparse;
    et_features without;      /* what is left out */
    bool count;               /* machine code of products is counted, where the family does that */
    et_weaken weaken;         /* fault injection: the fences of task grids that wait on or notify */
    const char *weaken_event; /* events of this name lack this */
} et_codegen_options;

/* The blocks of a task's machine code that have matrix instructions in them: what a wave runs of
 * them for a tile, and, [1], each time around a loop. */
typedef struct et_product_code {
    int64_t instructions[2], flops[2]; /* flops: of the matrix instructions */
    bool deeper;                       /* some are in loops of loops */
    bool codes;                        /* some multiply codes of 8 bits */
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
