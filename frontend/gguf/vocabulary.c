/* vocabulary.c - the tokenizer of a GGUF file: its tokens, and which of them are special. */
#include "frontend/gguf/vocabulary.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_TOKEN = 1024 }; /* bytes of a token */

#define LETTERS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define ENDING " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define SHORTENED "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define BY_CASE(end)                                                                               \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" end "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER     \
    "*" end
#define PATHS " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* As the tokenizer.json of the models that these names are for have it. */
static const struct splitting splittings[] = {
    {"gpt-2 phi-2 mpt olmo exaone4 gigachat", NULL, false, false, false, false, false},
    {"llama-bpe llama3 llama-v3 falcon3 pixtral", SHORTENED "|" LETTERS "|\\p{N}{1,3}|" ENDING,
     false, false, true, true, false},
    {"qwen2", SHORTENED "|" LETTERS "|\\p{N}|" ENDING, false, true, false, false, false},
    {"deepseek-r1-qwen megrez stablelm2", SHORTENED "|" LETTERS "|\\p{N}|" ENDING, false, false,
     false, false, false},
    {"smaug-bpe dbrx", SHORTENED "|" LETTERS "|\\p{N}{1,3}|" ENDING, false, false, false, false,
     false},
    {"starcoder refact command-r smollm codeshell", NULL, true, false, false, false, false},
    {"tekken", BY_CASE("") "|\\p{N}|" PATHS, false, false, true, true, false},
    {"gpt-4o llama4", BY_CASE(SHORTENED "?") "|\\p{N}{1,3}|" PATHS, false, false, false, false,
     false},
    {"modern-bert", NULL, false, true, false, true, true},
};

static bool names_it(const char *names, struct gguf_text want) {
    for (const char *p = names; *p;) {
        size_t n = strcspn(p, " ");
        if (n == want.bytes && !memcmp(p, want.at, n)) return true;
        p += n + (p[n] == ' ');
    }
    return false;
}

const char *gguf_pre_at(int i) {
    return i < (int)(sizeof splittings / sizeof *splittings) ? splittings[i].names : NULL;
}

static bool find_splitting(struct gguf_vocabulary *v, const char *chosen) {
    const struct gguf *g = v->g;
    struct gguf_text pre;
    if (!gguf_get_text(g, "tokenizer.ggml.pre", &pre)) return false;
    if (chosen) pre = (struct gguf_text){chosen, strlen(chosen)};
    for (size_t i = 0; pre.at && i < sizeof splittings / sizeof *splittings; i++)
        if (names_it(splittings[i].names, pre)) v->split = &splittings[i];
    if (v->split) return true;
    return gguf_fail(g->fault,
                     "%s: metadata \"tokenizer.ggml.pre\" %s%s%s, so how text is split is not "
                     "known (--pre says it; --list-pre names what is known)",
                     g->path, pre.at ? "is \"" : "is missing", pre.at ? gguf_shown(pre) : "",
                     pre.at ? "\"" : "");
}

/* ---- tokens by their text ---- */

const uint64_t vocabulary_base = UINT64_C(0x9e3779b97f4a7c15);

uint64_t vocabulary_hash(uint64_t hash, unsigned char byte) {
    return hash * vocabulary_base + byte + 1;
}

static uint64_t slot_of(uint64_t hash) {
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 29;
}

int vocabulary_find(const struct gguf_vocabulary *v, struct gguf_text text, uint64_t hash) {
    for (uint64_t s = slot_of(hash) & v->mask; v->slots[s]; s = (s + 1) & v->mask) {
        const struct token *t = &v->tokens[v->slots[s] - 1];
        if (t->hash == hash && t->text.bytes == text.bytes &&
            !memcmp(t->text.at, text.at, text.bytes))
            return v->slots[s] - 1;
    }
    return -1;
}

