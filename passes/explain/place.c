/* Which CUs models and tasks have, and what more or fewer of them would have meant. */
#include "passes/explain/int.h"
#include <math.h>
#include <string.h>

struct share {
    int first, count; /* CUs */
    int units;        /* of the chip, as placement cuts it */
};

static struct share share_of(const struct explain *e, et_share s) {
    const et_found_place *f = e->found && e->found->place.known ? &e->found->place : NULL;
    struct share out = {.count = e->m->cus, .units = f ? f->units : 0};
    if (!s.to) return out;
    out.first = (int)((int64_t)e->m->cus * s.from / 1000000);
    out.count = (int)((int64_t)e->m->cus * s.to / 1000000) - out.first;
    if (f) out.units = (int)(((int64_t)(s.to - s.from) * f->units + 500000) / 1000000);
    return out;
}

static void put_ranges(const struct explain *e, int model) {
    int n = 0;
    for (int i = 0; i < e->p->ngrids; i++) {
        const et_grid *g = &e->p->grids[i];
        if (g->model != model || !g->range.to || g->dynamic) continue;
        if (!n++) fprintf(e->to, "    of these, only");
        fprintf(e->to, "%s %s on %.0f..%.0f %%", n > 1 ? "," : "", g->name, g->range.from * 1e-4,
                g->range.to * 1e-4);
    }
    if (n) fprintf(e->to, " (ranges)\n");
}

/* The fewest units on which the model is as fast as on N, within measurement. */
static int enough(const double *us, int n) {
    while (n > 1 && us[n - 1] <= us[n] * 1.005)
        n--;
    return n;
}

static void put_why(const struct explain *e, const et_found_place *f, int model) {
    const et_graph *g = e->p->g;
    struct share s = share_of(e, g->model[model].share);
    const double *us = f->us[model];
    if (!f->widths || s.units < 1 || s.units > f->units) return;
    double cus = (double)e->m->cus / f->units;
    int least = enough(us, s.units), all = enough(us, f->units);
    fprintf(e->to, "    because: predicted alone, it takes %s on these, %s on all CUs",
            explain_us(e, us[s.units]), explain_us(e, us[f->units]));
    if (all <= s.units) {
        fprintf(e->to, ": more would not help it");
        if (least < s.units)
            fprintf(
                e->to,
                ", it is no faster on more than %.0f, and no other model is faster with the rest",
                least * cus);
        fprintf(e->to, ".\n");
        return;
    }
    if (s.units > 1) fprintf(e->to, "; on %.0f fewer %s", cus, explain_us(e, us[s.units - 1]));
    fprintf(e->to, "; on %.0f more %s", cus, explain_us(e, us[s.units + 1]));
    const char *sep = ", but that would be at the cost of ";
    for (int m = 0; m < g->nmodels; m++) {
        struct share o = share_of(e, g->model[m].share);
        if (m == model || o.units < 2 || o.units > f->units) continue;
        fprintf(e->to, "%s%s (%s instead of %s)", sep, g->model[m].name,
                explain_us(e, f->us[m][o.units - 1]), explain_us(e, f->us[m][o.units]));
        sep = " or ";
    }
    fprintf(e->to, ".\n");
}

static void put_models(const struct explain *e) {
    const et_graph *g = e->p->g;
    const et_found_place *f = e->found && e->found->place.known ? &e->found->place : NULL;
    bool whole = true;
    for (int m = 0; m < g->nmodels; m++) {
        struct share s = share_of(e, g->model[m].share);
        double per_die = (double)e->m->cus / e->m->dies;
        whole &= s.count == e->m->cus;
        fprintf(e->to, "  %s gets %d CUs, %d..%d, %.0f %% of the chip", g->model[m].name, s.count,
                s.first, s.first + s.count - 1, 100.0 * s.count / e->m->cus);
        if (e->m->dies > 1) {
            int last = (int)ceil((s.first + s.count) / per_die - 1e-6) - 1;
            fprintf(e->to, last > (int)(s.first / per_die) ? ", dies %d..%d" : ", die %d",
                    (int)(s.first / per_die), last);
        }
        if (g->model[m].weight != 1)
            fprintf(e->to, "; its time counts %g times", g->model[m].weight);
        if (f) fprintf(e->to, "; done after %s predicted", explain_us(e, f->played[m]));
        fprintf(e->to, "\n");
        if (f) put_why(e, f, m);
        put_ranges(e, m);
    }
    if (whole && g->nmodels > 1)
        fprintf(e->to, "  All share all CUs: one model's tasks after another's, since no division "
                       "was predicted to be faster.\n");
    fprintf(e->to,
            "  Hint: --weight=%s=2 has %s's time count twice in this; @range(a, b) before a "
            "value keeps its task to a part.\n",
            g->model[0].name, g->model[0].name);
}

