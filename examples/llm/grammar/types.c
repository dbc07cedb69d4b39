/* A set of schemas without alternatives: values that are told, or a rule for each type. */
#include "examples/llm/base/buffer.h"
#include "examples/llm/grammar/schema.h"
#include <stdlib.h>
#include <string.h>

enum {
    T_NULL = 1,
    T_BOOLEAN = 2,
    T_INTEGER = 4,
    T_FRACTION = 8, /* a number that is none */
    T_STRING = 16,
    T_ARRAY = 32,
    T_OBJECT = 64,
    T_ALL = 127,
};

static const struct {
    const char *name;
    int types;
} names[] = {{"null", T_NULL},       {"boolean", T_BOOLEAN},
             {"integer", T_INTEGER}, {"number", T_INTEGER | T_FRACTION},
             {"string", T_STRING},   {"array", T_ARRAY},
             {"object", T_OBJECT}};

static int types_named(const char *name) {
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, name)) return names[i].types;
    return 0;
}

/* What "type" says; -1: it is none. */
static int types_of(struct maker *m, const json_t *type) {
    int types = 0;
    if (!type) return T_ALL;
    size_t n = json_is_array(type) ? json_array_size(type) : 1;
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_is_array(type) ? json_array_get(type, i) : type;
        const char *name = json_string_value(one);
        if (!types_named(name)) {
            schema_refuse(m, "a type that is not known:", name ? name : "?");
            return -1;
        }
        types |= types_named(name);
    }
    if (n) return types;
    schema_refuse(m, "must be a name or names:", "type");
    return -1;
}

static int common_types(struct maker *m, const struct schemas *set) {
    int types = T_ALL;
    for (int i = 0; i < set->n && types >= 0; i++) {
        int one = types_of(m, json_object_get(set->at[i], "type"));
        types = one < 0 ? -1 : types & one;
    }
    return types;
}

/* ---- values that are told ---- */

int32_t schema_values(struct maker *m, const json_t *values) {
    size_t n = json_array_size(values);
    char **texts = calloc(n + 1, sizeof *texts);
    size_t *bytes = calloc(n + 1, sizeof *bytes);
    bool ok = texts && bytes;
    for (size_t i = 0; ok && i < n; i++) {
        struct buffer b = {0};
        buffer_json(&b, json_incref(json_array_get(values, i)));
        ok = !b.failed;
        texts[i] = b.data;
        bytes[i] = b.n;
    }
    int32_t rule = ok ? words_rule(m->r, (const char *const *)texts, bytes, n)
                      : schema_refuse(m, "cannot write the values of", "enum");
    for (size_t i = 0; texts && i < n; i++)
        free(texts[i]);
    free(texts);
    free(bytes);
    return rule;
}

static bool fits_all(struct maker *m, const struct schemas *set, const json_t *value) {
    for (int i = 0; i < set->n; i++)
        if (!schema_fits(m, set->at[i], value)) return false;
    return true;
}

static bool fits_any(struct maker *m, const struct schemas *set, const json_t *value) {
    for (int i = 0; i < set->n; i++)
        if (schema_fits(m, set->at[i], value)) return true;
    return false;
}

/* Those of VALUES that fit SET and none of NOTS; a new array. */
static json_t *chosen(struct maker *m, const json_t *values, const struct schemas *set,
                      const struct schemas *nots) {
    json_t *out = json_array();
    m->told = values;
    for (size_t i = 0; i < json_array_size(values); i++) {
        json_t *value = json_array_get(values, i);
        if (fits_all(m, set, value) && !(nots && fits_any(m, nots, value)))
            json_array_append(out, value);
    }
    m->told = NULL;
    if (!m->failed) return out;
    json_decref(out);
    return NULL;
}

/* All values that a set may have, of which some may not fit; a new array, or NULL: too many. */
static json_t *candidates(struct maker *m, const struct schemas *set) {
    for (int i = 0; i < set->n; i++) {
        json_t *v = json_object_get(set->at[i], "const");
        if (v) return json_pack("[O]", v);
    }
    for (int i = 0; i < set->n; i++) {
        json_t *v = json_object_get(set->at[i], "enum");
        if (v) return json_incref(v);
    }
    int types = common_types(m, set);
    if (types < 0 || types & ~(T_NULL | T_BOOLEAN)) return NULL;
    json_t *few = json_array();
    if (types & T_BOOLEAN) json_array_append_new(few, json_true());
    if (types & T_BOOLEAN) json_array_append_new(few, json_false());
    if (types & T_NULL) json_array_append_new(few, json_null());
    return few;
}

json_t *schema_few(struct maker *m, const struct schemas *set) {
    struct schemas all = *set;
    for (int i = 0; i < all.n && all.n < MOST_SCHEMAS; i++) {
        const json_t *to = schema_target(m, all.at[i]);
        bool there = !to;
        for (int k = 0; k < all.n; k++)
            there = there || all.at[k] == to;
        if (!there) all.at[all.n++] = to;
    }
    json_t *values = candidates(m, &all);
    json_t *out = values ? chosen(m, values, &all, NULL) : NULL;
    json_decref(values);
    return out;
}

/* ---- types ---- */

static int32_t number(struct maker *m, const struct schemas *set, int types) {
    return schema_number(m, set, !(types & T_FRACTION));
}

static int32_t of_types(struct maker *m, const struct schemas *set, int types) {
    int32_t rule = rules_new(m->r), one;
    if (types & T_NULL) schema_alternative(m, rule, schema_text(m, "null"));
    if (types & T_BOOLEAN) schema_alternative(m, rule, schema_text(m, "true"));
    if (types & T_BOOLEAN) schema_alternative(m, rule, schema_text(m, "false"));
    const int masks[] = {T_INTEGER | T_FRACTION, T_STRING, T_ARRAY, T_OBJECT};
    for (int i = 0; i < 4; i++) {
        if (!(types & masks[i])) continue;
        one = i == 0   ? number(m, set, types)
              : i == 1 ? schema_string(m, set)
              : i == 2 ? schema_array(m, set)
                       : schema_object(m, set);
        if (one < 0) return -1;
        schema_alternative(m, rule, one);
    }
    return rule;
}

/* "items" is of arrays, and an array was meant, though by its letter any other value fits too; so
 * with properties and objects. Nothing else is written then. */
static int meant(const struct schemas *set) {
    static const struct {
        const char *word;
        int type;
    } hints[] = {
        {"properties", T_OBJECT},        {"required", T_OBJECT}, {"additionalProperties", T_OBJECT},
        {"patternProperties", T_OBJECT}, {"items", T_ARRAY},     {"prefixItems", T_ARRAY}};
    int types = 0;
    for (int i = 0; i < set->n; i++)
        for (size_t k = 0; k < sizeof hints / sizeof *hints; k++)
            if (json_object_get(set->at[i], hints[k].word)) types |= hints[k].type;
    return types ? types : T_ALL;
}

int32_t schema_plain(struct maker *m, const struct schemas *set, const struct schemas *nots) {
    int types = common_types(m, set);
    if (types < 0) return -1;
    json_t *all = candidates(m, set);
    if (all) {
        json_t *values = chosen(m, all, set, nots);
        int32_t rule = values ? schema_values(m, values) : -1;
        json_decref(all);
        json_decref(values);
        return rule;
    }
    if (nots->n)
        return schema_refuse(m,
                             "of such schemas, and 'oneOf' of schemas that may both hold, is "
                             "not supported:",
                             "not");
    if (types == T_ALL && meant(set) != T_ALL) types = meant(set);
    return of_types(m, set, types);
}
