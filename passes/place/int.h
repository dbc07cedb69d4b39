/* int.h - placement as a problem of assign.h: problem.c makes it, ways.c lists candidates, place.c
 * chooses. */
#ifndef ET_PLACE_INT_H
#define ET_PLACE_INT_H

#include "passes/assign/assign.h"
#include "passes/cost/cost.h"
#include "passes/pipeline/findings.h"
#include "passes/pipeline/pipeline.h"
#include <stdio.h>

enum { PLACE_WHOLE = 1000000 };

struct range {
    int from, to; /* units */
    bool sliced;  /* the whole model is in slices there: then all its groups are on this range */
};

struct place {
    et_graph *g;
    et_program *p; /* at stage evented or later */
    const et_machine *m;
    const et_profile *profile;
    et_placement how;
    int64_t sample[ET_SAMPLES][ET_MAX_SYMS];
    const int64_t *syms; /* values of symbols that it is decided at: one of these */
    int nmodels;
    int nunits, nranges;
    struct range *range;
    /* By model and number of dies: a launch's time in slices over its time without; NULL: no
     * slices. */
    const double *const *in_slices;
    et_assign_problem problem;
    et_assign_model model[ET_MAX_MODELS];
    int *grid[ET_MAX_MODELS]; /* by group: its grid */
};

/* ---- problem.c ---- */
/* Without candidate ranges. */
void place_init(struct place *, et_program *, const et_pass_options *);
/* The problem with candidate ranges of its own, or with those that are set. False where some model
 * has no grids. */
bool place_candidates(struct place *);
bool place_build(struct place *);
int place_dies(const struct place *, struct range); /* on which it has CUs */

/* ---- ways.c ---- */
struct place_ways {
    int n;
    et_assignment way[ET_FOUND_WAYS];
    const char *name[ET_FOUND_WAYS];
    bool bounded;
    et_assignment program; /* if so, what the integer program says */
};
void place_find_ways(const struct place *, struct place_ways *out);
/* The weighted time at which the last model is done, if workgroups run model after model and groups
 * take the times of the problem. */
double place_in_turn(const struct place *, int *const *range);
void place_tell_program(const struct place_ways *, FILE *);

#endif
