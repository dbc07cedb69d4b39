/* tokenizer_parts.h - the steps of the tokenizer, shared by its files only. */
#ifndef LLM_TOKENIZER_PARTS_H
#define LLM_TOKENIZER_PARTS_H

#include "examples/llm/json_file.h"
#include "examples/llm/table.h"
#include "examples/llm/tokenizer.h"

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

#endif
