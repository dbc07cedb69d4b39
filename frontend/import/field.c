/* field.c - %field lines: constants out of config.json, of a type and within a range.
 *
 *     %field NAME = PATH [| PATH]... : TYPE [else EXPRESSION]
 *
 * The first path that leads to something counts; where none does, the expression. */
#include "frontend/import/template.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

enum { MOST_PATHS = 6 }; /* of a field */

static bool convert(et_arena *arena, const json_t *j, int depth, struct imp_value *out) {
    *out = (struct imp_value){.kind = IMP_NULL};
    if (json_is_boolean(j)) *out = imp_bool(json_is_true(j));
    if (json_is_integer(j)) *out = imp_int(json_integer_value(j));
    if (json_is_real(j)) *out = imp_real(json_real_value(j));
    if (json_is_string(j)) {
        *out = imp_text(et_strdup(arena, json_string_value(j)));
        out->foreign = true;
    }
    if (json_is_object(j)) return false;
    if (!json_is_array(j)) return true;
    if (depth > 3 || json_array_size(j) > IMP_MAX_LIST) return false;
    *out = imp_list(arena, (int)json_array_size(j));
    for (int i = 0; i < out->list.n; i++)
        if (!convert(arena, json_array_get(j, (size_t)i), depth + 1, &out->list.item[i]))
            return false;
    return true;
}

/* What a field may be. */
struct type {
    enum { T_INT, T_REAL, T_BOOL, T_TEXT, T_LIST, T_SIZE, T_ONE } kind;
    double lo, hi;
    const char *names; /* ONE: what follows `one of`, as it stands */
};

static bool range(struct imp_scan *s, struct type *type) {
    struct imp_value lo, hi;
    if (!imp_eval(s, &lo) || !imp_scan_want(s, "..") || !imp_eval(s, &hi)) return false;
    if (!imp_value_is_number(&lo) || !imp_value_is_number(&hi))
        return imp_scan_error(s, "a range is of two numbers");
    type->lo = imp_value_number(&lo), type->hi = imp_value_number(&hi);
    return true;
}

static bool parse_type(struct imp_scan *s, struct type *type) {
    static const char *const words[] = {"int", "real", "bool", "text", "list", "size", "one"};
    const char *item;
    for (type->kind = T_INT; type->kind <= T_ONE; type->kind++)
        if (imp_scan_word(s, words[type->kind])) break;
    if (type->kind > T_ONE)
        return imp_scan_error(s,
                              "a type is int LO..HI, real LO..HI, bool, text, list, size or one of "
                              "NAMES, not \"%.20s\"",
                              s->p);
    if (type->kind <= T_REAL) return range(s, type);
    if (type->kind != T_ONE) return true;
    if (!imp_scan_word(s, "of")) return imp_scan_error(s, "expected 'of' after 'one'");
    imp_scan_space(s);
    type->names = s->p;
    for (const char *end = s->p; imp_scan_item(s, &item); end = s->p)
        if (!strcmp(item, "else")) {
            s->p = end;
            break;
        }
    return true;
}

static void say(struct imp_scan *s, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void say(struct imp_scan *s, const char *path, const char *fmt, ...) {
    char text[700];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    imp_error(s->t->report, s->t->config->path, "field \"%s\" %s", path, text);
}

/* The names of `one of`, a=b where a field says a and the template means b. */
static void take_one(struct imp_scan *s, const char *path, const struct type *type,
                     struct imp_value *v) {
    struct imp_scan names = *s;
    const char *item;
    char list[500] = "";
    size_t n = 0;
    names.p = type->names;
    while (imp_scan_item(&names, &item) && strcmp(item, "else") != 0) {
        const char *equals = strchr(item, '=');
        size_t bytes = equals ? (size_t)(equals - item) : strlen(item);
        if (strlen(v->text) == bytes && !strncmp(v->text, item, bytes)) {
            *v = imp_text(equals ? equals + 1 : item);
            return;
        }
        if (n < sizeof list)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%.*s", n ? ", " : "", (int)bytes,
                                  item);
    }
    say(s, path, "is \"%.100s\", which is not supported; supported: %s", v->text, list);
    *v = (struct imp_value){.kind = IMP_NULL};
}

/* Errors of a configuration are reported, and the value is null then, so that the rest can be
 * looked at too: what is computed of null says nothing. */
