/* The engine's thread and what other threads ask of it. */
#include "examples/llm/engine/engine.h"
#include "examples/llm/engine/pages.h"
#include "examples/llm/engine/parts.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- sequences ---- */

static void sequence_free(struct sequence *s) {
    if (!s) return;
    free(s->ids);
    free(s->pages);
    free((void *)s->job.sampling.bias);
    free(s);
}

static bool check_job(const struct engine *e, const struct engine_job *j, char *err) {
    if (!j->n) return llm_fail(err, "the prompt is empty");
    if ((int64_t)j->n > e->sizes.context)
        return llm_fail(err, "the prompt has %zu tokens; the model keeps %lld", j->n,
                        (long long)e->sizes.context);
    for (size_t i = 0; i < j->n; i++)
        if (j->prompt[i] < 0 || j->prompt[i] >= e->sizes.vocab)
            return llm_fail(err, "the prompt has token %d, the model has %lld", (int)j->prompt[i],
                            (long long)e->sizes.vocab);
    for (size_t i = 0; i < j->sampling.nbias; i++)
        if (j->sampling.bias[i].id < 0 || j->sampling.bias[i].id >= e->sizes.vocab)
            return llm_fail(err, "a bias is of token %d, the model has %lld",
                            (int)j->sampling.bias[i].id, (long long)e->sizes.vocab);
    return true;
}

/* Room for all the tokens it may get, so that no memory is asked for while it runs. */
static struct sequence *sequence_make(const struct engine *e, const struct engine_job *j) {
    struct sequence *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->job = *j;
    s->slot = s->row = -1;
    int64_t most = e->sizes.context + 1 - (int64_t)j->n;
    if (s->job.most > most) s->job.most = most;
    size_t nbias = j->sampling.nbias;
    struct logit_bias *bias = calloc(nbias + 1, sizeof *bias);
    s->job.sampling.bias = bias;
    s->ids = calloc(j->n + (size_t)s->job.most, sizeof *s->ids);
    /* Not of LM, which another thread may be opening again. */
    int64_t pages = e->pages ? e->sizes.context / e->sizes.page : 0;
    if (pages) s->pages = calloc((size_t)pages, sizeof *s->pages);
    if (!bias || !s->ids || (pages && !s->pages)) {
        sequence_free(s);
        return NULL;
    }
    if (nbias) memcpy(bias, j->sampling.bias, nbias * sizeof *bias);
    memcpy(s->ids, j->prompt, j->n * sizeof *s->ids);
    s->n = j->n;
    s->job.prompt = NULL;
    s->result.prompt = (int64_t)j->n;
    s->result.submitted = lm_now();
    return s;
}

static void tell_end(struct sequence *s, enum engine_end end, const char *why) {
    s->result.end = end;
    s->result.why = why;
    s->job.sink.end(s->job.sink.user, &s->result);
    sequence_free(s);
}

/* With the lock held. */
static void leave(struct engine *e, const struct sequence *s) {
    int64_t at = 0;
    while (e->active[at] != s)
        at++;
    memmove(&e->active[at], &e->active[at + 1], (size_t)(e->nactive - at - 1) * sizeof *e->active);
    e->nactive--;
}

/* Once END was told, engine_cancel must not find it: it leaves the list first. */
void engine_finish(struct engine *e, struct sequence *s, enum engine_end end, const char *why) {
    slots_give(e, s, end != ENGINE_FAILED);
    pthread_mutex_lock(&e->lock);
    leave(e, s);
    pthread_mutex_unlock(&e->lock);
    tell_end(s, end, why);
}

void engine_preempt(struct engine *e, struct sequence *s) {
    slots_give(e, s, true);
    s->fed = 0;
    s->resumed = true;
    e->stats.preempted++;
    pthread_mutex_lock(&e->lock);
    leave(e, s);
    /* All that wait came later, but for those that were preempted after it; they are younger. */
    s->next = e->first;
    if (!e->first) e->last = &s->next;
    e->first = s;
    e->nwaiting++;
    pthread_mutex_unlock(&e->lock);
}

/* ---- the thread ---- */

/* With the lock held. Numbers grow with time. */
static void enter(struct engine *e, struct sequence *s) {
    int64_t at = e->nactive++;
    for (; at > 0 && e->active[at - 1]->id > s->id; at--)
        e->active[at] = e->active[at - 1];
    e->active[at] = s;
}

/* The first that waits, if it may leave the queue now: it is over before it began, or there is a
 * slot for it. */
static struct sequence *next_waiting(struct engine *e, bool *out_over) {
    struct sequence *s = e->first;
    if (!s) return NULL;
    *out_over = s->cancelled || e->stop || s->job.most <= 0;
    if (!*out_over && (e->nactive >= e->sizes.slots || !paged_fits(e, s))) return NULL;
    e->first = s->next;
    if (!e->first) e->last = &e->first;
    e->nwaiting--;
    if (!*out_over) enter(e, s);
    return s;
}

