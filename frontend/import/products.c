/* products.c - products of quantised weights with rows that are quantised, too.
 *
 * A template writes `x @ w.T` and `grouped(x, w, owner)` whatever the checkpoint holds. Where rows
 * are to be quantised, the format's lines give codes and scales instead of w, and these products
 * become calls of the functions of the part `quantised_rows`. What else a template does with such a
 * weight has no meaning then, and is refused. */
#include "frontend/import/template.h"
#include <ctype.h>
#include <string.h>

static const char *text_of(const struct imp_template *t, const char *variable) {
    const struct imp_value *v = imp_variable(t, variable);
    return v && v->kind == IMP_TEXT ? v->text : "";
}

void imp_rows_note(struct imp_template *t) {
    const char *scales = text_of(t, "q_scales"), *name = text_of(t, "q_name");
    const struct imp_value *by_row = imp_variable(t, "q_by_row");
    if (!*scales || !*name) return;
    ET_GROW(t->arena, t->rows, t->nrows, t->crows);
    t->rows[t->nrows++] = (struct imp_rows){.name = name,
                                            .codes = et_printf(t->arena, "%s_codes", name),
                                            .scales = scales,
                                            .input = text_of(t, "q_input"),
                                            .by_row = by_row && by_row->b};
}

/* ---- the line ---- */

static bool in_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Where WORD stands in LINE before its comment; NULL: nowhere. */
static const char *find_word(const char *line, const char *word) {
    size_t n = strlen(word), end = strcspn(line, "#");
    for (const char *p = line; (p = strstr(p, word)) && (size_t)(p - line) < end; p++)
        if (!in_word(p[n]) && (p == line || !in_word(p[-1]))) return p;
    return NULL;
}

/* Past the bracket that closes the one at P; NULL where none does. */
static const char *after_bracket(const char *p) {
    int depth = 0;
    for (; *p; p++) {
        depth += (*p == '(' || *p == '[') - (*p == ')' || *p == ']');
        if (!depth) return p + 1;
    }
    return NULL;
}

/* The bracket that opens the one before P; NULL where none does. */
static const char *before_bracket(const char *line, const char *p) {
    int depth = 0;
    while (p-- > line) {
        depth += (*p == ')' || *p == ']') - (*p == '(' || *p == '[');
        if (!depth) return p;
    }
    return NULL;
}

static const char *back(const char *line, const char *p) {
    while (p > line && p[-1] == ' ')
        p--;
    return p;
}

/* Where the operand begins that ends at END: a name, a call, what is in brackets, and what of it is
 * indexed or transposed. NULL where it is none of these. */
static const char *operand(const char *line, const char *end) {
    const char *p = end;
    while (p && p > line) {
        bool round = p[-1] == ')', square = p[-1] == ']';
        const char *from = p;
        if (round || square) p = before_bracket(line, p);
        while (p && p > line && (in_word(p[-1]) || p[-1] == '.') && !(round && from == p))
            p--;
        if (!p || p == from) return NULL;
        bool goes_on = *p == '.' || (*p == '[' && p > line && strchr(")].", p[-1]));
        if (!goes_on) return p;
    }
    return NULL;
}

static char *joined(struct imp_template *t, const char *line, const char *to) {
    return et_strndup(t->arena, line, (size_t)(to - line));
}

/* "LEFT @ w.T" or "LEFT @ w[...].T" with w at AT; NULL where the line has something else. */
static const char *plain(struct imp_template *t, const struct imp_rows *r, const char *line,
                         const char *at) {
    const char *sign = back(line, at), *p = at + strlen(r->name), *index = p;
    if (sign == line || *--sign != '@') return NULL;
    if (*p == '[' && !(p = after_bracket(p))) return NULL;
    const char *end = back(line, sign), *left = operand(line, end), *before;
    if (strncmp(p, ".T", 2) != 0 || in_word(p[2]) || !left) return NULL;
    before = back(line, left);
    if (before > line && strchr("*/@", before[-1])) return NULL;
    index = joined(t, index, p);
    return et_printf(t->arena, "%squantised(%s, %s%s, %s%s%s%s)%s", joined(t, line, left),
                     joined(t, left, end), r->codes, index, r->scales, r->by_row ? index : "",
                     *r->input ? ", " : "", r->input, p + 2);
}

/* "grouped(LEFT, w, OWNER)", likewise. */
static const char *grouped(struct imp_template *t, const struct imp_rows *r, const char *line,
                           const char *at) {
    static const char name[] = "grouped(";
    const char *comma = back(line, at), *p = at + strlen(r->name), *open = NULL, *close;
    if (comma == line || *--comma != ',' || *p != ',') return NULL;
    for (const char *f = line; (f = strstr(f, name)) && f < comma; f++)
        if ((close = after_bracket(f + sizeof name - 2)) && close > p &&
            (f == line || !in_word(f[-1])))
            open = f; /* the innermost comes last */
    if (!open) return NULL;
    close = after_bracket(open + sizeof name - 2) - 1;
    return et_printf(t->arena, "%squantised_groups(%s, %s, %s%s%s%s%s", joined(t, line, open),
                     joined(t, open + sizeof name - 1, comma), r->codes, r->scales,
                     joined(t, p, close), *r->input ? ", " : "", r->input, close);
}

const char *imp_rows_line(struct imp_scan *s, const char *line) {
    struct imp_template *t = s->t;
    const char *at, *made;
    for (int i = 0; i < t->nrows; i++)
        while ((at = find_word(line, t->rows[i].name))) {
            made = plain(t, &t->rows[i], line, at);
            if (!made) made = grouped(t, &t->rows[i], line, at);
            if (!made) {
                imp_scan_error(s,
                               "the quantised weight %s stands in no product that can quantise its "
                               "rows; --activations fp8 is not supported here",
                               t->rows[i].name);
                return NULL;
            }
            line = made;
        }
    return line;
}
