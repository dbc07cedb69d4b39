#include "frontend/syntax/lex.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const tok_text[] = {
#define X(NAME, text) text,
    ET_TOKENS(X)
#undef X
};

const char *et_tok_text(et_tok_kind k) {
    return tok_text[k];
}

void et_lex_init(et_lexer *l, et_arena *arena, et_diags *diags, int file, const char *text,
                 size_t bytes) {
    *l = (et_lexer){.arena = arena,
                    .diags = diags,
                    .file = file,
                    .p = text,
                    .end = text + bytes,
                    .line_begin = text,
                    .line = 1,
                    .fresh = true};
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c) {
    return is_name_start(c) || is_digit(c);
}

static et_loc loc_of(const et_lexer *l, const char *from, const char *to) {
    ptrdiff_t col = from - l->line_begin + 1, len = to - from;
    return (et_loc){.file = l->file,
                    .line = l->line,
                    .col = col > INT_MAX ? INT_MAX : (int)col,
                    .len = len < 1      ? 1
                           : len > 1000 ? 1000
                                        : (int)len};
}

static et_tok bad(et_lexer *l, et_tok t, const char *to, const char *what) {
    if (!l->quiet) et_diag(l->diags, ET_ERROR, loc_of(l, l->p, to), "%s", what);
    t.kind = ET_TOK_BAD;
    l->p = to;
    return t;
}

static void skip_blank(et_lexer *l) {
    while (l->p < l->end) {
        char c = *l->p;
        if (c == '#') {
            const char *nl = memchr(l->p, '\n', (size_t)(l->end - l->p));
            l->p = nl ? nl : l->end;
        } else if (c == '\n' && l->depth > 0) {
            l->line_begin = ++l->p;
            l->line++;
            l->fresh = true;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            l->p++;
        } else {
            return;
        }
    }
}

static et_tok lex_name(et_lexer *l, et_tok t) {
    const char *q = l->p;
    while (q < l->end && is_name(*q))
        q++;
    size_t n = (size_t)(q - l->p);
    if (n > ET_MAX_NAME) return bad(l, t, q, "name longer than 255 characters");
    t.kind = ET_TOK_NAME;
    for (int k = ET_TOK_MODEL; k <= ET_TOK_NOT; k++)
        if (strlen(tok_text[k]) == n && memcmp(tok_text[k], l->p, n) == 0) t.kind = (et_tok_kind)k;
    t.text = et_strndup(l->arena, l->p, n);
    if (t.kind == ET_TOK_NAME && strcmp(t.text, "inf") == 0) {
        t.kind = ET_TOK_FLOAT;
        t.f = (double)INFINITY;
    }
    l->p = q;
    return t;
}

static et_tok lex_int(et_lexer *l, et_tok t, const char *to) {
    t.kind = ET_TOK_INT;
    for (const char *q = l->p; q < to; q++) {
        t.i = t.i * 10 + (*q - '0');
        if (t.i > ET_MAX_INT) return bad(l, t, to, "integer larger than 1099511627776");
    }
    l->p = to;
    return t;
}

/* digits [. digits] [e [+-] digits]; "0..L" is the integer 0 and a range. */
static et_tok lex_number(et_lexer *l, et_tok t) {
    const char *q = l->p;
    bool real = false;
    while (q < l->end && is_digit(*q))
        q++;
    if (l->end - q >= 2 && *q == '.' && is_digit(q[1])) {
        real = true;
        for (q++; q < l->end && is_digit(*q);)
            q++;
    }
    if (q < l->end && (*q == 'e' || *q == 'E')) {
        const char *e = q + 1;
        if (e < l->end && (*e == '+' || *e == '-')) e++;
        if (e < l->end && is_digit(*e)) {
            real = true;
            for (q = e; q < l->end && is_digit(*q);)
                q++;
        }
    }
    if (q < l->end && is_name_start(*q)) {
        while (q < l->end && is_name(*q))
            q++;
        return bad(l, t, q, "malformed number: digits run into a name");
    }
    if (!real) return lex_int(l, t, q);
    char text[128];
    size_t n = (size_t)(q - l->p);
    if (n >= sizeof text) return bad(l, t, q, "number longer than 127 characters");
    memcpy(text, l->p, n);
    text[n] = 0;
    t.kind = ET_TOK_FLOAT;
    t.f = strtod(text, NULL);
    if (!isfinite(t.f)) return bad(l, t, q, "number too large");
    l->p = q;
    return t;
}

