/* functions.c - the functions that expressions of templates may call. */
#include "frontend/import/template.h"
#include "ir/base/dtype.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <math.h>
#include <string.h>

/* The number that so much of a normal distribution is below, by Newton's method. */
static double normal_quantile(double part) {
    double x = 0;
    if (!(part > 0 && part < 1)) return NAN;
    for (int i = 0; i < 60; i++) {
        double step = (0.5 * erfc(-x / sqrt(2)) - part) * sqrt(2 * acos(-1)) * exp(x * x / 2);
        x -= fmax(-1, fmin(1, step));
    }
    return x;
}

/* One number in, one out. */
static const struct {
    const char *name;
    double (*of)(double);
    bool whole; /* the result is an integer */
} reals[] = {
    {"sqrt", sqrt, false},  {"log", log, false},  {"exp", exp, false},
    {"floor", floor, true}, {"ceil", ceil, true}, {"normal_quantile", normal_quantile, false},
};

static bool finish(struct imp_scan *s, const char *name, double r, bool whole,
                   struct imp_value *out) {
    if (!isfinite(r) || (whole && fabs(r) > 1e18))
        return imp_scan_error(s, "%s has no value here", name);
    *out = whole ? imp_int((int64_t)r) : imp_real(r);
    return true;
}

static bool extreme(const char *name, int n, const struct imp_value *a, struct imp_value *out) {
    *out = a[0];
    for (int i = 1; i < n; i++) {
        bool less = imp_value_number(&a[i]) < imp_value_number(out);
        if (less == (name[1] == 'i')) *out = a[i];
    }
    return true;
}

/* Rounding toward minus infinity, as the language does. */
static bool divide(struct imp_scan *s, const char *name, const struct imp_value *a,
                   struct imp_value *out) {
    if (a[0].kind != IMP_INT || a[1].kind != IMP_INT || a[1].i <= 0)
        return imp_scan_error(s, "%s takes an integer and a positive one", name);
    int64_t q = a[0].i / a[1].i, r = a[0].i % a[1].i;
    if (r < 0) q--, r += a[1].i;
    *out = imp_int(*name == 'i' ? q : r);
    return true;
}

static bool of_list(struct imp_scan *s, const char *name, const struct imp_value *list,
                    struct imp_value *out) {
    if (!strcmp(name, "len")) {
        *out = imp_int(list->list.n);
        return true;
    }
    bool any = strcmp(name, "all") != 0, found = false;
    int64_t count = 0;
    for (int i = 0; i < list->list.n; i++) {
        if (list->list.item[i].kind != IMP_BOOL)
            return imp_scan_error(s, "%s takes a list of true and false", name);
        found |= list->list.item[i].b == any;
        count += list->list.item[i].b;
    }
    *out = *name == 'c' ? imp_int(count) : imp_bool(found == any);
    return true;
}

/* Where the items from AT on that are like the one there end. */
static bool run_of(struct imp_scan *s, const struct imp_value *list, const struct imp_value *at,
                   struct imp_value *out) {
    int64_t i = at->i;
    if (at->kind != IMP_INT || i < 0 || i >= list->list.n)
        return imp_scan_error(s, "run takes a list and the place of one of its items");
    while (i < list->list.n && imp_value_equal(&list->list.item[i], &list->list.item[at->i]))
        i++;
    *out = imp_int(i);
    return true;
}

/* How often the PERIOD items of the list from AT on come, one time after the other. */
static int repeats(const struct imp_value *list, int at, int period) {
    int n = at + period <= list->list.n;
    for (int i = at; i + period < list->list.n; i++) {
        if (!imp_value_equal(&list->list.item[i], &list->list.item[i + period])) break;
        if ((i - at + 1) % period == 0) n++;
    }
    return n;
}

/* The list cut into blocks that come again and again: [first item, items of one, how often]. At
 * each place, what leaves fewest items to be written. */
static void cut_blocks(et_arena *arena, const struct imp_value *list, struct imp_value *out) {
    enum { LONGEST = 64 };
    int n = 0;
    struct imp_value *all = imp_list(arena, list->list.n).list.item;
    for (int at = 0; at < list->list.n;) {
        int period = 1, times = repeats(list, at, 1);
        for (int p = 2; p <= LONGEST && at + p <= list->list.n; p++) {
            int r = repeats(list, at, p);
            if (p * (r - 1) <= period * (times - 1)) continue;
            period = p;
            times = r;
        }
        all[n] = imp_list(arena, 3);
        all[n].list.item[0] = imp_int(at);
        all[n].list.item[1] = imp_int(period);
        all[n++].list.item[2] = imp_int(times);
        at += period * times;
    }
    *out = imp_list(arena, n);
    if (n) memcpy(out->list.item, all, (size_t)n * sizeof *all);
}

