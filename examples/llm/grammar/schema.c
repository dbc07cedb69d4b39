/* A JSON schema as rules. What it says and is not done here is refused by name: an answer that
 * breaks a part of its schema is worse than a request that fails. */
#include "examples/llm/grammar/json.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 64, MOST_COUNT = 4096, MOST_REFERENCES = 512 };

struct maker {
    struct rules *r;
    const json_t *root;
    char *err;
    int depth;
    int32_t blank, comma, colon, letter, string, integer, number, value, object;
    struct {
        const json_t *schema;
        int32_t rule;
    } met[MOST_REFERENCES]; /* where "$ref" led to */
    int nmet;
};

static int32_t schema(struct maker *, const json_t *);

static int32_t refuse(struct maker *m, const char *what, const char *name) {
    llm_fail(m->err, "%s '%.80s'", what, name);
    return -1;
}

static int32_t text(struct maker *m, const char *t) {
    return json_rule_text(m->r, t, strlen(t));
}

/* ---- values of any kind ---- */

/* OPEN [item , item] CLOSE */
static int32_t brackets(struct maker *m, const char *open, int32_t items, const char *close) {
    return json_rule_sequence(m->r, 5, text(m, open), m->blank, items, m->blank, text(m, close));
}

static int32_t list(struct maker *m, int32_t item, int64_t least, int64_t most) {
    return brackets(m, "[", rules_repeat(m->r, item, least, most, m->comma), "]");
}

static int32_t pair(struct maker *m, int32_t key, int32_t value) {
    return json_rule_sequence(m->r, 3, key, m->colon, value);
}

static int32_t map(struct maker *m, int32_t value, int64_t least, int64_t most) {
    int32_t items = rules_repeat(m->r, pair(m, m->string, value), least, most, m->comma);
    return brackets(m, "{", items, "}");
}

static void add(struct maker *m, int32_t rule, int32_t to) {
    rules_open(m->r, rule);
    rules_refer(m->r, to);
    rules_close(m->r);
}

static void begin(struct maker *m) {
    struct rules *r = m->r;
    m->blank = json_rule_blank(r);
    m->comma = json_rule_sequence(r, 2, text(m, ","), m->blank);
    m->colon = json_rule_sequence(r, 2, text(m, ":"), m->blank);
    m->letter = json_rule_letter(r);
    m->string = json_rule_string(r, m->letter, 0, -1);
    m->integer = json_rule_integer(r);
    m->number = json_rule_number(r, m->integer);
    m->value = rules_new(r);
    m->object = map(m, m->value, 0, -1);
    add(m, m->value, m->object);
    add(m, m->value, list(m, m->value, 0, -1));
    add(m, m->value, m->string);
    add(m, m->value, m->number);
    add(m, m->value, text(m, "true"));
    add(m, m->value, text(m, "false"));
    add(m, m->value, text(m, "null"));
}

/* ---- keywords ---- */

/* A count: -1 where the schema does not say. False: it is none. */
static bool count(struct maker *m, const json_t *s, const char *name, int64_t *out) {
    const json_t *v = json_object_get(s, name);
    *out = -1;
    if (!v) return true;
    *out = json_integer_value(v);
    if (json_is_integer(v) && *out >= 0 && *out <= MOST_COUNT) return true;
    return llm_fail(m->err, "'%s' must be an integer from 0 to %d", name, MOST_COUNT);
}

static bool bounds(struct maker *m, const json_t *s, const char *lo, const char *hi,
                   int64_t *out_least, int64_t *out_most) {
    if (!count(m, s, lo, out_least) || !count(m, s, hi, out_most)) return false;
    if (*out_least < 0) *out_least = 0;
    if (*out_most < 0 || *out_least <= *out_most) return true;
    return llm_fail(m->err, "'%s' is more than '%s'", lo, hi);
}

static int32_t constant(struct maker *m, const json_t *value) {
    char *dumped = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!dumped) return refuse(m, "cannot write", "const");
    int32_t rule = json_rule_text(m->r, dumped, strlen(dumped));
    free(dumped);
    return rule;
}