static bool is_utf8(const char *p, const char *end) {
    while (p < end) {
        unsigned char c = (unsigned char)*p;
        int n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
        if (n == 0 || end - p < n) return false;
        for (int i = 1; i < n; i++)
            if (((unsigned char)p[i] & 0xc0) != 0x80) return false;
        if ((c == 0xe0 && (unsigned char)p[1] < 0xa0) ||
            (c == 0xed && (unsigned char)p[1] > 0x9f) ||
            (c == 0xf0 && (unsigned char)p[1] < 0x90) || (c == 0xf4 && (unsigned char)p[1] > 0x8f))
            return false;
        p += n;
    }
    return true;
}

static et_tok lex_string(et_lexer *l, et_tok t) {
    const char *q = l->p + 1;
    bool control = false;
    while (q < l->end && *q != '"' && *q != '\n') {
        control |= (unsigned char)*q < 0x20 || *q == 0x7f;
        q++;
    }
    if (q == l->end || *q != '"') return bad(l, t, q, "string without its closing '\"'");
    const char *text = l->p + 1;
    size_t n = (size_t)(q - text);
    q++;
    if (n > ET_MAX_STRING) return bad(l, t, q, "string longer than 1024 bytes");
    if (control) return bad(l, t, q, "control character in a string");
    if (!is_utf8(text, text + n)) return bad(l, t, q, "string is not valid UTF-8");
    t.kind = ET_TOK_STRING;
    t.text = et_strndup(l->arena, text, n);
    l->p = q;
    return t;
}

static et_tok lex_unknown(et_lexer *l, et_tok t) {
    const char *q = l->p + 1;
    unsigned char c = (unsigned char)*l->p;
    if (c >= 0x80) {
        while (q < l->end && (unsigned char)*q >= 0x80)
            q++;
        return bad(l, t, q, "only ASCII is allowed outside strings and comments");
    }
    if (c < 0x20 || c == 0x7f) return bad(l, t, q, "control character in the text");
    return bad(l, t, q, et_printf(l->arena, "unexpected character '%c'", c));
}

static et_tok lex_punctuation(et_lexer *l, et_tok t) {
    for (int k = ET_TOK_EQ; k <= ET_TOK_RBRACE; k++) {
        size_t n = strlen(tok_text[k]);
        if ((size_t)(l->end - l->p) < n || memcmp(tok_text[k], l->p, n) != 0) continue;
        t.kind = (et_tok_kind)k;
        l->p += n;
        if (k == ET_TOK_LPAREN || k == ET_TOK_LBRACKET) l->depth++;
        if ((k == ET_TOK_RPAREN || k == ET_TOK_RBRACKET) && l->depth > 0) l->depth--;
        if (k == ET_TOK_LBRACE || k == ET_TOK_RBRACE) l->depth = 0;
        return t;
    }
    return lex_unknown(l, t);
}

et_tok et_lex(et_lexer *l) {
    skip_blank(l);
    et_tok t = {.first = l->fresh};
    const char *from = l->p;
    et_loc at = loc_of(l, from, from);
    if (l->p == l->end) {
        t.kind = ET_TOK_EOF;
    } else if (*l->p == '\n') {
        t.kind = ET_TOK_NEWLINE;
        l->line_begin = ++l->p;
        l->line++;
    } else if (is_name_start(*l->p)) {
        t = lex_name(l, t);
    } else if (is_digit(*l->p)) {
        t = lex_number(l, t);
    } else if (*l->p == '"') {
        t = lex_string(l, t);
    } else {
        t = lex_punctuation(l, t);
    }
    if (t.kind != ET_TOK_NEWLINE && l->p > from) at = loc_of(l, from, l->p);
    l->fresh = t.kind == ET_TOK_NEWLINE;
    t.loc = at;
    return t;
}
