/* Strings of a set of schemas: what they all take. */
#include "examples/llm/grammar/schema.h"
#include <stdlib.h>
#include <string.h>

/* The machine of a pattern or a format, made once. */
static const struct machine *kept(struct maker *m, const char *name, bool is_format) {
    for (int i = 0; i < m->npatterns; i++)
        if (m->patterns[i].is_format == is_format && !strcmp(m->patterns[i].pattern, name))
            return m->patterns[i].machine;
    void *more = realloc(m->patterns, (size_t)(m->npatterns + 1) * sizeof *m->patterns);
    char why[LLM_ERR] = "out of memory";
    if (more) m->patterns = more;
    struct machine *machine = !more       ? NULL
                              : is_format ? format_machine(name, why)
                                          : machine_regex(name, strlen(name), false, why);
    if (!machine) {
        llm_fail(m->err, "%s: %s", is_format ? "'format'" : "'pattern'", why);
        return NULL;
    }
    m->patterns[m->npatterns].pattern = name;
    m->patterns[m->npatterns].is_format = is_format;
    m->patterns[m->npatterns++].machine = machine;
    return machine;
}

const struct machine *schema_pattern(struct maker *m, const char *pattern) {
    return kept(m, pattern, false);
}

const struct machine *schema_format(struct maker *m, const char *format) {
    return kept(m, format, true);
}

/* The strings among VALUES. */
static struct machine *words(const json_t *values) {
    size_t n = 0, most = json_array_size(values) + 1;
    struct machine_word *words = malloc(most * sizeof *words);
    const char **texts = malloc(most * sizeof *texts);
    size_t *bytes = malloc(most * sizeof *bytes);
    struct machine *m = NULL;
    for (size_t i = 0; words && i < json_array_size(values); i++) {
        const json_t *v = json_array_get(values, i);
        if (json_is_string(v))
            words[n++] = (struct machine_word){json_string_value(v), json_string_length(v)};
    }
    if (words && texts && bytes) {
        qsort(words, n, sizeof *words, machine_word_order);
        for (size_t i = 0; i < n; i++) {
            texts[i] = words[i].text;
            bytes[i] = words[i].bytes;
        }
        m = machine_words(texts, bytes, n);
    }
    free(words);
    free(texts);
    free(bytes);
    return m;
}

/* AND: what both take, where AND is not NULL; it is freed. */
static struct machine *meet(struct machine *and, struct machine *other, bool without) {
    struct machine *m = !and&&!without ? other : NULL;
    if (!m) {
        if (!and) and = machine_length(0, -1);
        m = without ? machine_without(and, other) : machine_both(and, other);
        machine_free(other);
    }
    return m;
}

/* What one schema says of strings but their length, in *IN. */
static bool narrow(struct maker *m, const json_t *s, struct machine **in) {
    const char *pattern = json_string_value(json_object_get(s, "pattern"));
    const char *unlike = json_string_value(json_object_get(s, WORD_UNLIKE));
    const char *format = json_string_value(json_object_get(s, "format"));
    const json_t *except = json_object_get(s, WORD_EXCEPT);
    const char *const texts[] = {pattern, unlike};
    for (int i = 0; i < 2; i++) {
        const struct machine *one = texts[i] ? schema_pattern(m, texts[i]) : NULL;
        if (texts[i] && !one) return false;
        if (!one) continue;
        if (!*in) *in = machine_length(0, -1);
        *in = i ? machine_without(*in, one) : machine_both(*in, one);
        if (!*in) return schema_refuse(m, "too large:", "pattern") >= 0;
    }
    if (format) {
        const struct machine *one = schema_format(m, format);
        if (!one) return false;
        if (!*in) *in = machine_length(0, -1);
        *in = machine_both(*in, one);
        if (!*in) return schema_refuse(m, "too large:", "format") >= 0;
    }
    if (except) {
        struct machine *one = words(except);
        *in = one ? meet(*in, one, true) : NULL;
        if (!*in) return schema_refuse(m, "too large:", "enum") >= 0;
    }
    return true;
}

static bool narrow_all(struct maker *m, const struct schemas *set, struct machine **in,
                       int64_t *least, int64_t *most) {
    if (!schema_bounds(m, set, "minLength", "maxLength", least, most)) return false;
    for (int i = 0; i < set->n; i++)
        if (!narrow(m, set->at[i], in)) return false;
    if (!*in || (*least <= 0 && *most < 0)) return true;
    struct machine *length = machine_length(*least > 0 ? *least : 0, *most);
    *in = length ? meet(*in, length, false) : NULL;
    return *in || schema_refuse(m, "too large beside a pattern or a format:", "maxLength") >= 0;
}

/* Many properties of one schema have the same. */
static int32_t of_length(struct maker *m, int64_t least, int64_t most) {
    for (int i = 0; i < m->nlengths; i++)
        if (m->lengths[i].least == least && m->lengths[i].most == most) return m->lengths[i].rule;
    if (most >= 0 && least > most) return rules_new(m->r); /* of two schemas: none fits both */
    void *more = realloc(m->lengths, (size_t)(m->nlengths + 1) * sizeof *m->lengths);
    if (!more) return schema_refuse(m, "out of memory for", "maxLength");
    m->lengths = more;
    int32_t rule = json_rule_string(m->r, m->letter, least, most);
    m->lengths[m->nlengths].least = least;
    m->lengths[m->nlengths].most = most;
    m->lengths[m->nlengths++].rule = rule;
    return rule;
}

int32_t schema_string(struct maker *m, const struct schemas *set) {
    struct machine *in = NULL;
    int64_t least, most;
    if (!narrow_all(m, set, &in, &least, &most)) {
        machine_free(in);
        return -1;
    }
    if (in) {
        int32_t quote = schema_text(m, "\""), rest = machine_rule(m->r, in, RULE_STRING);
        machine_free(in);
        return json_rule_sequence(m->r, 2, quote, rest);
    }
    if (least <= 0 && most < 0) return m->string;
    return of_length(m, least > 0 ? least : 0, most);
}

struct machine *schema_strings(struct maker *m, const struct schemas *set) {
    struct machine *in = NULL;
    int64_t least, most;
    json_t *few = schema_few(m, set);
    if (few) {
        in = words(few);
        json_decref(few);
    } else if (!m->failed && narrow_all(m, set, &in, &least, &most) && !in) {
        in = machine_length(least > 0 ? least : 0, most);
    }
    if (!in && !*m->err) schema_refuse(m, "too large:", "propertyNames");
    return in;
}
