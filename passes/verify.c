/* The verifier as a pass: whatever the passes before it did, what leaves the pipeline is proved. */
#include "ir/verify/verify.h"
#include "passes/pipeline/pipeline.h"

/* What the proof rests on that is not in the program. */
static void tell_promises(const et_program *p) {
    for (int e = 0; e < p->nevents; e++)
        if (p->events[e].promised)
            fprintf(
                stderr,
                "taken on trust, not proved: that every counter of event %%%s gets the arrivals it "
                "counts, and that tasks which tensors send there notify all that must come after "
                "them (etinterp --check-races checks both for given tensors)\n",
                p->events[e].name);
}

bool et_pass_verify(et_pipeline *pl) {
    const et_pass_options *o = pl->opt;
    if (o->unverified || o->quick) return true;
    et_verify_options opt = {.dies = o->machine->dies};
    et_verify_report r;
    bool ok = et_verify(pl->p, &opt, pl->g->diags, &r);
    if (ok && o->verbose && r.values)
        fprintf(stderr, "verified for all values of the dims (%lld looked at), up to %lld tasks\n",
                (long long)r.values, (long long)r.tasks);
    else if (ok && o->verbose)
        fprintf(stderr, "verified for all values of the dims (at once), up to %lld tasks\n",
                (long long)r.tasks);
    if (ok && o->verbose) tell_promises(pl->p);
    return ok;
}
