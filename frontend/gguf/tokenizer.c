/* tokenizer.c - tokenizer.json and the files beside it.
 *
 * tokenizer.json is written as it goes: a large vocabulary as a tree of JSON would take more memory
 * than all else here. */
#include "frontend/gguf/vocabulary.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MARK "\xe2\x96\x81" /* U+2581, what pieces have for a space */

/* ---- text ---- */

static void put_text(FILE *f, struct gguf_text t) {
    putc('"', f);
    for (size_t i = 0; i < t.bytes; i++) {
        unsigned char c = (unsigned char)t.at[i];
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < ' ')
            fprintf(f, "\\u%04x", c);
        else
            putc(c, f);
    }
    putc('"', f);
}

static void put_string(FILE *f, const char *s) {
    put_text(f, (struct gguf_text){s, strlen(s)});
}

/* ---- parts that are the same for all tokens ---- */

static bool is_special(const struct token *t) {
    return t->text.bytes && (t->type == TOKEN_CONTROL || t->type == TOKEN_UNKNOWN);
}

/* Tokens that are found in a text before anything is split. */
static bool is_added(const struct token *t) {
    return is_special(t) || (t->text.bytes && t->type == TOKEN_USER);
}

static void put_added(const struct gguf_vocabulary *v, FILE *f) {
    const char *comma = "";
    fprintf(f, "\"added_tokens\":[");
    for (int i = 0; i < v->ntokens; i++) {
        const struct token *t = &v->tokens[i];
        if (!is_added(t)) continue;
        fprintf(f, "%s\n{\"id\":%d,\"content\":", comma, i);
        put_text(f, t->text);
        fprintf(f,
                ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,"
                "\"special\":%s}",
                t->type == TOKEN_USER ? "false" : "true");
        comma = ",";
    }
    fprintf(f, "],\n");
}

/* Of "bert": programs that read such files clean texts, and strip accents where letters are made
 * small. */
static void put_cleaning(const struct gguf_vocabulary *v, FILE *f) {
    fprintf(f,
            "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,"
            "\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":%s},\n"
            "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\n",
            v->lower ? "true" : "false");
}

static void put_base64(FILE *f, const unsigned char *p, uint64_t n) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (uint64_t i = 0; i < n; i += 3) {
        uint32_t word =
            (uint32_t)p[i] << 16 | (i + 1 < n ? p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);
        for (int k = 0; k < 4; k++)
            putc(i + (uint64_t)k > n ? '=' : letters[word >> (18 - 6 * k) & 63], f);
    }
}

/* Of "t5": characters are changed by a table; spaces become one, and none at the end. */
static void put_spaces(const struct gguf_vocabulary *v, FILE *f) {
    fprintf(f, "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[");
    if (v->charsmap.count) {
        fprintf(f, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"");
        put_base64(f, v->charsmap.at, v->charsmap.count);
        fprintf(f, "\"}%s", v->narrow ? "," : "");
    }
    if (v->narrow)
        fprintf(f, "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"},"
                   "{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":true}");
    fprintf(f, "]},\n\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" MARK
               "\",\"prepend_scheme\":\"always\",\"split\":true},\n");
}

static void put_normalizer(const struct gguf_vocabulary *v, FILE *f) {
    static const char marks[] =
        "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"" MARK "\"}";
    fprintf(f, "\"normalizer\":");
    if (v->split)
        fprintf(f, v->split->nfc ? "{\"type\":\"NFC\"}" : "null");
    else if (v->add_space)
        fprintf(f,
                "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"" MARK
                "\"},%s]}",
                marks);
    else
        fprintf(f, "%s", marks);
    fprintf(f, ",\n");
}

static void put_bytes(FILE *f, bool words) {
    fprintf(f,
            "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,"
            "\"use_regex\":%s}",
            words ? "true" : "false");
}

static void put_splitting(const struct gguf_vocabulary *v, FILE *f) {
    const struct splitting *s = v->split;
    fprintf(f, "\"pre_tokenizer\":");
    if (!s) {
        fprintf(f, "null,\n");
        return;
    }
    fprintf(f, "{\"type\":\"Sequence\",\"pretokenizers\":[");
    if (s->digits) fprintf(f, "{\"type\":\"Digits\",\"individual_digits\":true},");
    if (s->pattern) {
        fprintf(f, "{\"type\":\"Split\",\"pattern\":{\"Regex\":");
        put_string(f, s->pattern);
        fprintf(f, "},\"behavior\":\"Isolated\",\"invert\":false},");
    }
    put_bytes(f, !s->pattern);
    fprintf(f, "]},\n");
}

