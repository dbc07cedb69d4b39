/* The kernel around the steps: loops and their guarded edges, bounded waits, code size, errors. */
#include "tests/targets/codegen/kit.h"
#include "tests/targets/codegen/suites.h"
#include <stdlib.h>

/* t[0] = in; for l in 0..L: t[l + 1, i] = t[l, n - 1 - i] * 0.5 + w[l, i]; out = t[L]. Every
 * iteration reads what other workgroups wrote in the one before. */
static void build_loop(kit *k, int L, int most) {
    enum { B = 32 };
    kit_begin(k, "loop");
    et_exprs *x = k->x;
    et_expr N = et_sym(x, kit_sym(k, "N", 1, most)), b = kit_n(k, B), one = kit_n(k, 1);
    et_expr zero = kit_n(k, 0), blocks = et_ceil_div(x, N, b), last = et_sub(x, blocks, one);
    int loop = et_graph_loop(k->g, &k->g->body, "l", -1, 0, L, (et_loc){0});
    et_expr l = et_var(x, k->g->loops[loop].var), l1 = et_add(x, l, one);
    et_expr dw[] = {kit_n(k, L), N}, dt[] = {kit_n(k, L + 1), N};
    int in = kit_tensor(k, ET_TENSOR_INPUT, "in", ET_F32, 1, &N);
    int w = kit_tensor(k, ET_TENSOR_INPUT, "w", ET_F32, 2, dw);
    int t = kit_tensor(k, ET_TENSOR_TEMP, "t", ET_F32, 2, dt);
    int out = kit_tensor(k, ET_TENSOR_OUTPUT, "out", ET_F32, 1, &N);
    int begun = kit_event(k, "begun", 1, &blocks, one);
    int step = kit_event(k, "step", 2, (et_expr[]){kit_n(k, L), blocks}, one);
    int closed = kit_event(k, "closed", 0, NULL, blocks);
    for (int g = 0; g < 3; g++) {
        static const char *const names[] = {"first", "turn", "last"};
        et_func *f = kit_func(k, names[g], 1);
        int i = kit_var(k, "i", B);
        et_expr c = kit_coord(k, f, 0), at = et_add(x, et_mul(x, c, b), et_var(x, i));
        et_expr from[] = {l, et_sub(x, et_sub(x, N, one), at)}, wat[] = {l, at};
        et_expr first[] = {zero, at}, to[] = {l1, at}, end[] = {kit_n(k, L), at};
        et_expr v = g == 0   ? kit_at(k, in, 1, &at)
                    : g == 2 ? kit_at(k, t, 2, end)
                             : et_add(x, et_mul(x, kit_at(k, t, 2, from), et_float(x, 0.5)),
                                      kit_at(k, w, 2, wat));
        et_place place = g == 2   ? kit_place(ET_LOAD_TENSOR, out, 1, &at)
                         : g == 0 ? kit_place(ET_LOAD_TENSOR, t, 2, first)
                                  : kit_place(ET_LOAD_TENSOR, t, 2, to);
        kit_map(k, f, 1, &i, v, et_op2(x, ET_X_LT, at, N), place);
        int grid = kit_grid(k, f, &blocks, g == 1 ? loop : -1);
        et_expr before = et_op2(x, ET_X_MAX, et_sub(x, l, one), zero);
        switch (g) {
        case 0:
            kit_notify(k, grid, begun, &c, ET_ALWAYS);
            break;
        case 1:
            kit_wait(k, grid, begun, &zero, &last, ET_FIRST_ITERATION);
            kit_wait(k, grid, step, (et_expr[]){before, zero}, (et_expr[]){before, last},
                     ET_LATER_ITERATIONS);
            kit_notify(k, grid, step, (et_expr[]){l, c}, ET_ALWAYS);
            kit_notify(k, grid, closed, NULL, ET_LAST_ITERATION);
            break;
        default:
            kit_wait(k, grid, closed, NULL, NULL, ET_ALWAYS);
        }
    }
    et_program *p = k->p;
    p->items = et_alloc(k->arena, 8 * sizeof *p->items);
    p->items[0] = (et_item){.kind = ET_P_GRID, .index = 0};
    p->items[1] = (et_item){.kind = ET_P_LOOP, .index = loop, .first = 3, .count = 1};
    p->items[2] = (et_item){.kind = ET_P_GRID, .index = 2};
    p->items[3] = (et_item){.kind = ET_P_GRID, .index = 1};
    p->nitems = 4;
    p->count = 3;
}

START_TEST(loops) {
    static const char *const devices[] = {"cus=1:xcds=1", "cus=7:xcds=1",
                                          "cus=16:xcds=4:coherence=model"};
    static const int trips[] = {1, 2, 5};
    kit k;
    build_loop(&k, trips[_i / 3], 700);
    k.launches = 2;
    kit_check(&k, devices[_i % 3], (int64_t[]){_i == 4 ? 1 : 700 - _i});
    kit_end(&k);
}
END_TEST

/* Neither trip counts nor bounds of symbols make code: of waits too long for the lanes of a wave,
 * as short ones are made otherwise. */
START_TEST(code_size) {
    int64_t text[3];
    static const int trips[] = {4, 64, 4}, most[] = {30000, 30000, 100000000};
    for (int i = 0; i < 3; i++) {
        kit k;
        build_loop(&k, trips[i], most[i]);
        kit_compile(&k);
        text[i] = k.info.text_bytes;
        ck_assert_int_eq(k.info.scratch_bytes, 0);
        ck_assert_int_gt(k.info.lds_bytes, 32768);
        kit_end(&k);
    }
    ck_assert_int_gt(text[0], 0);
    ck_assert_int_le(llabs(text[1] - text[0]) * 100, text[0]);
    ck_assert_int_le(llabs(text[2] - text[0]), text[0] / 20 + 256); /* .text is padded */
}
END_TEST

/* A wait that needs one arrival too many ends within its bound, tells what it waited for, and the
 * session can be used again. */
START_TEST(broken_wait) {
    kit k;
    build_loop(&k, 3, 700);
    kit_broken(&k, "cus=5:xcds=1", (int64_t[]){70}, 1, "turn");
    kit_end(&k);
}
END_TEST

/* What the machine can do wrong becomes a diagnostic and leaves no file. */
START_TEST(machine_errors) {
    kit k;
    build_loop(&k, 3, 700);
    kit_compile(&k); /* fills in the items */
    remove(k.path);
    setenv("ETCC_LLD", _i == 0 ? "/no/such/ld.lld" : "/bin/false", 1);
    if (_i == 2) {
        unsetenv("ETCC_LLD");
        k.opt.output = "/no/such/folder/out.hsaco";
    }
    if (_i == 3) {
        unsetenv("ETCC_LLD");
        k.p->funcs[0].lds_bytes = 1 << 20;
    }
    ck_assert(!et_codegen(k.p, &k.opt, &k.info));
    ck_assert_int_eq(et_diag_errors(k.g->diags), 1);
    FILE *f = fopen(k.path, "rb");
    ck_assert_ptr_null(f);
    kit_end(&k);
}
END_TEST

Suite *kernel_suite(void) {
    Suite *s = suite_create("kernel");
    TCase *t = tcase_create("kernel");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, loops, 0, 9);
    tcase_add_test(t, code_size);
    tcase_add_test(t, broken_wait);
    tcase_add_loop_test(t, machine_errors, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
