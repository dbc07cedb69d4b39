/* answers COUNT: reads schemas, one a line, and writes for each a line of JSON: {"refused": why},
 * or
 * {"answers": [...]}, COUNT texts that its grammar lets be written, drawn at random. */
#include "examples/llm/base/buffer.h"
#include "examples/llm/grammar/grammar.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 4000 };

/* A byte that may come, of those that end a value rather than begin one once the text is long. */
static int draw(struct grammar *g, int32_t state, size_t n) {
    static const char ends[] = "\"}]";
    int may[256], found = 0;
    for (int b = 0; b < 256; b++) {
        char byte = (char)b;
        if (grammar_step(g, state, &byte, 1) >= 0) may[found++] = b;
    }
    for (int i = 0; n > 60 && i < found && random() % 4; i++)
        if (may[i] && strchr(ends, may[i])) return may[i];
    return found ? may[random() % found] : -1;
}

static json_t *answer(struct grammar *g) {
    struct buffer text = {0};
    int32_t state = grammar_start(g);
    while (text.n < MOST_BYTES && grammar_goes_on(g, state)) {
        if (grammar_ends(g, state) && random() % 3 == 0) break;
        int byte = draw(g, state, text.n);
        if (byte < 0) break;
        char c = (char)byte;
        buffer_add(&text, &c, 1);
        state = grammar_step(g, state, &c, 1);
    }
    json_t *out = grammar_ends(g, state) ? json_stringn(text.data ? text.data : "", text.n)
                  : text.n >= MOST_BYTES ? json_true() /* cut off, as at max_tokens */
                                         : json_false();
    buffer_free(&text);
    return out;
}

int main(int argc, char **argv) {
    char *line = NULL, err[LLM_ERR];
    size_t cap = 0;
    long count = argc > 1 ? atol(argv[1]) : 20;
    while (getline(&line, &cap, stdin) > 0) {
        json_t *s = json_loads(line, JSON_DECODE_ANY, NULL), *out = json_object();
        struct grammar_form form = {.before = "", .schema = s, .after = ""};
        struct grammar *g = NULL;
        if (!s)
            json_object_set_new(out, "refused", json_string("not JSON"));
        else if (!grammar_make(&form, 1, false, &g, err))
            json_object_set_new(out, "refused", json_string(err));
        json_t *answers = json_array();
        for (long i = 0; g && i < count; i++)
            json_array_append_new(answers, answer(g));
        if (g) json_object_set(out, "answers", answers);
        json_decref(answers);
        json_dumpf(out, stdout, JSON_COMPACT);
        printf("\n");
        json_decref(out);
        json_decref(s);
        grammar_free(g);
    }
    free(line);
    return 0;
}
