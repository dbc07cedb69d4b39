/* perplexity.c - the perplexity of a text.
 *
 * The text is read in windows of as many tokens as the model keeps, or fewer. Each window begins
 * with what the tokenizer puts in front of a text, and STRIDE tokens later than the one before; of
 * each only the tokens count that no window before it had, so that each token counts once, with at
 * least WINDOW - STRIDE tokens in front of it but for the first ones. */
#include "examples/llm/feed.h"
#include "examples/llm/options.h"
#include "examples/llm/tokenizer/tokenizer.h"
#include "runtime/files/input.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const struct options *o;
    struct lm_kernel kernel;
    struct lm *lm; /* its only decoder */
    struct tokenizer *tokenizer;
    struct ids front, text;
    int64_t room, stride; /* tokens of the text in a window, and from one to the next */
    int64_t windows;
    double nats;
    int64_t scored;
};

/* ---- the text ---- */

/* What is put in front of a text, told by a short one with and without. */
static bool find_front(struct reading *r, char *err) {
    struct ids with = {0}, bare = {0};
    bool ok = tokenizer_encode(r->tokenizer, "a", 1, &with, err) &&
              tokenizer_encode_as(r->tokenizer, "a", 1, TOKENIZER_BARE, &bare, err);
    for (size_t i = 0; ok && i + bare.n <= with.n; i++) {
        if (bare.n && !memcmp(with.v + i, bare.v, bare.n * sizeof *bare.v)) break;
        ok = ids_add(&r->front, with.v[i]) || llm_fail(err, "out of memory");
    }
    free(with.v);
    free(bare.v);
    return ok;
}

static bool read_text(struct reading *r) {
    enum { MOST = 1 << 30 };
    char err[LLM_ERR], why[ET_WHY];
    size_t bytes;
    if (!tokenizer_load(r->o->model, &r->tokenizer, err)) return llm_complain("%s", err);
    if (!find_front(r, err)) return llm_complain("%s", err);
    char *text = et_file_read(r->o->file, MOST, &bytes, why);
    if (!text) return llm_complain("%s: %s", r->o->file, why);
    bool ok = tokenizer_encode_as(r->tokenizer, text, bytes, TOKENIZER_BARE | TOKENIZER_NO_SPECIALS,
                                  &r->text, err) ||
              llm_complain("%s: %s", r->o->file, err);
    free(text);
    if (ok) warn_dropped(r->o->file, &r->text);
    return ok;
}

static bool check_tokens(const struct reading *r) {
    if (!r->text.n || r->text.n + r->front.n < 2)
        return llm_complain("%s: the text has %zu tokens, which is too few", r->o->file, r->text.n);
    for (size_t i = 0; i < r->front.n + r->text.n; i++) {
        int32_t id = i < r->front.n ? r->front.v[i] : r->text.v[i - r->front.n];
        if (id < 0 || id >= r->lm->vocab)
            return llm_complain("%s: the tokenizer has token %d, but the kernel a vocabulary of "
                                "%" PRId64,
                                r->o->file, (int)id, r->lm->vocab);
    }
    return true;
}

static bool find_windows(struct reading *r) {
    const struct options *o = r->o;
    int64_t window = o->window ? o->window : r->lm->context, front = (int64_t)r->front.n;
    int64_t n = (int64_t)r->text.n;
    if (window > r->lm->context)
        return llm_complain("--window %" PRId64 ": the kernel keeps %" PRId64 " positions", window,
                            r->lm->context);
    r->room = window - front;
    if (r->room < 1 || window < 2)
        return llm_complain("--window %" PRId64 ": there is no room for text", window);
    /* The first token of a window has no context, and so no probability. */
    int64_t most = front ? r->room : r->room - 1;
    r->stride = o->stride ? o->stride : most > 1 ? most / 2 : 1;
    if (r->stride > most)
        return llm_complain("--stride %" PRId64 ": tokens would be left out; at most %" PRId64,
                            r->stride, most);
    r->windows = n <= r->room ? 1 : 1 + (n - r->room + r->stride - 1) / r->stride;
    return true;
}

/* ---- windows, as sequences ---- */

static int64_t window_length(void *user, int64_t w) {
    const struct reading *r = user;
    int64_t left = (int64_t)r->text.n - w * r->stride;
    return (int64_t)r->front.n + (left < r->room ? left : r->room);
}

static int32_t window_token(void *user, int64_t w, int64_t position) {
    const struct reading *r = user;
    int64_t front = (int64_t)r->front.n;
    return position < front ? r->front.v[position] : r->text.v[w * r->stride + position - front];
}

/* Minus the logarithm of what the model gives TOKEN. */
static double surprise(const float *logits, int64_t vocab, int32_t token) {
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < vocab; i++)
        most = logits[i] > most ? logits[i] : most;
    for (int64_t i = 0; i < vocab; i++)
        sum += exp(logits[i] - most);
    return log(sum) + most - logits[token];
}

static void score_row(void *user, int64_t w, int64_t position, const float *logits) {
    struct reading *r = user;
    int64_t next = position + 1 - (int64_t)r->front.n; /* of the text, from the window's start */
    int64_t seen = w ? r->room - r->stride : 0;
    if (position + 1 >= window_length(user, w) || next < seen || next < 0) return;
    r->nats += surprise(logits, r->lm->vocab, window_token(user, w, position + 1));
    r->scored++;
}

static bool read_windows(struct reading *r) {
    char err[LLM_ERR];
    struct feed f = {.lm = r->lm,
                     .count = r->windows,
                     .user = r,
                     .length = window_length,
                     .token = window_token,
                     .row = score_row};
    if (!feed_run(&f, err)) return llm_complain("%s", err);
    double mean = r->nats / (double)r->scored;
    printf("perplexity %.6f: %.6f nats a token, %" PRId64 " of %zu tokens, %" PRId64
           " windows of %" PRId64 " every %" PRId64 "\n",
           exp(mean), mean, r->scored, r->text.n, r->windows, r->room + (int64_t)r->front.n,
           r->stride);
    feed_tell(&f);
    return true;
}

bool perplexity(const struct options *o) {
    struct reading r = {.o = o};
    char err[LLM_ERR];
    bool ok = read_text(&r) && (lm_open_only(&r.kernel, o->kernel, o->model, o->device,
                                             o->expert_cache, &r.lm, err) ||
                                llm_complain("%s", err));
    ok = ok && check_tokens(&r) && find_windows(&r) && read_windows(&r);
    lm_close(&r.kernel);
    tokenizer_free(r.tokenizer);
    free(r.front.v);
    free(r.text.v);
    return ok;
}
