/* parts.h - the steps of the tokenizer, shared by its files only.
 *
 * Texts are spans of valid UTF-8 unless something else is said. What returns false for want of
 * memory only has no ERR; the others leave a line there. */
#ifndef LLM_TOKENIZER_PARTS_H
#define LLM_TOKENIZER_PARTS_H

#include "examples/llm/base/json_file.h"
#include "examples/llm/base/table.h"
#include "examples/llm/tokenizer/tokenizer.h"

enum {
    MAX_STEPS = 32, /* of a normalizer, a pre_tokenizer or a decoder */
    MAX_DEPTH = 4,  /* of a Sequence in a Sequence */
    MAX_PIECE =
        4096, /* bytes of a token: how far one is looked for from every position of a text */
};

struct span {
    const char *p;
    size_t n;
};

/* ---- utf8.c ---- */

/* A growable string of bytes; start with {0}, end with free(p). After the first addition a NUL
 * follows it. */
struct bytes {
    char *p;
    size_t n, cap;
};
bool bytes_add(struct bytes *, const char *p, size_t n);

/* What the N bytes at TEXT begin with, N at least 1: the length of a character; 0, a character
 * whose end is missing; or -K where the first K bytes are part of no character (but may look like
 * the beginning of one). */
int utf8_scan(const char *text, size_t n);
/* How many bytes of TEXT are whole characters, from its beginning. */
size_t utf8_valid(const char *text, size_t n);

/* Lets bytes through as whole characters, U+FFFD for what is part of none. Start with {0}. */
struct utf8_gate {
    char held[4];
    int n;
    bool each_byte; /* one U+FFFD for each bad byte, not for each broken character */
};
bool utf8_gate_put(struct utf8_gate *, const char *p, size_t n, struct bytes *out);
bool utf8_gate_end(struct utf8_gate *, struct bytes *out);

/* ---- unicode.c ---- */

int32_t utf8_next(struct span text, size_t *at); /* the character there; goes on behind it */
bool utf8_add(struct bytes *, int32_t c);
bool char_is_space(int32_t c);       /* White_Space */
bool char_is_punctuation(int32_t c); /* P, and what else of ASCII is neither letter nor digit */
bool char_is_mark(int32_t c);        /* M */
bool char_is_accent(int32_t c);      /* Mn */
bool char_is_control(int32_t c);     /* Cc, Cf, Co */
bool char_is_word(int32_t c);        /* \w of Unicode's annex on expressions */
bool text_lowercase(struct span, struct bytes *out);
/* NFD; NFC with COMPOSE; NFKD and NFKC with COMPATIBLE. Time grows with the text only. */
bool text_normal_form(struct span, bool compose, bool compatible, struct bytes *out);
/* Where the grapheme that begins AT ends. */
size_t text_grapheme(struct span, size_t at);

/* ---- fields.c: WHAT names the component in errors ---- */

const char *type_of(const json_t *); /* "" where there is none */
/* NAMES, with spaces between, are the fields J may have. */
bool fields_known(const json_t *j, const char *what, const char *names, char *err);
bool field_flag(const json_t *, const char *what, const char *key, bool otherwise, bool *out,
                char *err);
bool field_text(const json_t *, const char *what, const char *key, struct span *out, char *err);
bool field_char(const json_t *, const char *what, const char *key, struct span *out, char *err);
bool field_count(const json_t *, const char *what, const char *key, int32_t *out, char *err);

/* ---- vocab.c ---- */

struct vocab {
    struct span *pieces; /* by id; .p NULL in a hole */
    int32_t size;
    char *bytes, *at; /* of all pieces */
    struct table ids;
};
bool vocab_reserve(struct vocab *, int32_t size, size_t bytes, char *err);
/* ID and TEXT must have been reserved for. */
bool vocab_add(struct vocab *, int32_t id, struct span text, char *err);
bool vocab_load(struct vocab *, json_t *names, char *err);
void vocab_free(struct vocab *);
int32_t vocab_id(const struct vocab *, struct span text); /* -1: none */
int32_t vocab_byte(const struct vocab *, int byte);       /* of "<0xHH>" */

