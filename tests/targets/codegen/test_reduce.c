/* REDUCE steps: every kind and type, few and many rows, short and long, data-dependent extents. */
#include "tests/targets/codegen/kit.h"
#include "tests/targets/codegen/suites.h"

struct shape {
    et_reduce red;
    et_dtype t;
    int rows, K;
    bool symbolic;
    int live; /* rows that there are, by a symbol; 0: all, always */
};

static void reduce(const struct shape *c) {
    kit k;
    kit_begin(&k, "reduce");
    et_exprs *x = k.x;
    int64_t syms[] = {3, c->live ? c->live : c->K};
    et_expr N = et_sym(x, kit_sym(&k, "N", 1, 9)), one = kit_n(&k, c->rows);
    et_expr K = c->symbolic ? et_sym(x, kit_sym(&k, "K", 1, 5000)) : kit_n(&k, c->K);
    et_expr live = c->live ? et_sym(x, kit_sym(&k, "live", 1, c->rows)) : one;
    et_expr din[] = {N, one, K}, dout[] = {N, live};
    int in = kit_tensor(&k, ET_TENSOR_INPUT, "in", c->t, 3, din);
    bool index = c->red == ET_RED_ARGMAX || c->t == ET_I32;
    int out = kit_tensor(&k, ET_TENSOR_OUTPUT, "out", index ? ET_I32 : ET_F32, 2, dout);
    et_func *f = kit_func(&k, "reduce", 1);
    et_step *s = kit_step(&k, f, ET_STEP_REDUCE);
    s->nvars = 1;
    s->vars[0] = kit_var(&k, "r", c->rows);
    s->red = c->red;
    s->rvar = et_var_add(x, "k", K);
    s->rextent = K;
    et_expr at[] = {kit_coord(&k, f, 0), et_var(x, s->vars[0]), et_var(x, s->rvar)};
    s->value = kit_at(&k, in, 3, at);
    if (c->red == ET_RED_SUM && c->t != ET_I32) s->value = et_mul(x, s->value, s->value);
    if (c->live) s->mask = et_op2(x, ET_X_LT, et_var(x, s->vars[0]), live);
    s->to = kit_place(ET_LOAD_TENSOR, out, 2, at);
    kit_grid(&k, f, &N, -1);
    kit_check(&k, "cus=2:xcds=1", syms);
    ck_assert_int_eq(k.info.scratch_bytes, 0);
    kit_end(&k);
}

static const struct shape shapes[] = {
    {ET_RED_SUM, ET_F32, 1, 1, false, 0},       {ET_RED_SUM, ET_BF16, 1, 768, false, 0},
    {ET_RED_SUM, ET_BF16, 4, 256, false, 0},    {ET_RED_SUM, ET_F32, 64, 64, false, 0},
    {ET_RED_SUM, ET_F16, 5, 7, false, 0},       {ET_RED_SUM, ET_F32, 33, 31, false, 0},
    {ET_RED_SUM, ET_F32, 3, 1000, true, 0},     {ET_RED_SUM, ET_F32, 8, 2049, true, 0},
    {ET_RED_MAX, ET_F32, 16, 40, false, 0},     {ET_RED_MIN, ET_BF16, 2, 513, false, 0},
    {ET_RED_SUM, ET_I32, 4, 100, false, 0},     {ET_RED_MAX, ET_I32, 1, 99, true, 0},
    {ET_RED_ARGMAX, ET_F32, 1, 1024, false, 0}, {ET_RED_ARGMAX, ET_BF16, 7, 333, false, 0},
    {ET_RED_ARGMAX, ET_F32, 1, 4099, true, 0},  {ET_RED_ARGMAX, ET_I32, 9, 50, false, 0},
    {ET_RED_SUM, ET_BF16, 128, 8, false, 0},    {ET_RED_SUM, ET_F32, 12, 128, false, 0},
    {ET_RED_SUM, ET_F32, 2, 2048, false, 1},    {ET_RED_SUM, ET_F32, 2, 2048, false, 2},
    {ET_RED_SUM, ET_BF16, 4, 1024, false, 1},   {ET_RED_SUM, ET_F32, 4, 3072, false, 3},
    {ET_RED_SUM, ET_F32, 3, 777, false, 2},     {ET_RED_MAX, ET_F16, 4, 5000, false, 4},
    {ET_RED_SUM, ET_I32, 3, 2560, false, 1},    {ET_RED_ARGMAX, ET_F32, 3, 1024, false, 2},
    {ET_RED_SUM, ET_F32, 4, 200, false, 3},
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

START_TEST(reductions) {
    reduce(&shapes[_i]);
}
END_TEST

Suite *reduce_suite(void) {
    Suite *s = suite_create("reduce");
    TCase *t = tcase_create("reduce");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, reductions, 0, NSHAPES);
    suite_add_tcase(s, t);
    return s;
}
