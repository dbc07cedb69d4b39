/* test_text CHECKPOINT: texts taken apart the same however their tokens are cut. */
#include "examples/llm/api/text.h"
#include "examples/llm/api/tools/tools.h"
#include <check.h>
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

enum { RANDOM = 1000 };

/* The tokens of TEXT, cut after every BYTES bytes; 0: not at all; RANDOM: anywhere. */
static void encode(const char *text, size_t bytes, struct ids *ids) {
    char err[LLM_ERR];
    size_t n = strlen(text);
    for (size_t at = 0; at < n;) {
        size_t want = bytes == RANDOM ? 1 + (size_t)random() % 9 : bytes;
        size_t part = want && want < n - at ? want : n - at;
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

static const struct tool_format *format_of(const char *name) {
    for (int i = 0; name && tool_format(i); i++)
        if (!strcmp(tool_format(i)->name, name)) return tool_format(i);
    return NULL;
}

static void expect(const char *style, bool reasoning, const char *stop, const char *text,
                   const char *want) {
    struct api_model m = {
        .tokenizer = tokenizer, .tools = format_of(style), .reasoning = reasoning};
    json_t *tools = json_array();
    struct request r = {.reasoning = reasoning, .parallel = true};
    if (style) r.tools = tools;
    if (stop) r.stops[r.nstops++] = stop;
    for (size_t cut = 0; cut < 8; cut++)
        expect_cut(&m, &r, text, cut, want);
    for (int i = 0; i < 8; i++)
        expect_cut(&m, &r, text, RANDOM, want);
    json_decref(tools);
}

START_TEST(test_plain) {
    expect(NULL, false, NULL, "a <think> b", "t:a <think> b");
    expect(NULL, false, NULL, "na\xc3\xafve \xf0\x9f\x98\x80!", "t:na\xc3\xafve \xf0\x9f\x98\x80!");
    expect(NULL, false, "stop", "we st sto stopped", "t:we st sto ");
    expect(NULL, false, "aab", "aaab", "t:a");
    expect(NULL, false, "zz", "az", "t:az");
    expect(NULL, false, NULL, "", "");
}
END_TEST

START_TEST(test_reasoning) {
    expect(NULL, true, NULL, "<think>hm</think>\n\nyes", "r:hm|t:yes");
    expect(NULL, true, NULL, "  <think>a < b</thin</think>c", "r:a < b</thin|t:c");
    expect(NULL, true, NULL, "<thing>", "t:<thing>");
    expect(NULL, true, NULL, "<think>never ends", "r:never ends");
    expect(NULL, true, "x", "<think>hm</think>axb", "r:hm|t:a");
}
END_TEST

START_TEST(test_hermes) {
    const char *call =
        "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, \"}\"]}}\n</tool_call>";
    char text[300];
    expect("hermes", false, NULL, call, "c:f|a:{\"a\": [1, \"}\"]}");
    snprintf(text, sizeof text, "so: %s\n%s", call, call);
    expect("hermes", false, NULL, text,
           "t:so: |c:f|a:{\"a\": [1, \"}\"]}|c:f|a:{\"a\": [1, \"}\"]}");
    expect("hermes", false, NULL, "<tool_call>{\"arguments\":{},\"name\":\"g\"}</tool_call>",
           "c:g|a:{}");
    expect("hermes", false, NULL, "<tool_call>rubbish</tool_call>!",
           "t:<tool_call>rubbish</tool_call>!");
    expect("hermes", false, NULL, "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\"",
           "t:<tool_call>{\"name\":\"f\",\"arguments\":{\"a\"");
    expect("hermes", false, NULL,
           "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x </tool_call> y\"}}</tool_call>",
           "c:f|a:{\"a\":\"x </tool_call> y\"}");
    expect("hermes", false, NULL, "<tool_call>{\"name\":\"f\",\"arguments\":{a:1}}</tool_call>",
           "t:<tool_call>{\"name\":\"f\",\"arguments\":{a:1}}</tool_call>");
    expect("hermes", false, NULL,
           "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":12345678901234567890}}",
           "c:f|a:{\"a\":12345678901234567890}");
    expect("hermes", true, NULL, "<think>x</think>\n\n<tool_call>{\"name\":\"f\"}</tool_call>",
           "r:x|c:f|a:{}");
    expect("hermes", false, NULL, "a <tool", "t:a <tool");
}
END_TEST