static void put_special(const struct gguf_vocabulary *v, FILE *f, int64_t id, int text) {
    fprintf(f, "{\"SpecialToken\":{\"id\":");
    put_text(f, v->tokens[id].text);
    fprintf(f, ",\"type_id\":%d}}", text);
}

/* Of "bert" each text of a pair has its end, and a number; of models of its architecture with other
 * tokens the first one has two. */
static void put_sequence(const struct gguf_vocabulary *v, FILE *f, const char *name,
                         const char *ids) {
    fprintf(f, "\"%s\":[", name);
    if (v->add_bos) {
        put_special(v, f, v->bos, 0);
        fprintf(f, ",");
    }
    for (const char *p = ids; *p; p++) {
        int text = v->pieces ? (int)(p - ids) : 0;
        fprintf(f, "%s{\"Sequence\":{\"id\":\"%c\",\"type_id\":%d}}", p > ids ? "," : "", *p, text);
        int ends = !v->add_eos || (p[1] && !v->pieces && !v->doubled) ? 0
                   : p[1] && v->doubled                               ? 2
                                                                      : 1;
        for (int i = 0; i < ends; i++) {
            fprintf(f, ",");
            put_special(v, f, v->eos, text);
        }
    }
    fprintf(f, "],");
}

static void put_meaning(const struct gguf_vocabulary *v, FILE *f, int64_t id) {
    put_text(f, v->tokens[id].text);
    fprintf(f, ":{\"id\":");
    put_text(f, v->tokens[id].text);
    fprintf(f, ",\"ids\":[%d],\"tokens\":[", (int)id);
    put_text(f, v->tokens[id].text);
    fprintf(f, "]}");
}

/* What is put around a text. */
static void put_template(const struct gguf_vocabulary *v, FILE *f) {
    if (!v->add_bos && !v->add_eos) {
        fprintf(f, "\"post_processor\":null,\n");
        return;
    }
    fprintf(f, "\"post_processor\":{\"type\":\"TemplateProcessing\",");
    put_sequence(v, f, "single", "A");
    put_sequence(v, f, "pair", "AB");
    fprintf(f, "\"special_tokens\":{");
    if (v->add_bos) put_meaning(v, f, v->bos);
    if (v->add_eos && !(v->add_bos && v->bos == v->eos)) {
        fprintf(f, "%s", v->add_bos ? "," : "");
        put_meaning(v, f, v->eos);
    }
    fprintf(f, "}},\n");
}

static void put_decoder(const struct gguf_vocabulary *v, FILE *f) {
    fprintf(f, "\"decoder\":");
    if (v->sums) {
        fprintf(f, "{\"type\":\"Metaspace\",\"replacement\":\"" MARK
                   "\",\"prepend_scheme\":\"always\",\"split\":true}");
    } else if (v->pieces) {
        fprintf(f, "{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}");
    } else if (v->split) {
        put_bytes(f, true);
    } else {
        fprintf(f, "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":"
                   "{\"String\":\"" MARK "\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},"
                   "{\"type\":\"Fuse\"}");
        if (v->add_space)
            fprintf(f, ",{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}");
        fprintf(f, "]}");
    }
    fprintf(f, ",\n");
}

/* ---- merges of pieces with scores ---- */

struct merge {
    float score;
    int whole, left; /* the token, and how many bytes of it are its left piece */
};

/* May the piece come out of merging, or go into it? Unused ones may, as in what reads such files:
 * others are made of them. */
static bool is_merged(const struct token *t) {
    return t->type == TOKEN_NORMAL || t->type == TOKEN_USER || t->type == TOKEN_UNUSED;
}

