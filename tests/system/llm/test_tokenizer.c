/* test_tokenizer - byte-level BPE against the demo checkpoint's reference and against files made
 * here, one per feature. */
#include "examples/llm/tokenizer/parts.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *model_dir; /* stories-llama of examples/models, unpacked */
static char scratch[PATH_MAX];

static struct tokenizer *load_ok(const char *dir) {
    char err[LLM_ERR] = "";
    struct tokenizer *t;
    ck_assert_msg(tokenizer_load(dir, &t, err), "%s", err);
    return t;
}

/* Ids as "1 2 3", or the error. */
static const char *encode_as(const struct tokenizer *t, const char *text, unsigned flags) {
    static char out[4096];
    char err[LLM_ERR];
    struct ids ids = {0};
    size_t n = 0;
    out[0] = 0;
    if (!tokenizer_encode_as(t, text, strlen(text), flags, &ids, err))
        snprintf(out, sizeof out, "%s", err);
    else
        for (size_t i = 0; i < ids.n && n < sizeof out; i++)
            n += (size_t)snprintf(out + n, sizeof out - n, "%s%d", i ? " " : "", (int)ids.v[i]);
    free(ids.v);
    return out;
}

static const char *encode(const struct tokenizer *t, const char *text) {
    return encode_as(t, text, 0);
}

static size_t decode(const struct tokenizer *t, const int32_t *ids, size_t count, char *out) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        size_t bytes;
        bool special;
        const char *p = tokenizer_bytes(t, ids[i], &bytes, &special);
        ck_assert_ptr_nonnull(p);
        if (!special) {
            memcpy(out + n, p, bytes);
            n += bytes;
        }
    }
    out[n] = 0;
    return n;
}

/* Decoding the reference's tokens and encoding that text again gives the same tokens. */
START_TEST(reference_round_trip) {
    char path[PATH_MAX], name[32], err[ETRT_ST_ERR], text[8192];
    struct etrt_st *st;
    struct tokenizer *t = load_ok(model_dir);
    snprintf(path, sizeof path, "%s/reference.safetensors", model_dir);
    ck_assert_msg(etrt_st_open(path, &st, err, sizeof err), "%s", err);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "tokens.%d", i);
        const struct etrt_st_tensor *tokens = etrt_st_find(st, name);
        ck_assert_ptr_nonnull(tokens);
        size_t n = tokens->bytes / 4;
        int32_t *want = malloc(tokens->bytes);
        ck_assert_ptr_nonnull(want);
        memcpy(want, tokens->data, tokens->bytes);
        size_t bytes = decode(t, want, n, text);
        struct ids ids = {0};
        ck_assert(tokenizer_encode(t, text, bytes, &ids, err));
        ck_assert_uint_eq(ids.n, n);
        ck_assert_mem_eq(ids.v, want, tokens->bytes);
        free(ids.v);
        free(want);
    }
    etrt_st_close(st);
    tokenizer_free(t);
}
END_TEST

/* Any text comes back byte for byte: every character class, several scripts, odd spacing. */
START_TEST(any_text_round_trips) {
    static const char *const texts[] = {
        "",
        " ",
        "\n\n\t  x  \n",
        "don't we'll I'M 12345 6.7e-8 (a+b)*c",
        "h\xc3\xa9llo w\xc3\xb6rld \xe2\x80\x94 na\xc3\xafve",
        "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e \xd8\xb9\xd8\xb1\xd8\xa8\xd9\x8a \xf0\x9f\x98\x80!",
        "a\xc2\xa0\xe2\x80\x83z",
        "\x01\x02\x7f",
    };
    struct tokenizer *t = load_ok(model_dir);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char err[LLM_ERR], back[256];
        struct ids ids = {0};
        ck_assert_msg(tokenizer_encode(t, texts[i], strlen(texts[i]), &ids, err), "%s", err);
        ck_assert_uint_eq(decode(t, ids.v, ids.n, back), strlen(texts[i]));
        ck_assert_str_eq(back, texts[i]);
        free(ids.v);
    }
    ck_assert_str_eq(encode(t, "ab\xff"), "the text is not UTF-8 at byte 2");
    ck_assert_str_eq(encode(t, "\xed\xa0\x80"), "the text is not UTF-8 at byte 0");
    tokenizer_free(t);
}
END_TEST

