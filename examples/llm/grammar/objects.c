/* Objects of a set of schemas. Properties come in the order in which they are named, others behind
 * them, where a schema says that there may be others. */
#include "examples/llm/grammar/schema.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_PATTERNS = 4, MOST_RULES = 1 << 17 };

struct object {
    const struct schemas *set;
    const char **names;
    size_t n;
    int64_t least, most;
    bool closed, opened; /* a schema says that there are no others; that there may be */
    const char *patterns[MOST_PATTERNS];
    const json_t *pattern_owner[MOST_PATTERNS], *pattern_schemas[MOST_PATTERNS];
    int npatterns;
    int32_t other; /* any of the others, with its name; -1: there are none */
};

/* ---- what the schemas name ---- */

static bool add_name(json_t *names, const char *name) {
    return json_object_get(names, name) || json_object_set_new(names, name, json_null()) == 0;
}

static bool collect_names(struct maker *m, struct object *o) {
    const char *name;
    json_t *value, *names = json_object();
    bool ok = names != NULL;
    for (int i = 0; ok && i < o->set->n; i++)
        json_object_foreach(json_object_get(o->set->at[i], "properties"), name, value) ok =
            ok && add_name(names, name);
    for (int i = 0; ok && i < o->set->n; i++) {
        const json_t *required = json_object_get(o->set->at[i], "required");
        for (size_t k = 0; ok && k < json_array_size(required); k++)
            ok = add_name(names, json_string_value(json_array_get(required, k)));
    }
    o->names = calloc(json_object_size(names) + 1, sizeof *o->names);
    ok = ok && o->names && json_array_append_new(m->made, json_incref(names)) == 0;
    if (ok) json_object_foreach(names, name, value) o->names[o->n++] = name;
    json_decref(names);
    return ok || llm_fail(m->err, "out of memory");
}

static bool collect_patterns(struct maker *m, struct object *o) {
    const char *pattern;
    json_t *value;
    for (int i = 0; i < o->set->n; i++) {
        const json_t *s = o->set->at[i], *more = json_object_get(s, "additionalProperties");
        const json_t *patterns = json_object_get(s, "patternProperties");
        if (json_is_false(more) && !json_object_size(patterns)) o->closed = true;
        if (json_object_size(patterns) || (more && !json_is_false(more))) o->opened = true;
        json_object_foreach((json_t *)patterns, pattern, value) {
            if (o->npatterns == MOST_PATTERNS)
                return llm_fail(m->err, "more than %d 'patternProperties' are not supported",
                                MOST_PATTERNS);
            if (!schema_pattern(m, pattern)) return false;
            o->patterns[o->npatterns] = pattern;
            o->pattern_owner[o->npatterns] = s;
            o->pattern_schemas[o->npatterns++] = value;
        }
    }
    return true;
}

static bool is_required(const struct object *o, const char *name) {
    for (int i = 0; i < o->set->n; i++) {
        const json_t *names = json_object_get(o->set->at[i], "required");
        for (size_t k = 0; k < json_array_size(names); k++)
            if (!strcmp(json_string_value(json_array_get(names, k)), name)) return true;
    }
    return false;
}

/* ---- values ---- */

static bool add_pattern_schemas(struct maker *m, const struct object *o, const json_t *owner,
                                const char *name, struct schemas *of, bool *out_any) {
    for (int i = 0; i < o->npatterns; i++) {
        if (o->pattern_owner[i] != owner) continue;
        const struct machine *machine = schema_pattern(m, o->patterns[i]);
        if (!machine || !machine_takes(machine, name, strlen(name))) continue;
        *out_any = true;
        if (!schemas_add(m, of, o->pattern_schemas[i])) return false;
    }
    return true;
}

/* The value of the property of that name must fit all that any schema says of it. */
static int32_t value_of(struct maker *m, const struct object *o, const char *name) {
    struct schemas of = {.n = 0};
    json_t *text = json_string(name);
    for (int i = 0; i < o->set->n; i++) {
        const json_t *s = o->set->at[i], *names = json_object_get(s, "propertyNames");
        const json_t *own = json_object_get(json_object_get(s, "properties"), name);
        const json_t *more = json_object_get(s, "additionalProperties");
        bool any = own != NULL;
        bool ok = !own || schemas_add(m, &of, own);
        ok = ok && add_pattern_schemas(m, o, s, name, &of, &any);
        if (ok && !any && more) ok = schemas_add(m, &of, more);
        if (ok && names && !schema_fits(m, names, text)) ok = schemas_add(m, &of, json_false());
        if (ok) continue;
        json_decref(text);
        return -1;
    }
    json_decref(text);
    return m->failed ? -1 : schema_set(m, &of);
}

