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
    double from, until;   /* nobody asks again after that in a closed loop */
};

/* In a closed loop everybody asks once at least. */
static bool waits(const struct play *y, const struct line *l, double now) {
    if (l->arrival) return l->taken < l->n && l->arrival[l->taken] <= now;
    return l->out && !l->taken && (now < y->until || !l->out->n);
}

static double since(const struct line *l) {
    return l->arrival ? l->arrival[l->taken] : l->last;
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

/* On how many CUs the step was, and of which kernel. */
static void note_plan(struct sh_model *m) {
    struct etrt_part on;
    etrt_residence_begun(m->stays, m->place, &on);
    m->cus = (int)on.count;
    m->beside = etrt_residence_halved(m->stays, m->place, &m->halves);
}

/* Answer who is done in the launch of S. The launch of several models is over when all are. */
static bool look(struct play *y, struct server *s) {
    bool together = y->p->kind == SH_ONE && y->p->nmodels > 1;
    etrt_session *session = NULL;
    for (int m = 0; m < y->p->nmodels; m++) {
        struct sh_model *model = &y->p->model[m];
        if (s->running >> m & 1) session = model->session;
        if (!(s->pending >> m & 1)) continue;
        etrt_status st = model->stays ? etrt_residence_done(model->stays, model->name, 0)
                         : together   ? etrt_wait_model(session, model->name, 0)
                                      : etrt_wait_for(session, 0);
        if (st == ETRT_TIMEOUT) continue;
        if (!sh_ok(model->name, st)) return false;
        answer(&y->line[m], sh_now());
        if (y->p->kind == SH_PLANS) note_plan(model);
        s->pending &= ~(1u << m);
        if (y->check && !sh_same_outputs(model)) return false;
    }
    if (s->pending) return true;
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

static bool is_first(const struct play *y, int model, double now) {
    bool first = true;
    for (int m = 0; m < y->p->nmodels; m++)
        first &= m == model || !waits(y, &y->line[m], now) ||
                 since(&y->line[model]) <= since(&y->line[m]);
    return first;
}

/* 0: none yet, since those that run leave too few. */
static int width(const struct play *y, int model, double now) {
    int all = (int)etrt_device_cus(y->p->opened[model]), used = 0, mine = y->p->model[model].cus;
    bool alone = true;
    if (y->p->kind == SH_STREAMS) return mine;
    for (int m = 0; m < y->p->nmodels; m++) {
        if (m == model) continue;
        alone &= !y->server[m].running && !waits(y, &y->line[m], now);
        if (y->server[m].running) used += y->width[m];
    }
    if (alone) mine = all;
    bool fits = used + mine <= all && (mine < all || is_first(y, model, now));
    return fits ? mine : 0;
}

/* ---- launches ---- */

static bool begin(struct play *y, struct server *s, unsigned set) {
    etrt_session *session = NULL;
    for (int m = 0; m < y->p->nmodels; m++) {
        struct sh_model *model = &y->p->model[m];
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
            if (set && sh_is_launched_apart(y->p->kind) && y->p->kind != SH_PLANS) {
                y->width[i] = width(y, i, now);
                if (!y->width[i]) continue;
                if (!sh_ok("@", etrt_set_workgroups(y->p->model[i].session, y->width[i])))
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
