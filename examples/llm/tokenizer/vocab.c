/* vocab.c - texts of tokens by id, and which of them a text begins with. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>

bool vocab_reserve(struct vocab *v, int32_t size, size_t bytes, char *err) {
    v->size = size;
    v->pieces = calloc((size_t)size + 1, sizeof *v->pieces);
    v->at = v->bytes = malloc(bytes + 1);
    return (v->pieces && v->bytes) || llm_fail(err, "out of memory");
}

bool vocab_add(struct vocab *v, int32_t id, struct span text, char *err) {
    if (text.n > MAX_PIECE)
        return llm_fail(err, "vocab: piece %d is longer than %d bytes", (int)id, MAX_PIECE);
    if (v->pieces[id].p) return llm_fail(err, "vocab: two pieces have id %d", (int)id);
    if (vocab_id(v, text) >= 0) return llm_fail(err, "vocab: \"%.80s\" stands there twice", text.p);
    memcpy(v->at, text.p, text.n);
    v->pieces[id] = (struct span){v->at, text.n};
    if (!table_add(&v->ids, v->at, text.n, (uint64_t)id)) return llm_fail(err, "out of memory");
    v->at += text.n;
    return true;
}

/* The largest id and the sum of the names' lengths. */
static bool measure(json_t *vocab, int32_t *out_max, size_t *out_bytes, char *err) {
    const char *name;
    json_t *id;
    *out_max = -1;
    *out_bytes = 0;
    json_object_foreach(vocab, name, id) {
        int32_t v = json_file_id(id);
        if (v < 0)
            return llm_fail(err, "vocab: the id of \"%.80s\" is not a number from 0 to %d", name,
                            LLM_MAX_ID);
        if (v > *out_max) *out_max = v;
        *out_bytes += strlen(name);
    }
    return true;
}

bool vocab_load(struct vocab *v, json_t *names, char *err) {
    int32_t max;
    size_t total;
    const char *name;
    json_t *value;
    if (!json_is_object(names) || !json_object_size(names))
        return llm_fail(err, "\"vocab\" is not a filled object");
    if (!measure(names, &max, &total, err) || !vocab_reserve(v, max + 1, total, err)) return false;
    json_object_foreach(names, name,
                        value) if (!vocab_add(v, json_file_id(value),
                                              (struct span){name, strlen(name)}, err)) return false;
    return true;
}

void vocab_free(struct vocab *v) {
    table_free(&v->ids);
    free(v->pieces);
    free(v->bytes);
}

int32_t vocab_id(const struct vocab *v, struct span text) {
    const uint64_t *id = table_find(&v->ids, text.p, text.n);
    return id ? (int32_t)*id : -1;
}

int32_t vocab_byte(const struct vocab *v, int byte) {
    char name[8];
    snprintf(name, sizeof name, "<0x%02X>", byte & 0xff);
    return vocab_id(v, (struct span){name, 6});
}

/* ---- prefixes: the keys in order, so that those with a common beginning are a range ---- */

static int in_order(const void *a, const void *b) {
    const struct prefix *x = a, *y = b;
    size_t n = x->key.n < y->key.n ? x->key.n : y->key.n;
    int c = n ? memcmp(x->key.p, y->key.p, n) : 0;
    if (!c) c = (x->key.n > y->key.n) - (x->key.n < y->key.n);
    return c ? c : (x->value > y->value) - (x->value < y->value);
}

/* The first key from LO to HI whose byte at DEPTH is BYTE or more. */
static size_t bound(const struct prefix *v, size_t lo, size_t hi, size_t depth, int byte) {
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        bool less = v[mid].key.n <= depth || (unsigned char)v[mid].key.p[depth] < byte;
        if (less)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool prefixes_add(struct prefixes *p, struct span key, int32_t value) {
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        struct prefix *v = realloc(p->v, cap * sizeof *v);
        if (!v) return false;
        p->v = v;
        p->cap = cap;
    }
    p->v[p->n++] = (struct prefix){key, value};
    return true;
}

void prefixes_sort(struct prefixes *p) {
    if (p->n) qsort(p->v, p->n, sizeof *p->v, in_order);
    for (int byte = 0; byte <= 256; byte++)
        p->first[byte] = bound(p->v, 0, p->n, 0, byte);
}

struct prefix_walk prefix_start(const struct prefixes *p) {
    return (struct prefix_walk){0, p->n, 0};
}

bool prefix_step(const struct prefixes *p, struct prefix_walk *w, char c) {
    int byte = (unsigned char)c;
    if (w->depth == 0) {
        w->lo = p->first[byte];
        w->hi = p->first[byte + 1];
    } else {
        w->lo = bound(p->v, w->lo, w->hi, w->depth, byte);
        w->hi = bound(p->v, w->lo, w->hi, w->depth, byte + 1);
    }
    w->depth++;
    return w->lo < w->hi;
}

int32_t prefix_here(const struct prefixes *p, const struct prefix_walk *w) {
    return w->lo < w->hi && p->v[w->lo].key.n == w->depth ? p->v[w->lo].value : -1;
}