/* Whatever the ids, an incremental decoder gives whole characters at every step, and in all what
 * decoding all at once gives; raw, it gives the tokens' bytes. */
START_TEST(decoding_in_steps) {
    struct tokenizer *t = load_ok(model_dir);
    struct lm_decoder *d = lm_decoder_new(t, 0);
    char err[LLM_ERR], *all;
    const char *text = "a\xc3\xa9\xf0\x9f\x98\x80\xe6\x97\xa5\xff\xe6\x97z\xed\xa0\x80";
    const char *want = "a\xc3\xa9\xf0\x9f\x98\x80\xe6\x97\xa5\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd"
                       "\xef\xbf\xbd\xef\xbf\xbd";
    const char *part;
    size_t n, bytes;
    struct ids ids = {0};
    struct bytes joined = {0};
    ck_assert_ptr_nonnull(d);
    ck_assert(!tokenizer_encode_as(t, text, strlen(text), TOKENIZER_BARE, &ids, err));
    ck_assert_msg(
        tokenizer_encode_as(t, text, strlen(text), TOKENIZER_BARE | TOKENIZER_ANY_BYTES, &ids, err),
        "%s", err);
    ck_assert(tokenizer_decode(t, ids.v, ids.n, LM_DECODER_RAW, &all, &bytes));
    ck_assert_str_eq(all, text);
    free(all);
    for (int round = 0; round < 2; round++) { /* after a flush it is as new */
        joined.n = 0;
        for (size_t i = 0; i <= ids.n; i++) {
            ck_assert(i < ids.n ? lm_decoder_push(d, ids.v[i], &part, &n)
                                : lm_decoder_flush(d, &part, &n));
            ck_assert_uint_eq(utf8_valid(part, n), n);
            ck_assert_uint_eq(strlen(part), n);
            ck_assert(bytes_add(&joined, part, n));
        }
        ck_assert_str_eq(joined.p, want);
    }
    ck_assert(tokenizer_decode(t, ids.v, ids.n, 0, &all, &bytes));
    ck_assert_str_eq(all, want);
    ck_assert_uint_eq(bytes, strlen(want));
    free(all);
    free(joined.p);
    free(ids.v);
    lm_decoder_free(d);
    tokenizer_free(t);
}
END_TEST

/* A word of a hundred thousand letters takes no quadratic time. */
START_TEST(long_word) {
    enum { N = 100000 };
    char err[LLM_ERR], *text = malloc(N);
    struct tokenizer *t = load_ok(model_dir);
    struct ids ids = {0};
    ck_assert_ptr_nonnull(text);
    for (int i = 0; i < N; i++)
        text[i] = "theandwas"[i % 9];
    ck_assert_msg(tokenizer_encode(t, text, N, &ids, err), "%s", err);
    size_t total = 0, bytes;
    bool special;
    for (size_t i = 1; i < ids.n; i++) { /* the first is the bos token */
        tokenizer_bytes(t, ids.v[i], &bytes, &special);
        total += bytes;
    }
    ck_assert_uint_eq(total, N);
    ck_assert_uint_lt(ids.n, 2 * N / 3);
    free(ids.v);
    free(text);
    tokenizer_free(t);
}
END_TEST

START_TEST(added_tokens) {
    struct tokenizer *t = load_ok(model_dir);
    char with[512], *p;
    snprintf(with, sizeof with, "%s", encode(t, "a<|endoftext|> b"));
    p = strstr(with + 1, " 0 ");
    ck_assert_msg(p && !strstr(p + 1, " 0 "), "%s", with);
    ck_assert_int_eq(with[0], '0');
    tokenizer_free(t);
}
END_TEST

