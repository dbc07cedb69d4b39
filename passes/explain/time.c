/* The predicted time of a launch and what it is made of. Every instant belongs to the tasks that
 * are in their bodies then, to each as much as it has of the CUs that are busy; what is left is
 * waiting for events, and the launch itself. */
#include "passes/explain/int.h"
#include "passes/simulate/simulate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 6 };

/* A span in which a grid always has a task running. */
struct span {
    double from, to, busy; /* busy: of all CUs together */
};

struct spans {
    struct span *v;
    int n, cap;
    double us; /* of the launch, that are this grid's */
};

struct timing {
    struct explain *e;
    struct spans *grid;
    double done[ET_MAX_MODELS]; /* when the model's last task left */
    et_sim_values *values;
    double idle; /* us in which nothing runs */
};

static void add_task(void *ctx, const et_sim_task *t) {
    struct timing *tm = ctx;
    struct spans *s = &tm->grid[t->grid];
    struct span now = {t->t_ready, t->t_left, t->t_left - t->t_ready};
    double *done = &tm->done[tm->e->p->grids[t->grid].model];
    *done = fmax(*done, t->t_left);
    /* Tasks come in the order they leave. */
    while (s->n && s->v[s->n - 1].to >= now.from) {
        const struct span *last = &s->v[--s->n];
        now.from = fmin(now.from, last->from);
        now.to = fmax(now.to, last->to);
        now.busy += last->busy;
    }
    ET_GROW(tm->e->arena, s->v, s->n, s->cap);
    s->v[s->n++] = now;
}

static bool value(void *ctx, int tensor, int64_t iteration, const int64_t *index, int64_t *out) {
    const struct timing *tm = ctx;
    return tm->values && et_sim_value(tm->values, tensor, iteration, index, out);
}

/* ---- the time of each task ---- */

struct edge {
    double t, width;
    int grid;
};

static int by_time(const void *a, const void *b) {
    const struct edge *x = a, *y = b;
    return x->t < y->t ? -1 : x->t > y->t ? 1 : x->width < y->width ? -1 : x->width > y->width;
}

static void divide_time(struct timing *tm, double us) {
    int ngrids = tm->e->p->ngrids, n = 0;
    size_t most = 0;
    for (int g = 0; g < ngrids; g++)
        most += 2 * (size_t)tm->grid[g].n;
    struct edge *at = et_alloc(tm->e->arena, (most + 1) * sizeof *at);
    double *width = et_alloc(tm->e->arena, (size_t)(ngrids + 1) * sizeof *width);
    for (int g = 0; g < ngrids; g++)
        for (int i = 0; i < tm->grid[g].n; i++) {
            const struct span *s = &tm->grid[g].v[i];
            double w = s->to > s->from ? s->busy / (s->to - s->from) : 0;
            if (!(w > 0)) continue;
            at[n++] = (struct edge){s->from, w, g};
            at[n++] = (struct edge){s->to, -w, g};
        }
    qsort(at, (size_t)n, sizeof *at, by_time);
    double last = 0;
    for (int i = 0; i <= n; i++) {
        double t = i < n ? at[i].t : us, all = 0;
        for (int g = 0; g < ngrids && t > last; g++)
            all += width[g];
        for (int g = 0; g < ngrids && t > last && all > 0; g++)
            tm->grid[g].us += (t - last) * width[g] / all;
        if (t > last && !(all > 0)) tm->idle += t - last;
        last = fmax(last, t);
        if (i < n) width[at[i].grid] = at[i].width > 0 ? at[i].width : 0;
    }
}

static bool play(struct timing *tm, const int64_t *syms, et_sim_mode mode, et_sim_result *r,
                 char err[ET_SIM_ERR]) {
    struct explain *e = tm->e;
    et_sim_options o = {.machine = e->m,
                        .profile = e->opt->profile,
                        .syms = syms,
                        .mode = mode,
                        .value = value,
                        .task = mode == ET_SIM_AS_SCHEDULED ? add_task : NULL,
                        .ctx = tm};
    tm->values = et_sim_values_guess(e->arena, e->p, syms, NULL, err);
    bool ok = et_simulate(e->p, &o, r, err);
    et_sim_values_destroy(tm->values);
    tm->values = NULL;
    return ok;
}

/* ---- text ---- */

static int by_us(const void *a, const void *b) {
    const struct spans *x = *(struct spans *const *)a, *y = *(struct spans *const *)b;
    return x->us > y->us ? -1 : x->us < y->us ? 1 : x < y ? -1 : x > y;
}

static void put_part(struct explain *e, const struct timing *tm, const struct spans *s, int rank,
                     double total) {
    const et_grid *g = &e->p->grids[s - tm->grid];
    struct explain_bound b = explain_bound_of(e, g, e->syms[e->middle]);
    double trips = et_loop_trips_at(e->p->g, g->loop, e->syms[e->middle]);
    const et_group *gr = explain_group(e, g);
    fprintf(e->to, "  %2d. %-16s %5.1f %%  %s", rank, g->name, 100 * s->us / total,
            explain_us(e, s->us));
    if (trips > 1) fprintf(e->to, ", %.0f runs of %s", trips, explain_us(e, s->us / trips));
    fprintf(e->to, " predicted%s%s\n", b.measured ? ", body from the profile" : "",
            gr ? explain_line(e, gr->loc) : "");
    explain_bound_print(e, g, &b);
}

