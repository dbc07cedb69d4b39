/* trial.h - take the program as it is at some stage, change it, lower it from there, price it, and
 * forget it. Fusion, slices, placement and variants try things out; this is how.
 *
 * What is copied: the tables of the program that is changed (tensors, groups, items, device
 * functions, grids, events), so that rows may be changed and added. What is shared: the graph and
 * its expressions, which may be added to but not changed, and lists that rows point to.
 *
 * What is put back at the end: the graph's expressions, symbols and variables, the shares of its
 * models and its diagnostics. A trial leaves no trace: what is compiled after it is the same as if
 * it had never been. What it has to say to the user, and findings, are dropped; nothing is dumped,
 * timed, verified or searched for.
 *
 * Memory: whatever was allocated in the graph's arena since the trial began is free again at its
 * end. Results are numbers, or are copied to memory that was there before. Trials nest. One that
 * ends takes as long as going through the expressions there are, so how many there may be is
 * bounded by its caller: by a count, never by time, so that builds repeat. */
#ifndef ET_TRIAL_H
#define ET_TRIAL_H

#include "passes/pipeline/pipeline.h"

typedef struct {
    et_graph *g;         /* that is lowered: the caller may put another in its place */
    et_program *p;       /* the copy, then what it was lowered to; NULL: from the graph on */
    et_pass_options opt; /* the caller's, made quiet; they may be changed */
    struct {
        et_graph *g;
        et_exprs_mark exprs;
        int nvars;
        int64_t noted;
        et_diags *diags;
        et_model model[ET_MAX_MODELS];
    } before;
} et_trial;

/* FROM is a program of G, or NULL. */
void et_trial_begin(et_trial *, et_graph *g, const et_program *from, const et_pass_options *);
/* Run the passes from where the program is up to stage TO; false where that cannot be done. */
bool et_trial_lower(et_trial *, et_stage to);
void et_trial_end(et_trial *);

/* OPT for lowering that is not the user's: quick, and silent. */
et_pass_options et_quiet_options(const et_pass_options *opt);

#endif
