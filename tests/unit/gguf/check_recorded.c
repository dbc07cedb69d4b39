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

static json_t *read_made(const char *folder, const char *name) {
    char path[4200];
    json_error_t e;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *j = json_load_file(path, 0, &e);
    if (!j) die(path, e.text);
    return j;
}

/* transformers cuts what tokenizer_config.json names out of texts: tokenizers must do it too. */
static void check_names(const char *folder, size_t number) {
    static const char *const names[] = {"bos_token", "eos_token", "unk_token", "pad_token"};
    json_t *config = read_made(folder, "tokenizer_config.json"), *added;
    json_t *tokenizer = read_made(folder, "tokenizer.json");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *name = json_object_get(config, names[i]);
        bool special = !name;
        size_t k;
        json_array_foreach(json_object_get(tokenizer, "added_tokens"), k, added) special =
            special || (json_equal(name, json_object_get(added, "content")) &&
                        json_is_true(json_object_get(added, "special")));
        if (!special && failures++ < 20)
            printf("FAIL vocabulary %zu: %s is no special token\n", number, names[i]);
    }
    json_decref(config);
    json_decref(tokenizer);
}

/* A token that is called so ends an answer, of whatever type a file has it. */
static void check_ends(const char *folder, const json_t *recorded, size_t number) {
    json_t *config = read_made(folder, "generation_config.json"), *token, *end;
    const json_t *ends = json_object_get(config, "eos_token_id");
    size_t i, k;
    json_array_foreach(json_object_get(recorded, "tokens"), i, token) {
        const json_t *type = json_array_get(json_object_get(recorded, "types"), i);
        bool found = json_integer_value(ends) == (json_int_t)i && json_is_integer(ends);
        if (strcmp(json_string_value(token), "<|im_end|>") || json_integer_value(type) == 5)
            continue;
        json_array_foreach(ends, k, end) found = found || json_integer_value(end) == (json_int_t)i;
        if (!found && failures++ < 20)
            printf("FAIL vocabulary %zu: token %zu ends no answer\n", number, i);
    }
    json_decref(config);
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
    check_names(made, number);
    check_ends(made, recorded, number);
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
