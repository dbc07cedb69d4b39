/* added.c - added tokens: pieces of text that are one token wherever they stand. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>

static bool load_one(struct added *a, const json_t *j, char **texts, char *err) {
    static const char what[] = "added_tokens";
    struct span text;
    if (!fields_known(j, what, "id content single_word lstrip rstrip normalized special", err) ||
        !field_text(j, what, "content", &text, err) || !field_count(j, what, "id", &a->id, err))
        return false;
    if (!text.n || text.n > MAX_PIECE)
        return llm_fail(err, "%s: the \"content\" of %d is empty or longer than %d bytes", what,
                        (int)a->id, MAX_PIECE);
    a->text = (struct span){*texts, text.n};
    memcpy(*texts, text.p, text.n + 1);
    *texts += text.n + 1;
    return field_flag(j, what, "single_word", false, &a->single_word, err) &&
           field_flag(j, what, "lstrip", false, &a->lstrip, err) &&
           field_flag(j, what, "rstrip", false, &a->rstrip, err) &&
           field_flag(j, what, "normalized", false, &a->normalised, err) &&
           field_flag(j, what, "special", false, &a->special, err);
}

/* Where it is looked for. */
static bool index_one(struct added_tokens *t, size_t i, const struct normalizer *n, char *err) {
    struct added *a = &t->v[i];
    struct bytes normal = {0};
    struct span key = a->text;
    if (a->normalised) {
        bool ok = normalizer_apply(n, a->text, &normal, NULL, err);
        a->normal = normal.p;
        a->normal_bytes = normal.n;
        if (!ok) return false;
        key = (struct span){normal.p, normal.n};
        if (!key.n || key.n > MAX_PIECE)
            return llm_fail(err, "added_tokens: %d is %s when normalised", (int)a->id,
                            key.n ? "too long" : "nothing");
    }
    return prefixes_add(a->normalised ? &t->after : &t->before, key, (int32_t)i) ||
           llm_fail(err, "out of memory");
}

/* Of tokens of the same text the last counts. */
static bool drop_earlier(struct added_tokens *t, char *err) {
    struct table last = {0};
    size_t kept = 0;
    bool ok = true;
    for (size_t i = t->n; ok && i-- > 0;)
        ok = table_add(&last, t->v[i].text.p, t->v[i].text.n, i);
    for (size_t i = 0; ok && i < t->n; i++)
        if (*table_find(&last, t->v[i].text.p, t->v[i].text.n) == i) t->v[kept++] = t->v[i];
    table_free(&last);
    if (ok) t->n = kept;
    return ok || llm_fail(err, "out of memory");
}

bool added_load(struct added_tokens *t, const json_t *list, const struct normalizer *n, char *err) {
    size_t count = json_array_size(list), total = 1;
    char why[LLM_ERR];
    if (list && !json_is_array(list) && !json_is_null(list))
        return llm_fail(err, "\"added_tokens\" is not a list");
    for (size_t i = 0; i < count; i++)
        total += json_string_length(json_object_get(json_array_get(list, i), "content")) + 1;
    t->v = calloc(count + 1, sizeof *t->v);
    char *texts = t->texts = malloc(total);
    if (!t->v || !texts || count > LLM_MAX_ID) return llm_fail(err, "out of memory");
    for (size_t i = 0; i < count; i++) {
        t->n = i + 1;
        if (!load_one(&t->v[i], json_array_get(list, i), &texts, why))
            return llm_fail(err, "entry %zu of %.400s", i, why);
    }
    if (!drop_earlier(t, err)) return false;
    for (size_t i = 0; i < t->n; i++)
        if (!index_one(t, i, n, err)) return false;
    prefixes_sort(&t->before);
    prefixes_sort(&t->after);
    return true;
}

void added_free(struct added_tokens *t) {
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i].normal);
    free(t->v);
    free(t->texts);
    free(t->before.v);
    free(t->after.v);
}

/* The character that ends at AT. */
static int32_t char_before(struct span text, size_t at) {
    do
        at--;
    while (at && ((unsigned char)text.p[at] & 0xc0) == 0x80);
    return utf8_next(text, &at);
}

static bool word_around(struct span text, size_t from, size_t to) {
    return (from && char_is_word(char_before(text, from))) ||
           (to < text.n && char_is_word(utf8_next(text, &to)));
}

static size_t spaces_before(struct span text, size_t at, size_t done) {
    while (at > done && char_is_space(char_before(text, at)))
        do
            at--;
        while (at && ((unsigned char)text.p[at] & 0xc0) == 0x80);
    return at;
}

static size_t spaces_behind(struct span text, size_t at) {
    for (size_t next = at; at < text.n && char_is_space(utf8_next(text, &next));)
        at = next;
    return at;
}

/* The longest key that begins AT; *OUT_TO is its end. */
static int32_t longest(const struct prefixes *p, struct span text, size_t at, size_t *out_to) {
    struct prefix_walk walk = prefix_start(p);
    int32_t found = -1;
    for (; at < text.n && prefix_step(p, &walk, text.p[at]); at++)
        if (prefix_here(p, &walk) >= 0) {
            found = prefix_here(p, &walk);
            *out_to = at + 1;
        }
    return found;
}

int32_t added_next(const struct added_tokens *t, struct span text, bool normalised, bool specials,
                   size_t done, size_t *at, size_t *out_from, size_t *out_to) {
    const struct prefixes *keys = normalised ? &t->after : &t->before;
    if (!keys->n) *at = text.n;
    while (*at < text.n) {
        size_t from = *at, to = 0;
        int32_t i = longest(keys, text, from, &to);
        *at = i < 0 ? from + 1 : to; /* one that does not count is text all the same */
        if (i < 0 || (t->v[i].special && !specials) ||
            (t->v[i].single_word && word_around(text, from, to)))
            continue;
        *out_to = t->v[i].rstrip ? spaces_behind(text, to) : to;
        *out_from = from;
        if (t->v[i].lstrip) *out_from = from > done ? spaces_before(text, from, done) : done;
        /* The token before it stripped all of it: it stands for nothing. */
        if (*out_from < *out_to) return i;
    }
    return -1;
}
