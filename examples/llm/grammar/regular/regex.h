/* regex.h - what the files of regular expressions share: an automaton of choices, whose states have
 * two ways on without a byte, or one with a byte of a range. */
#ifndef LLM_GRAMMAR_REGEX_H
#define LLM_GRAMMAR_REGEX_H

#include "examples/llm/grammar/regular/machine.h"

/* Symbols beyond bytes: the text's beginning and its end. */
enum { TEXT_BEGINS = 256, TEXT_ENDS = 257 };

struct choice {
    int32_t to, other; /* -1: none */
    int lo, hi;        /* symbols that lead to TO; LO -1: none is needed */
};

struct choices {
    struct choice *at;
    int32_t n, cap;
    bool failed; /* too large, or no memory */
};

int32_t choices_new(struct choices *);
void choices_link(struct choices *, int32_t from, int32_t to); /* without a symbol */
void choices_range(struct choices *, int32_t from, int lo, int hi, int32_t to);

/* characters.c: sets of characters. */
enum { MOST_RANGES = 512 };
struct characters {
    uint32_t lo[MOST_RANGES], hi[MOST_RANGES];
    int n;
};
bool characters_add(struct characters *, uint32_t lo, uint32_t hi); /* false: too many */
bool characters_invert(struct characters *);
/* \d \D \w \W \s \S: what is one by every dialect's reading, or, WIDEST, by any, which a class that
 * is inverted leaves out. False: it is none of them. */
bool characters_class(struct characters *, char letter, bool widest);
/* From FROM to TO by any of them. */
bool characters_link(struct choices *, const struct characters *, int32_t from, int32_t to);
/* Reads one character of UTF-8; 0 bytes: it is none. */
size_t characters_read(const char *text, size_t bytes, uint32_t *out);

/* deterministic.c */
struct machine *choices_machine(const struct choices *, int32_t first, int32_t last);

#endif
