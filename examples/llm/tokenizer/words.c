/* words.c - Unicode normalisation and the regular expressions that cut text into words. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "examples/llm/tokenizer/parts.h"
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { MAX_STEPS = 16, MAX_FORMS = 4, MAX_DEPTH = 4 };

struct step {
    pcre2_code *regex;
    bool keep_match, keep_rest;
};
struct words {
    utf8proc_option_t forms[MAX_FORMS];
    int nforms;
    struct step steps[MAX_STEPS];
    int nsteps;
    bool prefix_space, byte_level;
};

/* What ByteLevel cuts by when it says use_regex: the words of GPT-2. */
static const char gpt2_words[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

bool spans_add(struct spans *s, const char *p, size_t n) {
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        struct span *v = realloc(s->v, cap * sizeof *v);
        if (!v) return false;
        s->v = v;
        s->cap = cap;
    }
    s->v[s->n++] = (struct span){p, n};
    return true;
}

/* ---- loading ---- */

static const char *type_of(const json_t *j) {
    const char *type = json_string_value(json_object_get(j, "type"));
    return type ? type : "";
}

/* A boolean that is DEF when the file does not say. */
static bool flag(const json_t *j, const char *key, bool def) {
    const json_t *v = json_object_get(j, key);
    return json_is_boolean(v) ? json_is_true(v) : def;
}

