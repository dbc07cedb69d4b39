/* A residence of models that have kernels of their own: steps are launches (etrt.h:
 * etrt_residence_open_each).
 *
 * A step begins when those that run leave enough CUs. How many it gets says the plan of
 * residence.c. Where all that have steps have a second kernel, of which a CU holds two, they go
 * beside each other on all CUs for some steps and by plans for some, and from then on in the way
 * that makes the most progress and slows nobody below turns; both are tried again once in a while,
 * since what was measured may have changed. Kernels of both kinds never run at once: workgroups
 * wait for each other, and might not all get room. */
#include "runtime/etrt/residence.h"

#include "runtime/etrt/base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- two kernels of a model ---- */

static int next_tensor(const struct etrt_manifest *mf, int i) {
    while (i < mf->ntensors && mf->tensors[i].kind == ETRT_WEIGHT)
        i++;
    return i;
}

/* Is B a kernel of A's model, for the same dims or fewer? */
static bool alike(const struct etrt_manifest *a, const struct etrt_manifest *b) {
    bool same = a->nsymbols == b->nsymbols && strcmp(a->model, b->model) == 0;
    for (int i = 0; same && i < a->nsymbols; i++)
        same = strcmp(a->symbols[i].name, b->symbols[i].name) == 0;
    int i = next_tensor(a, 0), j = next_tensor(b, 0);
    for (; same && i < a->ntensors && j < b->ntensors;
         i = next_tensor(a, i + 1), j = next_tensor(b, j + 1)) {
        const struct etrt_tensor *t = &a->tensors[i], *u = &b->tensors[j];
        same = strcmp(t->name, u->name) == 0 && t->kind == u->kind && t->dtype == u->dtype &&
               t->max_bytes >= u->max_bytes;
    }
    return same && i == a->ntensors && j == b->ntensors;
}

/* Memory and dims of TO are those of FROM, its own again where that is NULL. */
static void lend(etrt_session *to, const etrt_session *from) {
    const struct etrt_manifest *mf = &to->model->manifest;
    int j = 0;
    for (int i = 0; from && i < mf->nsymbols; i++) {
        to->dims[i] = from->dims[i];
        to->dim_set[i] = from->dim_set[i];
    }
    for (int i = next_tensor(mf, 0); i < mf->ntensors; i = next_tensor(mf, i + 1), j++) {
        if (from) j = next_tensor(&from->model->manifest, j);
        to->tensors[i] = from ? from->tensors[j] : to->own[i];
        to->bound[i] = from && from->bound[j];
        to->bound_size[i] = from ? from->bound_size[j] : 0;
    }
}

bool etrt_each_suits(const struct seat *x) {
    for (int i = 0; x->beside && i < x->beside->model->manifest.nsymbols; i++) {
        const struct etrt_symbol *dim = &x->beside->model->manifest.symbols[i];
        if (x->each->dims[i] < dim->lo || x->each->dims[i] > dim->hi) return false;
    }
    return x->beside != NULL;
}

/* ---- which of them ---- */

static double alone(const struct seat *x) {
    return etrt_pace_known(&x->pace, ETRT_PACE_UNITS);
}

/* The I-th of N, so that any division is possible. */
static int home(const struct etrt_residence *r, int i, int n) {
    return n > 1 ? i * (r->units - 1) / (n - 1) : 0;
}

/* What the plan for the models of SET is worth, as `worth` below counts it: 1 in turns. Widths that
 * have not been tried promise what they do to plans, so that they are. */
static double worth_by_plan(const struct etrt_residence *r, uint32_t set) {
    struct etrt_claim claim[ETRT_MAX_MODELS];
    bool kept = r->planned == set && !r->turns;
    int n = 0, all = __builtin_popcount(set);
    double sum = 0;
    for (int i = 0; i < r->models; i++) {
        const struct seat *x = &r->seat[i];
        if (!(set >> i & 1)) continue;
        claim[n] = (struct etrt_claim){&x->pace, home(r, n, all), x->from, kept ? x->units : 0};
        n++;
    }
    if (!etrt_plan(claim, n, r->units)) return 1;
    for (int i = 0; i < n; i++) {
        double took = etrt_pace_expected(claim[i].pace, etrt_pace_parts(claim[i].units, r->units));
        sum += etrt_pace_known(claim[i].pace, ETRT_PACE_UNITS) / took;
    }
    return sum;
}

/* Are the models of SET better beside each other than by a plan? */
static bool is_better_beside(const struct etrt_residence *r, uint32_t set) {
    enum { BESIDE = 32, BOTH = BESIDE + 96, AGAIN = 8192 };
    const double slack = 1.02;
    double turns = 0, worth = 0;
    bool late = false;
    for (int i = 0; i < r->models; i++) {
        if (!(set >> i & 1)) continue;
        if (!r->seat[i].suited || !(alone(&r->seat[i]) > 0)) return false;
        turns += alone(&r->seat[i]);
    }
    int64_t step = r->steps % AGAIN;
    if (step < BOTH) return step < BESIDE;
    for (int i = 0; i < r->models; i++) {
        const struct seat *x = &r->seat[i];
        if (!(set >> i & 1)) continue;
        double half = etrt_pace_known(&x->half, ETRT_PACE_UNITS);
        late |= half > slack * turns;
        worth += alone(x) / half;
    }
    return !late && worth > 1 && worth > worth_by_plan(r, set);
}