static bool fail_token(const struct gguf_vocabulary *v, int i, const char *why) {
    return gguf_fail(v->g->fault, "%s: metadata \"tokenizer.ggml.tokens\": token %d (\"%s\") %s",
                     v->g->path, i, gguf_shown(v->tokens[i].text), why);
}

static bool index_tokens(struct gguf_vocabulary *v) {
    uint64_t size = 16;
    while (size < 2 * (uint64_t)v->ntokens)
        size *= 2;
    v->mask = size - 1;
    v->slots = et_alloc(v->g->arena, size * sizeof *v->slots);
    for (int i = 0; i < v->ntokens; i++) {
        struct token *t = &v->tokens[i];
        if (!t->text.bytes) continue;
        t->hash = HASH_START;
        for (size_t k = 0; k < t->text.bytes; k++)
            t->hash = vocabulary_hash(t->hash, (unsigned char)t->text.at[k]);
        if (vocabulary_find(v, t->text, t->hash) >= 0) return fail_token(v, i, "is there twice");
        uint64_t s = slot_of(t->hash) & v->mask;
        while (v->slots[s])
            s = (s + 1) & v->mask;
        v->slots[s] = i + 1;
    }
    return true;
}

/* ---- tokens ---- */

/* How many bytes the character at P has, or 0 where it is none, or the one that ends C's strings.
 */
