/* A kernel that stays, as the host sees it (etrt.h: etrt_residence_open).
 *
 * A model has at most one step. It is HELD until it may be written to the mailbox: its workgroups
 * are those of no other model's step, and the kernel that runs is one for its dims. Then it is
 * POSTED until the kernel says that it is done, or has ended because a wait in it expired. A kernel
 * that ends without having taken a step, since it was idle too long, is launched again. All of that
 * is looked after by whoever calls, or by the thread of residence_calls.c, under one
 * lock. What host and device tell each other is in etrt_abi.h (struct etrt_resident). A launch of
 * such a kernel that runs one step and ends, as those of others do, finds the step on the board and
 * the gate closed. */
#include "runtime/etrt/residence.h"

#include "runtime/etrt/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

/* ---- memory of a session: mailbox, board, event arrays ---- */

/* The board, and behind it what workgroups count in when they start. */
enum { COUNTERS = 4 * ETRT_EVENT_FIRST };

int etrt_models(const struct etrt_manifest *mf) {
    return mf->nmodels ? mf->nmodels : 1;
}

static uint64_t mail_bytes(const struct etrt_manifest *mf) {
    return sizeof(struct etrt_mail) +
           (uint64_t)etrt_models(mf) * etrt_mail_pitch((uint32_t)mf->nsymbols);
}

uint64_t etrt_resident_bytes(const struct etrt_manifest *mf) {
    uint64_t arrays = 2 * (uint64_t)etrt_models(mf) * etrt_events_pitch(mf->event_words);
    return mf->resident ? arrays + mail_bytes(mf) + COUNTERS : 2 * etrt_events_bytes(mf);
}

/* A step in its entry of a mailbox or board that the host has. */
static void put_step(const struct etrt_manifest *mf, struct etrt_mail *mail, int model,
                     uint32_t number, struct etrt_part on, const int64_t *dims) {
    char *entry = (char *)(mail + 1) + (size_t)model * etrt_mail_pitch((uint32_t)mf->nsymbols);
    int32_t *symbols = (int32_t *)(void *)(entry + 8);
    for (int i = 0; i < mf->nsymbols; i++)
        __atomic_store_n(&symbols[i], (int32_t)dims[i], __ATOMIC_RELAXED);
    uint64_t word = (uint64_t)number << 32 | on.first << 16 | on.count;
    __atomic_store_n((uint64_t *)(void *)entry, word, __ATOMIC_RELEASE);
}

etrt_status etrt_resident_make(etrt_session *s) {
    const struct etrt_manifest *mf = &s->model->manifest;
    etrt_device *dev = s->model->device;
    uint64_t bytes = mail_bytes(mf), arrays = etrt_resident_bytes(mf) - bytes - COUNTERS;
    void *p[3] = {0};
    s->step = calloc((size_t)etrt_models(mf), sizeof *s->step);
    etrt_status st = s->step ? ETRT_OK : etrt_no_memory();
    if (st == ETRT_OK) st = etrt_mem_alloc(dev, ETRT_ON_HOST, bytes, "mailbox", &p[0]);
    if (st == ETRT_OK) st = etrt_mem_alloc(dev, ETRT_ON_DEVICE, bytes + COUNTERS, "board", &p[1]);
    if (st == ETRT_OK) st = etrt_mem_alloc(dev, ETRT_ON_DEVICE, arrays, "events", &p[2]);
    if (st == ETRT_OK) st = etrt_mem_fill(dev, p[2], 0, arrays);
    s->mailbox = p[0];
    s->board = p[1];
    s->events[0] = p[2];
    if (st != ETRT_OK) return st;
    memset(s->mailbox, 0, bytes);
    for (int m = 0; m < etrt_models(mf); m++)
        put_step(mf, s->mailbox, m, UINT32_MAX, (struct etrt_part){0}, s->dims);
    return ETRT_OK;
}

static void put_quit(etrt_session *s, bool quit) {
    __atomic_store_n(&s->mailbox->quit, quit, __ATOMIC_RELEASE);
}

uint32_t *etrt_step_events(const etrt_session *s, int model) {
    uint64_t pitch = etrt_events_pitch(s->model->manifest.event_words);
    uint64_t at = 2 * (uint64_t)model + s->step[model] % 2;
    return (uint32_t *)(void *)((char *)s->events[0] + at * pitch);
}

