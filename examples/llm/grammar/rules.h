/* rules.h - the rules of a grammar while they are made, and as the automaton reads them. */
#ifndef LLM_GRAMMAR_RULES_H
#define LLM_GRAMMAR_RULES_H

#include "examples/llm/grammar/grammar.h"

/* Elements stand one after another; an alternative of a rule is a run of them that ends with END.
 */
enum element_kind { END, BYTES, RULE };
struct element {
    enum element_kind kind;
    int32_t at; /* the class of bytes, or the rule */
};

struct class {
    uint64_t bits[4];
};

struct alternative {
    int32_t rule, first; /* its first element */
    int32_t next;        /* another one of the rule, or -1 */
};

struct rules {
    struct element *elements;
    struct class *classes; /* the first 256 are single bytes */
    struct alternative *alternatives;
    int32_t *rules; /* the first alternative of each, or -1 */
    int32_t nelements, nclasses, nalternatives, nrules;
    int32_t elements_cap, classes_cap, alternatives_cap, rules_cap;
    bool failed; /* memory ran out, or it became too large */
};

bool rules_begin(struct rules *);
void rules_free(struct rules *);

int32_t rules_new(struct rules *); /* a rule without alternatives */
/* An alternative: begin, add elements, end. One at a time: what it refers to is made before. */
void rules_open(struct rules *, int32_t rule);
void rules_byte(struct rules *, unsigned char);
void rules_text(struct rules *, const char *text, size_t bytes);
void rules_class(struct rules *, const struct class *);
void rules_refer(struct rules *, int32_t rule);
void rules_close(struct rules *);

void class_add(struct class *, unsigned char lo, unsigned char hi);
bool class_has(const struct class *, unsigned char);

/* RULE again and again: LEAST times or more, MOST times at most (-1: any number), SEPARATOR (a
 * rule, or -1) between. A new rule. */
int32_t rules_repeat(struct rules *, int32_t rule, int64_t least, int64_t most, int32_t separator);

/* Does a rule begin with itself? The automaton would never come to a byte. */
bool rules_loop(const struct rules *);

/* Drops alternatives that no text can ever fit. False: ROOT has none, or no memory. */
bool rules_prune(struct rules *, int32_t root);

/* words.c: rules for regular languages. */
struct machine;
/* One of N texts; those that begin alike share their beginning, so that however many there are the
 * automaton is in few places. */
int32_t words_rule(struct rules *, const char *const *texts, const size_t *bytes, size_t n);
/* What a machine takes: as it is, or as the letters of a JSON string and the quote behind them; not
 * U+0000 where that is a name. */
enum rule_as { RULE_TEXT, RULE_STRING, RULE_NAME };
int32_t machine_rule(struct rules *, const struct machine *, enum rule_as);

/* A rule for the texts that a regular expression matches as a whole. -1 with ERR. */
int32_t regex_rule(struct rules *, const char *pattern, char *err);
/* gbnf.c: the rule "root" of a grammar. -1 with ERR. */
int32_t gbnf_rule(struct rules *, const char *text, char *err);

/* schema.c: a rule for the values that a schema allows, or for any object where it is NULL. -1 with
 * ERR. */
int32_t schema_rule(struct rules *, const json_t *schema, char *err);

#endif
