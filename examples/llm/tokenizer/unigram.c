/* unigram.c - the pieces whose scores add up to the most (Viterbi). */
#include "examples/llm/tokenizer/parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct unigram {
    struct prefixes pieces;
    double *scores; /* by id */
    double unknown; /* score of a character that is no piece */
};
/* The best way to the byte it stands for. */
struct node {
    double score;
    int32_t id;
    int32_t from; /* -1: there is none */
};

static void free_unigram(void *data) {
    struct unigram *u = data;
    free(u->pieces.v);
    free(u->scores);
    free(u);
}

static bool load_piece(struct model *m, const json_t *entry, int32_t id, char *err) {
    struct unigram *u = m->data;
    const json_t *name = json_array_get(entry, 0), *score = json_array_get(entry, 1);
    struct span text = {json_string_value(name), json_string_length(name)};
    if (!text.p || !json_is_number(score) || json_array_size(entry) != 2)
        return llm_fail(err, "vocab: entry %d is not a piece and its score", (int)id);
    u->scores[id] = json_number_value(score);
    if (!isfinite(u->scores[id])) return llm_fail(err, "vocab: the score of %d", (int)id);
    if (u->scores[id] < u->unknown) u->unknown = u->scores[id];
    if (!vocab_add(&m->vocab, id, text, err)) return false;
    return !text.n || prefixes_add(&u->pieces, m->vocab.pieces[id], id) ||
           llm_fail(err, "out of memory");
}

static bool load_vocab(struct model *m, const json_t *list, char *err) {
    struct unigram *u = m->data;
    size_t n = json_array_size(list), total = 0;
    if (!n || n > LLM_MAX_ID) return llm_fail(err, "\"vocab\" is not a filled list");
    for (size_t i = 0; i < n; i++)
        total += json_string_length(json_array_get(json_array_get(list, i), 0));
    u->scores = calloc(n, sizeof *u->scores);
    if (!u->scores) return llm_fail(err, "out of memory");
    if (!vocab_reserve(&m->vocab, (int32_t)n, total, err)) return false;
    u->unknown = INFINITY;
    for (size_t i = 0; i < n; i++)
        if (!load_piece(m, json_array_get(list, i), (int32_t)i, err)) return false;
    prefixes_sort(&u->pieces);
    u->unknown -= 10; /* as SentencePiece has it */
    return true;
}

static void reach(struct node *to, double score, int32_t from, int32_t id) {
    if (to->from < 0 || score > to->score) *to = (struct node){score, id, from};
}

/* Every piece that begins at byte AT. */
static void leave(const struct model *m, struct span word, bool specials, size_t at,
                  struct node *nodes) {
    const struct unigram *u = m->data;
    struct prefix_walk walk = prefix_start(&u->pieces);
    size_t next = at;
    bool single = false;
    utf8_next(word, &next);
    for (size_t i = at; i < word.n && prefix_step(&u->pieces, &walk, word.p[i]); i++) {
        int32_t id = prefix_here(&u->pieces, &walk);
        if (id < 0 || (!specials && m->special[id])) continue;
        reach(&nodes[i + 1], nodes[at].score + u->scores[id], (int32_t)at, id);
        single = single || i + 1 == next;
    }
    if (!single) reach(&nodes[next], nodes[at].score + u->unknown, (int32_t)at, m->unk);
}

static bool add_unknown(const struct model *m, struct span text, bool specials, struct ids *ids,
                        char *err) {
    int32_t id = model_piece(m, text, specials);
    bool bytes = m->byte_fallback && id < 0;
    for (size_t i = 0; bytes && i < text.n; i++)
        bytes = vocab_byte(&m->vocab, text.p[i]) >= 0;
    for (size_t i = 0; bytes && i < text.n; i++)
        if (!ids_add(ids, vocab_byte(&m->vocab, text.p[i]))) return llm_fail(err, "out of memory");
    if (bytes) return true;
    if (id < 0) id = m->unk;
    return ids_add(ids, id) || llm_fail(err, "out of memory");
}

/* The way back through NODES, turned round: .from becomes where the piece that begins here ends. */
static void turn(struct node *nodes, int32_t end) {
    int32_t id = 0, next = -1;
    while (end >= 0) {
        struct node n = nodes[end];
        nodes[end] = (struct node){0, id, next};
        next = end;
        id = n.id;
        end = n.from;
    }
}

static bool encode(const struct model *m, struct span word, bool specials, struct ids *ids,
                   char *err) {
    if (word.n > INT32_MAX / 4) return llm_fail(err, "a word of %zu bytes is too long", word.n);
    struct node *nodes = malloc((word.n + 1) * sizeof *nodes);
    if (!nodes) return llm_fail(err, "out of memory");
    for (size_t i = 0; i <= word.n; i++)
        nodes[i].from = -1;
    nodes[0] = (struct node){0, -1, -1};
    for (size_t at = 0; at < word.n; utf8_next(word, &at))
        leave(m, word, specials, at, nodes);
    turn(nodes, (int32_t)word.n);
    bool ok = true;
    for (int32_t at = 0, end; ok && at < (int32_t)word.n; at = end) {
        int32_t id = nodes[at].id;
        end = nodes[at].from;
        if (id < 0) {
            ok = llm_fail(err, "the vocabulary has no piece for a character, and no unknown one");
        } else if (id != m->unk) {
            ok = ids_add(ids, id) || llm_fail(err, "out of memory");
        } else { /* unknown characters in a row are one */
            while (end < (int32_t)word.n && nodes[end].id == m->unk)
                end = nodes[end].from;
            ok = add_unknown(m, (struct span){word.p + at, (size_t)(end - at)}, specials, ids, err);
        }
    }
    free(nodes);
    return ok;
}

bool unigram_load(struct model *m, json_t *j, char *err) {
    const json_t *unk = json_object_get(j, "unk_id");
    m->data = calloc(1, sizeof(struct unigram));
    if (!m->data) return llm_fail(err, "out of memory");
    m->free_data = free_unigram;
    m->encode = encode;
    if (json_number_value(json_object_get(j, "alpha")) != 0)
        return llm_fail(err, "model: \"alpha\" is not supported");
    if (!load_vocab(m, json_object_get(j, "vocab"), err)) return false;
    if (unk && !json_is_null(unk)) {
        if (!field_count(j, "model", "unk_id", &m->unk, err)) return false;
        if (m->unk >= m->vocab.size) return llm_fail(err, "model: \"unk_id\" is no piece");
    }
    return field_flag(j, "model", "byte_fallback", false, &m->byte_fallback, err);
}
