/* normalizer.c - the normalizer of a file: steps that each make a new text of the text. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>

struct step {
    bool (*apply)(const struct step *, struct span in, size_t limit, struct bytes *out, char *err);
    /* Does what comes of IN begin with what comes of its first character? NULL: always. */
    bool (*keeps)(const struct step *, struct span in);
    bool flags[4];
    struct bytes text; /* what is prepended or put instead */
    struct pattern *pattern;
    struct charsmap *charsmap;
};
struct normalizer {
    struct step steps[MAX_STEPS];
    int n;
};

/* ---- the steps ---- */

static bool told(bool ok, char *err) {
    return ok || llm_fail(err, "out of memory");
}

static bool normal_form(const struct step *s, struct span in, size_t limit, struct bytes *out,
                        char *err) {
    (void)limit; /* 18 characters come of one at most */
    return told(text_normal_form(in, s->flags[0], s->flags[1], out), err);
}

static bool lowercase(const struct step *s, struct span in, size_t limit, struct bytes *out,
                      char *err) {
    (void)s, (void)limit;
    return told(text_lowercase(in, out), err);
}

static bool prepend(const struct step *s, struct span in, size_t limit, struct bytes *out,
                    char *err) {
    if (s->text.n > limit || in.n > limit - s->text.n)
        return llm_fail(err, "normalising makes the text longer than %zu bytes", limit);
    return told((!in.n || bytes_add(out, s->text.p, s->text.n)) && bytes_add(out, in.p, in.n), err);
}

static bool replace(const struct step *s, struct span in, size_t limit, struct bytes *out,
                    char *err) {
    return pattern_replace(s->pattern, in, (struct span){s->text.p, s->text.n}, limit, out, err);
}

/* What stands for several characters counts as the last of them. */
static bool replace_keeps(const struct step *s, struct span in) {
    char err[LLM_ERR];
    struct ranges ranges = {0};
    size_t at = 0;
    bool ok = pattern_ranges(s->pattern, in, &ranges, err) && ranges.n && ranges.v[0].match &&
              ranges.v[0].to;
    bool kept = !ok || (s->text.n && utf8_next(in, &at) >= 0 && ranges.v[0].to <= at);
    free(ranges.v);
    return kept;
}

static bool strip_keeps(const struct step *s, struct span in) {
    size_t at = 0;
    return !s->flags[0] || !char_is_space(utf8_next(in, &at));
}

static bool strip(const struct step *s, struct span in, size_t limit, struct bytes *out,
                  char *err) {
    size_t from = 0, to = in.n;
    (void)limit;
    for (size_t at = 0; s->flags[0] && from < in.n && char_is_space(utf8_next(in, &at));)
        from = at;
    while (s->flags[1] && to > from) {
        size_t at = to - 1;
        while (at > from && ((unsigned char)in.p[at] & 0xc0) == 0x80)
            at--;
        size_t next = at;
        if (!char_is_space(utf8_next(in, &next))) break;
        to = at;
    }
    return told(bytes_add(out, in.p + from, to - from), err);
}

/* Every character by itself: MAP gives what it becomes, 0 for nothing. */
static bool map_chars(struct span in, int32_t (*map)(int32_t c), struct bytes *out, char *err) {
    for (size_t at = 0; at < in.n;) {
        int32_t was = utf8_next(in, &at), c = map(was);
        if ((c || (!was && c >= 0)) && !utf8_add(out, c)) return told(false, err);
    }
    return true;
}

static int32_t without_marks(int32_t c) {
    return c && char_is_mark(c) ? 0 : c;
}

static bool strip_accents(const struct step *s, struct span in, size_t limit, struct bytes *out,
                          char *err) {
    (void)s, (void)limit;
    return map_chars(in, without_marks, out, err);
}

