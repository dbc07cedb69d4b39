/* Which tokens may follow a state: all of the vocabulary in order of bytes, so that what tokens
 * have in common is looked at once. */
#include "examples/llm/grammar/automaton.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 512, MOST_MASKS = 512 };

struct word {
    const char *bytes;
    int32_t n, id;
    int32_t common; /* bytes it shares with the one before */
};

struct vocabulary {
    struct word *words;
    int64_t nwords, size;
};

static int in_order(const void *a, const void *b) {
    const struct word *x = a, *y = b;
    int32_t n = x->n < y->n ? x->n : y->n;
    int order = memcmp(x->bytes, y->bytes, (size_t)n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

struct vocabulary *vocabulary_make(const struct tokenizer *t, int64_t n) {
    struct vocabulary *v = calloc(1, sizeof *v);
    if (v) v->words = calloc((size_t)n + 1, sizeof *v->words);
    if (!v || !v->words) {
        vocabulary_free(v);
        return NULL;
    }
    v->size = n;
    for (int64_t id = 0; id < n; id++) {
        size_t bytes;
        bool special;
        const char *text = tokenizer_bytes(t, (int32_t)id, &bytes, &special);
        if (text && bytes && bytes <= MOST_BYTES && !special)
            v->words[v->nwords++] = (struct word){text, (int32_t)bytes, (int32_t)id, 0};
    }
    qsort(v->words, (size_t)v->nwords, sizeof *v->words, in_order);
    for (int64_t i = 1; i < v->nwords; i++) {
        const struct word *a = &v->words[i - 1], *b = &v->words[i];
        int32_t c = 0;
        while (c < a->n && c < b->n && a->bytes[c] == b->bytes[c])
            c++;
        v->words[i].common = c;
    }
    return v;
}

void vocabulary_free(struct vocabulary *v) {
    if (!v) return;
    free(v->words);
    free(v);
}

static void find(struct grammar *g, int32_t state, const struct vocabulary *v, uint64_t *mask) {
    int32_t states[MOST_BYTES + 1];
    int32_t known = 0; /* bytes of the word before whose states stand in STATES, all alive */
    bool dead = false; /* the byte after them led nowhere */
    states[0] = state;
    for (int64_t i = 0; i < v->nwords; i++) {
        const struct word *w = &v->words[i];
        if (w->common > known && dead) continue;
        if (w->common < known) known = w->common;
        dead = false;
        while (known < w->n && !dead) {
            int32_t next = grammar_byte(g, states[known], (unsigned char)w->bytes[known]);
            dead = next < 0;
            if (!dead) states[++known] = next;
        }
        if (!dead) mask[w->id >> 6] |= (uint64_t)1 << (w->id & 63);
    }
}

size_t vocabulary_words(const struct vocabulary *v) {
    return (size_t)v->size / 64 + 1;
}

void grammar_allowed(struct grammar *g, int32_t state, const struct vocabulary *v, uint64_t *bits) {
    size_t bytes = vocabulary_words(v) * sizeof *bits;
    if (g->states[state].mask) {
        memcpy(bits, g->states[state].mask, bytes);
        return;
    }
    memset(bits, 0, bytes);
    find(g, state, v, bits);
    uint64_t *kept = g->nmasks < MOST_MASKS ? malloc(bytes) : NULL;
    if (!kept) return;
    memcpy(kept, bits, bytes);
    g->states[state].mask = kept;
    g->nmasks++;
}

void vocabulary_mask(const struct vocabulary *v, const uint64_t *bits, const int32_t *stops,
                     int nstops, float *logits) {
    for (int64_t id = 0; id < v->size; id++) {
        bool may = bits[id >> 6] >> (id & 63) & 1;
        for (int i = 0; i < nstops && !may; i++)
            may = stops[i] == id;
        if (!may) logits[id] = -INFINITY;
    }
}

void grammar_mask(struct grammar *g, int32_t state, const struct vocabulary *v,
                  const int32_t *stops, int nstops, float *logits) {
    uint64_t *bits = calloc(vocabulary_words(v), sizeof *bits);
    if (bits) grammar_allowed(g, state, v, bits);
    for (int64_t id = 0; !bits && id < v->size; id++)
        logits[id] = -INFINITY; /* no memory: nothing may */
    if (bits) vocabulary_mask(v, bits, stops, grammar_ends(g, state) ? nstops : 0, logits);
    free(bits);
}
