/* check_tokens WORK ETGGUF TEXTS DESIGNS: tokenizers of published designs become those of GGUF
 * files and back, and cut texts as before. Of pieces with scores, a file does not have the merges:
 * those are held against a tokenizer that is written here, as SentencePiece merges. */
#include "examples/llm/tokenizer/parts.h"
#include "tests/unit/gguf/tokens.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void die(const char *what, const char *why) {
    fprintf(stderr, "check_tokens: %s: %s\n", what, why);
    exit(1);
}

static void fail(const char *what, const char *text) {
    if (failures++ < 30) fprintf(stderr, "FAIL %s: %s\n", what, text);
}

static json_t *read_json(const char *path) {
    json_error_t e;
    json_t *j = json_load_file(path, JSON_ALLOW_NUL, &e);
    if (!j) die(path, e.text);
    return j;
}

/* ---- as SentencePiece merges ---- */

struct piece {
    size_t from, bytes;
};

static int find(const struct vocabulary *v, const char *at, size_t bytes) {
    for (int i = 0; i < v->n; i++)
        if (v->text[i] && (v->type[i] == 1 || v->type[i] == 4) && strlen(v->text[i]) == bytes &&
            !memcmp(v->text[i], at, bytes))
            return i;
    return -1;
}

static void add_piece(const struct vocabulary *v, const char *at, size_t bytes, struct ids *out) {
    int id = find(v, at, bytes);
    char byte[8];
    if (id >= 0) ids_add(out, id);
    for (size_t i = 0; id < 0 && i < bytes; i++) {
        snprintf(byte, sizeof byte, "<0x%02X>", (unsigned char)at[i]);
        for (int k = 0; k < v->n; k++)
            if (v->text[k] && !strcmp(v->text[k], byte)) ids_add(out, k);
    }
}

/* TEXT with its spaces marked: of all neighbours whose text is a token, those with the highest
 * score become one, the first of them where it is the same; until there are none. */
static void merge_by_score(const struct vocabulary *v, const char *text, struct ids *out) {
    struct piece p[MOST_TOKENS];
    size_t n = 0, bytes = strlen(text);
    for (size_t i = 0; i < bytes; n++) {
        size_t k = 1;
        while (i + k < bytes && ((unsigned char)text[i + k] & 0xc0) == 0x80)
            k++;
        p[n] = (struct piece){i, k};
        i += k;
    }
    for (;;) {
        size_t best = n;
        float most = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            int id = find(v, text + p[i].from, p[i].bytes + p[i + 1].bytes);
            if (id >= 0 && (best == n || v->score[id] > most)) {
                best = i;
                most = v->score[id];
            }
        }
        if (best == n) break;
        p[best].bytes += p[best + 1].bytes;
        memmove(p + best + 1, p + best + 2, (n - best - 2) * sizeof *p);
        n--;
    }
    for (size_t i = 0; i < n; i++)
        add_piece(v, text + p[i].from, p[i].bytes, out);
}

static void mark_spaces(const char *text, bool prefix, char *out) {
    if (prefix && *text) out = stpcpy(out, "\xe2\x96\x81");
    for (; *text; text++)
        if (*text == ' ')
            out = stpcpy(out, "\xe2\x96\x81");
        else
            *out++ = *text;
    *out = 0;
}

/* ---- comparisons ---- */

static bool has_added(const struct vocabulary *v, const char *text) {
    for (int i = 0; i < v->n; i++)
        if (v->text[i] && v->type[i] != 1 && v->type[i] != 6 && strstr(text, v->text[i]))
            return true;
    return false;
}

static void same_ids(const char *what, const char *text, const struct ids *a, const struct ids *b) {
    if (a->n == b->n && (!a->n || !memcmp(a->v, b->v, a->n * sizeof *a->v))) return;
    fail(what, text);
    for (size_t i = 0; failures < 5 && i < a->n; i++)
        fprintf(stderr, " %d", a->v[i]);
    fprintf(stderr, " |");
    for (size_t i = 0; failures < 5 && i < b->n; i++)
        fprintf(stderr, " %d", b->v[i]);
    fprintf(stderr, "\n");
}

static void same_tokens(const char *what, const struct tokenizer *a, const struct tokenizer *b) {
    for (int32_t i = 0; i < tokenizer_size(a); i++) {
        size_t n, k;
        bool x, y;
        const char *p = tokenizer_bytes(a, i, &n, &x), *q = tokenizer_bytes(b, i, &k, &y);
        if (p && (!q || n != k || memcmp(p, q, n) || x != y)) fail(what, p);
    }
}