static int32_t one_of(struct maker *m, const json_t *values) {
    int32_t rule = rules_new(m->r);
    if (!json_array_size(values)) return refuse(m, "is empty or no array:", "enum");
    for (size_t i = 0; i < json_array_size(values); i++) {
        int32_t one = constant(m, json_array_get(values, i));
        if (one < 0) return -1;
        add(m, rule, one);
    }
    return rule;
}

static int32_t any_of(struct maker *m, const json_t *schemas, const char *name) {
    int32_t rule = rules_new(m->r);
    if (!json_array_size(schemas)) return refuse(m, "is empty or no array:", name);
    for (size_t i = 0; i < json_array_size(schemas); i++) {
        int32_t one = schema(m, json_array_get(schemas, i));
        if (one < 0) return -1;
        add(m, rule, one);
    }
    return rule;
}

static int32_t array(struct maker *m, const json_t *s) {
    const json_t *first = json_object_get(s, "prefixItems"), *items = json_object_get(s, "items");
    int64_t least, most;
    if (!bounds(m, s, "minItems", "maxItems", &least, &most)) return -1;
    if (!first) {
        int32_t item = items ? schema(m, items) : m->value;
        return item < 0 ? -1 : list(m, item, least, most);
    }
    /* A tuple: exactly those, unless "items" says what follows. */
    if ((items && !json_is_false(items)) || least > 0 || most >= 0)
        return refuse(m, "with 'items' or counts is not supported:", "prefixItems");
    int32_t all = -1;
    for (size_t i = 0; i < json_array_size(first); i++) {
        int32_t item = schema(m, json_array_get(first, i));
        if (item < 0) return -1;
        all = all < 0 ? item : json_rule_sequence(m->r, 3, all, m->comma, item);
    }
    return brackets(m, "[", all < 0 ? text(m, "") : all, "]");
}

/* ---- objects ---- */

static bool is_required(const json_t *s, const char *name) {
    const json_t *names = json_object_get(s, "required");
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *one = json_string_value(json_array_get(names, i));
        if (one && !strcmp(one, name)) return true;
    }
    return false;
}

static bool check_required(struct maker *m, const json_t *s) {
    const json_t *names = json_object_get(s, "required");
    const json_t *properties = json_object_get(s, "properties");
    if (names && !json_is_array(names)) return llm_fail(m->err, "'required' must be an array");
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *one = json_string_value(json_array_get(names, i));
        if (!one || !json_object_get(properties, one))
            return llm_fail(m->err, "'required' names '%.80s', which is no property",
                            one ? one : "?");
    }
    return true;
}

/* What follows the first properties, from the last to the first: REST[0] where none of those before
 * was written, REST[1] where one was, and a comma must part them. */
static bool property(struct maker *m, const json_t *s, const char *name, const json_t *value,
                     int32_t rest[2]) {
    json_t *key = json_string(name);
    int32_t quoted = constant(m, key), of = schema(m, value);
    json_decref(key);
    if (of < 0 || quoted < 0) return false;
    int32_t written = json_rule_sequence(m->r, 2, pair(m, quoted, of), rest[1]);
    int32_t after = json_rule_sequence(m->r, 2, m->comma, written);
    if (!is_required(s, name)) {
        written = json_rule_either(m->r, 2, written, rest[0]);
        after = json_rule_either(m->r, 2, after, rest[1]);
    }
    rest[0] = written;
    rest[1] = after;
    return true;
}

static int32_t properties(struct maker *m, const json_t *s, const json_t *list, int32_t more) {
    int32_t nothing = text(m, ""), rest[2] = {nothing, nothing};
    size_t n = json_object_size(list);
    const char **names = calloc(n + 1, sizeof *names);
    const char *name;
    json_t *value;
    if (!names) return refuse(m, "out of memory for", "properties");
    if (more >= 0) {
        int32_t one = pair(m, m->string, more);
        rest[0] = rules_repeat(m->r, one, 0, -1, m->comma);
        rest[1] = rules_repeat(m->r, json_rule_sequence(m->r, 2, m->comma, one), 0, -1, -1);
    }
    size_t at = 0;
    json_object_foreach((json_t *)list, name, value) names[at++] = name;
    bool ok = true;
    while (ok && at-- > 0)
        ok = property(m, s, names[at], json_object_get(list, names[at]), rest);
    free(names);
    return ok ? brackets(m, "{", rest[0], "}") : -1;
}

