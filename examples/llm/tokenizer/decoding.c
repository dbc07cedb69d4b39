/* decoding.c - the decoder of a file: steps that make of a token's name the text it stands for.
 *
 * All but two of them look at one token at a time. Fuse joins the tokens; what is cut off the ends
 * of all the text after it, and what becomes of bytes that are no characters, is told by
 * decoding_ends and done by decoder.c. */
#include "examples/llm/tokenizer/parts.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct step {
    bool (*apply)(const struct step *, struct span in, bool first, struct bytes *out, char *err);
    struct pattern *pattern; /* what is replaced */
    struct bytes text;       /* what is put instead; a prefix; a character */
    int32_t start, stop;
    bool flag;
};
struct decoding {
    struct step steps[MAX_STEPS];
    int n;
    bool first_differs, spells;
    bool bytes; /* tokens have become bytes: nothing but Fuse may follow */
    bool fused;
    struct decoding_ends ends;
};

/* ---- the steps ---- */

static bool told(bool ok, char *err) {
    return ok || llm_fail(err, "out of memory");
}

static struct span text_of(const struct step *s) {
    return (struct span){s->text.p, s->text.n};
}

static bool starts_with(struct span text, struct span with) {
    return text.n >= with.n && !memcmp(text.p, with.p, with.n);
}

static bool byte_level(const struct step *s, struct span in, bool first, struct bytes *out,
                       char *err) {
    bool memory;
    (void)s, (void)first;
    if (unspell_bytes(in, out, &memory)) return true;
    return told(memory && bytes_add(out, in.p, in.n), err);
}

static bool byte_fallback(const struct step *s, struct span in, bool first, struct bytes *out,
                          char *err) {
    (void)s, (void)first;
    if (in.n == 6 && !memcmp(in.p, "<0x", 3) && in.p[5] == '>' &&
        isxdigit((unsigned char)in.p[3]) && isxdigit((unsigned char)in.p[4])) {
        char hex[3] = {in.p[3], in.p[4], 0};
        char byte = (char)strtol(hex, NULL, 16);
        return told(bytes_add(out, &byte, 1), err);
    }
    return told(bytes_add(out, in.p, in.n), err);
}

static bool replace(const struct step *s, struct span in, bool first, struct bytes *out,
                    char *err) {
    (void)first;
    return pattern_replace(s->pattern, in, text_of(s), 64 * in.n + 65536, out, err);
}

/* .flag: the first token loses its marks */
static bool metaspace(const struct step *s, struct span in, bool first, struct bytes *out,
                      char *err) {
    bool lost = first && s->flag;
    return pattern_replace(s->pattern, in, (struct span){" ", !lost}, SIZE_MAX, out, err);
}

/* At most .start of the character at the beginning, .stop of it at the end. */
static bool strip(const struct step *s, struct span in, bool first, struct bytes *out, char *err) {
    struct span c = text_of(s);
    (void)first;
    for (int32_t i = 0; i < s->start && starts_with(in, c); i++)
        in = (struct span){in.p + c.n, in.n - c.n};
    for (int32_t i = 0; i < s->stop && in.n >= c.n; i++) {
        if (memcmp(in.p + in.n - c.n, c.p, c.n)) break;
        in.n -= c.n;
    }
    return told(bytes_add(out, in.p, in.n), err);
}