static int32_t pair(struct maker *m, int32_t key, int32_t value) {
    return json_rule_sequence(m->r, 3, key, m->colon, value);
}

/* ---- others ---- */

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct machine *without_names(struct maker *m, const struct object *o, struct machine *in) {
    const char **names = malloc((o->n + 1) * sizeof *names);
    size_t *bytes = malloc((o->n + 1) * sizeof *bytes);
    struct machine *words = NULL;
    (void)m;
    if (names && bytes) {
        memcpy(names, o->names, o->n * sizeof *names);
        qsort(names, o->n, sizeof *names, by_bytes);
        for (size_t i = 0; i < o->n; i++)
            bytes[i] = strlen(names[i]);
        words = machine_words(names, bytes, o->n);
    }
    if (words) in = machine_without(in, words);
    if (!words) {
        machine_free(in);
        in = NULL;
    }
    machine_free(words);
    free(names);
    free(bytes);
    return in;
}

static bool names_are_told(const struct object *o) {
    for (int i = 0; i < o->set->n; i++)
        if (json_object_get(o->set->at[i], "propertyNames")) return true;
    return false;
}

/* Names that match the patterns in MATCHED, no other pattern, and are not among those named. */
static struct machine *other_names(struct maker *m, const struct object *o, unsigned matched) {
    struct machine *in = machine_length(0, -1);
    for (int i = 0; in && i < o->npatterns; i++) {
        const struct machine *one = schema_pattern(m, o->patterns[i]);
        in = matched >> i & 1 ? machine_both(in, one) : machine_without(in, one);
    }
    for (int i = 0; in && i < o->set->n; i++) {
        const json_t *s = json_object_get(o->set->at[i], "propertyNames");
        struct schemas of = {.n = 0};
        if (!s || json_is_true(s)) continue;
        if (json_is_false(s) || !schema_check(m, s) || !schemas_add(m, &of, s)) {
            machine_free(in);
            if (json_is_false(s)) return machine_words(NULL, NULL, 0);
            return NULL;
        }
        static const char *const other[] = {"anyOf", "oneOf", "allOf", "not", "if"};
        for (size_t k = 0; in && k < sizeof other / sizeof *other; k++)
            if (json_object_get(s, other[k])) {
                schema_refuse(m, "in 'propertyNames' is not supported:", other[k]);
                machine_free(in);
                return NULL;
            }
        const json_t *to = schema_target(m, s);
        if (to && to != s && (!schema_check(m, to) || !schemas_add(m, &of, to))) to = NULL;
        struct machine *names = to ? schema_strings(m, &of) : NULL;
        in = names ? machine_both(in, names) : (machine_free(in), NULL);
        machine_free(names);
    }
    return in && o->n ? without_names(m, o, in) : in;
}

/* False with *OUT -1: no such may be. */
static int32_t other_value(struct maker *m, const struct object *o, unsigned matched, bool *none) {
    struct schemas of = {.n = 0};
    *none = false;
    for (int i = 0; i < o->set->n; i++) {
        const json_t *s = o->set->at[i], *more = json_object_get(s, "additionalProperties");
        bool any = false, ok = true;
        for (int k = 0; ok && k < o->npatterns; k++) {
            if (o->pattern_owner[k] != s || !(matched >> k & 1)) continue;
            any = true;
            ok = schemas_add(m, &of, o->pattern_schemas[k]);
        }
        if (ok && !any && more) ok = schemas_add(m, &of, more);
        if (!ok) return -1;
    }
    for (int i = 0; i < of.n; i++)
        if (json_is_false(of.at[i])) *none = true;
    return *none ? m->value : schema_set(m, &of);
}

/* One of the others whose names match MATCHED, as an alternative of o->other. */
static bool add_other(struct maker *m, struct object *o, unsigned matched) {
    bool none;
    int32_t value = other_value(m, o, matched, &none), key = m->name;
    if (value < 0 || none) return value >= 0;
    if (o->n || o->npatterns || names_are_told(o)) {
        struct machine *names = other_names(m, o, matched);
        if (!names) return *m->err || schema_refuse(m, "too large:", "additionalProperties") >= 0;
        key =
            json_rule_sequence(m->r, 2, schema_text(m, "\""), machine_rule(m->r, names, RULE_NAME));
        machine_free(names);
    }
    schema_alternative(m, o->other, pair(m, key, value));
    return true;
}

