/* What the thread does while no sequence runs or waits: it waits for one, and meanwhile the device
 * may be given back. */
#include "examples/llm/engine/parts.h"
#include <errno.h>
#include <stdio.h>
#include <time.h>

/* ---- with the lock held ---- */

static bool is_idle(const struct launcher *l) {
    for (int i = 0; i < l->n; i++)
        if (l->engines[i].nactive || l->engines[i].first) return false;
    return true;
}

/* True: nothing came for as long as an engine stays awake. */
static bool wait_for_work(struct launcher *l, const struct timespec *until) {
    if (l->o.idle_seconds <= 0 || l->asleep) {
        pthread_cond_wait(&l->wake, &l->lock);
        return false;
    }
    return pthread_cond_timedwait(&l->wake, &l->lock, until) == ETIMEDOUT;
}

/* What lay in slots was on the device. */
static void fall_asleep(struct launcher *l) {
    if (l->asleep) return;
    l->asleep = true;
    pthread_mutex_unlock(&l->lock);
    launcher_close(l);
    for (int i = 0; i < l->n; i++) {
        slots_lost(&l->engines[i]);
        l->engines[i].stats.slept++;
        queue_show(&l->engines[i]);
    }
    pthread_mutex_lock(&l->lock);
}

static void grant(struct launcher *l) {
    if (l->wish == WISH_SLEEP && is_idle(l)) fall_asleep(l);
    if (l->wish == WISH_WAKE) {
        char why[LLM_ERR] = "";
        pthread_mutex_unlock(&l->lock);
        launcher_wake(l, why);
        pthread_mutex_lock(&l->lock);
        snprintf(l->why, sizeof l->why, "%s", why);
    }
    l->wish = WISH_NOTHING;
    pthread_cond_broadcast(&l->heard);
}

/* ---- the thread ---- */

bool rest(struct launcher *l) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)l->o.idle_seconds;
    until.tv_nsec += (long)((l->o.idle_seconds - (double)(time_t)l->o.idle_seconds) * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&l->lock);
    for (;;) {
        if (l->wish != WISH_NOTHING) grant(l);
        if (l->stop || !is_idle(l)) break;
        if (wait_for_work(l, &until) && is_idle(l) && !l->stop) fall_asleep(l);
    }
    bool over = l->stop && is_idle(l);
    pthread_mutex_unlock(&l->lock);
    return !over;
}

/* ---- what others ask ---- */

/* Waits until the thread has heard it. The lock is held before and after. */
static void wish(struct launcher *l, enum wish what) {
    while (l->wish != WISH_NOTHING && !l->stop)
        pthread_cond_wait(&l->heard, &l->lock);
    if (l->stop) return;
    l->wish = what;
    pthread_cond_signal(&l->wake);
    while (l->wish == what && !l->stop)
        pthread_cond_wait(&l->heard, &l->lock);
}

bool engine_sleep(struct engine *e, char *err) {
    struct launcher *l = e->launcher;
    pthread_mutex_lock(&l->lock);
    bool busy = !is_idle(l);
    if (!busy) wish(l, WISH_SLEEP);
    bool asleep = l->asleep;
    pthread_mutex_unlock(&l->lock);
    return asleep || llm_fail(err, "there are requests that run or wait");
}

bool engine_rouse(struct engine *e, char *err) {
    struct launcher *l = e->launcher;
    pthread_mutex_lock(&l->lock);
    if (l->asleep) wish(l, WISH_WAKE);
    bool asleep = l->asleep;
    snprintf(err, LLM_ERR, "%s", l->stop ? "the engine is being closed" : l->why);
    pthread_mutex_unlock(&l->lock);
    return !asleep;
}
