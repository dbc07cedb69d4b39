/* tokens.h - the tokenizer of a tokenizer.json as GGUF files have it. */
#ifndef GGUF_TEST_TOKENS_H
#define GGUF_TEST_TOKENS_H

#include "tests/unit/gguf/writer.h"
#include <jansson.h>

enum { MOST_TOKENS = 2000 };

struct vocabulary {
    const char *text[MOST_TOKENS]; /* of the JSON */
    int32_t type[MOST_TOKENS];
    float score[MOST_TOKENS];
    int n;
};

/* The smallest model that a vocabulary of so many TOKENS can be of. */
void add_token_model(struct writer *, int tokens);
void collect_tokens(const json_t *root, struct vocabulary *);
/* Of a unigram, as XLM-RoBERTa's: its first tokens are <s>, <pad>, </s> and <unk>. */
void collect_sums(const json_t *root, struct vocabulary *);
/* All that files have of it; BYTES of the table that characters are changed by. */
void add_sums(struct writer *, const struct vocabulary *, const void *map, size_t bytes);
/* What is merged first gets the highest score. */
void score_tokens(struct vocabulary *, const json_t *merges);
void add_tokens(struct writer *, const struct vocabulary *);
void add_merges(struct writer *, const json_t *merges);

#endif
