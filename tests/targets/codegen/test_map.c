/* MAP steps, schedules, events and loops. */
#include "tests/targets/codegen/kit.h"
#include "tests/targets/codegen/suites.h"
#include <math.h>

/* out[n, j] = f(in[n, j]) in tiles of 4 x J, N symbolic. */
static void map_rows(int J, et_dtype t, const char *device, int64_t n) {
    kit k;
    kit_begin(&k, "rows");
    et_exprs *x = k.x;
    et_expr N = et_sym(x, kit_sym(&k, "N", 1, 40)), dims[] = {N, kit_n(&k, J)};
    int in = kit_tensor(&k, ET_TENSOR_INPUT, "in", t, 2, dims);
    int out = kit_tensor(&k, ET_TENSOR_OUTPUT, "out", t, 2, dims);
    et_func *f = kit_func(&k, "rows", 1);
    int vars[] = {kit_var(&k, "i", 4), kit_var(&k, "j", J)};
    et_expr row = et_add(x, et_mul(x, kit_coord(&k, f, 0), kit_n(&k, 4)), et_var(x, vars[0]));
    et_expr at[] = {row, et_var(x, vars[1])};
    et_expr v = kit_at(&k, in, 2, at);
    v = et_add(x, et_mul(x, v, et_float(x, 0.5)), et_op1(x, ET_X_EXP, v));
    kit_map(&k, f, 2, vars, v, et_op2(x, ET_X_LT, row, N), kit_place(ET_LOAD_TENSOR, out, 2, at));
    kit_grid(&k, f, (et_expr[]){et_ceil_div(x, N, kit_n(&k, 4))}, -1);
    k.tolerance = t == ET_F32 ? 2e-6 : t == ET_F16 ? 1e-3 : 4e-3;
    kit_check(&k, device, &n);
    ck_assert_int_eq(k.info.scratch_bytes, 0);
    kit_end(&k);
}

/* out[i] = mid[i] * codes[i], all bits of it, where mid has numbers, infinities and what is not a
 * number, of either sign: products of bf16 and integers that bf16 has to round. */
START_TEST(rounds_products) {
    enum { B = 256 };
    kit k;
    int64_t n = 1;
    kit_begin(&k, "rounds");
    et_exprs *x = k.x;
    kit_sym(&k, "N", 1, 1);
    et_expr all = kit_n(&k, B), zero = kit_n(&k, 0);
    int in = kit_tensor(&k, ET_TENSOR_INPUT, "in", ET_BF16, 1, &all);
    int codes = kit_tensor(&k, ET_TENSOR_INPUT, "codes", ET_I32, 1, &all);
    int mid = kit_tensor(&k, ET_TENSOR_TEMP, "mid", ET_BF16, 1, &all);
    int out = kit_tensor(&k, ET_TENSOR_OUTPUT, "out", ET_BF16, 1, &all);
    int done = kit_event(&k, "done", 1, (et_expr[]){kit_n(&k, 1)}, kit_n(&k, 1));
    for (int step = 0; step < 2; step++) {
        et_func *f = kit_func(&k, step ? "times" : "odd", 1);
        int var = kit_var(&k, "i", B);
        et_expr i = et_var(x, var), four = et_op2(x, ET_X_MOD, i, kit_n(&k, 4));
        et_expr v = kit_at(&k, step ? mid : in, 1, &i), odd;
        if (step) {
            v = et_mul(x, v, et_op1(x, ET_X_TO_F32, kit_at(&k, codes, 1, &i)));
        } else {
            odd = et_sub(x, et_float(x, -1), et_mul(x, v, v));
            odd = et_select(x, et_op2(x, ET_X_EQ, four, zero), et_op1(x, ET_X_SQRT, odd),
                            et_mul(x, v, et_float(x, INFINITY)));
            v = et_select(x, et_op2(x, ET_X_LT, four, kit_n(&k, 2)), odd, v);
        }
        kit_map(&k, f, 1, &var, v, ET_NO_EXPR, kit_place(ET_LOAD_TENSOR, step ? out : mid, 1, &i));
        int grid = kit_grid(&k, f, (et_expr[]){kit_n(&k, 1)}, -1);
        if (step)
            kit_wait(&k, grid, done, &zero, &zero, ET_ALWAYS);
        else
            kit_notify(&k, grid, done, &zero, ET_ALWAYS);
    }
    k.tolerance = 0;
    kit_check(&k, "cus=2:xcds=1", &n);
    kit_end(&k);
}
END_TEST