/* Who had a step a moment ago, in which each could have had one, has some again soon: a model
 * begins as it would beside these. */
static bool goes_beside(const struct etrt_residence *r, int model, uint32_t busy, double now) {
    double moment = 0;
    for (int i = 0; i < r->models; i++)
        moment += alone(&r->seat[i]) * 1e-9;
    for (int i = 0; i < r->models; i++)
        if (now - r->seat[i].ended < moment) busy |= 1u << i;
    return (busy & ~(1u << model)) && is_better_beside(r, busy);
}

/* Workgroups for the step of MODEL; none, where those that run leave too few. */
static uint32_t room(struct etrt_residence *r, int model, double now) {
    struct seat *x = &r->seat[model];
    uint32_t all = r->all, used = 0, busy = 1u << model;
    int others = 0, n = 0;
    bool first = true, mixed = false;
    for (int i = 0; i < r->models; i++) {
        const struct seat *y = &r->seat[i];
        if (i == model) continue;
        if (etrt_seat_busy(y, now)) busy |= 1u << i, others++;
        first &= y->state != HELD || x->posted <= y->posted;
    }
    x->halved = goes_beside(r, model, busy, now);
    for (int i = 0; i < r->models; i++) {
        if (i == model || r->seat[i].state != POSTED) continue;
        used += r->seat[i].on.count;
        mixed |= r->seat[i].halved != x->halved;
    }
    if (mixed) return 0;
    if (x->halved) {
        uint32_t mine = r->models > 2 ? 2 * all / (uint32_t)r->models : all;
        return used + mine <= 2 * all ? mine : 0;
    }
    for (int i = 0; i < r->models; i++)
        if (busy >> i & 1) r->seat[i].home = home(r, n++, others + 1);
    /* The plan for others stays in force while one is alone for a moment. */
    uint32_t mine = all;
    if (others)
        mine = etrt_choose_ranks(r, model, now).count;
    else
        x->parts = ETRT_PACE_UNITS;
    return used + mine <= all && (mine < all || first) ? mine : 0;
}

/* ---- steps ---- */

static etrt_session *running(const struct seat *x) {
    return x->halved ? x->beside : x->each;
}

void etrt_each_post(struct etrt_residence *r, int model, double now) {
    struct seat *x = &r->seat[model];
    uint32_t workgroups = room(r, model, now);
    if (!workgroups) return;
    if (x->halved) lend(x->beside, x->each);
    uint32_t wanted = running(x)->workgroups_wanted;
    running(x)->workgroups_wanted = workgroups;
    x->on = (struct etrt_part){0, workgroups};
    x->began = now;
    x->halves += x->halved;
    etrt_status st = etrt_launch_session(running(x));
    running(x)->workgroups_wanted = wanted;
    if (st == ETRT_OK)
        x->state = POSTED;
    else
        etrt_step_end(r, model, st);
}

/* What the step took, for plans to come. */
static void learn(struct etrt_residence *r, int model) {
    struct seat *x = &r->seat[model];
    double ns = (etrt_now() - x->began) * 1e9;
    bool others = false, asked = false;
    for (int i = 0; i < r->models; i++) {
        const struct seat *y = &r->seat[i];
        if (i == model) continue;
        others |= y->state == POSTED;
        asked |= y->state == HELD || y->state == POSTED || y->ended >= x->began;
    }
    r->steps += asked;
    if (!x->halved)
        etrt_pace_measured(&x->pace, x->parts, ns);
    else if (others)
        etrt_pace_measured(&x->half, ETRT_PACE_UNITS, ns);
}

void etrt_each_look(struct etrt_residence *r) {
    for (int i = 0; i < r->models; i++) {
        if (r->seat[i].state != POSTED) continue;
        etrt_status st = etrt_launch_over(running(&r->seat[i]), 0);
        if (st == ETRT_TIMEOUT) continue;
        if (st == ETRT_OK) learn(r, i);
        r->seat[i].each->seconds = running(&r->seat[i])->seconds;
        etrt_step_end(r, i, st);
    }
}

int etrt_each_model(const struct etrt_residence *r, const etrt_session *s) {
    int i = 0;
    while (r->seat[i].each != s && r->seat[i].beside != s)
        i++;
    return i;
}

/* ---- launches of their sessions ---- */