static void put_program(const struct explain *e, const et_found_place *f) {
    if (!f->bounded) return;
    fprintf(e->to,
            "  The integer program%s: objective %s, no choice is below %s, gap %.2f %%%s; %d plans "
            "and %d nodes.\n",
            e->p->g->nmodels > 1 ? ", in which models may take turns on CUs in any order" : "",
            explain_us(e, f->objective), explain_us(e, f->bound),
            100 * (f->objective / f->bound - 1), f->optimal ? " (it is optimal)" : "", f->plans,
            f->nodes);
}

static void put_search(const struct explain *e, const et_found_place *f) {
    fprintf(e->to, "  --placement=%s. %s, predicted:", f->how,
            e->p->g->nmodels > 1 ? "When the last model is done, its time weighted" : "A launch");
    for (int i = 0; i < ET_FOUND_WAYS && f->way[i].name; i++)
        fprintf(e->to, "%s %s %s%s", i ? "," : "", f->way[i].name, explain_us(e, f->way[i].us),
                f->way[i].name == f->taken ? " (taken)" : "");
    fprintf(e->to, ".\n");
    put_program(e, f);
}

static void put_slices(const struct explain *e, int model) {
    const et_graph *g = e->p->g;
    const et_found_slices *s = &e->found->slices[model];
    if (!s->known) return;
    fprintf(e->to, "  %s %s in %d slices%s, one for each die in turn: cut %s %s.\n",
            g->nmodels ? g->model[model].name : "It", s->taken ? "is" : "is not", s->count,
            s->taken ? "" : ", though it could be", s->taken ? "are" : "would be", s->cuts);
    fprintf(e->to,
            "    because: predicted alone on %d dies, it takes %s in slices and %s without, with "
            "%.0f and %.0f events of the device.\n",
            s->dies, explain_us(e, s->us[1]), explain_us(e, s->us[0]), s->device_events[1],
            s->device_events[0]);
}

static bool ways_differ(const et_found_place *f) {
    bool differ = false;
    for (int i = 1; i < ET_FOUND_WAYS && f->way[i].name; i++)
        differ |= fabs(f->way[i].us - f->way[0].us) > 1e-6 * f->way[0].us;
    return differ;
}

static void put_one_model(const struct explain *e) {
    const et_found_place *f = e->found && e->found->place.known ? &e->found->place : NULL;
    int ranges = 0;
    for (int i = 0; i < e->p->ngrids; i++)
        ranges += e->p->grids[i].range.to && !e->p->grids[i].dynamic;
    fprintf(e->to, "  One model: its tasks may use all %d CUs", e->m->cus);
    if (ranges) {
        fprintf(e->to, "; but for @range, and where fewer are predicted to be faster:\n");
        put_ranges(e, 0);
    } else {
        fprintf(e->to, f ? "; none is predicted to be faster on fewer.\n" : ".\n");
    }
    if (f && ways_differ(f))
        put_search(e, f);
    else if (f)
        put_program(e, f);
}

void explain_place(struct explain *e) {
    fprintf(e->to, "\nPLACEMENT: which CUs\n");
    for (int m = 0; e->found && (m == 0 || m < e->p->g->nmodels); m++)
        put_slices(e, m);
    if (e->p->g->nmodels < 2) {
        put_one_model(e);
        return;
    }
    if (e->found && e->found->place.known)
        put_search(e, &e->found->place);
    else
        fprintf(e->to, "  The division was given with the program, or is by predicted work.\n");
    put_models(e);
}
