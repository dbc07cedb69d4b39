/* Placement: which share of the workgroups every model gets, and which part of that every grid.
 *
 * assign.h solves a model of it that adds up the times of tasks and lets models alternate on a unit
 * in any order, while a workgroup runs all tasks of one model before those of the next. So its
 * solution and a few others are simulated, and the best one is taken; where that has a share for
 * each model, units are moved between models as long as that helps.
 *
 * One model has the whole chip; the solution says which of its tasks are faster on a part of it.
 * Without a profile none is, and nothing is simulated.
 *
 * Placement decides no fence: ranges matter for speed only. Scopes follow from slices (scope.h),
 * and the die of a slice from the dies that workgroups find themselves on.
 */
#include "ir/base/clock.h"
#include "ir/base/diag.h"
#include "passes/cost/cost.h"
#include "passes/events/scope.h"
#include "passes/place/int.h"
#include "passes/trial/play.h"
#include "passes/trial/trial.h"
#include <math.h>
#include <string.h>

enum { TASKS_PLAYED = 1000000 }; /* in search of better shares, at most */
/* The least gain of another placement: any; for a model alone, one large enough to measure. */
static const double GAIN = 1e-9, GAIN_ALONE = 0.01;

/* A range for every group of every model. */
struct choice {
    struct range *of[ET_MAX_MODELS];
};

struct placing {
    struct place s;
    const et_pass_options *opt;
    bool ranges;             /* static grids may be on a part of their model's share */
    const et_program *given; /* the program with the ranges that the user said */
    et_player *player;
    struct choice best;
    double us, done[ET_MAX_MODELS]; /* of it */
    bool played;                    /* are they the simulator's? */
    const char *taken;
    et_found_place *note; /* or NULL */
};

/* ---- into the task program ---- */

static int millionths(int part, int of) {
    return (int)((int64_t)part * PLACE_WHOLE / of);
}

static struct range hull_of(const struct placing *p, const struct choice *c, int m) {
    struct range hull = {p->s.nunits, 0, false}, chip = {0, p->s.nunits, false};
    if (p->s.nmodels == 1) return chip;
    for (int k = 0; k < p->s.model[m].ngroups; k++) {
        struct range r = c->of[m][k];
        hull.from = r.from < hull.from ? r.from : hull.from;
        hull.to = r.to > hull.to ? r.to : hull.to;
    }
    return hull;
}

static void write_choice(const struct placing *p, const struct choice *c) {
    const struct place *s = &p->s;
    for (int m = 0; m < s->nmodels; m++) {
        struct range hull = hull_of(p, c, m);
        if (s->g->nmodels)
            s->g->model[m].share =
                (et_share){millionths(hull.from, s->nunits), millionths(hull.to, s->nunits)};
        for (int k = 0; k < s->model[m].ngroups && p->ranges; k++) {
            struct range r = c->of[m][k];
            et_grid *g = &s->p->grids[s->grid[m][k]];
            bool whole = (r.from == hull.from && r.to == hull.to) || g->slice.count;
            g->range = p->given->grids[s->grid[m][k]].range;
            if (g->range.to || whole) continue;
            g->range = (et_share){millionths(r.from - hull.from, hull.to - hull.from),
                                  millionths(r.to - hull.from, hull.to - hull.from)};
        }
    }
}

/* ---- the choice ---- */

static struct choice choice_of(const struct place *s, const et_assignment *a) {
    struct choice c = {{NULL}};
    for (int m = 0; m < s->nmodels; m++) {
        c.of[m] = et_alloc(s->g->arena, (size_t)s->model[m].ngroups * sizeof **c.of);
        for (int k = 0; k < s->model[m].ngroups; k++)
            c.of[m][k] = s->range[a->range[m][k]];
    }
    return c;
}

/* When the last model is done, times weighted. */
static double play(struct placing *p, const struct choice *c, double done[ET_MAX_MODELS]) {
    double worst = 0;
    write_choice(p, c);
    if (et_player_launch(p->player, -1, done) >= INFINITY) return INFINITY;
    for (int m = 0; m < p->s.nmodels; m++)
        worst = fmax(worst, p->s.model[m].weight * done[m]);
    return worst;
}

static void note_way(const struct placing *p, const char *name, double us) {
    for (int i = 0; p->note && i < ET_FOUND_WAYS - 1; i++)
        if (!p->note->way[i].name) {
            p->note->way[i] = (et_found_way){name, us};
            return;
        }
}

/* Keeps it if it is better than the best so far; returns its time. */
static double consider(struct placing *p, const struct choice *c, const char *name) {
    double done[ET_MAX_MODELS], us = play(p, c, done);
    if (us >= p->us * (1 - (p->s.nmodels == 1 ? GAIN_ALONE : GAIN))) return us;
    p->us = us;
    p->best = *c;
    p->taken = name;
    p->played = true;
    memcpy(p->done, done, sizeof done);
    return us;
}

