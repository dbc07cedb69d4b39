/* Dimensions in reverse Polish. */
#include "runtime/etrt/manifest/manifest.h"
#include "tests/unit/runtime/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"N", "M", "min2"};

static bool value_of(const char *text, int64_t n, int64_t m, int64_t *out) {
    struct etrt_expr e;
    char err[ETRT_EXPR_ERR];
    const int64_t values[] = {n, m, 77};
    ck_assert_msg(etrt_expr_parse(text, names, 3, &e, err), "%s: %s", text, err);
    bool ok = etrt_expr_eval(&e, values, out);
    etrt_expr_free(&e);
    return ok;
}

START_TEST(values) {
    static const struct {
        const char *text;
        int64_t n, m, want;
    } cases[] = {
        {"7", 0, 0, 7},
        {"-7", 0, 0, -7},
        {"N", 5, 0, 5},
        {"N 15 + 16 /", 1, 0, 1},
        {"N 15 + 16 /", 16, 0, 1},
        {"N 15 + 16 /", 17, 0, 2},
        {"N M *", -3, 4, -12},
        {"N M -", 3, 4, -1},
        {"N M min", 3, 4, 3},
        {"N M max", 3, 4, 4},
        {"N 2 /", -3, 0, -2},
        {"N 2 %", -3, 0, 1},
        {"N -2 /", 3, 0, -2},
        {"N -2 %", 3, 0, -1},
        {"N -2 /", -4, 0, 2},
        {"  N   M  + ", 1, 2, 3},
        {"min2 N +", 1, 0, 78},
        {"N M + N M - *", 7, 3, 40},
        {"9223372036854775807", 0, 0, INT64_MAX},
        {"-9223372036854775807", 0, 0, -INT64_MAX},
    };
    int64_t got;
    ck_assert(value_of(cases[_i].text, cases[_i].n, cases[_i].m, &got));
    ck_assert_int_eq(got, cases[_i].want);
}
END_TEST

START_TEST(undefined_values) {
    static const char *const cases[] = {"N 0 /", "N 0 %", "N M *", "N 1 +", "0 N - 2 - "};
    int64_t got;
    ck_assert(!value_of(cases[_i], INT64_MAX, 2, &got));
}
END_TEST

START_TEST(least_integer) {
    int64_t got;
    ck_assert(!value_of("N -1 /", INT64_MIN, 0, &got));
    ck_assert(!value_of("N -1 %", INT64_MIN, 0, &got));
}
END_TEST

START_TEST(malformed) {
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "empty"},
        {"   ", "empty"},
        {"N M", "leaves 2"},
        {"+", "lacks an operand"},
        {"N +", "lacks an operand"},
        {"Q", "\"Q\""},
        {"N N", "leaves 2"},
        {"1.5", "\"1.5\""},
        {"0x10", "\"0x10\""},
        {"9223372036854775808", "not a symbol"},
        {"-9223372036854775808", "not a symbol"},
        {"N\tM +", "not a symbol"},
        {"--1", "not a symbol"},
        {"-", "lacks an operand"},
        {"99999999999999999999999999999999999999", "not a symbol"},
    };
    struct etrt_expr e;
    char err[ETRT_EXPR_ERR] = "";
    ck_assert(!etrt_expr_parse(cases[_i].text, names, 3, &e, err));
    expect_in(err, cases[_i].why);
    ck_assert_ptr_null(e.steps);
}
END_TEST

/* COUNT times PART, then TAIL, as a text of its own. */
static char *repeated(const char *part, int count, const char *tail, int tails) {
    char *text = calloc((size_t)count * strlen(part) + (size_t)tails * strlen(tail) + 1, 1);
    for (int i = 0; i < count; i++)
        strcat(text, part);
    for (int i = 0; i < tails; i++)
        strcat(text, tail);
    return text;
}

START_TEST(limits) {
    struct etrt_expr e;
    char err[ETRT_EXPR_ERR];
    char *deep = repeated("1 ", ETRT_EXPR_MAX_DEPTH, "+ ", ETRT_EXPR_MAX_DEPTH - 1);
    char *deeper = repeated("1 ", ETRT_EXPR_MAX_DEPTH + 1, "+ ", ETRT_EXPR_MAX_DEPTH);
    char *longer = repeated("1 1 + 1 - ", 100, "1 ", 1);
    int64_t got;
    ck_assert(value_of(deep, 0, 0, &got));
    ck_assert_int_eq(got, ETRT_EXPR_MAX_DEPTH);
    ck_assert(!etrt_expr_parse(deeper, names, 3, &e, err));
    expect_in(err, "deeply");
    ck_assert(!etrt_expr_parse(longer, names, 3, &e, err));
    free(deep);
    free(deeper);
    free(longer);
}
END_TEST

START_TEST(texts) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"7", "7"},
        {"N 15 + 16 /", "(N + 15) / 16"},
        {"N M -  min2 -", "N - M - min2"},
        {"N M min2 - -", "N - (M - min2)"},
        {"N M * 2 +", "N * M + 2"},
        {"N 2 M + *", "N * (2 + M)"},
        {"N M min 64 max 3 %", "max(min(N, M), 64) % 3"},
        {"N M 8 / /", "N / (M / 8)"},
        {"N -2 *", "N * (-2)"},
        {"-2 N *", "(-2) * N"},
        {"-2 N min", "min(-2, N)"},
    };
    struct etrt_symbol symbols[] = {{.name = "N"}, {.name = "M"}, {.name = "min2"}};
    const struct etrt_manifest m = {.symbols = symbols};
    struct etrt_tensor t = {.rank = 2};
    char err[ETRT_EXPR_ERR], got[256], want[256];
    ck_assert(etrt_expr_parse(cases[_i].text, names, 3, &t.shape[0], err));
    ck_assert(etrt_expr_const(-5, &t.shape[1]));
    FILE *f = fmemopen(got, sizeof got, "w");
    etrt_shape_print(f, &m, &t);
    fclose(f);
    snprintf(want, sizeof want, "%s, -5", cases[_i].want);
    ck_assert_str_eq(got, want);
    etrt_expr_free(&t.shape[0]);
    etrt_expr_free(&t.shape[1]);
}
END_TEST

static void add(TCase *tc) {
    tcase_add_loop_test(tc, values, 0, 20);
    tcase_add_loop_test(tc, undefined_values, 0, 5);
    tcase_add_test(tc, least_integer);
    tcase_add_loop_test(tc, malformed, 0, 14);
    tcase_add_test(tc, limits);
    tcase_add_loop_test(tc, texts, 0, 11);
}

int main(void) {
    return run_suite("expr", add, 20);
}