/* A board without steps, as the last launch left the models. */
static struct etrt_mail *empty_board(const etrt_session *s) {
    const struct etrt_manifest *mf = &s->model->manifest;
    struct etrt_mail *board = calloc(1, mail_bytes(mf) + COUNTERS);
    for (int m = 0; board && m < etrt_models(mf); m++) {
        board->last[m] = s->step[m] - 1;
        put_step(mf, board, m, s->step[m] - 1, (struct etrt_part){0}, s->dims);
    }
    return board;
}

static etrt_status put_board(etrt_session *s, struct etrt_mail *board) {
    if (!board) return etrt_no_memory();
    etrt_status st = etrt_mem_write(s->model->device, s->board, board,
                                    mail_bytes(&s->model->manifest) + COUNTERS);
    free(board);
    return st;
}

static etrt_status put_empty_board(etrt_session *s) {
    return put_board(s, empty_board(s));
}

etrt_status etrt_board_launch(etrt_session *s) {
    const struct etrt_manifest *mf = &s->model->manifest;
    struct etrt_mail *board = empty_board(s);
    struct etrt_part parts[ETRT_MAX_MODELS] = {{0, s->workgroups}};
    if (mf->nmodels) etrt_mix_parts(s, s->workgroups, parts);
    if (!board) return etrt_no_memory();
    board->gate = 1;
    for (int m = 0; m < etrt_models(mf); m++)
        if (etrt_mix_runs(s, m)) put_step(mf, board, m, s->step[m], parts[m], s->dims);
    return put_board(s, board);
}

void etrt_resident_arguments(const etrt_session *s, struct etrt_kernarg *head, char *at) {
    const struct etrt_manifest *mf = &s->model->manifest;
    const etrt_device *dev = s->model->device;
    struct etrt_resident r = {
        .mailbox = (uintptr_t)s->mailbox,
        .board = (uintptr_t)s->board,
        .idle_ticks = (uint64_t)(ETRT_IDLE_SECONDS * (double)dev->realtime_hz),
    };
    head->events = (uintptr_t)s->board + mail_bytes(mf);
    head->events_next = (uintptr_t)s->events[0];
    memcpy(at, &r, sizeof r);
}

/* The step of MODEL is over, or failed; then what it counted in is zeroed. */
etrt_status etrt_step_over(etrt_session *s, int model, bool failed) {
    static const uint32_t no_abort = 0;
    etrt_device *dev = s->model->device;
    uint64_t pitch = etrt_events_pitch(s->model->manifest.event_words);
    s->step[model]++;
    if (!failed) return ETRT_OK;
    memset(&s->report[model], 0, offsetof(struct etrt_report, done));
    etrt_status st =
        etrt_mem_fill(dev, (char *)s->events[0] + 2 * (uint64_t)model * pitch, 0, 2 * pitch);
    if (st != ETRT_OK) return st;
    return etrt_mem_write(dev, (uint32_t *)s->control + model, &no_abort, sizeof no_abort);
}

/* ---- which workgroups ---- */

static bool overlap(struct etrt_part a, struct etrt_part b) {
    return a.count && b.count && a.first < b.first + b.count && b.first < a.first + a.count;
}

/* Ranks of so many units from unit FROM on. */
static struct etrt_part ranks(const struct etrt_residence *r, int from, int units) {
    uint32_t all = r->all, of = (uint32_t)r->units;
    uint32_t first = all * (uint32_t)from / of;
    return (struct etrt_part){first, all * (uint32_t)(from + units) / of - first};
}

void etrt_seat_begin(struct seat *x, const struct etrt_manifest *mf, int model) {
    x->pace.weight = 1;
    x->pace.latency_ns = 1e30;
    if (!mf->paces) return;
    x->pace.by = &mf->paces[model];
    x->pace.weight = (double)x->pace.by->weight / 1e6;
    x->pace.latency_ns = (double)x->pace.by->latency_ns;
}

/* Ranges that change have a unit of their own for each model, at both ends of the chip and between
 * them. Others are parts, equal ones where models share theirs. */
