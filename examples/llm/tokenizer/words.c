/* words.c - the pre_tokenizer of a file: steps that each cut the words there are into smaller ones,
 * or write them in another way. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>

enum kind { SPLIT, PREFIX, META, SPELL };
enum behavior { REMOVED, ISOLATED, CONTIGUOUS, WITH_PREVIOUS, WITH_NEXT };
enum scheme { ALWAYS, FIRST, NEVER };

struct step {
    enum kind kind;
    struct pattern *pattern; /* SPLIT */
    enum behavior behavior;
    bool invert;
    enum scheme scheme; /* META: which words get a mark in front */
    char mark[4];       /* what stands for a space */
    size_t mark_bytes;
};
struct cutter {
    struct step steps[MAX_STEPS];
    int n;
    bool spells;
};

/* ---- loading ---- */

static struct step *new_step(struct cutter *c, enum kind kind, char *err) {
    if (c->n == MAX_STEPS) {
        llm_fail(err, "more than %d pre_tokenizer steps", MAX_STEPS);
        return NULL;
    }
    c->steps[c->n] = (struct step){.kind = kind};
    return &c->steps[c->n++];
}

static struct step *new_split(struct cutter *c, enum behavior behavior, bool invert, char *err) {
    struct step *s = new_step(c, SPLIT, err);
    if (s) {
        s->behavior = behavior;
        s->invert = invert;
    }
    return s;
}

static bool split_by(struct cutter *c, const char *expression, enum behavior behavior, bool invert,
                     char *err) {
    struct step *s = new_split(c, behavior, invert, err);
    return s && pattern_regex((struct span){expression, strlen(expression)}, &s->pattern, err);
}

static bool split_at(struct cutter *c, bool (*is)(int32_t), enum behavior behavior, char *err) {
    struct step *s = new_split(c, behavior, false, err);
    return s && pattern_class(is, &s->pattern, err);
}

static bool behavior_of(const json_t *j, const char *what, enum behavior *out, char *err) {
    static const char *const names[] = {"Removed", "Isolated", "Contiguous", "MergedWithPrevious",
                                        "MergedWithNext"};
    struct span text;
    if (!field_text(j, what, "behavior", &text, err)) return false;
    for (int i = 0; i < 5; i++)
        if (!strcmp(text.p, names[i])) {
            *out = (enum behavior)i;
            return true;
        }
    return llm_fail(err, "%s: behavior \"%.80s\" is not supported", what, text.p);
}

static bool load_split(struct cutter *c, const json_t *j, char *err) {
    static const char what[] = "pre_tokenizer Split";
    enum behavior behavior = REMOVED;
    bool invert;
    if (!behavior_of(j, what, &behavior, err) ||
        !field_flag(j, what, "invert", false, &invert, err))
        return false;
    struct step *s = new_split(c, behavior, invert, err);
    return s && pattern_load(json_object_get(j, "pattern"), what, &s->pattern, err);
}

static bool load_byte_level(struct cutter *c, const json_t *j, char *err) {
    static const char what[] = "pre_tokenizer ByteLevel";
    static const char gpt2[] =
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    bool prefix, regex;
    if (!field_flag(j, what, "add_prefix_space", true, &prefix, err) ||
        !field_flag(j, what, "use_regex", true, &regex, err))
        return false;
    c->spells = true;
    return (!prefix || new_step(c, PREFIX, err)) &&
           (!regex || split_by(c, gpt2, ISOLATED, false, err)) && new_step(c, SPELL, err);
}

/* Old files say add_prefix_space, new ones prepend_scheme; "str_rep" is the replacement again. */
static bool load_metaspace(struct cutter *c, const json_t *j, char *err) {
    static const char what[] = "pre_tokenizer Metaspace";
    static const char *const schemes[] = {"always", "first", "never"};
    const json_t *scheme = json_object_get(j, "prepend_scheme");
    const char *name = json_string_value(scheme);
    struct span mark;
    bool prefix, split;
    int which = 0;
    if (!field_char(j, what, "replacement", &mark, err) ||
        !field_flag(j, what, "add_prefix_space", true, &prefix, err) ||
        !field_flag(j, what, "split", true, &split, err))
        return false;
    while (scheme && which < 3 && (!name || strcmp(name, schemes[which])))
        which++;
    if (which == 3) return llm_fail(err, "%s: \"prepend_scheme\" is none that is known", what);
    if (!prefix && scheme && which != NEVER)
        return llm_fail(err, "%s: \"add_prefix_space\" and \"prepend_scheme\" differ", what);
    struct step *s = new_step(c, META, err);
    if (!s) return false;
    s->scheme = prefix ? (enum scheme)which : NEVER;
    s->mark_bytes = mark.n;
    memcpy(s->mark, mark.p, mark.n);
    if (!split) return true;
    s = new_split(c, WITH_NEXT, false, err);
    return s && pattern_literal(mark, &s->pattern, err);
}

