/* Requests, one after the other or at random, and who serves them when. One thread asks the device
 * what is done and launches what waits. */
#include "bench/share/share.h"

#include "bench/mixes/mixes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The requests to one model. */
struct line {
    double *arrival; /* NULL: the next comes when the last is answered */
    double last;
    int64_t n, taken, room; /* n: known of; taken: by a launch */
    struct sh_answers *out;
};

/* Who launches: one kernel's session, or all that take turns. */
struct server {
    unsigned models;           /* that it serves, as bits */
    unsigned running, pending; /* in the launch that is under way; not answered yet */
    unsigned selected;
};

struct play {
    struct sh_policy *p;
    bool check;
    struct line line[SH_MODELS];
    struct server server[SH_MODELS];
    int nservers;
    int width[SH_MODELS]; /* CUs of the launch that is under way, of kernels side by side */
    bool half[SH_MODELS]; /* it is of the kernel of which a CU holds two */
    double begun[SH_MODELS], seen[SH_MODELS]; /* the launch; when the model last had requests */
    unsigned planned; /* the models of the plan that is in force, as bits; 0: none is */
    int at[SH_MODELS], units[SH_MODELS]; /* in it */
    double from, until;                  /* nobody asks again after that in a closed loop */
};

/* In a closed loop everybody asks once at least. */
static bool waits(const struct play *y, const struct line *l, double now) {
    if (l->arrival) return l->taken < l->n && l->arrival[l->taken] <= now;
    return l->out && !l->taken && (now < y->until || !l->out->n);
}

static double since(const struct line *l) {
    return l->arrival ? l->arrival[l->taken] : l->last;
}

static void learn(struct play *, int model, double now);

/* The kernel that a model has launched, or is about to. */
static struct sh_model *kernel_of(const struct play *y, int m) {
    struct sh_model *model = &y->p->model[m];
    return y->half[m] ? model->half : model;
}

/* ---- answers ---- */

static void answer(struct line *l, double now) {
    struct sh_answers *a = l->out;
    if (a->n == l->room) {
        l->room = l->room ? 2 * l->room : 1024;
        double *more = realloc(a->seconds, (size_t)l->room * sizeof *more);
        if (!more) {
            sh_fail("out of memory");
            exit(1);
        }
        a->seconds = more;
    }
    a->seconds[a->n] = now - (l->arrival ? l->arrival[a->n] : l->last);
    a->n++;
    l->last = now;
    if (!l->arrival) l->taken = 0;
}

/* Answer who is done in the launch of S. The launch of several models is over when all are. */
static bool look(struct play *y, struct server *s) {
    bool together = y->p->kind == SH_ONE && y->p->nmodels > 1;
    etrt_session *session = NULL;
    for (int m = 0; m < y->p->nmodels; m++) {
        struct sh_model *model = kernel_of(y, m);
        if (s->running >> m & 1) session = model->session;
        if (!(s->pending >> m & 1)) continue;
        etrt_status st = model->stays ? etrt_residence_done(model->stays, model->name, 0)
                         : together   ? etrt_wait_model(session, model->name, 0)
                                      : etrt_wait_for(session, 0);
        if (st == ETRT_TIMEOUT) continue;
        if (!sh_ok(model->name, st)) return false;
        answer(&y->line[m], sh_now());
        s->pending &= ~(1u << m);
        if (y->check && !sh_same_outputs(model)) return false;
    }
    if (s->pending) return true;
    if (sh_is_launched_apart(y->p->kind)) learn(y, (int)(s - y->server), sh_now());
    s->running = 0;
    return !together || sh_ok("launch", etrt_wait(session));
}

/* ---- launches ---- */

/* Which models the next launch of S runs. */
static unsigned choose(const struct play *y, const struct server *s, double now) {
    unsigned all = 0;
    int first = -1;
    for (int m = 0; m < y->p->nmodels; m++) {
        if (!(s->models >> m & 1) || !waits(y, &y->line[m], now)) continue;
        all |= 1u << m;
        if (first < 0 || since(&y->line[m]) < since(&y->line[first])) first = m;
    }
    return y->p->kind == SH_ONE || first < 0 ? all : 1u << first;
}

