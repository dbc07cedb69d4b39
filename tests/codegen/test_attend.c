/* ATTEND steps: head counts and depths that divide nothing, data-dependent lengths. */
#include "tests/codegen/kit.h"
#include "tests/codegen/suites.h"

struct shape {
    et_dtype t;
    int heads, depth, ctx;
    int strange_q; /* q computed, not loaded */
};

static void attend(const struct shape *c) {
    if (c->depth > 8 * kit_wave()) return; /* more than a wave holds */
    kit k;
    kit_begin(&k, "attend");
    et_exprs *x = k.x;
    int64_t syms[] = {6};
    et_expr N = et_sym(x, kit_sym(&k, "N", 1, 9)), H = kit_n(&k, c->heads), D = kit_n(&k, c->depth);
    et_expr C = kit_n(&k, c->ctx);
    et_expr dq[] = {N, H, D}, dk[] = {kit_n(&k, 8), C, D};
    int len = kit_tensor(&k, ET_TENSOR_INPUT, "len", ET_I32, 1, &N); /* 0 .. 7 */
    int q = kit_tensor(&k, ET_TENSOR_INPUT, "q", c->t, 3, dq);
    int kc = kit_tensor(&k, ET_TENSOR_STATE, "kc", c->t, 3, dk);
    int vc = kit_tensor(&k, ET_TENSOR_STATE, "vc", c->t, 3, dk);
    int out = kit_tensor(&k, ET_TENSOR_OUTPUT, "out", ET_F32, 3, dq);
    et_func *f = kit_func(&k, "attend", 1);
    et_expr i = kit_coord(&k, f, 0), length = kit_at(&k, len, 1, &i);
    int h = kit_var(&k, "h", c->heads), d = kit_var(&k, "d", c->depth),
        p = kit_var(&k, "p", c->ctx);
    int o = et_local_add(k.p, f, "out", ET_F32, 2, (int[]){c->heads, c->depth}, c->depth);
    int part = et_local_add(k.p, f, "part", ET_F32, 3,
                            (int[]){kit_waves(&k), c->heads, c->depth + 2}, c->depth + 2);
    et_step *s = kit_step(&k, f, ET_STEP_ATTEND);
    s->hvar = h, s->dvar = d, s->pvar = p, s->heads = c->heads, s->depth = c->depth;
    s->out = o, s->scratch = part;
    /* (len * 29) mod ctx + 1 positions */
    s->part[ET_AT_FIRST] = kit_n(&k, 0);
    s->part[ET_AT_END] =
        et_add(x, et_op2(x, ET_X_MOD, et_mul(x, length, kit_n(&k, 29)), C), kit_n(&k, 1));
    et_expr qi[] = {i, et_var(x, h), et_var(x, d)};
    s->part[ET_AT_SCORE] = et_mul(x, et_arg(x, ET_ARG_QK, ET_T_F32), et_float(x, 0.37));
    s->part[ET_AT_Q] = kit_at(&k, q, 3, qi);
    if (c->strange_q) s->part[ET_AT_Q] = et_mul(x, s->part[ET_AT_Q], et_float(x, 3));
    et_expr slot = et_op2(x, ET_X_MIN, length, kit_n(&k, 7));
    slot = et_op2(x, ET_X_MAX, slot, kit_n(&k, 0));
    et_expr ki[] = {slot, et_var(x, p), et_var(x, d)};
    s->part[ET_AT_K] = kit_at(&k, kc, 3, ki);
    s->part[ET_AT_V] = kit_at(&k, vc, 3, ki);
    et_expr oi[] = {et_var(x, h), et_var(x, d)};
    kit_map(&k, f, 2, (int[]){h, d}, kit_local_at(&k, f, o, 2, oi), ET_NO_EXPR,
            kit_place(ET_LOAD_TENSOR, out, 3, qi));
    kit_grid(&k, f, &N, -1);
    k.tolerance = 1e-5;
    kit_check(&k, "cus=2:xcds=1", syms);
    ck_assert_int_eq(k.info.scratch_bytes, 0);
    kit_end(&k);
}

static const struct shape shapes[] = {
    {ET_BF16, 2, 64, 40, 0},  {ET_BF16, 1, 64, 512, 1}, {ET_BF16, 4, 128, 100, 0},
    {ET_BF16, 3, 80, 33, 1},  {ET_BF16, 8, 64, 70, 0},  {ET_BF16, 16, 32, 50, 0},
    {ET_BF16, 2, 20, 17, 0},  {ET_F32, 5, 7, 1, 0},     {ET_F16, 2, 256, 45, 0},
    {ET_BF16, 1, 512, 30, 0}, {ET_F32, 2, 96, 200, 1},  {ET_F32, 1, 1, 9, 0},
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

START_TEST(attention) {
    attend(&shapes[_i]);
}
END_TEST

Suite *attend_suite(void) {
    Suite *s = suite_create("attend");
    TCase *t = tcase_create("attend");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, attention, 0, NSHAPES);
    suite_add_tcase(s, t);
    return s;
}