static bool load_digits(struct cutter *c, const json_t *j, char *err) {
    bool each;
    return field_flag(j, "pre_tokenizer Digits", "individual_digits", false, &each, err) &&
           split_by(c, each ? "\\p{N}" : "\\p{N}+", ISOLATED, false, err);
}

static bool load_bert(struct cutter *c, const json_t *j, char *err) {
    (void)j;
    return split_at(c, char_is_space, REMOVED, err) &&
           split_at(c, char_is_punctuation, ISOLATED, err);
}

static bool load_punctuation(struct cutter *c, const json_t *j, char *err) {
    enum behavior behavior = ISOLATED;
    return (!json_object_get(j, "behavior") ||
            behavior_of(j, "pre_tokenizer Punctuation", &behavior, err)) &&
           split_at(c, char_is_punctuation, behavior, err);
}

static bool load_whitespace(struct cutter *c, const json_t *j, char *err) {
    (void)j;
    return split_by(c, "[\\w\\x{200c}\\x{200d}]+|[^\\w\\s\\x{200c}\\x{200d}]+", REMOVED, true, err);
}

static bool load_whitespace_split(struct cutter *c, const json_t *j, char *err) {
    (void)j;
    return split_at(c, char_is_space, REMOVED, err);
}

static bool load_delimiter(struct cutter *c, const json_t *j, char *err) {
    struct span delimiter;
    if (!field_char(j, "pre_tokenizer CharDelimiterSplit", "delimiter", &delimiter, err))
        return false;
    struct step *s = new_split(c, REMOVED, false, err);
    return s && pattern_literal(delimiter, &s->pattern, err);
}

static const struct {
    const char *name, *fields;
    bool (*load)(struct cutter *, const json_t *, char *err);
} kinds[] = {
    {"Split", "type pattern behavior invert", load_split},
    {"ByteLevel", "type add_prefix_space trim_offsets use_regex", load_byte_level},
    {"Metaspace", "type replacement add_prefix_space prepend_scheme split str_rep", load_metaspace},
    {"Digits", "type individual_digits", load_digits},
    {"BertPreTokenizer", "type", load_bert},
    {"Punctuation", "type behavior", load_punctuation},
    {"Whitespace", "type", load_whitespace},
    {"WhitespaceSplit", "type", load_whitespace_split},
    {"CharDelimiterSplit", "type delimiter", load_delimiter},
};

static bool load(struct cutter *c, const json_t *j, int depth, char *err) {
    const char *type = type_of(j);
    if (!strcmp(type, "Sequence") && depth < MAX_DEPTH) {
        const json_t *list = json_object_get(j, "pretokenizers");
        if (!fields_known(j, "pre_tokenizer Sequence", "type pretokenizers", err)) return false;
        for (size_t i = 0; i < json_array_size(list); i++)
            if (!load(c, json_array_get(list, i), depth + 1, err)) return false;
        return json_is_array(list) || llm_fail(err, "pre_tokenizer Sequence without a list");
    }
    if (c->spells) return llm_fail(err, "pre_tokenizer: ByteLevel must be the last step");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(type, kinds[i].name))
            return fields_known(j, "pre_tokenizer", kinds[i].fields, err) &&
                   kinds[i].load(c, j, err);
    return llm_fail(err, "pre_tokenizer \"%.80s\" is not supported", type);
}

bool cutter_load(const json_t *j, struct cutter **out, char *err) {
    *out = calloc(1, sizeof **out);
    if (!*out) return llm_fail(err, "out of memory");
    if (!j || json_is_null(j) || load(*out, j, 0, err)) return true;
    cutter_free(*out);
    *out = NULL;
    return false;
}

void cutter_free(struct cutter *c) {
    if (!c) return;
    for (int i = 0; i < c->n; i++)
        pattern_free(c->steps[i].pattern);
    free(c);
}

bool cutter_asks_first(const struct cutter *c) {
    for (int i = 0; i < c->n; i++)
        if (c->steps[i].kind == META && c->steps[i].scheme == FIRST) return true;
    return false;
}

bool cutter_spells(const struct cutter *c) {
    return c->spells;
}

/* ---- cutting ---- */

static bool add_word(struct words *w, const char *p, size_t n, bool first, char *err) {
    if (!n) return true;
    if (w->n == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 64;
        struct word *v = realloc(w->v, cap * sizeof *v);
        if (!v) return llm_fail(err, "out of memory");
        w->v = v;
        w->cap = cap;
    }
    w->v[w->n++] = (struct word){{p, n}, first};
    return true;
}

