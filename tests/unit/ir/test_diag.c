#include "tests/unit/ir/build.h"
#include "tests/unit/ir/main.h"
#include <string.h>

static et_loc loc(int file, int line, int col, int len) {
    return (et_loc){.file = file, .line = line, .col = col, .len = len};
}

static int add_file(fixture *f, const char *text) {
    return et_diag_file(f->diags, "a.etg", text, strlen(text));
}

START_TEST(shows_line_and_caret) {
    fixture *f = fixture_create(1);
    int a = add_file(f, "dim N\n\tx = \tfoo(y)\r\nlast");
    et_diag(f->diags, ET_ERROR, loc(a, 2, 7, 3), "unknown function '%s'", "foo");
    et_diag(f->diags, ET_NOTE, loc(a, 1, 5, 1), "see here");
    et_diag(f->diags, ET_NOTE, (et_loc){0}, "no place");
    et_diag(f->diags, ET_WARNING, loc(a, 3, 5, 1), "at the end");
    ck_assert_int_eq(et_diag_errors(f->diags), 1);
    ck_assert_str_eq(messages(f), "a.etg:2:7: error: unknown function 'foo'\n"
                                  "    \tx = \tfoo(y)\n"
                                  "    \t    \t^~~\n"
                                  "a.etg:1:5: note: see here\n"
                                  "    dim N\n"
                                  "        ^\n"
                                  "note: no place\n"
                                  "a.etg:3:5: warning: at the end\n"
                                  "    last\n"
                                  "        ^\n");
    fixture_destroy(f);
}
END_TEST

START_TEST(source_order_and_repetition) {
    fixture *f = fixture_create(1);
    int a = add_file(f, "one\ntwo\n"), b = et_diag_file(f->diags, "b.etg", "bee\n", 4);
    et_diag(f->diags, ET_ERROR, loc(b, 1, 1, 1), "third");
    et_diag(f->diags, ET_ERROR, loc(a, 2, 1, 1), "second");
    et_diag(f->diags, ET_ERROR, loc(a, 1, 2, 1), "first");
    et_diag(f->diags, ET_ERROR, loc(a, 1, 2, 1), "its consequence");
    et_diag(f->diags, ET_NOTE, loc(a, 1, 1, 1), "of the consequence");
    et_diag(f->diags, ET_ERROR, (et_loc){0}, "nowhere");
    et_diag(f->diags, ET_ERROR, (et_loc){0}, "nowhere else");
    et_diag(f->diags, ET_ERROR, (et_loc){0}, "nowhere");
    ck_assert_int_eq(et_diag_errors(f->diags), 5);
    ck_assert_str_eq(messages(f), "error: nowhere\n"
                                  "error: nowhere else\n"
                                  "a.etg:1:2: error: first\n    one\n     ^\n"
                                  "a.etg:2:1: error: second\n    two\n    ^\n"
                                  "b.etg:1:1: error: third\n    bee\n    ^\n");
    fixture_destroy(f);
}
END_TEST

START_TEST(long_lines_are_cut) {
    fixture *f = fixture_create(1);
    char line[1001];
    for (int i = 0; i < 1000; i++)
        line[i] = (char)('0' + i % 10);
    line[1000] = 0;
    int a = add_file(f, line);
    et_diag(f->diags, ET_ERROR, loc(a, 1, 501, 4), "deep");
    et_diag(f->diags, ET_ERROR, loc(a, 1, 1, 5000), "wide");
    const char *text = messages(f), *deep = strstr(text, "deep\n");
    ck_assert_ptr_nonnull(deep);
    ck_assert(strncmp(deep, "deep\n    ...0123456789", 22) == 0);
    const char *caret = strchr(deep + 5, '\n') + 1, *end = strchr(caret, '\n');
    ck_assert_int_eq(strchr(caret, '^') - caret, 7 + 60);
    ck_assert(strncmp(end - 4, "^~~~", 4) == 0);
    for (const char *p = text, *q; (q = strchr(p, '\n')); p = q + 1)
        ck_assert_int_lt(q - p, 130);
    fixture_destroy(f);
}
END_TEST

/* Bytes that are no text, and positions that do not exist, still print as plain lines. */
START_TEST(hostile_text) {
    fixture *f = fixture_create(1);
    static const char text[] = "a\0b\033[31m\xff\xc3\xa9!\n\xe2\x82";
    int a = et_diag_file(f->diags, "h\033.etg", text, sizeof text - 1);
    et_diag(f->diags, ET_ERROR, loc(a, 1, 12, 1), "after two columns of é: %s", "\n\033[2J");
    et_diag(f->diags, ET_ERROR, loc(a, 2, 3, 9), "cut short");
    et_diag(f->diags, ET_ERROR, loc(a, 77, 1, 1), "no such line");
    et_diag(f->diags, ET_ERROR, loc(9, 1, 1, 1), "no such file");
    ck_assert_str_eq(messages(f), "h .etg:1:12: error: after two columns of é: ??[2J\n"
                                  "    a b [31m?é!\n"
                                  "              ^\n"
                                  "h .etg:2:3: error: cut short\n"
                                  "    ??\n"
                                  "      ^\n"
                                  "h .etg:77:1: error: no such line\n"
                                  "error: no such file\n");
    fixture_destroy(f);
}
END_TEST

START_TEST(many_errors_are_counted) {
    fixture *f = fixture_create(1);
    int a = add_file(f, "x\n");
    for (int i = 0; i < 1500; i++)
        et_diag(f->diags, ET_ERROR, loc(a, i + 1, 1, 1), "number %d", i);
    ck_assert_int_eq(et_diag_errors(f->diags), 1500);
    ck_assert_ptr_nonnull(strstr(messages(f), "\nand 500 more\n"));
    fixture_destroy(f);
}
END_TEST

START_TEST(warnings_are_passed_on) {
    fixture *f = fixture_create(1);
    et_diags *other = et_diags_create(f->arena);
    int a = et_diag_file(other, "b.etg", "bee\n", 4);
    et_diag(other, ET_ERROR, (et_loc){0}, "an error");
    et_diag(other, ET_NOTE, (et_loc){0}, "of the error");
    et_diag(other, ET_WARNING, (et_loc){0}, "careful");
    et_diag(other, ET_NOTE, (et_loc){0}, "why");
    et_diag(other, ET_WARNING, loc(a, 1, 1, 1), "somewhere");
    et_diag(f->diags, ET_WARNING, (et_loc){0}, "before");
    et_diag_pass_on(other, f->diags);
    et_diag_pass_on(other, f->diags);
    ck_assert_int_eq(et_diag_errors(f->diags), 0);
    ck_assert_str_eq(messages(f), "warning: before\nwarning: careful\nnote: why\n");
    fixture_destroy(f);
}
END_TEST

TEST_MAIN("diag", shows_line_and_caret, source_order_and_repetition, long_lines_are_cut,
          hostile_text, many_errors_are_counted, warnings_are_passed_on)