void etrt_make_homes(struct etrt_residence *r) {
    etrt_session *s = r->s;
    const struct etrt_manifest *mf = &s->model->manifest;
    bool apart = true;
    int n = r->models;
    r->all = s->workgroups;
    r->units = s->workgroups < ETRT_PACE_UNITS ? (int)s->workgroups : ETRT_PACE_UNITS;
    if (n > 1) etrt_mix_parts(s, s->workgroups, r->home);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            apart &= !overlap(r->home[i], r->home[k]);
    for (int i = 0; i < n; i++) {
        struct seat *x = &r->seat[i];
        etrt_seat_begin(x, mf, i);
        x->home = n > 1 ? i * (r->units - 1) / (n - 1) : 0;
        if (r->ranges == ETRT_RANGES_ELASTIC || n == 1)
            r->home[i] = ranks(r, x->home, n == 1 ? r->units : 1);
        else if (!apart) {
            uint32_t all = s->workgroups, at = (uint32_t)i, of = (uint32_t)n;
            r->home[i] = (struct etrt_part){all * at / of, all * (at + 1) / of - all * at / of};
        }
    }
}

/* A model whose last step has ended just now is about to have the next: what it leaves for a moment
 * is not given to another for a whole step. */
bool etrt_seat_busy(const struct seat *x, double now) {
    enum { PART = 4 };
    const double least = 50e-6;
    if (x->state == HELD || x->state == POSTED) return true;
    return x->mean > 0 && now - x->ended < x->mean / PART + least;
}

/* The plan for the models of BUSY comes into force, unless it is too soon for another and the last
 * one has all of them. */
static void plan(struct etrt_residence *r, uint32_t busy, double now) {
    struct etrt_claim claim[ETRT_MAX_MODELS];
    int n = 0, of[ETRT_MAX_MODELS];
    if (now < r->change_at && !(busy & ~r->planned)) return;
    for (int i = 0; i < r->models; i++) {
        struct seat *x = &r->seat[i];
        if (!(busy >> i & 1)) continue;
        of[n] = i;
        bool kept = busy == r->planned && !r->turns;
        claim[n++] = (struct etrt_claim){&x->pace, x->home, x->from, kept ? x->units : 0};
    }
    bool turns = n < 2 || !etrt_plan(claim, n, r->units), same = turns == r->turns;
    for (int i = 0; i < n && !turns; i++) {
        struct seat *x = &r->seat[of[i]];
        same &= x->from == claim[i].from && x->units == claim[i].units;
        x->from = claim[i].from;
        x->units = claim[i].units;
    }
    if (!same || busy != r->planned) r->change_at = now + 1 / r->changes;
    r->planned = busy;
    r->turns = turns;
}

struct etrt_part etrt_choose_ranks(struct etrt_residence *r, int model, double now) {
    struct seat *x = &r->seat[model];
    uint32_t busy = 1u << model;
    x->parts = 0;
    if (r->ranges != ETRT_RANGES_ELASTIC) return r->home[model];
    for (int i = 0; i < r->models; i++)
        if (etrt_seat_busy(&r->seat[i], now)) busy |= 1u << i;
    plan(r, busy, now);
    int units = r->turns ? r->units : x->units;
    x->parts = etrt_pace_parts(units, r->units);
    return ranks(r, r->turns ? 0 : x->from, units);
}

/* What is left of WANTED, which is MODEL's, by steps of others; none where that is less than half
 * or the workgroup that reads its mailbox is not among it. */
static struct etrt_part free_ranks(const struct etrt_residence *r, int model,
                                   struct etrt_part wanted) {
    const struct etrt_part none = {0};
    uint32_t home = r->home[model].first, end = wanted.first + wanted.count;
    struct etrt_part left = wanted;
    for (int i = 0; i < r->models; i++) {
        struct etrt_part on = r->seat[i].on;
        if (r->seat[i].state != POSTED || !overlap(on, left)) continue;
        if (wanted.count == r->all) return none;
        if (on.first > home)
            end = on.first;
        else
            left.first = on.first + on.count;
        if (left.first > home || end <= home) return none;
        left.count = end - left.first;
    }
    return 2 * left.count < wanted.count ? none : left;
}

/* ---- the kernel ---- */

static bool any(const struct etrt_residence *r, enum seat_state state) {
    bool is = false;
    for (int i = 0; i < r->models; i++)
        is |= r->seat[i].state == state;
    return is;
}

