/* Regular expressions as JSON schemas have them: ECMA-262, without what needs a memory of the text.
 */
#include "examples/llm/grammar/regular/regex.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 64, MOST_TIMES = 4096 };

struct reader {
    const char *at, *end;
    struct choices c;
    char *err;
    int depth;
};

/* A part of the expression: from FIRST to LAST. */
struct part {
    int32_t first, last;
};

static bool alternatives(struct reader *, struct part *out);

static bool refuse(struct reader *r, const char *what) {
    return llm_fail(r->err, "%s in a regular expression is not supported", what);
}

static bool wrong(struct reader *r, const char *what) {
    return llm_fail(r->err, "a regular expression %s", what);
}

static struct part new_part(struct reader *r) {
    return (struct part){choices_new(&r->c), choices_new(&r->c)};
}

static bool is_next(struct reader *r, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

/* ---- characters ---- */

static bool read_hex(struct reader *r, int digits, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < digits; i++, r->at++) {
        const char *all = "0123456789abcdef";
        const char *digit = r->at < r->end && *r->at ? strchr(all, *r->at | 0x20) : NULL;
        if (!digit || !*digit) return wrong(r, "has an escape without its digits");
        *out = *out << 4 | (uint32_t)(digit - all);
    }
    return true;
}

static bool read_unicode(struct reader *r, uint32_t *out) {
    uint32_t low;
    if (!is_next(r, "{")) {
        if (!read_hex(r, 4, out)) return false;
        if (*out < 0xd800 || *out > 0xdbff || !is_next(r, "\\u")) return true;
        if (!read_hex(r, 4, &low)) return false;
        *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
        return *out <= 0x10ffff || wrong(r, "has half of a character");
    }
    int digits = 0;
    while (r->at + digits < r->end && r->at[digits] != '}' && digits < 7)
        digits++;
    return (read_hex(r, digits, out) && is_next(r, "}") && *out <= 0x10ffff) ||
           wrong(r, "has an escape that does not end");
}

/* Behind a backslash: a set, or one character. IN_CLASS: inside of brackets, INVERTED ones. */
static bool read_escape(struct reader *r, bool in_class, bool inverted, struct characters *out,
                        bool *out_set) {
    static const char from[] = "nrtfv0", to[] = "\n\r\t\f\v\0";
    uint32_t c = 0;
    *out_set = false;
    if (r->at == r->end) return wrong(r, "ends with a backslash");
    char letter = *r->at;
    if (characters_class(out, letter, inverted)) {
        r->at++;
        *out_set = true;
        return true;
    }
    const char *known = letter ? strchr(from, letter) : NULL;
    if (letter >= '1' && letter <= '9') return refuse(r, "a back reference");
    if (letter == 'k') return refuse(r, "a back reference");
    if (letter == 'p' || letter == 'P') return refuse(r, "'\\p'");
    if ((letter == 'b' && !in_class) || letter == 'B') return refuse(r, "'\\b'");
    if (letter == 'A' || letter == 'Z' || letter == 'z' || letter == 'G')
        return refuse(r, "an anchor of another dialect");
    r->at++;
    if (letter == 'u') return read_unicode(r, &c) && characters_add(out, c, c);
    if (letter == 'x') return read_hex(r, 2, &c) && characters_add(out, c, c);
    if (letter == 'c') return refuse(r, "'\\c'");
    if (known)
        return characters_add(out, (unsigned char)to[known - from],
                              (unsigned char)to[known - from]);
    if (letter == 'b') return characters_add(out, '\b', '\b');
    if ((letter | 0x20) >= 'a' && (letter | 0x20) <= 'z')
        return wrong(r, "has an escape that is not known");
    size_t n = characters_read(r->at - 1, (size_t)(r->end - r->at) + 1, &c);
    if (n) r->at += n - 1;
    return (n && characters_add(out, c, c)) || wrong(r, "is not UTF-8");
}

/* One member of a class: a set, or a character that may begin a range. */
static bool read_member(struct reader *r, bool inverted, struct characters *out, bool *out_set) {
    uint32_t c;
    if (is_next(r, "\\")) return read_escape(r, true, inverted, out, out_set);
    *out_set = false;
    size_t n = characters_read(r->at, (size_t)(r->end - r->at), &c);
    if (!n) return wrong(r, "is not UTF-8");
    r->at += n;
    return characters_add(out, c, c) || wrong(r, "has a class that is too large");
}

