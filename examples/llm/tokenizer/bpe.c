/* bpe.c - the vocabulary, and merging a word's bytes into its pieces.
 *
 * Files spell pieces in an alphabet that gives every byte a printable character. Pieces are turned
 * back into bytes once, when the file is read; everything after works on bytes. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

struct pair {
    int32_t left, right;
};
struct bpe {
    struct span *pieces; /* by id; .p NULL in a hole */
    int32_t size;
    char *bytes;          /* of all pieces */
    struct table ids;     /* piece -> id */
    struct pair *pairs;   /* in the order of the file: the index is the rank */
    struct table merges;  /* pair -> rank << 32 | id of the merged piece */
    int32_t of_byte[256]; /* the piece of a single byte, or -1 */
    bool ignore_merges;   /* a word that is a piece as a whole stays whole */
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

/* Printable Latin-1 bytes stand for themselves; the others are U+0100, U+0101, ... in order. */
static int byte_of_char(int32_t c) {
    static const struct { int first, last; } unprintable[] = {{0, 32}, {127, 160}, {173, 173}};
    int next = 256;
    for (size_t i = 0; i < sizeof unprintable / sizeof *unprintable; i++) {
        int n = unprintable[i].last - unprintable[i].first + 1;
        if (c >= unprintable[i].first && c <= unprintable[i].last) return -1;
        if (c >= next && c < next + n) return unprintable[i].first + c - next;
        next += n;
    }
    return c >= 0 && c < 256 ? c : -1;
}

/* The bytes TEXT spells, written to OUT (room for its length). -1 when it is not in the alphabet.
 */
static ptrdiff_t unspell(const char *text, size_t n, char *out) {
    char *o = out;
    for (size_t i = 0; i < n;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t used =
            utf8proc_iterate((const utf8proc_uint8_t *)text + i, (utf8proc_ssize_t)(n - i), &c);
        int byte = used > 0 ? byte_of_char(c) : -1;
        if (byte < 0) return -1;
        *o++ = (char)byte;
        i += (size_t)used;
    }
    return o - out;
}

/* The largest id and the sum of the names' lengths. */
static bool measure(json_t *vocab, int32_t *out_max, size_t *out_bytes, char *err) {
    const char *name;
    json_t *id;
    *out_max = -1;
    *out_bytes = 1;
    json_object_foreach(vocab, name, id) {
        int32_t v = json_file_id(id);
        if (v < 0)
            return llm_fail(err, "vocab: the id of \"%s\" is not a number from 0 to %d", name,
                            LLM_MAX_ID);
        if (v > *out_max) *out_max = v;
        *out_bytes += strlen(name);
    }
    return true;
}

static bool load_vocab(struct bpe *b, json_t *vocab, char *err) {
    int32_t max;
    size_t total;
    const char *name;
    json_t *value;
    if (!json_is_object(vocab) || !json_object_size(vocab))
        return llm_fail(err, "\"vocab\" is not a filled object");
    if (!measure(vocab, &max, &total, err)) return false;
    b->size = max + 1;
    b->pieces = calloc((size_t)b->size, sizeof *b->pieces);
    b->bytes = malloc(total);
    if (!b->pieces || !b->bytes) return llm_fail(err, "out of memory");
    char *at = b->bytes;
    json_object_foreach(vocab, name, value) {
        int32_t id = json_file_id(value);
        ptrdiff_t n = unspell(name, strlen(name), at);
        bool spelled = n >= 0;
        if (!spelled) { /* a marker outside the alphabet: its text as it stands, never merged */
            n = (ptrdiff_t)strlen(name);
            memcpy(at, name, (size_t)n);
        }
        if (b->pieces[id].p) return llm_fail(err, "vocab: two pieces have id %d", id);
        b->pieces[id] = (struct span){at, (size_t)n};
        if (spelled && !table_add(&b->ids, at, (size_t)n, (uint64_t)id))
            return llm_fail(err, "out of memory");
        at += n;
    }
    for (int c = 0; c < 256; c++) {
        char byte = (char)c;
        const uint64_t *id = table_find(&b->ids, &byte, 1);
        b->of_byte[c] = id ? (int32_t)*id : -1;
    }
    return true;
}

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
    struct span half[2];
    const uint64_t *id[3] = {NULL, NULL, NULL};
    if (!merge_halves(merge, half))
        return llm_fail(err, "merges: entry %zu is not a pair of pieces", rank);
    char *both = malloc(half[0].n + half[1].n + 1);
    if (!both) return llm_fail(err, "out of memory");
    ptrdiff_t n0 = unspell(half[0].p, half[0].n, both);
    ptrdiff_t n1 = n0 < 0 ? -1 : unspell(half[1].p, half[1].n, both + n0);
    if (n1 >= 0) {
        id[0] = table_find(&b->ids, both, (size_t)n0);
        id[1] = table_find(&b->ids, both + n0, (size_t)n1);
        id[2] = table_find(&b->ids, both, (size_t)(n0 + n1));
    }
    free(both);
    if (!id[0] || !id[1] || !id[2])
        return llm_fail(err, "merges: entry %zu names a piece that vocab does not have", rank);
    b->pairs[rank] = (struct pair){(int32_t)*id[0], (int32_t)*id[1]};
    if (!table_add(&b->merges, &b->pairs[rank], sizeof *b->pairs, (uint64_t)rank << 32 | *id[2]))
        return llm_fail(err, "out of memory");
    return true;
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

