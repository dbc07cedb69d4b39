#ifndef ET_TEST_CODEGEN_SUITES_H
#define ET_TEST_CODEGEN_SUITES_H
#include <check.h>

Suite *map_suite(void);
Suite *expr_suite(void);
Suite *int_suite(void);
Suite *kernel_suite(void);
Suite *reduce_suite(void);
Suite *contract_suite(void);
Suite *attend_suite(void);
Suite *scan_suite(void);

#endif
