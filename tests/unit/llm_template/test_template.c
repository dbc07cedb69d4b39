/* test_template - the bounds of templates, where their errors are, and threads that share one. */
#include "examples/llm/base/error.h"
#include "examples/llm/template/chat.h"
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static lm_template_error error;

/* The text of a template, or NULL with ERROR. */
static char *render(const char *template, const char *variables, const lm_template_options *o) {
    json_t *j = json_loads(variables, 0, NULL);
    ck_assert_ptr_nonnull(j);
    lm_template *t = lm_template_parse(template, strlen(template), &error);
    char *text = t ? lm_template_render(t, j, o, NULL, &error) : NULL;
    lm_template_free(t);
    json_decref(j);
    return text;
}

static void expect_limit(const char *template, const lm_template_options *o, const char *message) {
    char *text = render(template, "{\"s\": \"0123456789\"}", o);
    ck_assert_msg(!text, "%s", template);
    ck_assert_msg(error.status == LM_TEMPLATE_LIMIT, "%s: %s", template, error.message);
    ck_assert_msg(strstr(error.message, message), "%s: %s", template, error.message);
}

START_TEST(limits) {
    static const char endless[] = "{% set l = range(5000)|list %}{% for a in l %}{% for b in l %}"
                                  "{% endfor %}{% endfor %}";
    static const char doubling[] = "{% set n = namespace(s='ab') %}{% for i in range(60) %}"
                                   "{% set n.s = n.s + n.s %}{% endfor %}";
    static const char output[] = "{% for a in range(1000) %}{{ s }}{% endfor %}";
    expect_limit(endless, NULL, "steps");
    expect_limit(doubling, NULL, "memory");
    expect_limit("{{ s * 100000000000 }}", NULL, "memory");
    expect_limit("{{ [0] * 9223372036854775807 }}", NULL, "memory");
    expect_limit("{{ '%4000s' % s * 100000 }}", NULL, "memory");
    expect_limit("{{ s | center(1000000000) }}", NULL, "steps");
    expect_limit("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", NULL, "nested");
    expect_limit(output, &(lm_template_options){.output = 9999}, "9999 bytes");
    expect_limit(output, &(lm_template_options){.steps = 1000}, "steps");
    expect_limit(output, &(lm_template_options){.memory = 5000}, "5000 bytes");
    char *text = render(output, "{\"s\": \"0123456789\"}", &(lm_template_options){.output = 10000});
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(strlen(text), 10000);
    free(text);
}
END_TEST

/* Values in one another, as deep as JSON allows or deeper. */
START_TEST(deep_values) {
    char json[4096] = "{\"a\": ";
    for (int i = 0; i < 1000; i++)
        strcat(json, "[");
    for (int i = 0; i < 1000; i++)
        strcat(json, "]");
    strcat(json, "}");
    ck_assert_ptr_null(render("{{ a }}", json, NULL));
    ck_assert_int_eq(error.status, LM_TEMPLATE_LIMIT);
    expect_limit("{% set n = namespace(l=[]) %}{% for i in range(5000) %}{% set n.l = [n.l] %}"
                 "{% endfor %}{{ n.l }}",
                 NULL, "nested");
}
END_TEST

static void expect_syntax(const char *template, int line, int column) {
    lm_template *t = lm_template_parse(template, strlen(template), &error);
    ck_assert_msg(!t, "%s", template);
    ck_assert_int_eq(error.status, LM_TEMPLATE_SYNTAX);
    ck_assert_msg(error.line == line && error.column == column, "%s: %d:%d: %s", template,
                  error.line, error.column, error.message);
}

START_TEST(places) {
    expect_syntax("a\nb {{ }}", 2, 6);
    expect_syntax("\xc3\xa9\xc3\xa9 {% foo %}", 1, 7);
    expect_syntax("x\r\n  {{ a", 2, 3);
    expect_syntax("{% if a %}\n{% for b in c %}", 2, 4);
    expect_syntax("\n\n{# ", 3, 1);
    expect_syntax("{{ 'a\n }}", 1, 4);
    expect_syntax("\xff", 0, 0);
    char *deep = malloc(100001);
    memset(deep, '(', 100000);
    deep[0] = deep[1] = '{';
    deep[100000] = 0;
    ck_assert_ptr_null(lm_template_parse(deep, 100000, &error));
    ck_assert_int_eq(error.status, LM_TEMPLATE_SYNTAX);
    free(deep);
    ck_assert_ptr_null(render("line\n  {{ raise_exception('no ' ~ x) }}", "{\"x\": 1}", NULL));
    ck_assert_int_eq(error.status, LM_TEMPLATE_RAISED);
    ck_assert_int_eq(error.line, 2);
    ck_assert_str_eq(error.message, "no 1");
    ck_assert_ptr_null(render("{{ x.y.z }}", "{\"x\": {}}", NULL));
    ck_assert_int_eq(error.status, LM_TEMPLATE_FAILED);
    ck_assert_int_eq(error.column, 7);
}
END_TEST

