/* One engine's share of a launch: filled with tokens of its sequences, and its logits made tokens
 * again. */
#include "examples/llm/engine/parts.h"
#include <math.h>
#include <string.h>

/* ---- filling ---- */

/* A prompt is read until all but its last token are fed; then each launch feeds one token. */
static bool is_reading(const struct sequence *s) {
    return s->n - s->fed > 1;
}

static int64_t feed(struct engine *e, struct sequence *s, int64_t most) {
    int64_t fed = 0, last = -1;
    int64_t room = e->batch - e->lm->n;
    if (most > room) most = room;
    if (most > (int64_t)(s->n - s->fed)) most = (int64_t)(s->n - s->fed);
    most = paged_reach(e, s, (int64_t)s->fed + most) - (int64_t)s->fed;
    /* The last one waits where its logits have no place, or what may follow is not known yet. */
    bool waits = s->job.sink.ready && s->job.sink.ready(s->job.sink.user) == TURN_WAIT;
    if (most == (int64_t)(s->n - s->fed) && (waits || !lm_rows_left(e->lm))) most--;
    bool tells = s->job.tells_prompt && s->fed < s->job.n;
    if (tells && most > lm_rows_left(e->lm)) most = lm_rows_left(e->lm);
    for (; fed < most; fed++, s->fed++) {
        last = lm_add(e->lm, s->ids[s->fed], (int64_t)s->fed, s->slot);
        if (!tells) continue;
        int64_t row = lm_ask(e->lm, last);
        if (!s->ntold++) s->told_row = row;
    }
    /* Otherwise its last token is still to come. */
    if (fed && s->fed == s->n) s->row = tells ? s->told_row + s->ntold - 1 : lm_ask(e->lm, last);
    if (fed) s->launched = true;
    if (fed && e->pages) lm_deal(e->lm, s->slot, s->pages, s->npages);
    return fed;
}

/* Add guesses behind the next token of a text, where there is spare room. */
static void feed_guesses(struct engine *e, struct sequence *s) {
    const int32_t *guess;
    int64_t at = (int64_t)s->fed, most = e->o->speculate;
    int64_t room = e->batch - e->lm->n, left = s->job.most - s->result.generated - 1;
    if (most > MAX_GUESSES) most = MAX_GUESSES;
    if (most > room) most = room;
    if (most > left) most = left; /* more would not be used */
    if (most > lm_rows_left(e->lm)) most = lm_rows_left(e->lm);
    if (most > e->sizes.context - at) most = e->sizes.context - at;
    /* What may follow a guess would have to be asked before it came. */
    if (s->row < 0 || most < 1 || s->job.sink.ready) return;
    int64_t n = guess_next(s->ids, (int64_t)s->n, most, &guess);
    n = paged_reach(e, s, at + n) - at;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = lm_ask(e->lm, lm_add(e->lm, guess[i], at + i, s->slot));
        if (!i) s->guess_row = row;
        s->guesses[i] = guess[i];
    }
    s->nguesses = n > 0 ? n : 0;
    e->guessed += s->nguesses;
    if (e->pages) lm_deal(e->lm, s->slot, s->pages, s->npages);
}

/* ---- what is chosen on the device ---- */

/* The first N tokens of a sequence; those that end a text must not come while it is short. */
static struct history history_of(const struct engine *e, const struct sequence *s, size_t n) {
    const struct engine_job *j = &s->job;
    bool early = (int64_t)(n - j->n) < j->least && !j->run_on;
    return (struct history){s->ids, j->n, n, e->stops, early ? e->nstops : 0};
}

/* Which tokens may follow, as logits of 0 in e->row. False: there is no saying before the launch.
 */
static bool mask_next(struct engine *e, struct sequence *s, size_t n) {
    memset(e->row, 0, (size_t)e->sizes.vocab * sizeof *e->row);
    return n == s->n && s->job.sink.mask(s->job.sink.user, e->row, e->sizes.vocab);
}

/* Has the launch choose what follows the first N tokens of S; -1: from the logits of ROW here. */
static int64_t choose(struct engine *e, struct sequence *s, int64_t row, size_t n) {
    const struct engine_job *j = &s->job;
    int64_t pick = -1;
    if ((e->lm->picks.all || e->lm->picks.likeliest) && (!j->sink.mask || mask_next(e, s, n))) {
        const struct change *changes;
        struct history h = history_of(e, s, n);
        struct drawing d = sampler_drawing(&j->sampling, e->sizes.vocab, n - j->n);
        size_t nchanges = sampler_changes(e->sampler, &j->sampling, &h, &changes);
        pick = lm_pick(e->lm, row, &d, changes, nchanges, j->sink.mask ? e->row : NULL);
    }
    return pick;
}

