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
    const struct imp_value *by_row = imp_variable(t, "q_by_row");
    ET_GROW(t->arena, t->rows, t->nrows, t->crows);
    t->rows[t->nrows++] = (struct imp_rows){.name = text_of(t, "q_name"),
                                            .input = text_of(t, "q_input"),
                                            .codes = !strcmp(text_of(t, "q_form"), "codes"),
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

/* ---- what takes its place ---- */

/* A product: LEFT and the weight's INDEX ("[0:F]" or empty), for blocks of rows also whose they
 * are. */
struct product {
    const char *left, *index, *owner;
};

static bool is_name(const char *s) {
    for (const char *p = s; *p; p++)
        if (!in_word(*p)) return false;
    return *s && !isdigit((unsigned char)*s);
}

/* Has NAME quantised rows with a name? Makes them, in lines that go before, where it has not. */
static void name_rows(struct imp_scan *s, const struct imp_rows *r, const struct product *p,
                      const char *indent, const char **before) {
    struct imp_template *t = s->t;
    for (int i = 0; i < t->nnamed; i++)
        if (!strcmp(t->named[i], p->left)) return;
    ET_GROW(t->arena, t->named, t->nnamed, t->cnamed);
    t->named[t->nnamed++] = p->left;
    if (r->codes)
        *before = et_printf(t->arena,
                            "%s%s_scales = row_scales(%s)\n%s%s_codes = coded(%s, %s_scales)\n%s",
                            *before, p->left, p->left, indent, p->left, p->left, p->left, indent);
    else
        *before = et_printf(t->arena, "%s%s_rounded = quantised%s(%s)\n%s", *before, p->left,
                            p->owner ? "_blocks" : "", p->left, indent);
}

/* Where products are of codes: all of it is a call. */
static const char *of_codes(struct imp_scan *s, const struct imp_rows *r, const struct product *p) {
    et_arena *arena = s->t->arena;
    bool named = !*r->input && is_name(p->left);
    const char *rows = named ? et_printf(arena, "%s_codes, %s_scales", p->left, p->left) : p->left;
    const char *function = named      ? p->owner ? "product_of_blocks" : "product"
                           : p->owner ? "quantised_blocks"
                                      : "quantised";
    return et_printf(arena, "%s(%s, %s_codes%s, %s_scales%s%s%s%s%s)", function, rows, r->name,
                     p->index, r->name, r->by_row ? p->index : "", p->owner ? ", " : "",
                     p->owner ? p->owner : "", *r->input ? ", " : "", r->input);
}

/* Where they take what codes mean: its left operand. */
static const char *of_rounded(struct imp_scan *s, const struct imp_rows *r,
                              const struct product *p) {
    et_arena *arena = s->t->arena;
    const char *more = "";
    if (!*r->input && is_name(p->left)) return et_printf(arena, "%s_rounded", p->left);
    if (*r->input)
        more =
            et_printf(arena, ", %s%s%s", r->input, p->owner ? ", " : "", p->owner ? p->owner : "");
    return et_printf(arena, "quantised%s(%s%s)", p->owner ? "_blocks" : "", p->left, more);
}

/* "LEFT @ w.T" or "LEFT @ w[...].T" with w at AT; false where the line has something else. */
static bool plain(struct imp_template *t, const struct imp_rows *r, const char *line,
                  const char *at, struct product *out, const char **from, const char **to) {
    const char *sign = back(line, at), *p = at + strlen(r->name), *index = p;
    if (sign == line || *--sign != '@') return false;
    if (*p == '[' && !(p = after_bracket(p))) return false;
    const char *end = back(line, sign), *left = operand(line, end), *before;
    if (strncmp(p, ".T", 2) != 0 || in_word(p[2]) || !left) return false;
    before = back(line, left);
    if (before > line && strchr("*/@", before[-1])) return false;
    *out = (struct product){joined(t, left, end), joined(t, index, p), NULL};
    *from = left;
    *to = r->codes ? p + 2 : end;
    return true;
}

/* "grouped(LEFT, w, OWNER)", likewise. */
static bool grouped(struct imp_template *t, const struct imp_rows *r, const char *line,
                    const char *at, struct product *out, const char **from, const char **to) {
    static const char name[] = "grouped(";
    const char *comma = back(line, at), *p = at + strlen(r->name), *open = NULL, *close;
    if (comma == line || *--comma != ',' || strncmp(p, ", ", 2) != 0) return false;
    for (const char *f = line; (f = strstr(f, name)) && f < comma; f++)
        if ((close = after_bracket(f + sizeof name - 2)) && close > p &&
            (f == line || !in_word(f[-1])))
            open = f; /* the innermost comes last */
    if (!open) return false;
    const char *left = open + sizeof name - 1;
    close = after_bracket(left - 1);
    *out = (struct product){joined(t, left, comma), "", joined(t, p + 2, close - 1)};
    *from = r->codes ? open : left;
    *to = r->codes ? close : comma;
    return true;
}

/* Rows of a value that LINE gives a name have to be quantised anew, and names end with loops. */
static void forget(struct imp_template *t, const char *line) {
    if (*line == '}' || !strncmp(line, "for ", 4)) t->nnamed = 0;
    const char *end = line + strcspn(line, "=([");
    const char *names = joined(t, line, *end == '=' ? end : line);
    for (int i = 0; i < t->nnamed; i++)
        if (find_word(names, t->named[i])) t->named[i--] = t->named[--t->nnamed];
}

/* The first product of R from *AT on, replaced; what stands behind it is looked at next. */
static bool replace(struct imp_scan *s, const struct imp_rows *r, const char *indent,
                    const char **line, size_t *at, const char **before) {
    struct imp_template *t = s->t;
    struct product p;
    const char *from, *to, *w = find_word(*line + *at, r->name);
    if (!w) {
        *at = strlen(*line);
        return true;
    }
    if (!plain(t, r, *line, w, &p, &from, &to) && !grouped(t, r, *line, w, &p, &from, &to))
        return imp_scan_error(s,
                              "the quantised weight %s stands in no product that can quantise its "
                              "rows; --activations fp8 is not supported here",
                              r->name);
    if (!*r->input && is_name(p.left)) name_rows(s, r, &p, indent, before);
    const char *by = r->codes ? of_codes(s, r, &p) : of_rounded(s, r, &p);
    const char *head = joined(t, *line, from);
    size_t behind = r->codes ? 0 : (size_t)(w - to) + strlen(r->name);
    *line = et_printf(t->arena, "%s%s%s", head, by, to);
    *at = strlen(head) + strlen(by) + behind;
    return true;
}

const char *imp_rows_line(struct imp_scan *s, const char *indent, const char *line) {
    struct imp_template *t = s->t;
    const char *before = "";
    for (int i = 0; i < t->nrows; i++)
        for (size_t at = 0; line[at];)
            if (!replace(s, &t->rows[i], indent, &line, &at, &before)) return NULL;
    forget(t, line);
    return et_printf(t->arena, "%s%s", before, line);
}
