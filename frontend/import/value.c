/* value.c - the values that templates compute with. */
#include "frontend/import/template.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct imp_value imp_bool(bool b) {
    return (struct imp_value){.kind = IMP_BOOL, .b = b};
}

struct imp_value imp_int(int64_t i) {
    return (struct imp_value){.kind = IMP_INT, .i = i};
}

struct imp_value imp_real(double f) {
    return (struct imp_value){.kind = IMP_REAL, .f = f};
}

struct imp_value imp_text(const char *text) {
    return (struct imp_value){.kind = IMP_TEXT, .text = text};
}

struct imp_value imp_list(et_arena *arena, int n) {
    struct imp_value v = {.kind = IMP_LIST};
    v.list.n = n;
    v.list.item = et_alloc(arena, ((size_t)n + 1) * sizeof *v.list.item);
    return v;
}

const char *imp_value_kind(const struct imp_value *v) {
    static const char *const names[] = {"null",          "true or false", "an integer",
                                        "a real number", "text",          "a list"};
    return names[v->kind];
}

bool imp_value_is_number(const struct imp_value *v) {
    return v->kind == IMP_INT || v->kind == IMP_REAL;
}

double imp_value_number(const struct imp_value *v) {
    return v->kind == IMP_INT ? (double)v->i : v->f;
}

bool imp_value_equal(const struct imp_value *a, const struct imp_value *b) {
    if (imp_value_is_number(a) && imp_value_is_number(b))
        return a->kind == IMP_INT && b->kind == IMP_INT
                   ? a->i == b->i
                   : imp_value_number(a) == imp_value_number(b);
    if (a->kind != b->kind) return false;
    if (a->kind == IMP_BOOL) return a->b == b->b;
    if (a->kind == IMP_TEXT) return strcmp(a->text, b->text) == 0;
    if (a->kind != IMP_LIST) return true;
    if (a->list.n != b->list.n) return false;
    for (int i = 0; i < a->list.n; i++)
        if (!imp_value_equal(&a->list.item[i], &b->list.item[i])) return false;
    return true;
}

bool imp_value_foreign(const struct imp_value *v) {
    if (v->kind != IMP_LIST) return v->kind == IMP_TEXT && v->foreign;
    for (int i = 0; i < v->list.n; i++)
        if (imp_value_foreign(&v->list.item[i])) return true;
    return false;
}

/* The shortest decimal that reads back as V: "1e-5", "500000", "0.17677669529663687". */
static const char *print_real(et_arena *arena, double v) {
    char buf[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, v);
        if (strtod(buf, NULL) == v) break;
    }
    char *e = strchr(buf, 'e');
    if (e && fabs(v) >= 1 && fabs(v) < 1e15) {
        snprintf(buf, sizeof buf, "%.0f", v);
    } else if (e) {
        long exponent = strtol(e + 1, NULL, 10);
        snprintf(e + 1, (size_t)(buf + sizeof buf - e - 1), "%ld", exponent);
    }
    return et_strdup(arena, buf);
}

static const char *print_list(et_arena *arena, const struct imp_value *v) {
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) et_no_memory();
    for (int i = 0; i < v->list.n; i++)
        fprintf(f, "%s%s", i ? ", " : "[", imp_value_print(arena, &v->list.item[i]));
    fputs(v->list.n ? "]" : "[]", f);
    if (fclose(f)) et_no_memory();
    const char *copy = et_strdup(arena, text);
    free(text);
    return copy;
}

const char *imp_value_print(et_arena *arena, const struct imp_value *v) {
    switch (v->kind) {
    case IMP_NULL:
        return "null";
    case IMP_BOOL:
        return v->b ? "true" : "false";
    case IMP_INT:
        return et_printf(arena, "%lld", (long long)v->i);
    case IMP_REAL:
        return print_real(arena, v->f);
    case IMP_TEXT:
        return v->text;
    default:
        return print_list(arena, v);
    }
}

/* ---- conditions ---- */

static bool truth(const struct imp_value *list, int i) {
    const struct imp_value *v = &list->list.item[i];
    return v->kind == IMP_BOOL ? v->b : imp_value_is_number(v) && imp_value_number(v) != 0;
}

/* Where a list of one change changes, or 0. */
static int step_of(const struct imp_value *list) {
    int at = 0;
    for (int i = 1; i < list->list.n; i++) {
        if (truth(list, i) == truth(list, i - 1)) continue;
        if (at) return 0;
        at = i;
    }
    return at;
}

static int period_of(const struct imp_value *list) {
    int n = list->list.n, p = 1;
    for (int i = p; i < n; i++)
        if (truth(list, i) != truth(list, i - p)) i = p++;
    return p;
}

/* "l == 0 or l == 2", of what is rarer among the first N. */
static const char *name_all(et_arena *arena, const struct imp_value *list, int n,
                            const char *what) {
    int yes = 0;
    for (int i = 0; i < n; i++)
        yes += truth(list, i);
    bool rare = yes <= n - yes;
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) et_no_memory();
    for (int i = 0, said = 0; i < n; i++)
        if (truth(list, i) == rare)
            fprintf(f, "%s%s %s %d",
                    !said++ ? ""
                    : rare  ? " or "
                            : " and ",
                    what, rare ? "==" : "!=", i);
    if (fclose(f)) et_no_memory();
    const char *copy = et_strdup(arena, text);
    free(text);
    return copy;
}

const char *imp_value_condition(et_arena *arena, const struct imp_value *list, const char *name) {
    int n = list->list.n, step = step_of(list), period = period_of(list);
    if (step) return et_printf(arena, "%s %s %d", name, truth(list, 0) ? "<" : ">=", step);
    if (period <= 1) return n && truth(list, 0) ? "0 == 0" : "0 != 0";
    if (period < n)
        return name_all(arena, list, period, et_printf(arena, "mod(%s, %d)", name, period));
    return name_all(arena, list, n, name);
}
