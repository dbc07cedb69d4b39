/* The thread of the engines of one kernel: admits what waits, launches, looks after the launch. */
#include "examples/llm/engine/parts.h"
#include "examples/llm/engine/turns.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the device ---- */

bool launcher_open(struct launcher *l, char *err) {
    struct lm_source *sources = calloc((size_t)l->n, sizeof *sources);
    if (!sources) return llm_fail(err, "out of memory");
    for (int i = 0; i < l->n; i++)
        sources[i] = (struct lm_source){l->engines[i].part, l->engines[i].weights};
    if (l->o.beside) turns_begin();
    bool ok = lm_open(&l->kernel, l->kernel_file, l->device, l->o.cache, sources, l->n, err) &&
              (!l->o.timed || lm_time(&l->kernel, err)) &&
              (!l->o.resident || lm_stay(&l->kernel, err));
    if (ok && l->o.beside && !l->o.resident && !l->kernel.ahead) turns_join(l->kernel.session);
    for (int i = 0; ok && i < l->n; i++) {
        l->engines[i].lm = &l->kernel.models[i];
        l->engines[i].lm->by_row = true;
    }
    free(sources);
    return ok;
}

static bool has_changed(const struct engine *e) {
    const struct engine_sizes *s = &e->sizes;
    const struct lm *lm = e->lm;
    bool shorter = lm->flat && s->context < lm->context; /* as a launch allows */
    return lm->slots != s->slots || lm->vocab != s->vocab || lm->width != s->width ||
           (lm->context != s->context && !shorter) || lm->max_tokens != s->max_tokens ||
           lm->page != s->page || lm->pages != s->pages;
}

void launcher_close(struct launcher *l) {
    lm_close(&l->kernel);
    for (int i = 0; i < l->n; i++)
        l->engines[i].lm = NULL;
}

bool launcher_wake(struct launcher *l, char *why) {
    if (l->kernel.session) return true;
    bool ok = launcher_open(l, why);
    for (int i = 0; ok && i < l->n; i++)
        if (has_changed(&l->engines[i]))
            ok = llm_fail(why, "%s has changed since it was loaded", l->kernel_file);
    if (!ok) launcher_close(l);
    pthread_mutex_lock(&l->lock);
    l->asleep = l->asleep && !ok;
    pthread_mutex_unlock(&l->lock);
    return ok;
}

/* Those that were not in the launch that lost it go on; where it cannot be opened all are failed,
 * and those that come later have it tried once more. */
bool launcher_ready(struct launcher *l) {
    char err[LLM_ERR];
    if (launcher_wake(l, err)) return true;
    for (int i = 0; i < l->n; i++)
        for (int64_t k = l->engines[i].nactive; k-- > 0;)
            engine_finish(&l->engines[i], l->engines[i].active[k], ENGINE_FAILED, err);
    return false;
}

/* ---- a launch ---- */

static bool is_wanted(const struct launcher *l) {
    for (int i = 0; i < l->n; i++)
        if (launch_is_wanted(&l->engines[i])) return true;
    return false;
}

/* Takes the tokens of decoders that are done before others are. True: there may be more of them. */
static bool take_early(struct launcher *l, int64_t total, double began) {
    int running = 0, done = 0;
    for (int i = 0; i < l->n; i++)
        running += !l->engines[i].lm->taken;
    for (int i = 0; i < l->n && running > 1; i++) {
        struct engine *e = &l->engines[i];
        if (e->lm->taken || !lm_take(e->lm)) continue;
        launch_take(e, total, lm_now() - began);
        launch_tell(e);
        e->stats.early++;
        done++, running--;
    }
    if (done)
        for (int i = 0; i < l->n; i++)
            queue_show(&l->engines[i]);
    return running > 1;
}

/* How long to wait before somebody has to look whether the launch should go on. On a GPU libetrt
 * does not sleep for so short a time, and a thread that sleeps until the device is done wakes so
 * late that launches of a few milliseconds would be a few percent longer. */
static double patience(double waited, bool early) {
    const double look = 1e-3, eager = 5e-3, rest = 1e-2;
    return early || waited < eager ? look : rest;
}