/* ---- how many CUs a launch gets, of kernels side by side ---- */

/* By a plan for the models of BUSY; all of them, where the models are to take turns. */
static int planned(struct play *y, int model, unsigned busy, int all) {
    struct etrt_claim claim[SH_MODELS];
    int units = all < ETRT_PACE_UNITS ? all : ETRT_PACE_UNITS, n = 0, mine = 0, of = -1;
    for (int m = 0; m < y->p->nmodels; m++)
        of += busy >> m & 1;
    for (int m = 0; m < y->p->nmodels; m++) {
        if (!(busy >> m & 1)) continue;
        if (m == model) mine = n;
        claim[n] = (struct etrt_claim){&y->p->model[m].pace, n * (units - 1) / of, y->at[m],
                                       busy == y->planned ? y->units[m] : 0};
        n++;
    }
    y->planned = etrt_plan(claim, n, units) ? busy : 0;
    if (!y->planned) return all;
    for (int m = 0, i = 0; m < y->p->nmodels; m++) {
        if (!(busy >> m & 1)) continue;
        y->at[m] = claim[i].from;
        y->units[m] = claim[i++].units;
    }
    return all * (claim[mine].from + claim[mine].units) / units - all * claim[mine].from / units;
}

static bool is_first(const struct play *y, int model, double now) {
    bool first = true;
    for (int m = 0; m < y->p->nmodels; m++)
        first &= m == model || !waits(y, &y->line[m], now) ||
                 since(&y->line[model]) <= since(&y->line[m]);
    return first;
}

/* ---- which of two kernels: its own, or that of which a CU holds two ---- */

/* What it is worth that these models go on beside each other on all CUs, as `progress` counts it;
 * 0: one of them would be slower than in turns. WORTH of their plan; 0: its widths are not known.
 */
static double worth_beside(const struct play *y, unsigned set, double *worth) {
    const double slack = 1.02;
    double turns = 0, beside = 0;
    bool late = false;
    *worth = 0;
    for (int m = 0; m < y->p->nmodels; m++)
        if (set >> m & 1) turns += y->p->model[m].us[ETRT_PACE_UNITS];
    for (int m = 0; m < y->p->nmodels; m++) {
        const struct sh_model *model = &y->p->model[m];
        if (!(set >> m & 1)) continue;
        double took = y->planned == set ? model->us[y->units[m]] : turns;
        late |= model->half->us[0] > slack * turns;
        beside += model->us[ETRT_PACE_UNITS] / model->half->us[0];
        if (took > 0) *worth += model->us[ETRT_PACE_UNITS] / took;
    }
    return late ? 0 : beside;
}

/* Are models of SET better beside each other than by a plan? That is tried for some steps, then
 * plans look for theirs; and both again, once in a while, since what was measured may have changed.
 */
static bool is_better_beside(const struct play *y, unsigned set) {
    enum { BESIDE = 32, BOTH = BESIDE + 96, AGAIN = 8192 };
    double plan, beside;
    for (int m = 0; m < y->p->nmodels; m++)
        if ((set >> m & 1) && !(y->p->model[m].half && y->p->model[m].us[ETRT_PACE_UNITS] > 0))
            return false;
    int64_t step = y->p->steps % AGAIN;
    if (step < BOTH) return step < BESIDE;
    beside = worth_beside(y, set, &plan);
    return beside > plan && beside > 1;
}

/* Who had requests a moment ago, in which each could have been answered once, has some again soon:
 * a model begins as it would beside these. */
static bool goes_beside(struct play *y, int model, unsigned busy, double now) {
    double moment = 0;
    unsigned set = busy;
    for (int m = 0; m < y->p->nmodels; m++)
        moment += y->p->model[m].us[ETRT_PACE_UNITS] * 1e-6;
    for (int m = 0; m < y->p->nmodels; m++) {
        if (busy >> m & 1) y->seen[m] = now;
        if (now - y->seen[m] < moment) set |= 1u << m;
    }
    return set != 1u << model && is_better_beside(y, set);
}

