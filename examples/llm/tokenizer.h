/* tokenizer.h - byte-level BPE as Hugging Face's tokenizer.json describes it.
 *
 * Encoding goes text -> added tokens cut out -> normalised -> cut into words by regular
 * expressions -> each word's bytes merged pair by pair -> special tokens put around. What a file
 * asks for beyond that is refused by its name when it is loaded. Failing calls leave one line in
 * ERR, an array of LLM_ERR characters. */
#ifndef LLM_TOKENIZER_H
#define LLM_TOKENIZER_H

#include "examples/llm/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tokenizer;

/* A growable list of token ids; start with {0}, end with free(v). */
struct ids {
    int32_t *v;
    size_t n, cap;
};
bool ids_add(struct ids *, int32_t id);

/* Reads DIR/tokenizer.json, and what the config files beside it say of the bos token. */
bool tokenizer_load(const char *dir, struct tokenizer **out, char *err);
void tokenizer_free(struct tokenizer *); /* NULL is fine */

/* Appends the ids of TEXT, which must be UTF-8. */
bool tokenizer_encode(const struct tokenizer *, const char *text, size_t bytes, struct ids *,
                      char *err);

/* The bytes token ID stands for, to be written as they are: a character may be spread over several
 * tokens. NULL for an id the vocabulary does not have. *OUT_SPECIAL: a marker, not text. */
const char *tokenizer_bytes(const struct tokenizer *, int32_t id, size_t *out_bytes,
                            bool *out_special);

#endif
