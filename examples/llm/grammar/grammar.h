/* grammar.h - what an answer may be, byte by byte, and so which tokens may come next.
 *
 * A grammar is rules over classes of bytes, made from a JSON schema, a list of texts, a regular
 * expression or a grammar that somebody wrote. It runs as an automaton whose
 * states are made when a text first comes to them. One thread at a time may use a grammar.
 *
 * Failing calls leave why in ERR, an array of LLM_ERR characters. */
#ifndef LLM_GRAMMAR_H
#define LLM_GRAMMAR_H

#include "examples/llm/base/error.h"
#include "examples/llm/tokenizer/tokenizer.h"
#include <jansson.h>

struct grammar;

enum grammar_kind {
    GRAMMAR_SCHEMA, /* a JSON value that fits SCHEMA; NULL: any object */
    GRAMMAR_CHOICE, /* one of the strings of the array SCHEMA */
    GRAMMAR_REGEX,  /* what the regular expression TEXT matches as a whole */
    GRAMMAR_GBNF,   /* what the grammar TEXT says, as llama.cpp writes them */
};
/* What an answer is, and the text before and after it. */
struct grammar_form {
    const char *before;
    const json_t *schema;
    const char *after;
    enum grammar_kind kind;
    const char *text;
};
/* One of FORMS, N of them. What a schema says and is not done here is refused by its name. BLANKS:
 * white space may come first. */
bool grammar_make(const struct grammar_form *forms, size_t n, bool blanks, struct grammar **out,
                  char *err);
void grammar_free(struct grammar *); /* NULL is fine */

/* States are numbers; GRAMMAR_DEAD is none: the text is not what the grammar says, or memory ran
 * out. A state stands until the text has moved on by grammar_move. */
enum { GRAMMAR_DEAD = -1 };
int32_t grammar_start(struct grammar *);
int32_t grammar_step(struct grammar *, int32_t state, const char *bytes, size_t n);
/* The text may end here. */
bool grammar_ends(const struct grammar *, int32_t state);
/* Something may follow. */
bool grammar_goes_on(struct grammar *, int32_t state);

/* ---- tokens ---- */

/* The tokens of a vocabulary in order of their bytes. */
struct vocabulary;
struct vocabulary *vocabulary_make(const struct tokenizer *, int64_t n); /* NULL: no memory */
void vocabulary_free(struct vocabulary *);

size_t vocabulary_words(const struct vocabulary *); /* of a bit for each token */
/* Sets the bits of all tokens whose bytes may follow; special tokens never may. */
void grammar_allowed(struct grammar *, int32_t state, const struct vocabulary *, uint64_t *bits);
/* Sets LOGITS[id] to -INFINITY for all others but STOPS. */
void vocabulary_mask(const struct vocabulary *, const uint64_t *bits, const int32_t *stops,
                     int nstops, float *logits);
/* Both at once: STOPS, which end a text, may come where it may end. */
void grammar_mask(struct grammar *, int32_t state, const struct vocabulary *, const int32_t *stops,
                  int nstops, float *logits);

#endif