/* 0: none yet, since those that run leave too few. */
static int width(struct play *y, int model, double now) {
    int all = (int)etrt_device_cus(y->p->opened[model]), used = 0, mine = y->p->model[model].cus;
    unsigned busy = 1u << model;
    bool mixed = false;
    y->half[model] = false;
    for (int m = 0; m < y->p->nmodels; m++)
        if (m != model && (y->server[m].running || waits(y, &y->line[m], now))) busy |= 1u << m;
    bool half = y->p->kind == SH_PLANS && goes_beside(y, model, busy, now);
    for (int m = 0; m < y->p->nmodels; m++) {
        if (m == model || !y->server[m].running) continue;
        used += y->width[m];
        mixed |= y->half[m] != half;
    }
    if (y->p->kind == SH_STREAMS) return mine;
    /* Workgroups that wait for each other must all get room: those of both kinds might not. */
    if (mixed) return 0;
    if (half) {
        mine = y->p->nmodels > 2 ? 2 * all / y->p->nmodels : all;
        y->half[model] = used + mine <= 2 * all;
        return y->half[model] ? mine : 0;
    }
    if (busy == 1u << model)
        mine = all;
    else if (y->p->kind == SH_PLANS)
        mine = planned(y, model, busy, all);
    bool fits = used + mine <= all && (mine < all || is_first(y, model, now));
    return fits ? mine : 0;
}

/* What a launch took, for plans to come. */
static void learn(struct play *y, int model, double now) {
    const double part = 0.125;
    int all = (int)etrt_device_cus(y->p->opened[model]), parts = 0;
    struct sh_model *m = &y->p->model[model];
    if (y->p->kind != SH_PLANS) return;
    double us = (now - y->begun[model]) * 1e6, *known = NULL;
    m->cus = y->width[model];
    m->beside = y->half[model];
    m->halves += m->beside;
    bool others = false, asked = false;
    for (int k = 0; k < y->p->nmodels; k++) {
        others |= k != model && y->server[k].running;
        asked |= k != model && y->seen[k] >= y->begun[model];
    }
    y->p->steps += asked;
    if (y->half[model]) {
        if (others) known = &m->half->us[0];
    } else {
        parts = (y->width[model] * ETRT_PACE_UNITS + all / 2) / all;
        parts = parts ? parts : 1;
        etrt_pace_measured(&m->pace, parts, us * 1e3);
        known = &m->us[parts];
    }
    if (known) *known += *known > 0 ? (us - *known) * part : us;
}

/* ---- launches ---- */

static bool begin(struct play *y, struct server *s, unsigned set) {
    etrt_session *session = NULL;
    for (int m = 0; m < y->p->nmodels; m++) {
        struct sh_model *model = kernel_of(y, m);
        bool on = set >> m & 1;
        if (on) {
            session = model->session;
            y->line[m].taken++;
        }
        if (on && model->stays &&
            !sh_ok(model->name, etrt_residence_post(model->stays, model->name)))
            return false;
        if (y->p->kind == SH_ONE && y->p->nmodels > 1 && on != (s->selected >> m & 1) &&
            !sh_ok(model->name, etrt_select(model->session, model->name, on)))
            return false;
    }
    s->selected = s->running = s->pending = set;
    return y->p->model[0].stays || sh_ok(y->p->name, etrt_submit(session));
}

static bool over(const struct play *y, double now) {
    for (int i = 0; i < y->nservers; i++)
        if (y->server[i].running) return false;
    for (int m = 0; m < y->p->nmodels; m++)
        if (waits(y, &y->line[m], now) || y->line[m].taken < y->line[m].n) return false;
    return true;
}