/* Strings with a 0 in them are told by their size. */
START_TEST(zero_bytes) {
    static const char text[] = "a\0b{{ s }}{{ 'x\\0y'|length }}";
    json_t *j = json_pack("{s: s%}", "s", "\0z", (size_t)2);
    lm_template *t = lm_template_parse(text, sizeof text - 1, &error);
    size_t n;
    ck_assert_ptr_nonnull(t);
    char *out = lm_template_render(t, j, NULL, &n, &error);
    ck_assert_uint_eq(n, 6);
    ck_assert_mem_eq(out, "a\0b\0z3", 7);
    free(out);
    lm_template_free(t);
    json_decref(j);
}
END_TEST

static lm_template *shared;

static void *render_often(void *variables) {
    for (int i = 0; i < 200; i++) {
        lm_template_error e;
        char *text = lm_template_render(shared, variables, NULL, NULL, &e);
        if (!text || strcmp(text, "3,\xc3\xa9"
                                  "1,5") != 0)
            return "wrong";
        free(text);
    }
    return NULL;
}

START_TEST(threads) {
    static const char text[] = "{% macro m(x) %}{{ x|length }},{% endmacro %}"
                               "{{ m('\xc3\xa9 b') }}\xc3\xa9{{ m([s]) }}{{ s|length }}";
    pthread_t ids[4];
    json_t *variables[4];
    shared = lm_template_parse(text, strlen(text), &error);
    ck_assert_ptr_nonnull(shared);
    for (int i = 0; i < 4; i++) {
        variables[i] = json_pack("{s: s}", "s", "abcd\xc3\xa9");
        ck_assert_int_eq(pthread_create(&ids[i], NULL, render_often, variables[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(ids[i], &result);
        ck_assert_ptr_null(result);
        json_decref(variables[i]);
    }
    lm_template_free(shared);
}
END_TEST

/* The templates of a checkpoint by their names, and a conversation through each. */
START_TEST(chat) {
    char dir[] = "chat.XXXXXX", path[64], err[LLM_ERR];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/tokenizer_config.json", dir);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs("{\"chat_template\": [{\"name\": \"default\", \"template\": \"{{ messages|length }}\"}, "
          "{\"name\": \"tool_use\", \"template\": \"{{ tools|length }}{{ x }}\"}]}",
          f);
    fclose(f);
    lm_chat *c = lm_chat_load(dir, NULL, err);
    ck_assert_msg(c, "%s", err);
    ck_assert_str_eq(lm_chat_name(c, 1), "tool_use");
    ck_assert_str_eq(lm_chat_source(c, 0), "{{ messages|length }}");
    ck_assert_ptr_null(lm_chat_name(c, 2));
    json_t *three = json_pack("[{}, {}, {}]"),
           *kwargs = json_pack("{s: s, s: []}", "x", "y", "messages");
    lm_chat_request r = {.messages = three, .kwargs = kwargs};
    char *text = lm_chat_render(c, &r, NULL, NULL, &error);
    ck_assert_str_eq(text, "3");
    free(text);
    r.tools = three;
    text = lm_chat_render(c, &r, NULL, NULL, &error);
    ck_assert_str_eq(text, "3y");
    free(text);
    json_decref(three);
    json_decref(kwargs);
    lm_chat_free(c);
    unlink(path);
    rmdir(dir);
}
END_TEST

int main(void) {
    Suite *s = suite_create("template");
    TCase *c = tcase_create("template");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, limits);
    tcase_add_test(c, deep_values);
    tcase_add_test(c, places);
    tcase_add_test(c, zero_bytes);
    tcase_add_test(c, threads);
    tcase_add_test(c, chat);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failures = srunner_ntests_failed(r);
    srunner_free(r);
    return failures != 0;
}