static bool read_class(struct reader *r, struct characters *out) {
    bool inverted = is_next(r, "^"), set, second;
    while (r->at < r->end && *r->at != ']') {
        int first = out->n;
        if (r->end - r->at > 1 && r->at[0] == '[' && r->at[1] == ':')
            return refuse(r, "a class with a name");
        if (!read_member(r, inverted, out, &set)) return false;
        if (r->end - r->at < 2 || *r->at != '-' || r->at[1] == ']') continue;
        r->at++;
        struct characters to = {.n = 0};
        if (!read_member(r, inverted, &to, &second)) return false;
        if (set || second || to.lo[0] < out->lo[first]) return wrong(r, "has a range that is none");
        out->hi[first] = to.lo[0];
    }
    if (!is_next(r, "]")) return wrong(r, "has a '[' without its ']'");
    return !inverted || characters_invert(out) || wrong(r, "has a class that is too large");
}

static bool link_set(struct reader *r, const struct characters *set, struct part *out) {
    *out = new_part(r);
    return characters_link(&r->c, set, out->first, out->last) || wrong(r, "is too large");
}

/* ---- atoms ---- */

static bool group(struct reader *r, struct part *out) {
    if (is_next(r, "?=") || is_next(r, "?!") || is_next(r, "?<=") || is_next(r, "?<!"))
        return refuse(r, "looking ahead or behind");
    if (is_next(r, "?<") || is_next(r, "?P<")) {
        while (r->at < r->end && *r->at != '>')
            r->at++;
        if (!is_next(r, ">")) return wrong(r, "has a group whose name does not end");
    } else if (!is_next(r, "?:") && is_next(r, "?")) {
        return refuse(r, "a group with flags");
    }
    if (r->depth >= MOST_DEPTH) return wrong(r, "is too deep");
    r->depth++;
    bool ok = alternatives(r, out);
    r->depth--;
    if (!ok) return false;
    return is_next(r, ")") || wrong(r, "has a '(' without its ')'");
}

static bool anchor(struct reader *r, int symbol, struct part *out) {
    *out = new_part(r);
    choices_range(&r->c, out->first, symbol, symbol, out->last);
    return true;
}

static bool atom(struct reader *r, struct part *out) {
    struct characters set = {.n = 0};
    bool is_set;
    uint32_t c;
    if (is_next(r, "(")) return group(r, out);
    if (is_next(r, "^")) return anchor(r, TEXT_BEGINS, out);
    if (is_next(r, "$")) return anchor(r, TEXT_ENDS, out);
    if (is_next(r, "[")) return read_class(r, &set) && link_set(r, &set, out);
    if (is_next(r, "\\"))
        return read_escape(r, false, false, &set, &is_set) && link_set(r, &set, out);
    if (is_next(r, ".")) {
        characters_add(&set, '\n', '\n');
        characters_add(&set, '\r', '\r');
        characters_add(&set, 0x2028, 0x2029);
        characters_invert(&set);
        return link_set(r, &set, out);
    }
    if (strchr("*+?{", *r->at) && *r->at) return wrong(r, "repeats nothing");
    size_t n = characters_read(r->at, (size_t)(r->end - r->at), &c);
    if (!n) return wrong(r, "is not UTF-8");
    r->at += n;
    characters_add(&set, c, c);
    return link_set(r, &set, out);
}

/* ---- repetitions ---- */