struct design {
    const char *name, *pre; /* PRE NULL: pieces with scores */
    bool bos, prefix;
};

static int compare_texts(const struct design *d, const struct vocabulary *v, const json_t *texts,
                         const struct tokenizer *was, const struct tokenizer *is) {
    char err[LLM_ERR], marked[1 << 14];
    int compared = 0;
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const json_t *t = json_array_get(texts, i);
        const char *text = json_string_value(t);
        size_t bytes = json_string_length(t);
        struct ids a = {0}, b = {0};
        if (!d->pre && (has_added(v, text) || strlen(text) != bytes || bytes > MOST_TOKENS))
            continue;
        if (!tokenizer_encode(is, text, bytes, &b, err)) fail(text, err);
        if (d->pre) {
            if (!tokenizer_encode(was, text, bytes, &a, err)) fail(text, err);
        } else {
            if (d->bos) ids_add(&a, 1);
            mark_spaces(text, d->prefix, marked);
            merge_by_score(v, marked, &a);
        }
        same_ids(d->name, text, &a, &b);
        free(a.v);
        free(b.v);
        compared++;
    }
    return compared;
}

/* Hugging Face's library keeps the id of an added token only where model.vocab has it too. */
static void check_added(const char *name, const char *made) {
    char path[4200];
    snprintf(path, sizeof path, "%s/tokenizer.json", made);
    json_t *root = read_json(path), *added = json_object_get(root, "added_tokens"), *one;
    json_t *vocab = json_object_get(json_object_get(root, "model"), "vocab");
    size_t i;
    if (!json_array_size(added)) fail(name, "no added tokens");
    json_array_foreach(added, i, one) {
        const char *text = json_string_value(json_object_get(one, "content"));
        if (!json_equal(json_object_get(vocab, text), json_object_get(one, "id"))) fail(name, text);
    }
    json_decref(root);
}

/* Tokens around a hole, by the keys of today and of before. */
static void check_fim(const char *name, const char *folder) {
    char path[4200];
    snprintf(path, sizeof path, "%s/tokenizer_config.json", folder);
    json_t *root = read_json(path);
    json_t *want =
        json_pack("{s:i, s:i, s:i, s:i}", "prefix", 3, "suffix", 4, "middle", 5, "file", 6);
    if (!json_equal(json_object_get(root, "fim_token_ids"), want)) fail(name, "fim_token_ids");
    json_decref(want);
    json_decref(root);
}

static void check(const struct design *d, const char *work, const char *etgguf, const char *folder,
                  const json_t *texts) {
    char path[4096], made[4096], command[12500], err[LLM_ERR];
    static struct vocabulary v;
    struct tokenizer *was, *is;
    snprintf(path, sizeof path, "%s/%s/tokenizer.json", folder, d->name);
    json_t *root = read_json(path), *merges;
    merges = json_object_get(json_object_get(root, "model"), "merges");
    struct writer w;
    writer_init(&w);
    collect_tokens(root, &v);
    if (!d->pre) score_tokens(&v, merges);
    add_token_model(&w, v.n);
    add_text(&w, "tokenizer.chat_template", "{{ messages[0].content }}");
    add_text(&w, "tokenizer.ggml.model", d->pre ? "gpt2" : "llama");
    if (d->pre) add_text(&w, "tokenizer.ggml.pre", d->pre);
    if (d->pre) add_merges(&w, merges);
    add_tokens(&w, &v);
    int bos = d->pre ? v.n > 700 ? 700 : 0 : 1;
    add_u32(&w, "tokenizer.ggml.bos_token_id", (uint32_t)bos);
    add_u32(&w, "tokenizer.ggml.prefix_token_id", 7);
    add_u32(&w, "tokenizer.ggml.fim_pre_token_id", 3);
    add_u32(&w, "tokenizer.ggml.fim_suf_token_id", 4);
    add_u32(&w, "tokenizer.ggml.middle_token_id", 5);
    add_u32(&w, "tokenizer.ggml.fim_sep_token_id", 6);
    if (!d->bos) add_bool(&w, "tokenizer.ggml.add_bos_token", false);
    if (!d->pre && !d->prefix) add_bool(&w, "tokenizer.ggml.add_space_prefix", false);
    snprintf(path, sizeof path, "%s/%s.gguf", work, d->name);
    snprintf(made, sizeof made, "%s/%s", work, d->name);
    writer_save(&w, path);
    writer_free(&w);
    snprintf(command, sizeof command, "rm -rf '%s' && '%s' '%s' -o '%s'", made, etgguf, path, made);
    if (system(command) != 0) die(d->name, "etgguf");
    snprintf(path, sizeof path, "%s/%s", folder, d->name);
    if (!tokenizer_load(path, &was, err) || !tokenizer_load(made, &is, err)) die(d->name, err);
    check_added(d->name, made);
    check_fim(d->name, made);
    if (d->pre) same_tokens(d->name, was, is);
    int before = failures, n = compare_texts(d, &v, texts, was, is);
    printf("%s: %d texts, %d differ\n", d->name, n, failures - before);
    if (n < 20) fail(d->name, "too few texts");
    tokenizer_free(was);
    tokenizer_free(is);
    json_decref(root);
}

