/* scan.c - words, symbols and literals of a line of a template. */
#include "frontend/import/template.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool imp_scan_error(struct imp_scan *s, const char *fmt, ...) {
    struct imp_template *t = s->t;
    if (t->report->errors > t->errors) return false;
    char where[300], text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(where, sizeof where, "%.250s:%d", s->file, s->line);
    imp_error(t->report, where, "%s", text);
    return false;
}

void imp_scan_space(struct imp_scan *s) {
    while (*s->p == ' ' || *s->p == '\t')
        s->p++;
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

bool imp_scan_is(struct imp_scan *s, const char *symbol) {
    size_t n = strlen(symbol);
    imp_scan_space(s);
    if (strncmp(s->p, symbol, n) != 0) return false;
    s->p += n;
    return true;
}

bool imp_scan_word(struct imp_scan *s, const char *word) {
    size_t n = strlen(word);
    imp_scan_space(s);
    if (strncmp(s->p, word, n) != 0 || is_word(s->p[n])) return false;
    s->p += n;
    return true;
}

bool imp_scan_want(struct imp_scan *s, const char *symbol) {
    return imp_scan_is(s, symbol) ||
           imp_scan_error(s, "expected '%s' before \"%.20s\"", symbol, s->p);
}

bool imp_scan_name(struct imp_scan *s, const char **out) {
    imp_scan_space(s);
    const char *start = s->p;
    if (!isalpha((unsigned char)*s->p) && *s->p != '_')
        return imp_scan_error(s, "expected a name before \"%.20s\"", s->p);
    while (is_word(*s->p))
        s->p++;
    *out = et_strndup(s->t->arena, start, (size_t)(s->p - start));
    return true;
}

/* TEXT with the values of variables in the places of "$name". */
static const char *with_values(struct imp_scan *s, const char *text) {
    et_arena *arena = s->t->arena;
    const char *dollar;
    while ((dollar = strchr(text, '$'))) {
        size_t n = 0;
        while (is_word(dollar[1 + n]))
            n++;
        const char *name = et_strndup(arena, dollar + 1, n);
        const struct imp_value *v = imp_variable(s->t, name);
        if (!v || imp_value_foreign(v)) {
            imp_scan_error(s, "there is no variable '%s' that may stand here", name);
            return text;
        }
        text = et_printf(arena, "%.*s%s%s", (int)(dollar - text), text, imp_value_print(arena, v),
                         dollar + 1 + n);
    }
    return text;
}

bool imp_scan_item_until(struct imp_scan *s, const char *ends, const char **out) {
    imp_scan_space(s);
    size_t n = strcspn(s->p, ends);
    if (!n) return false;
    *out = with_values(s, et_strndup(s->t->arena, s->p, n));
    s->p += n;
    return true;
}

bool imp_scan_item(struct imp_scan *s, const char **out) {
    return imp_scan_item_until(s, " \t", out);
}

/* "1..8" is 1, then "..". */
bool imp_scan_number(struct imp_scan *s, struct imp_value *out) {
    imp_scan_space(s);
    const char *p = s->p;
    if (!isdigit((unsigned char)*p)) return false;
    while (isdigit((unsigned char)*p))
        p++;
    bool real = *p == '.' && p[1] != '.';
    if (real)
        for (p++; isdigit((unsigned char)*p);)
            p++;
    if (*p == 'e' || *p == 'E') {
        const char *q = p + 1 + (p[1] == '-' || p[1] == '+');
        if (isdigit((unsigned char)*q))
            for (real = true, p = q; isdigit((unsigned char)*p);)
                p++;
    }
    errno = 0;
    *out = real ? imp_real(strtod(s->p, NULL)) : imp_int(strtoll(s->p, NULL, 10));
    s->p = p;
    if (errno) imp_scan_error(s, "a number that is too large");
    return true;
}

bool imp_scan_string(struct imp_scan *s, const char **out) {
    imp_scan_space(s);
    char quote = *s->p;
    if (quote != '"' && quote != '\'') return false;
    const char *end = strchr(s->p + 1, quote);
    if (!end) {
        imp_scan_error(s, "text without its closing %c", quote);
        return false;
    }
    *out = et_strndup(s->t->arena, s->p + 1, (size_t)(end - s->p - 1));
    s->p = end + 1;
    return true;
}

bool imp_scan_end(struct imp_scan *s) {
    imp_scan_space(s);
    return !*s->p || imp_scan_error(s, "\"%.30s\" is not expected here", s->p);
}