START_TEST(map_rows_all) {
    static const int widths[] = {1, 3, 64, 250, 256, 257, 1024, 4096};
    static const et_dtype types[] = {ET_F32, ET_BF16, ET_F16};
    static const int rows[] = {17, 40, 1};
    map_rows(widths[_i / 3], types[_i % 3], "cus=3:xcds=1", rows[_i % 3]);
}
END_TEST

/* Two grids: mid[i] = in[i] * 3, then out[i] = mid[n - 1 - i] + 1, ordered by one event per block.
 */
static void chain(const char *device, int64_t n, bool broken) {
    enum { B = 64 };
    kit k;
    kit_begin(&k, "chain");
    et_exprs *x = k.x;
    et_expr N = et_sym(x, kit_sym(&k, "N", 1, 9000)), b = kit_n(&k, B);
    et_expr blocks = et_ceil_div(x, N, b), zero = kit_n(&k, 0), one = kit_n(&k, 1);
    int in = kit_tensor(&k, ET_TENSOR_INPUT, "in", ET_F32, 1, &N);
    int mid = kit_tensor(&k, ET_TENSOR_TEMP, "mid", ET_F32, 1, &N);
    int out = kit_tensor(&k, ET_TENSOR_OUTPUT, "out", ET_F32, 1, &N);
    int done = kit_event(&k, "done", 1, &blocks, one);
    for (int step = 0; step < 2; step++) {
        et_func *f = kit_func(&k, step ? "turn" : "scale", 1);
        int i = kit_var(&k, "i", B);
        et_expr c = kit_coord(&k, f, 0), at = et_add(x, et_mul(x, c, b), et_var(x, i));
        et_expr from = step ? et_sub(x, et_sub(x, N, one), at) : at;
        et_expr v = kit_at(&k, step ? mid : in, 1, &from);
        v = step ? et_add(x, v, et_float(x, 1)) : et_mul(x, v, et_float(x, 3));
        kit_map(&k, f, 1, &i, v, et_op2(x, ET_X_LT, at, N),
                kit_place(ET_LOAD_TENSOR, step ? out : mid, 1, &at));
        int grid = kit_grid(&k, f, &blocks, -1);
        et_expr last = et_sub(x, blocks, one);
        if (step)
            kit_wait(&k, grid, done, &zero, &last, ET_ALWAYS);
        else
            kit_notify(&k, grid, done, &c, ET_ALWAYS);
    }
    k.launches = 3;
    if (broken)
        kit_broken(&k, device, &n, done, "turn");
    else
        kit_check(&k, device, &n);
    kit_end(&k);
}

START_TEST(events) {
    static const int sizes[] = {1, 63, 64, 65, 1000, 8999};
    static const char *const devices[] = {"cus=1:xcds=1", "cus=7:xcds=1",
                                          "cus=64:xcds=8:coherence=model"};
    chain(devices[_i % 3], sizes[_i / 3], false);
}
END_TEST

/* More counters than lanes, and a wait on them that never ends. */
START_TEST(broken_box) {
    chain("cus=7:xcds=1", _i ? 8999 : 1, true);
}
END_TEST

Suite *map_suite(void) {
    Suite *s = suite_create("map");
    TCase *t = tcase_create("map");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, rounds_products);
    tcase_add_loop_test(t, map_rows_all, 0, 24);
    tcase_add_loop_test(t, events, 0, 18);
    tcase_add_loop_test(t, broken_box, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