/* Joins ranges as BEHAVIOR says; those with .match after this are left out. */
static size_t join(struct range *v, size_t n, enum behavior behavior) {
    size_t out = 0;
    bool was_match = false;
    if (behavior == REMOVED) return n;
    for (size_t k = 0; k < n; k++) {
        struct range r = v[behavior == WITH_NEXT ? n - 1 - k : k];
        bool joins = behavior == CONTIGUOUS ? r.match == was_match
                                            : behavior != ISOLATED && r.match && !was_match;
        was_match = r.match;
        r.match = false;
        /* From the end, what is done lies at the end too. */
        if (!joins || !out)
            v[behavior == WITH_NEXT ? n - 1 - out : out] = r, out++;
        else if (behavior == WITH_NEXT)
            v[n - out].from = r.from;
        else
            v[out - 1].to = r.to;
    }
    if (behavior == WITH_NEXT) memmove(v, v + n - out, out * sizeof *v);
    return out;
}

static bool split(const struct step *s, const struct words *in, struct words *out, char *err) {
    struct ranges ranges = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < in->n; i++) {
        struct word w = in->v[i];
        ok = pattern_ranges(s->pattern, w.text, &ranges, err);
        for (size_t k = 0; s->invert && k < ranges.n; k++)
            ranges.v[k].match = !ranges.v[k].match;
        size_t n = ok ? join(ranges.v, ranges.n, s->behavior) : 0;
        for (size_t k = 0; ok && k < n; k++) {
            struct range r = ranges.v[k];
            ok =
                r.match || add_word(out, w.text.p + r.from, r.to - r.from, w.first && !r.from, err);
        }
    }
    free(ranges.v);
    return ok;
}

static bool put_marked(const struct step *s, struct word w, struct bytes *to) {
    size_t before = to->n;
    for (size_t at = 0; at < w.text.n;) {
        const char *space = memchr(w.text.p + at, ' ', w.text.n - at);
        size_t run = space ? (size_t)(space - w.text.p) - at : w.text.n - at;
        if (!bytes_add(to, w.text.p + at, run)) return false;
        if (space && !bytes_add(to, s->mark, s->mark_bytes)) return false;
        at += run + (space != NULL);
    }
    bool wanted = s->scheme == ALWAYS || (s->scheme == FIRST && w.first);
    bool there = to->n - before >= s->mark_bytes && !memcmp(to->p + before, s->mark, s->mark_bytes);
    if (!wanted || there) return true;
    size_t n = to->n - before;
    if (!bytes_add(to, s->mark, s->mark_bytes)) return false;
    memmove(to->p + before + s->mark_bytes, to->p + before, n);
    memcpy(to->p + before, s->mark, s->mark_bytes);
    return true;
}

static bool rewrite(const struct step *s, struct word w, struct bytes *to) {
    switch (s->kind) {
    case META:
        return put_marked(s, w, to);
    case SPELL:
        return spell_bytes(w.text, to);
    default:
        return (w.text.p[0] == ' ' || bytes_add(to, " ", 1)) && bytes_add(to, w.text.p, w.text.n);
    }
}

/* The new words lie in one block; where each is, is known when it is complete. */
static bool rewrite_all(const struct step *s, const struct words *in, struct words *out,
                        char *err) {
    struct bytes block = {0};
    bool ok = bytes_add(&block, "", 0) || llm_fail(err, "out of memory");
    for (size_t i = 0; ok && i < in->n; i++) {
        size_t before = block.n;
        ok = rewrite(s, in->v[i], &block) || llm_fail(err, "out of memory");
        /* Its length for now. */
        ok = ok && add_word(out, "", block.n - before, in->v[i].first, err);
    }
    const char *at = block.p;
    for (size_t i = 0; ok && i < out->n; at += out->v[i++].text.n)
        out->v[i].text.p = at;
    if (ok) out->blocks[out->nblocks++] = block.p;
    if (!ok) free(block.p);
    return ok;
}

bool cutter_apply(const struct cutter *c, struct word text, struct words *out, char *err) {
    bool ok = add_word(out, text.text.p, text.text.n, text.first, err);
    for (int i = 0; ok && i < c->n; i++) {
        struct words next = {0};
        memcpy(next.blocks, out->blocks, sizeof next.blocks);
        next.nblocks = out->nblocks;
        ok = c->steps[i].kind == SPLIT ? split(&c->steps[i], out, &next, err)
                                       : rewrite_all(&c->steps[i], out, &next, err);
        free(out->v);
        *out = next;
    }
    return ok;
}

void words_free(struct words *w) {
    for (int i = 0; i < w->nblocks; i++)
        free(w->blocks[i]);
    free(w->v);
}