/* All ways to put token I together from two others. */
static void find_merges(const struct gguf_vocabulary *v, int i, struct merge **out, int *n,
                        int *cap) {
    const struct gguf_text t = v->tokens[i].text;
    uint64_t head = HASH_START, tail, power = 1;
    uint64_t tails[1025];
    /* The hash of the last k bytes: what they add to that of all, and a start of their own. */
    tails[0] = 0;
    for (size_t k = 1; k <= t.bytes; k++) {
        tails[k] = tails[k - 1] + ((unsigned char)t.at[t.bytes - k] + 1) * power;
        power *= vocabulary_base;
    }
    uint64_t powers[1025];
    powers[0] = 1;
    for (size_t k = 1; k <= t.bytes; k++)
        powers[k] = powers[k - 1] * vocabulary_base;
    for (size_t k = 1; k < t.bytes; k++) {
        size_t rest = t.bytes - k;
        head = vocabulary_hash(head, (unsigned char)t.at[k - 1]);
        tail = HASH_START * powers[rest] + tails[rest];
        int a = vocabulary_find(v, (struct gguf_text){t.at, k}, head);
        if (a < 0 || !is_merged(&v->tokens[a])) continue;
        int b = vocabulary_find(v, (struct gguf_text){t.at + k, rest}, tail);
        if (b < 0 || !is_merged(&v->tokens[b])) continue;
        ET_GROW(v->g->arena, *out, *n, *cap);
        (*out)[(*n)++] = (struct merge){v->tokens[i].score, i, (int)k};
    }
}

/* The token with the highest score is made first; one that is longer to the left before others. */
static int by_rank(const void *a, const void *b) {
    const struct merge *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    if (x->whole != y->whole) return x->whole < y->whole ? -1 : 1;
    return x->left > y->left ? -1 : x->left < y->left;
}

static void put_scored_merges(const struct gguf_vocabulary *v, FILE *f) {
    struct merge *merges = NULL;
    int n = 0, cap = 0;
    for (int i = 0; i < v->ntokens; i++)
        if (is_merged(&v->tokens[i])) find_merges(v, i, &merges, &n, &cap);
    if (n) qsort(merges, (size_t)n, sizeof *merges, by_rank);
    for (int i = 0; i < n; i++) {
        struct gguf_text t = v->tokens[merges[i].whole].text;
        size_t k = (size_t)merges[i].left;
        fprintf(f, "%s\n[", i ? "," : "");
        put_text(f, (struct gguf_text){t.at, k});
        fprintf(f, ",");
        put_text(f, (struct gguf_text){t.at + k, t.bytes - k});
        fprintf(f, "]");
    }
}

/* ---- the model ---- */

/* Merging must not make of pieces what only the text of a special token may be. */
static bool makes_special(const struct gguf_vocabulary *v, struct gguf_text merge) {
    uint64_t hash = HASH_START;
    char whole[2048];
    size_t n = 0;
    for (size_t i = 0; i < merge.bytes && n < sizeof whole; i++)
        if (merge.at[i] != ' ') {
            whole[n++] = merge.at[i];
            hash = vocabulary_hash(hash, (unsigned char)merge.at[i]);
        }
    int id = vocabulary_find(v, (struct gguf_text){whole, n}, hash);
    return id >= 0 && is_special(&v->tokens[id]);
}

static void put_merges(const struct gguf_vocabulary *v, FILE *f) {
    const unsigned char *at = v->merges.at;
    const char *comma = "";
    for (uint64_t i = 0; i < v->merges.count; i++) {
        struct gguf_text merge = gguf_next_text(&at);
        if (makes_special(v, merge)) continue;
        fprintf(f, "%s\n", comma);
        put_text(f, merge);
        comma = ",";
    }
}

static void put_vocabulary(const struct gguf_vocabulary *v, FILE *f) {
    const char *comma = "";
    for (int i = 0; i < v->ntokens; i++) {
        /* Added tokens too: Hugging Face's library gives one that is not here another id. */
        if (!v->tokens[i].text.bytes) continue;
        fprintf(f, "%s\n", comma);
        put_text(f, v->tokens[i].text);
        fprintf(f, ":%d", i);
        comma = ",";
    }
}

static int64_t unknown_token(const struct gguf_vocabulary *v) {
    if (v->unknown >= 0) return v->unknown;
    for (int i = 0; i < v->ntokens; i++)
        if (v->tokens[i].type == TOKEN_UNKNOWN && v->tokens[i].text.bytes) return i;
    return -1;
}

static void put_pieces(const struct gguf_vocabulary *v, FILE *f) {
    fprintf(f, "\"model\":{\"type\":\"WordPiece\",\"unk_token\":");
    put_text(f, v->tokens[v->unknown].text);
    fprintf(f,
            ",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100,\"vocab\":{");
    put_vocabulary(v, f);
    fprintf(f, "}}");
}

