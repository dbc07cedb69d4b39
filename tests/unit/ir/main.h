/* main.h - the main function of a test program: TEST_MAIN("name", test, test, ...) */
#ifndef TEST_IR_MAIN_H
#define TEST_IR_MAIN_H

#include <check.h>

static inline int run_tests(const char *name, const TTest *const *tests, int n) {
    Suite *suite = suite_create(name);
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 120);
    for (int i = 0; i < n; i++)
        tcase_add_test(tc, tests[i]);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

#define TEST_MAIN(name, ...)                                                                       \
    int main(void) {                                                                               \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        return run_tests(name, tests, (int)(sizeof tests / sizeof *tests));                        \
    }

#endif
