/* test_designs TEXTS FOLDER... - tokenizers of published designs, made small, against what Hugging
 * Face's library says of the same texts: references.json, README.md tells how they were made.
 *
 * Each FOLDER has a tokenizer.json. "encoded" are ids, with what is put around, of each of TEXTS
 * and of "own" texts; then the text that decoding gives (null: the same text), and the text with
 * special tokens (null: the same). "decoded" are ids that no text gives. */
#include "examples/llm/tokenizer/parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *design;
static int failures;

static void die(const char *what, const char *why) {
    fprintf(stderr, "test_designs: %s: %s\n", what, why);
    exit(1);
}

static void fail(const char *what, size_t i, const char *text) {
    if (failures++ < 40) fprintf(stderr, "FAIL %s: %s %zu: %s\n", design, what, i, text);
}

static json_t *read_json(const char *folder, const char *name) {
    char path[4096];
    json_error_t e;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *j = json_load_file(path, JSON_ALLOW_NUL, &e);
    if (!j) die(path, e.text);
    return j;
}

static struct span text_of(const json_t *j) {
    return (struct span){json_string_value(j), json_string_length(j)};
}

static bool same_ids(const struct ids *ids, const json_t *want, size_t from, size_t to) {
    if (ids->n != json_array_size(want) - from - to) return false;
    for (size_t i = 0; i < ids->n; i++)
        if (ids->v[i] != json_integer_value(json_array_get(want, from + i))) return false;
    return true;
}

static void show_ids(const struct ids *ids) {
    if (failures > 40) return;
    for (size_t i = 0; i < ids->n; i++)
        fprintf(stderr, "%d ", (int)ids->v[i]);
    fputc('\n', stderr);
}

static void check_encoding(const struct tokenizer *t, size_t i, struct span text,
                           const json_t *want, size_t prefix, size_t suffix) {
    char err[LLM_ERR] = "";
    for (unsigned flags = 0; flags <= TOKENIZER_BARE; flags += TOKENIZER_BARE) {
        struct ids ids = {0};
        bool ok = tokenizer_encode_as(t, text.p, text.n, flags, &ids, err);
        if (!ok) fail("encoding", i, err);
        if (ok && !same_ids(&ids, want, flags ? prefix : 0, flags ? suffix : 0)) {
            fail("other ids", i, text.p);
            show_ids(&ids);
        }
        free(ids.v);
    }
}

/* At once, and token by token in whole characters. */
static void check_decoding(const struct tokenizer *t, size_t i, const json_t *ids, unsigned flags,
                           struct span want) {
    size_t n = json_array_size(ids), bytes;
    int32_t *v = calloc(n + 1, sizeof *v);
    struct lm_decoder *d = lm_decoder_new(t, flags);
    struct bytes joined = {0};
    char *all = NULL;
    const char *part;
    if (!v || !d) die("memory", "none");
    for (size_t k = 0; k < n; k++)
        v[k] = (int32_t)json_integer_value(json_array_get(ids, k));
    if (!tokenizer_decode(t, v, n, flags, &all, &bytes)) die("decode", "failed");
    if (bytes != want.n || memcmp(all, want.p, bytes)) fail("other text", i, all);
    for (size_t k = 0; k <= n; k++) {
        size_t got;
        if (!(k < n ? lm_decoder_push(d, v[k], &part, &got) : lm_decoder_flush(d, &part, &got)) ||
            !bytes_add(&joined, part, got))
            die("decoder", "failed");
        if (utf8_valid(part, got) != got) fail("half a character", i, part);
    }
    if (joined.n != bytes || memcmp(all, joined.p, bytes)) fail("streamed", i, joined.p);
    lm_decoder_free(d);
    free(joined.p);
    free(all);
    free(v);
}

static void check_both(const struct tokenizer *t, size_t i, const json_t *row, struct span text) {
    const json_t *ids = json_array_get(row, 0), *plain = json_array_get(row, 1);
    const json_t *all = json_array_get(row, 2);
    struct span want = json_is_null(plain) ? text : text_of(plain);
    check_decoding(t, i, ids, 0, want);
    check_decoding(t, i, ids, LM_DECODER_SPECIALS, json_is_null(all) ? want : text_of(all));
}

static size_t check_design(const char *folder, const json_t *texts) {
    char err[LLM_ERR] = "";
    struct tokenizer *t;
    json_t *ref = read_json(folder, "references.json");
    const json_t *own = json_object_get(ref, "own"), *encoded = json_object_get(ref, "encoded");
    const json_t *decoded = json_object_get(ref, "decoded");
    size_t n = json_array_size(texts), rows = json_array_size(encoded);
    size_t prefix = (size_t)json_integer_value(json_object_get(ref, "prefix"));
    size_t suffix = (size_t)json_integer_value(json_object_get(ref, "suffix"));
    design = folder;
    if (!tokenizer_load(folder, &t, err)) die(folder, err);
    if (!n || rows != n + json_array_size(own)) die(folder, "not a row for each text");
    for (size_t i = 0; i < rows; i++) {
        struct span text = text_of(i < n ? json_array_get(texts, i) : json_array_get(own, i - n));
        const json_t *row = json_array_get(encoded, i);
        check_encoding(t, i, text, json_array_get(row, 0), prefix, suffix);
        check_both(t, i, row, text);
    }
    for (size_t i = 0; i < json_array_size(decoded); i++)
        check_both(t, i, json_array_get(decoded, i), (struct span){"", 0});
    tokenizer_free(t);
    json_decref(ref);
    return rows;
}

int main(int argc, char **argv) {
    if (argc < 3) return 1;
    json_error_t e;
    json_t *texts = json_load_file(argv[1], JSON_ALLOW_NUL, &e);
    if (!texts) die(argv[1], e.text);
    for (int i = 2; i < argc; i++) {
        int before = failures;
        size_t rows = check_design(argv[i], texts);
        printf("%s: %zu texts, %d differ\n", argv[i], rows, failures - before);
    }
    json_decref(texts);
    return failures != 0;
}
