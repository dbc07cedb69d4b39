/* pattern.c - what a text is cut by: an expression, a text, or a kind of character. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "examples/llm/tokenizer/parts.h"
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

struct pattern {
    pcre2_code *regex; /* or */
    char *literal;     /* or */
    size_t bytes;      /* of LITERAL */
    bool (*is)(int32_t c);
};

static struct pattern *make(struct pattern p, struct pattern **out, char *err) {
    *out = malloc(sizeof **out);
    if (*out)
        **out = p;
    else
        llm_fail(err, "out of memory");
    return *out;
}

bool pattern_regex(struct span expression, struct pattern **out, char *err) {
    int code;
    PCRE2_SIZE at;
    PCRE2_UCHAR text[128];
    struct bytes translated = {0};
    *out = NULL;
    if (!expression_translate(expression, &translated, err)) {
        free(translated.p);
        return false;
    }
    /* In Oniguruma ^ and $ are of lines. */
    pcre2_code *regex = pcre2_compile(
        (PCRE2_SPTR)translated.p, translated.n,
        PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
    if (!regex) {
        pcre2_get_error_message(code, text, sizeof text);
        llm_fail(err, "expression \"%.200s\", at offset %zu: %s", translated.p, (size_t)at,
                 (const char *)text);
    }
    free(translated.p);
    if (!regex) return false;
    pcre2_jit_compile(regex, PCRE2_JIT_COMPLETE); /* only faster; may be unavailable */
    if (make((struct pattern){.regex = regex}, out, err)) return true;
    pcre2_code_free(regex);
    return false;
}

bool pattern_literal(struct span text, struct pattern **out, char *err) {
    *out = NULL;
    if (!text.n) return llm_fail(err, "an empty pattern is not supported");
    char *copy = malloc(text.n);
    if (!copy) return llm_fail(err, "out of memory");
    memcpy(copy, text.p, text.n);
    if (make((struct pattern){.literal = copy, .bytes = text.n}, out, err)) return true;
    free(copy);
    return false;
}

bool pattern_class(bool (*is)(int32_t c), struct pattern **out, char *err) {
    return make((struct pattern){.is = is}, out, err) != NULL;
}

bool pattern_load(const json_t *j, const char *what, struct pattern **out, char *err) {
    struct span text;
    char why[LLM_ERR];
    bool regex = json_object_get(j, "Regex") != NULL;
    *out = NULL;
    if (!fields_known(j, what, "Regex String", err)) return false;
    if (!field_text(j, what, regex ? "Regex" : "String", &text, err)) return false;
    return (regex ? pattern_regex(text, out, why) : pattern_literal(text, out, why)) ||
           llm_fail(err, "%s: %.400s", what, why);
}

void pattern_free(struct pattern *p) {
    if (!p) return;
    pcre2_code_free(p->regex);
    free(p->literal);
    free(p);
}

/* ---- matching ---- */

static bool add(struct ranges *r, size_t from, size_t to, bool match, char *err) {
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        struct range *v = realloc(r->v, cap * sizeof *v);
        if (!v) return llm_fail(err, "out of memory");
        r->v = v;
        r->cap = cap;
    }
    r->v[r->n++] = (struct range){from, to, match};
    return true;
}

static bool add_match(struct ranges *r, size_t *done, size_t from, size_t to, char *err) {
    if (*done < from && !add(r, *done, from, false, err)) return false;
    *done = to;
    return add(r, from, to, true, err);
}

static int match_at(const struct pattern *p, struct span text, size_t at, pcre2_match_data *data) {
    int rc = pcre2_match(p->regex, (PCRE2_SPTR)text.p, text.n, at, PCRE2_NO_UTF_CHECK, data, NULL);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter takes memory instead */
        rc = pcre2_match(p->regex, (PCRE2_SPTR)text.p, text.n, at,
                         PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data, NULL);
    return rc;
}

/* Finds what Oniguruma's iterator finds: an empty match right behind another match is none. */
static bool find_regex(const struct pattern *p, struct span text, pcre2_match_data *data,
                       struct ranges *out, size_t *done, char *err) {
    PCRE2_UCHAR why[128];
    bool any = false;
    for (size_t at = 0; at <= text.n;) {
        int rc = match_at(p, text, at, data);
        if (rc == PCRE2_ERROR_NOMATCH) break;
        if (rc < 0) {
            pcre2_get_error_message(rc, why, sizeof why);
            return llm_fail(err, "cutting the text by an expression: %s", (const char *)why);
        }
        const PCRE2_SIZE *m = pcre2_get_ovector_pointer(data);
        if (m[0] == m[1] && any && m[0] == *done) {
            if (at >= text.n) break;
            utf8_next(text, &at);
            continue;
        }
        if (!add_match(out, done, m[0], m[1], err)) return false;
        any = true;
        at = m[1];
    }
    return true;
}

static bool find_literal(const struct pattern *p, struct span text, struct ranges *out,
                         size_t *done, char *err) {
    const char *hit;
    while ((hit = memmem(text.p + *done, text.n - *done, p->literal, p->bytes)) != NULL) {
        size_t from = (size_t)(hit - text.p);
        if (!add_match(out, done, from, from + p->bytes, err)) return false;
    }
    return true;
}

static bool find_class(const struct pattern *p, struct span text, struct ranges *out, size_t *done,
                       char *err) {
    for (size_t at = 0; at < text.n;) {
        size_t from = at;
        if (p->is(utf8_next(text, &at)) && !add_match(out, done, from, at, err)) return false;
    }
    return true;
}

bool pattern_ranges(const struct pattern *p, struct span text, struct ranges *out, char *err) {
    size_t done = 0;
    bool ok;
    out->n = 0;
    if (!text.n) return true;
    if (p->regex) {
        pcre2_match_data *data = pcre2_match_data_create(1, NULL);
        ok = data ? find_regex(p, text, data, out, &done, err) : llm_fail(err, "out of memory");
        pcre2_match_data_free(data);
    } else {
        ok = p->literal ? find_literal(p, text, out, &done, err)
                        : find_class(p, text, out, &done, err);
    }
    return ok && (done == text.n || add(out, done, text.n, false, err));
}

bool pattern_replace(const struct pattern *p, struct span text, struct span content, size_t limit,
                     struct bytes *out, char *err) {
    struct ranges ranges = {0};
    bool ok = pattern_ranges(p, text, &ranges, err);
    for (size_t i = 0; ok && i < ranges.n; i++) {
        struct range r = ranges.v[i];
        struct span s = r.match ? content : (struct span){text.p + r.from, r.to - r.from};
        if (s.n > limit - out->n)
            ok = llm_fail(err, "replacing makes the text longer than %zu bytes", limit);
        else if (!bytes_add(out, s.p, s.n))
            ok = llm_fail(err, "out of memory");
    }
    free(ranges.v);
    return ok;
}