/* ---- files made here ---- */

static void write_file(const char *name, const char *text) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    ck_assert_int_eq(fclose(f), 0);
}

/* Pieces: a b c space 1 2 e-acute's two bytes, ab, abc, " a", 12. U+0120 spells the space. */
#define VOCAB                                                                                      \
    "\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"\\u0120\":3,\"1\":4,\"2\":5,\"\\u00c3\":6,\"\\u00a9\":"  \
    "7,"                                                                                           \
    "\"ab\":8,\"abc\":9,\"\\u0120a\":10,\"12\":11,\"bc\":12}"
#define MERGES "\"merges\":[\"a b\",\"\\u0120 a\",[\"ab\",\"c\"],\"1 2\",\"b c\"]"
#define MODEL "\"model\":{\"type\":\"BPE\"," VOCAB "," MERGES "}"
#define BYTES "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}"
#define BARE "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}"
#define DECODER "\"decoder\":{\"type\":\"ByteLevel\"}"

static struct tokenizer *load_text(const char *json) {
    write_file("tokenizer.json", json);
    return load_ok(scratch);
}

static void gives(const char *json, const char *text, const char *ids) {
    struct tokenizer *t = load_text(json);
    ck_assert_str_eq(encode(t, text), ids);
    tokenizer_free(t);
}

START_TEST(merging) {
    const char *json = "{" MODEL ",\"pre_tokenizer\":" BYTES "," DECODER "}";
    gives(json, "abc", "9");
    gives(json, "bc", "12");
    gives(json, "abcbc ab 12", "9 12 3 8 3 11");
    gives(json, "aab", "0 8");
    gives(json, "b ac", "1 10 2");
    gives(json, "", "");
    /* What has no piece is left out, and what was around it merges. */
    gives(json, "d", "");
    gives(json, "adbdc", "9");
    /* With ignore_merges a word that is a piece needs no merges to become it. */
    gives("{\"model\":{" VOCAB ",\"merges\":[],\"ignore_merges\":true},\"pre_tokenizer\":" BYTES
          "," DECODER "}",
          "abc abc", "9 3 0 1 2");
}
END_TEST

