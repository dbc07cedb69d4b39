/* bpe.c - merging a word's characters into its pieces, pair by pair, the pair that comes first in
 * the file first. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>

struct pair {
    int32_t left, right;
};
struct bpe {
    const struct vocab *vocab;
    struct pair *pairs;   /* in the order of the file: the index is the rank */
    struct table merges;  /* pair -> rank << 32 | id of the merged piece */
    int32_t of_char[512]; /* the piece of a character, or -1 */
    int32_t of_byte[256]; /* the piece called <0xHH>, or -1 */
    bool fuse_unk;        /* unknown characters in a row are one piece */
    bool ignore_merges;   /* a word that is a piece as a whole stays whole */
};

/* ---- loading ---- */

/* A merge is "left right" or ["left", "right"]. */
static bool merge_halves(const json_t *merge, struct span half[2]) {
    if (json_is_string(merge)) {
        const char *s = json_string_value(merge), *space = strchr(s, ' ');
        if (!space || strchr(space + 1, ' ')) return false;
        half[0] = (struct span){s, (size_t)(space - s)};
        half[1] = (struct span){space + 1, strlen(space + 1)};
        return true;
    }
    for (size_t i = 0; i < 2; i++) {
        const json_t *s = json_array_get(merge, i);
        if (!json_is_string(s)) return false;
        half[i] = (struct span){json_string_value(s), json_string_length(s)};
    }
    return json_array_size(merge) == 2;
}

static bool add_merge(struct bpe *b, const json_t *merge, size_t rank, char *err) {
    char both[2 * MAX_PIECE];
    struct span half[2];
    if (!merge_halves(merge, half))
        return llm_fail(err, "merges: entry %zu is not a pair of pieces", rank);
    int32_t left = vocab_id(b->vocab, half[0]), right = vocab_id(b->vocab, half[1]), id = -1;
    if (left >= 0 && right >= 0) {
        memcpy(both, half[0].p, half[0].n);
        memcpy(both + half[0].n, half[1].p, half[1].n);
        id = vocab_id(b->vocab, (struct span){both, half[0].n + half[1].n});
    }
    if (id < 0)
        return llm_fail(err, "merges: entry %zu names a piece that vocab does not have", rank);
    b->pairs[rank] = (struct pair){left, right};
    return table_add(&b->merges, &b->pairs[rank], sizeof *b->pairs,
                     (uint64_t)rank << 32 | (uint64_t)id) ||
           llm_fail(err, "out of memory");
}

static bool load_merges(struct bpe *b, const json_t *merges, char *err) {
    size_t n = json_array_size(merges);
    if (!json_is_array(merges) || n > LLM_MAX_ID) return llm_fail(err, "\"merges\" is not a list");
    b->pairs = calloc(n + 1, sizeof *b->pairs);
    if (!b->pairs) return llm_fail(err, "out of memory");
    for (size_t i = 0; i < n; i++)
        if (!add_merge(b, json_array_get(merges, i), i, err)) return false;
    return true;
}

static void index_pieces(struct bpe *b) {
    for (int c = 0; c < 512; c++) {
        char text[2] = {(char)c, 0};
        size_t n = 1;
        if (c >= 0x80) {
            text[0] = (char)(0xc0 | c >> 6);
            text[1] = (char)(0x80 | (c & 0x3f));
            n = 2;
        }
        b->of_char[c] = vocab_id(b->vocab, (struct span){text, n});
    }
    for (int byte = 0; byte < 256; byte++)
        b->of_byte[byte] = vocab_byte(b->vocab, byte);
}

static bool load_options(struct model *m, struct bpe *b, const json_t *j, char *err) {
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const char *unk = json_string_value(json_object_get(j, "unk_token"));
    if (json_number_value(json_object_get(j, "dropout")) != 0)
        return llm_fail(err, "model: \"dropout\" is not supported");
    for (size_t i = 0; i < 2; i++) {
        const char *affix = json_string_value(json_object_get(j, affixes[i]));
        if (affix && *affix) return llm_fail(err, "model: \"%s\" is not supported", affixes[i]);
    }
    if (unk) m->unk = vocab_id(&m->vocab, (struct span){unk, strlen(unk)});
    if (unk && m->unk < 0)
        return llm_fail(err, "model: \"unk_token\" \"%.80s\" is not in the vocabulary", unk);
    return field_flag(j, "model", "fuse_unk", false, &b->fuse_unk, err) &&
           field_flag(j, "model", "byte_fallback", false, &m->byte_fallback, err) &&
           field_flag(j, "model", "ignore_merges", false, &b->ignore_merges, err);
}

static void free_bpe(void *data) {
    struct bpe *b = data;
    table_free(&b->merges);
    free(b->pairs);
    free(b);
}

/* ---- merging: a linked list of symbols and a heap of the merges that are possible in it ---- */

enum { NONE = -1 };
struct symbol {
    int32_t id; /* NONE once merged into its left neighbour */
    int32_t prev, next;
};
struct candidate {
    uint32_t rank;
    int32_t at; /* the left symbol */
    int32_t id; /* what the two become */
};
struct merger {
    const struct model *model;
    bool specials; /* merges may make special tokens */
    struct symbol *symbols;
    struct candidate *heap; /* the lowest rank first, then the leftmost */
    size_t n;
};

static bool before(struct candidate a, struct candidate b) {
    return a.rank != b.rank ? a.rank < b.rank : a.at < b.at;
}

