/* check_recorded WORK ETGGUF RECORDED: folders that etgguf makes of vocabularies are read as
 * Hugging Face's libraries read them, whose ids of texts record.py wrote down. */
#include "examples/llm/tokenizer/parts.h"
#include "tests/unit/gguf/tokens.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void die(const char *what, const char *why) {
    fprintf(stderr, "check_recorded: %s: %s\n", what, why);
    exit(1);
}

static void add_fields(struct writer *w, const json_t *fields) {
    const char *key;
    char name[80];
    json_t *value;
    json_object_foreach((json_t *)fields, key, value) {
        snprintf(name, sizeof name, "tokenizer.ggml.%s", key);
        if (json_is_string(value))
            add_text(w, name, json_string_value(value));
        else if (json_is_boolean(value))
            add_bool(w, name, json_is_true(value));
        else
            add_u32(w, name, (uint32_t)json_integer_value(value));
    }
}

/* The GGUF file of what was recorded. */
static void write_gguf(const json_t *recorded, const char *path) {
    static struct vocabulary v;
    const json_t *tokens = json_object_get(recorded, "tokens"),
                 *merges = json_object_get(recorded, "merges");
    struct writer w;
    memset(&v, 0, sizeof v);
    v.n = (int)json_array_size(tokens);
    if (v.n > MOST_TOKENS) die(path, "too many tokens");
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        v.text[i] = json_string_value(json_array_get(tokens, i));
        v.type[i] =
            (int32_t)json_integer_value(json_array_get(json_object_get(recorded, "types"), i));
        v.score[i] =
            (float)json_number_value(json_array_get(json_object_get(recorded, "scores"), i));
    }
    writer_init(&w);
    add_token_model(&w, v.n);
    add_text(&w, "tokenizer.ggml.model", merges ? "gpt2" : "llama");
    add_tokens(&w, &v);
    if (merges) add_merges(&w, merges);
    add_fields(&w, json_object_get(recorded, "fields"));
    writer_save(&w, path);
    writer_free(&w);
}

static void compare(const struct tokenizer *t, size_t number, const char *text, const json_t *want,
                    unsigned flags) {
    char err[LLM_ERR];
    struct ids ids = {0};
    bool same = tokenizer_encode_as(t, text, strlen(text), flags, &ids, err) &&
                ids.n == json_array_size(want);
    for (size_t i = 0; same && i < ids.n; i++)
        same = ids.v[i] == json_integer_value(json_array_get(want, i));
    if (!same && failures++ < 20)
        printf("FAIL vocabulary %zu: other ids of \"%s\"\n", number, text);
    free(ids.v);
}

static size_t check(const json_t *recorded, size_t number, const char *work, const char *etgguf) {
    char path[4096], made[4096], command[12500], err[LLM_ERR];
    struct tokenizer *t;
    const json_t *texts = json_object_get(recorded, "texts");
    snprintf(path, sizeof path, "%s/recorded.gguf", work);
    snprintf(made, sizeof made, "%s/recorded", work);
    write_gguf(recorded, path);
    snprintf(command, sizeof command, "rm -rf '%s' && '%s' '%s' -o '%s'", made, etgguf, path, made);
    if (system(command) != 0) die(path, "etgguf");
    if (!tokenizer_load(made, &t, err)) die(made, err);
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const json_t *row = json_array_get(texts, i);
        const char *text = json_string_value(json_array_get(row, 0));
        compare(t, number, text, json_array_get(row, 1), 0);
        compare(t, number, text, json_array_get(row, 2), TOKENIZER_BARE);
    }
    tokenizer_free(t);
    return json_array_size(texts);
}

int main(int argc, char **argv) {
    json_error_t e;
    size_t texts = 0;
    if (argc != 4) return 2;
    json_t *all = json_load_file(argv[3], 0, &e);
    if (!all) die(argv[3], e.text);
    for (size_t i = 0; i < json_array_size(all); i++)
        texts += check(json_array_get(all, i), i, argv[1], argv[2]);
    printf("%zu vocabularies, %zu texts, %d differ\n", json_array_size(all), texts, failures);
    if (texts < 600) failures++;
    json_decref(all);
    return failures != 0;
}
