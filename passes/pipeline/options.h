/* options.h - options of a run of the passes, and the run. */
#ifndef ET_PASS_OPTIONS_H
#define ET_PASS_OPTIONS_H

#include "ir/program/features.h"
#include "ir/program/program.h"
#include "passes/machine/machine.h"
#include "passes/machine/profile.h"
#include "passes/product/product.h"

/* How the CUs of each task are chosen. */
typedef enum {
    ET_PLACEMENT_ILP,    /* an integer program */
    ET_PLACEMENT_GREEDY, /* one task after the other */
    ET_PLACEMENT_FIXED,  /* a part of its own for each model */
    ET_PLACEMENT_ALL     /* nothing: all CUs */
} et_placement;
const char *et_placement_name(int); /* NULL past the last one */

/* Flag-in-data events (ir/program/tags.h). */
typedef enum {
    ET_FLAGS_AUTO, /* where they are predicted to be faster */
    ET_FLAGS_ALL,  /* wherever possible */
    ET_FLAGS_NONE
} et_flags;
const char *et_flags_name(int); /* NULL past the last one */

/* What says that a sum over devices has come (ir/program/tags.h). */
typedef enum {
    ET_EXCHANGE_AUTO,  /* what is predicted to be faster */
    ET_EXCHANGE_TAGS,  /* a tag for each element */
    ET_EXCHANGE_FLAGS, /* a flag for all that a counter counts */
    ET_EXCHANGE_ROWS   /* the same in two steps, by rows, where that can be */
} et_exchange;
const char *et_exchange_name(int); /* NULL past the last one */

/* What a device sends of a sum over devices that is exchanged with flags. */
typedef enum {
    ET_PARTS_F32, /* its part as it is */
    ET_PARTS_BF16 /* rounded: half of the bytes */
} et_parts_type;
const char *et_parts_name(int); /* NULL past the last one */

typedef struct {
    const et_machine *machine;
    const char *dump; /* a pass's name or "all": print what it leaves; NULL = nothing */
    FILE *dump_to;
    bool time_passes; /* report each pass's time to stderr */
    bool verbose;
    bool unverified;           /* skip the verifier */
    bool quick;                /* fusion by rule: to predict costs many times */
    et_stage to;               /* stop at this stage; none: the last */
    et_schedule_kind schedule; /* none: static */
    bool claims_chosen;        /* CLAIMED: only tasks that are predicted to gain by it */
    et_placement placement;
    et_flags flags;
    et_exchange exchange;
    et_parts_type parts;
    bool experts_on_host;         /* weights of routed experts stay in host memory */
    et_features without;          /* what is left out */
    bool packed;                  /* 2:4 sparse weights are read packed (ir/weights/packed.h) */
    bool resident;                /* the kernel stays, and waits for steps */
    bool zeros;                   /* blocks of zeros are skipped (ir/weights/zeros.h) */
    bool unplanned;               /* products get no plans, though the machine has some for them */
    bool keep_order;              /* weights are not relaid out */
    bool same_sums;               /* all variants add up the terms of a sum in the same order */
    const et_orders *orders;      /* SAME_SUMS: those that the program follows; NULL: its own */
    const et_profile *profile;    /* times that replace predicted ones, or NULL */
    int slices;                   /* slices of operators; 0: none; or ET_SLICES_AUTO */
    bool slice_rows;              /* rows only: no split-K */
    struct et_findings *findings; /* keep notes of what is decided, and why; or NULL */
    bool check_text; /* check after every pass that the text reads back, as debug builds do */
} et_pass_options;

/* A machine, and by what steps are planned and priced for it (et_machine.plans). */
typedef struct {
    et_machine machine;
    et_target target;
    et_product_options plans;
} et_planned;
/* Makes MACHINE of the options, all others of which are set, that of OUT: a copy of M that plans
 * for T, both without the features that the options leave out. OUT lives as long as the options. */
void et_plan_for(et_pass_options *, const et_machine *m, const et_target *t, et_planned *out);

/* ET_SLICES_AUTO: one for each die of the machine, where that is predicted to be faster. */
enum { ET_SLICES_AUTO = -1, ET_MAX_SLICES = 16 };

/* Run the pipeline. False with diagnostics in g->diags. */
bool et_passes_run(et_graph *g, const et_pass_options *, et_program **out_program);
/* The same from the stage that P, a program of G, is at. */
bool et_passes_resume(et_graph *g, et_program *p, const et_pass_options *,
                      et_program **out_program);

/* The passes in order: name and one line of help; NULL past the end. */
const char *et_pass_name(int i);
const char *et_pass_help(int i);

#endif
