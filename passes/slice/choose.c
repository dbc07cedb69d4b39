/* Which products to cut, as a part of placement.
 *
 * The versions of a model are the model uncut and with some of its products cut (et_cut). Each
 * version is lowered and simulated alone on every number of dies that the model may get. Placement
 * (assign.h) then has, beside the ranges of CUs, a range in slices where some version is faster
 * there: with the times of the uncut model divided by the speedup of the best version.
 *
 * Differences of less than a per cent are noise of the simulator. It also assumes that no task is
 * late, which is less true the more tasks wait across dies. So up to one per cent is subtracted
 * from the time of a version, in proportion to the events of scope device that it saves. */
#include "passes/events/scope.h"
#include "passes/place/int.h"
#include "passes/slice/slice.h"
#include "passes/trial/play.h"
#include "passes/trial/trial.h"
#include <math.h>
#include <string.h>

enum { MOST_CUTS = 6, MOST_VERSIONS = 9, MOST_DIES = ET_MAX_SLICES };
static const double FORGIVEN = 0.01;

struct choosing {
    et_pipeline *pl;
    int count, nmodels;
    unsigned char *may;                /* by group: what can be done to its product */
    int cut[ET_MAX_MODELS][MOST_CUTS]; /* the first with anything, of each model */
    int ncuts[ET_MAX_MODELS];
    bool version[MOST_VERSIONS];                            /* is there such a one? */
    int nversions;                                          /* version 0 is everything as it is */
    double us[ET_MAX_MODELS][MOST_VERSIONS][MOST_DIES + 1]; /* by number of dies */
    double device_events[ET_MAX_MODELS][MOST_VERSIONS];     /* in a launch */
    double ratio[ET_MAX_MODELS][MOST_DIES + 1]; /* time of the best version to that of none */
    int best[ET_MAX_MODELS][MOST_DIES + 1];
    int chosen[ET_MAX_MODELS], dies[ET_MAX_MODELS];
};

/* ---- versions ---- */

/* The number of cuts of it, none among them. */
static int ways_of(const struct choosing *c, int group) {
    return __builtin_popcount(c->may[group]) + 1;
}

/* Every combination, if they are few. */
static int combinations(const struct choosing *c, int model) {
    int n = 1;
    for (int i = 0; i < c->ncuts[model] && n <= MOST_VERSIONS; i++)
        n *= ways_of(c, c->cut[model][i]);
    return n <= MOST_VERSIONS ? n : 0;
}

/* Otherwise each product alone, all by rows, and all as far as that goes; which is the last version
 * in any case. */
static int versions_of(const struct choosing *c, int model) {
    int n = combinations(c, model);
    return n ? n : c->ncuts[model] + 3;
}

/* The cut of the model's I-th product in version V. */
static et_cut cut_in(const struct choosing *c, int model, int i, int v) {
    int group = c->cut[model][i], n = c->ncuts[model];
    if (!combinations(c, model)) {
        if (v == n + 1) return et_most_cut(c->may[group], ET_CUT_ROWS);
        return v == n + 2 || v == i + 1 ? et_most_cut(c->may[group], ET_CUT_SUM) : ET_CUT_NONE;
    }
    for (int k = 0; k < i; k++)
        v /= ways_of(c, c->cut[model][k]);
    v %= ways_of(c, group);
    return !v                                                  ? ET_CUT_NONE
           : v == 1 && et_most_cut(c->may[group], ET_CUT_ROWS) ? ET_CUT_ROWS
                                                               : ET_CUT_SUM;
}

/* The version up to its events; false where that fails, which is no error of the user's. */
static bool lower(const struct choosing *c, const et_cut *cut, et_trial *t) {
    et_trial_begin(t, c->pl->g, c->pl->p, c->pl->opt);
    t->opt.slices = 0;
    if ((cut && !et_slice_groups(t->p, c->count, cut, &t->opt)) ||
        !et_trial_lower(t, ET_STAGE_EVENTED)) {
        et_trial_end(t);
        return false;
    }
    et_infer_scopes(t->p);
    return true;
}

static void find_cuts(struct choosing *c) {
    const et_program *p = c->pl->p;
    c->may = et_slice_cuts(c->pl->p, c->count);
    for (int i = 0; i < p->ngroups; i++) {
        int m = et_model_of(p->g, p->groups[i].name);
        if (c->may[i] && m >= 0 && c->ncuts[m] < MOST_CUTS) c->cut[m][c->ncuts[m]++] = i;
    }
    for (int m = 0; m < c->nmodels; m++)
        c->nversions = versions_of(c, m) > c->nversions ? versions_of(c, m) : c->nversions;
}

