/* decoder.c - ids to text, one by one. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>

struct lm_decoder {
    const struct tokenizer *tokenizer;
    unsigned flags;
    struct utf8_gate gate;
    struct bytes out;
};

struct lm_decoder *lm_decoder_new(const struct tokenizer *t, unsigned flags) {
    struct lm_decoder *d = calloc(1, sizeof *d);
    if (d) *d = (struct lm_decoder){.tokenizer = t, .flags = flags};
    return d;
}

void lm_decoder_free(struct lm_decoder *d) {
    if (!d) return;
    free(d->out.p);
    free(d);
}

/* Adds to what is in D->out. */
static bool add(struct lm_decoder *d, int32_t id) {
    size_t n;
    bool special;
    const char *p = tokenizer_bytes(d->tokenizer, id, &n, &special);
    if (!p || (special && !(d->flags & LM_DECODER_SPECIALS))) return true;
    return d->flags & LM_DECODER_RAW ? bytes_add(&d->out, p, n)
                                     : utf8_gate_put(&d->gate, p, n, &d->out);
}

static bool end(struct lm_decoder *d) {
    return utf8_gate_end(&d->gate, &d->out);
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
    struct lm_decoder d = {.tokenizer = t, .flags = flags};
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = add(&d, ids[i]);
    ok = ok && end(&d) && bytes_add(&d.out, "", 0);
    if (!ok) {
        free(d.out.p);
        d.out = (struct bytes){0};
    }
    *out_text = d.out.p;
    *out_bytes = d.out.n;
    return ok;
}
