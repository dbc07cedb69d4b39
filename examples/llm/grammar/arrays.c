/* Arrays of a set of schemas. */
#include "examples/llm/grammar/schema.h"
#include <stdlib.h>

enum { FEW_IN_ANY_ORDER = 6, MOST_DIFFERENT = 256 };

static int64_t count_of(const json_t *s, const char *word) {
    const json_t *v = json_object_get(s, word);
    return v ? (int64_t)json_number_value(v) : -1;
}

bool schema_bounds(struct maker *m, const struct schemas *set, const char *lo, const char *hi,
                   int64_t *out_least, int64_t *out_most) {
    *out_least = *out_most = -1;
    for (int i = 0; i < set->n; i++) {
        int64_t least = count_of(set->at[i], lo), most = count_of(set->at[i], hi);
        if (least >= 0 && most >= 0 && least > most)
            return llm_fail(m->err, "'%s' is more than '%s'", lo, hi);
        if (least > *out_least) *out_least = least;
        if (most >= 0 && (*out_most < 0 || most < *out_most)) *out_most = most;
    }
    return true;
}

/* "prefixItems", or what was "items" before that. */
static const json_t *prefix_of(const json_t *s) {
    const json_t *items = json_object_get(s, "items");
    return json_is_array(items) ? items : json_object_get(s, "prefixItems");
}

/* What items behind the prefix are; NULL: anything. */
static const json_t *rest_of(const json_t *s) {
    const json_t *items = json_object_get(s, "items");
    return json_is_array(items) ? json_object_get(s, "additionalItems") : items;
}

/* The rule of item AT, or of all behind every prefix. */
static int32_t item(struct maker *m, const struct schemas *set, size_t at) {
    struct schemas of = {.n = 0};
    for (int i = 0; i < set->n; i++) {
        const json_t *prefix = prefix_of(set->at[i]);
        const json_t *s =
            at < json_array_size(prefix) ? json_array_get(prefix, at) : rest_of(set->at[i]);
        if (s && !schemas_add(m, &of, s)) return -1;
    }
    return schema_set(m, &of);
}

/* [items], each with a comma before it but the first. */
static int32_t brackets(struct maker *m, int32_t items) {
    return json_rule_sequence(m->r, 5, schema_text(m, "["), m->blank, items, m->blank,
                              schema_text(m, "]"));
}

/* PREFIX items and any number of others, from the last to the first. */
static int32_t tuple(struct maker *m, const struct schemas *set, size_t prefix, int64_t least,
                     int64_t most, bool more) {
    int64_t n = (int64_t)prefix;
    int64_t rest_least = least > n ? least - n : 0, rest_most = most < 0 ? -1 : most - n;
    int32_t rest = rules_new(m->r), other = -1;
    if (rest_most < 0 && !more && !rest_least) rest_most = 0;
    if (most >= 0 && most < n) n = most;
    if (n == (int64_t)prefix && rest_most != 0) {
        if ((other = item(m, set, prefix)) < 0) return -1;
        int32_t one = n ? json_rule_sequence(m->r, 2, m->comma, other) : other;
        schema_alternative(m, rest,
                           rules_repeat(m->r, one, rest_least, rest_most, n ? -1 : m->comma));
    } else if (rest_least <= 0) {
        rules_open(m->r, rest);
        rules_close(m->r);
    }
    for (int64_t i = n; i-- > 0;) {
        int32_t one = item(m, set, (size_t)i), self = rules_new(m->r);
        if (one < 0) return -1;
        if (i) one = json_rule_sequence(m->r, 2, m->comma, one);
        schema_alternative(m, self, json_rule_sequence(m->r, 2, one, rest));
        if (i >= least) schema_alternative(m, self, schema_text(m, ""));
        rest = self;
    }
    return brackets(m, rest);
}

/* ---- items that differ ---- */

struct different {
    int32_t *values; /* rules */
    size_t n;
    int64_t least, most;
    int32_t *rules; /* by place and count, or by those that were written; -1: not yet made */
};

/* What follows once the values below AT are behind, and COUNT were written: in their order, so that
 * none comes twice. */