/* ---- a unigram with a table of characters ---- */

static size_t decode(const char *text, unsigned char *to) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = 0, bits = 0;
    uint32_t word = 0;
    for (; *text && *text != '='; text++) {
        word = word << 6 | (uint32_t)(strchr(letters, *text) - letters);
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        to[n++] = (unsigned char)(word >> bits);
    }
    return n;
}

/* Space at the end of a text is dropped by those who read such files, and not by the folder. */
static bool ends_in_space(const char *s) {
    size_t n = strlen(s);
    return !n || strchr(" \t\n\r\v\f", s[n - 1]);
}

static void check_sums(const char *name, const char *work, const char *etgguf, const char *folder,
                       const json_t *texts) {
    char path[4096], made[4096], command[12500], err[LLM_ERR];
    static struct vocabulary v;
    struct tokenizer *was, *is;
    struct writer w;
    int n = 0;
    size_t i;
    json_t *text;
    snprintf(path, sizeof path, "%s/%s/tokenizer.json", folder, name);
    json_t *root = read_json(path), *steps = json_object_get(root, "normalizer");
    json_t *first = json_array_get(json_object_get(steps, "normalizers"), 0);
    const char *map = json_string_value(json_object_get(first, "precompiled_charsmap"));
    unsigned char *bytes = malloc(strlen(map));
    collect_sums(root, &v);
    /* Files have scores in f32, which decides between ways to split that are equally likely. */
    json_array_foreach(json_object_get(json_object_get(root, "model"), "vocab"), i, text)
        json_array_set_new(text, 1, json_real((double)v.score[i]));
    snprintf(command, sizeof command, "mkdir -p '%s/%s.f32'", work, name);
    snprintf(path, sizeof path, "%s/%s.f32/tokenizer.json", work, name);
    if (system(command) != 0 || json_dump_file(root, path, 0)) die(path, "cannot be written");
    writer_init(&w);
    add_token_model(&w, v.n);
    add_sums(&w, &v, bytes, decode(map, bytes));
    snprintf(path, sizeof path, "%s/%s.gguf", work, name);
    snprintf(made, sizeof made, "%s/%s", work, name);
    writer_save(&w, path);
    writer_free(&w);
    free(bytes);
    snprintf(command, sizeof command, "rm -rf '%s' && '%s' '%s' -o '%s'", made, etgguf, path, made);
    if (system(command) != 0) die(name, "etgguf");
    snprintf(path, sizeof path, "%s/%s.f32", work, name);
    if (!tokenizer_load(path, &was, err) || !tokenizer_load(made, &is, err)) die(name, err);
    json_array_foreach(texts, i, text) {
        const char *s = json_string_value(text);
        struct ids a = {0}, b = {0};
        if (ends_in_space(s) || has_added(&v, s) || strstr(s, "<mask>")) continue;
        if (!tokenizer_encode(was, s, strlen(s), &a, err)) fail(s, err);
        if (!tokenizer_encode(is, s, strlen(s), &b, err)) fail(s, err);
        same_ids(name, s, &a, &b);
        free(a.v);
        free(b.v);
        n++;
    }
    printf("%s: %d texts\n", name, n);
    if (n < 20) fail(name, "too few texts");
    tokenizer_free(was);
    tokenizer_free(is);
    json_decref(root);
}

int main(int argc, char **argv) {
    static const struct design designs[] = {
        {"gpt2", "gpt-2", false, false},   {"llama3", "llama-bpe", true, false},
        {"qwen", "qwen2", false, false},   {"starcoder2", "starcoder", false, false},
        {"o200k", "gpt-4o", false, false}, {"llama2", NULL, true, true},
        {"gemma", NULL, true, false},
    };
    if (argc != 5) return 2;
    json_t *texts = read_json(argv[3]);
    for (size_t i = 0; i < sizeof designs / sizeof *designs; i++)
        check(&designs[i], argv[1], argv[2], argv[4], texts);
    check_sums("xlmr", argv[1], argv[2], argv[4], texts);
    json_decref(texts);
    return failures != 0;
}
