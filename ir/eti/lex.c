/* Tokens of .eti. Space and line ends separate; # begins a comment. */
#include "ir/eti/parser.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static et_loc loc_of(const eti_parser *p, const char *from, const char *to) {
    ptrdiff_t col = from - p->line_begin + 1, len = to - from;
    return (et_loc){.file = p->file,
                    .line = p->line,
                    .col = col > INT_MAX ? INT_MAX : (int)col,
                    .len = len < 1      ? 1
                           : len > 1000 ? 1000
                                        : (int)len};
}

static bool skip_blank(eti_parser *p) {
    bool fresh = p->at == p->line_begin;
    while (p->at < p->end) {
        if (*p->at == '#') {
            const char *nl = memchr(p->at, '\n', (size_t)(p->end - p->at));
            p->at = nl ? nl : p->end;
        } else if (*p->at == '\n') {
            p->line_begin = ++p->at;
            if (p->line < INT_MAX) p->line++;
            fresh = true;
        } else if (*p->at == ' ' || *p->at == '\t' || *p->at == '\r') {
            p->at++;
        } else {
            break;
        }
    }
    return fresh;
}

static void bad(eti_parser *p, const char *to, const char *what) {
    p->tok.kind = ETI_BAD;
    p->tok.loc = loc_of(p, p->at, to);
    if (!p->broken) et_diag(p->diags, ET_ERROR, p->tok.loc, "%s", what);
    p->errors++;
    p->broken = true;
    p->at = to;
}

/* letters and digits, behind a model's name and a dot where there are several models, with .2
 * behind it where names repeat */
static const char *name_end(const eti_parser *p, const char *q) {
    while (q < p->end &&
           (is_letter(*q) || is_digit(*q) || (*q == '.' && p->end - q >= 2 && is_letter(q[1]))))
        q++;
    if (p->end - q >= 2 && *q == '.' && is_digit(q[1]))
        for (q++; q < p->end && is_digit(*q);)
            q++;
    return q;
}

static void lex_name(eti_parser *p, eti_kind kind, const char *from) {
    const char *q = name_end(p, from);
    if (q - from > ETI_MAX_NAME) {
        bad(p, q, "name longer than 1023 characters");
        return;
    }
    p->tok.kind = kind;
    p->tok.text = et_strndup(p->arena, from, (size_t)(q - from));
    p->tok.loc = loc_of(p, p->at, q);
    p->at = q;
}

static void lex_int(eti_parser *p, const char *to) {
    p->tok.kind = ETI_INT;
    for (const char *q = p->at; q < to; q++) {
        if (__builtin_mul_overflow(p->tok.i, 10, &p->tok.i) ||
            __builtin_add_overflow(p->tok.i, *q - '0', &p->tok.i)) {
            bad(p, to, "integer larger than 9223372036854775807");
            return;
        }
    }
    p->tok.loc = loc_of(p, p->at, to);
    p->at = to;
}

/* digits [. digits] [e [+-] digits] [f]; "0..L" is the integer 0 and a range. */
static void lex_number(eti_parser *p) {
    const char *q = p->at;
    bool real = false;
    while (q < p->end && is_digit(*q))
        q++;
    if (p->end - q >= 2 && *q == '.' && is_digit(q[1])) {
        real = true;
        for (q++; q < p->end && is_digit(*q);)
            q++;
    }
    if (q < p->end && (*q == 'e' || *q == 'E')) {
        const char *e = q + 1;
        if (e < p->end && (*e == '+' || *e == '-')) e++;
        if (e < p->end && is_digit(*e)) {
            real = true;
            for (q = e; q < p->end && is_digit(*q);)
                q++;
        }
    }
    bool single = real && q < p->end && *q == 'f';
    const char *to = q + single;
    if (to < p->end && is_letter(*to)) {
        bad(p, name_end(p, to), "malformed number: digits run into a name");
        return;
    }
    if (!real) {
        lex_int(p, q);
        return;
    }
    char text[128];
    size_t n = (size_t)(q - p->at);
    if (n >= sizeof text) {
        bad(p, to, "number longer than 127 characters");
        return;
    }
    memcpy(text, p->at, n);
    text[n] = 0;
    p->tok.kind = ETI_FLOAT;
    p->tok.f = single ? (double)strtof(text, NULL) : strtod(text, NULL);
    p->tok.loc = loc_of(p, p->at, to);
    if (!isfinite(p->tok.f))
        bad(p, to, "number too large");
    else
        p->at = to;
}

