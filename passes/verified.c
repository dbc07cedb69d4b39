/* The verifier as a pass: whatever the passes before it did, what leaves the pipeline is proved. */
#include "pipeline.h"
#include "verify.h"

bool et_pass_verify(et_pipeline *pl) {
    const et_pass_options *o = pl->opt;
    if (o->no_verify || o->quick) return true;
    et_verify_options opt = {.dies = o->machine->dies};
    et_verify_report r;
    bool ok = et_verify(pl->p, &opt, pl->g->diags, &r);
    if (ok && o->verbose)
        fprintf(stderr, "verified for %lld values of the dims%s, up to %lld tasks\n",
                (long long)r.values, r.exhaustive ? " (all)" : "", (long long)r.tasks);
    return ok;
}
