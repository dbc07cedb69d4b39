/* lexer.c - a template's characters to tokens, with the whitespace that its tags take away.
 *
 * The rules are those of jinja2's lexer with trim_blocks and lstrip_blocks on and
 * keep_trailing_newline off: the newline behind a block or comment goes, as do blanks between the
 * beginning of its line and it; `-` takes all whitespace of its side, `+` keeps it. */
#include "examples/llm/template/parse.h"
#include "examples/llm/template/value/utf8.h"
#include <string.h>

typedef struct {
    jt_parse *parse;
    const char *p, *end, *begin;
    const char *placed; /* the place of which line and column are known */
    int line, column;
    bool line_starting;
    char brackets[256]; /* that are open in the tag being read */
    int nbrackets;
} lexer;

/* The line and column of P, which is never before the last one asked for. */
static void place(lexer *x, const char *p) {
    for (; x->placed < p; x->placed++)
        if (*x->placed == '\n') {
            x->line++;
            x->column = 1;
        } else if (((unsigned char)*x->placed & 0xc0) != 0x80) {
            x->column++;
        }
}

static _Noreturn void fail_at(lexer *x, const char *p, const char *what) {
    place(x, p);
    jt_parse_fail(x->parse, x->line, x->column, "%s", what);
}

static jt_token *emit(lexer *x, jt_token_kind kind, const char *p, size_t n) {
    jt_parse *s = x->parse;
    if (s->ntokens == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 256;
        jt_token *grown = jt_parse_alloc(s, cap * sizeof *grown);
        if (s->ntokens) memcpy(grown, s->tokens, s->ntokens * sizeof *grown);
        s->tokens = grown;
        s->cap = cap;
    }
    place(x, p);
    jt_token *t = &s->tokens[s->ntokens++];
    *t = (jt_token){.kind = kind, .line = x->line, .column = x->column, .p = p, .n = n};
    return t;
}

static bool at(const lexer *x, const char *p, const char *word) {
    size_t n = strlen(word);
    return (size_t)(x->end - p) >= n && !memcmp(p, word, n);
}

static const char *skip_space(const lexer *x, const char *p) {
    size_t size;
    while (p < x->end && jt_is_space(jt_utf8_read(p, &size)))
        p += size;
    return p;
}

/* Is SIGN CLOSE ("-%}") at P? Then where the text goes on; NULL: no. NEWLINE: a newline behind it
 * goes too. */
static const char *closes(const lexer *x, const char *p, const char *close, bool plus,
                          bool newline) {
    if (plus && *p == '+' && at(x, p + 1, close)) return p + 3;
    if (*p == '-' && at(x, p + 1, close)) return skip_space(x, p + 3);
    if (!at(x, p, close)) return NULL;
    p += 2;
    return newline && p < x->end && *p == '\n' ? p + 1 : p;
}

static void go_on(lexer *x, const char *p) {
    x->p = p;
    x->line_starting = p > x->begin && p[-1] == '\n';
}

/* The text from x->p to a tag at END whose opening has SIGN ('-', '+' or neither). */
static void text_before(lexer *x, const char *end, char sign, bool variable) {
    const char *p = x->p;
    size_t n = (size_t)(end - p), size;
    if (sign == '-') {
        while (n && jt_is_space(jt_utf8_before(p, p + n, &size)))
            n -= size;
    } else if (sign != '+' && !variable) {
        const char *line = memrchr(p, '\n', n);
        const char *from = line ? line + 1 : p;
        if ((line || x->line_starting) && skip_space(x, from) >= end) n = (size_t)(from - p);
    }
    if (n) emit(x, T_DATA, p, n);
}

static char sign_at(const lexer *x, const char *p) {
    return p < x->end && (*p == '-' || *p == '+') ? *p : 0;
}

/* Behind "{%" at OPEN: is it {% raw %}? Then where its text begins. */
static const char *opens_raw(const lexer *x, const char *open, const char *word) {
    const char *p = open + 2 + (sign_at(x, open + 2) != 0);
    p = skip_space(x, p);
    if (!at(x, p, word)) return NULL;
    p = skip_space(x, p + strlen(word));
    if (p >= x->end) return NULL;
    bool ends = !strcmp(word, "endraw");
    return closes(x, p, "%}", ends, ends);
}

static void lex_raw(lexer *x, const char *open, const char *text) {
    go_on(x, text);
    for (const char *p = text; p + 1 < x->end; p++) {
        const char *behind = at(x, p, "{%") ? opens_raw(x, p, "endraw") : NULL;
        if (!behind) continue;
        text_before(x, p, sign_at(x, p + 2), false);
        go_on(x, behind);
        return;
    }
    fail_at(x, open, "missing end of raw block");
}

static void lex_comment(lexer *x, const char *open) {
    for (const char *p = open + 2 + (sign_at(x, open + 2) != 0); p < x->end; p++) {
        const char *behind = closes(x, p, "#}", true, true);
        if (!behind) continue;
        go_on(x, behind);
        return;
    }
    fail_at(x, open, "missing end of comment");
}

static void lex_sign(lexer *x) {
    static const char *const two[] = {"//", "**", "==", "!=", ">=", "<="};
    const char *p = x->p;
    size_t n = 1;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (at(x, p, two[i])) n = 2;
    if (n == 1 && (!*p || !strchr("+-/*%~[](){}><=.:|,;", *p)))
        fail_at(x, p, "unexpected character");
    if (strchr("([{", *p)) {
        if (x->nbrackets == sizeof x->brackets) fail_at(x, p, "brackets nest too deep");
        x->brackets[x->nbrackets++] = *p == '(' ? ')' : *p == '[' ? ']' : '}';
    } else if (strchr(")]}", *p)) {
        if (!x->nbrackets || x->brackets[--x->nbrackets] != *p)
            fail_at(x, p, "closing bracket without its opening one");
    }
    emit(x, T_SIGN, p, n);
    x->p += n;
}

