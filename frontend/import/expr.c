/* expr.c - expressions of templates: read and computed in one go.
 *
 * What is not taken (the other branch of an `if`) is read with `dead` set: it has to be well
 * formed, and computes nothing. A list `[for i in 0..n: e]` reads e again for every i. */
#include "frontend/import/template.h"
#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 100, MAX_ARGS = 8 };

const struct imp_value *imp_variable(const struct imp_template *t, const char *name) {
    for (int i = t->nvars - 1; i >= 0; i--)
        if (!strcmp(t->vars[i].name, name)) return &t->vars[i].value;
    return NULL;
}

void imp_variable_set(struct imp_template *t, const char *name, const struct imp_value *v) {
    struct imp_value *old = (struct imp_value *)imp_variable(t, name);
    if (old) {
        *old = *v;
        return;
    }
    ET_GROW(t->arena, t->vars, t->nvars, t->cvars);
    t->vars[t->nvars++] = (struct imp_variable){name, *v};
}

static bool overflow(struct imp_scan *s) {
    return imp_scan_error(s, "an integer that is too large");
}

static bool arithmetic(struct imp_scan *s, char op, struct imp_value *a,
                       const struct imp_value *b) {
    if (op == '+' && a->kind == IMP_TEXT && b->kind == IMP_TEXT) {
        bool foreign = a->foreign || b->foreign;
        if (strlen(a->text) + strlen(b->text) > 4096) return imp_scan_error(s, "text too long");
        *a = imp_text(et_printf(s->t->arena, "%s%s", a->text, b->text));
        a->foreign = foreign;
        return true;
    }
    if (!imp_value_is_number(a) || !imp_value_is_number(b))
        return imp_scan_error(s, "'%c' takes numbers, not %s and %s", op, imp_value_kind(a),
                              imp_value_kind(b));
    double x = imp_value_number(a), y = imp_value_number(b);
    if (op == '/' && y == 0) return imp_scan_error(s, "a division by zero");
    if (a->kind == IMP_INT && b->kind == IMP_INT) {
        int64_t r = 0;
        if (op == '+' && __builtin_add_overflow(a->i, b->i, &r)) return overflow(s);
        if (op == '-' && __builtin_sub_overflow(a->i, b->i, &r)) return overflow(s);
        if (op == '*' && __builtin_mul_overflow(a->i, b->i, &r)) return overflow(s);
        if (op == '/' && b->i == -1) return overflow(s);
        if (op == '/' && a->i % b->i == 0) r = a->i / b->i;
        if (op != '/' || a->i % b->i == 0) {
            *a = imp_int(r);
            return true;
        }
    }
    double r = op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : x / y;
    *a = imp_real(r);
    return isfinite(r) || imp_scan_error(s, "a number that is too large");
}

/* ---- from the tightest to the loosest ---- */

static bool number_list(struct imp_scan *s, struct imp_value *out) {
    const char *name;
    int64_t lo, hi;
    if (!imp_scan_name(s, &name) ||
        !(imp_scan_word(s, "in") || imp_scan_error(s, "expected 'in' after 'for %s'", name)) ||
        !imp_eval_int(s, -IMP_MAX_LIST, IMP_MAX_LIST, &lo) || !imp_scan_want(s, "..") ||
        !imp_eval_int(s, -IMP_MAX_LIST, IMP_MAX_LIST, &hi) || !imp_scan_want(s, ":"))
        return false;
    bool dead = s->dead;
    const char *start = s->p;
    int n = hi > lo ? (int)(hi - lo) : 0;
    if (n > IMP_MAX_LIST) return imp_scan_error(s, "a list of more than %d", (int)IMP_MAX_LIST);
    struct imp_value old = {.kind = IMP_NULL}, ignored;
    if (imp_variable(s->t, name)) old = *imp_variable(s->t, name);
    *out = imp_list(s->t->arena, n);
    for (int i = 0; i < n && !dead; i++) {
        struct imp_value at = imp_int(lo + i);
        imp_variable_set(s->t, name, &at);
        s->p = start;
        if (!imp_eval(s, &out->list.item[i])) return false;
    }
    if (n == 0 || dead) {
        s->dead = true;
        bool ok = imp_eval(s, &ignored);
        s->dead = dead;
        if (!ok) return false;
    }
    imp_variable_set(s->t, name, &old);
    return true;
}