static bool load_normalizer(struct words *w, const json_t *j, int depth, char *err) {
    static const struct {
        const char *name;
        utf8proc_option_t options;
    } forms[] = {
        {"NFC", UTF8PROC_STABLE | UTF8PROC_COMPOSE},
        {"NFD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
        {"NFKC", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
        {"NFKD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT},
    };
    const char *type = type_of(j);
    if (!j || json_is_null(j)) return true;
    if (!strcmp(type, "Sequence") && depth < MAX_DEPTH) {
        const json_t *list = json_object_get(j, "normalizers");
        for (size_t i = 0; i < json_array_size(list); i++)
            if (!load_normalizer(w, json_array_get(list, i), depth + 1, err)) return false;
        return true;
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(type, forms[i].name) && w->nforms < MAX_FORMS) {
            w->forms[w->nforms++] = forms[i].options;
            return true;
        }
    return llm_fail(err, "normalizer \"%s\" is not supported; supported: NFC, NFD, NFKC, NFKD",
                    type);
}

static bool add_step(struct words *w, const char *pattern, size_t n, bool literal, bool keep_match,
                     bool keep_rest, char *err) {
    int code;
    PCRE2_SIZE at;
    PCRE2_UCHAR text[128];
    if (w->nsteps == MAX_STEPS) return llm_fail(err, "more than %d pre_tokenizer steps", MAX_STEPS);
    uint32_t options = PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C);
    pcre2_code *regex = pcre2_compile((PCRE2_SPTR)pattern, n, options, &code, &at, NULL);
    if (!regex) {
        pcre2_get_error_message(code, text, sizeof text);
        return llm_fail(err, "pre_tokenizer pattern, at offset %zu: %s", (size_t)at,
                        (const char *)text);
    }
    pcre2_jit_compile(regex, PCRE2_JIT_COMPLETE); /* only faster; may be unavailable */
    w->steps[w->nsteps++] = (struct step){regex, keep_match, keep_rest};
    return true;
}

static bool load_split(struct words *w, const json_t *j, char *err) {
    const json_t *pattern = json_object_get(j, "pattern");
    const json_t *regex = json_object_get(pattern, "Regex");
    const json_t *string = json_object_get(pattern, "String");
    const json_t *text = json_is_string(regex) ? regex : string;
    const char *behavior = json_string_value(json_object_get(j, "behavior"));
    bool invert = flag(j, "invert", false);
    if (!json_is_string(text) || !json_string_length(text))
        return llm_fail(err, "pre_tokenizer Split has no \"pattern\"");
    bool isolated = behavior && !strcmp(behavior, "Isolated");
    if (!isolated && !(behavior && !strcmp(behavior, "Removed")))
        return llm_fail(
            err,
            "pre_tokenizer Split: behavior \"%s\" is not supported; supported: Isolated, "
            "Removed",
            behavior ? behavior : "");
    return add_step(w, json_string_value(text), json_string_length(text), text == string,
                    isolated || invert, isolated || !invert, err);
}

static bool load_byte_level(struct words *w, const json_t *j, char *err) {
    w->byte_level = true;
    w->prefix_space = flag(j, "add_prefix_space", true);
    if (w->prefix_space && w->nsteps)
        return llm_fail(err,
                        "pre_tokenizer ByteLevel: \"add_prefix_space\" after another step is not "
                        "supported");
    return !flag(j, "use_regex", true) ||
           add_step(w, gpt2_words, sizeof gpt2_words - 1, false, true, true, err);
}

static bool load_pre_tokenizer(struct words *w, const json_t *j, int depth, char *err) {
    const char *type = type_of(j);
    if (w->byte_level) return llm_fail(err, "pre_tokenizer: ByteLevel must be the last step");
    if (!strcmp(type, "Sequence") && depth < MAX_DEPTH) {
        const json_t *list = json_object_get(j, "pretokenizers");
        for (size_t i = 0; i < json_array_size(list); i++)
            if (!load_pre_tokenizer(w, json_array_get(list, i), depth + 1, err)) return false;
        return true;
    }
    if (!strcmp(type, "Split")) return load_split(w, j, err);
    if (!strcmp(type, "ByteLevel")) return load_byte_level(w, j, err);
    if (!strcmp(type, "Digits")) {
        const char *digits = flag(j, "individual_digits", false) ? "\\p{N}" : "\\p{N}+";
        return add_step(w, digits, strlen(digits), false, true, true, err);
    }
    return llm_fail(err,
                    "pre_tokenizer \"%s\" is not supported; supported: ByteLevel, Split, Digits, "
                    "Sequence",
                    type);
}

bool words_load(const json_t *root, struct words **out, char *err) {
    struct words *w = calloc(1, sizeof *w);
    *out = NULL;
    if (!w) return llm_fail(err, "out of memory");
    bool ok = load_normalizer(w, json_object_get(root, "normalizer"), 0, err) &&
              load_pre_tokenizer(w, json_object_get(root, "pre_tokenizer"), 0, err);
    if (ok && !w->byte_level)
        ok = llm_fail(err, "pre_tokenizer without ByteLevel: only byte-level BPE is "
                           "supported");
    if (!ok) {
        words_free(w);
        return false;
    }
    *out = w;
    return true;
}

void words_free(struct words *w) {
    if (!w) return;
    for (int i = 0; i < w->nsteps; i++)
        pcre2_code_free(w->steps[i].regex);
    free(w);
}

/* ---- using ---- */

char *words_normalise(const struct words *w, struct span text, size_t *out_bytes, char *err) {
    bool space = w->prefix_space && text.n && text.p[0] != ' ';
    char *s = malloc(text.n + 2);
    *out_bytes = text.n + space;
    if (s) {
        s[0] = ' ';
        memcpy(s + space, text.p, text.n);
        s[*out_bytes] = 0;
    }
    for (int i = 0; s && i < w->nforms; i++) {
        utf8proc_uint8_t *next = NULL;
        utf8proc_ssize_t n = utf8proc_map((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)*out_bytes,
                                          &next, w->forms[i]);
        free(s);
        s = (char *)next;
        if (n < 0) {
            llm_fail(err, "normalising the text: %s", utf8proc_errmsg(n));
            return NULL;
        }
        *out_bytes = (size_t)n;
    }
    if (!s) llm_fail(err, "out of memory");
    return s;
}

static bool add_if(bool keep, struct spans *out, const char *p, size_t n, char *err) {
    return !keep || !n || spans_add(out, p, n) || llm_fail(err, "out of memory");
}

/* Cut one span by one expression. Empty matches cut nothing. */
static bool cut(const struct step *s, pcre2_match_data *match, struct span in, struct spans *out,
                char *err) {
    PCRE2_UCHAR text[128];
    size_t done = 0; /* everything before is in OUT */
    for (size_t at = 0; at < in.n;) {
        int rc = pcre2_match(s->regex, (PCRE2_SPTR)in.p, in.n, at,
                             PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match, NULL);
        if (rc == PCRE2_ERROR_NOMATCH) break;
        if (rc < 0) {
            pcre2_get_error_message(rc, text, sizeof text);
            return llm_fail(err, "pre_tokenizer pattern: %s", (const char *)text);
        }
        const PCRE2_SIZE *m = pcre2_get_ovector_pointer(match);
        if (m[0] < done || m[1] <= m[0]) /* \K can do this */
            return llm_fail(err, "pre_tokenizer pattern matches backwards");
        if (!add_if(s->keep_rest, out, in.p + done, m[0] - done, err) ||
            !add_if(s->keep_match, out, in.p + m[0], m[1] - m[0], err))
            return false;
        at = done = m[1];
    }
    return add_if(s->keep_rest, out, in.p + done, in.n - done, err);
}

bool words_cut(const struct words *w, struct span text, struct spans *out, char *err) {
    struct spans now = {0}, next = {0};
    bool ok = spans_add(&now, text.p, text.n) || llm_fail(err, "out of memory");
    for (int i = 0; ok && i < w->nsteps; i++) {
        pcre2_match_data *match = pcre2_match_data_create_from_pattern(w->steps[i].regex, NULL);
        if (!match) ok = llm_fail(err, "out of memory");
        next.n = 0;
        for (size_t k = 0; ok && k < now.n; k++)
            ok = cut(&w->steps[i], match, now.v[k], &next, err);
        pcre2_match_data_free(match);
        struct spans swap = now;
        now = next;
        next = swap;
    }
    for (size_t k = 0; ok && k < now.n; k++)
        ok = spans_add(out, now.v[k].p, now.v[k].n) || llm_fail(err, "out of memory");
    free(now.v);
    free(next.v);
    return ok;
}
