/* expression.c - what tokenizer.json means by an expression, said to PCRE2.
 *
 * Files are written for Oniguruma. Most of an expression means the same to both. What does not is
 * rewritten here (spaces, words, scripts, classes in classes, {n,m}+), and what is neither the same
 * nor rewritten is refused by its name: an expression that is read otherwise cuts other words. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "examples/llm/tokenizer/parts.h"
#include <ctype.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GROUPS = 64 };

/* White_Space, and what is not; PCRE2's \s has U+180E too. For the inside of a class. */
#define SPACES                                                                                     \
    "\\x09-\\x0d\\x20\\x85\\xa0\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"   \
    "\\x{3000}"
#define NO_SPACES                                                                                  \
    "\\x00-\\x08\\x0e-\\x1f\\x21-\\x84\\x86-\\x9f\\xa1-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-"     \
    "\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}"
#define WORDS "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
/* Outside of classes Oniguruma goes by a table of its own for Latin-1. */
#define WORD "[" WORDS "\\xb2\\xb3\\xb9\\xbc-\\xbe]"
#define NO_WORD "[^" WORDS "\\xb2\\xb3\\xb9\\xbc-\\xbe]"

struct translation {
    struct span in;
    size_t at;
    struct bytes *out;
    int classes;               /* how many we are in */
    size_t atom;               /* where in OUT the last thing that can be repeated begins */
    size_t groups[MAX_GROUPS]; /* where those that are open begin */
    bool folds[MAX_GROUPS];    /* was case ignored around them */
    int ngroups;
    bool fold;      /* case is ignored here */
    char last;      /* the letter before, or 0 */
    bool after_set; /* in a class: a '-' now is no range */
    char *err;
};

static bool put(struct translation *t, const char *text) {
    return bytes_add(t->out, text, strlen(text)) || llm_fail(t->err, "out of memory");
}

static bool copy(struct translation *t, size_t n) {
    bool ok = bytes_add(t->out, t->in.p + t->at, n) || llm_fail(t->err, "out of memory");
    t->at += n;
    return ok;
}

static char peek(const struct translation *t, size_t ahead) {
    return t->at + ahead < t->in.n ? t->in.p[t->at + ahead] : 0;
}

static bool refuse(struct translation *t, const char *what) {
    return llm_fail(t->err, "expression, at offset %zu: %s is not supported", t->at, what);
}

/* Is there a script of that name? PCRE2's \p{Han} is about what a character may be used in. */
static bool is_script(const char *name, size_t n) {
    char probe[64];
    int code;
    PCRE2_SIZE offset;
    if (n < 3 || n > 40 || (n == 3 && !strncmp(name, "Any", 3))) return false;
    int length = snprintf(probe, sizeof probe, "\\p{sc:%.*s}", (int)n, name);
    pcre2_code *c = pcre2_compile((PCRE2_SPTR)probe, (PCRE2_SIZE)length, PCRE2_UTF | PCRE2_UCP,
                                  &code, &offset, NULL);
    pcre2_code_free(c);
    return c != NULL;
}

/* \p{Name}, \p{^Name} or \P{Name}; at the backslash. */
static bool property(struct translation *t) {
    char out[80];
    const char *open = t->in.p + t->at + 3;
    const char *close = memchr(t->in.p + t->at, '}', t->in.n - t->at);
    bool negated = peek(t, 1) == 'P';
    if (peek(t, 2) != '{' || !close || close - open > 40) return refuse(t, "a property without {}");
    if (*open == '^') {
        negated = !negated;
        open++;
    }
    int n = (int)(close - open);
    for (int i = 0; i < n; i++)
        if (!isalnum((unsigned char)open[i]) && open[i] != '_')
            return refuse(t, "such a name of a property");
    snprintf(out, sizeof out, "\\%c{%s%.*s}", negated ? 'P' : 'p',
             is_script(open, (size_t)n) ? "sc:" : "", n, open);
    t->at = (size_t)(close + 1 - t->in.p);
    return put(t, out);
}