/* What the library gives, version 0.23.3 of `tokenizers`; it has no answer to the last two. */
START_TEST(stripping_tokens) {
    static const struct {
        const char *second, *text, *ids;
    } cases[] = {
        {"\"\\n\\n\",\"lstrip\":true", "a<>\n\nb", "0 10 1"},
        {"\"\\n\\n\"", "a<>\n\n\nb", "0 10 11 3 1"},
        {"\"\\n\"", "a<>\n\n\nb", "0 10 11 11 11 1"},
        {"\"\\n\",\"rstrip\":true", "a<>\n\n\nb", "0 10 11 11 11 1"},
        {"\"\\n\",\"single_word\":true", "a<>\n\n\nb", "0 10 11 11 3 1"},
        {"\"\\nb\",\"lstrip\":true", "a<>\n\n\nb", "0 10 11"},
        {"\"\\nb\"", "a<>\n\n\nb", "0 10 11"},
        {"\"\\n\",\"normalized\":true", "a<>\n\n\nb", "0 10 1"},
        {"\"\\n\\n\",\"lstrip\":true", "a<>\n\n\nb", "0 10 1"},
        {"\"\\n\",\"lstrip\":true", "a<>\n\n\nb", "0 10 1"},
        /* Of two the same the last counts. */
        {"\"<>\",\"lstrip\":true", "a <> b", "0 11 2 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[1024];
        snprintf(json, sizeof json,
                 "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\" \":2,\"\\n\":3},"
                 "\"merges\":[]},\"added_tokens\":[{\"id\":10,\"content\":\"<>\",\"rstrip\":true},"
                 "{\"id\":11,\"content\":%s}]}",
                 cases[i].second);
        gives(json, cases[i].text, cases[i].ids);
    }
}
END_TEST

START_TEST(dropping) {
    struct tokenizer *t = load_text("{" MODEL ",\"pre_tokenizer\":" BYTES "," DECODER "}");
    struct ids ids = {0};
    char err[LLM_ERR];
    ck_assert(tokenizer_encode_as(t,
                                  "a\xff"
                                  "d\x1d",
                                  4, TOKENIZER_ANY_BYTES, &ids, err));
    ck_assert_uint_eq(ids.n, 1);
    ck_assert_uint_eq(ids.dropped, 3);
    ck_assert_int_eq(ids.first_dropped, 0xff);
    ck_assert(ids.dropped_bytes);
    free(ids.v);
    tokenizer_free(t);
}
END_TEST

START_TEST(pre_tokenizers) {
#define SPLIT(behavior, invert)                                                                    \
    "{" MODEL ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","  \
    "\"pattern\":{\"Regex\":\"(?i:A)|\\\\p{N}{1,1}\"},\"behavior\":\"" behavior                    \
    "\",\"invert\":" invert "}," BARE "]}," DECODER "}"
    gives(SPLIT("Isolated", "false"), "ab12b", "0 1 4 5 1");
    gives(SPLIT("Removed", "false"), "ab12b", "1 1");
    gives(SPLIT("Removed", "true"), "ab12b", "0 4 5");
    gives("{" MODEL ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
          "\"Digits\",\"individual_digits\":true}," BYTES "]}," DECODER "}",
          "ab12", "8 4 5");
    gives("{" MODEL ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
          "\"Split\",\"pattern\":{\"String\":\"b\"},\"behavior\":\"Isolated\"}," BARE "]}," DECODER
          "}",
          "abc", "0 1 2");
    gives("{" MODEL ",\"pre_tokenizer\":{\"type\":\"ByteLevel\"}," DECODER "}", "abc ab",
          "3 9 3 8");
}
END_TEST

/* The expressions of Llama 3 and Qwen 3 cut as their own tokenizers do. */
START_TEST(words_of_real_models) {
    static const struct {
        const char *digits, *want;
    } models[] = {{"{1,3}", "I|'m|  | here|\n\n| |123|45| ok|!?\n|\xe6\x97\xa5|"},
                  {"", "I|'m|  | here|\n\n| |1|2|3|4|5| ok|!?\n|\xe6\x97\xa5|"}};
    const char *text = "I'm   here\n\n 12345 ok!?\n\xe6\x97\xa5";
    for (size_t i = 0; i < 2; i++) {
        char json[1024], got[256] = "", err[LLM_ERR];
        struct cutter *cutter;
        struct words words = {0};
        snprintf(json, sizeof json,
                 "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
                 "\"pattern\":{\"Regex\":\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\\\p{L}\\\\p{N}]?"
                 "\\\\p{L}+|\\\\p{N}%s| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\r\\n]*|\\\\s*[\\r\\n]+|"
                 "\\\\s+(?!\\\\S)|\\\\s+\"},\"behavior\":\"Isolated\",\"invert\":false}," BARE
                 "]}}",
                 models[i].digits);
        json_t *root = json_loads(json, 0, NULL);
        ck_assert_ptr_nonnull(root);
        ck_assert_msg(cutter_load(json_object_get(root, "pre_tokenizer"), &cutter, err), "%s", err);
        ck_assert(cutter_apply(cutter, (struct word){{text, strlen(text)}, true}, &words, err));
        for (size_t k = 0; k < words.n; k++) {
            struct bytes word = {0};
            bool memory;
            ck_assert(unspell_bytes(words.v[k].text, &word, &memory));
            strcat(strcat(got, word.p), "|");
            free(word.p);
        }
        ck_assert_str_eq(got, models[i].want);
        words_free(&words);
        cutter_free(cutter);
        json_decref(root);
    }
}
END_TEST

START_TEST(normalizers) {
    const char *json =
        "{" MODEL ",\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":" BYTES "," DECODER "}";
    write_file("config.json", "{}");
    gives("{\"model\":{\"vocab\":{\"\\u00c3\":6,\"\\u00a9\":7},\"merges\":[]},"
          "\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":" BYTES "," DECODER "}",
          "e\xcc\x81", "6 7");
    gives(json, "\xc3\xa9", "6 7");
}
END_TEST