static bool list(struct imp_scan *s, struct imp_value *out) {
    struct imp_value item[64];
    int n = 0;
    if (imp_scan_word(s, "for")) return number_list(s, out) && imp_scan_want(s, "]");
    if (!imp_scan_is(s, "]")) {
        do {
            if (n == 64) return imp_scan_error(s, "a list of more than 64 items");
            if (!imp_eval(s, &item[n++])) return false;
        } while (imp_scan_is(s, ","));
        if (!imp_scan_want(s, "]")) return false;
    }
    *out = imp_list(s->t->arena, n);
    memcpy(out->list.item, item, (size_t)n * sizeof *item);
    return true;
}

static bool call(struct imp_scan *s, const char *name, struct imp_value *out) {
    struct imp_value args[MAX_ARGS];
    int n = 0;
    if (!imp_scan_is(s, ")")) {
        do {
            if (n == MAX_ARGS) return imp_scan_error(s, "too many arguments for %s", name);
            if (!imp_eval(s, &args[n++])) return false;
        } while (imp_scan_is(s, ","));
        if (!imp_scan_want(s, ")")) return false;
    }
    *out = imp_int(0);
    return s->dead || imp_call(s, name, n, args, out);
}

static bool named(struct imp_scan *s, struct imp_value *out) {
    const char *name;
    if (!imp_scan_name(s, &name)) return false;
    if (imp_scan_is(s, "(")) return call(s, name, out);
    if (!strcmp(name, "true") || !strcmp(name, "false")) {
        *out = imp_bool(*name == 't');
        return true;
    }
    *out = (struct imp_value){.kind = IMP_NULL};
    if (!strcmp(name, "null") || s->dead) return true;
    const struct imp_value *v = imp_variable(s->t, name);
    if (!v) return imp_scan_error(s, "there is no variable '%s'", name);
    *out = *v;
    return true;
}

static bool primary(struct imp_scan *s, struct imp_value *out) {
    const char *text;
    imp_scan_space(s);
    if (imp_scan_number(s, out)) return true;
    if (*s->p == '"' || *s->p == '\'') {
        if (!imp_scan_string(s, &text)) return false;
        *out = imp_text(text);
        return true;
    }
    if (imp_scan_is(s, "[")) return list(s, out);
    if (imp_scan_is(s, "(")) return imp_eval(s, out) && imp_scan_want(s, ")");
    return named(s, out);
}

static bool postfix(struct imp_scan *s, struct imp_value *out) {
    struct imp_value at;
    if (!primary(s, out)) return false;
    while (imp_scan_is(s, "[")) {
        if (!imp_eval(s, &at) || !imp_scan_want(s, "]")) return false;
        if (s->dead) continue;
        if (out->kind != IMP_LIST || at.kind != IMP_INT)
            return imp_scan_error(s, "[ ] takes a list and an integer, not %s and %s",
                                  imp_value_kind(out), imp_value_kind(&at));
        if (at.i < 0 || at.i >= out->list.n)
            return imp_scan_error(s, "item %lld of a list of %d", (long long)at.i, out->list.n);
        *out = out->list.item[at.i];
    }
    return true;
}

static bool unary(struct imp_scan *s, struct imp_value *out) {
    if (!imp_scan_is(s, "-")) return postfix(s, out);
    if (++s->depth > MAX_DEPTH) return imp_scan_error(s, "an expression nested too deeply");
    struct imp_value x;
    bool ok = unary(s, &x);
    s->depth--;
    *out = imp_int(0);
    return ok && (s->dead || arithmetic(s, '-', out, &x));
}

static bool product(struct imp_scan *s, struct imp_value *out) {
    struct imp_value b;
    if (!unary(s, out)) return false;
    for (;;) {
        char op = imp_scan_is(s, "*") ? '*' : imp_scan_is(s, "/") ? '/' : 0;
        if (!op) return true;
        if (!unary(s, &b) || (!s->dead && !arithmetic(s, op, out, &b))) return false;
    }
}

static bool sum(struct imp_scan *s, struct imp_value *out) {
    struct imp_value b;
    if (!product(s, out)) return false;
    for (;;) {
        char op = imp_scan_is(s, "+") ? '+' : imp_scan_is(s, "-") ? '-' : 0;
        if (!op) return true;
        if (!product(s, &b) || (!s->dead && !arithmetic(s, op, out, &b))) return false;
    }
}

