/* findings.h - what passes decided and rejected, for --explain (explain.h).
 * They keep such notes only where et_pass_options.findings is given. Times are predictions. */
#ifndef ET_FINDINGS_H
#define ET_FINDINGS_H

#include "passes/cost/cost.h"
#include "passes/pipeline/options.h"

/* A value that could have a tensor of its own or be computed where it is read. */
typedef struct {
    int value;    /* of the graph */
    bool stored;  /* what was chosen */
    bool known;   /* was the other way priced, all else as chosen? */
    double other; /* time of a launch that way, relative to the choice; above 1e20: impossible */
} et_found_choice;

/* Whole plans, for comparison, at the samples of cost.h. */
enum { ET_PLAN_CHOSEN, ET_PLAN_STORED, ET_PLAN_FOLDED, ET_PLAN_EXTREMES };
typedef struct {
    bool known[ET_PLAN_EXTREMES];
    et_cost cost[ET_PLAN_EXTREMES][ET_SAMPLES];
    int plans;    /* evaluated */
    bool cut_off; /* there are more */
} et_found_fusion;

/* Dependencies of tasks whose readers are in one loop, or in none. */
typedef struct {
    int needs;       /* pairs of grids, one before the other */
    int kept;        /* of them, those that do not follow from others */
    double counters; /* per iteration, with one for each tile and need */
} et_found_events;

typedef struct {
    const char *name; /* of a way of placing, NULL past the end */
    double us;
} et_found_way;

enum { ET_FOUND_WAYS = 6, ET_FOUND_UNITS = 64 };
typedef struct {
    bool known;
    const char *how, *taken; /* the option, and the way that was taken */
    et_found_way way[ET_FOUND_WAYS];
    bool bounded; /* of the integer program: */
    double objective, bound;
    int plans, nodes;
    bool optimal;
    int units;                                    /* the chip was cut into, equal ones */
    bool widths;                                  /* is `us` known? by units, from 1: */
    double us[ET_MAX_MODELS][ET_FOUND_UNITS + 1]; /* a model's time with so many, alone */
    double played[ET_MAX_MODELS];                 /* when it is done, beside the others */
} et_found_place;

/* A model unsliced, and with the products cut that were chosen, or were the best not chosen. */
typedef struct {
    bool known, taken;
    int count, dies;         /* slices, and dies of the comparison */
    const char *cuts;        /* names of the products */
    double us[2];            /* predicted: as it is, in slices */
    double device_events[2]; /* in a launch */
} et_found_slices;

typedef struct et_finding {
    const et_graph *g; /* they are of */
    et_found_choice *choice;
    int nchoices, cchoices;
    et_found_fusion fusion[ET_MAX_MODELS];
    et_found_events *events; /* by loop, from 1; [0] is outside of loops; NULL: not inferred */
    et_found_place place;
    et_found_slices slices[ET_MAX_MODELS];
    struct et_finding *next;
} et_finding;

typedef struct et_findings {
    et_finding *first;
} et_findings;

/* The findings about G of a run of the passes, to write to; NULL: none are kept. */
et_finding *et_finding_note(const et_pass_options *, et_graph *g);
/* The findings about G, or NULL. */
const et_finding *et_finding_of(const et_findings *, const et_graph *g);

#endif
