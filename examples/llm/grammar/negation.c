/* What does not fit a schema, as a schema: one alternative for each word that may be broken. It may
 * say less than all that does not fit, and never more. */
#include "examples/llm/grammar/schema.h"
#include <stdlib.h>
#include <string.h>

static json_t *typed(const char *type, const char *word, json_t *value) {
    return json_pack("{s:s, s:o}", "type", type, word, value);
}

static json_t *others(const char *const *types, const json_t *type) {
    json_t *out = json_array();
    bool integers = false;
    size_t n = json_is_array(type) ? json_array_size(type) : 1;
    for (; *types; types++) {
        bool named = false;
        for (size_t i = 0; i < n; i++) {
            const json_t *one = json_is_array(type) ? json_array_get(type, i) : type;
            const char *name = json_string_value(one) ? json_string_value(one) : "";
            named = named || !strcmp(name, *types);
            integers = integers || !strcmp(name, "integer");
        }
        if (!named && !(integers && !strcmp(*types, "number")))
            json_array_append_new(out, json_string(*types));
    }
    return json_pack("{s:o}", "type", out);
}

static json_t *other_types(const json_t *type) {
    static const char *const all[] = {"null",  "boolean", "number", "string",
                                      "array", "object",  NULL};
    return others(all, type);
}

/* Values other than those told: strings that are none of them, and types of which none is. */
static void not_values(json_t *out, const json_t *values) {
    json_t *texts = json_array(), *types = json_array();
    bool yes = false, no = false;
    for (size_t i = 0; i < json_array_size(values); i++) {
        json_t *v = json_array_get(values, i);
        if (json_is_string(v)) json_array_append(texts, v);
        const char *type = json_is_string(v)    ? "string"
                           : json_is_number(v)  ? "number"
                           : json_is_boolean(v) ? "boolean"
                           : json_is_null(v)    ? "null"
                           : json_is_array(v)   ? "array"
                                                : "object";
        yes = yes || json_is_true(v);
        no = no || json_is_false(v);
        json_array_append_new(types, json_string(type));
        if (json_array_size(values) > 1 || !json_is_number(v)) continue;
        json_array_append_new(out, typed("number", "exclusiveMinimum", json_incref(v)));
        json_array_append_new(out, typed("number", "exclusiveMaximum", json_incref(v)));
    }
    json_array_append_new(out, other_types(types));
    if (yes != no) json_array_append_new(out, json_pack("{s:b}", "const", no));
    if (json_array_size(texts))
        json_array_append_new(out, typed("string", WORD_EXCEPT, json_incref(texts)));
    json_decref(texts);
    json_decref(types);
}

/* A count or a bound, and what breaks it. */
static const struct {
    const char *word, *type, *other;
    int step; /* added to the count */
} opposites[] = {{"minimum", "number", "exclusiveMaximum", 0},
                 {"maximum", "number", "exclusiveMinimum", 0},
                 {"exclusiveMinimum", "number", "maximum", 0},
                 {"exclusiveMaximum", "number", "minimum", 0},
                 {"minLength", "string", "maxLength", -1},
                 {"maxLength", "string", "minLength", 1},
                 {"minItems", "array", "maxItems", -1},
                 {"maxItems", "array", "minItems", 1},
                 {"minProperties", "object", "maxProperties", -1},
                 {"maxProperties", "object", "minProperties", 1},
                 {"pattern", "string", WORD_UNLIKE, 0}};

static bool not_word(json_t *out, const char *word, json_t *v) {
    for (size_t i = 0; i < sizeof opposites / sizeof *opposites; i++) {
        if (strcmp(opposites[i].word, word)) continue;
        int step = opposites[i].step;
        json_int_t count = (json_int_t)json_number_value(v) + step;
        if (step && count < 0) return true; /* never broken */
        json_t *value = step ? json_integer(count) : json_incref(v);
        json_array_append_new(out, typed(opposites[i].type, opposites[i].other, value));
        return true;
    }
    return false;
}

static void not_properties(json_t *out, const json_t *properties) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)properties, name, value)
        json_array_append_new(out, json_pack("{s:s, s:[s], s:{s:{s:O}}}", "type", "object",
                                             "required", name, "properties", name, "not", value));
}

static void not_required(json_t *out, const json_t *names) {
    for (size_t i = 0; i < json_array_size(names); i++)
        json_array_append_new(out, json_pack("{s:s, s:{s:b}}", "type", "object", "properties",
                                             json_string_value(json_array_get(names, i)), 0));
}

static json_t *nots(const json_t *list) {
    json_t *out = json_array();
    for (size_t i = 0; i < json_array_size(list); i++)
        json_array_append_new(out, json_pack("{s:O}", "not", json_array_get(list, i)));
    return out;
}

/* Words that say nothing of the value. */
static bool is_silent(const char *word) {
    static const char *const words[] = {"title",    "description", "default",
                                        "examples", "$defs",       "definitions",
                                        "$comment", "$schema",     "deprecated"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], word)) return true;
    return false;
}