static void push(struct merger *m, struct candidate c) {
    size_t i = m->n++;
    for (; i && before(c, m->heap[(i - 1) / 2]); i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = c;
}

static struct candidate pop(struct merger *m) {
    struct candidate top = m->heap[0], last = m->heap[--m->n];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < m->n; i = child) {
        if (child + 1 < m->n && before(m->heap[child + 1], m->heap[child])) child++;
        if (!before(m->heap[child], last)) break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = last;
    return top;
}

/* What the symbol AT and the one after it merge into, as rank << 32 | id, or NULL. */
static const uint64_t *merge_at(const struct merger *m, int32_t at) {
    if (at == NONE || m->symbols[at].id == NONE || m->symbols[at].next == NONE) return NULL;
    const struct bpe *b = m->model->data;
    struct pair p = {m->symbols[at].id, m->symbols[m->symbols[at].next].id};
    const uint64_t *merge = table_find(&b->merges, &p, sizeof p);
    return merge && !m->specials && m->model->special[(int32_t)(uint32_t)*merge] ? NULL : merge;
}

static void propose(struct merger *m, int32_t at) {
    const uint64_t *merge = merge_at(m, at);
    if (merge) push(m, (struct candidate){(uint32_t)(*merge >> 32), at, (int32_t)(uint32_t)*merge});
}

static void run_merges(struct merger *m) {
    while (m->n) {
        struct candidate c = pop(m);
        const uint64_t *now = merge_at(m, c.at);
        if (!now || (int32_t)(uint32_t)*now != c.id)
            continue; /* a neighbour has been merged since this was proposed */
        struct symbol *left = &m->symbols[c.at], *right = &m->symbols[left->next];
        right->id = NONE;
        left->id = c.id;
        left->next = right->next;
        if (left->next != NONE) m->symbols[left->next].prev = c.at;
        propose(m, left->prev);
        propose(m, c.at);
    }
}

/* ---- from a word to symbols ---- */

/* The symbols of a word, and one unknown that waits to be joined by others. */
struct symbols {
    struct symbol *v;
    int32_t n;
    int32_t unknown; /* waiting: its id, or NONE */
};

static void add_symbol(struct symbols *s, int32_t id) {
    s->v[s->n] = (struct symbol){id, s->n - 1, NONE};
    if (s->n) s->v[s->n - 1].next = s->n;
    s->n++;
}

static void end_unknown(struct symbols *s) {
    if (s->unknown != NONE) add_symbol(s, s->unknown);
    s->unknown = NONE;
}

static bool add_bytes(const struct bpe *b, struct symbols *s, struct span c) {
    for (size_t i = 0; i < c.n; i++)
        if (b->of_byte[(unsigned char)c.p[i]] < 0) return false;
    for (size_t i = 0; i < c.n; i++)
        add_symbol(s, b->of_byte[(unsigned char)c.p[i]]);
    return true;
}

static void add_char(const struct model *m, struct symbols *s, struct span word, bool specials,
                     size_t *at, struct ids *ids) {
    const struct bpe *b = m->data;
    size_t from = *at;
    int32_t c = utf8_next(word, at);
    struct span text = {word.p + from, *at - from};
    int32_t id = c < 512 ? b->of_char[c] : vocab_id(b->vocab, text);
    if (id >= 0 && !specials && m->special[id]) id = -1;
    if (id >= 0) {
        end_unknown(s);
        add_symbol(s, id);
        return;
    }
    if (m->byte_fallback && add_bytes(b, s, text)) return;
    if (m->unk < 0) {
        model_drop(m, c, ids);
        return;
    }
    if (!b->fuse_unk) end_unknown(s);
    s->unknown = m->unk;
}

static bool encode(const struct model *m, struct span word, bool specials, struct ids *ids,
                   char *err) {
    const struct bpe *b = m->data;
    int32_t whole = b->ignore_merges ? model_piece(m, word, specials) : -1;
    if (word.n > INT32_MAX / 4) return llm_fail(err, "a word of %zu bytes is too long", word.n);
    if (whole >= 0) return ids_add(ids, whole) || llm_fail(err, "out of memory");
    struct symbols s = {malloc(word.n * sizeof *s.v), 0, NONE};
    bool ok = s.v || llm_fail(err, "out of memory");
    for (size_t at = 0; ok && at < word.n;)
        add_char(m, &s, word, specials, &at, ids);
    if (ok) end_unknown(&s);
    /* Every merge removes a symbol and proposes at most two more. */
    struct merger merger = {m, specials, s.v,
                            ok ? malloc((3 * (size_t)s.n + 1) * sizeof *merger.heap) : NULL, 0};
    if (ok && !merger.heap) ok = llm_fail(err, "out of memory");
    for (int32_t i = 0; ok && i < s.n; i++)
        propose(&merger, i);
    if (ok) run_merges(&merger);
    for (int32_t i = s.n ? 0 : NONE; ok && i != NONE; i = s.v[i].next)
        if (!ids_add(ids, s.v[i].id)) ok = llm_fail(err, "out of memory");
    free(s.v);
    free(merger.heap);
    return ok;
}

bool bpe_load(struct model *m, json_t *j, char *err) {
    struct bpe *b = calloc(1, sizeof *b);
    if (!b) return llm_fail(err, "out of memory");
    m->data = b;
    m->free_data = free_bpe;
    m->encode = encode;
    m->drops = true;
    b->vocab = &m->vocab;
    if (!vocab_load(&m->vocab, json_object_get(j, "vocab"), err) || !load_options(m, b, j, err) ||
        !load_merges(b, json_object_get(j, "merges"), err))
        return false;
    index_pieces(b);
    return true;
}
