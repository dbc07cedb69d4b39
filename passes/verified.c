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
        fprintf(stderr, "verified for %s values of the dims (%lld looked at), up to %lld tasks\n",
                r.proved ? "all" : "some", (long long)r.values, (long long)r.tasks);
    return ok;
}