/* What each format looks like, as models write it. */
START_TEST(test_formats) {
    static const struct {
        const char *format, *text, *want;
    } cases[] = {
        {"mistral",
         "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"a\": \"]\"}}, {\"name\": \"g\", "
         "\"arguments\": {}}]",
         "c:f|a:{\"a\": \"]\"}|c:g|a:{}"},
        {"mistral",
         "Let me see.[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g[CALL_ID]abc123def[ARGS]{}",
         "t:Let me see.|c:f|a:{\"a\": 1}|c:g|a:{}"},
        {"mistral", "[TOOL_CALLS] no calls", "t:[TOOL_CALLS] no calls"},
        {"deepseek",
         "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": "
         "\"x\"}\n```"
         "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<"
         "｜tool▁call▁end｜>"
         "<｜tool▁calls▁end｜>",
         "c:f|a:{\"a\": \"x\"}|c:g|a:{}"},
        {"deepseek",
         "ok<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": "
         "2}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
         "t:ok|c:f|a:{\"a\": 2}"},
        {"harmony",
         "<|channel|>analysis<|message|>think a bit<|end|><|start|>assistant<|channel|>commentary "
         "to=functions.f <|constrain|>json<|message|>{\"a\": 1}",
         "r:think a bit|c:f|a:{\"a\": 1}"},
        {"harmony", "<|channel|>final<|message|>It is < 5.", "t:It is < 5."},
        {"harmony",
         "<|channel|>commentary<|message|>First.<|end|><|start|>assistant to=functions.g<|channel|>"
         "commentary<|message|>{}<|call|>",
         "t:First.|c:g|a:{}"},
        {"qwen3-coder",
         "<tool_call>\n<function=f>\n<parameter=a>\nx <y>\nz\n</parameter>\n<parameter=n>\n12\n"
         "</parameter>\n</function>\n</tool_call>",
         "c:f|a:{\"a\":\"x <y>\\nz\",\"n\":12}"},
        {"qwen3-coder", "so <function=g>\n</function>", "t:so |c:g|a:{}"},
        {"glm",
         "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1 "
         "</tool_call></arg_value>\n<arg_key>n</arg_key>\n"
         "<arg_value>[1]</arg_value>\n</tool_call>",
         "c:f|a:{\"a\":\"1 </tool_call>\",\"n\":[1]}"},
        {"glm", "<tool_call>{}</tool_call>", "t:<tool_call>{}</tool_call>"},
        {"kimi",
         "hm<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|"
         ">"
         "{\"a\": \"<|tool_call_end|>\"}<|tool_call_end|><|tool_call_begin|>functions.g:1"
         "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
         "t:hm|c:f|a:{\"a\": \"<|tool_call_end|>\"}|c:g|a:{}"},
        {"granite", "<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]",
         "c:f|a:{\"a\": 1}"},
        {"granite", "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>", "c:f|a:{}"},
        {"gemma",
         "<start_function_call>call:f{a:<escape>x, <end_function_call> "
         "y<escape>,n:{k:[1,2.5,true]}}"
         "<end_function_call>",
         "c:f|a:{\"a\":\"x, <end_function_call> y\",\"n\":{\"k\":[1,2.5,true]}}"},
        {"gemma", "<|tool_call>call:f{a:<|\"|>x<|\"|>,n:3}<tool_call|>",
         "c:f|a:{\"a\":\"x\",\"n\":3}"},
        {"llama", "<|python_tag|>{\"name\": \"f\", \"parameters\": {\"a\": 1}}",
         "c:f|a:{\"a\": 1}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].format, !strcmp(cases[i].format, "harmony"), NULL, cases[i].text,
               cases[i].want);
}
END_TEST

/* Arguments that are no JSON are what the tool's schema says, in the formats that have such. */
START_TEST(test_values) {
    static const struct {
        const char *schema, *text, *want;
    } cases[] = {
        {"{\"type\":\"string\"}", "12", "\"12\""},
        {"{\"type\":\"string\"}", "True", "\"True\""},
        {"{\"type\":\"string\"}", "null", "\"null\""},
        {"{\"type\":[\"string\",\"null\"]}", "null", "null"},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "5", "\"5\""},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "None", "null"},
        {"{\"enum\":[1,\"2\"]}", "2", "\"2\""},
        {"{\"const\":\"2\"}", "2", "\"2\""},
        {"{\"enum\":[1,2]}", "2", "2"},
        {"{\"type\":\"integer\"}", "12", "12"},
        {"{\"type\":\"boolean\"}", "True", "true"},
        {"{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"null\"}]}", "None", "null"},
        {"{\"type\":\"object\"}", "{\"k\": [1]}", "{\"k\":[1]}"},
        {"{}", "x y", "\"x y\""},
    };
    static const char *const forms[][2] = {
        {"qwen3-coder", "<function=f>\n<parameter=a>\n%s\n</parameter>\n</function>"},
        {"glm", "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>%s</arg_value>\n</tool_call>"},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const char *const *form = forms[i % 2];
        char text[200], want[100];
        json_t *tools = json_pack("[{s:{s:s, s:{s:{s:o}}}}]", "function", "name", "f", "parameters",
                                  "properties", "a", json_loads(cases[i / 2].schema, 0, NULL));
        struct api_model m = {.tokenizer = tokenizer, .tools = format_of(form[0])};
        struct request r = {.tools = tools, .parallel = true};
        snprintf(text, sizeof text, form[1], cases[i / 2].text);
        snprintf(want, sizeof want, "c:f|a:{\"a\":%s}", cases[i / 2].want);
        expect_cut(&m, &r, text, 3, want);
        json_decref(tools);
    }
}
END_TEST