/* The number of the kernel for the dims that are set. */
int etrt_kernel_now(const etrt_session *s) {
    const struct etrt_manifest *mf = &s->model->manifest;
    return mf->nkernels ? etrt_manifest_sequence(mf, s->dims, s->workgroups)->steps[0].kernel : 0;
}

/* Tags of steps so long ago that their numbers come again have to be zeroed, once. */
static bool wants_clear(const struct etrt_residence *r, int model) {
    const struct etrt_manifest *mf = &r->s->model->manifest;
    uint32_t number = r->s->step[model];
    return mf->tags_bytes && number % mf->tags_launches == 0 &&
           !(r->cleared && r->seat[model].cleared == number);
}

static etrt_status clear_tags(struct etrt_residence *r) {
    etrt_session *s = r->s;
    const struct etrt_manifest *mf = &s->model->manifest;
    bool clear = s->tags_open && mf->tags_bytes;
    for (int i = 0; i < r->models; i++)
        clear |= wants_clear(r, i);
    if (!clear) return ETRT_OK;
    for (int i = 0; i < r->models; i++)
        r->seat[i].cleared = s->step[i];
    r->cleared = true;
    return etrt_mem_fill(s->model->device, (char *)s->workspace + mf->tags_at, 0, mf->tags_bytes);
}

/* What host and device take for the last steps of models that have none is the same, and so are the
 * workgroups that read their mail. */
static etrt_status prepare(struct etrt_residence *r) {
    etrt_session *s = r->s;
    const struct etrt_manifest *mf = &s->model->manifest;
    put_quit(s, false);
    for (int i = 0; i < r->models; i++)
        if (r->seat[i].state != POSTED)
            put_step(mf, s->mailbox, i, s->step[i] - 1, (struct etrt_part){0}, s->dims);
    etrt_write_kernarg(s);
    size_t parts = (size_t)mf->nmodels * sizeof *r->home;
    memcpy((char *)s->kernarg + mf->kernarg_bytes - sizeof(struct etrt_resident) - parts, r->home,
           parts);
    return put_empty_board(s);
}

static etrt_status launch(struct etrt_residence *r) {
    etrt_session *s = r->s;
    etrt_device *dev = s->model->device;
    etrt_status st = clear_tags(r);
    int count = 0;
    s->tags_open = false;
    if (st == ETRT_OK) st = prepare(r);
    if (st == ETRT_OK) st = etrt_sequence_make(s, &count);
    if (st == ETRT_OK) st = etrt_launch_start(dev, s->dispatch, count, s->ticket);
    r->launched = st == ETRT_OK;
    r->kernel = etrt_kernel_now(s);
    return st;
}

/* ---- ends of steps ---- */

void etrt_step_end(struct etrt_residence *r, int model, etrt_status st) {
    struct seat *x = &r->seat[model];
    double now = etrt_now();
    x->status = st;
    x->state = ENDED;
    x->ended = now;
    x->mean += x->mean > 0 ? (now - x->posted - x->mean) / 8 : now - x->posted;
    if (st != ETRT_OK) snprintf(x->why, sizeof x->why, "%s", etrt_last_error());
    etrt_outputs_written(x->each ? x->each : r->s, x->each ? 0 : model, st == ETRT_OK);
    if (r->fd >= 0) eventfd_write(r->fd, 1);
}

static void see_done(struct etrt_residence *r) {
    for (int i = 0; i < r->models; i++)
        if (r->seat[i].state == POSTED &&
            __atomic_load_n(&r->s->report->done[i], __ATOMIC_ACQUIRE) == r->s->step[i] + 1) {
            etrt_step_over(r->s, i, false);
            etrt_step_end(r, i, ETRT_OK);
            struct seat *x = &r->seat[i];
            if (x->parts) etrt_pace_measured(&x->pace, x->parts, (x->ended - x->began) * 1e9);
        }
}

static uint32_t report_of(const struct etrt_residence *r, int model) {
    return __atomic_load_n(&r->s->report[model].status, __ATOMIC_ACQUIRE);
}

static void end_all(struct etrt_residence *r, etrt_status st) {
    for (int i = 0; i < r->models; i++)
        if (r->seat[i].state == HELD || r->seat[i].state == POSTED) etrt_step_end(r, i, st);
}

