/* test_grammar CHECKPOINT: grammars that take what a schema, an expression or somebody's grammar
 * allows and nothing else; and texts drawn at random under them, each of which fits. */
#include "examples/llm/base/buffer.h"
#include "examples/llm/base/json_text.h"
#include "examples/llm/grammar/grammar.h"
#include "examples/llm/grammar/schema.h"
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *checkpoint;
static struct tokenizer *tokenizer;

static void load(void) {
    char err[LLM_ERR];
    ck_assert_msg(tokenizer_load(checkpoint, &tokenizer, err), "%s", err);
}
static void unload(void) {
    tokenizer_free(tokenizer);
}

/* ---- grammars ---- */

static struct grammar *grammar(const char *schema) {
    struct grammar *g;
    char err[LLM_ERR];
    json_t *s = json_text(schema, strlen(schema), JSON_DECODE_ANY, NULL);
    struct grammar_form form = {.before = "", .schema = s, .after = ""};
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
        {"{\"type\":\"string\"}",
         {"\"\\u0000\\u0001\\u0010\\u0100\\u1000\\ud7ff\""},
         {"\"\\udfff\""}},
        /* U+0000 in a name is what readers refuse. */
        {"{\"type\":\"object\"}",
         {"{\"\\u0001\\u0010\\u0100\\u1000\":\"\\u0000\"}"},
         {"{\"a\\u0000\":1}"}},
        {"{\"type\":\"object\",\"additionalProperties\":{\"type\":\"null\"}}",
         {"{\"\\u0001\":null}"},
         {"{\"\\u0000\":null}"}},
        {"{\"type\":\"object\",\"properties\":{\"a\":{}},\"additionalProperties\":{}}",
         {"{\"\\u0001\":null}"},
         {"{\"a\":1,\"\\u0000\":null}"}},
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
        /* Words beside the one that decides. */
        {"{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"anyOf\":[{\"required\":[\"a\"]}"
         ","
         "{\"required\":[\"b\"]}],\"additionalProperties\":false}",
         {"{\"a\":1}", "{\"b\":1}", "{\"a\":1,\"b\":2}"},
         {"{}", "[]", "{\"c\":1}"}},
        {"{\"allOf\":[{\"properties\":{\"a\":{}},\"required\":[\"a\"]}],\"properties\":{\"b\":{}},"
         "\"required\":[\"b\"]}",
         {"{\"b\":1,\"a\":2}"},
         {"{\"a\":1}", "{\"b\":1}"}},
        {"{\"$ref\":\"#/$defs/"
         "p\",\"required\":[\"a\"],\"$defs\":{\"p\":{\"properties\":{\"a\":{},\"b\":{}}}}}",
         {"{\"a\":1}", "{\"a\":1,\"b\":1}"},
         {"{}", "{\"b\":1}"}},
        {"{\"type\":\"string\",\"enum\":[\"a\",1,null]}", {"\"a\""}, {"1", "null"}},
        {"{\"minItems\":2,\"maxItems\":2}", {"[1,2]"}, {"[]", "[1]", "[1,2,3]"}},
        {"{\"properties\":{\"a\":{\"type\":\"integer\"}},\"additionalProperties\":true}",
         {"{\"a\":1,\"b\":null}", "{\"b\":null}", "{\"aa\":1}"},
         {"{\"a\":null}", "{\"b\":1,\"a\":null}", "{\"a\":1,\"a\":null}", "{\"\\u0061\":null}"}},
        {"{\"properties\":{\"a\":{}},\"required\":[\"x\"]}",
         {"{\"x\":1}", "{\"a\":1,\"x\":1}"},
         {"{\"a\":1}", "{}"}},
        {"{\"patternProperties\":{\"^n\":{\"type\":\"number\"}},\"additionalProperties\":{\"type\":"
         "\"null\"}}",
         {"{\"n1\":1}", "{\"x\":null}", "{}"},
         {"{\"n1\":null}", "{\"x\":1}"}},
        {"{\"additionalProperties\":{\"type\":\"null\"},\"propertyNames\":{\"enum\":[\"k\",\"l\"]}"
         "}",
         {"{\"k\":null}", "{}"},
         {"{\"m\":null}"}},
        {"{\"properties\":{\"a\":{},\"b\":{},\"c\":{}},\"minProperties\":2,\"maxProperties\":2}",
         {"{\"a\":1,\"c\":1}", "{\"b\":1,\"c\":1}"},
         {"{\"a\":1}", "{\"a\":1,\"b\":1,\"c\":1}"}},
        {"{\"properties\":{\"a\":{},\"b\":{}},\"dependentRequired\":{\"a\":[\"b\"]}}",
         {"{\"b\":1}", "{\"a\":1,\"b\":1}", "{}"},
         {"{\"a\":1}"}},
        /* Numbers. */
        {"{\"type\":\"integer\",\"minimum\":-3,\"exclusiveMaximum\":120}",
         {"-3", "0", "7", "119"},
         {"-4", "120", "1000", "007", "-0", "1.0"}},
        {"{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":2.5}",
         {"0.1", "2.5", "2.50", "1"},
         {"0", "0.0", "2.51", "3", "1e9", "-1"}},
        {"{\"type\":\"integer\",\"minimum\":12345678901234567890,\"maximum\":18446744073709551615}",
         {"12345678901234567890", "18446744073709551615", "13000000000000000000"},
         {"12345678901234567889", "18446744073709551616", "9223372036854775807", "1"}},
        {"{\"type\":\"number\",\"multipleOf\":0.25}", {"0.5", "-1.75", "3"}, {"0.3", "0.125"}},
        {"{\"type\":\"integer\",\"multipleOf\":7,\"minimum\":1}", {"7", "70"}, {"0", "8", "-7"}},
        {"{\"type\":\"integer\",\"allOf\":[{\"multipleOf\":4},{\"multipleOf\":6}]}",
         {"12", "24"},
         {"4", "6", "8"}},
        /* Strings. */
        {"{\"type\":\"string\",\"pattern\":\"^[A-Z]{3}$\"}",
         {"\"ABC\""},
         {"\"AB\"", "\"abc\"", "\"ABCD\""}},
        {"{\"type\":\"string\",\"pattern\":\"b\",\"maxLength\":3}",
         {"\"b\"", "\"\xc3\xa9"
                   "b\\\"\""},
         {"\"a\"", "\"bbbb\""}},
        {"{\"type\":\"string\",\"pattern\":\"^\\\\d+(\\\\.\\\\d+)?$|^none$\"}",
         {"\"1\"", "\"1.5\"", "\"none\""},
         {"\"1.\"", "\"x1\""}},
        /* What is a blank or a letter to some is none that others leave out. */
        {"{\"type\":\"string\",\"pattern\":\"^[^\\\\s\\\\w.]$\"}",
         {"\"-\""},
         {"\" \"", "\"a\"", "\".\"", "\"\xe3\x80\x80\"", "\"\xc3\xa9\""}},
        {"{\"type\":\"string\",\"format\":\"date\"}",
         {"\"2024-02-29\"", "\"2026-11-30\""},
         {"\"2023-02-29\"", "\"2026-11-31\"", "\"2026-13-01\"", "\"0000-01-01\"",
          "\"1900-02-29\""}},
        {"{\"type\":\"string\",\"format\":\"time\"}",
         {"\"23:59:59Z\"", "\"01:02:03.5+01:00\""},
         {"\"24:00:00Z\"", "\"1:2:3Z\""}},
        {"{\"type\":\"string\",\"format\":\"date-time\"}",
         {"\"2026-11-28T10:00:00Z\""},
         {"\"2026-11-28\"", "\"2026-11-31T10:00:00Z\""}},
        {"{\"type\":\"string\",\"format\":\"email\"}",
         {"\"a.b+c@d-e.org\""},
         {"\"a\"", "\"a@b\"", "\"a@b.test\"", "\"@b.org\"", "\"a..b@c.org\""}},
        {"{\"type\":\"string\",\"format\":\"uuid\"}",
         {"\"01234567-89ab-cdef-0123-456789abcdef\""},
         {"\"01234567\""}},
        /* Arrays. */
        {"{\"type\":\"array\",\"prefixItems\":[{\"type\":\"integer\"},{\"type\":\"null\"}],"
         "\"items\":{\"const\":true},\"maxItems\":3}",
         {"[1,null]", "[1,null,true]"},
         {"[1]", "[null,1]", "[1,null,true,true]", "[1,null,false]"}},
        {"{\"type\":\"array\",\"items\":[{\"type\":\"integer\"}],\"additionalItems\":false,"
         "\"minItems\":0}",
         {"[]", "[1]"},
         {"[1,2]", "[null]"}},
        {"{\"type\":\"array\",\"items\":{\"type\":\"boolean\"},\"uniqueItems\":true}",
         {"[]", "[true,false]", "[false,true]"},
         {"[true,true]"}},
        {"{\"type\":\"array\",\"items\":{\"enum\":[1,2,3,4,5,6,7,8]},\"uniqueItems\":true,"
         "\"minItems\":2,\"maxItems\":3}",
         {"[1,2]", "[1,5,8]"},
         {"[1]", "[1,1]", "[1,2,3,4]", "[1,2,1]"}},
        /* Alternatives. */
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\",\"minimum\":2}]}",
         {"1", "-5"},
         {"2", "7"}},
        {"{\"not\":{\"enum\":[\"a\",\"b\"]},\"type\":\"string\"}",
         {"\"c\"", "\"\"", "\"aa\""},
         {"\"a\"", "\"b\""}},
        {"{\"properties\":{\"k\":{\"enum\":[\"i\",\"s\"]},\"v\":{}},\"required\":[\"k\",\"v\"],"
         "\"if\":{\"properties\":{\"k\":{\"const\":\"i\"}}},"
         "\"then\":{\"properties\":{\"v\":{\"type\":\"integer\"}}},\"else\":{\"properties\":{\"v\":"
         "{\"type\":\"string\"}}}}",
         {"{\"k\":\"i\",\"v\":1}", "{\"k\":\"s\",\"v\":\"x\"}"},
         {"{\"k\":\"i\",\"v\":\"x\"}", "{\"k\":\"s\",\"v\":1}"}},
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
        {"{\"type\":\"string\",\"pattern\":\"(?=a)b\"}", "looking ahead"},
        {"{\"type\":\"string\",\"pattern\":\"(a\"}", "without its ')'"},
        {"{\"type\":\"string\",\"pattern\":\"[^\\\\s\\\\S]\"}", "nothing fits"},
        {"{\"type\":\"string\",\"pattern\":\"(a|b)*a(a|b){20}\"}", "too large"},
        {"{\"type\":\"integer\",\"minimum\":\"1\"}", "'minimum' must be a number"},
        {"{\"type\":\"array\",\"contains\":{}}", "'contains' is not supported"},
        {"{\"type\":\"object\",\"unevaluatedProperties\":false}", "'unevaluatedProperties'"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true}",
         "uniqueItems"},
        {"{\"type\":\"string\",\"format\":\"idn-email\"}", "idn-email"},
        {"{\"type\":\"object\",\"minProperties\":2}", "'minProperties' of more than 1"},
        {"{\"const\":5,\"type\":\"string\"}", "nothing fits"},
        {"{\"type\":\"integer\",\"minimum\":3,\"maximum\":2}", "nothing fits"},
        {"{\"allOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "nothing fits"},
        {"{\"not\":{}}", "nothing fits"},
        {"{\"properties\":{\"a\":{\"$id\":\"x\"}}}", "$id"},
        {"{\"$ref\":\"#\"}", "refers to itself"},
        {"{\"anyOf\":[{\"$ref\":\"#\"},{\"type\":\"null\"}]}", "refers to itself"},
        {"{\"$ref\":\"#/nowhere\"}", "leads nowhere"},
        {"{\"type\":\"colour\"}", "colour"},
        {"{\"enum\":[]}", "enum"},
        {"{\"type\":\"array\",\"minItems\":3,\"maxItems\":2}", "minItems"},
        {"{\"type\":\"string\",\"maxLength\":100000000}", "maxLength"},
        {"7", "must be an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct grammar *g;
        char err[LLM_ERR];
        json_t *s = json_loads(cases[i][0], JSON_DECODE_ANY, NULL);
        struct grammar_form form = {.before = "", .schema = s, .after = ""};
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
                if (may != (logits[id] == 0)) ck_abort_msg("token %d", id);
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

/* ---- what is no schema ---- */

static struct grammar *written(enum grammar_kind kind, const char *text, const json_t *list) {
    struct grammar *g;
    char err[LLM_ERR];
    struct grammar_form form = {"", list, "", kind, text};
    ck_assert_msg(grammar_make(&form, 1, false, &g, err), "%s: %s", text ? text : "", err);
    return g;
}

START_TEST(test_written) {
    static const char gbnf[] =
        "# sums\nroot ::= term (\"+\" term)*  # more\n  | \"none\"\n"
        "term ::= [0-9]{1,2} | \"(\" root \")\" | [^a-z0-9()+] \"\\x41\\n\"?\n";
    const struct {
        enum grammar_kind kind;
        const char *text, *list, *good[6], *bad[8];
    } cases[] = {
        {GRAMMAR_REGEX, "(ab)+c?|\\d{2}", NULL, {"ab", "ababc", "07"}, {"abc1", "a", "", "007"}},
        {GRAMMAR_REGEX,
         "^[^\\W_]+\\.(org|com)$",
         NULL,
         {"a.org", "x1.com"},
         {"a.net", ".org", "a_b.org"}},
        {GRAMMAR_REGEX, "\\u00e9|x{0,2}y*?", NULL, {"\xc3\xa9", "", "xxyyy"}, {"xxx", "\xc3"}},
        {GRAMMAR_CHOICE,
         NULL,
         "[\"a\",\"ab\",\"b c\",\"a\"]",
         {"a", "ab", "b c"},
         {"", "abc", "b"}},
        {GRAMMAR_GBNF,
         gbnf,
         NULL,
         {"1", "1+22", "(1+2)+3", "none", "-A\n", "-"},
         {"", "1+", "123", "x", "()"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *list = cases[i].list ? json_loads(cases[i].list, 0, NULL) : NULL;
        struct grammar *g = written(cases[i].kind, cases[i].text, list);
        for (int k = 0; k < 6 && cases[i].good[k]; k++)
            ck_assert_msg(fits(g, cases[i].good[k]), "%zu: %s", i, cases[i].good[k]);
        for (int k = 0; k < 8 && cases[i].bad[k]; k++)
            ck_assert_msg(!fits(g, cases[i].bad[k]), "%zu: %s", i, cases[i].bad[k]);
        grammar_free(g);
        json_decref(list);
    }
}
END_TEST

START_TEST(test_written_wrong) {
    static const struct {
        enum grammar_kind kind;
        const char *text, *why;
    } cases[] = {
        {GRAMMAR_REGEX, "a)", "without its '('"},
        {GRAMMAR_REGEX, "\\bword", "'\\b'"},
        {GRAMMAR_REGEX, "(a)\\1", "back reference"},
        {GRAMMAR_REGEX, "*a", "repeats nothing"},
        {GRAMMAR_REGEX, "[z-a]", "range"},
        {GRAMMAR_GBNF, "root ::= a", "no rule 'a'"},
        {GRAMMAR_GBNF, "a ::= \"x\"", "no rule 'root'"},
        {GRAMMAR_GBNF, "root ::= root \"x\" | \"y\"", "refers to itself"},
        {GRAMMAR_GBNF, "root ::= \"x", "does not end"},
        {GRAMMAR_GBNF, "root ::= \"x\"\nroot ::= \"y\"", "line 2"},
        {GRAMMAR_GBNF, "root ::= (\"x\"", "')'"},
        {GRAMMAR_GBNF, "root ::= a\na ::= \"x\" a", "nothing fits"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct grammar *g;
        char err[LLM_ERR];
        struct grammar_form form = {"", NULL, "", cases[i].kind, cases[i].text};
        ck_assert_msg(!grammar_make(&form, 1, false, &g, err), "%s", cases[i].text);
        ck_assert_msg(strstr(err, cases[i].why) != NULL, "%s: %s", cases[i].text, err);
    }
}
END_TEST

/* ---- drawn at random ---- */

/* A byte that may come; once the text is long, rather one that ends something. */
static int draw(struct grammar *g, int32_t state, size_t n) {
    int may[256], found = 0;
    for (int b = 0; b < 256; b++) {
        char byte = (char)b;
        if (grammar_step(g, state, &byte, 1) >= 0) may[found++] = b;
    }
    if (!found) ck_abort_msg("it leads nowhere");
    for (int i = 0; n > 60 && i < found; i++)
        if (may[i] == '"' || may[i] == '}' || may[i] == ']') return may[i];
    return may[random() % found];
}

static void check_drawn(const json_t *schema) {
    char err[LLM_ERR] = "", why[LLM_ERR] = "";
    struct grammar *g = NULL;
    struct grammar_form form = {.before = "", .schema = schema, .after = ""};
    struct maker m = {.root = schema, .err = why, .made = json_array()};
    ck_assert_msg(grammar_make(&form, 1, false, &g, err), "%s", err);
    for (int round = 0; round < 12; round++) {
        struct buffer text = {0};
        int32_t state = grammar_start(g);
        while (grammar_goes_on(g, state) && !(grammar_ends(g, state) && random() % 2)) {
            char byte = (char)draw(g, state, text.n);
            buffer_add(&text, &byte, 1);
            state = grammar_step(g, state, &byte, 1);
        }
        json_t *value = json_loadb(text.data, text.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        ck_assert_msg(value && schema_fits(&m, schema, value) && !m.failed, "%s", text.data);
        json_decref(value);
        buffer_free(&text);
    }
    for (int i = 0; i < m.npatterns; i++)
        machine_free(m.patterns[i].machine);
    free(m.patterns);
    json_decref(m.made);
    grammar_free(g);
}

/* A fresh schema of a few levels. */
static json_t *random_schema(int depth) {
    long kind = random() % (depth ? 9 : 5);
    long lo = random() % 40 - 20, hi = lo + 1 + random() % 30;
    switch (kind) {
    case 0:
        return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)lo, "maximum",
                         (json_int_t)hi);
    case 1:
        return json_pack("{s:s, s:f, s:f}", "type", "number", "exclusiveMinimum", (double)lo / 4,
                         "maximum", (double)hi / 4 + 10);
    case 2:
        if (random() % 2)
            return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[a-c\"]{2,4}\\d?$");
        return json_pack("{s:s, s:s}", "type", "string", "format", random() % 2 ? "date" : "uuid");
    case 3:
        return json_pack("{s:[s, i, n, s]}", "enum", "a", (int)lo, "b");
    case 4:
        return json_pack("{s:s, s:I}", "type", "string", "maxLength", (json_int_t)(random() % 6));
    case 5:
        return json_pack("{s:s, s:o, s:I, s:I}", "type", "array", "items", random_schema(depth - 1),
                         "minItems", (json_int_t)(random() % 2), "maxItems",
                         (json_int_t)(2 + random() % 2));
    case 6:
        return json_pack("{s:[o, o]}", "anyOf", random_schema(depth - 1), random_schema(depth - 1));
    case 7:
        return json_pack("{s:s, s:{s:o}, s:[s], s:o}", "type", "object", "properties", "p",
                         random_schema(depth - 1), "required", "q", "additionalProperties",
                         random_schema(depth - 1));
    default:
        return json_pack("{s:s, s:{s:o, s:o}, s:[s], s:b}", "type", "object", "properties", "x",
                         random_schema(depth - 1), "y", random_schema(depth - 1), "required", "y",
                         "additionalProperties", 0);
    }
}

START_TEST(test_drawn) {
    srandom((unsigned)getpid());
    for (int i = 0; i < 60; i++) {
        json_t *s = random_schema(3);
        ck_assert_ptr_nonnull(s);
        check_drawn(s);
        json_decref(s);
    }
}
END_TEST

/* What one client asks for must not take long of what all share: 20,000 texts are few places. */
START_TEST(test_many_values) {
    json_t *values = json_array();
    char text[32];
    for (int i = 0; i < 20000; i++) {
        snprintf(text, sizeof text, "w%d", i * 7919);
        json_array_append_new(values, json_string(text));
    }
    json_t *s = json_pack("{s:o}", "enum", values);
    struct grammar_form form = {.before = "", .schema = s, .after = ""};
    struct grammar *g;
    char err[LLM_ERR];
    ck_assert_msg(grammar_make(&form, 1, false, &g, err), "%s", err);
    ck_assert(fits(g, "\"w7919\"") && fits(g, "\"w0\"") && !fits(g, "\"w79\""));
    grammar_free(g);
    json_decref(s);
}
END_TEST

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    checkpoint = argv[1];
    Suite *s = suite_create("grammar");
    TCase *c = tcase_create("grammar");
    tcase_set_timeout(c, 300);
    tcase_add_unchecked_fixture(c, load, unload);
    tcase_add_test(c, test_schemas);
    tcase_add_test(c, test_refused);
    tcase_add_test(c, test_masks);
    tcase_add_test(c, test_written);
    tcase_add_test(c, test_written_wrong);
    tcase_add_test(c, test_drawn);
    tcase_add_test(c, test_many_values);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
