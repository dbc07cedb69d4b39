/* tokenizer_read FOLDER...: what etllm's tokenizer makes of FOLDER/texts.json with
 * FOLDER/tokenizer.json, a line of JSON for each folder: "refused", or "rows". A text gives its ids
 * with and without what is put around it; a list of ids gives its text without and with special
 * tokens. */
#include "examples/llm/tokenizer/tokenizer.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *encoded(const struct tokenizer *t, const json_t *text, unsigned flags) {
    char err[LLM_ERR] = "";
    struct ids ids = {0};
    bool ok =
        tokenizer_encode_as(t, json_string_value(text), json_string_length(text), flags, &ids, err);
    json_t *out = ok ? json_array() : json_string(err);
    for (size_t i = 0; ok && i < ids.n; i++)
        json_array_append_new(out, json_integer(ids.v[i]));
    free(ids.v);
    return out;
}

static json_t *decoded(const struct tokenizer *t, const json_t *list, unsigned flags) {
    enum { MOST = 1024 };
    int32_t ids[MOST];
    size_t n = json_array_size(list), bytes;
    char *text = NULL;
    if (n > MOST) return json_null();
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
    json_t *out =
        tokenizer_decode(t, ids, n, flags, &text, &bytes) ? json_stringn(text, bytes) : json_null();
    free(text);
    return out;
}

static json_t *read_folder(const char *folder) {
    char err[LLM_ERR] = "", path[4096];
    struct tokenizer *t;
    size_t i;
    json_t *rows = json_array(), *one;
    if (!tokenizer_load(folder, &t, err)) {
        json_decref(rows);
        return json_pack("{s:s}", "refused", err);
    }
    snprintf(path, sizeof path, "%s/texts.json", folder);
    json_t *texts = json_load_file(path, JSON_ALLOW_NUL, NULL);
    json_array_foreach(texts, i, one) {
        bool text = json_is_string(one);
        json_t *a = text ? encoded(t, one, 0) : decoded(t, one, 0);
        json_t *b = text ? encoded(t, one, TOKENIZER_BARE) : decoded(t, one, LM_DECODER_SPECIALS);
        json_array_append_new(rows, json_pack("[o,o]", a, b));
    }
    json_decref(texts);
    tokenizer_free(t);
    return json_pack("{s:o}", "rows", rows);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        json_t *answer = read_folder(argv[i]);
        if (!answer || json_dumpf(answer, stdout, JSON_ENSURE_ASCII) != 0) return 1;
        putchar('\n');
        json_decref(answer);
    }
    return 0;
}