static int32_t nmt_char(int32_t c) {
    bool control = (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f ||
                   c == 0x8f || c == 0x9f;
    bool space = c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
                 (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                 c == 0xfeff || c == 0xfffd;
    return control ? 0 : space ? ' ' : c;
}

static bool nmt(const struct step *s, struct span in, size_t limit, struct bytes *out, char *err) {
    (void)s, (void)limit;
    return map_chars(in, nmt_char, out, err);
}

static bool accents_keep(const struct step *s, struct span in) {
    size_t at = 0;
    (void)s;
    return !char_is_mark(utf8_next(in, &at));
}

static bool nmt_keeps(const struct step *s, struct span in) {
    size_t at = 0;
    (void)s;
    return !*in.p || nmt_char(utf8_next(in, &at));
}

static bool precompiled(const struct step *s, struct span in, size_t limit, struct bytes *out,
                        char *err) {
    return charsmap_apply(s->charsmap, in, limit, out, err);
}

/* ---- BERT ---- */

static int32_t clean_char(int32_t c) {
    if (c == '\t' || c == '\n' || c == '\r') return ' ';
    if (c == 0 || c == 0xfffd || char_is_control(c)) return c ? 0 : -1;
    return char_is_space(c) ? ' ' : c;
}

static bool is_chinese(int32_t c) {
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
           (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
           (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

static bool space_chinese(struct span in, struct bytes *out) {
    for (size_t at = 0; at < in.n;) {
        int32_t c = utf8_next(in, &at);
        bool apart = is_chinese(c);
        if ((apart && !bytes_add(out, " ", 1)) || !utf8_add(out, c) ||
            (apart && !bytes_add(out, " ", 1)))
            return false;
    }
    return true;
}

static int32_t without_accents(int32_t c) {
    return c && char_is_accent(c) ? 0 : c;
}

enum { CLEAN, CHINESE, ACCENTS, LOWER };

static bool bert_step(int step, struct span in, struct bytes *out, char *err) {
    struct bytes apart = {0};
    bool ok;
    switch (step) {
    case CLEAN:
        return map_chars(in, clean_char, out, err);
    case CHINESE:
        return told(space_chinese(in, out), err);
    case LOWER:
        return told(text_lowercase(in, out), err);
    default:
        ok = told(text_normal_form(in, false, false, &apart), err) &&
             map_chars((struct span){apart.p, apart.n}, without_accents, out, err);
        free(apart.p);
        return ok;
    }
}

static bool bert_keeps(const struct step *s, struct span in) {
    size_t at = 0;
    int32_t c = utf8_next(in, &at);
    return !(s->flags[CLEAN] && clean_char(c) <= 0) && !(s->flags[ACCENTS] && char_is_accent(c));
}

static bool bert(const struct step *s, struct span in, size_t limit, struct bytes *out, char *err) {
    struct bytes now = {0};
    bool ok = told(bytes_add(&now, in.p, in.n), err);
    (void)limit;
    for (int i = 0; ok && i < 4; i++) {
        struct bytes next = {0};
        if (!s->flags[i]) continue;
        ok = bert_step(i, (struct span){now.p, now.n}, &next, err);
        free(now.p);
        now = next;
    }
    free(out->p);
    *out = now;
    return ok;
}

/* ---- loading ---- */

static bool keep_text(struct step *s, const json_t *j, const char *what, const char *key,
                      char *err) {
    struct span text;
    return field_text(j, what, key, &text, err) && told(bytes_add(&s->text, text.p, text.n), err);
}

static bool load_replace(struct step *s, const json_t *j, char *err) {
    return keep_text(s, j, "normalizer Replace", "content", err) &&
           pattern_load(json_object_get(j, "pattern"), "normalizer Replace", &s->pattern, err);
}

static bool load_prepend(struct step *s, const json_t *j, char *err) {
    return keep_text(s, j, "normalizer Prepend", "prepend", err);
}

static bool load_strip(struct step *s, const json_t *j, char *err) {
    return field_flag(j, "normalizer Strip", "strip_left", true, &s->flags[0], err) &&
           field_flag(j, "normalizer Strip", "strip_right", true, &s->flags[1], err);
}

static bool load_precompiled(struct step *s, const json_t *j, char *err) {
    struct span text;
    const char *key = "precompiled_charsmap";
    if (json_is_null(json_object_get(j, key))) return true;
    return field_text(j, "normalizer Precompiled", key, &text, err) &&
           charsmap_load(text, &s->charsmap, err);
}

static bool load_bert(struct step *s, const json_t *j, char *err) {
    static const char what[] = "normalizer BertNormalizer";
    return field_flag(j, what, "clean_text", true, &s->flags[CLEAN], err) &&
           field_flag(j, what, "handle_chinese_chars", true, &s->flags[CHINESE], err) &&
           field_flag(j, what, "lowercase", true, &s->flags[LOWER], err) &&
           field_flag(j, what, "strip_accents", s->flags[LOWER], &s->flags[ACCENTS], err);
}

static bool load_nothing(struct step *s, const json_t *j, char *err) {
    (void)s, (void)j, (void)err;
    return true;
}

static const struct kind {
    const char *name, *fields;
    bool (*load)(struct step *, const json_t *, char *err);
    struct step step;
} kinds[] = {
    {"NFC", "type", load_nothing, {.apply = normal_form, .flags = {true, false}}},
    {"NFD", "type", load_nothing, {.apply = normal_form, .flags = {false, false}}},
    {"NFKC", "type", load_nothing, {.apply = normal_form, .flags = {true, true}}},
    {"NFKD", "type", load_nothing, {.apply = normal_form, .flags = {false, true}}},
    {"Lowercase", "type", load_nothing, {.apply = lowercase}},
    {"Prepend", "type prepend", load_prepend, {.apply = prepend}},
    {"Replace", "type pattern content", load_replace, {.apply = replace, .keeps = replace_keeps}},
    {"Strip", "type strip_left strip_right", load_strip, {.apply = strip, .keeps = strip_keeps}},
    {"StripAccents", "type", load_nothing, {.apply = strip_accents, .keeps = accents_keep}},
    {"Nmt", "type", load_nothing, {.apply = nmt, .keeps = nmt_keeps}},
    {"Precompiled", "type precompiled_charsmap", load_precompiled, {.apply = precompiled}},
    {"BertNormalizer",
     "type clean_text handle_chinese_chars strip_accents lowercase",
     load_bert,
     {.apply = bert, .keeps = bert_keeps}},
};

static bool load(struct normalizer *n, const json_t *j, int depth, char *err) {
    const char *type = type_of(j);
    if (!strcmp(type, "Sequence") && depth < MAX_DEPTH) {
        const json_t *list = json_object_get(j, "normalizers");
        if (!fields_known(j, "normalizer Sequence", "type normalizers", err)) return false;
        for (size_t i = 0; i < json_array_size(list); i++)
            if (!load(n, json_array_get(list, i), depth + 1, err)) return false;
        return json_is_array(list) || llm_fail(err, "normalizer Sequence without a list");
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(type, kinds[i].name)) continue;
        if (n->n == MAX_STEPS) return llm_fail(err, "more than %d normalizers", MAX_STEPS);
        n->steps[n->n] = kinds[i].step;
        return fields_known(j, "normalizer", kinds[i].fields, err) &&
               kinds[i].load(&n->steps[n->n++], j, err);
    }
    return llm_fail(err, "normalizer \"%.80s\" is not supported", type);
}

bool normalizer_load(const json_t *j, struct normalizer **out, char *err) {
    *out = calloc(1, sizeof **out);
    if (!*out) return llm_fail(err, "out of memory");
    if (!j || json_is_null(j) || load(*out, j, 0, err)) return true;
    normalizer_free(*out);
    *out = NULL;
    return false;
}

void normalizer_free(struct normalizer *n) {
    if (!n) return;
    for (int i = 0; i < n->n; i++) {
        free(n->steps[i].text.p);
        pattern_free(n->steps[i].pattern);
        charsmap_free(n->steps[i].charsmap);
    }
    free(n);
}

bool normalizer_apply(const struct normalizer *n, struct span text, struct bytes *out,
                      bool *out_first, char *err) {
    /* Real files add a few bytes to a character; this bounds what a made-up one does. */
    size_t limit = text.n < SIZE_MAX / 64 ? 64 * text.n + 65536 : SIZE_MAX;
    if (!bytes_add(out, text.p, text.n)) return told(false, err);
    for (int i = 0; i < n->n; i++) {
        const struct step *s = &n->steps[i];
        struct bytes next = {0};
        if (s->apply == precompiled && !s->charsmap) continue;
        if (out_first && *out_first && s->keeps && out->n)
            *out_first = s->keeps(s, (struct span){out->p, out->n});
        bool ok = told(bytes_add(&next, "", 0), err) &&
                  s->apply(s, (struct span){out->p, out->n}, limit, &next, err);
        free(out->p);
        *out = next;
        if (ok && next.n > limit)
            ok = llm_fail(err, "normalising makes the text longer than %zu bytes", limit);
        if (!ok) return false;
    }
    return true;
}
