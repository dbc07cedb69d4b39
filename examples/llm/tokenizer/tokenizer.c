/* tokenizer.c - reads tokenizer.json and drives the steps: added tokens, normalizer, words, model,
 * template. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>

/* What a token stands for inside a text; .text NULL in a hole. */
struct token {
    const char *text;
    size_t bytes;
    int32_t added; /* its number among the added tokens, or -1 */
    bool special;
};

struct tokenizer {
    struct token *tokens; /* by id */
    int32_t size;
    char *texts; /* of all tokens, each with a NUL behind */
    struct added_tokens added;
    struct normalizer *normalizer;
    struct cutter *cutter;
    struct model *model;
    struct template template;
    struct decoding *decoding;
};

bool ids_add(struct ids *ids, int32_t id) {
    if (ids->n == ids->cap) {
        size_t cap = ids->cap ? 2 * ids->cap : 64;
        int32_t *v = realloc(ids->v, cap * sizeof *v);
        if (!v) return false;
        ids->v = v;
        ids->cap = cap;
    }
    ids->v[ids->n++] = id;
    return true;
}

/* ---- loading ---- */

struct span tokenizer_name(const struct tokenizer *t, int32_t id) {
    if (id < 0 || id >= t->size) return (struct span){NULL, 0};
    if (t->tokens[id].added >= 0) {
        const struct added *a = &t->added.v[t->tokens[id].added];
        return a->normal ? (struct span){a->normal, a->normal_bytes} : a->text;
    }
    return id < t->model->vocab.size ? t->model->vocab.pieces[id] : (struct span){NULL, 0};
}

const struct decoding *tokenizer_decoding(const struct tokenizer *t) {
    return t->decoding;
}

/* The texts of all tokens, where they are being collected: their places are known at the end. */
static bool collect_texts(struct tokenizer *t, struct bytes *texts, char *err) {
    size_t names = 0;
    for (int32_t id = 0; id < t->size; id++) {
        struct span name = tokenizer_name(t, id);
        size_t before = texts->n;
        if (!name.p) continue;
        if (!decoding_apply(t->decoding, name, false, texts, err)) return false;
        t->tokens[id].bytes = texts->n - before;
        if (!bytes_add(texts, "", 1)) return llm_fail(err, "out of memory");
        names += name.n + 1;
        if (texts->n > 64 * names + 65536)
            return llm_fail(err, "the decoder makes the vocabulary too large");
    }
    return true;
}

/* The table of tokens: the model's pieces, and the added ones, which come before them. */
static bool index_tokens(struct tokenizer *t, char *err) {
    struct bytes texts = {0};
    t->size = t->model->vocab.size;
    for (size_t i = 0; i < t->added.n; i++)
        if (t->added.v[i].id >= t->size) t->size = t->added.v[i].id + 1;
    t->tokens = calloc((size_t)t->size + 1, sizeof *t->tokens);
    if (!t->tokens) return llm_fail(err, "out of memory");
    for (int32_t id = 0; id < t->size; id++)
        t->tokens[id].added = -1;
    for (size_t i = 0; i < t->added.n; i++)
        t->tokens[t->added.v[i].id].added = (int32_t)i;
    bool ok = collect_texts(t, &texts, err);
    const char *at = t->texts = texts.p;
    for (int32_t id = 0; ok && id < t->size; id++) {
        struct token *k = &t->tokens[id];
        if (!tokenizer_name(t, id).p) continue;
        k->text = at;
        k->special = k->added >= 0 && t->added.v[k->added].special;
        if (id < t->model->vocab.size) t->model->special[id] = k->special;
        at += k->bytes + 1;
    }
    return ok;
}

static bool load(struct tokenizer *t, const json_t *root, char *err) {
    /* "truncation" and "padding" are about batches of texts of one length, which a server of
     * language models does not make. */
    return fields_known(root, "the file",
                        "version truncation padding added_tokens normalizer pre_tokenizer "
                        "post_processor decoder model",
                        err) &&
           model_load(json_object_get(root, "model"), &t->model, err) &&
           normalizer_load(json_object_get(root, "normalizer"), &t->normalizer, err) &&
           cutter_load(json_object_get(root, "pre_tokenizer"), &t->cutter, err) &&
           decoding_load(json_object_get(root, "decoder"), &t->decoding, err) &&
           added_load(&t->added, json_object_get(root, "added_tokens"), t->normalizer, err) &&
           template_load(&t->template, json_object_get(root, "post_processor"), err);
}