static bool make_others(struct maker *m, struct object *o) {
    o->other = -1;
    bool needed = o->least > (int64_t)o->n;
    if (o->closed || (o->n && !o->opened && !needed)) return true;
    o->other = rules_new(m->r);
    for (unsigned matched = 0; matched < 1u << o->npatterns; matched++)
        if (!add_other(m, o, matched)) return false;
    return true;
}

/* ---- all of it ---- */

/* What follows once COUNT properties were written, by count up to CAP, where more are counted no
 * further. */
struct rest {
    int32_t *at;
    int64_t cap;
};

static void end_of_all(struct maker *m, struct object *o, struct rest *rest) {
    for (int64_t c = 0; c <= rest->cap; c++)
        rest->at[c] = rules_new(m->r);
    for (int64_t c = 0; c <= rest->cap; c++) {
        if (c >= o->least) schema_alternative(m, rest->at[c], schema_text(m, ""));
        if (o->other < 0 || (o->most >= 0 && c >= o->most)) continue;
        rules_open(m->r, rest->at[c]);
        if (c) rules_refer(m->r, m->comma);
        rules_refer(m->r, o->other);
        rules_refer(m->r, rest->at[c < rest->cap ? c + 1 : c]);
        rules_close(m->r);
    }
}

/* One more in front: written, or not where it need not be. */
static bool property(struct maker *m, struct object *o, const char *name, struct rest *rest) {
    json_t *key = json_pack("[s]", name);
    int32_t quoted = schema_values(m, key), value = value_of(m, o, name);
    bool needed = is_required(o, name);
    json_decref(key);
    if (quoted < 0 || value < 0) return false;
    int32_t one = pair(m, quoted, value);
    for (int64_t c = 0; c <= rest->cap; c++) {
        int32_t self = rules_new(m->r);
        if (o->most < 0 || c < o->most) {
            rules_open(m->r, self);
            if (c) rules_refer(m->r, m->comma);
            rules_refer(m->r, one);
            rules_refer(m->r, rest->at[c < rest->cap ? c + 1 : c]);
            rules_close(m->r);
        }
        if (!needed) schema_alternative(m, self, rest->at[c]);
        /* In place: the next count reads the one behind it, which is still the old one. */
        rest->at[c] = self;
    }
    return true;
}

/* How many there are at least where names may come twice: others among themselves. */
static bool check_counts(struct maker *m, struct object *o) {
    int64_t needed = 0;
    for (size_t i = 0; i < o->n; i++)
        needed += is_required(o, o->names[i]);
    if (o->least <= needed) o->least = 0;
    if (o->most >= 0 && o->other < 0 && o->most >= (int64_t)o->n) o->most = -1;
    return o->other < 0 || o->least < 2 ||
           llm_fail(m->err, "'minProperties' of more than 1, of names that are not told, is not "
                            "supported");
}

static int32_t make(struct maker *m, struct object *o) {
    if (!schema_bounds(m, o->set, "minProperties", "maxProperties", &o->least, &o->most) ||
        !collect_names(m, o) || !collect_patterns(m, o) || !make_others(m, o) ||
        !check_counts(m, o))
        return -1;
    struct rest rest = {.cap = o->least > o->most ? o->least : o->most};
    if (rest.cap < 1) rest.cap = 1;
    if ((rest.cap + 1) * (int64_t)(o->n + 1) > MOST_RULES)
        return schema_refuse(m, "of so many properties is not supported:", "maxProperties");
    rest.at = calloc((size_t)rest.cap + 1, sizeof *rest.at);
    if (!rest.at) return schema_refuse(m, "out of memory for", "properties");
    end_of_all(m, o, &rest);
    bool ok = true;
    for (size_t i = o->n; ok && i-- > 0;)
        ok = property(m, o, o->names[i], &rest);
    int32_t first = rest.at[0];
    free(rest.at);
    if (!ok) return -1;
    return json_rule_sequence(m->r, 5, schema_text(m, "{"), m->blank, first, m->blank,
                              schema_text(m, "}"));
}

int32_t schema_object(struct maker *m, const struct schemas *set) {
    struct object o = {.set = set};
    int32_t rule = make(m, &o);
    free(o.names);
    return rule;
}