static void in_order(struct maker *m, struct different *d, size_t at, int64_t count) {
    int32_t self = d->rules[at * (size_t)(d->n + 1) + (size_t)count];
    if (count >= d->least) schema_alternative(m, self, schema_text(m, ""));
    for (size_t i = at; i < d->n && (d->most < 0 || count < d->most); i++) {
        rules_open(m->r, self);
        if (count) rules_refer(m->r, m->comma);
        rules_refer(m->r, d->values[i]);
        rules_refer(m->r, d->rules[(i + 1) * (size_t)(d->n + 1) + (size_t)count + 1]);
        rules_close(m->r);
    }
}

/* The same for few: in any order. */
static void any_order(struct maker *m, struct different *d, unsigned written) {
    int32_t self = d->rules[written];
    int64_t count = __builtin_popcount(written);
    if (count >= d->least) schema_alternative(m, self, schema_text(m, ""));
    for (size_t i = 0; i < d->n && (d->most < 0 || count < d->most); i++) {
        if (written >> i & 1) continue;
        rules_open(m->r, self);
        if (count) rules_refer(m->r, m->comma);
        rules_refer(m->r, d->values[i]);
        rules_refer(m->r, d->rules[written | 1u << i]);
        rules_close(m->r);
    }
}

static void make_different(struct maker *m, struct different *d) {
    bool few = d->n <= FEW_IN_ANY_ORDER;
    size_t states = few ? (size_t)1 << d->n : (d->n + 1) * (d->n + 2);
    d->rules = malloc(states * sizeof *d->rules);
    for (size_t i = 0; d->rules && i < states; i++)
        d->rules[i] = rules_new(m->r);
    for (size_t i = 0; d->rules && few && i < states; i++)
        any_order(m, d, (unsigned)i);
    for (size_t at = 0; d->rules && !few && at <= d->n; at++)
        for (size_t count = 0; count <= at; count++)
            in_order(m, d, at, (int64_t)count);
}

static int32_t different(struct maker *m, const struct schemas *set, int64_t least, int64_t most) {
    struct schemas of = {.n = 0};
    for (int i = 0; i < set->n; i++) {
        const json_t *items = rest_of(set->at[i]);
        if (prefix_of(set->at[i]))
            return schema_refuse(m, "beside 'prefixItems' is not supported:", "uniqueItems");
        if (items && !schemas_add(m, &of, items)) return -1;
    }
    json_t *few = schema_few(m, &of);
    struct different d = {.n = json_array_size(few), .least = least, .most = most};
    if (m->failed) return -1;
    if (!few || d.n > MOST_DIFFERENT) {
        json_decref(few);
        return schema_refuse(m,
                             "of items that are not a few values is not supported:", "uniqueItems");
    }
    d.values = calloc(d.n + 1, sizeof *d.values);
    size_t n = 0;
    for (size_t i = 0; d.values && i < d.n; i++) {
        json_t *value = json_array_get(few, i);
        bool again = false;
        for (size_t k = 0; k < i && !again; k++)
            again = json_equal(value, json_array_get(few, k));
        json_t *alone = json_pack("[O]", value);
        if (!again) d.values[n++] = schema_values(m, alone);
        json_decref(alone);
    }
    d.n = n;
    if (d.values) make_different(m, &d);
    int32_t rule =
        d.rules ? brackets(m, d.rules[0]) : schema_refuse(m, "out of memory for", "uniqueItems");
    json_decref(few);
    free(d.values);
    free(d.rules);
    return rule;
}

int32_t schema_array(struct maker *m, const struct schemas *set) {
    int64_t least, most;
    size_t prefix = 0;
    bool more = false, unique = false;
    if (!schema_bounds(m, set, "minItems", "maxItems", &least, &most)) return -1;
    for (int i = 0; i < set->n; i++) {
        size_t n = json_array_size(prefix_of(set->at[i]));
        if (n > prefix) prefix = n;
        more = more || rest_of(set->at[i]);
        unique = unique || json_is_true(json_object_get(set->at[i], "uniqueItems"));
    }
    if (unique && most != 0 && most != 1) return different(m, set, least, most);
    /* A tuple is whole unless it is said how many there are at least. */
    if (least < 0) least = most >= 0 && most < (int64_t)prefix ? most : (int64_t)prefix;
    if (most >= 0 && least > most) return rules_new(m->r); /* of two schemas: none fits both */
    return tuple(m, set, prefix, least, most, more || !prefix);
}