static bool complete(struct tokenizer *t, char *err) {
    t->model->spelled = cutter_spells(t->cutter);
    if (t->model->spelled && !decoding_unspells(t->decoding))
        return llm_fail(err, "pre_tokenizer ByteLevel without a decoder ByteLevel");
    return index_tokens(t, err);
}

/* Files often leave it to the tokenizer's class to start a text with the model's bos token. It does
 * so here when the template puts nothing around it, config files name the token, and
 * tokenizer_config.json does not say "add_bos_token": false. */
static bool load_bos(struct tokenizer *t, const char *dir, char *err) {
    static const char *const files[] = {"tokenizer_config.json", "generation_config.json",
                                        "config.json"};
    int32_t bos = -1;
    bool wanted = !t->template.prefix.n && !t->template.suffix.n;
    for (size_t i = 0; wanted && bos < 0 && i < sizeof files / sizeof *files; i++) {
        json_t *root = json_file(dir, files[i], true, err);
        if (!root && *err) return false;
        bos = json_file_id(json_object_get(root, "bos_token_id"));
        wanted = !json_is_false(json_object_get(root, "add_bos_token"));
        json_decref(root);
    }
    return !wanted || bos < 0 || ids_add(&t->template.prefix, bos) ||
           llm_fail(err, "out of memory");
}

bool tokenizer_load(const char *dir, struct tokenizer **out, char *err) {
    char why[LLM_ERR];
    *out = NULL;
    json_t *root = json_file(dir, "tokenizer.json", false, err);
    if (!root) return false;
    struct tokenizer *t = calloc(1, sizeof *t);
    bool ok = t ? load(t, root, why) && complete(t, why) : llm_fail(why, "out of memory");
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
    added_free(&t->added);
    normalizer_free(t->normalizer);
    cutter_free(t->cutter);
    model_free(t->model);
    template_free(&t->template);
    decoding_free(t->decoding);
    free(t->tokens);
    free(t->texts);
    free(t);
}

/* ---- encoding ---- */

struct encoding {
    const struct tokenizer *t;
    bool specials; /* names of special tokens are they */
    struct ids *ids;
    char *err;
};

static bool encode_words(const struct encoding *e, struct word text) {
    struct words words = {0};
    bool ok = cutter_apply(e->t->cutter, text, &words, e->err);
    for (size_t i = 0; ok && i < words.n; i++)
        ok = model_encode(e->t->model, words.v[i].text, e->specials, e->ids, e->err);
    words_free(&words);
    return ok;
}

static bool encode_part(const struct encoding *, struct word text, bool normalised);

static bool encode_between(const struct encoding *e, struct word text, bool normalised) {
    struct bytes normal = {0};
    if (!text.text.n) return true;
    if (normalised) return encode_words(e, text);
    bool first = text.first;
    bool *ask = cutter_asks_first(e->t->cutter) ? &first : NULL;
    bool ok = normalizer_apply(e->t->normalizer, text.text, &normal, ask, e->err) &&
              encode_part(e, (struct word){{normal.p, normal.n}, first}, true);
    free(normal.p);
    return ok;
}

/* Cut the added tokens out of TEXT, before normalisation or after it; go on with what is between.
 */
static bool encode_part(const struct encoding *e, struct word text, bool normalised) {
    size_t done = 0, at = 0, from, to;
    int32_t i;
    while ((i = added_next(&e->t->added, text.text, normalised, e->specials, done, &at, &from,
                           &to)) >= 0) {
        struct word between = {{text.text.p + done, from > done ? from - done : 0},
                               text.first && !done};
        if (!encode_between(e, between, normalised)) return false;
        if (!ids_add(e->ids, e->t->added.v[i].id)) return llm_fail(e->err, "out of memory");
        done = to;
    }
    struct word rest = {{text.text.p + done, text.text.n - done}, text.first && !done};
    return encode_between(e, rest, normalised);
}

