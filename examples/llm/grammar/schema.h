/* schema.h - what the files that make rules of a JSON schema share.
 *
 * A value must fit a set of schemas, all of them. Alternatives (anyOf, oneOf, if) are taken one
 * after the other, each a set of schemas that have none; of such a set comes a rule for each type.
 * What comes of it is a part of what the schema allows: keys in one order, one way to write a
 * number, no more properties than are named. It is never more.
 *
 * Functions that return a rule return -1 where the schema is refused, with the reason in ERR. */
#ifndef LLM_GRAMMAR_SCHEMA_H
#define LLM_GRAMMAR_SCHEMA_H

#include "examples/llm/grammar/json.h"
#include "examples/llm/grammar/regular/machine.h"

enum {
    MOST_DEPTH = 64,
    MOST_COUNT = 4096,
    MOST_SCHEMAS = 64, /* that one value must fit */
    MOST_BRANCHES = 1 << 14,
};

struct schemas {
    const json_t *at[MOST_SCHEMAS];
    int n;
};

struct known; /* sets whose rule is made */

struct maker {
    struct rules *r;
    const json_t *root;
    char *err;
    int depth;
    int64_t branches;
    int32_t blank, comma, colon, letter, string, name, integer, number, value, object;
    struct known *known;
    int nknown, known_cap;
    int32_t *table;     /* of the known ones, by hash */
    json_t *made;       /* schemas that follow from others */
    const json_t *told; /* values that are tried: those of this "enum" are among it */
    struct {
        int64_t least, most;
        int32_t rule;
    } * lengths; /* of strings of nothing but a length */
    int nlengths;
    struct {
        const json_t *of, *is;
    } * negated;
    int nnegated;
    struct {
        const char *pattern; /* or a format */
        bool is_format;
        struct machine *machine;
    } * patterns;
    int npatterns;
    bool failed; /* what is asked of a value could not be told: ERR says why */
};

int32_t schema_refuse(struct maker *, const char *what, const char *name);
/* The rule of what fits all of SET. */
int32_t schema_set(struct maker *, const struct schemas *set);
bool schemas_add(struct maker *, struct schemas *, const json_t *schema);
/* Where "$ref" of S leads; S itself without one; NULL: nowhere. */
const json_t *schema_target(const struct maker *, const json_t *s);
int32_t schema_text(struct maker *, const char *text);
void schema_alternative(struct maker *, int32_t rule, int32_t to);
/* A count of a keyword, the largest of least and the smallest of most; -1 where none says. */
bool schema_bounds(struct maker *, const struct schemas *, const char *lo, const char *hi,
                   int64_t *out_least, int64_t *out_most);
/* One of VALUES, an array. */
int32_t schema_values(struct maker *, const json_t *values);

/* types.c: sets without alternatives. */
int32_t schema_plain(struct maker *, const struct schemas *set, const struct schemas *nots);
/* The values that there are, if they are few and told; a new array, or NULL. */
json_t *schema_few(struct maker *, const struct schemas *set);

/* strings.c */
int32_t schema_string(struct maker *, const struct schemas *);
/* The strings of a set, without quotes; NULL with ERR. */
struct machine *schema_strings(struct maker *, const struct schemas *);
/* Kept by M. NULL with ERR. */
const struct machine *schema_pattern(struct maker *, const char *pattern);
const struct machine *schema_format(struct maker *, const char *format);
/* formats.c: strings of a format. NULL with ERR. */
struct machine *format_machine(const char *format, char *err);

/* numbers.c */
int32_t schema_number(struct maker *, const struct schemas *, bool integer);

/* arrays.c, objects.c */
int32_t schema_array(struct maker *, const struct schemas *);
int32_t schema_object(struct maker *, const struct schemas *);

/* negation.c: a schema of values that do not fit S, if not of all of them; NULL: there is no saying
 * which. */
const json_t *schema_negation(struct maker *, const json_t *s);
/* No value fits both. */
bool schema_apart(struct maker *, const json_t *a, const json_t *b);

/* valid.c: does VALUE fit S? Where that cannot be told M has failed. */
bool schema_fits(struct maker *, const json_t *s, const json_t *value);

/* keywords.c: refuses what is not done, and what is no schema. */
bool schema_check(struct maker *, const json_t *s);
/* Words of schemas that follow from others, which no schema of a client may have: an array of
 * strings that are not taken, and a pattern that does not match. */
#define WORD_EXCEPT "\x7f except"
#define WORD_UNLIKE "\x7f unlike"
const json_t *schema_keep(struct maker *, json_t *made);

#endif
