/* vectors.h - what a model's files say of texts that become vectors, and of pairs of texts that get
 * scores, beside what its kernel does.
 *
 * Failing calls leave the reason in ERR, an array of LLM_ERR characters. What was read does not
 * change: any number of threads may use it. */
#ifndef LLM_VECTORS_H
#define LLM_VECTORS_H

#include "examples/llm/base/error.h"
#include "examples/llm/tokenizer/tokenizer.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vectors;

/* Of the checkpoint in DIR. *OUT is NULL on failure. */
bool vectors_read(const char *dir, struct vectors **out, char *err);
void vectors_free(struct vectors *); /* NULL is fine */

/* How the checkpoint in DIR gives vectors or scores of texts, by its files: not at all, in its
 * slots, or of whole texts in a launch. False with ERR where they cannot be read. */
enum vectors_by { VECTORS_NOT, VECTORS_BY_SLOTS, VECTORS_BY_TEXTS };
bool vectors_by(const char *dir, enum vectors_by *out, char *err);

/* Most tokens of a text; 0: nothing is said. */
int64_t vectors_most(const struct vectors *);
/* Is a pair scored by logits of single tokens? Then the model is a decoder. */
bool vectors_by_token(const struct vectors *);
/* The smallest vocabulary that has those tokens; 0 where there are none. */
int64_t vectors_vocab(const struct vectors *);

/* The prompt called NAME, or where NAME is NULL the usual one, "" where there is none. NULL: no
 * prompt has that name. */
const char *vectors_prompt(const struct vectors *, const char *name, char *err);

/* A text behind PROMPT, in no more than MOST tokens: the end of it is left out. */
bool vectors_text(const struct tokenizer *, const char *prompt, const char *text, size_t bytes,
                  size_t most, struct ids *ids, char *err);

/* A query and a document, likewise. *OUT_SECOND: which token begins the second text, where the
 * model can tell it. */
struct vectors_pair {
    const char *query, *document;
    size_t query_bytes, document_bytes;
};
bool vectors_pair(const struct vectors *, const struct tokenizer *, const char *prompt,
                  const struct vectors_pair *, size_t most, struct ids *ids, size_t *out_second,
                  char *err);
/* The first N numbers of a vector of WIDTH, of length 1 again where the vector was. Returns how
 * many it has then. */
int64_t vectors_shorten(float *values, int64_t width, int64_t n);

/* How much the document is about the query, by WIDTH numbers that the model gives of the pair. */
bool vectors_score(const struct vectors *, const float *values, int64_t width, double *out,
                   char *err);

#endif
