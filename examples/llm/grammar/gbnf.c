/* Grammars as llama.cpp writes them: NAME ::= alternatives of texts, classes of characters, names
 * and groups, each repeated with * + ? {m,n}; the rule "root" is all of it. '#' begins a comment.
 */
#include "examples/llm/grammar/json.h"
#include "examples/llm/grammar/regular/machine.h"
#include "examples/llm/grammar/regular/regex.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NESTED = 64, MOST_REPEATED = 4096 };

struct gbnf {
    struct rules *r;
    const char *text, *at;
    char *err;
    json_t *names; /* to the number of their rules, and below 0 where none was written yet */
    int depth;
};

static int32_t alternatives(struct gbnf *g);

static int line_of(const struct gbnf *g) {
    int line = 1;
    for (const char *c = g->text; c < g->at; c++)
        line += *c == '\n';
    return line;
}

static int32_t wrong(struct gbnf *g, const char *what) {
    llm_fail(g->err, "the grammar, line %d: %s", line_of(g), what);
    return -1;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

/* NEWLINES: a rule may go on in the next line. */
static void skip(struct gbnf *g, bool newlines) {
    for (; *g->at; g->at++) {
        if (*g->at == '#') g->at += strcspn(g->at, "\n");
        if (!strchr(newlines ? " \t\r\n" : " \t\r", *g->at) || !*g->at) return;
    }
}

static bool is_next(struct gbnf *g, const char *word) {
    size_t n = strlen(word);
    if (strncmp(g->at, word, n) != 0) return false;
    g->at += n;
    return true;
}

/* ---- characters ---- */

static bool read_hex(struct gbnf *g, int digits, uint32_t *out) {
    static const char all[] = "0123456789abcdef";
    *out = 0;
    for (int i = 0; i < digits; i++, g->at++) {
        const char *digit = *g->at ? strchr(all, *g->at | 0x20) : NULL;
        if (!digit || !*digit) return wrong(g, "an escape without its digits") >= 0;
        *out = *out << 4 | (uint32_t)(digit - all);
    }
    return *out <= 0x10ffff || wrong(g, "no such character") >= 0;
}

static bool read_character(struct gbnf *g, uint32_t *out) {
    static const char from[] = "nrt", to[] = "\n\r\t";
    if (is_next(g, "\\")) {
        const char *known = *g->at ? strchr(from, *g->at) : NULL;
        if (is_next(g, "x")) return read_hex(g, 2, out);
        if (is_next(g, "u")) return read_hex(g, 4, out);
        if (is_next(g, "U")) return read_hex(g, 8, out);
        if (!*g->at) return wrong(g, "it ends with a backslash") >= 0;
        if (known) {
            *out = (unsigned char)to[known - from];
            g->at++;
            return true;
        }
        if (!strchr("\"\\[]^-/", *g->at)) return wrong(g, "an escape that is not known") >= 0;
    }
    size_t n = characters_read(g->at, strlen(g->at), out);
    g->at += n;
    return n || wrong(g, "it is not UTF-8, or ends too early") >= 0;
}

struct adding {
    struct rules *r;
    int32_t rule;
};

static bool add_bytes(void *user, const unsigned char lo[4], const unsigned char hi[4], int n) {
    const struct adding *a = user;
    rules_open(a->r, a->rule);
    for (int i = 0; i < n; i++) {
        struct class c = {{0}};
        class_add(&c, lo[i], hi[i]);
        rules_class(a->r, &c);
    }
    rules_close(a->r);
    return !a->r->failed;
}

static int32_t set_rule(struct gbnf *g, const struct characters *set) {
    struct adding a = {g->r, rules_new(g->r)};
    for (int i = 0; i < set->n; i++)
        utf8_ranges(set->lo[i], set->hi[i], add_bytes, &a);
    return a.rule;
}

static int32_t text(struct gbnf *g) {
    struct adding a = {g->r, 0};
    int32_t all = json_rule_text(g->r, "", 0);
    uint32_t c;
    while (*g->at && *g->at != '"') {
        if (*g->at == '\n') return wrong(g, "a text that does not end in its line");
        if (!read_character(g, &c)) return -1;
        a.rule = rules_new(g->r);
        if (!utf8_ranges(c, c, add_bytes, &a)) return wrong(g, "too large, or no such character");
        all = json_rule_sequence(g->r, 2, all, a.rule);
    }
    return is_next(g, "\"") ? all : wrong(g, "a text that does not end");
}

static int32_t class(struct gbnf *g) {
    struct characters set = {.n = 0};
    bool inverted = is_next(g, "^");
    uint32_t lo, hi;
    while (*g->at && *g->at != ']') {
        if (!read_character(g, &lo)) return -1;
        hi = lo;
        if (*g->at == '-' && g->at[1] != ']') {
            g->at++;
            if (!read_character(g, &hi)) return -1;
        }
        if (!characters_add(&set, lo, hi)) return wrong(g, "a range that is none, or too many");
    }
    if (!is_next(g, "]")) return wrong(g, "a class that does not end");
    if (inverted && !characters_invert(&set)) return wrong(g, "a class that is too large");
    return set_rule(g, &set);
}

/* ---- rules ---- */

static int32_t named(struct gbnf *g, const char *name, size_t n) {
    json_t *known = json_object_getn(g->names, name, n);
    if (known) {
        json_int_t v = json_integer_value(known);
        return (int32_t)(v < 0 ? -v - 1 : v);
    }
    int32_t rule = rules_new(g->r);
    if (json_object_setn_new(g->names, name, n, json_integer(-(json_int_t)rule - 1)) < 0)
        return wrong(g, "out of memory");
    return rule;
}

static int32_t atom(struct gbnf *g) {
    const char *from = g->at;
    if (is_next(g, "\"")) return text(g);
    if (is_next(g, "[")) return class(g);
    if (is_next(g, ".")) {
        struct characters all = {.n = 0};
        characters_add(&all, 0, 0x10ffff);
        return set_rule(g, &all);
    }
    if (is_next(g, "(")) {
        if (++g->depth > MOST_NESTED) return wrong(g, "groups that are too deep");
        skip(g, true);
        int32_t rule = alternatives(g);
        g->depth--;
        skip(g, true);
        if (rule < 0) return -1;
        return is_next(g, ")") ? rule : wrong(g, "a '(' without its ')'");
    }
    while (is_letter(*g->at))
        g->at++;
    return g->at > from ? named(g, from, (size_t)(g->at - from))
                        : wrong(g, "a part of a rule is expected");
}

static bool read_count(struct gbnf *g, int64_t *out) {
    const char *from = g->at;
    skip(g, false);
    for (*out = 0; *g->at >= '0' && *g->at <= '9'; g->at++)
        if ((*out = *out * 10 + *g->at - '0') > MOST_REPEATED) *out = MOST_REPEATED + 1;
    return g->at > from;
}

static int32_t repeated(struct gbnf *g, int32_t rule) {
    int64_t least, most;
    if (is_next(g, "*")) return rules_repeat(g->r, rule, 0, -1, -1);
    if (is_next(g, "+")) return rules_repeat(g->r, rule, 1, -1, -1);
    if (is_next(g, "?")) return rules_repeat(g->r, rule, 0, 1, -1);
    if (!is_next(g, "{")) return rule;
    if (!read_count(g, &least)) return wrong(g, "a count is expected");
    most = least;
    skip(g, false);
    if (is_next(g, ",") && !read_count(g, &most)) most = -1;
    skip(g, false);
    if (!is_next(g, "}")) return wrong(g, "a '{' without its '}'");
    if (least > MOST_REPEATED || most > MOST_REPEATED) return wrong(g, "a count above 4096");
    if (most >= 0 && most < least) return wrong(g, "a count that is none");
    return rules_repeat(g->r, rule, least, most, -1);
}

static bool ends(const struct gbnf *g) {
    return !*g->at || *g->at == '|' || *g->at == ')' || *g->at == '\n';
}

static int32_t sequence(struct gbnf *g) {
    int32_t all = json_rule_text(g->r, "", 0);
    while (!ends(g)) {
        int32_t one = atom(g);
        if (one >= 0) one = repeated(g, one);
        if (one < 0) return -1;
        all = json_rule_sequence(g->r, 2, all, one);
        if (g->r->failed) return wrong(g, "it is too large");
        skip(g, g->depth > 0);
    }
    return all;
}

static int32_t alternatives(struct gbnf *g) {
    int32_t rule = rules_new(g->r), one;
    for (;;) {
        if ((one = sequence(g)) < 0) return -1;
        rules_open(g->r, rule);
        rules_refer(g->r, one);
        rules_close(g->r);
        /* A line that begins with '|' goes on with the rule. */
        const char *from = g->at;
        skip(g, true);
        if (!is_next(g, "|")) {
            g->at = from;
            return rule;
        }
        skip(g, true);
    }
}

static bool definition(struct gbnf *g) {
    const char *name = g->at;
    while (is_letter(*g->at))
        g->at++;
    size_t n = (size_t)(g->at - name);
    if (!n) return wrong(g, "the name of a rule is expected") >= 0;
    int32_t rule = named(g, name, n);
    if (rule < 0) return false;
    if (json_integer_value(json_object_getn(g->names, name, n)) >= 0)
        return wrong(g, "a rule of that name is there already") >= 0;
    json_object_setn_new(g->names, name, n, json_integer(rule));
    skip(g, false);
    if (!is_next(g, "::=")) return wrong(g, "'::=' is expected") >= 0;
    skip(g, true);
    int32_t is = alternatives(g);
    if (is < 0) return false;
    rules_open(g->r, rule);
    rules_refer(g->r, is);
    rules_close(g->r);
    skip(g, false);
    return !*g->at || *g->at == '\n' || wrong(g, "something behind the end of a rule") >= 0;
}

int32_t gbnf_rule(struct rules *r, const char *text, char *err) {
    struct gbnf g = {.r = r, .text = text, .at = text, .err = err, .names = json_object()};
    const char *name;
    json_t *value;
    int32_t root = -1;
    bool ok = g.names || llm_fail(err, "out of memory");
    for (skip(&g, true); ok && *g.at; skip(&g, true))
        ok = definition(&g);
    if (ok) json_object_foreach(g.names, name, value) {
            if (json_integer_value(value) < 0)
                ok = llm_fail(err, "the grammar has no rule '%.80s'", name);
            if (!strcmp(name, "root")) root = (int32_t)json_integer_value(value);
        }
    if (ok && root < 0) ok = llm_fail(err, "the grammar has no rule 'root'");
    json_decref(g.names);
    return ok ? root : -1;
}