/* Text with bytes that are part of no character: what is between them is encoded by itself. */
static bool encode_runs(const struct encoding *e, const char *text, size_t bytes) {
    for (size_t at = 0; at < bytes;) {
        size_t n = utf8_valid(text + at, bytes - at);
        if (n && !encode_part(e, (struct word){{text + at, n}, at == 0}, false)) return false;
        at += n;
        if (at < bytes && !model_encode_byte(e->t->model, text[at++], e->ids, e->err)) return false;
    }
    return true;
}

static bool add_all(struct ids *to, const struct ids *from, char *err) {
    for (size_t i = 0; i < from->n; i++)
        if (!ids_add(to, from->v[i])) return llm_fail(err, "out of memory");
    return true;
}

bool tokenizer_encode_as(const struct tokenizer *t, const char *text, size_t bytes, unsigned flags,
                         struct ids *ids, char *err) {
    size_t valid = utf8_valid(text, bytes);
    bool bare = flags & TOKENIZER_BARE;
    struct encoding e = {t, !(flags & TOKENIZER_NO_SPECIALS), ids, err};
    if (valid < bytes && !(flags & TOKENIZER_ANY_BYTES))
        return llm_fail(err, "the text is not UTF-8 at byte %zu", valid);
    return (bare || add_all(ids, &t->template.prefix, err)) && encode_runs(&e, text, bytes) &&
           (bare || add_all(ids, &t->template.suffix, err));
}

bool tokenizer_encode(const struct tokenizer *t, const char *text, size_t bytes, struct ids *ids,
                      char *err) {
    return tokenizer_encode_as(t, text, bytes, 0, ids, err);
}

/* ---- no more than the model takes ---- */

/* The first N ids of a text. */
static bool add_first(struct ids *to, const struct ids *from, size_t n, char *err) {
    struct ids part = {from->v, n < from->n ? n : from->n, 0, 0, 0, 0};
    to->dropped += from->dropped;
    if (from->dropped) {
        to->first_dropped = from->first_dropped;
        to->dropped_bytes = from->dropped_bytes;
    }
    return add_all(to, &part, err);
}

bool tokenizer_encode_within(const struct tokenizer *t, const char *text, size_t bytes, size_t most,
                             struct ids *ids, char *err) {
    struct ids of = {0};
    size_t around = t->template.prefix.n + t->template.suffix.n;
    bool ok = (most > around ||
               llm_fail(err, "%zu tokens have no room for the %zu around a text", most, around)) &&
              tokenizer_encode_as(t, text, bytes, TOKENIZER_BARE, &of, err) &&
              add_all(ids, &t->template.prefix, err) && add_first(ids, &of, most - around, err) &&
              add_all(ids, &t->template.suffix, err);
    free(of.v);
    return ok;
}

/* How many ids of each are kept of N and M, ROOM at most: the longer one loses first; where both
 * are longer than half of it, it gets the odd one. */
static void share(size_t room, size_t *n, size_t *m) {
    size_t *less = *n <= *m ? n : m, *more = *n <= *m ? m : n;
    if (*n + *m <= room) return;
    if (*less * 2 <= room) {
        *more = room - *less;
        return;
    }
    *less = room / 2;
    *more = room / 2 + room % 2;
}

bool tokenizer_encode_pair(const struct tokenizer *t, const char *first, size_t first_bytes,
                           const char *second, size_t second_bytes, size_t most, struct ids *ids,
                           size_t *out_second, char *err) {
    const struct template_pair *p = &t->template.pair;
    struct ids a = {0}, b = {0};
    size_t around = p->before.n + p->between.n + p->after.n;
    if (p->none) return llm_fail(err, "the tokenizer does not say how two texts become one");
    if (most <= around)
        return llm_fail(err, "%zu tokens have no room for the %zu around texts", most, around);
    bool ok = tokenizer_encode_as(t, first, first_bytes, TOKENIZER_BARE, &a, err) &&
              tokenizer_encode_as(t, second, second_bytes, TOKENIZER_BARE, &b, err);
    size_t n = a.n, m = b.n;
    share(most - around, &n, &m);
    size_t start = ids->n;
    *out_second = p->before.n + n + (t->template.there ? p->second : 0);
    ok = ok && add_all(ids, &p->before, err) && add_first(ids, &a, n, err) &&
         add_all(ids, &p->between, err) && add_first(ids, &b, m, err) &&
         add_all(ids, &p->after, err);
    if (p->alike) *out_second = ids->n - start;
    free(a.v);
    free(b.v);
    return ok;
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
