/* decoder.c - ids to text, one by one, in whole characters. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>

struct lm_decoder {
    const struct tokenizer *tokenizer;
    unsigned flags;
    struct decoding_ends ends;
    bool begun;   /* a token has given its text */
    int32_t cut;  /* characters cut off the beginning so far; more than asked: no more */
    int32_t held; /* characters held back, since the text may end with them */
    struct utf8_gate gate;
    struct bytes whole; /* what came through the gate in this step */
    struct bytes first; /* the first token's text, where that differs */
    struct bytes out;
};

static void restart(struct lm_decoder *d) {
    d->gate = (struct utf8_gate){.each_byte = d->ends.each_byte};
    d->begun = false;
    d->cut = d->held = 0;
}

static void start(struct lm_decoder *d, const struct tokenizer *t, unsigned flags) {
    *d = (struct lm_decoder){.tokenizer = t, .flags = flags};
    d->ends = decoding_ends(tokenizer_decoding(t));
    restart(d);
}

static void end_of(struct lm_decoder *d) {
    free(d->whole.p);
    free(d->first.p);
    free(d->out.p);
}

struct lm_decoder *lm_decoder_new(const struct tokenizer *t, unsigned flags) {
    struct lm_decoder *d = malloc(sizeof *d);
    if (d) start(d, t, flags);
    return d;
}

void lm_decoder_free(struct lm_decoder *d) {
    if (!d) return;
    end_of(d);
    free(d);
}

/* What is cut off the beginning goes; what may have to be cut off the end waits. */
static bool strip(struct lm_decoder *d, struct bytes *text) {
    const char *p = text->p;
    size_t n = text->n;
    while (n && d->cut < d->ends.start && *p == d->ends.strip) {
        p++, n--;
        d->cut++;
    }
    if (n) d->cut = d->ends.start;
    size_t last = n;
    while (last && n - last < (size_t)d->ends.stop && p[last - 1] == d->ends.strip)
        last--;
    if (last) { /* what was held is not at the end */
        for (; d->held; d->held--)
            if (!bytes_add(&d->out, &d->ends.strip, 1)) return false;
    }
    for (d->held += (int32_t)(n - last); d->held > d->ends.stop; d->held--)
        if (!bytes_add(&d->out, &d->ends.strip, 1)) return false;
    return bytes_add(&d->out, p, last);
}

static bool let_through(struct lm_decoder *d, const char *p, size_t n) {
    struct bytes *to = d->ends.strip ? &d->whole : &d->out;
    d->whole.n = 0;
    bool ok = d->flags & LM_DECODER_RAW ? bytes_add(to, p, n) : utf8_gate_put(&d->gate, p, n, to);
    return ok && (to == &d->out || strip(d, to));
}

/* Adds to what is in D->out. */
static bool add(struct lm_decoder *d, int32_t id) {
    char err[LLM_ERR];
    size_t n;
    bool special;
    const struct decoding *decoding = tokenizer_decoding(d->tokenizer);
    const char *p = tokenizer_bytes(d->tokenizer, id, &n, &special);
    if (!p || (special && !(d->flags & LM_DECODER_SPECIALS))) return true;
    if (!d->begun && decoding_first_differs(decoding)) {
        d->first.n = 0;
        if (!decoding_apply(decoding, tokenizer_name(d->tokenizer, id), true, &d->first, err))
            return false;
        p = d->first.p;
        n = d->first.n;
    }
    d->begun = true;
    return let_through(d, p, n);
}

static bool end(struct lm_decoder *d) {
    struct bytes *to = d->ends.strip ? &d->whole : &d->out;
    d->whole.n = 0;
    bool ok = utf8_gate_end(&d->gate, to) && (to == &d->out || strip(d, to));
    restart(d);
    return ok;
}

/* An empty text is one too: there is a NUL to point at. */
static bool give(struct lm_decoder *d, bool ok, const char **out_text, size_t *out_bytes) {
    ok = ok && bytes_add(&d->out, "", 0);
    *out_text = ok ? d->out.p : NULL;
    *out_bytes = ok ? d->out.n : 0;
    return ok;
}

bool lm_decoder_push(struct lm_decoder *d, int32_t id, const char **out_text, size_t *out_bytes) {
    d->out.n = 0;
    return give(d, add(d, id), out_text, out_bytes);
}

bool lm_decoder_flush(struct lm_decoder *d, const char **out_text, size_t *out_bytes) {
    d->out.n = 0;
    return give(d, end(d), out_text, out_bytes);
}

bool tokenizer_decode(const struct tokenizer *t, const int32_t *ids, size_t n, unsigned flags,
                      char **out_text, size_t *out_bytes) {
    struct lm_decoder d;
    start(&d, t, flags);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = add(&d, ids[i]);
    ok = ok && end(&d) && bytes_add(&d.out, "", 0);
    *out_text = ok ? d.out.p : NULL;
    *out_bytes = ok ? d.out.n : 0;
    if (ok) d.out.p = NULL;
    end_of(&d);
    return ok;
}