static size_t character(const unsigned char *p, size_t left) {
    size_t n = !*p         ? 0
               : *p < 0x80 ? 1
               : *p < 0xc2 ? 0
               : *p < 0xe0 ? 2
               : *p < 0xf0 ? 3
               : *p < 0xf5 ? 4
                           : 0;
    if (n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    bool bad = (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
               (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f);
    return bad ? 0 : n;
}

static bool is_text(struct gguf_text t) {
    for (size_t i = 0, n; i < t.bytes; i += n)
        if (!(n = character((const unsigned char *)t.at + i, t.bytes - i))) return false;
    return true;
}

static bool check_token(const struct gguf_vocabulary *v, int i) {
    const struct token *t = &v->tokens[i];
    if (t->text.bytes > MOST_TOKEN) return fail_token(v, i, "is longer than 1024 bytes");
    if (!is_text(t->text)) return fail_token(v, i, "is not UTF-8, or has a byte 0");
    if (t->type < TOKEN_NORMAL || t->type > TOKEN_BYTE)
        return fail_token(v, i, "is of a type that is not known");
    return true;
}

/* The array KEY must have an item for each token, where it is there. */
static bool get_aligned(const struct gguf *g, const char *key, enum gguf_type type, uint64_t count,
                        const struct gguf_value **out) {
    if (!gguf_get_array(g, key, type, out)) return false;
    if (!*out || (*out)->count >= count) return true;
    return gguf_fail(g->fault, "%s: metadata \"%s\" has %llu items for %llu tokens", g->path, key,
                     (unsigned long long)(*out)->count, (unsigned long long)count);
}

#define WORD "\xe2\x96\x81" /* U+2581, before what begins a word */

/* Of "bert": what begins a word is marked there, and here what does not ("##"). */
static void mark_pieces(struct gguf_vocabulary *v) {
    size_t mark = strlen(WORD);
    v->lower = true;
    for (int i = 0; i < v->ntokens; i++) {
        struct gguf_text *t = &v->tokens[i].text;
        bool named = t->bytes > 1 && t->at[0] == '[' && t->at[t->bytes - 1] == ']';
        bool begins = t->bytes > mark && !memcmp(t->at, WORD, mark);
        if (v->tokens[i].type == TOKEN_CONTROL || (named && !begins) || !t->bytes) continue;
        if (begins)
            *t = (struct gguf_text){t->at + mark, t->bytes - mark};
        else
            t->at = et_printf(v->g->arena, "##%.*s", (int)t->bytes, t->at), t->bytes += 2;
        for (size_t k = 0; k < t->bytes; k++)
            v->lower &= t->at[k] < 'A' || t->at[k] > 'Z';
    }
}

static bool read_tokens(struct gguf_vocabulary *v) {
    enum { MOST = 1 << 24 };
    const struct gguf *g = v->g;
    const struct gguf_value *texts, *scores, *types;
    if (!gguf_get_array(g, "tokenizer.ggml.tokens", GGUF_STRING, &texts)) return false;
    if (!texts || !texts->count || texts->count > MOST)
        return gguf_fail(g->fault, "%s: metadata \"tokenizer.ggml.tokens\" is missing or %s",
                         g->path, texts && texts->count ? "too long" : "empty");
    if (!get_aligned(g, "tokenizer.ggml.scores", GGUF_F32, texts->count, &scores) ||
        !get_aligned(g, "tokenizer.ggml.token_type", GGUF_I32, texts->count, &types))
        return false;
    if (!v->split && !v->pieces && !scores)
        return gguf_fail(g->fault, "%s: metadata \"tokenizer.ggml.scores\" is missing", g->path);
    const unsigned char *at = texts->at;
    v->ntokens = (int)texts->count;
    v->tokens = et_alloc(g->arena, texts->count * sizeof *v->tokens);
    for (int i = 0; i < v->ntokens; i++) {
        double score = 0;
        int64_t type = TOKEN_NORMAL;
        if (scores) gguf_item_real(scores, (uint64_t)i, &score);
        if (types) gguf_item_int(types, (uint64_t)i, &type);
        v->tokens[i] = (struct token){gguf_next_text(&at), 0, (float)score,
                                      type < 0 || type > TOKEN_BYTE ? 0 : (int)type};
        if (score != score) return fail_token(v, i, "has a score that is no number");
        if (!check_token(v, i)) return false;
    }
    if (v->pieces) mark_pieces(v);
    return index_tokens(v);
}

/* ---- what is special ---- */

static bool get_id(const struct gguf_vocabulary *v, const char *key, int64_t *out) {
    if (!gguf_get_int(v->g, key, -1, out)) return false;
    if (*out >= 0 && *out < v->ntokens && !v->tokens[*out].text.bytes)
        return gguf_fail(v->g->fault, "%s: metadata \"%s\" is %lld, a token without text",
                         v->g->path, key, (long long)*out);
    if (*out >= -1 && *out < v->ntokens) return true;
    if (*out == UINT32_MAX) { /* some write no token so */
        *out = -1;
        return true;
    }
    return gguf_fail(v->g->fault, "%s: metadata \"%s\" is %lld, but there are %d tokens",
                     v->g->path, key, (long long)*out, v->ntokens);
}

/* Text that is its name is token ID, whatever the file has it for: transformers takes the bos and
 * the eos token so, and tokenizers must agree. */
static void mark_special(struct gguf_vocabulary *v, int64_t id) {
    if (id >= 0 && v->tokens[id].type != TOKEN_UNKNOWN) v->tokens[id].type = TOKEN_CONTROL;
}

static void add_end(struct gguf_vocabulary *v, int64_t id) {
    for (int i = 0; i < v->nends; i++)
        if (v->ends[i] == id) return;
    if (id >= 0 && v->nends < (int)(sizeof v->ends / sizeof *v->ends)) v->ends[v->nends++] = id;
}

/* An answer ends with more tokens than eos: those that the file names, and those that have a name
 * which in all models stands for the end of a turn. Files have these of any type: they are
 * markers all the same. */
static bool find_ends(struct gguf_vocabulary *v) {
    static const char *const keys[] = {"tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    static const char *const texts[] = {"<|eot_id|>",      "<|im_end|>",        "<|end|>",
                                        "<end_of_turn>",   "<|endoftext|>",     "<|eom_id|>",
                                        "<|end_of_text|>", "<end_of_utterance>"};
    int64_t id;
    add_end(v, v->eos);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!get_id(v, keys[i], &id)) return false;
        add_end(v, id);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t hash = HASH_START;
        for (const char *p = texts[i]; *p; p++)
            hash = vocabulary_hash(hash, (unsigned char)*p);
        id = vocabulary_find(v, (struct gguf_text){texts[i], strlen(texts[i])}, hash);
        if (id < 0 || v->tokens[id].type == TOKEN_UNUSED) continue;
        mark_special(v, id);
        add_end(v, id);
    }
    return true;
}