/* What the kernel left: steps that failed, and those that it has not taken. */
static void kernel_ended(struct etrt_residence *r) {
    etrt_session *s = r->s;
    r->launched = r->resting = false;
    see_done(r);
    for (int i = 0; i < r->models; i++) {
        if (report_of(r, i) == ETRT_REPORT_OK || r->seat[i].state != POSTED) continue;
        etrt_status st = etrt_explain(s, i);
        etrt_status cleaned = etrt_step_over(s, i, true);
        etrt_step_end(r, i, cleaned == ETRT_OK ? st : cleaned);
        s->tags_open = true;
    }
}

/* Those who gave up are missing from then on, so there is a new kernel for what comes. */
static void see_failures(struct etrt_residence *r) {
    for (int i = 0; i < r->models; i++)
        if (r->seat[i].state == POSTED && report_of(r, i) != ETRT_REPORT_OK) r->resting = true;
}

static void look_at_kernel(struct etrt_residence *r) {
    etrt_device *dev = r->s->model->device;
    uint64_t ended = 0;
    bool over = dev->driver->wait(dev, r->s->ticket, 0, &ended);
    if (atomic_load(&dev->broken)) {
        dev->driver->fault(dev);
        etrt_report_fault(r->s);
        r->launched = false;
        end_all(r, ETRT_FAULT);
    } else if (over) {
        kernel_ended(r);
    } else if (any(r, POSTED)) {
        double since = etrt_now(), limit = etrt_silence(dev, r->s->wait_limit);
        for (int i = 0; i < r->models; i++)
            if (r->seat[i].state == POSTED && r->seat[i].posted < since) since = r->seat[i].posted;
        if (etrt_now() - since < limit) return;
        end_all(r, etrt_device_silent(dev, r->s->wait_limit));
    }
}

/* ---- steps on their way ---- */

static void post(struct etrt_residence *r, int model, double now) {
    struct seat *x = &r->seat[model];
    etrt_session *s = r->s;
    struct etrt_part wanted = etrt_choose_ranks(r, model, now);
    x->on = free_ranks(r, model, wanted);
    if (!x->on.count) return;
    if (x->on.count < wanted.count) x->parts = 0;
    x->began = now;
    /* Dims of other models may be set meanwhile; theirs are not read. */
    put_step(&s->model->manifest, s->mailbox, model, s->step[model], x->on, s->dims);
    x->state = POSTED;
}

/* The first to come is the first to go. */
static void post_held(struct etrt_residence *r) {
    double now = etrt_now();
    for (int n = 0; n < r->models; n++) {
        int next = -1;
        for (int i = 0; i < r->models; i++)
            if (r->seat[i].state == HELD && !r->seat[i].looked &&
                (next < 0 || r->seat[i].posted < r->seat[next].posted))
                next = i;
        if (next < 0) break;
        r->seat[next].looked = true;
        if (r->seat[next].each) {
            etrt_each_post(r, next, now);
            continue;
        }
        r->resting |= r->kernel != r->seat[next].kernel || wants_clear(r, next);
        if (!r->resting) post(r, next, now);
    }
    for (int i = 0; i < r->models; i++)
        r->seat[i].looked = false;
}

void etrt_residence_tend(struct etrt_residence *r, bool thorough) {
    if (r->seat[0].each) {
        etrt_each_look(r);
        post_held(r);
        return;
    }
    see_done(r);
    see_failures(r);
    if (r->launched && thorough) look_at_kernel(r);
    if (r->launched && r->resting) {
        put_quit(r->s, true);
        return;
    }
    if (!any(r, HELD) && !(any(r, POSTED) && !r->launched)) return;
    etrt_status st = r->launched ? ETRT_OK : launch(r);
    if (st == ETRT_OK)
        post_held(r);
    else
        end_all(r, st);
}

void etrt_residence_quiet(struct etrt_residence *r) {
    etrt_device *dev = r->s->model->device;
    double from = etrt_now(), limit = etrt_silence(dev, r->s->wait_limit);
    while (r->launched) {
        r->resting = true;
        etrt_residence_tend(r, true);
        if (r->launched && etrt_now() - from > limit) atomic_store(&dev->broken, true);
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
}