static bool clean_up(struct bytes *text, char *err) {
    static const char *const pairs[][2] = {{" .", "."},     {" ?", "?"},           {" !", "!"},
                                           {" ,", ","},     {" ' ", "'"},          {" n't", "n't"},
                                           {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},
                                           {" 've", "'ve"}, {" 're", "'re"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        size_t from = strlen(pairs[i][0]), to = strlen(pairs[i][1]), at = 0;
        struct bytes next = {0};
        const char *hit;
        bool ok = true;
        if (!memmem(text->p, text->n, pairs[i][0], from)) continue;
        while (ok && (hit = memmem(text->p + at, text->n - at, pairs[i][0], from)) != NULL) {
            size_t here = (size_t)(hit - text->p);
            ok = bytes_add(&next, text->p + at, here - at) && bytes_add(&next, pairs[i][1], to);
            at = here + from;
        }
        ok = ok && bytes_add(&next, text->p + at, text->n - at);
        free(text->p);
        *text = next;
        if (!ok) return told(false, err);
    }
    return true;
}

/* .flag: spaces before punctuation go */
static bool wordpiece(const struct step *s, struct span in, bool first, struct bytes *out,
                      char *err) {
    struct span prefix = text_of(s);
    bool goes_on = starts_with(in, prefix);
    if (!first && goes_on) in = (struct span){in.p + prefix.n, in.n - prefix.n};
    return told((first || goes_on || bytes_add(out, " ", 1)) && bytes_add(out, in.p, in.n), err) &&
           (!s->flag || clean_up(out, err));
}

/* Where a file has no decoder. */
static bool spaced(const struct step *s, struct span in, bool first, struct bytes *out, char *err) {
    (void)s;
    return told((first || bytes_add(out, " ", 1)) && bytes_add(out, in.p, in.n), err);
}

/* ---- loading ---- */

static bool keep(struct step *s, struct span text, char *err) {
    return told(bytes_add(&s->text, text.p, text.n), err);
}

static bool load_replace(struct decoding *d, struct step *s, const json_t *j, char *err) {
    struct span text;
    (void)d;
    return field_text(j, "decoder Replace", "content", &text, err) && keep(s, text, err) &&
           pattern_load(json_object_get(j, "pattern"), "decoder Replace", &s->pattern, err);
}

static bool load_metaspace(struct decoding *d, struct step *s, const json_t *j, char *err) {
    static const char what[] = "decoder Metaspace";
    const char *scheme = json_string_value(json_object_get(j, "prepend_scheme"));
    struct span mark;
    bool split;
    if (!field_char(j, what, "replacement", &mark, err) ||
        !field_flag(j, what, "add_prefix_space", true, &s->flag, err) ||
        !field_flag(j, what, "split", true, &split, err))
        return false;
    if (scheme) s->flag = strcmp(scheme, "never") != 0;
    d->first_differs = d->first_differs || s->flag;
    return pattern_literal(mark, &s->pattern, err);
}

static bool load_wordpiece(struct decoding *d, struct step *s, const json_t *j, char *err) {
    struct span prefix;
    d->first_differs = true;
    return field_text(j, "decoder WordPiece", "prefix", &prefix, err) && keep(s, prefix, err) &&
           field_flag(j, "decoder WordPiece", "cleanup", true, &s->flag, err);
}

static bool load_strip(struct decoding *d, struct step *s, const json_t *j, char *err) {
    static const char what[] = "decoder Strip";
    struct span c;
    if (!field_char(j, what, "content", &c, err) ||
        !field_count(j, what, "start", &s->start, err) ||
        !field_count(j, what, "stop", &s->stop, err))
        return false;
    if (!d->fused) return keep(s, c, err);
    if (c.n > 1 || d->ends.strip) return llm_fail(err, "%s after Fuse, such a one", what);
    d->ends.strip = *c.p;
    d->ends.start = s->start;
    d->ends.stop = s->stop;
    return true;
}

static bool load_byte_level(struct decoding *d, struct step *s, const json_t *j, char *err) {
    (void)s, (void)j, (void)err;
    d->bytes = d->spells = true;
    return true;
}

static bool load_byte_fallback(struct decoding *d, struct step *s, const json_t *j, char *err) {
    (void)s, (void)j, (void)err;
    d->bytes = d->ends.each_byte = true;
    return true;
}

static bool load_fuse(struct decoding *d, struct step *s, const json_t *j, char *err) {
    (void)s, (void)j, (void)err;
    d->fused = true;
    return true;
}

static const struct kind {
    const char *name, *fields;
    bool (*load)(struct decoding *, struct step *, const json_t *, char *err);
    struct step step;
} kinds[] = {
    {"ByteLevel",
     "type add_prefix_space trim_offsets use_regex",
     load_byte_level,
     {.apply = byte_level}},
    {"ByteFallback", "type", load_byte_fallback, {.apply = byte_fallback}},
    {"Replace", "type pattern content", load_replace, {.apply = replace}},
    {"Metaspace",
     "type replacement add_prefix_space prepend_scheme split str_rep",
     load_metaspace,
     {.apply = metaspace}},
    {"WordPiece", "type prefix cleanup", load_wordpiece, {.apply = wordpiece}},
    {"Strip", "type content start stop", load_strip, {.apply = strip}},
    {"Fuse", "type", load_fuse, {.apply = NULL}},
};

static bool load_kind(struct decoding *d, const struct kind *k, const json_t *j, char *err) {
    struct step s = k->step;
    bool joins = k->load == load_fuse, strips = k->load == load_strip;
    if (!fields_known(j, "decoder", k->fields, err)) return false;
    if (!joins && !(strips && d->fused) && (d->bytes || d->fused))
        return llm_fail(
            err, "decoder \"%s\" after Fuse, ByteFallback or ByteLevel is not supported", k->name);
    if (d->n == MAX_STEPS) return llm_fail(err, "more than %d decoders", MAX_STEPS);
    bool at_end = strips && d->fused;
    bool ok = k->load(d, &s, j, err);
    d->steps[d->n] = s;
    d->n += s.apply && !at_end;
    return ok;
}

static bool load(struct decoding *d, const json_t *j, int depth, char *err) {
    const char *type = type_of(j);
    if (!strcmp(type, "Sequence") && depth < MAX_DEPTH) {
        const json_t *list = json_object_get(j, "decoders");
        if (!fields_known(j, "decoder Sequence", "type decoders", err)) return false;
        for (size_t i = 0; i < json_array_size(list); i++)
            if (!load(d, json_array_get(list, i), depth + 1, err)) return false;
        return json_is_array(list) || llm_fail(err, "decoder Sequence without a list");
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(type, kinds[i].name)) return load_kind(d, &kinds[i], j, err);
    return llm_fail(err, "decoder \"%.80s\" is not supported", type);
}

bool decoding_load(const json_t *j, struct decoding **out, char *err) {
    struct decoding *d = *out = calloc(1, sizeof *d);
    if (!d) return llm_fail(err, "out of memory");
    if (!j || json_is_null(j)) {
        d->steps[d->n++] = (struct step){.apply = spaced};
        d->first_differs = true;
        return true;
    }
    if (load(d, j, 0, err)) return true;
    decoding_free(d);
    *out = NULL;
    return false;
}

void decoding_free(struct decoding *d) {
    if (!d) return;
    for (int i = 0; i < d->n; i++) {
        pattern_free(d->steps[i].pattern);
        free(d->steps[i].text.p);
    }
    free(d);
}

bool decoding_first_differs(const struct decoding *d) {
    return d->first_differs;
}

bool decoding_unspells(const struct decoding *d) {
    return d->spells;
}

struct decoding_ends decoding_ends(const struct decoding *d) {
    return d->ends;
}

bool decoding_apply(const struct decoding *d, struct span token, bool first, struct bytes *out,
                    char *err) {
    struct bytes now = {0};
    bool ok = told(bytes_add(&now, token.p, token.n), err);
    for (int i = 0; ok && i < d->n; i++) {
        struct bytes next = {0};
        ok = told(bytes_add(&next, "", 0), err) &&
             d->steps[i].apply(&d->steps[i], (struct span){now.p, now.n}, first, &next, err);
        free(now.p);
        now = next;
    }
    ok = ok && told(bytes_add(out, now.p, now.n), err);
    free(now.p);
    return ok;
}
