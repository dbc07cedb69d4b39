/* An engine's share of a launch: filled with tokens of its sequences. */
#include "examples/llm/engine/parts.h"
#include <string.h>

/* ---- tokens of a sequence ---- */

/* A prompt is read until all but its last token are fed; then each launch feeds one token. */
static bool is_reading(const struct sequence *s) {
    return s->n - s->fed > 1;
}

/* Scans may go through rows of a prompt together from a position that CHUNK divides to the next
 * one, and through others one by one, with other sums: what a launch has of a prompt ends at such a
 * position, unless the prompt ends or there is room for less. */
static int64_t whole_chunks(const struct engine *e, const struct sequence *s, int64_t most) {
    int64_t at = (int64_t)s->fed, left = (int64_t)s->n - at, chunk = e->lm->chunk;
    if (!chunk || most >= left - 1) return most;
    int64_t whole = (at + most) / chunk * chunk - at;
    return whole > 0 || s->fed > s->had ? whole : most;
}

static int64_t feed(struct engine *e, struct sequence *s, int64_t most) {
    int64_t fed = 0, last = -1;
    int64_t room = e->batch - e->lm->n;
    if (most > room) most = room;
    if (most > (int64_t)(s->n - s->fed)) most = (int64_t)(s->n - s->fed);
    if (s->cut && most > (int64_t)(s->cut - s->fed)) most = (int64_t)(s->cut - s->fed);
    most = paged_reach(e, s, (int64_t)s->fed + most) - (int64_t)s->fed;
    /* The last one waits where its logits have no place, or what may follow is not known yet. */
    bool waits = s->job.sink.ready && s->job.sink.ready(s->job.sink.user) == TURN_WAIT;
    if (most == (int64_t)(s->n - s->fed) && (waits || !lm_rows_left(e->lm))) most--;
    bool tells = s->job.tells_prompt && s->fed < s->job.n;
    if (tells && most > lm_rows_left(e->lm)) most = lm_rows_left(e->lm);
    if (!s->cut || s->cut != s->fed + (size_t)most) most = whole_chunks(e, s, most);
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
struct history history_of(const struct engine *e, const struct sequence *s, size_t n) {
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
    if (s->cut && most > (int64_t)s->cut - fed + 1) most = (int64_t)s->cut - fed + 1;
    return most;
}

static bool reads_any(const struct engine *e) {
    for (int64_t i = 0; i < e->nactive; i++)
        if (is_reading(e->active[i])) return true;
    return false;
}

/* A launch of nothing but texts, while nobody else waits, goes on by itself. Pages are taken once
 * it is known how far. */
static int64_t repeat(struct engine *e, int64_t texts, int64_t prompts) {
    int64_t steps = e->lm->max_steps;
    if (e->o->steps && steps > e->o->steps) steps = e->o->steps;
    if (prompts || e->guessed || !texts || reads_any(e) || queue_waits(e)) return 1;
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

/* ---- how much of which prompt ---- */

enum {
    LONG = 3, /* times as long as the texts would: others then feel a launch with prompts */
};

/* A launch with prompts and texts that takes LONG times as long as the texts would: they wait for
 * that in each, however much of the prompts is in it. */
static bool is_long(const struct engine *e) {
    const struct ways *w = &e->ways;
    return w->text && e->stats.last_texts <= 2 * w->texts && w->took > LONG * w->text;
}

static int64_t chunk_of(const struct engine *e) {
    int64_t n = e->chunk << e->ways.tried;
    return n < e->batch ? n : e->batch;
}

/* Tokens of so many PROMPTS beside TEXTS: a chunk of each, or of all where launches are long or
 * that was asked for. Larger chunks count the texts, so that rows fill whole tiles. */
static int64_t room_beside(const struct engine *e, int64_t texts, int64_t prompts) {
    int64_t chunk = chunk_of(e);
    if (e->o->chunk) return chunk;
    if (chunk - texts < e->chunk)
        chunk = e->chunk;
    else if (e->ways.tried)
        chunk -= texts;
    if (is_long(e)) return chunk;
    return chunk < e->batch / prompts ? chunk * prompts : e->batch;
}

/* How many tokens of its prompt it had not fed before the launch. */
static int64_t unread(const struct sequence *s) {
    return s->n - s->had > 1 ? (int64_t)(s->n - s->had) : 0;
}

/* The shortest of the prompts that have no share yet. */
static struct sequence *shortest(const struct engine *e) {
    struct sequence *found = NULL;
    for (int64_t i = 0; i < e->nactive; i++) {
        struct sequence *s = e->active[i];
        if (!s->share && unread(s) && (!found || unread(s) < unread(found))) found = s;
    }
    return found;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Of MOST tokens of prompts the oldest has half, so that none waits for ever; of what is left the
 * shortest is read first, so that most wait least. What is cut, is in whole chunks of a scan. */
static void share(struct engine *e, int64_t most) {
    int64_t whole = e->lm->chunk ? e->lm->chunk : 1, left = most;
    struct sequence *oldest = NULL, *next;
    for (int64_t i = e->nactive; i-- > 0;) {
        e->active[i]->share = 0;
        if (unread(e->active[i])) oldest = e->active[i];
    }
    if (!oldest) return;
    int64_t half = ((most + 1) / 2 + whole - 1) / whole * whole;
    left -= oldest->share = least(unread(oldest), least(half, most));
    while (left > 0 && (next = shortest(e)) != NULL) {
        next->share = unread(next) <= left ? unread(next) : left / whole * whole;
        if (!next->share) break;
        left -= next->share;
    }
    oldest->share = least(unread(oldest), oldest->share + left);
}

/* ---- which rows lie side by side ---- */

/* How many texts get a next token, if none has to wait. *OUT_TILES: into how many tiles they are
 * dealt, beside what PROMPTS have: a tile reads the keys of one text after another's, and those of
 * a prompt that lies in it twice twice. Rows of a prompt that are asked for stay together, and so
 * do those along which a state goes. */
static int64_t deal(const struct engine *e, int64_t texts, int64_t prompts) {
    int64_t tile = e->lm->tile, all = texts + prompts < e->batch ? texts + prompts : e->batch;
    bool apart = !e->lm->recurs && tile > 1;
    for (int64_t i = 0; i < e->nactive; i++) {
        const struct sequence *s = e->active[i];
        if (s->job.tells_prompt && s->fed < s->job.n) apart = false;
    }
    return apart && texts && prompts ? (all + tile - 1) / tile : 1;
}

/* The next tokens of up to MOST texts, from number *AT of this turn on. */
static int64_t feed_texts(struct engine *e, int64_t *at, int64_t most) {
    int64_t fed = 0;
    for (; *at < e->nactive && fed < most; ++*at) {
        struct sequence *s = e->active[(e->turn + *at) % e->nactive];
        if (!is_reading(s) && !s->launched) fed += feed(e, s, 1);
    }
    return fed;
}

/* Up to MOST tokens of prompts, of each what its share leaves. */
static int64_t feed_prompts(struct engine *e, int64_t most) {
    int64_t fed = 0;
    for (int64_t i = 0; i < e->nactive && fed < most; i++) {
        struct sequence *s = e->active[(e->turn + i) % e->nactive];
        int64_t left = s->share - (int64_t)(s->fed - s->had);
        if (left > most - fed) left = most - fed;
        if (left > 0) fed += feed(e, s, left);
    }
    return fed;
}

/* Texts and prompts in one launch: as many texts in each tile, with prompts behind them. Where
 * nobody's next token waits for this launch, the prompts take what room is left. */
static void fill_mixed(struct engine *e, int64_t texts, int64_t *out_texts, int64_t *out_prompts) {
    int64_t at = 0, tile = e->lm->tile, prompts = 0, reads = e->nactive - texts;
    e->ways.room = texts && reads ? room_beside(e, texts, reads) : e->batch;
    share(e, e->ways.room);
    for (int64_t i = 0; i < e->nactive; i++)
        prompts += e->active[i]->share;
    for (int64_t tiles = deal(e, texts, prompts); tiles > 1; tiles--) {
        int64_t end = (e->lm->n / tile + 1) * tile, each = (texts - *out_texts + tiles - 1) / tiles;
        *out_texts += feed_texts(e, &at, each);
        if (end > e->lm->n) *out_prompts += feed_prompts(e, end - e->lm->n);
    }
    *out_texts += feed_texts(e, &at, e->nactive);
    *out_prompts += feed_prompts(e, e->batch);
    if (*out_texts) return;
    share(e, e->batch);
    *out_prompts += feed_prompts(e, e->batch);
}

/* ---- together or in turns ---- */

enum {
    AGAIN = 32,   /* launches with prompts, and the other way is tried again: */
    SELDOM = 256, /* twice as many each time that it was not better, up to so many; unless they are
                     long, since texts would wait twice then */
};

/* Whether prompts are read beside texts or in launches of their own, between two of texts, is
 * decided by what a token of a prompt took in either: weights are read once where they are
 * together, but attention of many texts in few tiles takes long where weights are small. */
static bool go_apart(struct engine *e) {
    struct ways *w = &e->ways;
    const double *s = w->seconds, *n = w->tokens;
    if (!w->text || !n[0]) return false;
    if (w->alone + w->text > LONG * w->text && is_long(e)) return false;
    if (!n[1]) return true;
    bool apart = s[1] * n[0] < s[0] * n[1];
    if (apart != w->was_apart || !w->again) w->again = AGAIN;
    w->was_apart = apart;
    if (!apart && w->more > LONG * w->text) return false;
    if (++w->turn < w->again) return apart;
    w->turn = 0;
    if (w->again < SELDOM) w->again *= 2;
    return !apart;
}

/* ---- how large a chunk ----
 *
 * What a launch takes may hardly depend on it: the rows of a long prompt are in tiles that go
 * through its positions beside each other, and weights are read once. So chunks are doubled while
 * texts wait little longer for it, which is tried now and then, half as often each time that they
 * wait much longer, and halved where that helps. */

enum { TRY = 4, MOST_TRY = 128 };

static void choose_chunk(struct engine *e) {
    struct ways *w = &e->ways;
    w->tried = w->doubled;
    if (e->o->chunk || !w->took || ++w->since % TRY) return;
    bool less = w->doubled && (w->since / TRY % 2 || is_long(e));
    if (less)
        w->tried--;
    else if (w->doubled < MOST_DOUBLED && e->chunk << w->doubled < e->batch &&
             w->since >= w->more_at && !is_long(e))
        w->tried++;
}

static void learn_chunk(struct engine *e, double seconds) {
    const double longer = 1.15, much = 1.4;
    struct ways *w = &e->ways;
    int64_t n = e->stats.last_prompts;
    if (n < w->room && n + e->stats.last_texts < e->batch) return;
    bool more = w->tried > w->doubled;
    bool better = more ? seconds <= longer * w->took : w->took > longer * seconds;
    if (more && seconds <= much * w->took) w->wait = TRY / 2;
    if (more && w->wait < MOST_TRY) w->wait = w->wait ? 2 * w->wait : TRY;
    if (more) w->more_at = w->since + w->wait;
    if (w->tried != w->doubled && !better) return;
    w->doubled = w->tried;
    w->took = seconds;
}

void fill_learn(struct engine *e, double seconds) {
    enum { KEPT = 15, OF = 16 };
    struct ways *w = &e->ways;
    int64_t prompts = e->stats.last_prompts;
    if (!prompts) {
        seconds /= (double)e->steps;
        w->text = w->text ? (w->text * KEPT + seconds) / OF : seconds;
        w->texts = e->stats.last_texts;
        return;
    }
    bool apart = w->apart;
    if (!w->text || (!apart && !e->stats.last_texts)) return;
    if (!apart) learn_chunk(e, seconds);
    if (apart) w->alone = seconds;
    double more = apart ? seconds : seconds > w->text ? seconds - w->text : 0;
    if (!apart) w->more = more;
    w->seconds[apart] = w->seconds[apart] * KEPT / OF + more;
    w->tokens[apart] = w->tokens[apart] * KEPT / OF + (double)prompts;
}

/* The next token of each text that is written, and of prompts a chunk; or in turns, then two. At
 * first the texts alone, so that it is known what they take. */
static void fill(struct engine *e, int64_t *out_texts, int64_t *out_prompts) {
    choose_chunk(e);
    int64_t texts = 0, at = 0;
    for (int64_t i = 0; i < e->nactive; i++)
        texts += !is_reading(e->active[i]);
    bool both = texts && reads_any(e), was = e->ways.apart || (!e->ways.text && !e->ways.held);
    *out_texts = *out_prompts = 0;
    e->ways.apart = both && !was && go_apart(e);
    if (e->ways.apart) {
        share(e, 2 * chunk_of(e) < e->batch ? 2 * chunk_of(e) : e->batch);
        *out_prompts = feed_prompts(e, e->batch);
    } else if (both && was && (e->ways.held = true))
        *out_texts = feed_texts(e, &at, e->nactive);
    if (!*out_texts && !*out_prompts) {
        e->ways.apart = false;
        fill_mixed(e, texts, out_texts, out_prompts);
    }
}

/* Where all have their next token in each launch they keep their rows, of which inputs then need
 * not be sent again. */
static bool may_leave_out(const struct engine *e) {
    return e->nactive > e->batch || e->nactive > e->lm->max_rows || e->o->speculate || reads_any(e);
}

int64_t launch_fill(struct engine *e) {
    int64_t texts, prompts;
    if (e->lm->flat) return whole_fill(e);
    states_keep(e);
    if (may_leave_out(e)) e->turn++;
    for (int64_t i = e->nactive; i-- > 0;) {
        struct sequence *s = e->active[i];
        if (s->job.sink.ready && s->job.sink.ready(s->job.sink.user) == TURN_OVER)
            engine_finish(e, s, ENGINE_STOP, NULL);
    }
    paged_reserve(e);
    states_cut(e);
    for (int64_t i = 0; i < e->nactive; i++) {
        e->active[i]->ntold = 0;
        e->active[i]->row = -1;
        e->active[i]->launched = false;
        e->active[i]->nguesses = 0;
        e->active[i]->had = e->active[i]->fed;
    }
    fill(e, &texts, &prompts);
    e->guessed = 0;
    e->is_done = false;
    for (int64_t i = 0; i < e->nactive && e->o->speculate && !e->lm->recurs; i++)
        feed_guesses(e, e->active[(e->turn + i) % e->nactive]);
    for (int64_t i = 0; i < e->nactive; i++)
        choose_all(e, e->active[i]);
    e->steps = repeat(e, texts, prompts);
    for (int64_t i = 0; i < e->nactive; i++)
        if (e->active[i]->launched)
            e->active[i]->reached = e->active[i]->fed + (size_t)e->steps - 1;
    e->stats.guessed += e->guessed;
    e->stats.last_texts = texts;
    e->stats.last_prompts = prompts;
    return texts + prompts + e->guessed;
}
