/* Which words a schema may have, and of which kind what they say must be. Other words are refused:
 * what is not known may narrow what is allowed. */
#include "examples/llm/base/json_text.h"
#include "examples/llm/grammar/schema.h"
#include <string.h>

enum kind {
    ANY,
    NUMBER,
    POSITIVE,
    COUNT,
    STRING,
    BOOLEAN,
    SCHEMA,
    SCHEMAS,
    MAP,
    NAMES,
    VALUES,
    ITEMS
};

static const struct {
    const char *name;
    enum kind kind;
} words[] = {
    {"type", ANY},
    {"enum", VALUES},
    {"const", ANY},
    {"properties", MAP},
    {"patternProperties", MAP},
    {"additionalProperties", SCHEMA},
    {"propertyNames", SCHEMA},
    {"required", NAMES},
    {"minProperties", COUNT},
    {"maxProperties", COUNT},
    {"dependentRequired", ANY},
    {"dependentSchemas", MAP},
    {"items", ITEMS},
    {"additionalItems", SCHEMA},
    {"prefixItems", SCHEMAS},
    {"minItems", COUNT},
    {"maxItems", COUNT},
    {"uniqueItems", BOOLEAN},
    {"minLength", COUNT},
    {"maxLength", COUNT},
    {"pattern", STRING},
    {"format", STRING},
    {"minimum", NUMBER},
    {"maximum", NUMBER},
    {"exclusiveMinimum", NUMBER},
    {"exclusiveMaximum", NUMBER},
    {"multipleOf", POSITIVE},
    {"anyOf", SCHEMAS},
    {"oneOf", SCHEMAS},
    {"allOf", SCHEMAS},
    {"not", SCHEMA},
    {"if", SCHEMA},
    {"then", SCHEMA},
    {"else", SCHEMA},
    {"$ref", STRING},
    /* What says nothing of the value. */
    {"$defs", ANY},
    {"definitions", ANY},
    {"title", ANY},
    {"description", ANY},
    {"default", ANY},
    {"examples", ANY},
    {"example", ANY},
    {"$schema", ANY},
    {"$id", ANY},
    {"$comment", ANY},
    {"deprecated", ANY},
    {"readOnly", ANY},
    {"writeOnly", ANY},
    {"strict", ANY},
    {"nullable", ANY},
    {"discriminator", ANY},
};

static bool is_schema(const json_t *v) {
    return json_is_object(v) || json_is_boolean(v);
}

static bool all_schemas(const json_t *v) {
    bool ok = json_array_size(v) > 0;
    for (size_t i = 0; i < json_array_size(v); i++)
        ok = ok && is_schema(json_array_get(v, i));
    return ok;
}

static bool all_names(const json_t *v) {
    bool ok = json_is_array(v);
    for (size_t i = 0; i < json_array_size(v); i++)
        ok = ok && json_is_string(json_array_get(v, i));
    return ok;
}

static bool is_map(const json_t *v) {
    const char *name;
    json_t *value;
    bool ok = json_is_object(v);
    json_object_foreach((json_t *)v, name, value) ok = ok && is_schema(value);
    return ok;
}

static bool is_count(const json_t *v) {
    return json_is_number(v) && json_number_value(v) >= 0 &&
           json_number_value(v) == (double)(json_int_t)json_number_value(v) &&
           json_number_value(v) <= MOST_COUNT;
}

static const char *expected(enum kind kind, const json_t *v) {
    switch (kind) {
    case ANY:
        return NULL;
    case NUMBER:
        return json_is_number(v) || json_large(v) ? NULL : "a number";
    case POSITIVE:
        return json_number_value(v) > 0 ? NULL : "a number above 0";
    case COUNT:
        return is_count(v) ? NULL : "an integer from 0 to 4096";
    case STRING:
        return json_is_string(v) ? NULL : "a string";
    case BOOLEAN:
        return json_is_boolean(v) ? NULL : "a boolean";
    case SCHEMA:
        return is_schema(v) ? NULL : "a schema";
    case SCHEMAS:
        return all_schemas(v) ? NULL : "an array of schemas, and not empty";
    case MAP:
        return is_map(v) ? NULL : "an object of schemas";
    case NAMES:
        return all_names(v) ? NULL : "an array of names";
    case VALUES:
        return json_array_size(v) ? NULL : "an array of values, and not empty";
    case ITEMS:
        return is_schema(v) || all_schemas(v) ? NULL : "a schema";
    }
    return NULL;
}

static bool check(struct maker *m, const json_t *s, const char *name, const json_t *v) {
    if (!strcmp(name, WORD_EXCEPT) || !strcmp(name, WORD_UNLIKE)) return true;
    if (!strcmp(name, "$id") && s != m->root)
        return llm_fail(m->err, "the keyword '$id' below the root is not supported");
    if (!strncmp(name, "x-", 2)) return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].name, name)) continue;
        const char *want = expected(words[i].kind, v);
        return !want || llm_fail(m->err, "'%s' must be %s", name, want);
    }
    return llm_fail(m->err, "the keyword '%.80s' is not supported", name);
}

bool schema_check(struct maker *m, const json_t *s) {
    const char *name;
    json_t *value;
    if (json_is_boolean(s)) return true;
    if (!json_is_object(s)) return llm_fail(m->err, "a schema must be an object, true or false");
    json_object_foreach((json_t *)s, name, value) if (!check(m, s, name, value)) return false;
    return true;
}
