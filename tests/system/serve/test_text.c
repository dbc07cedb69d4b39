/* test_text CHECKPOINT: texts taken apart the same however their tokens are cut; grammars that take
 * what a schema allows and nothing else. */
#include "examples/llm/api/text.h"
#include "examples/llm/grammar/grammar.h"
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *checkpoint;
static struct tokenizer *tokenizer;

static void load(void) {
    char err[LLM_ERR];
    ck_assert_msg(tokenizer_load(checkpoint, &tokenizer, err), "%s", err);
}
static void unload(void) {
    tokenizer_free(tokenizer);
}

/* ---- texts ---- */

/* Pieces as "kind:text|", joined where the kind goes on. */
struct pieces {
    struct buffer all;
    int last;
};

static void take(void *user, enum piece piece, const char *text, size_t bytes) {
    static const char letters[] = "trca";
    struct pieces *p = user;
    ck_assert_uint_gt(bytes, 0);
    if (p->last != (int)piece || piece == PIECE_CALL) {
        if (p->all.n) buffer_text(&p->all, "|");
        buffer_format(&p->all, "%c:", letters[piece]);
    }
    buffer_add(&p->all, text, bytes);
    p->last = (int)piece;
}

/* The tokens of TEXT, cut after every BYTES bytes; 0: not at all. */
static void encode(const char *text, size_t bytes, struct ids *ids) {
    char err[LLM_ERR];
    size_t n = strlen(text);
    for (size_t at = 0; at < n;) {
        size_t part = bytes && bytes < n - at ? bytes : n - at;
        ck_assert_msg(tokenizer_encode_as(tokenizer, text + at, part,
                                          TOKENIZER_BARE | TOKENIZER_ANY_BYTES, ids, err),
                      "%s", err);
        at += part;
    }
}

static void expect_cut(const struct api_model *m, const struct request *r, const char *text,
                       size_t cut, const char *want) {
    struct ids ids = {0}, none = {0};
    struct pieces p = {.last = -1};
    struct text *t = text_make(m, r, &none, take, &p);
    ck_assert_ptr_nonnull(t);
    encode(text, cut, &ids);
    for (size_t i = 0; i < ids.n && text_push(t, ids.v[i]); i++) {
    }
    text_finish(t);
    ck_assert(!text_failed(t));
    ck_assert_str_eq(p.all.n ? p.all.data : "", want);
    text_free(t);
    free(ids.v);
    buffer_free(&p.all);
}

static void expect(enum tool_style style, bool reasoning, const char *stop, const char *text,
                   const char *want) {
    struct api_model m = {.tokenizer = tokenizer, .tools = style, .reasoning = reasoning};
    json_t *tools = json_array();
    struct request r = {.reasoning = reasoning, .parallel = true};
    if (style != TOOLS_NONE) r.tools = tools;
    if (stop) r.stops[r.nstops++] = stop;
    for (size_t cut = 0; cut < 8; cut++)
        expect_cut(&m, &r, text, cut, want);
    json_decref(tools);
}

START_TEST(test_plain) {
    expect(TOOLS_NONE, false, NULL, "a <think> b", "t:a <think> b");
    expect(TOOLS_NONE, false, NULL, "na\xc3\xafve \xf0\x9f\x98\x80!",
           "t:na\xc3\xafve \xf0\x9f\x98\x80!");
    expect(TOOLS_NONE, false, "stop", "we st sto stopped", "t:we st sto ");
    expect(TOOLS_NONE, false, "aab", "aaab", "t:a");
    expect(TOOLS_NONE, false, "zz", "az", "t:az");
    expect(TOOLS_NONE, false, NULL, "", "");
}
END_TEST

START_TEST(test_reasoning) {
    expect(TOOLS_NONE, true, NULL, "<think>hm</think>\n\nyes", "r:hm|t:yes");
    expect(TOOLS_NONE, true, NULL, "  <think>a < b</thin</think>c", "r:a < b</thin|t:c");
    expect(TOOLS_NONE, true, NULL, "<thing>", "t:<thing>");
    expect(TOOLS_NONE, true, NULL, "<think>never ends", "r:never ends");
    expect(TOOLS_NONE, true, "x", "<think>hm</think>axb", "r:hm|t:a");
}
END_TEST

START_TEST(test_hermes) {
    const char *call =
        "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, \"}\"]}}\n</tool_call>";
    char text[300];
    expect(TOOLS_HERMES, false, NULL, call, "c:f|a:{\"a\": [1, \"}\"]}");
    snprintf(text, sizeof text, "so: %s\n%s", call, call);
    expect(TOOLS_HERMES, false, NULL, text,
           "t:so: |c:f|a:{\"a\": [1, \"}\"]}|c:f|a:{\"a\": [1, \"}\"]}");
    expect(TOOLS_HERMES, false, NULL, "<tool_call>{\"arguments\":{},\"name\":\"g\"}</tool_call>",
           "c:g|a:{}");
    expect(TOOLS_HERMES, false, NULL, "<tool_call>rubbish</tool_call>!",
           "t:<tool_call>rubbish</tool_call>!");
    expect(TOOLS_HERMES, false, NULL, "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\"",
           "c:f|a:{\"a\"");
    expect(TOOLS_HERMES, true, NULL, "<think>x</think>\n\n<tool_call>{\"name\":\"f\"}</tool_call>",
           "r:x|c:f");
    expect(TOOLS_HERMES, false, NULL, "a <tool", "t:a <tool");
}
END_TEST

