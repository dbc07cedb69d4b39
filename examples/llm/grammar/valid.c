/* Does a value fit a schema? Asked of values that a schema tells. */
#include "examples/llm/base/json_text.h"
#include "examples/llm/grammar/schema.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool fits(struct maker *m, const json_t *s, const json_t *v, int depth);

static bool is_integer(const json_t *v) {
    return json_is_integer(v) || json_large(v) ||
           (json_is_real(v) && json_real_value(v) == floor(json_real_value(v)));
}

static bool is_type(const char *type, const json_t *v) {
    if (!strcmp(type, "integer")) return is_integer(v);
    return (!strcmp(type, "number") && (json_is_number(v) || json_large(v))) ||
           (!strcmp(type, "string") && json_is_string(v) && !json_large(v)) ||
           (!strcmp(type, "boolean") && json_is_boolean(v)) ||
           (!strcmp(type, "null") && json_is_null(v)) ||
           (!strcmp(type, "array") && json_is_array(v)) ||
           (!strcmp(type, "object") && json_is_object(v));
}

static bool type_fits(const json_t *type, const json_t *v) {
    if (json_is_string(type)) return is_type(json_string_value(type), v);
    for (size_t i = 0; i < json_array_size(type); i++) {
        const char *name = json_string_value(json_array_get(type, i));
        if (name && is_type(name, v)) return true;
    }
    return !type;
}