START_TEST(special_tokens) {
#define SPECIAL                                                                                    \
    "\"added_tokens\":[{\"id\":20,\"content\":\"<s>\",\"special\":true},{\"id\":21,\"content\":"   \
    "\"<s>b\",\"special\":false,\"normalized\":true}]"
    const char *json = "{" SPECIAL "," MODEL ",\"pre_tokenizer\":" BYTES "," DECODER "}";
    const char *template =
        "{" SPECIAL "," MODEL ",\"pre_tokenizer\":" BYTES "," DECODER
        ",\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\"},"
        "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\""
        ":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"special_tokens\":{\"<s>\":{\"id\":"
        "\"<s>\",\"ids\":[20],\"tokens\":[\"<s>\"]}}}]}}";
    /* The one before normalisation is looked for first. */
    gives(json, "a<s>bc", "0 20 12");
    gives(template, "ab", "20 8");
    write_file("config.json", "{\"bos_token_id\": 3}");
    gives(json, "ab", "3 8");
    gives(template, "ab", "20 8");
    write_file("tokenizer_config.json", "{\"add_bos_token\": false}");
    gives(json, "ab", "8");
    write_file("tokenizer_config.json", "{}");
    write_file("config.json", "{}");
    size_t bytes;
    bool special;
    struct tokenizer *t = load_text(json);
    ck_assert_str_eq(tokenizer_bytes(t, 20, &bytes, &special), "<s>");
    ck_assert(special && bytes == 3);
    ck_assert_ptr_null(tokenizer_bytes(t, 15, &bytes, &special));
    ck_assert_ptr_null(tokenizer_bytes(t, -1, &bytes, &special));
    tokenizer_free(t);
}
END_TEST

/* The text of a special token is none where it must not be, whichever way a model comes to it: the
 * word is the token as a whole, merges make it, it is the best piece or a character. "stop" is
 * special, 9. */
