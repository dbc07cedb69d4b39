/* Candidate placements, as the option --placement allows. */
#include "ir/base/diag.h"
#include "passes/place/int.h"
#include <math.h>
#include <string.h>

/* One model after the other, each on the whole chip. */
static bool everywhere(const struct place *s, et_assignment *out) {
    int all[ET_MAX_MODELS] = {0};
    for (int m = 0; m < s->nmodels; m++) {
        double best = INFINITY;
        for (int r = 0; r < s->nranges; r++) {
            double us = s->model[m].us[r];
            if (s->range[r].to - s->range[r].from < s->nunits || us >= best) continue;
            best = us;
            all[m] = r;
        }
    }
    return et_assign_fixed(&s->problem, s->g->arena, all, out);
}

static void add(struct place_ways *w, bool found, const et_assignment *a, const char *name) {
    if (!found) return;
    w->way[w->n] = *a;
    w->name[w->n++] = name;
}

void place_find_ways(const struct place *s, struct place_ways *out) {
    et_arena *a = s->g->arena;
    et_assignment other;
    bool ilp = s->how == ET_PLACEMENT_ILP;
    *out = (struct place_ways){.n = 0};
    if (ilp) {
        out->bounded = et_assign_optimal(&s->problem, a, &out->program);
        add(out, out->bounded, &out->program, "integer program");
#ifndef ETCC_GLPK
        et_diag(s->g->diags, ET_WARNING, (et_loc){0},
                "built without GLPK: no integer program, placement is greedy");
#endif
    }
    if (ilp || s->how == ET_PLACEMENT_GREEDY)
        add(out, et_assign_greedy(&s->problem, a, &other), &other, "greedy");
    if (s->nmodels > 1 && (ilp || s->how == ET_PLACEMENT_FIXED))
        add(out, et_assign_partition(&s->problem, a, &other), &other, "disjoint shares");
    if (ilp || !out->n) add(out, everywhere(s, &other), &other, "every task on all CUs");
}

double place_in_turn(const struct place *s, int *const *range) {
    double until[ET_ASSIGN_UNITS] = {0}, worst = 0;
    for (int m = 0; m < s->nmodels; m++) {
        const et_assign_model *md = &s->model[m];
        double t = 0;
        for (int k = 0; k < md->nsegments; k++) {
            const et_assign_segment *sg = &md->segments[k];
            for (int i = 0; i < sg->trips * sg->count; i++) {
                int g = sg->first + i % sg->count, r = range[m][g];
                for (int u = s->range[r].from; u < s->range[r].to; u++)
                    t = fmax(t, until[u]);
                t += md->us[g * s->nranges + r];
                for (int u = s->range[r].from; u < s->range[r].to; u++)
                    until[u] = t;
            }
        }
        worst = fmax(worst, md->weight * t);
    }
    return worst;
}

void place_tell_program(const struct place_ways *w, FILE *to) {
    const et_assignment *b = &w->program;
    if (!w->bounded) return;
    fprintf(to, "; program: objective %.2f us, LP bound %.2f us, gap %.2f %%, %d plans, %d nodes%s",
            b->objective, b->bound, 100 * (b->objective / b->bound - 1), b->plans, b->nodes,
            b->optimal ? ", optimal" : "");
}
