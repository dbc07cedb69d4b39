/* What came out of an engine's share of a launch: its logits made tokens. What follows when it
 * fails.
 */
#include "examples/llm/engine/parts.h"
#include <math.h>
#include <string.h>

/* ---- what came out ---- */

static bool is_stop(const struct engine *e, int32_t id) {
    for (int i = 0; i < e->nstops; i++)
        if (e->stops[i] == id) return true;
    return false;
}

/* What a token needs of the logits of its row: to be chosen from them, which changes them, and to
 * tell how likely it was. They are sampled while they are still in the core's cache. */
static bool read_logits(struct engine *e, const struct sequence *s, int64_t row, int64_t pick,
                        char *err) {
    bool told = s->job.top >= 0;
    if (pick >= 0) return !told || lm_read_row(e->lm, row, e->kept, err);
    if (!lm_read_row(e->lm, row, e->row, err)) return false;
    if (told) memcpy(e->kept, e->row, (size_t)e->sizes.vocab * sizeof *e->row);
    return true;
}

/* What comes after it; -1 as sampler_next has it. False: nothing may. */
static bool next_token(struct engine *e, struct sequence *s, int64_t pick, int32_t *out) {
    const struct engine_job *j = &s->job;
    struct history h = history_of(e, s, s->n);
    if (pick >= 0) {
        *out = lm_chosen(e->lm, pick);
        return true;
    }
    if (j->sink.mask && !j->sink.mask(j->sink.user, e->row, e->sizes.vocab)) return false;
    *out = sampler_next(e->sampler, &j->sampling, &h, e->row);
    return true;
}

/* The next token of a sequence, from a row of logits. False: it has ended, and is no more. */
static bool extend(struct engine *e, struct sequence *s, int64_t row, int64_t pick) {
    const struct engine_job *j = &s->job;
    char err[LLM_ERR];
    struct engine_token token = {.logprob = NAN};
    struct likelihood top[MAX_TOP_LOGPROBS];
    int64_t *generated = &s->result.generated;
    if (pick >= 0 && lm_chosen(e->lm, pick) == LM_TIED) pick = -1;
    if (!read_logits(e, s, row, pick, err)) {
        engine_finish(e, s, ENGINE_FAILED, err);
        return false;
    }
    if (!next_token(e, s, pick, &token.id)) {
        engine_finish(e, s, ENGINE_STOP, NULL);
        return false;
    }
    if (token.id < 0 || token.id >= e->sizes.vocab) {
        engine_finish(e, s, ENGINE_FAILED, "the logits are not numbers, or no token may follow");
        return false;
    }
    s->result.last = lm_now();
    if (!*generated) s->result.first = s->result.last;
    s->ids[s->n++] = token.id;
    ++*generated;
    e->stats.generated++;
    if (is_stop(e, token.id) && !j->run_on) {
        engine_finish(e, s, ENGINE_STOP, NULL);
        return false;
    }
    if (j->top >= 0) {
        token.ntop = sampler_logprobs(e->sampler, e->kept, token.id, j->top, &token.logprob, top);
        token.top = top;
    }
    bool more = j->sink.token(j->sink.user, &token);
    s->told = true;
    if (more && *generated < j->most && (int64_t)s->n <= e->sizes.context) return true;
    engine_finish(e, s, more ? ENGINE_LENGTH : ENGINE_ENOUGH, NULL);
    return false;
}

/* Its next token, and those of the launch's further steps: the model has seen what came before. */
static void extend_by_steps(struct engine *e, struct sequence *s) {
    int64_t row = s->row, pick = s->pick;
    for (int64_t step = 0; extend(e, s, row, lm_pick_in(e->lm, step, pick));) {
        if (++step == e->steps) return;
        s->fed++;
        e->stats.written++;
        paged_keep(e, s);
    }
}

/* Its next token; and while what came is what had been guessed, the one after it: then the model
 * has seen it already. */