/* \xHH, \x{H...}, \uHHHH; at the backslash. */
static bool numbered(struct translation *t) {
    char digits[16], out[24];
    size_t n = 0, most = peek(t, 1) == 'u' ? 4 : 2;
    bool braces = peek(t, 1) == 'x' && peek(t, 2) == '{';
    t->at += braces ? 3 : 2;
    if (braces) most = 8;
    while (n < most && isxdigit((unsigned char)peek(t, 0))) {
        digits[n++] = peek(t, 0);
        t->at++;
    }
    digits[n] = 0;
    if (!n || (braces && peek(t, 0) != '}') || (most == 4 && n != 4))
        return refuse(t, "such a number of a character");
    t->at += braces;
    if (most == 2 && strtol(digits, NULL, 16) > 0x7f) return refuse(t, "\\x of a byte");
    snprintf(out, sizeof out, "\\x{%s}", digits);
    return put(t, out);
}

/* Escapes that stand for sets; NULL: none of them. */
static const char *set_of(char c, bool in_class) {
    switch (c) {
    case 's':
        return in_class ? SPACES : "[" SPACES "]";
    case 'S':
        return in_class ? NO_SPACES : "[^" SPACES "]";
    case 'w':
        return in_class ? WORDS : WORD;
    case 'W':
        return in_class ? NULL : NO_WORD;
    case 'd':
        return "\\p{Nd}";
    case 'D':
        return "\\P{Nd}";
    default:
        return NULL;
    }
}

static bool escape(struct translation *t) {
    char c = peek(t, 1), what[] = "\\x";
    const char *set = set_of(c, t->classes > 0);
    t->after_set = set || c == 'p' || c == 'P';
    if (set) {
        t->at += 2;
        return put(t, set);
    }
    if (c == 'p' || c == 'P') return property(t);
    if (c == 'x' || c == 'u') return numbered(t);
    if (c && strchr("rntfae", c)) return copy(t, 2);
    if (!t->classes && c && strchr("AzZ", c)) return copy(t, 2);
    if (c == 'v') {
        t->at += 2;
        return put(t, "\\x0b");
    }
    if (!t->classes && (c == 'b' || c == 'B')) {
        t->at += 2;
        return put(t, c == 'b' ? "(?:(?<=" WORD ")(?!" WORD ")|(?<!" WORD ")(?=" WORD "))"
                               : "(?:(?<=" WORD ")(?=" WORD ")|(?<!" WORD ")(?!" WORD "))");
    }
    what[1] = c;
    if (!c || isalnum((unsigned char)c)) return refuse(t, c ? what : "a \\ at the end");
    if ((unsigned char)c < 0x80) return copy(t, 2);
    t->at++; /* outside ASCII nothing needs its backslash */
    return true;
}

/* Where case is ignored, Oniguruma takes one character for two, as U+00DF for "ss"; PCRE2 does not.
 */
static bool folds_alike(struct translation *t, char c) {
    static const char *const pairs[] = {"ss", "ff", "fi", "fl", "st"};
    char pair[3] = {(char)tolower(t->last), (char)tolower(c), 0};
    t->last = (unsigned char)c < 0x80 && isalpha((unsigned char)c) ? c : 0;
    if (!t->fold) return true;
    if ((unsigned char)c >= 0x80) return refuse(t, "a letter outside ASCII where case is ignored");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!strcmp(pair, pairs[i])) return refuse(t, "ss, ff, fi, fl or st where case is ignored");
    return true;
}

/* In a class. One in another is their union, so its brackets go. */
static bool in_class(struct translation *t) {
    char c = peek(t, 0);
    bool after_set = t->after_set;
    t->after_set = false;
    if (c == '\\') return escape(t);
    if (c == '[') {
        if (peek(t, 1) == '^' || peek(t, 1) == ':') return refuse(t, "[^ or [: in a class");
        if (peek(t, 1) == ']') return refuse(t, "an empty class");
        t->classes++;
        t->at++;
        return true;
    }
    if (c == ']') {
        t->after_set = true;
        if (--t->classes == 0) return copy(t, 1);
        t->at++;
        return true;
    }
    if (c == '&' && peek(t, 1) == '&') return refuse(t, "&& in a class");
    if (c == '-' && after_set) {
        t->at++;
        return put(t, "\\-");
    }
    t->last = 0;
    return folds_alike(t, c) && copy(t, 1);
}