const struct gguf_fim gguf_fims[6] = {
    {"prefix", "fim_pre", "prefix"}, {"suffix", "fim_suf", "suffix"},
    {"middle", "fim_mid", "middle"}, {"repository", "fim_rep", NULL},
    {"file", "fim_sep", NULL},       {"padding", "fim_pad", NULL},
};

static bool read_fim(struct gguf_vocabulary *v) {
    for (size_t i = 0; i < sizeof gguf_fims / sizeof *gguf_fims; i++) {
        const char *keys[] = {gguf_fims[i].former, gguf_fims[i].key};
        v->fim[i] = -1;
        for (int k = 0; k < 2; k++) {
            int64_t id = -1;
            if (keys[k] &&
                !get_id(v, et_printf(v->g->arena, "tokenizer.ggml.%s_token_id", keys[k]), &id))
                return false;
            if (id >= 0) v->fim[i] = id;
        }
    }
    return true;
}

/* The token KEY, or OTHER, or what has that TEXT; -1 where there is none. */
static bool get_named(const struct gguf_vocabulary *v, const char *key, const char *other,
                      const char *text, int64_t *out) {
    uint64_t hash = HASH_START;
    for (const char *p = text; *p; p++)
        hash = vocabulary_hash(hash, (unsigned char)*p);
    if (!get_id(v, key, out) || (*out < 0 && !get_id(v, other, out))) return false;
    if (*out < 0) *out = vocabulary_find(v, (struct gguf_text){text, strlen(text)}, hash);
    return true;
}

/* Of "bert": a text stands between the token that says what it is and the one that ends it. */
static bool read_frame(struct gguf_vocabulary *v) {
    if (!v->pieces) return true;
    if (!gguf_get_bool(v->g, "tokenizer.ggml.normalizer.lowercase", v->lower, &v->lower) ||
        !get_named(v, "tokenizer.ggml.cls_token_id", "tokenizer.ggml.bos_token_id", "[CLS]",
                   &v->bos) ||
        !get_named(v, "tokenizer.ggml.seperator_token_id", "tokenizer.ggml.eos_token_id", "[SEP]",
                   &v->eos) ||
        !get_named(v, "tokenizer.ggml.unknown_token_id", "tokenizer.ggml.unknown_token_id", "[UNK]",
                   &v->unknown))
        return false;
    if (v->bos < 0 || v->eos < 0 || v->unknown < 0)
        return gguf_fail(v->g->fault,
                         "%s: metadata \"tokenizer.ggml.tokens\" has no %s, which texts of "
                         "\"bert\" need",
                         v->g->path,
                         v->bos < 0   ? "[CLS]"
                         : v->eos < 0 ? "[SEP]"
                                      : "[UNK]");
    v->tokens[v->unknown].type = TOKEN_UNKNOWN;
    return true;
}