START_TEST(special_text) {
#define LETTERS "\"s\":0,\"t\":1,\"o\":2,\"p\":3,\"st\":4,\"op\":5,\"stop\":9,\"!\":8,\"u\":7"
#define STOP                                                                                       \
    "\"added_tokens\":[{\"id\":9,\"content\":\"stop\",\"special\":true},{\"id\":8,\"content\":\"!" \
    "\",\"special\":true}],"
#define SCORED(text, score) "[\"" text "\"," #score "]"
    static const struct {
        const char *json, *special, *text;
    } cases[] = {
        {"{" STOP "\"model\":{\"type\":\"BPE\",\"vocab\":{" LETTERS
         "},\"merges\":[],\"ignore_merges\":true}}",
         "9", "0 1 2 3"},
        {"{" STOP "\"model\":{\"type\":\"BPE\",\"vocab\":{" LETTERS
         "},\"merges\":[[\"s\",\"t\"],[\"o\",\"p\"],[\"st\",\"op\"]],\"unk_token\":\"u\"}}",
         "9", "4 5"},
        {"{" STOP
         "\"model\":{\"type\":\"Unigram\",\"unk_id\":7,\"vocab\":[" SCORED("s", -1) "," SCORED("t", -1) "," SCORED(
             "o",
             -1) "," SCORED("p",
                            -1) "," SCORED("st",
                                           -1) "," SCORED("op",
                                                          -1) "," SCORED("x",
                                                                         -9) "," SCORED("u",
                                                                                        -1) "," SCORED("!",
                                                                                                       -1) "," SCORED("stop",
                                                                                                                      -1) "]}}",
         "9", "4 5"},
        {"{" STOP "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"u\",\"continuing_subword_"
         "prefix\":\"\",\"max_input_chars_per_word\":100,\"vocab\":{" LETTERS "}}}",
         "9", "4 5"},
        {"{" STOP "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{" LETTERS "}}}",
         "9", "7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tokenizer *t = load_text(cases[i].json);
        ck_assert_str_eq(encode(t, "stop"), cases[i].special);
        ck_assert_str_eq(encode_as(t, "stop", TOKENIZER_NO_SPECIALS), cases[i].text);
        /* A character that is one is as one without a piece: left out, or unknown. */
        ck_assert_str_eq(encode_as(t, "!", TOKENIZER_NO_SPECIALS), i ? "7" : "");
        tokenizer_free(t);
    }
}
END_TEST

#define PATTERN(text)                                                                              \
    "{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{\"Regex\":\"" text "\"}}"
/* What is cut off the end of all the text is held back until it is known to be the end. */
START_TEST(ends_cut_off) {
    struct tokenizer *t = load_text(
        "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"a\",\"vocab\":{\" \":0,\"a\":1,"
        "\"  b  \":2}},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},"
        "{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":2}]}}");
    static const struct {
        int32_t ids[6];
        size_t n;
        const char *steps; /* what each gives, and the end, with a | behind */
    } cases[] = {{{0, 0, 1, 0, 0, 0}, 6, "|| a||| ||"},
                 {{2, 2}, 2, " b|    b||"},
                 {{0}, 1, "||"},
                 {{0, 0, 0, 0}, 4, "||| ||"},
                 {{1, 0, 1}, 3, "a|| a||"}};
    struct lm_decoder *d = lm_decoder_new(t, 0);
    ck_assert_ptr_nonnull(d);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char got[256] = "";
        for (size_t k = 0; k <= cases[i].n; k++) {
            const char *text;
            size_t bytes;
            ck_assert(k < cases[i].n ? lm_decoder_push(d, cases[i].ids[k], &text, &bytes)
                                     : lm_decoder_flush(d, &text, &bytes));
            strcat(strcat(got, text), "|");
        }
        ck_assert_str_eq(got, cases[i].steps);
    }
    lm_decoder_free(d);
    tokenizer_free(t);
}
END_TEST