/* Keys by what a text begins with. Add all, sort, then walk a text byte by byte. Keys are not
 * copied. Of keys that are alike, the one with the least value is found. */
struct prefix {
    struct span key;
    int32_t value;
};
struct prefixes {
    struct prefix *v;
    size_t n, cap;
    size_t first[257]; /* of each first byte */
};
struct prefix_walk {
    size_t lo, hi, depth;
};
bool prefixes_add(struct prefixes *, struct span key, int32_t value);
void prefixes_sort(struct prefixes *);
struct prefix_walk prefix_start(const struct prefixes *);
bool prefix_step(const struct prefixes *, struct prefix_walk *, char c);  /* false: no key does */
int32_t prefix_here(const struct prefixes *, const struct prefix_walk *); /* that key, or -1 */

/* ---- expression.c: Oniguruma's expressions as PCRE2's ---- */

/* *OUT is freed by the caller, after a failure too. */
bool expression_translate(struct span, struct bytes *out, char *err);

/* ---- pattern.c: what a text is cut by ---- */

struct pattern;
bool pattern_regex(struct span expression, struct pattern **out, char *err);
bool pattern_literal(struct span text, struct pattern **out, char *err);
bool pattern_class(bool (*is)(int32_t c), struct pattern **out, char *err);
/* {"Regex": ...} or {"String": ...} */
bool pattern_load(const json_t *, const char *what, struct pattern **out, char *err);
void pattern_free(struct pattern *);

struct range {
    size_t from, to;
    bool match;
};
struct ranges {
    struct range *v;
    size_t n, cap;
};
/* Matches and what is between them, in order: the whole of TEXT. Replaces what is in OUT. */
bool pattern_ranges(const struct pattern *, struct span text, struct ranges *out, char *err);
/* TEXT with CONTENT for every match, at most LIMIT bytes in OUT. */
bool pattern_replace(const struct pattern *, struct span text, struct span content, size_t limit,
                     struct bytes *out, char *err);

/* ---- charsmap.c: normalisation by a table in the file ---- */

struct charsmap;
bool charsmap_load(struct span base64, struct charsmap **out, char *err);
void charsmap_free(struct charsmap *);
bool charsmap_apply(const struct charsmap *, struct span text, size_t limit, struct bytes *out,
                    char *err);

/* ---- normalizer.c ---- */

struct normalizer;
bool normalizer_load(const json_t *, struct normalizer **out, char *err); /* null is fine */
void normalizer_free(struct normalizer *);
/* *OUT is freed by the caller, after a failure too. *OUT_FIRST, unless NULL, becomes false where
 * OUT does not begin with what came of TEXT's first character. */
bool normalizer_apply(const struct normalizer *, struct span text, struct bytes *out,
                      bool *out_first, char *err);

/* ---- words.c: the pre_tokenizer ---- */

struct word {
    struct span text;
    bool first; /* begins where the whole text does */
};
struct words {
    struct word *v;
    size_t n, cap;
    char *blocks[MAX_STEPS]; /* what the words point into, where it is not the text */
    int nblocks;
};
struct cutter;
bool cutter_load(const json_t *, struct cutter **out, char *err); /* null is fine */
void cutter_free(struct cutter *);
/* OUT starts with {0} and is freed after a failure too. Words may point into TEXT. */
bool cutter_apply(const struct cutter *, struct word text, struct words *out, char *err);
void words_free(struct words *);
/* It matters which word is the first. */
bool cutter_asks_first(const struct cutter *);
/* Words are of bytes spelled as characters, one for each. */
bool cutter_spells(const struct cutter *);

/* ---- alphabet.c: bytes spelled as printable characters ---- */

bool spell_bytes(struct span any, struct bytes *out);
/* False: not in the alphabet; then nothing is added. */
bool unspell_bytes(struct span text, struct bytes *out, bool *out_memory);
int byte_of_char(int32_t c); /* or -1 */