static bool read_specials(struct gguf_vocabulary *v) {
    const struct gguf *g = v->g;
    bool bos = v->split ? v->split->bos : !v->sums;
    bool eos = v->pieces || v->sums || (v->split && v->split->framed);
    if (!get_id(v, "tokenizer.ggml.bos_token_id", &v->bos) ||
        !get_id(v, "tokenizer.ggml.eos_token_id", &v->eos) ||
        !get_id(v, "tokenizer.ggml.unknown_token_id", &v->unknown) ||
        !get_id(v, "tokenizer.ggml.padding_token_id", &v->padding) ||
        !get_id(v, "tokenizer.ggml.mask_token_id", &v->masked) || !read_frame(v) ||
        !gguf_get_bool(g, "tokenizer.ggml.add_bos_token", bos, &v->add_bos) ||
        !gguf_get_bool(g, "tokenizer.ggml.add_eos_token", eos, &v->add_eos) ||
        !gguf_get_bool(g, "tokenizer.ggml.add_space_prefix", !v->split && !v->pieces,
                       &v->add_space) ||
        !gguf_get_text(g, "tokenizer.chat_template", &v->chat))
        return false;
    v->add_bos = v->add_bos && v->bos >= 0;
    v->add_eos = v->add_eos && v->eos >= 0;
    if (v->chat.at && !is_text(v->chat))
        return gguf_fail(g->fault,
                         "%s: metadata \"tokenizer.chat_template\" is not UTF-8, or has a byte 0",
                         g->path);
    mark_special(v, v->bos);
    mark_special(v, v->eos);
    if (v->pieces || v->sums) mark_special(v, v->padding), mark_special(v, v->masked);
    return read_fim(v) && find_ends(v);
}

/* Of "gpt2": each merge is two pieces with a space between. */
static bool read_merges(struct gguf_vocabulary *v) {
    const struct gguf *g = v->g;
    const struct gguf_value *merges;
    if (!gguf_get_array(g, "tokenizer.ggml.merges", GGUF_STRING, &merges)) return false;
    if (!merges)
        return gguf_fail(g->fault, "%s: metadata \"tokenizer.ggml.merges\" is missing", g->path);
    v->merges = *merges;
    const unsigned char *at = merges->at;
    for (uint64_t i = 0; i < merges->count; i++) {
        struct gguf_text t = gguf_next_text(&at);
        const char *space = memchr(t.at, ' ', t.bytes);
        bool two = space && space > t.at && space + 1 < t.at + t.bytes &&
                   !memchr(space + 1, ' ', (size_t)(t.at + t.bytes - space - 1));
        if (!two || !is_text(t))
            return gguf_fail(g->fault,
                             "%s: metadata \"tokenizer.ggml.merges\": merge %llu (\"%s\") is not "
                             "two pieces of text",
                             g->path, (unsigned long long)i, gguf_shown(t));
    }
    return true;
}

static bool is_token(const struct gguf_vocabulary *v, const char *at, size_t bytes) {
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < bytes; i++)
        hash = vocabulary_hash(hash, (unsigned char)at[i]);
    return vocabulary_find(v, (struct gguf_text){at, bytes}, hash) >= 0;
}

/* Merges are of tokens, and make one: nothing reads a tokenizer.json whose merges do not. */
static bool check_merges(const struct gguf_vocabulary *v) {
    const unsigned char *at = v->merges.at;
    char whole[2 * MOST_TOKEN];
    for (uint64_t i = 0; i < v->merges.count; i++) {
        struct gguf_text t = gguf_next_text(&at);
        size_t left = (size_t)((const char *)memchr(t.at, ' ', t.bytes) - t.at);
        size_t right = t.bytes - left - 1;
        bool ok = left + right <= sizeof whole && is_token(v, t.at, left) &&
                  is_token(v, t.at + left + 1, right);
        if (ok) {
            memcpy(whole, t.at, left);
            memcpy(whole + left, t.at + left + 1, right);
            ok = is_token(v, whole, left + right);
        }
        if (!ok)
            return gguf_fail(v->g->fault,
                             "%s: metadata \"tokenizer.ggml.merges\": merge %llu (\"%s\") is of "
                             "pieces, or makes one, that are no tokens",
                             v->g->path, (unsigned long long)i, gguf_shown(t));
    }
    return true;
}

/* Keys of the tokenizer that nothing is known of may change which tokens a text has. Names of
 * tokens do not. */