static void extend_all(struct engine *e, struct sequence *s) {
    int64_t row = s->row, pick = s->pick;
    for (int64_t i = 0; extend(e, s, row, pick) && i < s->nguesses; i++) {
        if (s->ids[s->n - 1] != s->guesses[i]) return;
        s->fed++;
        e->stats.right++;
        paged_keep(e, s);
        row = s->guess_row + i;
        pick = s->guess_picks[i];
    }
}

static void count(struct engine *e, int64_t total, double seconds) {
    struct engine_stats *t = &e->stats;
    if (!t->launches++) t->start.first = seconds;
    t->prompts += t->last_prompts;
    t->written += t->last_texts;
    t->last_seconds = seconds;
    if (total == t->last_prompts + t->last_texts) fill_learn(e, seconds);
    t->prompt_seconds += seconds * (double)t->last_prompts / (double)total;
    t->text_seconds += seconds * (double)(t->last_texts + e->guessed) / (double)total;
}

/* How likely the tokens of its prompt were that follow those of the launch. False: it is no more.
 */
static bool tell_prompt(struct engine *e, struct sequence *s) {
    char err[LLM_ERR];
    struct likelihood top[MAX_TOP_LOGPROBS];
    for (int64_t i = 0; i < s->ntold; i++) {
        size_t at = s->had + (size_t)i + 1;
        if (at >= s->job.n) break;
        if (!lm_read_row(e->lm, s->told_row + i, e->kept, err)) {
            engine_finish(e, s, ENGINE_FAILED, err);
            return false;
        }
        struct engine_token token = {.id = s->ids[at], .top = top};
        token.ntop =
            sampler_logprobs(e->sampler, e->kept, token.id, s->job.prompt_top, &token.logprob, top);
        s->job.sink.prompt(s->job.sink.user, at, &token);
    }
    if (s->row < 0 || s->job.most > 0) return true;
    engine_finish(e, s, ENGINE_LENGTH, NULL);
    return false;
}

void launch_take(struct engine *e, int64_t total, double seconds) {
    if (e->is_done || (!e->stats.last_prompts && !e->stats.last_texts)) return;
    e->is_done = true;
    count(e, total, seconds);
    for (int64_t i = 0; i < e->nactive; i++)
        paged_keep(e, e->active[i]);
    /* From the end, since one that ends leaves the list. */
    for (int64_t i = e->nactive; i-- > 0;) {
        e->active[i]->launched = false;
        if (e->active[i]->job.tells_prompt && !tell_prompt(e, e->active[i])) continue;
        if (e->active[i]->row < 0) continue;
        if (e->active[i]->job.vector)
            whole_take(e, e->active[i]);
        else if (e->steps > 1)
            extend_by_steps(e, e->active[i]);
        else
            extend_all(e, e->active[i]);
    }
    e->stats.read += e->lm->read;
}

void sequence_tell(struct sequence *s) {
    if (s->told && s->job.sink.later) s->job.sink.later(s->job.sink.user);
    s->told = false;
}

void launch_tell(struct engine *e) {
    for (int64_t i = 0; i < e->nactive; i++)
        sequence_tell(e->active[i]);
}

/* ---- when it was not done ---- */

bool launch_is_wanted(const struct engine *e) {
    for (int64_t i = 0; i < e->nactive && !e->launcher->stop; i++)
        if (e->active[i]->launched && !e->active[i]->cancelled) return true;
    return false;
}

void launch_take_back(struct engine *e) {
    if (e->is_done) return;
    e->stats.cancelled += e->stats.last_prompts || e->stats.last_texts;
    for (int64_t i = 0; i < e->nactive; i++)
        e->active[i]->fed = e->active[i]->had;
}

/* Those in the launch are lost, whatever became of it; the others begin again only where the device
 * has to be opened anew, since their keys and values were on it. */
void launch_fail(struct engine *e, bool lost, const char *why) {
    e->stats.failures += !e->is_done && (e->stats.last_prompts || e->stats.last_texts);
    for (int64_t i = e->nactive; i-- > 0;)
        if (e->active[i]->launched) engine_finish(e, e->active[i], ENGINE_FAILED, why);
    if (!lost) return;
    e->lm = NULL;
    slots_lost(e);
}
