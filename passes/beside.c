/* Kernels of which a CU holds several: how many CUs they are made for.
 *
 * A machine that is shared (et_machine_share) has so many times as many CUs, each with a part of
 * the rates, since a task that computes gets so much of a CU beside others; smaller tiles, of which
 * a workgroup has several, suit it. Where weights stream, what a task gets is its part of memory,
 * which is that of a workgroup: tiles are for as many CUs as there are workgroups, one for each.
 * Measured on an H200: 868 us for 1,091 of images, 920 for 1,001 of 8 tokens
 * (bench/results/h200_beside.md). */
#include "passes/passes.h"
#include "passes/pipeline/pipeline.h"
#include "passes/trial/trial.h"

static bool streams(et_graph *g, const et_pass_options *opt) {
    et_trial t;
    et_trial_begin(&t, g, NULL, opt);
    bool yes = et_trial_lower(&t, ET_STAGE_SCHEDULED) && t.p->ring.slots > 0;
    et_trial_end(&t);
    return yes;
}

bool et_passes_beside(et_graph *g, const et_pass_options *opt, et_program **out_program) {
    const et_machine *m = opt->machine;
    if (m->occupancy == 1 || !streams(g, opt)) return et_passes_run(g, opt, out_program);
    et_machine each = *m;
    et_pass_options by = *opt;
    et_planned *on = et_alloc(g->arena, sizeof *on);
    each.cus /= each.occupancy;
    et_plan_for(&by, &each, m->plans->target, on);
    return et_passes_run(g, &by, out_program);
}