/* Options of the format that change the result and are not supported. */
static bool check_options(const json_t *model, char *err) {
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const char *type = json_string_value(json_object_get(model, "type"));
    if (type && strcmp(type, "BPE"))
        return llm_fail(err, "model type \"%s\" is not supported; only BPE", type);
    if (json_is_true(json_object_get(model, "byte_fallback")))
        return llm_fail(err, "\"byte_fallback\" is not supported; only byte-level BPE");
    if (json_number_value(json_object_get(model, "dropout")) != 0)
        return llm_fail(err, "\"dropout\" is not supported");
    for (size_t i = 0; i < 2; i++) {
        const char *affix = json_string_value(json_object_get(model, affixes[i]));
        if (affix && *affix) return llm_fail(err, "\"%s\" is not supported", affixes[i]);
    }
    return true;
}

bool bpe_load(const json_t *root, struct bpe **out, char *err) {
    const json_t *model = json_object_get(root, "model");
    *out = NULL;
    if (!json_is_object(model)) return llm_fail(err, "\"model\" is not an object");
    if (!check_options(model, err)) return false;
    struct bpe *b = calloc(1, sizeof *b);
    if (!b) return llm_fail(err, "out of memory");
    b->ignore_merges = json_is_true(json_object_get(model, "ignore_merges"));
    if (!load_vocab(b, json_object_get(model, "vocab"), err) ||
        !load_merges(b, json_object_get(model, "merges"), err)) {
        bpe_free(b);
        return false;
    }
    *out = b;
    return true;
}

void bpe_free(struct bpe *b) {
    if (!b) return;
    table_free(&b->ids);
    table_free(&b->merges);
    free(b->pieces);
    free(b->bytes);
    free(b->pairs);
    free(b);
}

struct span bpe_bytes(const struct bpe *b, int32_t id) {
    return id >= 0 && id < b->size ? b->pieces[id] : (struct span){NULL, 0};
}

int32_t bpe_size(const struct bpe *b) {
    return b->size;
}

int32_t bpe_id(const struct bpe *b, const char *name) {
    char *bytes = malloc(strlen(name) + 1);
    ptrdiff_t n = bytes ? unspell(name, strlen(name), bytes) : -1;
    const uint64_t *id = n >= 0 ? table_find(&b->ids, bytes, (size_t)n) : NULL;
    free(bytes);
    return id ? (int32_t)*id : -1;
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
    const struct bpe *bpe;
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
    struct pair p = {m->symbols[at].id, m->symbols[m->symbols[at].next].id};
    return table_find(&m->bpe->merges, &p, sizeof p);
}

static void propose(struct merger *m, int32_t at) {
    const uint64_t *merge = merge_at(m, at);
    if (merge) push(m, (struct candidate){(uint32_t)(*merge >> 32), at, (int32_t)(uint32_t)*merge});
}

static void run_merges(struct merger *m) {
    while (m->n) {
        struct candidate c = pop(m);
        const uint64_t *now = merge_at(m, c.at);
        if (!now || *now != ((uint64_t)c.rank << 32 | (uint32_t)c.id))
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

bool bpe_encode(const struct bpe *b, struct span word, struct ids *ids, char *err) {
    const uint64_t *whole = b->ignore_merges ? table_find(&b->ids, word.p, word.n) : NULL;
    if (!word.n || word.n > INT32_MAX / 4)
        return !word.n || llm_fail(err, "a word of %zu bytes is too long", word.n);
    if (whole) return ids_add(ids, (int32_t)*whole) || llm_fail(err, "out of memory");
    /* Every merge removes a symbol and proposes at most two more. */
    struct merger m = {b, malloc(word.n * sizeof *m.symbols), malloc(3 * word.n * sizeof *m.heap),
                       0};
    bool ok = m.symbols && m.heap;
    if (!ok) llm_fail(err, "out of memory");
    for (size_t i = 0; ok && i < word.n; i++) {
        int byte = (unsigned char)word.p[i], n = (int)word.n;
        m.symbols[i] = (struct symbol){b->of_byte[byte], (int32_t)i - 1,
                                       (int)i + 1 < n ? (int32_t)i + 1 : NONE};
        if (b->of_byte[byte] < 0)
            ok = llm_fail(err, "the vocabulary has no piece for byte 0x%02x", byte);
    }
    for (size_t i = 0; ok && i < word.n; i++)
        propose(&m, (int32_t)i);
    if (ok) run_merges(&m);
    for (int32_t i = 0; ok && i != NONE; i = m.symbols[i].next)
        if (!ids_add(ids, m.symbols[i].id)) ok = llm_fail(err, "out of memory");
    free(m.symbols);
    free(m.heap);
    return ok;
}
