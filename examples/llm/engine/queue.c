/* Who waits, who has a slot, and how they leave. */
#include "examples/llm/engine/parts.h"
#include <stdlib.h>
#include <string.h>

void sequence_free(struct sequence *s) {
    if (!s) return;
    free(s->ids);
    free(s->pages);
    free((void *)s->job.sampling.bias);
    free(s);
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
    pthread_mutex_lock(&e->launcher->lock);
    leave(e, s);
    pthread_mutex_unlock(&e->launcher->lock);
    tell_end(s, end, why);
}

void engine_preempt(struct engine *e, struct sequence *s) {
    sequence_tell(s);
    slots_give(e, s, true);
    s->fed = 0;
    s->resumed = true;
    e->stats.preempted++;
    pthread_mutex_lock(&e->launcher->lock);
    leave(e, s);
    /* All that wait came later, but for those that were preempted after it; they are younger. */
    s->next = e->first;
    if (!e->first) e->last = &s->next;
    e->first = s;
    e->nwaiting++;
    pthread_mutex_unlock(&e->launcher->lock);
}

bool queue_waits(struct engine *e) {
    pthread_mutex_lock(&e->launcher->lock);
    bool waits = e->first;
    pthread_mutex_unlock(&e->launcher->lock);
    return waits;
}

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
    *out_over = s->cancelled || e->launcher->stop ||
                (s->job.most <= 0 && !s->job.tells_prompt && !s->job.vector);
    if (!*out_over && (e->nactive >= e->sizes.slots || !paged_fits(e, s))) return NULL;
    e->first = s->next;
    if (!e->first) e->last = &e->first;
    e->nwaiting--;
    if (!*out_over) enter(e, s);
    return s;
}

/* Those that wait behind others are told too, or a client that left would hold a place. */
static void drop_cancelled(struct engine *e) {
    struct sequence *dropped = NULL;
    for (int64_t i = e->nactive; i-- > 0;)
        if (e->active[i]->cancelled || e->launcher->stop)
            engine_finish(e, e->active[i], ENGINE_CANCELLED, NULL);
    pthread_mutex_lock(&e->launcher->lock);
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
    pthread_mutex_unlock(&e->launcher->lock);
    while (dropped) {
        struct sequence *s = dropped;
        dropped = s->next;
        tell_end(s, ENGINE_CANCELLED, NULL);
    }
}

void queue_admit(struct engine *e) {
    drop_cancelled(e);
    for (;;) {
        bool over = false;
        pthread_mutex_lock(&e->launcher->lock);
        struct sequence *s = next_waiting(e, &over);
        pthread_mutex_unlock(&e->launcher->lock);
        if (!s) return;
        if (over) {
            tell_end(s, s->cancelled || e->launcher->stop ? ENGINE_CANCELLED : ENGINE_LENGTH, NULL);
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

/* What other threads see of the launches. */
void queue_show(struct engine *e) {
    struct engine_stats *shown = &e->shown_stats;
    pthread_mutex_lock(&e->launcher->lock);
    *shown = e->stats;
    shown->phases = e->launcher->phases;
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
    pthread_mutex_unlock(&e->launcher->lock);
}