static int32_t object(struct maker *m, const json_t *s) {
    const json_t *list = json_object_get(s, "properties");
    const json_t *more = json_object_get(s, "additionalProperties");
    int64_t least, most;
    int32_t other = -1;
    if (list && !json_is_object(list)) return refuse(m, "must be an object:", "properties");
    if (!check_required(m, s)) return -1;
    if (!bounds(m, s, "minProperties", "maxProperties", &least, &most)) return -1;
    bool counted = least > 0 || most >= 0;
    if (more && !json_is_false(more) && (other = schema(m, more)) < 0) return -1;
    if (!json_object_size(list) && !json_is_false(more))
        return map(m, other >= 0 ? other : m->value, least, most);
    if (counted) return refuse(m, "with 'properties' is not supported:", "minProperties");
    return properties(m, s, list, other);
}

/* ---- formats of strings ---- */

/* D stands for a digit, H for a hexadecimal one; other bytes for themselves. */
static int32_t picture(struct maker *m, const char *p) {
    int32_t rule = rules_new(m->r);
    struct class digit = {{0}}, hex = {{0}};
    class_add(&digit, '0', '9');
    hex = digit;
    class_add(&hex, 'a', 'f');
    rules_open(m->r, rule);
    for (; *p; p++)
        if (*p == 'D')
            rules_class(m->r, &digit);
        else if (*p == 'H')
            rules_class(m->r, &hex);
        else
            rules_byte(m->r, (unsigned char)*p);
    rules_close(m->r);
    return rule;
}

static int32_t string(struct maker *m, const json_t *s) {
    static const char *const formats[][2] = {
        {"date-time", "\"DDDD-DD-DDTDD:DD:DDZ\""},
        {"date", "\"DDDD-DD-DD\""},
        {"time", "\"DD:DD:DDZ\""},
        {"uuid", "\"HHHHHHHH-HHHH-HHHH-HHHH-HHHHHHHHHHHH\""},
    };
    const char *format = json_string_value(json_object_get(s, "format"));
    int64_t least, most;
    if (!bounds(m, s, "minLength", "maxLength", &least, &most)) return -1;
    for (size_t i = 0; format && i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i][0], format)) return picture(m, formats[i][1]);
    if (format) return refuse(m, "a format that is not supported:", format);
    return least || most >= 0 ? json_rule_string(m->r, m->letter, least, most) : m->string;
}

/* ---- schemas ---- */

static int32_t of_type(struct maker *m, const json_t *s, const char *type) {
    if (!strcmp(type, "object")) return object(m, s);
    if (!strcmp(type, "array")) return array(m, s);
    if (!strcmp(type, "string")) return string(m, s);
    if (!strcmp(type, "integer")) return m->integer;
    if (!strcmp(type, "number")) return m->number;
    if (!strcmp(type, "null")) return text(m, "null");
    if (!strcmp(type, "boolean"))
        return json_rule_either(m->r, 2, text(m, "true"), text(m, "false"));
    return refuse(m, "a type that is not known:", type);
}

static int32_t of_types(struct maker *m, const json_t *s, const json_t *type) {
    int32_t rule = rules_new(m->r);
    if (json_is_string(type)) return of_type(m, s, json_string_value(type));
    if (!json_array_size(type)) return refuse(m, "must be a name or names:", "type");
    for (size_t i = 0; i < json_array_size(type); i++) {
        const char *name = json_string_value(json_array_get(type, i));
        int32_t one = of_type(m, s, name ? name : "?");
        if (one < 0) return -1;
        add(m, rule, one);
    }
    return rule;
}