/* ---- the models: model.c chooses one ---- */

struct model {
    struct vocab vocab;
    int32_t unk; /* -1: none */
    void *data;
    bool *special; /* by id: the pieces that are special tokens */
    /* Without SPECIALS no piece of the word is a special token, but for the unknown one. */
    bool (*encode)(const struct model *, struct span word, bool specials, struct ids *, char *err);
    void (*free_data)(void *);
    bool byte_fallback;
    bool spelled; /* words are bytes spelled as characters */
    bool drops;   /* a character without a piece is left out, where there is no unknown one */
};
/* Counts the character C, or the byte that it spells, as left out. */
void model_drop(const struct model *, int32_t c, struct ids *);
bool model_load(json_t *, struct model **out, char *err);
void model_free(struct model *);
/* A word of the text; SPECIALS as above. */
bool model_encode(const struct model *, struct span word, bool specials, struct ids *, char *err);
/* The piece that is TEXT as a whole, or -1. */
int32_t model_piece(const struct model *, struct span text, bool specials);
/* One byte that is part of no character. */
bool model_encode_byte(const struct model *, char byte, struct ids *, char *err);

/* Each fills what is its own; the fields known are checked. */
bool bpe_load(struct model *, json_t *, char *err);
bool unigram_load(struct model *, json_t *, char *err);
bool wordpiece_load(struct model *, json_t *, char *err);
bool wordlevel_load(struct model *, json_t *, char *err);

/* ---- added.c: pieces of text that are one token wherever they stand ---- */

struct added {
    struct span text;
    char *normal; /* as it looks after normalisation, where it is looked for there; or NULL */
    size_t normal_bytes;
    int32_t id;
    bool special; /* a marker, not shown in decoded text */
    bool normalised, single_word, lstrip, rstrip;
};
struct added_tokens {
    struct added *v;
    size_t n;
    char *texts;
    struct prefixes before, after; /* normalisation; values are numbers in V */
};
bool added_load(struct added_tokens *, const json_t *, const struct normalizer *, char *err);
void added_free(struct added_tokens *);
/* The next token in TEXT from AT on, looked for before or after normalisation; *OUT_FROM, *OUT_TO
 * is the part of the text it takes, and not before DONE. -1: no more. */
int32_t added_next(const struct added_tokens *, struct span text, bool normalised, bool specials,
                   size_t done, size_t *at, size_t *out_from, size_t *out_to);

/* ---- template.c: the post_processor ---- */

struct template {
    struct ids prefix, suffix; /* put around a text */
    bool there;                /* one was read */
    /* Put before, between and behind two texts. */
    struct template_pair {
        struct ids before, between, after;
        size_t second; /* as many of BETWEEN belong to the first text; the rest is of type 1 */
        bool alike;    /* all of it is of type 0 */
        bool none;     /* the template of the file is of another kind */
    } pair;
};
bool template_load(struct template *, const json_t *, char *err);
void template_free(struct template *);

/* ---- decoding.c: the decoder of the file ---- */

struct decoding;
bool decoding_load(const json_t *, struct decoding **out, char *err);
void decoding_free(struct decoding *);
/* What a token adds to a text. A token behind others always adds the same; the first may differ. */
bool decoding_apply(const struct decoding *, struct span token, bool first, struct bytes *out,
                    char *err);
bool decoding_first_differs(const struct decoding *);
/* It reads the alphabet of bytes. */
bool decoding_unspells(const struct decoding *);
/* Of the whole text: is a bad byte one U+FFFD each; the ASCII character cut off at its ends, how
 * often. */
struct decoding_ends {
    bool each_byte;
    char strip;
    int32_t start, stop;
};
struct decoding_ends decoding_ends(const struct decoding *);

/* ---- tokenizer.c, for decoder.c ---- */

const struct decoding *tokenizer_decoding(const struct tokenizer *);
/* What the file calls token ID; .p NULL for none. */
struct span tokenizer_name(const struct tokenizer *, int32_t id);

#endif