START_TEST(test_llama) {
    expect(TOOLS_LLAMA, false, NULL, "{\"name\": \"f\", \"parameters\": {\"x\": \"\\\"{\"}}",
           "c:f|a:{\"x\": \"\\\"{\"}");
    expect(TOOLS_LLAMA, false, NULL,
           "{\"name\":\"f\",\"parameters\":{}}; {\"name\":\"g\",\"parameters\":{}}",
           "c:f|a:{}|c:g|a:{}");
    expect(TOOLS_LLAMA, false, NULL, "{\"a\": 1} is JSON", "t:{\"a\": 1} is JSON");
    expect(TOOLS_LLAMA, false, NULL, "no {call}", "t:no {call}");
}
END_TEST

/* ---- grammars ---- */

static struct grammar *grammar(const char *schema) {
    struct grammar *g;
    char err[LLM_ERR];
    json_t *s = json_loads(schema, JSON_DECODE_ANY, NULL);
    struct grammar_form form = {"", s, ""};
    ck_assert_msg(s != NULL, "%s", schema);
    ck_assert_msg(grammar_make(&form, 1, false, &g, err), "%s: %s", schema, err);
    json_decref(s);
    return g;
}

static bool fits(struct grammar *g, const char *text) {
    return grammar_ends(g, grammar_step(g, grammar_start(g), text, strlen(text)));
}

START_TEST(test_schemas) {
    static const struct {
        const char *schema, *good[6], *bad[8];
    } cases[] = {
        {"{\"type\":\"integer\"}", {"0", "-7", "120"}, {"01", "1.5", "\"1\"", "", "-"}},
        {"{\"type\":\"number\"}", {"0.5", "-1e9", "3E-2"}, {"1.", ".5", "1e", "+1"}},
        {"{\"type\":\"string\"}",
         {"\"\"", "\"a\\n\\u00e9\xc3\xa9\"", "\"\xf0\x9f\x98\x80\""},
         {"\"", "\"\n\"", "\"\\x\"", "\"\xc3\"", "\"\\ud800\"", "\"\xff\""}},
        {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}",
         {"\"ab\"", "\"\xc3\xa9\\tc\""},
         {"\"a\"", "\"abcd\""}},
        {"{\"enum\":[1,\"x\",null,{\"a\":1}]}", {"1", "\"x\"", "null", "{\"a\":1}"}, {"2", "x"}},
        {"{\"type\":[\"boolean\",\"null\"]}", {"true", "false", "null"}, {"nul", "truefalse"}},
        {"{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":2}",
         {"[1]", "[1,2]", "[ 1, 2 ]", "[\n  1\n]"},
         {"[]", "[1,2,3]", "[1,]", "[,1]", "[1 2]"}},
        {"{\"type\":\"array\",\"prefixItems\":[{\"type\":\"integer\"},{\"const\":\"a\"}]}",
         {"[1,\"a\"]"},
         {"[1]", "[\"a\",1]"}},
        {"{\"type\":\"array\"}", {"[]", "[1,\"a\",{},[[]]]"}, {"[", "]", "[1,,2]"}},
        {"{\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"},\"c\":{}},"
         "\"required\":[\"b\"]}",
         {"{\"b\":1}", "{\"a\":1,\"b\":2}", "{\"b\":1,\"c\":[]}",
          "{ \"a\": 1, \"b\": 2, \"c\": 3 }"},
         {"{}", "{\"a\":1}", "{,\"b\":1}", "{\"b\":1,}", "{\"b\":1,\"a\":2}", "{\"b\":1,\"d\":2}"}},
        {"{\"type\":\"object\",\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":"
         "\"null\"}}",
         {"{}", "{\"x\":null}", "{\"a\":1,\"x\":null,\"y\":null}"},
         {"{\"x\":1}"}},
        {"{\"type\":\"object\",\"additionalProperties\":false}", {"{}"}, {"{\"a\":1}"}},
        {"{\"$ref\":\"#/$defs/"
         "t\",\"$defs\":{\"t\":{\"type\":\"object\",\"properties\":{\"n\":{\"anyOf\":"
         "[{\"$ref\":\"#/$defs/t\"},{\"type\":\"null\"}]}},\"required\":[\"n\"]}}}",
         {"{\"n\":null}", "{\"n\":{\"n\":{\"n\":null}}}"},
         {"{}", "{\"n\":{}}", "{\"n\":{\"n\":null}"}},
        {"{\"type\":\"string\",\"format\":\"date\"}", {"\"2026-11-22\""}, {"\"today\""}},
        {"true", {"1", "{\"a\":[true]}", "\"x\""}, {"", "tru"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct grammar *g = grammar(cases[i].schema);
        for (int k = 0; k < 6 && cases[i].good[k]; k++)
            ck_assert_msg(fits(g, cases[i].good[k]), "%s: %s", cases[i].schema, cases[i].good[k]);
        for (int k = 0; k < 8 && cases[i].bad[k]; k++)
            ck_assert_msg(!fits(g, cases[i].bad[k]), "%s: %s", cases[i].schema, cases[i].bad[k]);
        grammar_free(g);
    }
}
END_TEST

