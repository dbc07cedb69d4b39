/* tokenizer.json, and texts through the tokenizer it describes: the ids it gives are ids it knows,
 * and token by token they give the text that they give at once, in whole characters. */
#include "examples/llm/tokenizer/parts.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void decode(const struct tokenizer *t, const struct ids *ids, unsigned flags) {
    struct lm_decoder *d = lm_decoder_new(t, flags);
    struct bytes joined = {0};
    const char *part;
    char *all;
    size_t n, bytes;
    FUZZ_EXPECT(d && tokenizer_decode(t, ids->v, ids->n, flags, &all, &bytes));
    for (size_t i = 0; i <= ids->n; i++) {
        FUZZ_EXPECT(i < ids->n ? lm_decoder_push(d, ids->v[i], &part, &n)
                               : lm_decoder_flush(d, &part, &n));
        FUZZ_EXPECT((flags & LM_DECODER_RAW) || utf8_valid(part, n) == n);
        FUZZ_EXPECT(bytes_add(&joined, part, n));
    }
    FUZZ_EXPECT(joined.n == bytes && !memcmp(joined.p, all, bytes));
    free(joined.p);
    free(all);
    lm_decoder_free(d);
}

/* All special tokens of a text that may have none are the unknown one, or stand for a byte. */
static void no_specials(const struct tokenizer *t, const struct ids *ids) {
    int32_t unknown = -1;
    for (size_t i = 0; i < ids->n; i++) {
        size_t n;
        bool special;
        struct span name = tokenizer_name(t, ids->v[i]);
        if (!tokenizer_bytes(t, ids->v[i], &n, &special) || !special) continue;
        if (name.n == 6 && !memcmp(name.p, "<0x", 3)) continue;
        FUZZ_EXPECT(unknown < 0 || unknown == ids->v[i]);
        unknown = ids->v[i];
    }
}

static void encode(const struct tokenizer *t, const char *text, unsigned flags) {
    char err[LLM_ERR] = "";
    struct ids ids = {0};
    if (!tokenizer_encode_as(t, text, strlen(text), flags, &ids, err)) FUZZ_EXPECT(*err);
    for (size_t i = 0; i < ids.n; i++)
        FUZZ_EXPECT(ids.v[i] >= 0);
    if ((flags & TOKENIZER_NO_SPECIALS) && (flags & TOKENIZER_BARE)) no_specials(t, &ids);
    decode(t, &ids, 0);
    decode(t, &ids, LM_DECODER_SPECIALS);
    decode(t, &ids, LM_DECODER_SPECIALS | LM_DECODER_RAW);
    free(ids.v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char err[LLM_ERR] = "";
    struct tokenizer *t = NULL;
    if (!fuzz_file("tokenizer.json", data, bytes)) return -1;
    if (!tokenizer_load(fuzz_folder(), &t, err)) {
        FUZZ_EXPECT(*err && !t);
        return 0;
    }
    encode(t, "", 0);
    encode(t, "Once upon a time, Tom said: \"It's 1234 o'clock!\"\n\n  <|endoftext|>", 0);
    encode(t, "<s> x</s>  [MASK] HTTPServer ``q'' \xe2\x96\x81y \xe4\xba\xba\xe4\xba\xba",
           TOKENIZER_NO_SPECIALS);
    encode(t, "a\xc3\xa9\xcc\x81\xe2\x82\xac\xf0\x9f\x98\x80 \t\r\n\xff\xe2\x82 b",
           TOKENIZER_ANY_BYTES | TOKENIZER_BARE);
    encode(t, "<s></s><unk><pad>[CLS][SEP][MASK]<|endoftext|><|im_end|> a b s t <0x0A>",
           TOKENIZER_NO_SPECIALS | TOKENIZER_BARE);
    struct ids all = {0};
    for (int32_t id = -1; id < 300; id++) {
        size_t n;
        bool special;
        const char *p = tokenizer_bytes(t, id, &n, &special);
        FUZZ_EXPECT(!p || p[n] == 0);
        FUZZ_EXPECT(ids_add(&all, 299 - id));
    }
    decode(t, &all, 0);
    free(all.v);
    tokenizer_free(t);
    return 0;
}
