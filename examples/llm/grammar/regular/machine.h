/* machine.h - regular languages of bytes, as deterministic automata without dead ends.
 *
 * What is too large, or has no memory, is NULL. Machines are freed by machine_free. */
#ifndef LLM_GRAMMAR_MACHINE_H
#define LLM_GRAMMAR_MACHINE_H

#include "examples/llm/base/error.h"
#include <stddef.h>
#include <stdint.h>

enum { MACHINE_STATES = 1 << 15 };

/* Bytes of one class lead to the same states. State 0 is the first one. */
struct machine {
    unsigned char of[256]; /* the class of a byte */
    int nclasses;
    int32_t *next; /* [n][nclasses]; -1: nothing follows */
    bool *ends;    /* [n]: a text may end here */
    int32_t n;
};
void machine_free(struct machine *); /* NULL is fine */
bool machine_takes(const struct machine *, const char *text, size_t bytes);

/* A machine of states that are numbers from 0: STEP gives the one after a byte, or -1. Bytes of one
 * class of OF have the same steps. */
struct machine_plan {
    unsigned char of[256];
    int nclasses;
    int64_t start;
    int64_t (*step)(const void *user, int64_t state, unsigned char byte);
    bool (*ends)(const void *user, int64_t state);
    const void *user;
};
struct machine *machine_make(const struct machine_plan *);
/* Classes of bytes of which MARKS[b] says that B begins another one. */
void machine_classes(struct machine_plan *, const bool marks[257]);

/* What both take; what A takes and B does not. Both free A, and not B. */
struct machine *machine_both(struct machine *a, const struct machine *b);
struct machine *machine_without(struct machine *a, const struct machine *b);

/* Texts of LEAST to MOST characters of UTF-8; MOST -1: any number. */
struct machine *machine_length(int64_t least, int64_t most);
/* A word, and which of two comes first by their bytes (for qsort). */
struct machine_word {
    const char *text;
    size_t bytes;
};
int machine_word_order(const void *, const void *);
/* N words, in the order of their bytes. */
struct machine *machine_words(const char *const *words, const size_t *bytes, size_t n);

/* Texts that a regular expression (ECMA-262, of classes of characters, groups, choices and
 * repetitions) matches: somewhere, or WHOLE. NULL with the reason in ERR, LLM_ERR characters. */
struct machine *machine_regex(const char *pattern, size_t bytes, bool whole, char *err);

/* ---- numbers ---- */

/* A decimal number. */
struct decimal {
    bool negative;
    char whole[400], part[400]; /* digits before the point, without zeros in front, and after it */
    int nwhole, npart;
};
/* Of a JSON number. False: it has too many digits. */
bool decimal_read(const char *text, struct decimal *out);

struct number_limits {
    bool integer;
    bool has_least, has_most, above, below; /* ABOVE: not LEAST itself */
    struct decimal least, most;
    int64_t factor; /* multiples of FACTOR / 10^PLACES; 0: of anything */
    int places;
};
/* JSON numbers within limits, without exponents. */
struct machine *machine_number(const struct number_limits *);

/* The sequences of bytes that are the characters FIRST to LAST in UTF-8, each as N ranges. False:
 * GIVE did not take one. */
bool utf8_ranges(uint32_t first, uint32_t last,
                 bool (*give)(void *user, const unsigned char lo[4], const unsigned char hi[4],
                              int n),
                 void *user);

#endif