static bool comparison(struct imp_scan *s, struct imp_value *out) {
    static const char *const ops[] = {"==", "!=", "<=", ">=", "<", ">"};
    struct imp_value b;
    size_t op = 0;
    if (!sum(s, out)) return false;
    while (op < 6 && !imp_scan_is(s, ops[op]))
        op++;
    if (op == 6) return true;
    if (!sum(s, &b)) return false;
    if (s->dead) return true;
    if (op < 2) {
        *out = imp_bool(imp_value_equal(out, &b) == (op == 0));
        return true;
    }
    if (!imp_value_is_number(out) || !imp_value_is_number(&b))
        return imp_scan_error(s, "'%s' takes numbers, not %s and %s", ops[op], imp_value_kind(out),
                              imp_value_kind(&b));
    double x = imp_value_number(out), y = imp_value_number(&b);
    *out = imp_bool(op == 2 ? x <= y : op == 3 ? x >= y : op == 4 ? x < y : x > y);
    return true;
}

static bool is_condition(struct imp_scan *s, const struct imp_value *v, const char *word) {
    return s->dead || v->kind == IMP_BOOL ||
           imp_scan_error(s, "'%s' takes true or false, not %s", word, imp_value_kind(v));
}

static bool negation(struct imp_scan *s, struct imp_value *out) {
    if (!imp_scan_word(s, "not")) return comparison(s, out);
    if (++s->depth > MAX_DEPTH) return imp_scan_error(s, "an expression nested too deeply");
    bool ok = negation(s, out) && is_condition(s, out, "not");
    s->depth--;
    if (ok && !s->dead) *out = imp_bool(!out->b);
    return ok;
}

/* `and` and `or` leave out what cannot matter any more. */
static bool chain(struct imp_scan *s, bool any, struct imp_value *out) {
    const char *word = any ? "or" : "and";
    if (!(any ? chain(s, false, out) : negation(s, out))) return false;
    while (imp_scan_word(s, word)) {
        struct imp_value b;
        if (!is_condition(s, out, word)) return false;
        bool dead = s->dead, decided = !dead && out->b == any;
        s->dead = dead || decided;
        bool ok = (any ? chain(s, false, &b) : negation(s, &b)) && is_condition(s, &b, word);
        s->dead = dead;
        if (!ok) return false;
        if (!decided) *out = b;
    }
    return true;
}

static bool choice(struct imp_scan *s, struct imp_value *out) {
    bool dead = s->dead, yes = false;
    struct imp_value other;
    if (!(dead ? imp_eval(s, out) : imp_eval_bool(s, &yes))) return false;
    if (!imp_scan_word(s, "then")) return imp_scan_error(s, "expected 'then' after 'if ...'");
    s->dead = dead || !yes;
    bool ok = imp_eval(s, out);
    if (ok && !imp_scan_word(s, "else")) ok = imp_scan_error(s, "expected 'else' after 'then ...'");
    s->dead = dead || yes;
    ok = ok && imp_eval(s, yes ? &other : out);
    s->dead = dead;
    return ok;
}

bool imp_eval(struct imp_scan *s, struct imp_value *out) {
    if (++s->t->steps > IMP_MAX_STEPS) return imp_scan_error(s, "the template takes too long");
    if (++s->depth > MAX_DEPTH) return imp_scan_error(s, "an expression nested too deeply");
    *out = (struct imp_value){.kind = IMP_NULL};
    bool ok = imp_scan_word(s, "if") ? choice(s, out) : chain(s, true, out);
    s->depth--;
    return ok;
}

bool imp_eval_int(struct imp_scan *s, int64_t lo, int64_t hi, int64_t *out) {
    struct imp_value v;
    if (!imp_eval(s, &v)) return false;
    *out = lo;
    if (s->dead) return true;
    if (v.kind != IMP_INT)
        return imp_scan_error(s, "an integer is needed here, this is %s", imp_value_kind(&v));
    if (v.i < lo || v.i > hi)
        return imp_scan_error(s, "%lld is not from %lld to %lld", (long long)v.i, (long long)lo,
                              (long long)hi);
    *out = v.i;
    return true;
}

bool imp_eval_bool(struct imp_scan *s, bool *out) {
    struct imp_value v;
    *out = false;
    if (!imp_eval(s, &v) || !is_condition(s, &v, "if")) return false;
    *out = !s->dead && v.b;
    return true;
}
