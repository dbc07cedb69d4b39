/* parts.h - the steps of the tokenizer, shared by its files only. */
#ifndef LLM_TOKENIZER_PARTS_H
#define LLM_TOKENIZER_PARTS_H

#include "examples/llm/base/json_file.h"
#include "examples/llm/base/table.h"
#include "examples/llm/tokenizer/tokenizer.h"

/* ---- utf8.c ---- */

/* A growable string of bytes; start with {0}, end with free(p). After the first addition a NUL
 * follows it. */
struct bytes {
    char *p;
    size_t n, cap;
};
bool bytes_add(struct bytes *, const char *p, size_t n); /* false: out of memory */

/* What the N bytes at TEXT begin with, N at least 1: the length of a character; 0, a character
 * whose end is missing; or -K where the first K bytes are part of no character (but may look like
 * the beginning of one). */
int utf8_scan(const char *text, size_t n);
/* How many bytes of TEXT are whole characters, from its beginning. */
size_t utf8_valid(const char *text, size_t n);

/* Lets bytes through as whole characters, U+FFFD for what is part of none. Start with {0}. */
struct utf8_gate {
    char held[4];
    int n;
    bool each_byte; /* one U+FFFD for each bad byte, not for each broken character */
};
bool utf8_gate_put(struct utf8_gate *, const char *p, size_t n, struct bytes *out);
bool utf8_gate_end(struct utf8_gate *, struct bytes *out);

/* ---- words.c: normalisation and cutting into words ---- */

struct span {
    const char *p;
    size_t n;
};
struct spans {
    struct span *v;
    size_t n, cap;
};
bool spans_add(struct spans *, const char *p, size_t n);

struct words; /* the normalizer and pre_tokenizer of a file */
bool words_load(const json_t *root, struct words **out, char *err);
void words_free(struct words *);
/* The normalised form of TEXT, allocated, for words_cut; NULL with ERR on failure. */
char *words_normalise(const struct words *, struct span text, size_t *out_bytes, char *err);
/* Appends the words of normalised text TEXT; they point into it. */
bool words_cut(const struct words *, struct span text, struct spans *out, char *err);

/* ---- bpe.c: the vocabulary and its merges ---- */

struct bpe; /* the "model" of a file */
bool bpe_load(const json_t *root, struct bpe **out, char *err);
void bpe_free(struct bpe *);
bool bpe_encode(const struct bpe *, struct span word, struct ids *, char *err);
/* The bytes of token ID, or .p NULL. */
struct span bpe_bytes(const struct bpe *, int32_t id);
/* One more than the largest id. */
int32_t bpe_size(const struct bpe *);
/* The id of the piece spelled NAME, or -1. */
int32_t bpe_id(const struct bpe *, const char *name);

#endif