/* Ways to break a member of a schema. False: it is not known how. */
static bool break_member(struct maker *m, json_t *out, const json_t *s, const char *word,
                         json_t *v) {
    const json_t *to = schema_target(m, s);
    if (is_silent(word)) return true;
    if (!strcmp(word, "type")) return json_array_append_new(out, other_types(v)) == 0;
    if (!strcmp(word, "const") || !strcmp(word, "enum")) {
        json_t *values = *word == 'c' ? json_pack("[O]", v) : json_incref(v);
        not_values(out, values);
        json_decref(values);
        return true;
    }
    if (!strcmp(word, "properties")) return not_properties(out, v), true;
    if (!strcmp(word, "required")) return not_required(out, v), true;
    if (!strcmp(word, "not")) return json_array_append(out, v) == 0;
    if (!strcmp(word, "anyOf"))
        return json_array_append_new(out, json_pack("{s:o}", "allOf", nots(v))) == 0;
    if (!strcmp(word, "allOf"))
        return json_array_append_new(out, json_pack("{s:o}", "anyOf", nots(v))) == 0;
    if (!strcmp(word, "$ref") && to)
        return json_array_append_new(out, json_pack("{s:O}", "not", to)) == 0;
    return not_word(out, word, v);
}

static const json_t *make(struct maker *m, const json_t *s) {
    const char *word;
    json_t *v, *ways = json_array();
    bool ok = ways != NULL;
    json_object_foreach((json_t *)s, word, v) ok = ok && break_member(m, ways, s, word, v);
    if (!ok) {
        json_decref(ways);
        return NULL;
    }
    if (!json_array_size(ways)) {
        json_decref(ways);
        return json_false();
    }
    return schema_keep(m, json_pack("{s:o}", "anyOf", ways));
}

const json_t *schema_negation(struct maker *m, const json_t *s) {
    if (json_is_boolean(s)) return json_is_true(s) ? json_false() : json_true();
    if (!schema_check(m, s)) return NULL;
    for (int i = 0; i < m->nnegated; i++)
        if (m->negated[i].of == s) return m->negated[i].is;
    const json_t *is = make(m, s);
    void *more = realloc(m->negated, (size_t)(m->nnegated + 1) * sizeof *m->negated);
    if (!more) return NULL;
    m->negated = more;
    m->negated[m->nnegated].of = s;
    m->negated[m->nnegated++].is = is;
    return is;
}

/* ---- schemas that no value fits both of ---- */

static json_t *told(const json_t *s) {
    json_t *one = json_object_get(s, "const"), *all = json_object_get(s, "enum");
    return one ? json_pack("[O]", one) : json_incref(all);
}

static const char *type_of(const json_t *s) {
    const json_t *type = json_object_get(s, "type");
    return json_string_value(type) ? json_string_value(type) : "";
}

static bool has_name(const json_t *names, const char *name) {
    for (size_t i = 0; i < json_array_size(names); i++)
        if (!strcmp(json_string_value(json_array_get(names, i)), name)) return true;
    return false;
}

/* Told values of the one, none of which is of the other. */
static bool told_apart(const json_t *a, const json_t *b) {
    bool apart = true;
    for (size_t i = 0; i < json_array_size(a); i++)
        for (size_t k = 0; k < json_array_size(b); k++) {
            const json_t *x = json_array_get(a, i), *y = json_array_get(b, k);
            if (json_equal(x, y) || (json_is_number(x) && json_is_number(y))) apart = false;
        }
    return apart;
}

static bool apart(struct maker *m, const json_t *a, const json_t *b, int depth) {
    const char *name;
    json_t *value;
    a = schema_target(m, a);
    b = schema_target(m, b);
    if (!json_is_object(a) || !json_is_object(b) || depth > 8) return false;
    const char *ta = type_of(a), *tb = type_of(b);
    bool numbers = (!strcmp(ta, "integer") || !strcmp(ta, "number")) &&
                   (!strcmp(tb, "integer") || !strcmp(tb, "number"));
    if (*ta && *tb && strcmp(ta, tb) && !numbers) return true;
    json_t *va = told(a), *vb = told(b);
    bool yes = va && vb && told_apart(va, vb);
    json_decref(va);
    json_decref(vb);
    if (strcmp(ta, "object") || strcmp(tb, "object")) return yes;
    json_object_foreach(json_object_get(a, "properties"), name, value) {
        const json_t *other = json_object_get(json_object_get(b, "properties"), name);
        if (!yes && other && has_name(json_object_get(a, "required"), name) &&
            has_name(json_object_get(b, "required"), name))
            yes = apart(m, value, other, depth + 1);
    }
    return yes;
}

bool schema_apart(struct maker *m, const json_t *a, const json_t *b) {
    return schema_check(m, a) && schema_check(m, b) && apart(m, a, b, 0);
}