/* Guesses are written behind its tokens for that, where what comes is written over them. */
static void choose_all(struct engine *e, struct sequence *s) {
    if (s->row < 0 || s->job.vector) return;
    s->pick = choose(e, s, s->row, s->n);
    for (int64_t i = 0; i < s->nguesses; i++) {
        size_t n = s->n + (size_t)i;
        s->ids[n] = s->guesses[i];
        s->guess_picks[i] = choose(e, s, s->guess_row + i, n + 1);
    }
}

/* ---- several steps ---- */

/* Are all of its next tokens, whatever they are, the likeliest ones of logits as they come? */
static bool is_plain(const struct engine_job *j) {
    const struct sampling *p = &j->sampling;
    return p->temperature == 0 && p->repetition == 1 && p->frequency == 0 && p->presence == 0 &&
           !p->nbias && !j->sink.mask && j->top < 0;
}

/* How many steps S can go, up to MOST: while it may have more tokens, and has places for them. */
static int64_t steps_of(struct engine *e, struct sequence *s, int64_t most) {
    int64_t left = s->job.most - s->result.generated, fed = (int64_t)s->fed;
    if (s->row < 0 || s->pick < 0 || !is_plain(&s->job)) return 1;
    if (most > left) most = left;
    if (most > e->sizes.context - fed + 1) most = e->sizes.context - fed + 1;
    return most;
}

/* A launch of nothing but texts, while nobody else waits, goes on by itself. Pages are taken once
 * it is known how far. */
static int64_t repeat(struct engine *e, int64_t texts, int64_t prompts) {
    int64_t steps = e->lm->max_steps;
    if (e->o->steps && steps > e->o->steps) steps = e->o->steps;
    if (prompts || e->guessed || !texts || queue_waits(e)) return 1;
    for (int64_t i = 0; i < e->nactive && steps > 1; i++)
        steps = steps_of(e, e->active[i], steps);
    for (int64_t i = 0; i < e->nactive && steps > 1; i++) {
        struct sequence *s = e->active[i];
        int64_t fed = (int64_t)s->fed, reach = paged_reach(e, s, fed + steps - 1);
        if (reach < fed + steps - 1) steps = reach - fed + 1;
    }
    if (steps < 2) return 1;
    for (int64_t i = 0; i < e->nactive && e->pages; i++)
        lm_deal(e->lm, e->active[i]->slot, e->active[i]->pages, e->active[i]->npages);
    lm_repeat(e->lm, steps);
    return steps;
}

/* Those that are written come first, one token each; then the prompts in turn, a chunk each; and
 * where nobody's next token waits for this launch, the prompts take what room is left. */
int64_t launch_fill(struct engine *e) {
    int64_t texts = 0, prompts = 0;
    if (e->lm->flat) return whole_fill(e);
    e->turn++;
    for (int64_t i = e->nactive; i-- > 0;) {
        struct sequence *s = e->active[i];
        if (s->job.sink.ready && s->job.sink.ready(s->job.sink.user) == TURN_OVER)
            engine_finish(e, s, ENGINE_STOP, NULL);
    }
    paged_reserve(e);
    for (int64_t i = 0; i < e->nactive; i++) {
        e->active[i]->ntold = 0;
        e->active[i]->row = -1;
        e->active[i]->launched = false;
        e->active[i]->nguesses = 0;
        e->active[i]->had = e->active[i]->fed;
    }
    for (int64_t i = 0; i < e->nactive; i++) {
        struct sequence *s = e->active[(e->turn + i) % e->nactive];
        if (!is_reading(s)) texts += feed(e, s, 1);
    }
    for (int pass = 0; pass < (texts ? 1 : 2); pass++)
        for (int64_t i = 0; i < e->nactive; i++) {
            struct sequence *s = e->active[(e->turn + i) % e->nactive];
            if (!s->launched || pass) prompts += feed(e, s, pass ? e->batch : e->chunk);
        }
    e->guessed = 0;
    e->is_done = false;
    for (int64_t i = 0; i < e->nactive && e->o->speculate && !e->lm->recurs; i++)
        feed_guesses(e, e->active[(e->turn + i) % e->nactive]);
    for (int64_t i = 0; i < e->nactive; i++)
        choose_all(e, e->active[i]);
    e->steps = repeat(e, texts, prompts);
    e->stats.guessed += e->guessed;
    e->stats.last_texts = texts;
    e->stats.last_prompts = prompts;
    return texts + prompts + e->guessed;
}

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