/* A second kernel's session is not launched by itself. */
static etrt_status find(const etrt_session *s, const char *call, int *out_model) {
    etrt_status st = etrt_device_check(s->model->device);
    if (st != ETRT_OK) return st;
    *out_model = etrt_each_model(s->residence, s);
    if (s->residence->seat[*out_model].each == s) return ETRT_OK;
    return etrt_fail(ETRT_INVALID, "%s: another kernel of the model shares the device", call);
}

etrt_status etrt_each_submit(etrt_session *s, const char *call) {
    int model;
    etrt_status st = find(s, call, &model);
    if (st != ETRT_OK) return st;
    pthread_mutex_lock(&s->residence->lock);
    st = etrt_step_post(s->residence, call, model);
    pthread_mutex_unlock(&s->residence->lock);
    return st;
}

etrt_status etrt_each_wait(etrt_session *s, double seconds) {
    static const char call[] = "etrt_wait";
    int model;
    etrt_status st = find(s, call, &model);
    return st == ETRT_OK ? etrt_step_done(s->residence, call, model, seconds) : st;
}

/* A step that has not begun is over at once. */
etrt_status etrt_each_cancel(etrt_session *s) {
    static const char call[] = "etrt_cancel";
    struct etrt_residence *r = s->residence;
    int model;
    etrt_status st = find(s, call, &model);
    if (st != ETRT_OK) return st;
    pthread_mutex_lock(&r->lock);
    struct seat *x = &r->seat[model];
    if (x->state == POSTED)
        st = etrt_launch_cancel(running(x));
    else if (x->state == HELD)
        etrt_step_end(r, model, etrt_fail(ETRT_CANCELLED, "the step was cancelled"));
    else
        st = etrt_fail(ETRT_INVALID, "%s: no launch is in flight", call);
    pthread_mutex_unlock(&r->lock);
    return st;
}

/* ---- open and close ---- */

static etrt_status check(etrt_session *const *each, etrt_session *const *beside, int count) {
    static const char call[] = "etrt_residence_open_each";
    if (!each || count < 1 || count > ETRT_MAX_MODELS)
        return etrt_fail(ETRT_INVALID, "%s: %d sessions", call, count);
    for (int i = 0; i < 2 * count; i++) {
        const etrt_session *s = i < count ? each[i] : beside ? beside[i - count] : NULL;
        if (i >= count && !s) continue;
        etrt_status st = etrt_session_idle(s, call);
        if (st != ETRT_OK) return st;
        const struct etrt_manifest *mf = &s->model->manifest;
        if (etrt_models(mf) > 1 || mf->devices || !(s->model->device->can & ETRT_CAN_COMPUTE))
            return etrt_fail(ETRT_UNSUPPORTED, "%s: %s", call,
                             etrt_models(mf) > 1 ? "a kernel of several models"
                             : mf->devices       ? "a kernel of several devices"
                                                 : "a device that computes nothing");
        if (i >= count && (s->model->device != each[i - count]->model->device ||
                           s == each[i - count] || !alike(&each[i - count]->model->manifest, mf)))
            return etrt_fail(ETRT_MISMATCH, "%s: kernels of %s that are no two of one model", call,
                             mf->model);
        for (int k = 0; i < count && k < i; k++)
            if (each[k]->model->device == s->model->device)
                return etrt_fail(ETRT_INVALID, "%s: two models of one device handle", call);
    }
    return ETRT_OK;
}

etrt_status etrt_residence_open_each(etrt_session *const *each, etrt_session *const *beside,
                                     int count, etrt_residence **out) {
    if (!out) return etrt_fail(ETRT_INVALID, "etrt_residence_open_each: no place for it");
    *out = NULL;
    etrt_status st = check(each, beside, count);
    if (st != ETRT_OK) return st;
    struct etrt_residence *r = calloc(1, sizeof *r);
    if (!r) return etrt_no_memory();
    uint32_t cus = r->all = each[0]->model->device->cus;
    r->s = each[0];
    r->fd = -1;
    r->ranges = ETRT_RANGES_ELASTIC;
    r->changes = 2000;
    r->models = count;
    r->units = cus < ETRT_PACE_UNITS ? (int)cus : ETRT_PACE_UNITS;
    pthread_mutex_init(&r->lock, NULL);
    for (int i = 0; i < count; i++) {
        struct seat *x = &r->seat[i];
        etrt_seat_begin(x, &each[i]->model->manifest, 0);
        x->each = each[i];
        x->beside = beside ? beside[i] : NULL;
        x->each->residence = r;
        if (x->beside) x->beside->residence = r;
    }
    *out = r;
    return ETRT_OK;
}

void etrt_each_close(struct etrt_residence *r) {
    for (int i = 0; i < r->models; i++) {
        struct seat *x = &r->seat[i];
        if (x->state == POSTED) etrt_launch_over(running(x), INFINITY);
        x->each->residence = NULL;
        if (!x->beside) continue;
        x->beside->residence = NULL;
        lend(x->beside, NULL);
    }
}
