/* What an answer must be: the first byte says whether a JSON schema, a regular expression, a
 * grammar or a list of choices follows. What is taken can be written under, to its end if that
 * comes soon; what fits a schema is JSON that fits it. */
#include "examples/llm/grammar/grammar.h"
#include "examples/llm/base/buffer.h"
#include "examples/llm/grammar/schema.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = FUZZ_SMALL ? 150 : 600 };

static void check_value(const json_t *schema, const struct buffer *text) {
    char err[LLM_ERR] = "";
    struct maker m = {.root = schema, .err = err, .made = json_array()};
    json_t *value = json_loadb(text->data, text->n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    FUZZ_EXPECT(value);
    FUZZ_EXPECT(schema_fits(&m, schema, value) || m.failed);
    for (int i = 0; i < m.npatterns; i++)
        machine_free(m.patterns[i].machine);
    free(m.patterns);
    json_decref(m.made);
    json_decref(value);
}

/* A byte that may come, the RANDOM-th, or one that ends something once the text is long. */
static int choose(struct grammar *g, int32_t state, unsigned random, size_t n) {
    int may[256], found = 0;
    for (int b = 0; b < 256; b++) {
        char byte = (char)b;
        if (grammar_step(g, state, &byte, 1) >= 0) may[found++] = b;
    }
    for (int i = 0; n > 40 && i < found; i++)
        if (may[i] == '"' || may[i] == '}' || may[i] == ']') return may[i];
    return found ? may[random % (unsigned)found] : -1;
}

static void write_texts(struct grammar *g, const json_t *schema) {
    unsigned random = 1;
    for (int round = 0; round < 3; round++) {
        struct buffer text = {0};
        int32_t state = grammar_start(g);
        while (text.n < MOST_BYTES && grammar_goes_on(g, state)) {
            random = random * 1103515245u + 12345u;
            if (grammar_ends(g, state) && random >> 16 & 1) break;
            int byte = choose(g, state, random >> 8, text.n);
            /* Nothing leads nowhere, but for an automaton that grew too large. */
            if (byte < 0) break;
            char c = (char)byte;
            buffer_add(&text, &c, 1);
            state = grammar_step(g, state, &c, 1);
        }
        if (schema && grammar_ends(g, state)) check_value(schema, &text);
        buffer_free(&text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char err[LLM_ERR] = "";
    struct grammar *g;
    if (bytes < 2) return -1;
    enum grammar_kind kind = (enum grammar_kind)(*data % 4);
    char *text = strndup((const char *)data + 1, bytes - 1);
    if (!text) return -1;
    bool json = kind == GRAMMAR_SCHEMA || kind == GRAMMAR_CHOICE;
    json_t *value = json ? json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL) : NULL;
    struct grammar_form form = {"", value, "", kind, text};
    if (value || !json) {
        if (grammar_make(&form, 1, false, &g, err)) {
            write_texts(g, kind == GRAMMAR_SCHEMA ? value : NULL);
            grammar_free(g);
        } else {
            FUZZ_EXPECT(*err);
        }
    }
    json_decref(value);
    free(text);
    return 0;
}