static void put_sums(const struct gguf_vocabulary *v, FILE *f) {
    fprintf(f, "\"model\":{\"type\":\"Unigram\",\"unk_id\":");
    int64_t unknown = unknown_token(v);
    if (unknown >= 0)
        fprintf(f, "%d", (int)unknown);
    else
        fprintf(f, "null");
    fprintf(f, ",\"byte_fallback\":false,\"vocab\":[");
    for (int i = 0; i < v->ntokens; i++) {
        fprintf(f, "%s\n[", i ? "," : "");
        put_text(f, v->tokens[i].text);
        fprintf(f, ",%.17g]", (double)v->tokens[i].score);
    }
    fprintf(f, "]}");
}

static void put_model(const struct gguf_vocabulary *v, FILE *f) {
    int64_t unknown = v->split ? -1 : unknown_token(v);
    fprintf(f, "\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":");
    if (unknown >= 0)
        put_text(f, v->tokens[unknown].text);
    else
        fprintf(f, "null");
    fprintf(f,
            ",\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":%s,"
            "\"byte_fallback\":%s,\"ignore_merges\":%s,\n\"vocab\":{",
            v->split ? "false" : "true", v->split ? "false" : "true",
            v->split && v->split->whole ? "true" : "false");
    put_vocabulary(v, f);
    fprintf(f, "},\n\"merges\":[");
    v->split ? put_merges(v, f) : put_scored_merges(v, f);
    fprintf(f, "]}");
}

bool gguf_tokenizer_write(const struct gguf_vocabulary *v, FILE *f) {
    fprintf(f, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\n");
    put_added(v, f);
    if (v->pieces) {
        put_cleaning(v, f);
    } else if (v->sums) {
        put_spaces(v, f);
    } else {
        put_normalizer(v, f);
        put_splitting(v, f);
    }
    put_template(v, f);
    put_decoder(v, f);
    v->pieces ? put_pieces(v, f) : v->sums ? put_sums(v, f) : put_model(v, f);
    fprintf(f, "}\n");
    return !ferror(f);
}

/* ---- the files beside it ---- */

static json_t *text_of(struct gguf_text t) {
    return json_stringn(t.at, t.bytes);
}

json_t *gguf_tokenizer_config(const struct gguf_vocabulary *v, int64_t most) {
    const struct {
        const char *name;
        int64_t id;
    } named[] = {{v->pieces ? "cls_token" : "bos_token", v->bos},
                 {v->pieces ? "sep_token" : "eos_token", v->eos},
                 {"unk_token", v->unknown},
                 {"pad_token", v->padding},
                 {"mask_token", v->pieces || v->sums ? v->masked : -1}};
    json_t *o = json_object();
    /* Else transformers takes the class of the architecture, which puts some of them together
     * anew. */
    json_object_set_new(o, "tokenizer_class", json_string("PreTrainedTokenizerFast"));
    /* One that is text all the same has no name here: transformers would cut it out of texts. */
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (named[i].id >= 0 && is_special(&v->tokens[named[i].id]))
            json_object_set_new(o, named[i].name, text_of(v->tokens[named[i].id].text));
    if (!v->pieces) {
        json_object_set_new(o, "add_bos_token", json_boolean(v->add_bos));
        json_object_set_new(o, "add_eos_token", json_boolean(v->add_eos));
    }
    if (most > 0) json_object_set_new(o, "model_max_length", json_integer((json_int_t)most));
    json_t *fim = json_object();
    for (size_t i = 0; i < sizeof gguf_fims / sizeof *gguf_fims; i++)
        if (v->fim[i] >= 0)
            json_object_set_new(fim, gguf_fims[i].name, json_integer((json_int_t)v->fim[i]));
    if (json_object_size(fim))
        json_object_set_new(o, "fim_token_ids", fim);
    else
        json_decref(fim);
    if (v->chat.at) json_object_set_new(o, "chat_template", text_of(v->chat));
    return o;
}

json_t *gguf_generation_config(const struct gguf_vocabulary *v) {
    json_t *o = json_object(), *ends = json_array();
    for (int i = 0; i < v->nends; i++)
        json_array_append_new(ends, json_integer(v->ends[i]));
    if (v->bos >= 0) json_object_set_new(o, "bos_token_id", json_integer(v->bos));
    if (v->nends == 1)
        json_object_set(o, "eos_token_id", json_array_get(ends, 0));
    else if (v->nends)
        json_object_set(o, "eos_token_id", ends);
    json_decref(ends);
    return o;
}