static void put_idle(const struct explain *e, const struct timing *tm, double total) {
    double launch = fmin(e->m->launch_us, tm->idle), wait = tm->idle - launch;
    fprintf(e->to, "   -  %-16s %5.1f %%  %s predicted\n", "launch", 100 * launch / total,
            explain_us(e, launch));
    if (launch > 0.2 * total)
        fprintf(e->to, "      hint: this is paid once a launch: launch less often with larger "
                       "dims\n");
    fprintf(e->to, "   -  %-16s %5.1f %%  %s predicted, in which no task runs\n", "waiting",
            100 * wait / total, explain_us(e, wait));
    if (wait <= 0.2 * total) return;
    fprintf(e->to,
            "      bound by events: %s from one die to another; fewer tasks in a row wait less "
            "(FUSION)\n",
            explain_us(e, e->m->event_us));
    bool sliced = false;
    for (int i = 0; i < e->p->ngrids; i++)
        sliced |= e->p->grids[i].slice.count > 0;
    if (e->m->dies > 1 && et_schedule_of(e->p->schedule)->fixed && !sliced)
        fprintf(e->to,
                "      hint: --slices=auto keeps events within a die where that is predicted "
                "to be faster\n");
}

static void put_parts(struct explain *e, const struct timing *tm, double total) {
    int n = e->p->ngrids;
    struct spans **order = et_alloc(e->arena, (size_t)(n + 1) * sizeof(struct spans *));
    double rest = 0;
    for (int i = 0; i < n; i++)
        order[i] = &tm->grid[i];
    qsort(order, (size_t)n, sizeof *order, by_us);
    fprintf(e->to, "  What the time at %s goes to:\n", explain_dims(e, e->syms[e->middle]));
    for (int i = 0; i < n; i++) {
        if (i < TOP && order[i]->us > 0)
            put_part(e, tm, order[i], i + 1, total);
        else
            rest += order[i]->us;
    }
    if (n > TOP)
        fprintf(e->to, "   -  %d other tasks   %5.1f %%  %s predicted\n", n - TOP,
                100 * rest / total, explain_us(e, rest));
    put_idle(e, tm, total);
}

/* The same tiles in other schedules. */
static void put_others(struct timing *tm, double now) {
    struct explain *e = tm->e;
    static const struct {
        et_sim_mode mode;
        et_schedule_kind schedule;
        const char *words;
    } other[] = {{ET_SIM_STATIC, ET_SCHEDULE_STATIC, "static"},
                 {ET_SIM_DYNAMIC, ET_SCHEDULE_DYNAMIC, "dynamic"},
                 {ET_SIM_UNFUSED, ET_SCHEDULE_NONE, "a kernel for each task, in a graph"}};
    double best = now * 0.97;
    const char *take = NULL, *sep = "";
    fputs("  The same tiles with another schedule, predicted:", e->to);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        et_sim_result r;
        char err[ET_SIM_ERR];
        bool same = e->p->schedule == other[i].schedule;
        if (same || !play(tm, e->syms[e->middle], other[i].mode, &r, err)) continue;
        fprintf(e->to, "%s %s %s", sep, other[i].words, explain_us(e, r.us));
        sep = ",";
        if (other[i].schedule && r.us < best) best = r.us, take = other[i].words;
    }
    fprintf(e->to, "%s.\n", *sep ? "" : " none can be played");
    if (take)
        fprintf(e->to, "  hint: --schedule=%s, or --schedule=hybrid to have some tasks that way\n",
                take);
}

/* OUT and US are of the middle one, where it can be played. */
static void put_launch(struct explain *e, int sample, struct timing *out, double *us) {
    et_sim_result r;
    char err[ET_SIM_ERR];
    struct timing tm = {.e = e,
                        .grid = et_alloc(e->arena, (size_t)(e->p->ngrids + 1) * sizeof *tm.grid)};
    if (!play(&tm, e->syms[sample], ET_SIM_AS_SCHEDULED, &r, err)) {
        et_cost c = et_cost_at(e->p, e->m, e->syms[sample], 0);
        fprintf(e->to, "  %s: cannot be played (%s); task after task, predicted: %s, %s moved\n",
                explain_dims(e, e->syms[sample]), err, explain_us(e, c.us),
                explain_bytes(e, c.memory_bytes));
        return;
    }
    fprintf(e->to,
            "  %s: %s predicted; the CUs' time is %.0f %% tasks, %.0f %% waiting, %.0f %% "
            "scheduling; %s moved\n",
            explain_dims(e, e->syms[sample]), explain_us(e, r.us), 100 * r.body, 100 * r.wait,
            100 * r.schedule, explain_bytes(e, r.memory_bytes));
    for (int m = 0; m < e->p->g->nmodels; m++)
        fprintf(e->to, "    %s is done after %s predicted\n", e->p->g->model[m].name,
                explain_us(e, tm.done[m]));
    if (sample != e->middle) return;
    *out = tm;
    *us = r.us;
}

void explain_time(struct explain *e) {
    fprintf(e->to, "\nTIME: a launch, predicted\n");
    if (e->p->stage == ET_STAGE_SCHEDULED) {
        struct timing tm;
        double us = 0;
        for (int i = 0; i < e->nsamples; i++)
            put_launch(e, i, &tm, &us);
        if (us <= 0) return;
        divide_time(&tm, us);
        put_parts(e, &tm, us);
        put_others(&tm, us);
        return;
    }
    for (int i = 0; i < e->nsamples; i++) {
        et_cost c = et_cost_at(e->p, e->m, e->syms[i], 0);
        fprintf(e->to, "  %s: %s predicted, task after task; %s moved\n",
                explain_dims(e, e->syms[i]), explain_us(e, c.us), explain_bytes(e, c.memory_bytes));
    }
}
