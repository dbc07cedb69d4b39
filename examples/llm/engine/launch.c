/* One launch: filled with tokens of the sequences, run, and its logits made tokens again. */
#include "examples/llm/engine/parts.h"
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* ---- filling ---- */

/* A prompt is read until all but its last token are fed; then each launch feeds one token. */
static bool is_reading(const struct sequence *s) {
    return s->n - s->fed > 1;
}

static int64_t feed(struct engine *e, struct sequence *s, int64_t most) {
    int64_t fed = 0;
    int64_t room = e->o.batch - e->lm.n;
    if (most > room) most = room;
    if (most > (int64_t)(s->n - s->fed)) most = (int64_t)(s->n - s->fed);
    most = paged_reach(e, s, (int64_t)s->fed + most) - (int64_t)s->fed;
    for (; fed < most; fed++, s->fed++)
        s->row = lm_add(&e->lm, s->ids[s->fed], (int64_t)s->fed, s->slot);
    if (s->fed < s->n) s->row = -1; /* its last token is still to come */
    if (fed) s->launched = true;
    if (fed && e->pages) lm_deal(&e->lm, s->slot, s->pages, s->npages);
    return fed;
}

/* Those that are written come first, one token each; then the prompts in turn, a chunk each; and
 * where nobody's next token waits for this launch, the prompts take what room is left. */
static void fill(struct engine *e) {
    int64_t texts = 0, prompts = 0;
    e->turn++;
    paged_reserve(e);
    for (int64_t i = 0; i < e->nactive; i++) {
        e->active[i]->row = -1;
        e->active[i]->launched = false;
        e->active[i]->had = e->active[i]->fed;
    }
    for (int64_t i = 0; i < e->nactive; i++) {
        struct sequence *s = e->active[(e->turn + i) % e->nactive];
        if (!is_reading(s)) texts += feed(e, s, 1);
    }
    for (int pass = 0; pass < (texts ? 1 : 2); pass++)
        for (int64_t i = 0; i < e->nactive; i++) {
            struct sequence *s = e->active[(e->turn + i) % e->nactive];
            if (!s->launched || pass) prompts += feed(e, s, pass ? e->o.batch : e->o.chunk);
        }
    e->stats.last_texts = texts;
    e->stats.last_prompts = prompts;
}

/* ---- what came out ---- */

static bool is_stop(const struct engine *e, int32_t id) {
    for (int i = 0; i < e->o.nstops; i++)
        if (e->stops[i] == id) return true;
    return false;
}

/* The tokens that end a text must not come yet. */
static void forbid_stops(const struct engine *e, float *logits) {
    for (int i = 0; i < e->o.nstops; i++)
        if (e->stops[i] < e->sizes.vocab) logits[e->stops[i]] = -INFINITY;
}

/* The next token of a sequence from its row of logits. */
static void extend(struct engine *e, struct sequence *s) {
    const float *logits = e->lm.logits + s->row * e->sizes.vocab;
    const struct engine_job *j = &s->job;
    struct engine_token token = {.logprob = NAN};
    struct likelihood top[MAX_TOP_LOGPROBS];
    int64_t *generated = &s->result.generated;
    memcpy(e->row, logits, (size_t)e->sizes.vocab * sizeof *logits);
    if (*generated < j->least && !j->run_on) forbid_stops(e, e->row);
    if (j->sink.mask && !j->sink.mask(j->sink.user, e->row, e->sizes.vocab)) {
        engine_finish(e, s, ENGINE_STOP, NULL);
        return;
    }
    struct history h = {s->ids, j->n, s->n};
    token.id = sampler_next(e->sampler, &j->sampling, &h, e->row);
    if (token.id < 0) {
        engine_finish(e, s, ENGINE_FAILED, "the logits are not numbers, or no token may follow");
        return;
    }
    s->result.last = lm_now();
    if (!*generated) s->result.first = s->result.last;
    s->ids[s->n++] = token.id;
    ++*generated;
    e->stats.generated++;
    if (is_stop(e, token.id) && !j->run_on) {
        engine_finish(e, s, ENGINE_STOP, NULL);
        return;
    }
    if (j->top >= 0) {
        token.ntop =
            sampler_logprobs(logits, e->sizes.vocab, token.id, j->top, &token.logprob, top);
        token.top = top;
    }
    if (!j->sink.token(j->sink.user, &token))
        engine_finish(e, s, ENGINE_ENOUGH, NULL);
    else if (*generated >= j->most || (int64_t)s->n > e->sizes.context)
        engine_finish(e, s, ENGINE_LENGTH, NULL);
}

static void count(struct engine *e, int64_t total, double seconds) {
    struct engine_stats *t = &e->stats;
    if (!t->launches++) t->start.first = seconds;
    t->prompts += t->last_prompts;
    t->written += t->last_texts;
    t->last_seconds = seconds;
    t->prompt_seconds += seconds * (double)t->last_prompts / (double)total;
    t->text_seconds += seconds * (double)t->last_texts / (double)total;
}

/* ---- what went wrong ---- */