/* What a grammar holds to its form is told as it comes, of every format that has one. */
START_TEST(test_forced) {
    static const char *const cases[][2] = {
        {"hermes",
         "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"</tool_call>\"}}\n</tool_call>"},
        {"llama", "{\"name\": \"f\", \"parameters\": {\"a\": \"</tool_call>\"}}"},
        {"kimi", " {\"name\": \"f\", \"arguments\": {\"a\": \"</tool_call>\"}}"},
    };
    json_t *tools = json_array();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct api_model m = {.tokenizer = tokenizer, .tools = format_of(cases[i][0])};
        struct request r = {.tools = tools, .forced = "f", .parallel = true};
        for (size_t cut = 0; cut < 8; cut++)
            expect_cut(&m, &r, cases[i][1], cut, "c:f|a:{\"a\": \"</tool_call>\"}");
        /* Also where it is cut off. */
        expect_cut(&m, &r, "{\"name\": \"f\", \"arguments\": {\"a\"", 1, "c:f|a:{\"a\"");
    }
    json_decref(tools);
}
END_TEST

/* A chat template tells which format it is. */
START_TEST(test_format_of_template) {
    static const char *const cases[][2] = {
        {"{{ '<tool_call>\\n{\"name\": ' }}", "hermes"},
        {"'[TOOL_CALLS]'", "mistral"},
        {"<｜tool▁calls▁begin｜>", "deepseek"},
        {"<|start|>assistant<|channel|>final", "harmony"},
        {"<tool_call>\n<function=", "qwen3-coder"},
        {"<tool_call>{{ n }}<arg_key>", "glm"},
        {"<|tool_calls_section_begin|>", "kimi"},
        {"<|start_of_role|><|tool_call|>", "granite"},
        {"<start_function_call>", "gemma"},
        {"Environment: ipython <|python_tag|>", "llama"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct tool_format *f = tool_format_of(cases[i][0]);
        ck_assert_msg(f && !strcmp(f->name, cases[i][1]), "%s: %s", cases[i][1],
                      f ? f->name : "none");
    }
    ck_assert_ptr_null(tool_format_of("{{ messages }}"));
    ck_assert_ptr_null(tool_format_of(NULL));
}
END_TEST

START_TEST(test_thoughts) {
    static const char *const texts[] = {"<think>a</think>b",
                                        "[THINK]a[/THINK]b",
                                        "◁think▷a◁/think▷b",
                                        "<seed:think>a</seed:think>b",
                                        "<|channel>thought\na<channel|>b",
                                        "Here is my thought process:a Here is my response:b"};
    for (int i = 0; thought_format(i); i++) {
        struct api_model m = {
            .tokenizer = tokenizer, .reasoning = true, .thoughts = thought_format(i)};
        struct request r = {.reasoning = true, .parallel = true};
        for (size_t cut = 0; cut < 8; cut++)
            expect_cut(&m, &r, texts[i], cut, i == 5 ? "r:a |t:b" : "r:a|t:b");
        ck_assert_ptr_eq(thought_format_of(texts[i]), thought_format(i));
    }
}
END_TEST

START_TEST(test_llama) {
    expect("llama", false, NULL, "{\"name\": \"f\", \"parameters\": {\"x\": \"\\\"{\"}}",
           "c:f|a:{\"x\": \"\\\"{\"}");
    expect("llama", false, NULL,
           "{\"name\":\"f\",\"parameters\":{}}; {\"name\":\"g\",\"parameters\":{}}",
           "c:f|a:{}|c:g|a:{}");
    expect("llama", false, NULL, "{\"a\": 1} is JSON", "t:{\"a\": 1} is JSON");
    expect("llama", false, NULL, "no {call}", "t:no {call}");
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
    tcase_add_test(c, test_formats);
    tcase_add_test(c, test_values);
    tcase_add_test(c, test_forced);
    tcase_add_test(c, test_format_of_template);
    tcase_add_test(c, test_thoughts);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