static void admit(struct engine *e) {
    for (;;) {
        bool over = false;
        pthread_mutex_lock(&e->lock);
        struct sequence *s = next_waiting(e, &over);
        pthread_mutex_unlock(&e->lock);
        if (!s) return;
        if (over) {
            tell_end(s, s->cancelled || e->stop ? ENGINE_CANCELLED : ENGINE_LENGTH, NULL);
            continue;
        }
        slots_take(e, s);
        if (s->resumed) continue;
        s->result.started = lm_now();
        s->result.cached = (int64_t)s->fed;
        e->stats.asked += (int64_t)s->job.n;
        e->stats.cached += s->result.cached;
    }
}

/* Those that wait behind others are told too, or a client that left would hold a place. */
static void drop_cancelled(struct engine *e) {
    struct sequence *dropped = NULL;
    for (int64_t i = e->nactive; i-- > 0;)
        if (e->active[i]->cancelled || e->stop)
            engine_finish(e, e->active[i], ENGINE_CANCELLED, NULL);
    pthread_mutex_lock(&e->lock);
    struct sequence **at = &e->first;
    while (*at) {
        struct sequence *s = *at;
        if (!s->cancelled) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        s->next = dropped;
        dropped = s;
        e->nwaiting--;
    }
    e->last = at;
    pthread_mutex_unlock(&e->lock);
    while (dropped) {
        struct sequence *s = dropped;
        dropped = s->next;
        tell_end(s, ENGINE_CANCELLED, NULL);
    }
}

/* What other threads see of the launches. */
static void show(struct engine *e) {
    struct engine_stats *shown = &e->shown_stats;
    pthread_mutex_lock(&e->lock);
    *shown = e->stats;
    shown->used = 0;
    for (int64_t i = 0; i < e->sizes.slots; i++) {
        const struct slot *slot = &e->slots[i];
        const struct sequence *s = slot->owner;
        e->shown[i] = (struct engine_slot){.held = (int64_t)slot->n};
        if (!s) continue;
        shown->used += (int64_t)s->fed;
        e->shown[i] = (struct engine_slot){s->id,           s->result.prompt,
                                           (int64_t)s->fed, s->result.generated,
                                           s->job.most,     (int64_t)s->fed};
    }
    if (e->pages) shown->used = paged_used(e);
    pthread_mutex_unlock(&e->lock);
}

static void *work(void *user) {
    struct engine *e = user;
    for (;;) {
        drop_cancelled(e);
        admit(e);
        show(e);
        pthread_mutex_lock(&e->lock);
        while (!e->nactive && !e->first && !e->stop)
            pthread_cond_wait(&e->wake, &e->lock);
        bool over = e->stop && !e->nactive && !e->first;
        pthread_mutex_unlock(&e->lock);
        if (over) return NULL;
        if (e->nactive && !e->stop) launch_step(e);
    }
}

/* ---- what others ask ---- */

static bool check_room(const struct engine *e, int njobs) {
    /* Slots that are free take some at the next launch. */
    int64_t room = e->o.waiting + e->sizes.slots - e->nactive;
    return !e->o.waiting || e->nwaiting + njobs <= room;
}

enum engine_answer engine_submit(struct engine *e, const struct engine_job *jobs, int njobs,
                                 uint64_t *out_ids, char *err) {
    struct sequence *head = NULL, **tail = &head;
    bool ok = true;
    for (int i = 0; ok && i < njobs; i++) {
        ok = check_job(e, &jobs[i], err);
        if (!ok) break;
        *tail = sequence_make(e, &jobs[i]);
        if (*tail)
            tail = &(*tail)->next;
        else
            ok = llm_fail(err, "out of memory");
    }
    enum engine_answer answer = ok ? ENGINE_TAKEN : ENGINE_REFUSED;
    pthread_mutex_lock(&e->lock);
    if (ok && e->stop) {
        ok = llm_fail(err, "the engine is being closed");
        answer = ENGINE_REFUSED;
    }
    if (ok && !check_room(e, njobs)) answer = ENGINE_FULL;
    if (answer == ENGINE_TAKEN && head) {
        int i = 0;
        for (struct sequence *s = head; s; s = s->next)
            out_ids[i++] = s->id = ++e->nids;
        *e->last = head;
        e->last = tail;
        e->nwaiting += njobs;
        head = NULL;
        pthread_cond_signal(&e->wake);
    }
    pthread_mutex_unlock(&e->lock);
    while (head) {
        struct sequence *s = head;
        head = s->next;
        sequence_free(s);
    }
    if (answer == ENGINE_FULL) llm_fail(err, "too many requests are waiting");
    return answer;
}

/* The engine's thread may be waiting for a launch. */
static void ring(const struct engine *e) {
    const uint64_t once = 1;
    /* It fails only where the bell has been rung more often than anybody can count. */
    if (write(e->bell, &once, sizeof once) < 0) return;
}