/* Submit the launch; cancel it when all its sequences were cancelled, or it takes too long. */
static enum lm_result run_watched(struct launcher *l, int64_t total, char *err) {
    double began = lm_now(), waited = 0;
    double limit = l->o.launch_seconds > 0 ? l->o.launch_seconds : INFINITY;
    bool cancelled = false, late = false;
    enum lm_result result;
    if (!lm_submit(&l->kernel, err)) return LM_LOST;
    for (int i = 0; i < l->n; i++)
        launch_tell(&l->engines[i]);
    while (!lm_wait_for(&l->kernel, patience(waited, take_early(l, total, began)), &result, err)) {
        waited = lm_now() - began;
        if (cancelled) continue;
        late = waited >= limit;
        cancelled = late || !is_wanted(l);
        if (cancelled) lm_cancel(&l->kernel);
    }
    if (result != LM_CANCELLED || !late) return result;
    llm_fail(err, "the launch took more than %g seconds", l->o.launch_seconds);
    return LM_ABORTED;
}

/* As options for tests have it. */
static enum lm_result run_to_fail(struct launcher *l, char *err) {
    enum lm_result result = LM_LOST;
    if (lm_submit(&l->kernel, err)) {
        lm_cancel(&l->kernel);
        result = lm_wait(&l->kernel, err);
    }
    llm_fail(err, "launch %lld was told to fail", (long long)l->tried);
    return l->o.abort_launch < 0 || result == LM_LOST ? LM_LOST : LM_ABORTED;
}

static enum lm_result run(struct launcher *l, int64_t total, char *err) {
    int64_t n = ++l->tried, every = llabs(l->o.abort_launch);
    bool fails = every && (n == every || (l->o.abort_again && n % every == 0));
    turns_take();
    enum lm_result result = fails ? run_to_fail(l, err) : run_watched(l, total, err);
    turns_give();
    return result;
}

static void take(struct launcher *l, enum lm_result result, int64_t total, double seconds,
                 const char *why) {
    for (int i = 0; i < l->n; i++)
        switch (result) {
        case LM_DONE:
            launch_take(&l->engines[i], total, seconds);
            break;
        case LM_CANCELLED:
            launch_take_back(&l->engines[i]);
            break;
        case LM_ABORTED:
        case LM_LOST:
            launch_fail(&l->engines[i], result == LM_LOST, why);
            break;
        }
}

/* SECONDS of the launch, of which READ went to reading; BEFORE it and AFTER it. */
static void count_phases(struct launcher *l, double before, double seconds, double read,
                         double after) {
    const struct lm_spent *spent = &l->kernel.spent;
    struct engine_phases *s = &l->phases;
    s->fill += before;
    s->submit += spent->submit;
    s->wait += seconds - spent->submit - read;
    s->read += spent->read;
    s->take += after - (spent->read - read);
    s->device += spent->device;
}

/* All that run wait to be told which tokens they may have. */
void launcher_wait(struct launcher *l) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&l->lock);
    if (!l->woken && !l->stop) pthread_cond_timedwait(&l->wake, &l->lock, &until);
    l->woken = false;
    pthread_mutex_unlock(&l->lock);
}

static void launch(struct launcher *l) {
    char err[LLM_ERR] = "";
    int64_t total = 0;
    if (!launcher_ready(l)) return;
    double from = lm_now();
    for (int i = 0; i < l->n; i++)
        total += launch_fill(&l->engines[i]);
    if (!total) {
        launcher_wait(l);
        return;
    }
    double began = lm_now();
    for (int i = 0; i < l->n; i++)
        if (!l->engines[i].stats.launches) l->engines[i].stats.start.began = began;
    enum lm_result result = run(l, total, err);
    double ended = lm_now(), read = l->kernel.spent.read;
    if (result == LM_LOST) lm_close(&l->kernel);
    take(l, result, total, ended - began, err);
    if (result == LM_DONE) count_phases(l, began - from, ended - began, read, lm_now() - ended);
}

/* ---- the thread ---- */

static void *work(void *user) {
    struct launcher *l = user;
    for (;;) {
        int64_t running = 0;
        double from = lm_now();
        for (int i = 0; i < l->n; i++) {
            if (!l->engines[i].posted) queue_admit(&l->engines[i]);
            queue_show(&l->engines[i]);
            running += l->engines[i].nactive;
        }
        if (running) l->phases.admit += lm_now() - from;
        if (!rest(l)) return NULL;
        if (resident_runs(l) || (running && !l->stop && l->o.resident))
            resident_go_on(l);
        else if (running && !l->stop)
            launch(l);
    }
}

bool launcher_start(struct launcher *l, char *err) {
    l->has_thread = pthread_create(&l->thread, NULL, work, l) == 0;
    return l->has_thread || llm_fail(err, "cannot start a thread");
}
