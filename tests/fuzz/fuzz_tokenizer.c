/* tokenizer.json, and a text through the tokenizer it describes: the ids it gives are ids it knows.
 */
#include "examples/llm/tokenizer/tokenizer.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void encode(const struct tokenizer *t, const char *text) {
    char err[LLM_ERR] = "";
    struct ids ids = {0};
    if (!tokenizer_encode(t, text, strlen(text), &ids, err)) FUZZ_EXPECT(*err);
    for (size_t i = 0; i < ids.n; i++) {
        size_t bytes;
        bool special;
        tokenizer_bytes(t, ids.v[i], &bytes, &special);
    }
    free(ids.v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char err[LLM_ERR] = "";
    struct tokenizer *t = NULL;
    if (!fuzz_file("tokenizer.json", data, bytes)) return -1;
    if (!tokenizer_load(fuzz_folder(), &t, err)) {
        FUZZ_EXPECT(*err);
        return 0;
    }
    encode(t, "");
    encode(t, "Once upon a time, Tom said: \"It's 1234 o'clock!\"\n\n  <|endoftext|>");
    encode(t, "a\xc3\xa9\xcc\x81\xe2\x82\xac\xf0\x9f\x98\x80 \t\r\n\xff");
    for (int32_t id = -1; id < 300; id++) {
        size_t n;
        bool special;
        tokenizer_bytes(t, id, &n, &special);
    }
    tokenizer_free(t);
    return 0;
}
