/* Numbers of a set of schemas. */
#include "examples/llm/base/json_text.h"
#include "examples/llm/grammar/schema.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FACTOR = 10000 };

/* As it was most likely written: the fewest digits that are the same number. */
static bool read(struct maker *m, const json_t *v, const char *word, struct decimal *out) {
    char text[64] = "";
    if (json_is_integer(v)) snprintf(text, sizeof text, "%lld", (long long)json_integer_value(v));
    for (int digits = 15; json_is_real(v) && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, json_real_value(v));
        if (strtod(text, NULL) == json_real_value(v)) break;
    }
    const char *digits = json_large(v) ? json_large(v) : text;
    return decimal_read(digits, out) || llm_fail(m->err, "'%s' has too many digits", word);
}

static int compare_digits(const char *a, int na, const char *b, int nb) {
    int n = na < nb ? na : nb, order = memcmp(a, b, (size_t)n);
    return order ? order : (na > nb) - (na < nb);
}

static int compare(const struct decimal *a, const struct decimal *b) {
    if (a->negative != b->negative) return a->negative ? -1 : 1;
    int order = (a->nwhole > b->nwhole) - (a->nwhole < b->nwhole);
    if (!order) order = compare_digits(a->whole, a->nwhole, b->whole, b->nwhole);
    if (!order) order = compare_digits(a->part, a->npart, b->part, b->npart);
    return a->negative ? -order : order;
}

/* The narrowest of all bounds of one side. */
static bool narrow(struct maker *m, const json_t *s, const char *word, bool upper, bool open,
                   struct number_limits *l) {
    const json_t *v = json_object_get(s, word);
    struct decimal d;
    if (!v) return true;
    if (!read(m, v, word, &d)) return false;
    bool *has = upper ? &l->has_most : &l->has_least, *not_itself = upper ? &l->below : &l->above;
    struct decimal *bound = upper ? &l->most : &l->least;
    int order = *has ? compare(&d, bound) : upper ? -1 : 1;
    if (upper ? order < 0 : order > 0) {
        *bound = d;
        *not_itself = open;
    } else if (!order) {
        *not_itself = *not_itself || open;
    }
    *has = true;
    return true;
}

static int64_t common_divisor(int64_t a, int64_t b) {
    return b ? common_divisor(b, a % b) : a;
}

/* Multiples of both are multiples of the least of those. */
static bool multiply(struct maker *m, const json_t *s, struct number_limits *l) {
    const json_t *v = json_object_get(s, "multipleOf");
    struct decimal d;
    int64_t factor = 0;
    if (!v) return true;
    if (!read(m, v, "multipleOf", &d)) return false;
    bool ok = d.nwhole + d.npart <= 9;
    for (int i = 0; ok && i < d.nwhole + d.npart; i++)
        factor = factor * 10 + (i < d.nwhole ? d.whole[i] : d.part[i - d.nwhole]) - '0';
    int places = d.npart;
    if (ok && !l->factor) {
        l->factor = factor;
        l->places = places;
    }
    for (; ok && l->places < places; l->places++)
        l->factor *= 10;
    for (; ok && places < l->places; places++)
        factor *= 10;
    if (ok) l->factor = l->factor / common_divisor(l->factor, factor) * factor;
    return (ok && l->factor <= MOST_FACTOR) ||
           llm_fail(m->err, "'multipleOf' of more than %d steps is not supported", MOST_FACTOR);
}

/* OpenAPI's. */
static bool sized(struct maker *m, const json_t *s, struct number_limits *l) {
    static const struct {
        const char *name, *least, *most; /* NULL: they say nothing that is not so anyway */
    } formats[] = {{"int32", "-2147483648", "2147483647"},
                   {"uint32", "0", "4294967295"},
                   {"uint64", "0", "999999999999999999"},
                   {"int64", NULL, NULL},
                   {"float", NULL, NULL},
                   {"double", NULL, NULL}};
    const char *format = json_string_value(json_object_get(s, "format"));
    const json_t *type = json_object_get(s, "type");
    for (size_t i = 0; format && i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i].name, format)) continue;
        if (!formats[i].least) return true;
        const json_t *bounds =
            schema_keep(m, json_pack("{s:o, s:o}", "minimum", json_integer(atoll(formats[i].least)),
                                     "maximum", json_integer(atoll(formats[i].most))));
        return bounds && narrow(m, bounds, "minimum", false, false, l) &&
               narrow(m, bounds, "maximum", true, false, l);
    }
    /* One of strings says nothing of numbers. */
    bool only = json_is_string(type) && strcmp(json_string_value(type), "string");
    return !format || !only || schema_refuse(m, "a format that is not supported:", format) >= 0;
}

int32_t schema_number(struct maker *m, const struct schemas *set, bool integer) {
    struct number_limits l = {.integer = integer};
    for (int i = 0; i < set->n; i++) {
        const json_t *s = set->at[i];
        if (!narrow(m, s, "minimum", false, false, &l) ||
            !narrow(m, s, "exclusiveMinimum", false, true, &l) ||
            !narrow(m, s, "maximum", true, false, &l) ||
            !narrow(m, s, "exclusiveMaximum", true, true, &l) || !multiply(m, s, &l) ||
            !sized(m, s, &l))
            return -1;
    }
    if (!l.has_least && !l.has_most && !l.factor) return integer ? m->integer : m->number;
    struct machine *machine = machine_number(&l);
    if (!machine) return schema_refuse(m, "too large:", "multipleOf");
    int32_t rule = machine_rule(m->r, machine, RULE_TEXT);
    machine_free(machine);
    return rule;
}
