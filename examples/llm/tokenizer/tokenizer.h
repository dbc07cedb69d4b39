/* tokenizer.h - text to token ids and back, as a checkpoint's tokenizer.json describes it.
 *
 * Encoding: added tokens are split off, the rest is normalised, split into words (pre-tokenised),
 * each word is split into tokens by the model, and special tokens are added (post-processor).
 * Decoding goes the other way, token by token. What a file asks for and is not implemented is
 * refused by name when the file is loaded.
 *
 * A tokenizer does not change after it was loaded: any number of threads may use one. Failing calls
 * leave one line in ERR, an array of LLM_ERR characters. */
#ifndef LLM_TOKENIZER_H
#define LLM_TOKENIZER_H

#include "examples/llm/base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tokenizer;

/* A growable list of token ids; start with {0}, end with free(v). */
struct ids {
    int32_t *v;
    size_t n, cap;
    size_t dropped;        /* characters of the text that have no token, and were left out */
    int32_t first_dropped; /* the first of them; a byte where the vocabulary is byte-level */
    bool dropped_bytes;    /* what was left out are bytes */
};
bool ids_add(struct ids *, int32_t id); /* false: out of memory */

/* Reads DIR/tokenizer.json, and from the config files beside it whether a bos token is added. *OUT
 * is NULL on failure. */
bool tokenizer_load(const char *dir, struct tokenizer **out, char *err);
void tokenizer_free(struct tokenizer *); /* NULL is fine */

/* ---- encoding ---- */

enum {
    /* Nothing is put around the text. For the output of a chat template, which writes the bos token
     * itself, and for pieces of a text. */
    TOKENIZER_BARE = 1,
    /* Names of special tokens in the text are ordinary text. For input of a user, who must not be
     * able to end a turn. */
    TOKENIZER_NO_SPECIALS = 2,
    /* The text need not be UTF-8. A byte that is part of no character becomes the token of that
     * byte, or is treated as an unknown character where the vocabulary has no such token. */
    TOKENIZER_ANY_BYTES = 4,
};

/* Appends the ids of TEXT, BYTES long, which may hold NULs. A character, or with a byte-level
 * vocabulary a byte, that a BPE model has no token for becomes its unknown token; without one it is
 * left out and counted in IDS, as Hugging Face's library leaves it out. Other models fail. FLAGS is
 * a sum of the above. Time grows with BYTES * log(BYTES) at most, but for expressions in the file
 * that backtrack: these fail when they do so for too long. IDS may have grown on failure too. */
bool tokenizer_encode_as(const struct tokenizer *, const char *text, size_t bytes, unsigned flags,
                         struct ids *ids, char *err);
/* The same with FLAGS 0. */
bool tokenizer_encode(const struct tokenizer *, const char *text, size_t bytes, struct ids *ids,
                      char *err);

/* The same for a model that takes no more than MOST tokens, what is put around the text included:
 * the end of the text is left out. */
bool tokenizer_encode_within(const struct tokenizer *, const char *text, size_t bytes, size_t most,
                             struct ids *ids, char *err);
/* Two texts as one, as the file's post-processor puts them together, in no more than MOST tokens:
 * the end of the longer one is left out, or of both. *OUT_SECOND: how many of the tokens are of
 * type 0, of the first text. */
bool tokenizer_encode_pair(const struct tokenizer *, const char *first, size_t first_bytes,
                           const char *second, size_t second_bytes, size_t most, struct ids *ids,
                           size_t *out_second, char *err);

/* ---- about tokens ---- */

/* One more than the largest id. There may be ids below that no token has. */
int32_t tokenizer_size(const struct tokenizer *);

/* The bytes token ID stands for inside a text, followed by a NUL; they live as long as the
 * tokenizer. A character may be spread over several tokens; and the first token of a text may lose
 * a space, as a decoder does for it. NULL for an id that no token has. *OUT_SPECIAL: a marker, not
 * text. */
const char *tokenizer_bytes(const struct tokenizer *, int32_t id, size_t *out_bytes,
                            bool *out_special);

/* ---- decoding ---- */

enum {
    LM_DECODER_SPECIALS = 1, /* special tokens give their names; otherwise they give nothing */
    LM_DECODER_RAW = 2,      /* bytes as they are, be they UTF-8 or not */
};

/* Turns ids into text one at a time, for streaming. What it gives is valid UTF-8 in whole
 * characters: a character that is spread over tokens comes with the last of them, and bytes that
 * are part of none come as U+FFFD, as soon as that is certain: one for each broken character of
 * byte-level designs, one for each byte of the others. At most three bytes are held back for that,
 * and what the file's decoder may cut off the end. All it gives, joined, is what tokenizer_decode
 * gives for all ids at once. An id that no token has gives nothing. One thread at a time may use a
 * decoder; the tokenizer must outlive it. */
struct lm_decoder;
/* FLAGS is a sum of the above. NULL: out of memory. Free with lm_decoder_free. */
struct lm_decoder *lm_decoder_new(const struct tokenizer *, unsigned flags);
void lm_decoder_free(struct lm_decoder *); /* NULL is fine */
/* The text that ID makes certain, often none. *OUT_TEXT is followed by a NUL and lives until the
 * next call. False: out of memory; the decoder can then only be freed. */
bool lm_decoder_push(struct lm_decoder *, int32_t id, const char **out_text, size_t *out_bytes);
/* What is held back at the end of a text; the decoder is then as new, for another text. */
bool lm_decoder_flush(struct lm_decoder *, const char **out_text, size_t *out_bytes);

/* All of IDS, N of them, at once: FLAGS as for lm_decoder_new. *OUT_TEXT, followed by a NUL, is
 * freed by the caller. NULL and false: out of memory. */
bool tokenizer_decode(const struct tokenizer *, const int32_t *ids, size_t n, unsigned flags,
                      char **out_text, size_t *out_bytes);

#endif