/* What is not supported or not right, and a word its message must hold. */
static const struct {
    const char *json, *word;
} bad[] = {
    {"{", "line 1"},
    {"[]", "not a JSON object"},
    {"{}", "\"model\""},
    {"{\"model\":{\"type\":\"Unigram\"}}", "\"vocab\""},
    {"{\"model\":{\"type\":\"Bigram\"}}", "Bigram"},
    {"{\"model\":{" VOCAB ",\"merges\":[],\"byte_fallback\":1}}", "byte_fallback"},
    {"{\"model\":{" VOCAB ",\"merges\":[],\"novelty\":true}}", "novelty"},
    {"{\"model\":{" VOCAB ",\"merges\":[],\"dropout\":0.5}}", "dropout"},
    {"{\"model\":{" VOCAB ",\"merges\":[],\"end_of_word_suffix\":\"</w>\"}}", "end_of_word_suffix"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":[],\"merges\":[]}}", "\"vocab\""},
    {"{\"model\":{\"vocab\":{\"a\":-1},\"merges\":[]}}", "\"a\""},
    {"{\"model\":{\"vocab\":{\"a\":1e300},\"merges\":[]}}", "\"a\""},
    {"{\"model\":{\"vocab\":{\"a\":4294967296},\"merges\":[]}}", "\"a\""},
    {"{\"model\":{\"vocab\":{\"a\":0.5},\"merges\":[]}}", "\"a\""},
    {"{\"model\":{\"vocab\":{\"a\":1,\"b\":1},\"merges\":[]}}", "two pieces have id 1"},
    {"{\"model\":{" VOCAB "}}", "\"merges\""},
    {"{\"model\":{" VOCAB ",\"merges\":[\"ab\"]}}", "entry 0"},
    {"{\"model\":{" VOCAB ",\"merges\":[\"a b\",\"a z\"]}}", "entry 1"},
    {"{\"model\":{" VOCAB ",\"merges\":[[\"a\",\"b\",\"c\"]]}}", "entry 0"},
    {"{\"model\":{" VOCAB ",\"merges\":[\"c c\"]}}", "vocab does not have"},
    {"{" MODEL ",\"pre_tokenizer\":{}}", "pre_tokenizer \"\""},
    {"{" MODEL ",\"pretokenizer\":{}}", "\"pretokenizer\" is not known"},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}}", "UnicodeScripts"},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"ab\"}}",
     "\"replacement\" is not one character"},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\","
     "\"prepend_scheme\":\"last\"}}",
     "prepend_scheme"},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\","
     "\"add_prefix_space\":false,\"prepend_scheme\":\"first\"}}",
     "differ"},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[" BARE "," BARE "]}}",
     "must be the last step"},
    {"{" MODEL ",\"pre_tokenizer\":" PATTERN("(a") "}", "offset 2"},
    {"{" MODEL ",\"pre_tokenizer\":" PATTERN("[a&&b]") "}", "&& in a class"},
    {"{" MODEL ",\"pre_tokenizer\":" PATTERN("[a[^b]]") "}", "[^ or [: in a class"},
    {"{" MODEL ",\"pre_tokenizer\":" PATTERN("[[:alpha:]]") "}", "[: in a class"},
    {"{" MODEL ",\"pre_tokenizer\":" PATTERN("\\\\h") "}", "\\h is not supported"},
    {"{" MODEL ",\"pre_tokenizer\":" PATTERN("a\\\\Kb") "}", "\\K is not supported"},
    {"{" MODEL ",\"pre_tokenizer\":" PATTERN("(a)\\\\1") "}", "\\1 is not supported"},
    {"{" MODEL ",\"pre_tokenizer\":" PATTERN("a(?i)b") "}", "such a (?"},
    {"{" MODEL ",\"pre_tokenizer\":" PATTERN("(*UTF)a") "}", "(*"},
    {"{" MODEL ",\"pre_tokenizer\":" PATTERN("(?i:'s|ass)") "}", "where case is ignored"},
    {"{" MODEL ",\"pre_tokenizer\":" PATTERN("(?i)[a\xc3\x9f]") "}", "where case is ignored"},
    {"{" MODEL ",\"pre_tokenizer\":" PATTERN("a{2}?") "}", "{n}?"},
    {"{" MODEL ",\"pre_tokenizer\":" PATTERN("a\\\\") "}", "\\ at the end"},
    {"{" MODEL ",\"pre_tokenizer\":" PATTERN("\\\\p{Nonsense}") "}", "Nonsense"},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},"
     "\"behavior\":\"Joined\"}}",
     "Joined"},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"\"},"
     "\"behavior\":\"Isolated\"}}",
     "empty pattern"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"ByteLevel\"}}", "normalizer \"ByteLevel\""},
    {"{" MODEL ",\"normalizer\":{\"type\":\"NFC\",\"more\":1}}", "\"more\" is not known"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"!!!!\"}}",
     "base64"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAA\"}}",
     "damaged"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/////w==\"}}",
     "damaged"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Strip\",\"strip_left\":\"yes\"}}", "strip_left"},
    {"{" MODEL ",\"pre_tokenizer\":" BYTES "}", "decoder ByteLevel"},
    {"{" MODEL ",\"decoder\":{\"type\":\"WordPiece\"}}", "WordPiece has no text \"prefix\""},
    {"{" MODEL ",\"decoder\":{\"type\":\"CTC\"}}", "CTC"},
    {"{" MODEL ",\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},{\"type\":"
     "\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"b\"}]}}",
     "\"Replace\" after Fuse"},
    {"{" MODEL ",\"pre_tokenizer\":" BYTES "," DECODER
     ",\"added_tokens\":[{\"id\":1,\"content\":\"x\",\"lstrip\":2}]}",
     "lstrip"},
    {"{" MODEL ",\"pre_tokenizer\":" BYTES "," DECODER
     ",\"added_tokens\":[{\"id\":1,\"content\":\"\"}]}",
     "entry 0"},
    {"{" MODEL ",\"pre_tokenizer\":" BYTES "," DECODER
     ",\"added_tokens\":[{\"id\":-1,\"content\":\"x\"}]}",
     "entry 0"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Strip\"},\"added_tokens\":[{\"id\":1,\"content\":\" \","
     "\"normalized\":true}]}",
     "1 is nothing when normalised"},
    {"{" MODEL ",\"post_processor\":{\"type\":\"RobertaProcessing\"}}", "\"cls\""},
    {"{" MODEL ",\"post_processor\":{\"type\":\"Wrapping\"}}", "Wrapping"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0],[\"a\",1]]}}", "twice"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}", "entry 0"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]],\"unk_id\":1}}", "unk_id"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}", "unk_token"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0},\"unk_token\":\"a\"}}",
     "continuing_subword_prefix"},
};