static void take(struct imp_scan *s, const char *path, const json_t *j, const struct type *type,
                 struct imp_value *v) {
    static const char *const wants[] = {"an integer", "a number", "true or false",
                                        "a string",   "a list",   "a list or an object",
                                        "a string"};
    static const unsigned kinds[] = {1u << IMP_INT,  1u << IMP_INT | 1u << IMP_REAL,
                                     1u << IMP_BOOL, 1u << IMP_TEXT,
                                     1u << IMP_LIST, 0,
                                     1u << IMP_TEXT};
    if (type->kind == T_SIZE && (json_is_array(j) || json_is_object(j))) {
        *v = imp_int((int64_t)(json_is_array(j) ? json_array_size(j) : json_object_size(j)));
        return;
    }
    bool plain = convert(s->t->arena, j, 0, v);
    if (!plain || !(kinds[type->kind] >> v->kind & 1)) {
        say(s, path, "is %s, expected %s", imp_json_kind(j), wants[type->kind]);
        *v = (struct imp_value){.kind = IMP_NULL};
        return;
    }
    if (type->kind == T_ONE) take_one(s, path, type, v);
    if (type->kind > T_REAL) return;
    double f = imp_value_number(v);
    if (f >= type->lo && f <= type->hi) return;
    if (type->kind == T_INT)
        say(s, path, "is %lld, expected %.0f to %.0f", (long long)v->i, type->lo, type->hi);
    else
        say(s, path, "is %g, expected %g to %g", f, type->lo, type->hi);
    *v = (struct imp_value){.kind = IMP_NULL};
}

/* Does the file say null there? */
static bool is_null(const struct imp_config *c, const char *path) {
    return json_is_null(json_object_get(c->root, path)) && !imp_config_default(c, path);
}

/* The path a missing field is asked for by: the first that the file says null of, or else that
 * leads into an object that is there. */
static const char *missing(struct imp_scan *s, const char *const *paths, int n) {
    for (int i = 0; i < n; i++)
        if (is_null(s->t->config, paths[i])) return paths[i];
    for (int i = 0; i < n; i++) {
        const char *dot = strrchr(paths[i], '.');
        if (dot && json_is_object(imp_config_find(
                       s->t->config, et_strndup(s->t->arena, paths[i], (size_t)(dot - paths[i])))))
            return paths[i];
    }
    return paths[n - 1];
}

static bool parse_paths(struct imp_scan *s, const char *paths[MOST_PATHS], int *n) {
    do {
        if (*n == MOST_PATHS || !imp_scan_item_until(s, " \t|:", &paths[*n]))
            return imp_scan_error(s, "one to six paths stand after '='");
        ++*n;
    } while (imp_scan_is(s, "|"));
    return imp_scan_want(s, ":");
}

/* The first of the paths that leads to something; NULL where none does. False after an error: that
 * depends on the version of the library, which the file does not tell. */
static bool find(struct imp_config *c, const char *const *paths, int n, const json_t **out,
                 const char **out_path) {
    for (int i = 0; i < n; i++) {
        if (*out)
            imp_config_use(c, paths[i]);
        else if ((*out = imp_config_find(c, paths[i])))
            *out_path = paths[i];
    }
    for (int i = 0; i < n && !*out; i++) {
        struct imp_default *d = imp_config_default(c, paths[i]);
        if (!d || !d->unsure) continue;
        if (!d->told) imp_error(c->report, c->path, "field \"%s\" %s", d->name, d->unsure);
        d->told = true;
        return false;
    }
    return true;
}

bool imp_field(struct imp_scan *s) {
    const char *name, *paths[MOST_PATHS], *path = NULL;
    int n = 0;
    struct type type = {0};
    const json_t *j = NULL;
    struct imp_value v;
    if (!imp_scan_name(s, &name) || !imp_scan_want(s, "=") || !parse_paths(s, paths, &n) ||
        !parse_type(s, &type))
        return false;
    bool unsure = !find(s->t->config, paths, n, &j, &path);
    if (imp_scan_word(s, "else")) {
        s->dead = j != NULL;
        bool ok = imp_eval(s, &v) && imp_scan_end(s);
        s->dead = false;
        if (!ok) return false;
    } else if (!imp_scan_end(s)) {
        return false;
    } else if (!j) {
        path = missing(s, paths, n);
        if (!unsure) say(s, path, is_null(s->t->config, path) ? "is null" : "is missing");
        v = (struct imp_value){.kind = IMP_NULL};
    }
    if (j) take(s, path, j, &type, &v);
    imp_variable_set(s->t, name, &v);
    return true;
}