static et_cut *cuts_of(const struct choosing *c, const int version[ET_MAX_MODELS]) {
    const et_program *p = c->pl->p;
    et_cut *cut = et_alloc(p->g->arena, ((size_t)p->ngroups + 1) * sizeof *cut);
    for (int i = 0; i < p->ngroups; i++) { /* beyond the first few, with all or not at all */
        int m = et_model_of(p->g, p->groups[i].name);
        if (m >= 0 && version[m] && version[m] == versions_of(c, m) - 1)
            cut[i] = et_most_cut(c->may[i], ET_CUT_SUM);
    }
    for (int m = 0; m < c->nmodels; m++)
        for (int i = 0; i < c->ncuts[m]; i++)
            cut[c->cut[m][i]] = cut_in(c, m, i, version[m]);
    return cut;
}

/* Version V of every model that has so many, to be ended by et_trial_end; false: there is none. */
static bool lower_version(const struct choosing *c, int v, et_trial *out) {
    int version[ET_MAX_MODELS];
    for (int m = 0; m < c->nmodels; m++)
        version[m] = v < versions_of(c, m) ? v : 0;
    return lower(c, v ? cuts_of(c, version) : NULL, out);
}

/* ---- how long they take ---- */

static void play_version(struct choosing *c, int v, const et_trial *t, const int64_t *syms) {
    et_graph *g = t->g;
    int dies = c->pl->opt->machine->dies;
    double done[ET_MAX_MODELS];
    et_player *player = et_player_create(t->p, c->pl->opt, syms);
    for (int m = 0; m < c->nmodels; m++) {
        c->device_events[m][v] = et_device_events(t->p, m);
        for (int d = g->nmodels ? 1 : dies; d <= dies && v < versions_of(c, m); d++) {
            if (dies % d) continue;
            if (g->nmodels) g->model[m].share = (et_share){0, PLACE_WHOLE / dies * d};
            c->us[m][v][d] = et_player_launch(player, g->nmodels ? m : -1, done);
        }
        g->model[m].share = (et_share){0, 0};
    }
    et_player_destroy(player);
}

/* The part of its time that is subtracted for that. */
static double forgiven(const struct choosing *c, int m, int v) {
    double before = c->device_events[m][0], now = c->device_events[m][v];
    return now < before ? FORGIVEN * (before - now) / before : 0;
}

/* On D dies, or on the next number of them that was played. */
static void compare(struct choosing *c, int m, int d) {
    int dies = c->pl->opt->machine->dies, like = d;
    while (dies % like)
        like++;
    c->ratio[m][d] = INFINITY;
    for (int v = 1; v < versions_of(c, m) && c->us[m][0][like] < INFINITY; v++) {
        double ratio = c->us[m][v][like] / c->us[m][0][like] * (1 - forgiven(c, m, v));
        if (!c->version[v] || !(ratio < c->ratio[m][d])) continue;
        c->ratio[m][d] = ratio;
        c->best[m][d] = v;
    }
}

/* False where nothing is predicted, or there is one version. */
static bool play_versions(struct choosing *c, const int64_t *syms) {
    int dies = c->pl->opt->machine->dies, n = 0;
    for (int v = 0; v < c->nversions; v++) {
        et_trial t;
        c->version[v] = lower_version(c, v, &t);
        if (!c->version[v] && !v) return false;
        if (!c->version[v]) continue;
        play_version(c, v, &t, syms);
        et_trial_end(&t);
        n++;
    }
    for (int m = 0; m < c->nmodels; m++)
        for (int d = 1; d <= dies; d++)
            if (d == dies || c->pl->g->nmodels)
                compare(c, m, d);
            else
                c->ratio[m][d] = INFINITY;
    return n > 1;
}

/* ---- the choice ---- */

static void take(struct choosing *c, const struct place *s, const et_assignment *a) {
    for (int m = 0; m < c->nmodels; m++) {
        struct range r = s->range[a->range[m][0]];
        c->dies[m] = place_dies(s, r);
        c->chosen[m] = r.sliced ? c->best[m][c->dies[m]] : 0;
    }
}

/* With the program as it is, up to its events. */
static bool solve(struct choosing *c, struct place_ways *w) {
    struct place s;
    et_trial t;
    const double *in_slices[ET_MAX_MODELS];
    double best = INFINITY;
    if (!lower_version(c, 0, &t)) return false;
    place_init(&s, t.p, c->pl->opt);
    for (int m = 0; m < c->nmodels; m++)
        in_slices[m] = c->ratio[m];
    s.in_slices = in_slices;
    bool any = place_candidates(&s);
    if (any) place_find_ways(&s, w);
    for (int i = 0; i < w->n; i++) {
        double us = place_in_turn(&s, w->way[i].range);
        if (us >= best) continue;
        best = us;
        take(c, &s, &w->way[i]);
    }
    et_trial_end(&t);
    return best < INFINITY;
}

