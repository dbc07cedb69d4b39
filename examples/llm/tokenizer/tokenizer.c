/* tokenizer.c - reads tokenizer.json and drives the steps: added tokens, words, merges, template.
 */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>

/* A piece of text that is one token wherever it stands. */
struct added {
    char *text;
    size_t bytes;
    int32_t id;
    bool special;    /* a marker, not shown in decoded text */
    bool normalised; /* looked for after normalisation, not before */
};

/* What a token stands for inside a text; .text NULL in a hole. */
struct token {
    char *text;
    size_t bytes;
    bool special;
};

struct tokenizer {
    struct token *tokens; /* by id */
    int32_t size;
    char *texts;         /* of all tokens, each with a NUL behind */
    struct added *added; /* the longest first: the first that fits is the one */
    size_t nadded;
    struct words *words;
    struct bpe *bpe;
    struct ids prefix, suffix; /* put around a text by the template */
};

/* ---- loading ---- */

static int longest_first(const void *a, const void *b) {
    const struct added *x = a, *y = b;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static bool load_added(struct tokenizer *t, const json_t *list, char *err) {
    static const char *const unsupported[] = {"single_word", "lstrip", "rstrip"};
    size_t n = json_array_size(list);
    t->added = calloc(n + 1, sizeof *t->added);
    if (!t->added) return llm_fail(err, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const json_t *j = json_array_get(list, i);
        const char *content = json_string_value(json_object_get(j, "content"));
        int32_t id = json_file_id(json_object_get(j, "id"));
        if (!content || !*content || id < 0)
            return llm_fail(err, "added_tokens: entry %zu has no good \"content\" and \"id\"", i);
        for (size_t k = 0; k < sizeof unsupported / sizeof *unsupported; k++)
            if (json_is_true(json_object_get(j, unsupported[k])))
                return llm_fail(err, "added token \"%s\": \"%s\" is not supported", content,
                                unsupported[k]);
        struct added *a = &t->added[t->nadded];
        *a = (struct added){.text = strdup(content),
                            .bytes = strlen(content),
                            .id = id,
                            .special = json_is_true(json_object_get(j, "special")),
                            .normalised = json_is_true(json_object_get(j, "normalized"))};
        if (!a->text) return llm_fail(err, "out of memory");
        t->nadded++;
    }
    qsort(t->added, t->nadded, sizeof *t->added, longest_first);
    return true;
}

/* One entry of a template: a special token, by the ids the template gives for it, or the text. */
static bool load_template_part(struct tokenizer *t, const json_t *part, const json_t *specials,
                               bool *seen_text, char *err) {
    if (json_object_get(part, "Sequence")) {
        if (*seen_text)
            return llm_fail(err, "post_processor: the text stands twice in the template");
        *seen_text = true;
        return true;
    }
    const char *name =
        json_string_value(json_object_get(json_object_get(part, "SpecialToken"), "id"));
    const json_t *ids = name ? json_object_get(json_object_get(specials, name), "ids") : NULL;
    if (!json_array_size(ids))
        return llm_fail(err, "post_processor: special token \"%s\" has no ids", name ? name : "");
    for (size_t i = 0; i < json_array_size(ids); i++) {
        int32_t id = json_file_id(json_array_get(ids, i));
        if (id < 0) return llm_fail(err, "post_processor: special token \"%s\" has a bad id", name);
        if (!ids_add(*seen_text ? &t->suffix : &t->prefix, id))
            return llm_fail(err, "out of memory");
    }
    return true;
}

static bool load_post_processor(struct tokenizer *t, const json_t *j, int depth, char *err) {
    const char *type = json_string_value(json_object_get(j, "type"));
    if (!j || json_is_null(j) || (type && !strcmp(type, "ByteLevel"))) /* moves offsets only */
        return true;
    if (type && !strcmp(type, "Sequence") && depth < 4) {
        const json_t *list = json_object_get(j, "processors");
        for (size_t i = 0; i < json_array_size(list); i++)
            if (!load_post_processor(t, json_array_get(list, i), depth + 1, err)) return false;
        return true;
    }
    if (!type || strcmp(type, "TemplateProcessing") || t->prefix.n || t->suffix.n)
        return llm_fail(err,
                        "post_processor \"%s\" is not supported; supported: one "
                        "TemplateProcessing, ByteLevel, Sequence",
                        type ? type : "");
    const json_t *parts = json_object_get(j, "single");
    bool seen_text = false;
    for (size_t i = 0; i < json_array_size(parts); i++)
        if (!load_template_part(t, json_array_get(parts, i), json_object_get(j, "special_tokens"),
                                &seen_text, err))
            return false;
    return seen_text || llm_fail(err, "post_processor: a template without the text");
}

static bool check_decoder(const json_t *j, char *err) {
    const char *type = json_string_value(json_object_get(j, "type"));
    if (type && !strcmp(type, "Sequence") && json_array_size(json_object_get(j, "decoders")) == 1)
        type = json_string_value(
            json_object_get(json_array_get(json_object_get(j, "decoders"), 0), "type"));
    return (type && !strcmp(type, "ByteLevel")) ||
           llm_fail(err, "decoder \"%s\" is not supported; supported: ByteLevel", type ? type : "");
}

static struct span text_of(const struct tokenizer *t, int32_t id, const struct added *a) {
    return a ? (struct span){a->text, a->bytes} : bpe_bytes(t->bpe, id);
}

/* The table of tokens: the model's pieces, and the added ones, which come before them. */
static bool index_tokens(struct tokenizer *t, char *err) {
    t->size = bpe_size(t->bpe);
    for (size_t i = 0; i < t->nadded; i++)
        if (t->added[i].id >= t->size) t->size = t->added[i].id + 1;
    const struct added **by_id = calloc((size_t)t->size + 1, sizeof *by_id);
    t->tokens = calloc((size_t)t->size + 1, sizeof *t->tokens);
    size_t total = 1;
    for (size_t i = t->nadded; by_id && i--;)
        by_id[t->added[i].id] = &t->added[i];
    for (int32_t id = 0; by_id && id < t->size; id++)
        total += text_of(t, id, by_id[id]).n + 1;
    char *at = t->texts = by_id && t->tokens ? malloc(total) : NULL;
    for (int32_t id = 0; at && id < t->size; id++) {
        struct span s = text_of(t, id, by_id[id]);
        if (!s.p) continue;
        t->tokens[id] = (struct token){at, s.n, by_id[id] && by_id[id]->special};
        memcpy(at, s.p, s.n);
        at[s.n] = 0;
        at += s.n + 1;
    }
    free(by_id);
    return t->texts || llm_fail(err, "out of memory");
}

static bool load(struct tokenizer *t, const json_t *root, char *err) {
    if (!bpe_load(root, &t->bpe, err) || !words_load(root, &t->words, err) ||
        !check_decoder(json_object_get(root, "decoder"), err))
        return false;
    return load_added(t, json_object_get(root, "added_tokens"), err) && index_tokens(t, err) &&
           load_post_processor(t, json_object_get(root, "post_processor"), 0, err);
}

/* Files often leave it to the tokenizer's class to start a text with the model's bos token. It does
 * so here when the template puts nothing in front, config files name the token, and
 * tokenizer_config.json does not say "add_bos_token": false. */
static bool load_bos(struct tokenizer *t, const char *dir, char *err) {
    static const char *const files[] = {"tokenizer_config.json", "generation_config.json",
                                        "config.json"};
    int32_t bos = -1;
    bool wanted = !t->prefix.n;
    for (size_t i = 0; wanted && bos < 0 && i < sizeof files / sizeof *files; i++) {
        json_t *root = json_file(dir, files[i], true, err);
        if (!root && *err) return false;
        bos = json_file_id(json_object_get(root, "bos_token_id"));
        wanted = !json_is_false(json_object_get(root, "add_bos_token"));
        json_decref(root);
    }
    return !wanted || bos < 0 || ids_add(&t->prefix, bos) || llm_fail(err, "out of memory");
}

bool tokenizer_load(const char *dir, struct tokenizer **out, char *err) {
    char why[LLM_ERR];
    *out = NULL;
    json_t *root = json_file(dir, "tokenizer.json", false, err);
    if (!root) return false;
    struct tokenizer *t = calloc(1, sizeof *t);
    bool ok = t ? load(t, root, why) : llm_fail(why, "out of memory");
    json_decref(root);
    if (!ok) llm_fail(err, "%.100s/tokenizer.json: %.380s", dir, why);
    if (ok && load_bos(t, dir, err)) {
        *out = t;
        return true;
    }
    tokenizer_free(t);
    return false;
}

void tokenizer_free(struct tokenizer *t) {
    if (!t) return;
    for (size_t i = 0; i < t->nadded; i++)
        free(t->added[i].text);
    free(t->added);
    free(t->tokens);
    free(t->texts);
    words_free(t->words);
    bpe_free(t->bpe);
    free(t->prefix.v);
    free(t->suffix.v);
    free(t);
}

/* ---- encoding ---- */

/* The first added token in TEXT among those of one kind; AT is where. NULL: none. */
static const struct added *next_added(const struct tokenizer *t, struct span text, bool normalised,
                                      bool specials, size_t *at) {
    for (*at = 0; t->nadded && *at < text.n; ++*at)
        for (const struct added *a = t->added; a < t->added + t->nadded; a++)
            if (a->normalised == normalised && (specials || !a->special) &&
                a->bytes <= text.n - *at && !memcmp(a->text, text.p + *at, a->bytes))
                return a;
    *at = text.n;
    return NULL;
}

static bool encode_words(const struct tokenizer *t, struct span text, struct ids *ids, char *err) {
    struct spans words = {0};
    bool ok = words_cut(t->words, text, &words, err);
    for (size_t i = 0; ok && i < words.n; i++)
        ok = bpe_encode(t->bpe, words.v[i], ids, err);
    free(words.v);
    return ok;
}

static bool encode_part(const struct tokenizer *, struct span, bool, bool, struct ids *, char *);

static bool encode_between(const struct tokenizer *t, struct span text, bool normalised,
                           bool specials, struct ids *ids, char *err) {
    struct span n;
    if (!text.n) return true;
    if (normalised) return encode_words(t, text, ids, err);
    char *owned = words_normalise(t->words, text, &n.n, err);
    n.p = owned;
    bool ok = owned && encode_part(t, n, true, specials, ids, err);
    free(owned);
    return ok;
}

/* Cut the added tokens out of TEXT, before normalisation or after it; go on with what is between.
 */
static bool encode_part(const struct tokenizer *t, struct span text, bool normalised, bool specials,
                        struct ids *ids, char *err) {
    for (size_t at;;) {
        const struct added *a = next_added(t, text, normalised, specials, &at);
        if (!encode_between(t, (struct span){text.p, at}, normalised, specials, ids, err))
            return false;
        if (!a) return true;
        if (!ids_add(ids, a->id)) return llm_fail(err, "out of memory");
        text = (struct span){text.p + at + a->bytes, text.n - at - a->bytes};
    }
}

static bool add_all(struct ids *to, const struct ids *from, char *err) {
    for (size_t i = 0; i < from->n; i++)
        if (!ids_add(to, from->v[i])) return llm_fail(err, "out of memory");
    return true;
}

/* Text with bytes that are part of no character: what is between them is encoded by itself. */
static bool encode_runs(const struct tokenizer *t, const char *text, size_t bytes, bool specials,
                        struct ids *ids, char *err) {
    for (size_t at = 0; at < bytes;) {
        size_t n = utf8_valid(text + at, bytes - at);
        if (!encode_part(t, (struct span){text + at, n}, false, specials, ids, err)) return false;
        at += n;
        if (at < bytes && !bpe_encode(t->bpe, (struct span){text + at++, 1}, ids, err))
            return false;
    }
    return true;
}

bool tokenizer_encode_as(const struct tokenizer *t, const char *text, size_t bytes, unsigned flags,
                         struct ids *ids, char *err) {
    size_t valid = utf8_valid(text, bytes);
    bool bare = flags & TOKENIZER_BARE;
    if (valid < bytes && !(flags & TOKENIZER_ANY_BYTES))
        return llm_fail(err, "the text is not UTF-8 at byte %zu", valid);
    return (bare || add_all(ids, &t->prefix, err)) &&
           encode_runs(t, text, bytes, !(flags & TOKENIZER_NO_SPECIALS), ids, err) &&
           (bare || add_all(ids, &t->suffix, err));
}

bool tokenizer_encode(const struct tokenizer *t, const char *text, size_t bytes, struct ids *ids,
                      char *err) {
    return tokenizer_encode_as(t, text, bytes, 0, ids, err);
}

/* ---- about tokens ---- */

int32_t tokenizer_size(const struct tokenizer *t) {
    return t->size;
}

const char *tokenizer_bytes(const struct tokenizer *t, int32_t id, size_t *out_bytes,
                            bool *out_special) {
    bool known = id >= 0 && id < t->size;
    *out_bytes = known ? t->tokens[id].bytes : 0;
    *out_special = known && t->tokens[id].special;
    return known ? t->tokens[id].text : NULL;
}

int32_t tokenizer_id(const struct tokenizer *t, const char *name) {
    for (size_t i = 0; i < t->nadded; i++)
        if (!strcmp(t->added[i].text, name)) return t->added[i].id;
    return bpe_id(t->bpe, name);
}
