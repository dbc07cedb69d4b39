/* Kernels with their models, each opened when one of its models is asked for first, and put to
 * sleep when another needs its place. One thread does that; requests for a model that is not there
 * yet are kept until it is. */
#include "examples/llm/engine/lm.h"
#include "examples/llm/serve/server.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- with the lock of instances held ---- */

static struct instance *wanted(struct server *s) {
    for (int i = 0; i < s->ninstances; i++)
        if (s->instances[i].waiting && s->instances[i].state != INSTANCE_BUSY)
            return &s->instances[i];
    return NULL;
}

static struct instance *dismissed(struct server *s) {
    for (int i = 0; i < s->ninstances; i++)
        if (s->instances[i].dismissed && !s->instances[i].users &&
            s->instances[i].state != INSTANCE_BUSY)
            return &s->instances[i];
    return NULL;
}

/* ---- */

/* It has the device's memory. Not with the lock held: the engine has one of its own. */
static bool is_awake(struct server *s, const struct instance *k) {
    struct engine_stats t;
    if (!s->models[k->first].open) return false;
    engine_stats(s->models[k->first].engine, &t);
    return !t.asleep;
}

static void wait_a_while(struct server *s) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&s->changed, &s->loading, &until);
}

/* Nobody gets it meanwhile. False: somebody has it, where ALONE says that this counts. */
static bool close_for_sleep(struct server *s, struct instance *k, bool alone) {
    pthread_mutex_lock(&s->loading);
    bool idle = (!alone || !k->users) && k->state == INSTANCE_OPEN;
    if (idle) k->state = INSTANCE_BUSY;
    if (idle || k->state == INSTANCE_NEW) k->dismissed = false;
    pthread_mutex_unlock(&s->loading);
    return idle;
}

/* Who has it may wake it again: its place is given away only where there is nobody. */
static bool put_to_sleep(struct server *s, struct instance *k, bool alone, char *err) {
    if (!close_for_sleep(s, k, alone)) return llm_fail(err, "there are requests that run or wait");
    bool ok = engine_sleep(s->models[k->first].engine, err);
    pthread_mutex_lock(&s->loading);
    k->state = INSTANCE_OPEN;
    if (ok && !k->users) k->placed = false;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->loading);
    return ok;
}

/* A place for NEXT, where one is free. Else, of those that have one and are nobody's, the one that
 * was asked for the longest ago, in OLDEST. */
static bool take_place(struct server *s, struct instance *next, struct instance **oldest) {
    int placed = 0;
    *oldest = NULL;
    pthread_mutex_lock(&s->loading);
    for (int i = 0; i < s->ninstances; i++) {
        struct instance *k = &s->instances[i];
        if (k == next || !k->placed) continue;
        placed++;
        if (!k->users && (!*oldest || k->used < (*oldest)->used)) *oldest = k;
    }
    next->placed = next->placed || !s->o->loaded || placed < s->o->loaded;
    bool taken = next->placed;
    pthread_mutex_unlock(&s->loading);
    return taken;
}

static bool make_room(struct server *s, struct instance *next, char *err) {
    const double patience = 60;
    double began = lm_now();
    struct instance *oldest;
    while (!s->unloading && lm_now() - began < patience) {
        if (take_place(s, next, &oldest)) return true;
        if (oldest && put_to_sleep(s, oldest, true, err)) continue;
        pthread_mutex_lock(&s->loading);
        wait_a_while(s);
        pthread_mutex_unlock(&s->loading);
    }
    return llm_fail(err, "%lld models are loaded, and all of them are busy",
                    (long long)s->o->loaded);
}

static bool open_or_wake(struct server *s, struct instance *k, char *err) {
    struct served *m = &s->models[k->first];
    if (!make_room(s, k, err)) return false;
    return m->open ? engine_rouse(m->engine, err) : models_open(s, k, err);
}

/* They are told so. */
static void refuse_all(struct exchange *x, const char *why) {
    while (x) {
        struct exchange *next = x->next_waiting;
        x->unloaded = strdup(why);
        route_again(x);
        x = next;
    }
}