/* Where the simulator fails, or is not needed, the times of the problem decide. */
static void take_by_problem(struct placing *p, const struct place_ways *w) {
    for (int i = 0; i < w->n; i++) {
        double us = place_in_turn(&p->s, w->way[i].range);
        note_way(p, w->name[i], us);
        if (us >= p->us * (1 - GAIN)) continue;
        p->us = us;
        p->best = choice_of(&p->s, &w->way[i]);
        p->taken = w->name[i];
        memcpy(p->done, w->way[i].us, (size_t)p->s.nmodels * sizeof *p->done);
    }
}

/* ---- units moved between shares ---- */

struct shares {
    int n;                    /* the models; behind them stands what no model has */
    int order[ET_MAX_MODELS]; /* along the chip */
    int width[ET_MAX_MODELS + 1];
};

/* False where models do not have a share each, or tasks a part of it. */
static bool shares_of(const struct placing *p, const struct choice *c, struct shares *out) {
    int n = p->s.nmodels, at = 0;
    struct range hull[ET_MAX_MODELS];
    *out = (struct shares){.n = n};
    for (int m = 0; m < n; m++) {
        hull[m] = hull_of(p, c, m);
        for (int k = 0; k < p->s.model[m].ngroups; k++)
            if (c->of[m][k].from != hull[m].from || c->of[m][k].to != hull[m].to) return false;
        int i = m;
        for (; i > 0 && hull[out->order[i - 1]].from > hull[m].from; i--)
            out->order[i] = out->order[i - 1];
        out->order[i] = m;
        out->width[m] = hull[m].to - hull[m].from;
    }
    for (int i = 0; i < n; i++) {
        if (hull[out->order[i]].from < at) return false;
        at = hull[out->order[i]].to;
        out->width[n] += out->width[i];
    }
    out->width[n] = p->s.nunits - out->width[n];
    return true;
}

static struct choice choice_of_shares(const struct place *s, const struct shares *sh) {
    struct choice c = {{NULL}};
    for (int i = 0, at = 0; i < sh->n; i++) {
        int m = sh->order[i];
        c.of[m] = et_alloc(s->g->arena, (size_t)s->model[m].ngroups * sizeof **c.of);
        for (int k = 0; k < s->model[m].ngroups; k++)
            c.of[m][k] = (struct range){at, at + sh->width[m], false};
        at += sh->width[m];
    }
    return c;
}

/* Moves STEP units between models as long as that makes a launch shorter. */
static void improve(struct placing *p, struct shares *best, double *us, int step, int *left) {
    for (bool better = true; better;) {
        better = false;
        for (int from = 0; from <= best->n; from++)
            for (int to = 0; to <= best->n && *left > 0; to++) {
                struct shares now = *best;
                if (from == to || now.width[from] < step + (from < now.n)) continue;
                now.width[from] -= step;
                now.width[to] += step;
                struct choice c = choice_of_shares(&p->s, &now);
                double then = consider(p, &c, "shares, by simulation");
                --*left;
                if (then >= *us * (1 - GAIN)) continue;
                *best = now;
                *us = then;
                better = true;
            }
    }
}

static void search_shares(struct placing *p, struct shares *from, double us) {
    double before = p->us;
    int left = (int)(TASKS_PLAYED / fmax(et_player_tasks(p->player, -1), 1));
    for (int step = p->s.nunits / 4; step >= 1; step /= 2)
        improve(p, from, &us, step, &left);
    if (p->us < before) note_way(p, p->taken, p->us);
}

/* Its groups that are on less than the chip. */
static int parts_in(const struct placing *p, const struct choice *c) {
    int n = 0;
    for (int m = 0; m < p->s.nmodels; m++)
        for (int k = 0; k < p->s.model[m].ngroups; k++)
            n += c->of[m][k].to - c->of[m][k].from < p->s.nunits;
    return n;
}

static bool any_parts(const struct placing *p, const struct place_ways *w) {
    int parts = 0;
    for (int i = 0; i < w->n; i++) {
        struct choice c = choice_of(&p->s, &w->way[i]);
        parts += parts_in(p, &c);
    }
    return parts > 0;
}

static void choose(struct placing *p, const struct place_ways *w) {
    struct shares from = {0}, shares;
    double best = INFINITY;
    bool alone = p->s.nmodels == 1;
    int n = alone && !any_parts(p, w) ? 0 : w->n;
    p->us = INFINITY;
    for (int k = 0; k < n; k++) {
        int i = alone ? w->n - 1 - k : k; /* that which is on all CUs first */
        struct choice c = choice_of(&p->s, &w->way[i]);
        double us = consider(p, &c, w->name[i]);
        if (us < INFINITY) note_way(p, w->name[i], us);
        if (us >= best || alone || !shares_of(p, &c, &shares)) continue;
        best = us;
        from = shares;
    }
    if (p->us >= INFINITY)
        take_by_problem(p, w);
    else if (best < INFINITY && p->s.how == ET_PLACEMENT_ILP)
        search_shares(p, &from, best);
}

