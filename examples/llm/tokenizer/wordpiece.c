/* wordpiece.c - the longest piece a word begins with, then the longest that goes on from there; and
 * WordLevel, whose pieces are whole words. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>

struct wordpiece {
    struct prefixes pieces;
    char *prefix; /* of pieces that go on */
    int32_t most; /* characters of a word */
};

static void free_wordpiece(void *data) {
    struct wordpiece *w = data;
    free(w->pieces.v);
    free(w->prefix);
    free(w);
}

static bool unknown(const struct model *m, struct ids *ids, char *err) {
    if (m->unk < 0) return llm_fail(err, "the vocabulary has no piece for a word");
    return ids_add(ids, m->unk) || llm_fail(err, "out of memory");
}

/* The longest piece WORD begins with from AT on, or -1; goes on behind it. */
static int32_t longest(const struct model *m, struct span word, bool specials, size_t *at) {
    const struct wordpiece *w = m->data;
    struct prefix_walk walk = prefix_start(&w->pieces);
    int32_t found = -1;
    for (const char *p = *at ? w->prefix : ""; *p; p++)
        if (!prefix_step(&w->pieces, &walk, *p)) return -1;
    size_t from = *at;
    for (size_t i = from; i < word.n && prefix_step(&w->pieces, &walk, word.p[i]); i++) {
        int32_t id = prefix_here(&w->pieces, &walk);
        if (id < 0 || (!specials && m->special[id])) continue;
        found = id;
        *at = i + 1;
    }
    return found;
}

static bool encode(const struct model *m, struct span word, bool specials, struct ids *ids,
                   char *err) {
    const struct wordpiece *w = m->data;
    size_t before = ids->n;
    int32_t chars = 0;
    for (size_t at = 0; at < word.n && chars <= w->most; chars++)
        utf8_next(word, &at);
    if (chars > w->most) return unknown(m, ids, err);
    for (size_t at = 0; at < word.n;) {
        int32_t id = longest(m, word, specials, &at);
        if (id < 0) { /* then all of the word is unknown */
            ids->n = before;
            return unknown(m, ids, err);
        }
        if (!ids_add(ids, id)) return llm_fail(err, "out of memory");
    }
    return true;
}

static bool encode_whole(const struct model *m, struct span word, bool specials, struct ids *ids,
                         char *err) {
    int32_t id = model_piece(m, word, specials);
    if (id < 0) return unknown(m, ids, err);
    return ids_add(ids, id) || llm_fail(err, "out of memory");
}

bool wordlevel_load(struct model *m, json_t *j, char *err) {
    struct span unk;
    m->encode = encode_whole;
    if (!vocab_load(&m->vocab, json_object_get(j, "vocab"), err) ||
        !field_text(j, "model", "unk_token", &unk, err))
        return false;
    m->unk = vocab_id(&m->vocab, unk);
    return true;
}

bool wordpiece_load(struct model *m, json_t *j, char *err) {
    struct wordpiece *w = calloc(1, sizeof *w);
    struct span prefix;
    if (!w) return llm_fail(err, "out of memory");
    m->data = w;
    m->free_data = free_wordpiece;
    if (!wordlevel_load(m, j, err) ||
        !field_text(j, "model", "continuing_subword_prefix", &prefix, err) ||
        !field_count(j, "model", "max_input_chars_per_word", &w->most, err))
        return false;
    m->encode = encode;
    w->prefix = strdup(prefix.p);
    for (int32_t id = 0; w->prefix && id < m->vocab.size; id++)
        if (m->vocab.pieces[id].n && !prefixes_add(&w->pieces, m->vocab.pieces[id], id))
            return llm_fail(err, "out of memory");
    prefixes_sort(&w->pieces);
    return w->prefix || llm_fail(err, "out of memory");
}