static int hex(char c) {
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character of a string, escaped or not; NULL when malformed. */
static const char *unescape(const eti_parser *p, const char *q, char *out) {
    if (*q != '\\') {
        *out = *q;
        return (unsigned char)*q < 0x20 || *q == 0x7f ? NULL : q + 1;
    }
    if (p->end - q >= 2 && (q[1] == '"' || q[1] == '\\')) {
        *out = q[1];
        return q + 2;
    }
    if (p->end - q < 4 || q[1] != 'x' || hex(q[2]) < 0 || hex(q[3]) < 0) return NULL;
    *out = (char)(hex(q[2]) * 16 + hex(q[3]));
    return *out ? q + 4 : NULL;
}

static void lex_string(eti_parser *p) {
    char text[1025];
    size_t n = 0;
    const char *q = p->at + 1;
    while (q < p->end && *q != '"' && *q != '\n') {
        char c;
        const char *next = unescape(p, q, &c);
        if (!next) {
            bad(p, q + 1, "a control character or a malformed escape in a string");
            return;
        }
        if (n == sizeof text - 1) {
            bad(p, next, "string longer than 1024 bytes");
            return;
        }
        text[n++] = c;
        q = next;
    }
    if (q == p->end || *q != '"') {
        bad(p, q, "string without its closing '\"'");
        return;
    }
    p->tok.kind = ETI_STRING;
    p->tok.text = et_strndup(p->arena, text, n);
    p->tok.loc = loc_of(p, p->at, q + 1);
    p->at = q + 1;
}

static bool lex_punctuation(eti_parser *p) {
    static const char *const two[] = {"..", "<=", "==", "!=", "&&", "||", "->", "+=", ">="};
    const char *q = p->at;
    int length = 1;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (p->end - q >= 2 && memcmp(q, two[i], 2) == 0) length = 2;
    if (length == 1 && (!*q || !strchr("()[]{},:=<>+-*/%", *q))) return false;
    p->tok.kind = ETI_OP;
    p->tok.op = length == 2 ? ETI_OP2(q[0], q[1]) : q[0];
    p->tok.loc = loc_of(p, q, q + length);
    p->at = q + length;
    return true;
}

/* %name is one token where nothing is between the sign and the name: write a % b for the remainder.
 */
void eti_next(eti_parser *p) {
    static const struct {
        char sign;
        eti_kind kind;
    } sign[] = {{'%', ETI_TENSOR}, {'$', ETI_LOCAL}, {'@', ETI_FUNC}};
    bool fresh = skip_blank(p);
    p->tok = (eti_tok){.kind = ETI_EOF, .loc = loc_of(p, p->at, p->at), .fresh = fresh};
    if (p->at == p->end) return;
    char c = *p->at, next = p->at + 1 < p->end ? p->at[1] : 0;
    for (size_t i = 0; i < sizeof sign / sizeof *sign; i++)
        if (c == sign[i].sign && (is_letter(next) || is_digit(next))) {
            lex_name(p, sign[i].kind, p->at + 1);
            return;
        }
    if (is_letter(c))
        lex_name(p, ETI_NAME, p->at);
    else if (is_digit(c))
        lex_number(p);
    else if (c == '"')
        lex_string(p);
    else if (!c || !lex_punctuation(p))
        bad(p, p->at + 1, "this character has no meaning here");
}
