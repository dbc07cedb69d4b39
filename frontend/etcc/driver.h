/* driver.h - one run of etcc: read, parse, lower, generate, report. */
#ifndef ET_DRIVER_H
#define ET_DRIVER_H

#include "passes/passes.h"
#include "runtime/cli/cli.h"

/* Where the weights of routed experts lie. */
enum et_experts_on { ET_EXPERTS_ON_DEVICE, ET_EXPERTS_ON_HOST };

typedef struct et_options {
    const char *input;   /* path */
    char *const *others; /* paths of further models for the same kernel */
    int nothers;
    cli_list weights;   /* MODEL=NUMBER: how much its time counts */
    cli_list latencies; /* MODEL=US, the same way: that are wished for */
    const char *output; /* code object, or the text of stage `to`; NULL to make none. "-" is
                           standard output, here and below */
    et_stage to;        /* the stage to stop at and write, or none */
    const char *target; /* a row of codegen/targets/targets.def; of et_drive, a list with commas, or
                           NULL: the machine's */
    const char *machine;       /* as et_machine_find takes it, or NULL: the first of the target */
    et_schedule_kind schedule; /* none: static, or as given */
    et_placement placement;
    const char *dump;        /* "graph", the name of a pass, "all", or NULL; printed to stdout */
    const char *explain;     /* path for what was decided, or for the page where it ends in .html;
                                or NULL */
    const char *emit_llvm;   /* path for LLVM IR, or NULL */
    const char *emit_loops;  /* path for the machine code of products' loops, or NULL */
    const char *device_libs; /* folder of the ROCm device libraries' bitcode, or NULL */
    const char *assembler;   /* of a CUDA toolkit, or NULL: looked for */
    const char *weaken;      /* fault injection: "HOW:EVENT", see --help, or NULL */
    const char *break_event; /* fault injection: waits on this event are never satisfied, or NULL */
    int devices;             /* that run it together, each its part; 0, 1: one */
    int stage, stages;       /* it is the kernel of this one of so many; 0, 0: of all */
    int variants;         /* at most this many tilings by the value of a dim: 1..ET_MAX_VARIANTS */
    int occupancy;        /* workgroups that a CU holds at once; 0: as the text, or 1 */
    et_widths widths;     /* CUs of launches on a part of them, that have tilings of their own */
    int sparse;           /* an et_sparse, as of et_codegen_options */
    et_features without;  /* as of et_pass_options */
    et_flags flags;       /* likewise */
    et_exchange exchange; /* likewise */
    et_parts_type parts;  /* likewise */
    int gather;           /* an et_gather */
    int experts_on;       /* an et_experts_on */
    int slices;           /* as of et_pass_options */
    bool slice_rows;      /* the same */
    bool profile_kernel;  /* the kernel records when and where every task ran */
    bool resident;        /* the kernel stays and takes steps from mailboxes */
    bool same_sums;       /* the same */
    bool verbose, time_passes, unverified, unoptimised;
    bool notes;               /* say what comes out otherwise than it was asked for */
    const char *profile;      /* path of times that replace predicted ones, or NULL */
    const et_machine *on;     /* et_drive: the machine that was found */
    const et_profile *times;  /* et_drive: what PROFILE says; or given without a PROFILE */
    et_arena *arena;          /* what everything is made in, or NULL for one that is freed */
    et_program **out_program; /* what the code object was made of, in that arena, or NULL */
} et_options;

/* Diagnostics go to stderr. False when there was an error; then no output file was touched. */
bool et_drive(const et_options *);

/* Is there a target NAME? If not, an error. */
bool et_check_target(const char *name, et_diags *);

/* From graph, or from P where the input was further on, to a code object or to text, as far as the
 * options ask for it (backend.c). NARROW makes the graph again with narrower bounds of a dim; NULL
 * compiles one variant only. */
bool et_compile(et_graph *, et_program *p, const et_options *, et_diags *, et_narrow_fn narrow,
                void *ctx);

#endif