/* "#/a/b" from the root: '~1' is '/' and '~0' is '~' in names. */
static const json_t *look_up(const json_t *at, const char *path) {
    char name[256];
    if (*path++ != '#') return NULL;
    while (at && *path) {
        size_t n = 0;
        if (*path++ != '/') return NULL;
        for (; *path && *path != '/' && n + 1 < sizeof name; path++)
            if (*path == '~' && (path[1] == '0' || path[1] == '1'))
                name[n++] = *++path == '1' ? '/' : '~';
            else
                name[n++] = *path;
        name[n] = 0;
        at = json_is_array(at) ? json_array_get(at, strtoul(name, NULL, 10))
                               : json_object_get(at, name);
    }
    return at;
}

/* The rule of what is referred to is known before it is made, so that it may refer to itself. */
static int32_t reference(struct maker *m, const char *path) {
    const json_t *to = look_up(m->root, path);
    if (!to) return refuse(m, "leads nowhere: \"$ref\"", path);
    for (int i = 0; i < m->nmet; i++)
        if (m->met[i].schema == to) return m->met[i].rule;
    if (m->nmet == MOST_REFERENCES) return refuse(m, "too many of", "$ref");
    int32_t rule = rules_new(m->r);
    m->met[m->nmet].schema = to;
    m->met[m->nmet++].rule = rule;
    int32_t made = schema(m, to);
    if (made < 0) return -1;
    add(m, rule, made);
    return rule;
}

/* Which keywords go with the one that decides; all others must not be ignored. */
static bool check_words(struct maker *m, const json_t *s) {
    static const char *const words =
        " type properties required additionalProperties minProperties maxProperties items "
        "prefixItems minItems maxItems minLength maxLength format enum const anyOf oneOf allOf "
        "$ref "
        "$defs definitions title description default examples example $schema $id $comment "
        "deprecated readOnly writeOnly strict ";
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)s, name, value) {
        char padded[96];
        int n = snprintf(padded, sizeof padded, " %s ", name);
        if (n >= (int)sizeof padded || strchr(name, ' ') || !strstr(words, padded))
            return llm_fail(m->err, "the keyword '%.80s' is not supported", name);
    }
    return true;
}

static int32_t with_words(struct maker *m, const json_t *s) {
    const json_t *all = json_object_get(s, "allOf"), *v;
    if (!check_words(m, s)) return -1;
    if ((v = json_object_get(s, "$ref")))
        return json_is_string(v) ? reference(m, json_string_value(v))
                                 : refuse(m, "must be a string:", "$ref");
    if ((v = json_object_get(s, "const"))) return constant(m, v);
    if ((v = json_object_get(s, "enum"))) return one_of(m, v);
    if ((v = json_object_get(s, "anyOf"))) return any_of(m, v, "anyOf");
    if ((v = json_object_get(s, "oneOf"))) return any_of(m, v, "oneOf");
    if (all && json_array_size(all) != 1)
        return refuse(m, "of more than one is not supported:", "allOf");
    if (all) return schema(m, json_array_get(all, 0));
    if ((v = json_object_get(s, "type"))) return of_types(m, s, v);
    if (json_object_get(s, "properties")) return object(m, s);
    if (json_object_get(s, "items")) return array(m, s);
    return m->value;
}

static int32_t schema(struct maker *m, const json_t *s) {
    if (json_is_true(s)) return m->value;
    if (!json_is_object(s)) return refuse(m, "a schema must be an object, not", "false or a value");
    if (m->depth >= MOST_DEPTH) return refuse(m, "too deep:", "schema");
    m->depth++;
    int32_t rule = with_words(m, s);
    m->depth--;
    return rule;
}

int32_t schema_rule(struct rules *r, const json_t *s, char *err) {
    struct maker *m = calloc(1, sizeof *m);
    if (!m) {
        llm_fail(err, "out of memory");
        return -1;
    }
    m->r = r;
    m->root = s;
    m->err = err;
    begin(m);
    int32_t rule = s ? schema(m, s) : m->object;
    free(m);
    return rule;
}