/* ---- messages ---- */

static void print_choice(const struct placing *p, const struct place_ways *w, double seconds) {
    const et_graph *g = p->s.g;
    if (!p->opt->verbose) return;
    fprintf(stderr, "placement: %s", p->taken);
    if (p->played) fprintf(stderr, ", %.2f us predicted", p->us);
    place_tell_program(w, stderr);
    fprintf(stderr, "; %.2f s\n", seconds);
    if (!g->nmodels)
        fprintf(stderr, "placement: %d of %d tasks on a part of the CUs\n", parts_in(p, &p->best),
                p->s.model[0].ngroups);
    for (int m = 0; m < g->nmodels; m++)
        fprintf(stderr, "placement: %s on %.1f..%.1f %% of the CUs\n", g->model[m].name,
                g->model[m].share.from / 1e4, g->model[m].share.to / 1e4);
}

/* A model's time alone, on each number of units. */
static void note_widths(const struct placing *p) {
    et_arena *a = p->s.g->arena;
    struct place one = p->s;
    one.range = et_alloc(a, (size_t)one.nunits * sizeof *one.range);
    one.nranges = one.nunits;
    for (int u = 0; u < one.nunits; u++)
        one.range[u] = (struct range){0, u + 1, false};
    if (!place_build(&one)) return;
    et_check(one.nunits <= ET_FOUND_UNITS);
    p->note->widths = true;
    for (int m = 0; m < one.nmodels; m++)
        for (int u = 0; u < one.nunits; u++) {
            int range[ET_MAX_MODELS];
            et_assignment fixed;
            for (int k = 0; k < one.nmodels; k++)
                range[k] = u;
            et_assign_fixed(&one.problem, a, range, &fixed);
            p->note->us[m][u + 1] = fixed.us[m];
        }
}

static void note_choice(const struct placing *p, const struct place_ways *w) {
    et_found_place *n = p->note;
    if (!n) return;
    n->known = true;
    n->how = et_placement_name(p->s.how);
    n->taken = p->taken;
    n->bounded = w->bounded;
    n->objective = w->program.objective;
    n->bound = w->program.bound;
    n->plans = w->program.plans;
    n->nodes = w->program.nodes;
    n->optimal = w->program.optimal;
    n->units = p->s.nunits;
    memcpy(n->played, p->done, sizeof n->played);
    if (p->s.nmodels > 1) note_widths(p);
}

/* ---- the pass ---- */

/* Applies the best choice and notes it; false where there is none: no trial is kept, and the next
 * pass divides CUs by work. */
static bool find_best(struct placing *p, const et_trial *t) {
    struct place_ways ways;
    double begin = et_seconds();
    place_init(&p->s, t->p, p->opt);
    if (!place_candidates(&p->s)) return false;
    p->player = et_player_create(t->p, p->opt, p->s.syms);
    place_find_ways(&p->s, &ways);
    choose(p, &ways);
    et_player_destroy(p->player);
    if (p->us >= INFINITY) return false;
    write_choice(p, &p->best);
    print_choice(p, &ways, et_seconds() - begin);
    note_choice(p, &ways);
    return true;
}

static void place(et_pipeline *pl) {
    et_program *to = pl->p;
    et_finding *f = et_finding_note(pl->opt, pl->g);
    struct placing p = {.opt = pl->opt,
                        .ranges = et_is_static(pl->opt),
                        .given = pl->p,
                        .note = f ? &f->place : NULL};
    et_model model[ET_MAX_MODELS];
    et_trial t;
    et_trial_begin(&t, pl->g, pl->p, pl->opt);
    bool found = find_best(&p, &t);
    memcpy(model, pl->g->model, sizeof model);
    for (int i = 0; i < to->ngrids && found; i++)
        to->grids[i].range = t.p->grids[i].range;
    et_trial_end(&t);
    if (found) memcpy(pl->g->model, model, sizeof model);
}

bool et_pass_place(et_pipeline *pl) {
    et_graph *g = pl->g;
    bool given = false;
    et_infer_scopes(pl->p);
    if (et_is_dumped(pl->opt, "place")) et_tell_scopes(pl->p, -1, pl->opt->dump_to);
    for (int m = 0; m < g->nmodels; m++)
        given |= g->model[m].share.to > 0;
    if (given || pl->opt->quick) return true;
    if (g->nmodels > 1 || et_is_static(pl->opt))
        place(pl);
    else if (pl->opt->verbose)
        fputs("placement: one model, not all its tasks static: on all CUs, but for @range\n",
              stderr);
    return true;
}