static bool open_class(struct translation *t) {
    size_t n = peek(t, 1) == '^' ? 2 : 1;
    if (peek(t, n) == ']' || peek(t, n) == ':') return refuse(t, "[] or [:");
    t->classes = 1;
    t->after_set = false;
    return copy(t, n);
}

/* (?i), and (?i: (?-i: (?: (?= (?! (?> (?<= (?<! */
static bool open_group(struct translation *t) {
    static const char *const known[] = {"(?:",  "(?=",  "(?!",  "(?>",
                                        "(?<=", "(?<!", "(?i:", "(?-i:"};
    size_t left = t->in.n - t->at;
    const char *p = t->in.p + t->at;
    if (t->ngroups == MAX_GROUPS) return refuse(t, "groups as deep as that");
    if (left >= 4 && t->at == 0 && !memcmp(p, "(?i)", 4)) {
        t->fold = true;
        return copy(t, 4);
    }
    if (peek(t, 1) == '*') return refuse(t, "(*");
    size_t n = 1;
    for (size_t i = 0; peek(t, 1) == '?' && i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) <= left && !memcmp(p, known[i], strlen(known[i])))
            n = strlen(known[i]);
    if (peek(t, 1) == '?' && n == 1) return refuse(t, "such a (?");
    t->folds[t->ngroups] = t->fold;
    t->groups[t->ngroups++] = t->out->n;
    if (n > 3 && p[n - 2] == 'i') t->fold = n == 4;
    return copy(t, n);
}

/* The last thing in OUT becomes a group, since a + behind it is no part of its {}. */
static bool enclose(struct translation *t) {
    static const char open[] = "(?:";
    if (!put(t, ")   ")) return false;
    char *p = t->out->p + t->atom;
    memmove(p + 3, p, t->out->n - t->atom - 3);
    memcpy(p, open, 3);
    return true;
}

/* {n}, {n,}, {n,m}, {,m}; else a { like any character. */
static bool interval(struct translation *t) {
    size_t n = 1, low = 0, high = 0;
    bool comma;
    char text[32];
    while (isdigit((unsigned char)peek(t, n)) && low < 8)
        n++, low++;
    comma = peek(t, n) == ',';
    n += comma;
    while (comma && isdigit((unsigned char)peek(t, n)) && high < 8)
        n++, high++;
    if (peek(t, n) != '}' || (!low && !high)) {
        t->atom = t->out->n;
        t->at++;
        return put(t, "\\{");
    }
    snprintf(text, sizeof text, "{%s%.*s", low ? "" : "0", (int)n, t->in.p + t->at + 1);
    t->at += n + 1;
    if (peek(t, 0) == '?' && !comma) return refuse(t, "{n}?");
    return put(t, text) && (peek(t, 0) != '+' || enclose(t));
}

static bool one(struct translation *t) {
    char c = peek(t, 0);
    char before = t->last;
    if (t->classes) return in_class(t);
    t->last = 0;
    if (c == '{') return interval(t);
    if (strchr("?*+|", c) && c) return copy(t, 1);
    if (c == ')' && t->ngroups) {
        t->atom = t->groups[--t->ngroups];
        t->fold = t->folds[t->ngroups];
        return copy(t, 1);
    }
    t->atom = t->out->n;
    if (c == '\\') return escape(t);
    if (c == '[') return open_class(t);
    if (c == '(') return open_group(t);
    t->last = before;
    if (!folds_alike(t, c)) return false;
    int length = utf8_scan(t->in.p + t->at, t->in.n - t->at);
    return copy(t, length > 0 ? (size_t)length : 1);
}

bool expression_translate(struct span in, struct bytes *out, char *err) {
    struct translation t = {.in = in, .out = out, .err = err};
    bool ok = put(&t, "");
    if (in.n > 1 << 16) return llm_fail(err, "an expression of %zu bytes", in.n);
    while (ok && t.at < in.n)
        ok = one(&t);
    return ok;
}
