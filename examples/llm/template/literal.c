/* literal.c - what strings and numbers of a template mean. */
#include "examples/llm/template/parse.h"
#include "examples/llm/template/value/utf8.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void bad(jt_parse *s, const jt_token *t, const char *what) {
    jt_parse_fail(s, t->line, t->column, "%s", what);
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The DIGITS hexadecimal digits at P, before END. */
static int32_t hex_escape(jt_parse *s, const jt_token *t, const char *p, const char *end,
                          int digits) {
    int64_t c = 0;
    for (int i = 0; i < digits; i++) {
        int d = p + i < end ? hex(p[i]) : -1;
        if (d < 0) bad(s, t, "escape in a string with too few hexadecimal digits");
        c = c * 16 + d;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        bad(s, t, "escape in a string that is no character");
    return (int32_t)c;
}

/* The escape at P, behind its backslash; gives where the text goes on. */
static const char *escape(jt_parse *s, const jt_token *t, const char *p, const char *end,
                          char **out) {
    static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
    const char *known = strchr(from, *p);
    if (*p == '\n') return p + 1;
    if (*p && known) {
        *(*out)++ = to[known - from];
        return p + 1;
    }
    int32_t c = 0;
    if (*p >= '0' && *p <= '7') {
        for (int i = 0; i < 3 && p < end && *p >= '0' && *p <= '7'; i++)
            c = c * 8 + (*p++ - '0');
        *out += jt_utf8_write(c, *out);
        return p;
    }
    int digits = *p == 'x' ? 2 : *p == 'u' ? 4 : *p == 'U' ? 8 : 0;
    if (*p == 'N') bad(s, t, "\\N in a string is not supported");
    if (!digits) { /* no escape: the backslash stays */
        *(*out)++ = '\\';
        return p;
    }
    c = hex_escape(s, t, p + 1, end, digits);
    *out += jt_utf8_write(c, *out);
    return p + 1 + digits;
}

void jt_lex_string(jt_parse *s, jt_token *t, const char *p, size_t n) {
    const char *end = p + n;
    /* No escape is longer than what it is written as but octal ones: \777 is two bytes. */
    char *out = jt_parse_alloc(s, n + 1);
    t->p = out;
    while (p < end) {
        if (*p == '\\' && p + 1 < end)
            p = escape(s, t, p + 1, end, &out);
        else
            *out++ = *p++;
    }
    t->n = (size_t)(out - t->p);
}

void jt_lex_number(jt_parse *s, jt_token *t) {
    char digits[400];
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->p[i] != '_') {
            if (n + 1 == sizeof digits) bad(s, t, "number with too many digits");
            digits[n++] = t->p[i];
        }
    digits[n] = 0;
    errno = 0;
    if (t->kind == T_FLOAT) {
        t->value = jt_float(strtod(digits, NULL));
        return;
    }
    char base = n > 1 ? (char)(digits[1] | 32) : 0;
    if (base == 'x')
        t->value = jt_int(strtoll(digits + 2, NULL, 16));
    else if (base == 'o')
        t->value = jt_int(strtoll(digits + 2, NULL, 8));
    else if (base == 'b')
        t->value = jt_int(strtoll(digits + 2, NULL, 2));
    else
        t->value = jt_int(strtoll(digits, NULL, 10));
    if (errno) bad(s, t, "integer that does not fit 64 bits");
    if (!base || base == 'x' || base == 'o' || base == 'b') return;
    if (digits[0] == '0')
        for (size_t i = 0; i < n; i++)
            if (digits[i] != '0') bad(s, t, "decimal number that begins with 0");
}