START_TEST(test_refused) {
    static const char *const cases[][2] = {
        {"{\"type\":\"string\",\"pattern\":\"a\"}", "'pattern' is not supported"},
        {"{\"type\":\"integer\",\"minimum\":1}", "'minimum' is not supported"},
        {"{\"$ref\":\"#\"}", "refers to itself"},
        {"{\"anyOf\":[{\"$ref\":\"#\"},{\"type\":\"null\"}]}", "refers to itself"},
        {"{\"$ref\":\"#/nowhere\"}", "leads nowhere"},
        {"{\"type\":\"colour\"}", "colour"},
        {"{\"enum\":[]}", "enum"},
        {"{\"type\":\"array\",\"minItems\":3,\"maxItems\":2}", "minItems"},
        {"{\"type\":\"string\",\"maxLength\":100000000}", "maxLength"},
        {"{\"properties\":{},\"required\":[\"x\"]}", "'required' names 'x'"},
        {"7", "must be an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct grammar *g;
        char err[LLM_ERR];
        json_t *s = json_loads(cases[i][0], JSON_DECODE_ANY, NULL);
        struct grammar_form form = {"", s, ""};
        ck_assert_msg(!grammar_make(&form, 1, false, &g, err), "%s", cases[i][0]);
        ck_assert_msg(strstr(err, cases[i][1]) != NULL, "%s: %s", cases[i][0], err);
        json_decref(s);
    }
}
END_TEST

/* Tokens drawn at random among those that may come: whatever comes out is JSON, and the mask is
 * what trying each token says. */
START_TEST(test_masks) {
    struct grammar *g = grammar(
        "{\"type\":\"object\",\"properties\":{\"s\":{\"type\":\"string\",\"maxLength\":9},\"n\":{"
        "\"type\":\"number\"},\"l\":{\"type\":\"array\",\"items\":{\"type\":\"boolean\"}}},"
        "\"required\":[\"s\",\"l\"]}");
    int32_t size = tokenizer_size(tokenizer);
    struct vocabulary *v = vocabulary_make(tokenizer, size);
    float *logits = calloc((size_t)size, sizeof *logits);
    ck_assert(v && logits);
    srandom(5);
    for (int round = 0; round < 40; round++) {
        struct buffer text = {0};
        int32_t state = grammar_start(g);
        while (grammar_goes_on(g, state) && text.n < 400) {
            memset(logits, 0, (size_t)size * sizeof *logits);
            grammar_mask(g, state, v, NULL, 0, logits);
            int32_t n = 0, chosen = -1;
            for (int32_t id = 0; id < size; id++) {
                size_t bytes = 0;
                bool special = false;
                const char *t = tokenizer_bytes(tokenizer, id, &bytes, &special);
                bool may = t && bytes && !special && grammar_step(g, state, t, bytes) >= 0;
                ck_assert_int_eq(may, logits[id] == 0);
                if (may && random() % ++n == 0) chosen = id;
            }
            ck_assert_int_ge(chosen, 0);
            size_t bytes;
            bool special;
            const char *t = tokenizer_bytes(tokenizer, chosen, &bytes, &special);
            buffer_add(&text, t, bytes);
            state = grammar_step(g, state, t, bytes);
        }
        json_t *value = grammar_ends(g, state) ? json_loadb(text.data, text.n, 0, NULL) : NULL;
        ck_assert_msg(value || !grammar_ends(g, state), "%s", text.data);
        json_decref(value);
        buffer_free(&text);
    }
    free(logits);
    vocabulary_free(v);
    grammar_free(g);
}
END_TEST

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    checkpoint = argv[1];
    Suite *s = suite_create("text");
    TCase *c = tcase_create("text");
    tcase_set_timeout(c, 300);
    tcase_add_unchecked_fixture(c, load, unload);
    tcase_add_test(c, test_plain);
    tcase_add_test(c, test_reasoning);
    tcase_add_test(c, test_hermes);
    tcase_add_test(c, test_llama);
    tcase_add_test(c, test_schemas);
    tcase_add_test(c, test_refused);
    tcase_add_test(c, test_masks);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
