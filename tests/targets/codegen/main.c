#include "tests/targets/codegen/suites.h"
#include <stdlib.h>

int main(void) {
    SRunner *r = srunner_create(map_suite());
    srunner_add_suite(r, reduce_suite());
    srunner_add_suite(r, contract_suite());
    srunner_add_suite(r, attend_suite());
    srunner_add_suite(r, scan_suite());
    srunner_add_suite(r, kernel_suite());
    srunner_add_suite(r, expr_suite());
    srunner_add_suite(r, int_suite());
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