/* As JSON schemas compare: 1.0 is 1. */
static bool equal(const json_t *a, const json_t *b) {
    if (json_is_number(a) && json_is_number(b))
        return json_is_integer(a) && json_is_integer(b)
                   ? json_integer_value(a) == json_integer_value(b)
                   : json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

static bool is_among(const json_t *values, const json_t *v) {
    for (size_t i = 0; i < json_array_size(values); i++)
        if (equal(json_array_get(values, i), v)) return true;
    return false;
}

static double number_of(const json_t *v) {
    return json_large(v) ? strtod(json_large(v), NULL) : json_number_value(v);
}

static bool number_fits(const json_t *s, const json_t *v) {
    const json_t *least = json_object_get(s, "minimum"), *most = json_object_get(s, "maximum");
    const json_t *above = json_object_get(s, "exclusiveMinimum");
    const json_t *below = json_object_get(s, "exclusiveMaximum");
    const json_t *factor = json_object_get(s, "multipleOf");
    double x = number_of(v);
    if ((least && x < number_of(least)) || (most && x > number_of(most))) return false;
    if ((above && x <= number_of(above)) || (below && x >= number_of(below))) return false;
    if (!factor) return true;
    double times = x / json_number_value(factor);
    return fabs(times - round(times)) < 1e-9 * fmax(1, fabs(times));
}

static int64_t count_of(const json_t *s, const char *word, int64_t otherwise) {
    const json_t *v = json_object_get(s, word);
    return v ? (int64_t)json_number_value(v) : otherwise;
}

static bool counted(const json_t *s, const char *lo, const char *hi, size_t n) {
    return (int64_t)n >= count_of(s, lo, 0) && (int64_t)n <= count_of(s, hi, INT64_MAX);
}

static bool string_fits(struct maker *m, const json_t *s, const json_t *v) {
    const char *text = json_string_value(v),
               *format = json_string_value(json_object_get(s, "format"));
    const char *pattern = json_string_value(json_object_get(s, "pattern"));
    const char *unlike = json_string_value(json_object_get(s, WORD_UNLIKE));
    size_t bytes = json_string_length(v), letters = 0;
    for (size_t i = 0; i < bytes; i++)
        letters += ((unsigned char)text[i] & 0xc0) != 0x80;
    bool ok = counted(s, "minLength", "maxLength", letters) &&
              !is_among(json_object_get(s, WORD_EXCEPT), v);
    for (int i = 0; ok && i < 2; i++) {
        const char *one = i ? unlike : pattern;
        const struct machine *machine = one ? schema_pattern(m, one) : NULL;
        if (one && !machine) m->failed = true;
        if (machine) ok = machine_takes(machine, text, bytes) != i;
    }
    const struct machine *machine = ok && format ? schema_format(m, format) : NULL;
    if (ok && format && !machine) m->failed = true;
    if (machine) ok = machine_takes(machine, text, bytes);
    return ok;
}

static bool array_fits(struct maker *m, const json_t *s, const json_t *v, int depth) {
    const json_t *items = json_object_get(s, "items"), *prefix = json_object_get(s, "prefixItems");
    const json_t *rest = items;
    if (json_is_array(items)) {
        prefix = items;
        rest = json_object_get(s, "additionalItems");
    }
    bool ok = counted(s, "minItems", "maxItems", json_array_size(v));
    for (size_t i = 0; ok && i < json_array_size(v); i++) {
        const json_t *of = i < json_array_size(prefix) ? json_array_get(prefix, i) : rest;
        ok = !of || fits(m, of, json_array_get(v, i), depth);
        for (size_t k = 0; ok && k < i && json_is_true(json_object_get(s, "uniqueItems")); k++)
            ok = !equal(json_array_get(v, i), json_array_get(v, k));
    }
    return ok;
}

static bool property_fits(struct maker *m, const json_t *s, const char *name, const json_t *v,
                          int depth) {
    const json_t *own = json_object_get(json_object_get(s, "properties"), name);
    const json_t *more = json_object_get(s, "additionalProperties");
    const json_t *names = json_object_get(s, "propertyNames");
    const char *pattern;
    json_t *value;
    bool any = own != NULL, ok = !own || fits(m, own, v, depth);
    json_object_foreach(json_object_get(s, "patternProperties"), pattern, value) {
        const struct machine *machine = schema_pattern(m, pattern);
        if (!machine) m->failed = true;
        if (!machine || !machine_takes(machine, name, strlen(name))) continue;
        any = true;
        ok = ok && fits(m, value, v, depth);
    }
    if (ok && !any && more) ok = fits(m, more, v, depth);
    if (ok && names) {
        json_t *text = json_string(name);
        ok = fits(m, names, text, depth);
        json_decref(text);
    }
    return ok;
}

static bool object_fits(struct maker *m, const json_t *s, const json_t *v, int depth) {
    const json_t *required = json_object_get(s, "required");
    const char *name;
    json_t *value;
    bool ok = counted(s, "minProperties", "maxProperties", json_object_size(v));
    for (size_t i = 0; ok && i < json_array_size(required); i++)
        ok = json_object_get(v, json_string_value(json_array_get(required, i))) != NULL;
    json_object_foreach((json_t *)v, name, value) ok =
        ok && property_fits(m, s, name, value, depth);
    json_object_foreach(
        json_object_get(s, "dependentRequired"), name,
        value) for (size_t i = 0; ok && json_object_get(v, name) && i < json_array_size(value); i++)
        ok = json_object_get(v, json_string_value(json_array_get(value, i))) != NULL;
    json_object_foreach(json_object_get(s, "dependentSchemas"), name, value) ok =
        ok && (!json_object_get(v, name) || fits(m, value, v, depth));
    return ok;
}

/* How many of LIST the value fits. */
static size_t how_many(struct maker *m, const json_t *list, const json_t *v, int depth) {
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        n += fits(m, json_array_get(list, i), v, depth);
    return n;
}

static bool alternatives_fit(struct maker *m, const json_t *s, const json_t *v, int depth) {
    const json_t *any = json_object_get(s, "anyOf"), *one = json_object_get(s, "oneOf");
    const json_t *all = json_object_get(s, "allOf"), *not = json_object_get(s, "not");
    const json_t *when = json_object_get(s, "if");
    if (any && !how_many(m, any, v, depth)) return false;
    if (one && how_many(m, one, v, depth) != 1) return false;
    if (all && how_many(m, all, v, depth) != json_array_size(all)) return false;
    if (not &&fits(m, not, v, depth)) return false;
    if (!when) return true;
    const json_t *then = json_object_get(s, fits(m, when, v, depth) ? "then" : "else");
    return !then || fits(m, then, v, depth);
}

static bool own_fits(struct maker *m, const json_t *s, const json_t *v, int depth) {
    const json_t *same = json_object_get(s, "const"), *values = json_object_get(s, "enum");
    if (!type_fits(json_object_get(s, "type"), v)) return false;
    if ((same && !equal(same, v)) || (values && values != m->told && !is_among(values, v)))
        return false;
    if (json_is_number(v) || json_large(v)) return number_fits(s, v);
    if (json_is_string(v)) return string_fits(m, s, v);
    if (json_is_array(v)) return array_fits(m, s, v, depth);
    return !json_is_object(v) || object_fits(m, s, v, depth);
}

static bool fits(struct maker *m, const json_t *s, const json_t *v, int depth) {
    if (m->failed || json_is_boolean(s)) return json_is_true(s);
    if (!schema_check(m, s) || depth > 2 * MOST_DEPTH) {
        if (depth > 2 * MOST_DEPTH) llm_fail(m->err, "the schema refers to itself without end");
        m->failed = true;
        return false;
    }
    if (json_object_get(s, "$ref")) {
        const json_t *to = schema_target(m, s);
        if (!to) {
            llm_fail(m->err, "leads nowhere: \"$ref\"");
            m->failed = true;
        }
        if (!to || !fits(m, to, v, depth + 1)) return false;
    }
    return own_fits(m, s, v, depth + 1) && alternatives_fit(m, s, v, depth + 1);
}

bool schema_fits(struct maker *m, const json_t *s, const json_t *value) {
    return fits(m, s, value, 0);
}