/* Those in the launch are lost, whatever became of it; the others begin again only where the device
 * has to be opened anew, since their keys and values were on it. */
static void fail_launched(struct engine *e, bool device_lost, const char *why) {
    e->stats.failures++;
    for (int64_t i = e->nactive; i-- > 0;)
        if (e->active[i]->launched) engine_finish(e, e->active[i], ENGINE_FAILED, why);
    if (!device_lost) return;
    lm_close(&e->lm);
    slots_lost(e);
}

/* The device again, after it was lost. Those that were not in the launch go on; where it cannot be
 * opened all are failed, and those that come later have it tried once more. */
static bool have_device(struct engine *e) {
    char err[LLM_ERR];
    struct engine_sizes s = e->sizes;
    if (e->lm.session) return true;
    bool ok = lm_open(&e->lm, e->kernel, e->model, e->device, err);
    if (ok && (e->lm.slots != s.slots || e->lm.vocab != s.vocab || e->lm.context != s.context ||
               e->lm.max_tokens != s.max_tokens || e->lm.page != s.page || e->lm.pages != s.pages))
        ok = llm_fail(err, "%s has changed since it was loaded", e->kernel);
    if (ok) return true;
    lm_close(&e->lm);
    for (int64_t i = e->nactive; i-- > 0;)
        engine_finish(e, e->active[i], ENGINE_FAILED, err);
    return false;
}

/* ---- running ---- */

/* Does anybody still want what the launch computes? */
static bool is_wanted(const struct engine *e) {
    for (int64_t i = 0; i < e->nactive && !e->stop; i++)
        if (e->active[i]->launched && !e->active[i]->cancelled) return true;
    return false;
}

/* Until the launch has ended, or somebody has to look whether it should. */
static bool has_ended(struct engine *e, int fd, double seconds) {
    struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = e->bell, .events = POLLIN}};
    uint64_t rung;
    int limit = seconds < 0 ? 0 : seconds < 1e6 ? (int)(seconds * 1e3) + 1 : -1;
    if (poll(p, 2, limit) < 0 && errno != EINTR) return true; /* then by lm_wait */
    if (p[1].revents && read(e->bell, &rung, sizeof rung) < 0 && errno != EAGAIN) return true;
    return p[0].revents != 0;
}

/* Submitted, and cancelled once nobody waits for it any more or it takes too long. */
static enum lm_result run_watched(struct engine *e, char *err) {
    double until = lm_now() + (e->o.launch_seconds > 0 ? e->o.launch_seconds : INFINITY);
    bool cancelled = false, late = false;
    int fd = lm_fd(&e->lm);
    if (!lm_submit(&e->lm, err)) return LM_LOST;
    while (fd >= 0 && !has_ended(e, fd, cancelled ? INFINITY : until - lm_now())) {
        if (cancelled) continue;
        late = lm_now() >= until;
        cancelled = late || !is_wanted(e);
        if (cancelled) lm_cancel(&e->lm);
    }
    enum lm_result result = lm_wait(&e->lm, err);
    if (result != LM_CANCELLED) return result;
    e->stats.cancelled++;
    if (late) llm_fail(err, "the launch took more than %g seconds", e->o.launch_seconds);
    return late ? LM_ABORTED : result;
}

static enum lm_result run(struct engine *e, char *err) {
    int64_t n = ++e->tried, at = e->o.abort_launch;
    int64_t every = at < 0 ? -at : at;
    bool abort = at && (n == every || (e->o.abort_again && n % every == 0));
    if (!abort) return run_watched(e, err);
    enum lm_result result = LM_LOST;
    if (at < 0 || !lm_submit(&e->lm, err)) {
        e->lm.n = 0;
    } else {
        lm_cancel(&e->lm);
        result = lm_wait(&e->lm, err) == LM_LOST ? LM_LOST : LM_ABORTED;
    }
    llm_fail(err, "launch %lld was told to fail", (long long)n);
    return result;
}

/* As before the launch, which may have done all, some or nothing of its work: what it wrote lies
 * behind what they have, and is written again. */
static void take_back(struct engine *e) {
    for (int64_t i = 0; i < e->nactive; i++)
        e->active[i]->fed = e->active[i]->had;
}

void launch_step(struct engine *e) {
    char err[LLM_ERR] = "";
    if (!have_device(e)) return;
    fill(e);
    int64_t total = e->lm.n;
    double began = lm_now();
    if (!e->stats.launches) e->stats.start.began = began;
    enum lm_result result = run(e, err);
    if (result == LM_CANCELLED) {
        take_back(e);
        return;
    }
    if (result != LM_DONE) {
        fail_launched(e, result == LM_LOST, err);
        return;
    }
    count(e, total, lm_now() - began);
    for (int64_t i = 0; i < e->nactive; i++)
        paged_keep(e, e->active[i]);
    /* From the end, since one that ends leaves the list. */
    for (int64_t i = e->nactive; i-- > 0;)
        if (e->active[i]->row >= 0) extend(e, e->active[i]);
}