void engine_cancel(struct engine *e, uint64_t id) {
    pthread_mutex_lock(&e->lock);
    for (int64_t i = 0; i < e->nactive; i++)
        if (e->active[i]->id == id) e->active[i]->cancelled = true;
    for (struct sequence *s = e->first; s; s = s->next)
        if (s->id == id) s->cancelled = true;
    pthread_mutex_unlock(&e->lock);
    ring(e);
}

void engine_stats(struct engine *e, struct engine_stats *out) {
    pthread_mutex_lock(&e->lock);
    *out = e->shown_stats;
    out->running = e->nactive;
    out->waiting = e->nwaiting;
    pthread_mutex_unlock(&e->lock);
}

void engine_slots(struct engine *e, struct engine_slot *out) {
    pthread_mutex_lock(&e->lock);
    memcpy(out, e->shown, (size_t)e->sizes.slots * sizeof *out);
    pthread_mutex_unlock(&e->lock);
}

void engine_sizes(const struct engine *e, struct engine_sizes *out) {
    *out = e->sizes;
}

/* ---- opening and closing ---- */

static bool copy_options(struct engine *e, const struct engine_options *o) {
    e->o = *o;
    e->kernel = strdup(o->kernel);
    e->model = strdup(o->model);
    e->device = strdup(o->device);
    e->stops = calloc((size_t)o->nstops + 1, sizeof *e->stops);
    if (e->stops && o->nstops) memcpy(e->stops, o->stops, (size_t)o->nstops * sizeof *e->stops);
    e->o.stops = e->stops;
    return e->kernel && e->model && e->device && e->stops;
}

static bool allocate(struct engine *e) {
    size_t slots = (size_t)e->sizes.slots;
    e->sampler = sampler_make(e->sizes.vocab);
    e->row = calloc((size_t)e->sizes.vocab + 1, sizeof *e->row);
    e->slots = calloc(slots + 1, sizeof *e->slots);
    e->active = calloc(slots + 1, sizeof *e->active);
    e->shown = calloc(slots + 1, sizeof *e->shown);
    if (e->sizes.pages) e->pages = pages_make(e->sizes.pages, e->sizes.page);
    return e->sampler && e->row && e->slots && e->active && e->shown &&
           (e->pages || !e->sizes.pages);
}

static bool prepare(struct engine *e, const struct engine_options *o, char *err) {
    if (!copy_options(e, o)) return llm_fail(err, "out of memory");
    e->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (e->bell < 0) return llm_fail(err, "cannot make an eventfd: %s", strerror(errno));
    if (!lm_open(&e->lm, e->kernel, e->model, e->device, err)) return false;
    snprintf(e->device_name, sizeof e->device_name, "%s", etrt_device_name(e->lm.device));
    e->sizes = (struct engine_sizes){.vocab = e->lm.vocab,
                                     .context = e->lm.context,
                                     .slots = e->lm.slots,
                                     .max_tokens = e->lm.max_tokens,
                                     .page = e->lm.page,
                                     .pages = e->lm.pages,
                                     .device = e->device_name,
                                     .emulated = etrt_device_is_emulated(e->lm.device) != 0};
    const struct lm_start *t = &e->lm.start;
    e->stats.start = (struct engine_start){t->device, t->kernel, t->weights, t->session, 0, 0};
    if (e->o.batch < 1 || e->o.batch > e->lm.max_tokens) e->o.batch = e->lm.max_tokens;
    if (e->o.chunk < 1) e->o.chunk = (e->o.batch + 3) / 4;
    if (!allocate(e)) return llm_fail(err, "out of memory");
    e->has_thread = pthread_create(&e->thread, NULL, work, e) == 0;
    return e->has_thread || llm_fail(err, "cannot start a thread");
}

bool engine_open(const struct engine_options *o, struct engine **out, char *err) {
    struct engine *e = calloc(1, sizeof *e);
    *out = NULL;
    if (!e) return llm_fail(err, "out of memory");
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->wake, NULL);
    e->last = &e->first;
    e->bell = -1;
    if (!prepare(e, o, err)) {
        engine_close(e);
        return false;
    }
    *out = e;
    return true;
}

void engine_close(struct engine *e) {
    if (!e) return;
    if (e->has_thread) {
        pthread_mutex_lock(&e->lock);
        e->stop = true;
        pthread_cond_signal(&e->wake);
        pthread_mutex_unlock(&e->lock);
        ring(e);
        pthread_join(e->thread, NULL);
    }
    for (int64_t i = 0; e->slots && i < e->sizes.slots; i++)
        free(e->slots[i].ids);
    lm_close(&e->lm);
    pages_free(e->pages);
    sampler_free(e->sampler);
    if (e->bell >= 0) close(e->bell);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->wake);
    free(e->kernel);
    free(e->model);
    free(e->device);
    free(e->stops);
    free(e->row);
    free(e->slots);
    free(e->active);
    free(e->shown);
    free(e);
}