static bool serve(struct play *y) {
    for (;;) {
        double now = sh_now();
        if (over(y, now)) return true;
        for (int i = 0; i < y->nservers; i++) {
            struct server *s = &y->server[i];
            if (s->running && !look(y, s)) return false;
            unsigned set = s->running ? 0 : choose(y, s, now);
            if (set && sh_is_launched_apart(y->p->kind)) {
                y->width[i] = width(y, i, now);
                if (!y->width[i]) continue;
                y->begun[i] = now;
                if (!sh_ok("@", etrt_set_workgroups(kernel_of(y, i)->session, y->width[i])))
                    return false;
            }
            if (set && !begin(y, s, set)) return false;
        }
    }
}

static void start(const struct sh_options *o, struct sh_policy *p, double seconds,
                  struct sh_run *out, struct play *y) {
    *y = (struct play){.p = p, .check = o->check};
    memset(out, 0, sizeof *out);
    bool apart = sh_is_launched_apart(p->kind) || p->kind == SH_PARTS || p->model[0].stays;
    y->nservers = apart ? p->nmodels : 1;
    for (int i = 0; i < y->nservers; i++) {
        y->server[i].models = apart ? 1u << i : (1u << p->nmodels) - 1;
        for (int m = 0; m < p->nmodels; m++)
            if (etrt_selected(p->model[m].session, p->model[m].name))
                y->server[i].selected |= 1u << m;
    }
    y->from = sh_now();
    y->until = y->from + seconds;
}

/* ---- the two ways of asking ---- */

bool sh_play_closed(const struct sh_options *o, struct sh_policy *p, unsigned mask, double seconds,
                    struct sh_run *out) {
    struct play y;
    start(o, p, seconds, out, &y);
    for (int m = 0; m < p->nmodels; m++)
        if (mask >> m & 1) y.line[m] = (struct line){.last = y.from, .out = &out->of[m]};
    struct sh_meter *meter = sh_meter_begin(o->gpu);
    bool ok = serve(&y);
    double took = sh_now() - y.from;
    sh_meter_end(meter, out);
    for (int m = 0; m < p->nmodels; m++)
        out->of[m].rate = (double)out->of[m].n / took;
    return ok;
}

/* As many of the last requests as were not answered when the last one came, by which a queue that
 * grows is known. */
static bool grows(const struct line *l) {
    int64_t late = 0;
    for (int64_t i = 0; i < l->n; i++)
        late += l->arrival[i] + l->out->seconds[i] > l->arrival[l->n - 1];
    return late > 20 && late > l->n / 20;
}

static void drop_first(struct sh_answers *a) {
    int64_t first = a->n / 10;
    a->n -= first;
    memmove(a->seconds, a->seconds + first, (size_t)a->n * sizeof *a->seconds);
}

bool sh_play_open(const struct sh_options *o, struct sh_policy *p, double rate, double seconds,
                  struct sh_run *out) {
    struct play y;
    int64_t n = (int64_t)(rate * seconds) + 1;
    double *arrival = sh_alloc((size_t)n * SH_MODELS * sizeof *arrival);
    for (int m = 0; m < p->nmodels; m++)
        mix_arrivals(rate, n, (uint64_t)o->seed * SH_MODELS + (uint64_t)m, arrival + m * n);
    start(o, p, seconds, out, &y);
    for (int m = 0; m < p->nmodels; m++) {
        y.line[m] = (struct line){.arrival = arrival + m * n, .n = n, .out = &out->of[m]};
        for (int64_t i = 0; i < n; i++)
            y.line[m].arrival[i] += y.from;
    }
    struct sh_meter *meter = sh_meter_begin(o->gpu);
    bool ok = serve(&y);
    double took = sh_now() - y.from;
    sh_meter_end(meter, out);
    for (int m = 0; ok && m < p->nmodels; m++) {
        out->grows |= grows(&y.line[m]);
        out->of[m].rate = (double)n / took;
        drop_first(&out->of[m]);
    }
    free(arrival);
    return ok;
}

void sh_run_free(struct sh_run *r) {
    for (int m = 0; m < SH_MODELS; m++)
        free(r->of[m].seconds);
    memset(r, 0, sizeof *r);
}
