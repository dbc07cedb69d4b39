/* What other threads ask of an engine. */
#include "examples/llm/engine/engine.h"
#include "examples/llm/engine/kept/pages.h"
#include "examples/llm/engine/parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sequences ---- */

static bool check_job(const struct engine *e, const struct engine_job *j, char *err) {
    if (!j->n) return llm_fail(err, "the prompt is empty");
    if (e->sizes.vectors && !j->vector)
        return llm_fail(err, "the model writes no texts: it gives %s of them",
                        e->sizes.scores ? "scores" : "vectors");
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
    s->slot = s->row = s->pick = -1;
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

/* ---- what others ask ---- */

static bool check_room(const struct engine *e, int njobs) {
    /* Slots that are free take some at the next launch. */
    int64_t room = e->o->waiting + e->sizes.slots - e->nactive;
    /* Where nobody waits a request may have more texts than may wait. */
    return !e->o->waiting || !e->nwaiting || e->nwaiting + njobs <= room;
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
    pthread_mutex_lock(&e->launcher->lock);
    if (ok && e->launcher->stop) {
        ok = llm_fail(err, "the engine is being closed");
        answer = ENGINE_REFUSED;
    }
    if (ok && !check_room(e, njobs)) answer = ENGINE_FULL;
    if (answer == ENGINE_TAKEN && head) {
        int i = 0;
        for (struct sequence *s = head; s; s = s->next)
            out_ids[i++] = s->id = ++e->launcher->nids;
        *e->last = head;
        e->last = tail;
        e->nwaiting += njobs;
        head = NULL;
        pthread_cond_signal(&e->launcher->wake);
    }
    pthread_mutex_unlock(&e->launcher->lock);
    while (head) {
        struct sequence *s = head;
        head = s->next;
        sequence_free(s);
    }
    if (answer == ENGINE_FULL) llm_fail(err, "too many requests are waiting");
    return answer;
}

void engine_wake(struct engine *e) {
    pthread_mutex_lock(&e->launcher->lock);
    e->launcher->woken = true;
    pthread_cond_signal(&e->launcher->wake);
    pthread_mutex_unlock(&e->launcher->lock);
}

void engine_cancel(struct engine *e, uint64_t id) {
    pthread_mutex_lock(&e->launcher->lock);
    for (int64_t i = 0; i < e->nactive; i++)
        if (e->active[i]->id == id) e->active[i]->cancelled = true;
    for (struct sequence *s = e->first; s; s = s->next)
        if (s->id == id) s->cancelled = true;
    pthread_mutex_unlock(&e->launcher->lock);
}

void engine_stats(struct engine *e, struct engine_stats *out) {
    pthread_mutex_lock(&e->launcher->lock);
    *out = e->shown_stats;
    out->running = e->nactive;
    out->waiting = e->nwaiting;
    out->asleep = e->launcher->asleep;
    pthread_mutex_unlock(&e->launcher->lock);
}

void engine_slots(struct engine *e, struct engine_slot *out) {
    pthread_mutex_lock(&e->launcher->lock);
    memcpy(out, e->shown, (size_t)e->sizes.slots * sizeof *out);
    pthread_mutex_unlock(&e->launcher->lock);
}

void engine_sizes(const struct engine *e, struct engine_sizes *out) {
    *out = e->sizes;
}

/* ---- opening and closing ---- */

static bool allocate(struct engine *e) {
    size_t slots = (size_t)e->sizes.slots;
    e->sampler = sampler_make(e->sizes.width);
    e->row = calloc((size_t)e->sizes.width + 1, sizeof *e->row);
    e->kept = calloc((size_t)e->sizes.width + 1, sizeof *e->kept);
    e->slots = calloc(slots + 1, sizeof *e->slots);
    e->active = calloc(slots + 1, sizeof *e->active);
    e->shown = calloc(slots + 1, sizeof *e->shown);
    if (e->sizes.pages) e->pages = pages_make(e->sizes.pages, e->sizes.page);
    if (e->sizes.snapshots) e->snapshots = snapshots_make(e->sizes.snapshots);
    return e->sampler && e->row && e->kept && e->slots && e->active && e->shown &&
           (e->pages || !e->sizes.pages) && (e->snapshots || !e->sizes.snapshots);
}

/* What the decoder is, once it is open. */
static bool prepare(struct engine *e) {
    const struct lm_start *t = &e->launcher->kernel.start;
    e->sizes = (struct engine_sizes){.vocab = e->lm->vocab,
                                     .context = e->lm->context,
                                     .slots = e->lm->slots,
                                     .max_tokens = e->lm->max_tokens,
                                     .page = e->lm->page,
                                     .pages = e->lm->pages,
                                     .snapshots = e->lm->snapshots,
                                     .width = e->lm->width,
                                     .device = e->launcher->device_name};
    e->sizes.emulated = etrt_device_is_emulated(e->launcher->kernel.device) != 0;
    e->stats.start = (struct engine_start){t->device, t->kernel, t->weights, t->session, 0, 0};
    bool as_fits = e->o->batch < 1 || e->o->batch > e->lm->max_tokens;
    e->batch = as_fits ? e->lm->max_tokens : e->o->batch;
    e->chunk = e->o->chunk < 1 ? (e->batch + 3) / 4 : e->o->chunk;
    if (e->chunk < e->lm->chunk && !e->o->chunk) e->chunk = e->lm->chunk;
    e->ways.doubled = MOST_DOUBLED;
    e->recurs = e->lm->recurs;
    e->carries_all = e->lm->carries_all;
    bool cannot = e->lm->recurs && e->lm->page && !e->lm->snapshots;
    e->forgets = e->o->forget || cannot || e->lm->flat;
    e->sizes.scores = e->lm->flat && strcmp(e->lm->result, "embedding") != 0;
    e->sizes.vectors = e->lm->flat || !strcmp(e->lm->result, "embedding");
    /* A text that a launch must hold. */
    if (e->lm->flat && e->sizes.context > e->batch) e->sizes.context = e->batch;
    return allocate(e);
}

static bool copy_model(struct engine *e, const struct engine_model *m) {
    e->part = m->part ? strdup(m->part) : NULL;
    e->weights = strdup(m->weights);
    e->stops = calloc((size_t)m->nstops + 1, sizeof *e->stops);
    if (!e->weights || !e->stops || (m->part && !e->part)) return false;
    if (m->nstops) memcpy(e->stops, m->stops, (size_t)m->nstops * sizeof *e->stops);
    e->nstops = m->nstops;
    return true;
}

static bool copy_options(struct launcher *l, const struct engine_options *o,
                         const struct engine_model *models, int n) {
    l->o = *o;
    l->o.kernel = l->kernel_file = strdup(o->kernel);
    l->o.device = l->device = strdup(o->device);
    l->engines = calloc((size_t)n, sizeof *l->engines);
    if (!l->kernel_file || !l->device || !l->engines) return false;
    l->n = n;
    bool ok = true;
    for (int i = 0; i < n; i++) {
        l->engines[i].launcher = l;
        l->engines[i].o = &l->o;
        l->engines[i].last = &l->engines[i].first;
        ok = copy_model(&l->engines[i], &models[i]) && ok;
    }
    return ok;
}

static bool open_all(struct launcher *l, const struct engine_options *o,
                     const struct engine_model *models, int n, char *err) {
    if (!copy_options(l, o, models, n)) return llm_fail(err, "out of memory");
    if (!launcher_open(l, err)) return false;
    snprintf(l->device_name, sizeof l->device_name, "%s", etrt_device_name(l->kernel.device));
    for (int i = 0; i < n; i++)
        if (!prepare(&l->engines[i])) return llm_fail(err, "out of memory");
    return launcher_start(l, err);
}

static void engine_free(struct engine *e) {
    for (int64_t i = 0; e->slots && i < e->sizes.slots; i++)
        free(e->slots[i].ids);
    pages_free(e->pages);
    snapshots_free(e->snapshots);
    sampler_free(e->sampler);
    free(e->part);
    free(e->weights);
    free(e->stops);
    free(e->row);
    free(e->kept);
    free(e->slots);
    free(e->active);
    free(e->shown);
}

static void close_all(struct launcher *l) {
    if (l->has_thread) {
        pthread_mutex_lock(&l->lock);
        l->stop = true;
        pthread_cond_signal(&l->wake);
        pthread_cond_broadcast(&l->heard);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->thread, NULL);
    }
    lm_close(&l->kernel);
    for (int i = 0; i < l->n; i++)
        engine_free(&l->engines[i]);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->wake);
    pthread_cond_destroy(&l->heard);
    free(l->kernel_file);
    free(l->device);
    free(l->engines);
    free(l);
}

bool engine_open(const struct engine_options *o, const struct engine_model *models, int n,
                 struct engine **out, char *err) {
    struct launcher *l = calloc(1, sizeof *l);
    out[0] = NULL;
    if (!l) return llm_fail(err, "out of memory");
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->wake, NULL);
    pthread_cond_init(&l->heard, NULL);
    if (!open_all(l, o, models, n, err)) {
        close_all(l);
        return false;
    }
    for (int i = 0; i < n; i++)
        out[i] = &l->engines[i];
    return true;
}

void engine_close(struct engine *e) {
    if (e) close_all(e->launcher);
}