static bool read_count(struct reader *r, int64_t *out) {
    const char *from = r->at;
    for (*out = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        if ((*out = *out * 10 + *r->at - '0') > MOST_TIMES) *out = MOST_TIMES + 1;
    return r->at > from;
}

/* How often; false: once, and nothing was read. MOST -1: any number. */
static bool read_times(struct reader *r, int64_t *least, int64_t *most) {
    const char *from = r->at;
    *least = *most = 1;
    if (is_next(r, "*")) return *least = 0, *most = -1, true;
    if (is_next(r, "+")) return *most = -1, true;
    if (is_next(r, "?")) return *least = 0, true;
    if (!is_next(r, "{")) return false;
    bool ok = read_count(r, least);
    *most = *least;
    if (ok && is_next(r, ",") && !read_count(r, most)) *most = -1;
    if (ok && is_next(r, "}")) return true;
    r->at = from; /* a brace that is only that is told where it is read as a character */
    return false;
}

static void join(struct reader *r, struct part *to, const struct part *next) {
    choices_link(&r->c, to->last, next->first);
    to->last = next->last;
}

/* The atom at FROM, read as often as it is to stand there. */
static bool repeat(struct reader *r, const char *from, int64_t least, int64_t most,
                   struct part *out) {
    const char *behind = r->at;
    struct part one;
    *out = new_part(r);
    out->last = out->first;
    int32_t end = choices_new(&r->c);
    int64_t n = most < 0 ? least + 1 : most;
    for (int64_t i = 0; i < n; i++) {
        r->at = from;
        if (!atom(r, &one)) return false;
        if (i >= least) choices_link(&r->c, out->last, end);
        if (most < 0 && i == least) {
            /* The last one again and again: around a state of its own. */
            int32_t around = choices_new(&r->c);
            choices_link(&r->c, out->last, around);
            choices_link(&r->c, around, one.first);
            choices_link(&r->c, one.last, around);
            choices_link(&r->c, around, end);
            r->at = behind;
            out->last = end;
            return true;
        }
        join(r, out, &one);
        if (r->c.failed) return wrong(r, "is too large");
    }
    choices_link(&r->c, out->last, end);
    out->last = end;
    r->at = behind;
    return true;
}

static bool term(struct reader *r, struct part *out) {
    const char *from = r->at;
    int64_t least, most;
    if (!atom(r, out)) return false;
    if (!read_times(r, &least, &most)) return true;
    if (most >= 0 && most < least) return wrong(r, "has a count that is none");
    if (least > MOST_TIMES || most > MOST_TIMES) return wrong(r, "repeats too often");
    is_next(r, "?"); /* as few as possible: the same texts */
    if (r->at < r->end && *r->at == '+') return refuse(r, "a possessive repetition");
    return repeat(r, from, least, most, out);
}

static bool sequence(struct reader *r, struct part *out) {
    struct part next;
    *out = new_part(r);
    choices_link(&r->c, out->first, out->last);
    while (r->at < r->end && *r->at != '|' && *r->at != ')') {
        if (!term(r, &next)) return false;
        if (r->c.failed) return wrong(r, "is too large");
        join(r, out, &next);
    }
    return true;
}

static bool alternatives(struct reader *r, struct part *out) {
    struct part one;
    *out = new_part(r);
    do {
        if (!sequence(r, &one)) return false;
        choices_link(&r->c, out->first, one.first);
        choices_link(&r->c, one.last, out->last);
    } while (is_next(r, "|"));
    return true;
}

/* ---- the whole ---- */

/* The text's beginning and its end are symbols: an anchor takes one, and what is searched for has
 * any text before and behind it. */
static struct part around(struct reader *r, const struct part *inner, bool whole) {
    struct characters any = {.n = 0};
    struct part all = new_part(r), loop;
    int32_t front = choices_new(&r->c), back = choices_new(&r->c);
    struct part begin, end;
    characters_add(&any, 0, 0x10ffff);
    anchor(r, TEXT_BEGINS, &begin);
    anchor(r, TEXT_ENDS, &end);
    choices_link(&r->c, all.first, inner->first);
    choices_link(&r->c, all.first, begin.first);
    choices_link(&r->c, begin.last, front);
    choices_link(&r->c, front, inner->first);
    choices_link(&r->c, inner->last, all.last);
    choices_link(&r->c, inner->last, back);
    choices_link(&r->c, back, end.first);
    choices_link(&r->c, end.last, all.last);
    for (int i = 0; i < 2 && !whole; i++) {
        int32_t at = i ? back : front;
        loop = new_part(r);
        characters_link(&r->c, &any, loop.first, loop.last);
        choices_link(&r->c, at, loop.first);
        choices_link(&r->c, loop.last, at);
    }
    return all;
}

struct machine *machine_regex(const char *pattern, size_t bytes, bool whole, char *err) {
    struct reader r = {.at = pattern, .end = pattern + bytes, .err = err};
    struct part inner, all;
    struct machine *m = NULL;
    bool ok = alternatives(&r, &inner);
    if (ok && r.at < r.end) ok = wrong(&r, "has a ')' without its '('");
    if (ok) {
        all = around(&r, &inner, whole);
        m = choices_machine(&r.c, all.first, all.last);
        if (!m) wrong(&r, "is too large");
    }
    free(r.c.at);
    return m;
}