static bool refuse_unknown(const struct gguf_vocabulary *v) {
    const struct gguf *g = v->g;
    static const char before[] = "tokenizer.ggml.", behind[] = "_token_id";
    static const char known[] = "model pre tokens token_type token_type_count scores merges "
                                "add_bos_token add_eos_token add_sep_token add_space_prefix "
                                "remove_extra_whitespaces";
    size_t n = sizeof before - 1, k = sizeof behind - 1;
    for (int i = 0; i < g->nvalues; i++) {
        struct gguf_text key = g->values[i].key;
        if (key.bytes <= n || memcmp(key.at, before, n) != 0) continue;
        struct gguf_text rest = {key.at + n, key.bytes - n};
        if (rest.bytes > k && !memcmp(rest.at + rest.bytes - k, behind, k)) continue;
        if (v->pieces && names_it("normalizer.lowercase", rest)) continue;
        if (v->sums && names_it("precompiled_charsmap", rest)) continue;
        if (!names_it(known, rest) && !gguf_says_nothing(&g->values[i]))
            return gguf_fail(g->fault,
                             "%s: metadata \"%s\" may change how text is read, and nothing is "
                             "known of it",
                             g->path, gguf_shown(key));
    }
    return true;
}

/* Text may be cleaned in ways that no file of these families asks for. */
static bool check_cleaning(struct gguf_vocabulary *v) {
    bool on;
    if (!gguf_get_bool(v->g, "tokenizer.ggml.remove_extra_whitespaces", false, &on)) return false;
    v->narrow = on && v->sums;
    return !on || v->sums ||
           gguf_fail(v->g->fault,
                     "%s: metadata \"tokenizer.ggml.remove_extra_whitespaces\" is true, "
                     "which is not supported",
                     v->g->path);
}

/* Of "t5": texts begin with a space, and characters are changed by a table. */
static bool read_sums(struct gguf_vocabulary *v) {
    enum { MOST = 1 << 24 };
    const struct gguf *g = v->g;
    const char *key = "tokenizer.ggml.precompiled_charsmap";
    const struct gguf_value *map = gguf_find(g, key);
    bool space;
    if (!gguf_get_bool(g, "tokenizer.ggml.add_space_prefix", true, &space)) return false;
    if (!space)
        return gguf_fail(g->fault,
                         "%s: metadata \"tokenizer.ggml.add_space_prefix\" is false, which is not "
                         "supported for \"t5\"",
                         g->path);
    if (!map) return true;
    if (map->type != GGUF_ARRAY || gguf_type_bytes(map->item) != 1 || map->count > MOST)
        return gguf_fail(g->fault, "%s: metadata \"%s\" is no list of bytes", g->path, key);
    v->charsmap = *map;
    return true;
}

bool gguf_vocabulary_read(const struct gguf *g, const char *pre, struct gguf_vocabulary **out) {
    struct gguf_text model, arch;
    *out = NULL;
    if (!gguf_get_text(g, "tokenizer.ggml.model", &model)) return false;
    if (!model.at || gguf_is(model, "no_vocab") || gguf_is(model, "none")) return true;
    struct gguf_vocabulary *v = et_alloc(g->arena, sizeof *v);
    v->g = g;
    bool bpe = gguf_is(model, "gpt2");
    v->pieces = gguf_is(model, "bert");
    v->sums = gguf_is(model, "t5");
    if (!bpe && !v->pieces && !v->sums && !gguf_is(model, "llama"))
        return gguf_fail(
            g->fault,
            "%s: metadata \"tokenizer.ggml.model\" is \"%s\"; supported: gpt2, llama, bert, t5",
            g->path, gguf_shown(model));
    if (!gguf_get_text(g, "general.architecture", &arch)) return false;
    v->doubled = !v->pieces && arch.at && gguf_is(arch, "bert");
    if (bpe && (!find_splitting(v, pre) || !read_merges(v))) return false;
    if (v->sums && !read_sums(v)) return false;
    if (!refuse_unknown(v) || !check_cleaning(v) || !read_tokens(v) || !check_merges(v) ||
        !read_specials(v))
        return false;
    *out = v;
    return true;
}

int64_t gguf_vocabulary_size(const struct gguf_vocabulary *v) {
    return v->ntokens;
}