static void serve_wanted(struct server *s, struct instance *k) {
    char err[LLM_ERR] = "";
    struct exchange *next;
    pthread_mutex_lock(&s->loading);
    k->state = INSTANCE_BUSY;
    pthread_mutex_unlock(&s->loading);
    bool ok = open_or_wake(s, k, err);
    pthread_mutex_lock(&s->loading);
    k->state = s->models[k->first].open ? INSTANCE_OPEN : INSTANCE_NEW;
    k->placed = ok;
    k->used = lm_now();
    struct exchange *x = k->waiting;
    k->waiting = NULL;
    /* Each has it before another may need its place. */
    for (struct exchange *one = x; one; one = one->next_waiting) {
        one->has = ok ? k : NULL;
        k->users += ok;
    }
    pthread_mutex_unlock(&s->loading);
    if (!ok) refuse_all(x, *err ? err : "it cannot be loaded");
    for (; ok && x; x = next) {
        next = x->next_waiting;
        route_again(x);
    }
}

static void *work(void *user) {
    struct server *s = user;
    char err[LLM_ERR];
    pthread_mutex_lock(&s->loading);
    for (;;) {
        struct instance *k = wanted(s), *over = k ? NULL : dismissed(s);
        if (!k && s->unloading) break;
        if (!k && !over) {
            pthread_cond_wait(&s->changed, &s->loading);
            continue;
        }
        pthread_mutex_unlock(&s->loading);
        if (k)
            serve_wanted(s, k);
        else
            put_to_sleep(s, over, true, err);
        pthread_mutex_lock(&s->loading);
    }
    pthread_mutex_unlock(&s->loading);
    return NULL;
}

/* ---- what others ask ---- */

bool instances_start(struct server *s, char *err) {
    s->has_loader = pthread_create(&s->loader, NULL, work, s) == 0;
    return s->has_loader || llm_fail(err, "cannot start a thread");
}

/* A kernel that is being compiled is not waited for. */
void instances_stop(struct server *s) {
    enum { PATIENCE = 5 };
    struct timespec until;
    if (!s->has_loader) return;
    pthread_mutex_lock(&s->loading);
    s->unloading = s->unloaded = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->loading);
    for (int i = 0; i < s->ninstances; i++) {
        pthread_mutex_lock(&s->loading);
        struct exchange *x = s->instances[i].waiting;
        s->instances[i].waiting = NULL;
        pthread_mutex_unlock(&s->loading);
        refuse_all(x, "the server is stopping");
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    if (pthread_timedjoin_np(s->loader, NULL, &until) != 0) {
        listen_remove(s->o);
        _exit(0);
    }
    s->has_loader = false;
}

bool instances_have(struct exchange *x, struct served *m, struct fault *f) {
    struct server *s = x->server;
    struct instance *k = m->instance;
    if (x->has == k) return true; /* it waited for it */
    if (x->unloaded)
        return fault_set(f, 503, "model", "not_loaded", "the model '%s' is not loaded: %s", m->name,
                         x->unloaded);
    /* Where it has a place, or all have, an engine wakes by itself. */
    pthread_mutex_lock(&s->loading);
    bool ready = k->state == INSTANCE_OPEN && (!s->o->loaded || k->placed);
    if (ready) {
        k->users++;
        k->used = lm_now();
        x->has = k;
    }
    pthread_mutex_unlock(&s->loading);
    if (!ready) x->wants = k;
    return ready;
}

void instances_park(struct exchange *x) {
    struct server *s = x->server;
    struct instance *k = x->wants;
    x->wants = NULL;
    pthread_mutex_lock(&s->loading);
    bool stopped = s->unloaded || !s->has_loader;
    if (!stopped) {
        x->next_waiting = k->waiting;
        k->waiting = x;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->loading);
    if (!stopped) return;
    x->unloaded = strdup("the server is stopping");
    route_again(x);
}

void instances_let_go(struct server *s, struct instance *k, bool dismiss) {
    pthread_mutex_lock(&s->loading);
    k->users--;
    k->used = lm_now();
    k->dismissed = k->dismissed || dismiss;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->loading);
}

void instances_dismiss(struct server *s, struct instance *k) {
    pthread_mutex_lock(&s->loading);
    k->dismissed = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->loading);
}

bool instances_unload(struct server *s, struct instance *k, char *err) {
    /* A request has it a little longer than its client knows: whether one runs the engine says. */
    return !is_awake(s, k) || put_to_sleep(s, k, false, err);
}

const char *instances_state(struct server *s, struct instance *k) {
    pthread_mutex_lock(&s->loading);
    bool busy = k->state == INSTANCE_BUSY || k->waiting;
    pthread_mutex_unlock(&s->loading);
    return busy ? "loading" : is_awake(s, k) ? "loaded" : "unloaded";
}