START_TEST(refused) {
    char err[LLM_ERR] = "";
    struct tokenizer *t;
    write_file("tokenizer.json", bad[_i].json);
    ck_assert_msg(!tokenizer_load(scratch, &t, err), "accepted: %s", bad[_i].json);
    ck_assert_ptr_null(t);
    ck_assert_msg(strstr(err, bad[_i].word) && strstr(err, "tokenizer.json"), "no %s in: %s",
                  bad[_i].word, err);
}
END_TEST

START_TEST(missing) {
    char err[LLM_ERR] = "";
    struct tokenizer *t;
    ck_assert(!tokenizer_load("/nowhere", &t, err));
    ck_assert_str_eq(err, "/nowhere/tokenizer.json: No such file or directory");
}
END_TEST

/* An expression that backtracks without end is stopped. */
START_TEST(runaway_pattern) {
    struct tokenizer *t =
        load_text("{" MODEL ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{"
                  "\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a|aa)+$(?=b)\"},\"behavior\":"
                  "\"Isolated\"}," BARE "]}," DECODER "}");
    char text[64];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = 0;
    ck_assert_msg(strstr(encode(t, text), "expression: match limit exceeded"), "%s",
                  encode(t, text));
    tokenizer_free(t);
}
END_TEST

int main(int argc, char **argv) {
    if (argc != 3) return 1;
    model_dir = argv[1];
    snprintf(scratch, sizeof scratch, "%s", argv[2]);
    mkdir(scratch, 0777);
    if (access(scratch, W_OK)) return 1;
    Suite *s = suite_create("tokenizer");
    TCase *c = tcase_create("all");
    tcase_add_test(c, reference_round_trip);
    tcase_add_test(c, any_text_round_trips);
    tcase_add_test(c, decoding_in_steps);
    tcase_add_test(c, long_word);
    tcase_add_test(c, added_tokens);
    tcase_add_test(c, stripping_tokens);
    tcase_add_test(c, dropping);
    tcase_add_test(c, merging);
    tcase_add_test(c, pre_tokenizers);
    tcase_add_test(c, words_of_real_models);
    tcase_add_test(c, normalizers);
    tcase_add_test(c, special_tokens);
    tcase_add_test(c, special_text);
    tcase_add_test(c, ends_cut_off);
    tcase_add_loop_test(c, refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(c, missing);
    tcase_add_test(c, runaway_pattern);
    tcase_set_timeout(c, 60);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