static size_t name_size(const lexer *x, const char *p) {
    const char *from = p;
    size_t size;
    while (p < x->end && jt_is_word(jt_utf8_read(p, &size)))
        p += size;
    return (size_t)(p - from);
}

/* Digits, single _ between them allowed; DIGITS are those there are. */
static const char *digits(const lexer *x, const char *p, const char *those) {
    while (p < x->end && *p) {
        const char *q = p + (*p == '_');
        if (q >= x->end || !*q || !strchr(those, *q)) break;
        p = q + 1;
    }
    return p;
}

static void lex_number(lexer *x) {
    static const char decimal[] = "0123456789";
    const char *p = x->p, *q;
    bool real = false, member = p > x->begin && p[-1] == '.';
    char base = p + 1 < x->end && *p == '0' ? (char)(p[1] | 32) : 0;
    const char *those = base == 'x'   ? "0123456789abcdefABCDEF"
                        : base == 'o' ? "01234567"
                        : base == 'b' ? "01"
                                      : NULL;
    if (those && digits(x, p + 2, those) > p + 2) {
        q = digits(x, p + 2, those);
    } else {
        q = digits(x, p, decimal);
        const char *r = q;
        if (!member && r + 1 < x->end && *r == '.' && strchr(decimal, r[1]) && r[1]) {
            r = q = digits(x, r + 1, decimal);
            real = true;
        }
        if (!member && r < x->end && (*r | 32) == 'e') {
            r++;
            r += r < x->end && (*r == '+' || *r == '-');
            if (r < x->end && *r && strchr(decimal, *r)) {
                q = digits(x, r, decimal);
                real = true;
            }
        }
    }
    jt_lex_number(x->parse, emit(x, real ? T_FLOAT : T_INT, p, (size_t)(q - p)));
    x->p = q;
}

static void lex_quoted(lexer *x) {
    const char *p = x->p;
    for (const char *q = p + 1; q < x->end; q++) {
        if (*q == '\\') {
            q++;
        } else if (*q == *p) {
            jt_token *t = emit(x, T_STRING, p, (size_t)(q + 1 - p));
            jt_lex_string(x->parse, t, p + 1, (size_t)(q - p - 1));
            x->p = q + 1;
            return;
        }
    }
    fail_at(x, p, "string without its closing quote");
}

/* What stands in a tag, up to and with its end. */
static void lex_tag(lexer *x, bool block) {
    const jt_token open = x->parse->tokens[x->parse->ntokens - 1];
    x->nbrackets = 0;
    for (;;) {
        if (x->p >= x->end)
            jt_parse_fail(x->parse, open.line, open.column, "'%.2s' without its end", open.p);
        const char *behind =
            x->nbrackets ? NULL : closes(x, x->p, block ? "%}" : "}}", block, block);
        if (behind) {
            emit(x, block ? T_BLOCK_END : T_PRINT_END, x->p, 2);
            go_on(x, behind);
            return;
        }
        size_t size;
        char c = *x->p;
        if (jt_is_space(jt_utf8_read(x->p, &size))) {
            x->p += size;
        } else if (c >= '0' && c <= '9') {
            lex_number(x);
        } else if ((size = name_size(x, x->p))) {
            emit(x, T_NAME, x->p, size);
            x->p += size;
        } else if (c == '"' || c == '\'') {
            lex_quoted(x);
        } else {
            lex_sign(x);
        }
    }
}

/* The next "{{", "{%" or "{#" from P on, or NULL. */
static const char *next_tag(const lexer *x, const char *p) {
    while (x->end - p >= 2 && (p = memchr(p, '{', (size_t)(x->end - p - 1)))) {
        if (p[1] == '{' || p[1] == '%' || p[1] == '#') return p;
        p++;
    }
    return NULL;
}

static void lex_all(lexer *x) {
    const char *open;
    while ((open = next_tag(x, x->p))) {
        char sign = sign_at(x, open + 2), what = open[1];
        text_before(x, open, sign, what == '{');
        const char *raw = what == '%' ? opens_raw(x, open, "raw") : NULL;
        if (raw) {
            lex_raw(x, open, raw);
        } else if (what == '#') {
            lex_comment(x, open);
        } else {
            emit(x, what == '%' ? T_BLOCK_BEGIN : T_PRINT_BEGIN, open, 2);
            x->p = open + 2 + (sign != 0);
            lex_tag(x, what == '%');
        }
    }
    if (x->p < x->end) emit(x, T_DATA, x->p, (size_t)(x->end - x->p));
    emit(x, T_END, x->end, 0);
}

void jt_lex(jt_parse *s, const char *text, size_t n) {
    /* All kinds of line ends become \n, and one at the end of the text goes. */
    char *copy = jt_parse_alloc(s, n + 1);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        copy[m++] = text[i] == '\r' ? '\n' : text[i];
        i += text[i] == '\r' && i + 1 < n && text[i + 1] == '\n';
    }
    if (m && copy[m - 1] == '\n') m--;
    copy[m] = 0;
    lexer x = {.parse = s, .p = copy, .end = copy + m, .begin = copy, .placed = copy};
    x.line = x.column = 1;
    x.line_starting = true;
    lex_all(&x);
}
