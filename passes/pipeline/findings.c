#include "passes/pipeline/findings.h"

const et_finding *et_finding_of(const et_findings *all, const et_graph *g) {
    const et_finding *f = all ? all->first : NULL;
    while (f && f->g != g)
        f = f->next;
    return f;
}

et_finding *et_finding_note(const et_pass_options *opt, et_graph *g) {
    if (!opt->findings || opt->quick) return NULL;
    et_finding *f = opt->findings->first;
    while (f && f->g != g)
        f = f->next;
    if (f) return f;
    f = et_alloc(g->arena, sizeof *f);
    *f = (et_finding){.g = g, .next = opt->findings->first};
    opt->findings->first = f;
    return f;
}