static bool takes(const char *name, int n, const struct imp_value *a, const char *want,
                  const char *kinds) {
    if (strcmp(name, want) != 0 || (size_t)n != strlen(kinds)) return false;
    for (int i = 0; i < n; i++) {
        bool ok = kinds[i] == 'n'   ? imp_value_is_number(&a[i])
                  : kinds[i] == 't' ? a[i].kind == IMP_TEXT
                  : kinds[i] == 'l' ? a[i].kind == IMP_LIST
                                    : true;
        if (!ok) return false;
    }
    return true;
}

/* What the language calls the type of a tensor; "bf16" where there are no tensors to look at. */
static const char *type_of(const struct imp_template *t, const char *name) {
    const struct etrt_st_tensor *tensor =
        t->st ? etrt_st_find(t->st, imp_config_tensor(t->config, name)) : NULL;
    et_dtype type;
    return tensor && et_dtype_parse_safetensors(tensor->dtype, &type) ? et_dtype_name(type)
                                                                      : "bf16";
}

static bool rounded(struct imp_scan *s, const struct imp_value *a, struct imp_value *out) {
    et_dtype type;
    if (!et_dtype_parse(a[1].text, &type) || !et_dtype_is_float(type))
        return imp_scan_error(s, "numbers are not rounded to '%s'", a[1].text);
    *out = imp_real((double)et_round_to(type, (float)imp_value_number(a)));
    return true;
}

/* The letters of a text, each a text. */
static void cut_letters(et_arena *arena, const struct imp_value *a, struct imp_value *out) {
    int n = (int)strlen(a->text);
    *out = imp_list(arena, n);
    for (int i = 0; i < n; i++) {
        out->list.item[i] = imp_text(et_strndup(arena, a->text + i, 1));
        out->list.item[i].foreign = a->foreign;
    }
}

/* What a size of the model comes to, which is a number or an expression over variables. */
static bool size_of(struct imp_scan *s, const struct imp_value *a, struct imp_value *out) {
    enum { MOST_SIZES = 100 };
    struct imp_scan inner = *s;
    *out = *a;
    if (a->kind == IMP_TEXT) {
        if (a->foreign || ++inner.depth > MOST_SIZES)
            return imp_scan_error(s, "size takes no text of config.json");
        inner.p = a->text;
        if (!imp_eval(&inner, out) || !imp_scan_end(&inner)) return false;
    }
    return out->kind == IMP_INT || imp_scan_error(s, "size takes what comes to an integer");
}

bool imp_call(struct imp_scan *s, const char *name, int n, const struct imp_value *a,
              struct imp_value *out) {
    et_arena *arena = s->t->arena;
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        if (takes(name, n, a, reals[i].name, "n"))
            return finish(s, name, reals[i].of(imp_value_number(a)), reals[i].whole, out);
    if (takes(name, n, a, "pow", "nn"))
        return finish(s, name, pow(imp_value_number(a), imp_value_number(a + 1)), false, out);
    if (takes(name, n, a, "min", "nn") || takes(name, n, a, "max", "nn"))
        return extreme(name, n, a, out);
    if (takes(name, n, a, "idiv", "nn") || takes(name, n, a, "mod", "nn"))
        return divide(s, name, a, out);
    if (takes(name, n, a, "len", "l") || takes(name, n, a, "any", "l") ||
        takes(name, n, a, "all", "l") || takes(name, n, a, "count", "l"))
        return of_list(s, name, a, out);
    if (takes(name, n, a, "blocks", "l")) {
        cut_blocks(arena, a, out);
        return true;
    }
    if (takes(name, n, a, "letters", "t")) {
        cut_letters(arena, a, out);
        return true;
    }
    if (takes(name, n, a, "run", "ln")) return run_of(s, a, a + 1, out);
    if (takes(name, n, a, "condition", "lt")) {
        *out = imp_text(imp_value_condition(arena, a, a[1].text));
        return true;
    }
    if (takes(name, n, a, "text", "*")) {
        *out = imp_text(imp_value_print(arena, a));
        out->foreign = imp_value_foreign(a);
        return true;
    }
    if (takes(name, n, a, "size", "*")) return size_of(s, a, out);
    if (takes(name, n, a, "round_to", "nt")) return rounded(s, a, out);
    if (takes(name, n, a, "type", "t")) {
        *out = imp_text(type_of(s->t, a->text));
        return true;
    }
    if (takes(name, n, a, "kind_of", "t")) {
        *out = imp_int(imp_kind_of_layer(s->t, imp_config_tensor(s->t->config, a->text)));
        return true;
    }
    if (takes(name, n, a, "has", "t")) {
        const char *tensor = imp_config_tensor(s->t->config, a->text);
        *out = imp_bool(s->t->st &&
                        (etrt_st_find(s->t->st, tensor) || imp_quantised_has(s->t, tensor)));
        return true;
    }
    return imp_scan_error(s, "there is no function '%s' that takes this", name);
}