/* ---- messages ---- */

static const char *names_of(const struct choosing *c, int m, int v) {
    et_arena *a = c->pl->g->arena;
    const char *out = NULL;
    for (int i = 0; i < c->ncuts[m]; i++) {
        const char *name = c->pl->p->groups[c->cut[m][i]].name;
        et_cut cut = cut_in(c, m, i, v);
        if (cut == ET_CUT_ROWS) name = et_printf(a, "rows for %s", name);
        if (cut) out = out ? et_printf(a, "%s, %s", out, name) : name;
    }
    return out;
}

/* The number of dies that messages name. */
static int dies_of(const struct choosing *c, int m) {
    int dies = c->pl->opt->machine->dies, d = c->chosen[m] ? c->dies[m] : dies;
    while (dies % d)
        d++;
    return d;
}

static void tell_events(const struct choosing *c, int m, int v, FILE *to) {
    et_trial t;
    if (!lower_version(c, v, &t)) return;
    et_tell_scopes(t.p, m, to);
    et_trial_end(&t);
}

static void tell_model(const struct choosing *c, int m, FILE *to) {
    const et_graph *g = c->pl->g;
    int d = dies_of(c, m);
    fprintf(to, "# %s on %d dies, predicted: %.1f us as it is, with %.0f events of the device\n",
            g->nmodels ? g->model[m].name : g->name, d, c->us[m][0][d], c->device_events[m][0]);
    for (int v = 1; v < versions_of(c, m); v++)
        if (c->version[v])
            fprintf(to, "#   %.1f us with %.0f events of the device in %d slices: %s%s\n",
                    c->us[m][v][d], c->device_events[m][v], c->count, names_of(c, m, v),
                    v == c->chosen[m] ? " (chosen)" : "");
    int v = c->chosen[m] ? c->chosen[m] : c->best[m][d];
    fprintf(to, "# as it is:\n");
    tell_events(c, m, 0, to);
    if (!v) return;
    fprintf(to, "# in slices%s:\n", c->chosen[m] ? "" : ", which are not chosen");
    tell_events(c, m, v, to);
}

static void tell(const struct choosing *c, const struct place_ways *w, FILE *to) {
    for (int m = 0; m < c->nmodels; m++)
        if (c->ncuts[m]) tell_model(c, m, to);
    if (!w->bounded) return;
    fprintf(to, "# slices");
    place_tell_program(w, to);
    fputc('\n', to);
}

static void note(const struct choosing *c) {
    et_finding *f = et_finding_note(c->pl->opt, c->pl->g);
    for (int m = 0; f && m < c->nmodels; m++) {
        int d = dies_of(c, m), v = c->chosen[m] ? c->chosen[m] : c->best[m][d];
        if (!c->ncuts[m] || !v) continue;
        f->slices[m] =
            (et_found_slices){.known = true,
                              .taken = c->chosen[m] > 0,
                              .count = c->count,
                              .dies = d,
                              .cuts = names_of(c, m, v),
                              .us = {c->us[m][0][d], c->us[m][v][d]},
                              .device_events = {c->device_events[m][0], c->device_events[m][v]}};
    }
}

/* Is ALL done to all of the model's products that allow it? */
static bool is_all(const struct choosing *c, int m, int v, et_cut all) {
    bool is = true;
    for (int i = 0; i < c->ncuts[m]; i++)
        is &= cut_in(c, m, i, v) == et_most_cut(c->may[c->cut[m][i]], all);
    return is;
}

/* Without a choice by time. */
static void take_all(struct choosing *c, et_cut all) {
    for (int m = 0; m < c->nmodels; m++) {
        c->dies[m] = c->pl->opt->machine->dies;
        for (int v = 0; v < versions_of(c, m); v++)
            if (is_all(c, m, v, all)) c->chosen[m] = v;
    }
}

et_cut *et_slices_chosen(et_pipeline *pl, int count, et_cut all) {
    struct choosing *c = et_alloc(pl->g->arena, sizeof *c);
    const et_pass_options *o = pl->opt;
    struct place_ways ways = {0};
    struct place at; /* for its symbols */
    *c = (struct choosing){.pl = pl, .count = count, .nmodels = pl->g->nmodels, .nversions = 1};
    if (!c->nmodels) c->nmodels = 1;
    find_cuts(c);
    place_init(&at, pl->p, o);
    bool any = c->nversions > 1 && o->machine->dies <= MOST_DIES;
    if (!any || !play_versions(c, at.syms)) return NULL;
    if (all)
        take_all(c, all);
    else if (!solve(c, &ways))
        return NULL;
    note(c);
    if (o->verbose) tell(c, &ways, stderr);
    if (et_is_dumped(o, "slice")) tell(c, &ways, o->dump_to);
    return cuts_of(c, c->chosen);
}
