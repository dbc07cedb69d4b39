/* ATTEND steps: head counts and depths that divide nothing, data-dependent lengths, every part. */
#include "ir/program/step.h"
#include "tests/targets/codegen/kit.h"
#include "tests/targets/codegen/suites.h"

struct shape {
    et_dtype t;
    int heads, depth, ctx;
    int strange_q; /* q computed, not loaded */
    int parts;     /* of those below */
};
enum {
    FIRST = 1,
    MASK = 2,
    HEAD_MASK = 4,
    SCORE = 8,
    EXTRA = 16,
    EMPTY = 32,
    DEAD = 64,
    PART = 128
};

/* What is more than the plain step: LENGTH is data that differs from tile to tile. */
static void add_parts(kit *k, const struct shape *c, et_step *s, et_expr length) {
    et_exprs *x = k->x;
    et_expr p = et_var(x, s->pvar), h = et_var(x, s->hvar), *part = s->part;
    et_expr qk = et_arg(x, ET_ARG_QK, ET_T_F32), far = et_sub(x, p, part[ET_AT_END]);
    if (c->parts & FIRST)
        part[ET_AT_FIRST] =
            et_op2(x, ET_X_MAX, et_sub(x, part[ET_AT_END], kit_n(k, 5)), kit_n(k, 0));
    if (c->parts & EMPTY) /* where the length is odd */
        part[ET_AT_END] = et_mul(x, part[ET_AT_END],
                                 et_op2(x, ET_X_MOD, et_add(x, length, kit_n(k, 1)), kit_n(k, 2)));
    if (c->parts & MASK)
        part[ET_AT_MASK] =
            et_op2(x, ET_X_NE, et_op2(x, ET_X_MOD, et_add(x, p, length), kit_n(k, 3)), kit_n(k, 0));
    if (c->parts & HEAD_MASK)
        part[ET_AT_MASK] =
            et_op2(x, ET_X_NE, et_op2(x, ET_X_MOD, et_add(x, p, h), kit_n(k, 2)), kit_n(k, 0));
    if (c->parts & DEAD) part[ET_AT_MASK] = et_op2(x, ET_X_LT, h, kit_n(k, 1));
    if (c->parts & SCORE) {
        et_expr capped = et_op1(x, ET_X_TANH, et_mul(x, qk, et_float(x, 0.3)));
        et_expr bias = et_mul(x, et_add(x, h, kit_n(k, 1)), far);
        part[ET_AT_SCORE] =
            et_add(x, et_mul(x, capped, et_float(x, 3)), et_mul(x, bias, et_float(x, 0.02)));
    }
    if (c->parts & EXTRA)
        part[ET_AT_EXTRA] = et_mul(x, et_sub(x, h, kit_n(k, 1)), et_float(x, 1.5));
}

static void attend(const struct shape *c) {
    if (c->depth > 8 * kit_wave()) return; /* more than a wave holds */
    kit k;
    kit_begin(&k, "attend");
    et_exprs *x = k.x;
    int64_t syms[] = {6};
    et_expr N = et_sym(x, kit_sym(&k, "N", 1, 9)), H = kit_n(&k, c->heads), D = kit_n(&k, c->depth);
    et_expr C = kit_n(&k, c->ctx);
    int wide = c->parts & PART ? c->depth + 2 : c->depth;
    et_expr dq[] = {N, H, D}, to[] = {N, H, kit_n(&k, wide)}, dk[] = {kit_n(&k, 8), C, D};
    int len = kit_tensor(&k, ET_TENSOR_INPUT, "len", ET_I32, 1, &N); /* 0 .. 7 */
    int q = kit_tensor(&k, ET_TENSOR_INPUT, "q", c->t, 3, dq);
    int kc = kit_tensor(&k, ET_TENSOR_STATE, "kc", c->t, 3, dk);
    int vc = kit_tensor(&k, ET_TENSOR_STATE, "vc", c->t, 3, dk);
    int out = kit_tensor(&k, ET_TENSOR_OUTPUT, "out", ET_F32, 3, to);
    et_func *f = kit_func(&k, "attend", 1);
    et_expr i = kit_coord(&k, f, 0), length = kit_at(&k, len, 1, &i);
    int h = kit_var(&k, "h", c->heads), d = kit_var(&k, "d", c->depth),
        p = kit_var(&k, "p", c->ctx);
    int o = et_local_add(k.p, f, "out", ET_F32, 2, (int[]){c->heads, wide}, wide);
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
    add_parts(&k, c, s, length);
    int e = kit_var(&k, "e", wide);
    et_expr oi[] = {et_var(x, h), et_var(x, e)}, ti[] = {i, et_var(x, h), et_var(x, e)};
    kit_map(&k, f, 2, (int[]){h, e}, kit_local_at(&k, f, o, 2, oi), ET_NO_EXPR,
            kit_place(ET_LOAD_TENSOR, out, 3, ti));
    kit_grid(&k, f, &N, -1);
    k.tolerance = 1e-5;
    kit_check(&k, "cus=2:xcds=1", syms);
    ck_assert_int_eq(k.info.scratch_bytes, 0);
    kit_end(&k);
}

/* The same for rows of queries: RUN of them, one after another, have the same keys and values. */
struct rows {
    struct shape of;
    int rows, run, n;
};

static void attend_rows(const struct rows *c) {
    kit k;
    kit_begin(&k, "attend");
    et_exprs *x = k.x;
    const struct shape *of = &c->of;
    int64_t syms[] = {c->n};
    et_expr N = et_sym(x, kit_sym(&k, "N", 1, 100)), H = kit_n(&k, of->heads);
    et_expr D = kit_n(&k, of->depth), C = kit_n(&k, of->ctx), size = kit_n(&k, c->rows);
    et_expr dq[] = {N, H, D}, dk[] = {kit_n(&k, 8), C, D};
    int len = kit_tensor(&k, ET_TENSOR_INPUT, "len", ET_I32, 1, &N); /* 0 .. 7 */
    int q = kit_tensor(&k, ET_TENSOR_INPUT, "q", of->t, 3, dq);
    int kc = kit_tensor(&k, ET_TENSOR_STATE, "kc", of->t, 3, dk);
    int vc = kit_tensor(&k, ET_TENSOR_STATE, "vc", of->t, 3, dk);
    int out = kit_tensor(&k, ET_TENSOR_OUTPUT, "out", ET_F32, 3, dq);
    et_func *f = kit_func(&k, "attend", 1);
    et_expr i0 = et_mul(x, kit_coord(&k, f, 0), size);
    int row = kit_var(&k, "i", c->rows), h = kit_var(&k, "h", of->heads);
    int d = kit_var(&k, "d", of->depth), p = kit_var(&k, "p", of->ctx);
    et_expr i = et_add(x, i0, et_var(x, row)), length = kit_at(&k, len, 1, &i);
    et_expr first = et_op2(x, ET_X_IDIV, i, kit_n(&k, c->run));
    first = et_mul(x, first, kit_n(&k, c->run));
    et_expr slot = et_op2(x, ET_X_MIN, kit_at(&k, len, 1, &first), kit_n(&k, 7));
    slot = et_op2(x, ET_X_MAX, slot, kit_n(&k, 0));
    int words = et_attend_slot(of->depth) / 4 / ET_ATTEND_BLOCK;
    int o =
        et_local_add(k.p, f, "out", ET_F32, 3, (int[]){c->rows, of->heads, of->depth}, of->depth);
    int part = et_local_add(k.p, f, "part", ET_F32, 3, (int[]){2, ET_ATTEND_BLOCK, words}, words);
    et_step *s = kit_step(&k, f, ET_STEP_ATTEND);
    s->hvar = h, s->dvar = d, s->pvar = p, s->heads = of->heads, s->depth = of->depth;
    s->ivar[0] = row, s->nivar = 1, s->rows = c->rows;
    s->ilive = et_op2(x, ET_X_MIN, size, et_sub(x, N, i0));
    s->out = o, s->scratch = part;
    s->part[ET_AT_FIRST] = kit_n(&k, 0);
    s->part[ET_AT_END] =
        et_add(x, et_op2(x, ET_X_MOD, et_mul(x, length, kit_n(&k, 29)), C), kit_n(&k, 1));
    et_expr qi[] = {i, et_var(x, h), et_var(x, d)}, ki[] = {slot, et_var(x, p), et_var(x, d)};
    s->part[ET_AT_SCORE] = et_mul(x, et_arg(x, ET_ARG_QK, ET_T_F32), et_float(x, 0.37));
    s->part[ET_AT_Q] = kit_at(&k, q, 3, qi);
    if (of->strange_q) s->part[ET_AT_Q] = et_mul(x, s->part[ET_AT_Q], et_float(x, 2));
    s->part[ET_AT_K] = kit_at(&k, kc, 3, ki);
    s->part[ET_AT_V] = kit_at(&k, vc, 3, ki);
    add_parts(&k, of, s, length);
    int e = kit_var(&k, "e", of->depth);
    et_expr oi[] = {et_var(x, row), et_var(x, h), et_var(x, e)},
            ti[] = {i, et_var(x, h), et_var(x, e)};
    kit_map(&k, f, 3, (int[]){row, h, e}, kit_local_at(&k, f, o, 3, oi), et_op2(x, ET_X_LT, i, N),
            kit_place(ET_LOAD_TENSOR, out, 3, ti));
    et_expr tiles = et_ceil_div(x, N, size);
    kit_grid(&k, f, &tiles, -1);
    k.tolerance = of->t == ET_BF16 ? 1e-2 : 2e-3; /* weights are rounded to it */
    kit_check(&k, "cus=2:xcds=1", syms);
    ck_assert_int_eq(k.info.scratch_bytes, 0);
    kit_end(&k);
}

static const struct rows row_shapes[] = {
    {{ET_BF16, 2, 64, 40, 0, 0}, 16, 100, 16},
    {{ET_BF16, 2, 64, 200, 0, 0}, 16, 100, 37},
    {{ET_BF16, 4, 32, 150, 0, 0}, 16, 5, 100},
    {{ET_F16, 1, 32, 150, 0, SCORE | EXTRA}, 16, 3, 21},
    {{ET_F16, 2, 32, 130, 1, FIRST | SCORE}, 32, 7, 70},
    {{ET_BF16, 1, 64, 70, 0, EMPTY | EXTRA}, 16, 1, 33},
    {{ET_BF16, 3, 64, 64, 1, EMPTY | FIRST}, 16, 9, 48},
};
enum { NROWS = sizeof row_shapes / sizeof *row_shapes };

static const struct shape shapes[] = {
    {ET_BF16, 2, 64, 40, 0, 0},
    {ET_BF16, 1, 64, 512, 1, 0},
    {ET_BF16, 4, 128, 100, 0, 0},
    {ET_BF16, 3, 80, 33, 1, 0},
    {ET_BF16, 8, 64, 70, 0, 0},
    {ET_BF16, 16, 32, 50, 0, 0},
    {ET_BF16, 2, 20, 17, 0, 0},
    {ET_F32, 5, 7, 1, 0, 0},
    {ET_F16, 2, 256, 45, 0, 0},
    {ET_BF16, 1, 512, 30, 0, 0},
    {ET_F32, 2, 96, 200, 1, 0},
    {ET_F32, 1, 1, 9, 0, 0},
    {ET_BF16, 2, 64, 40, 0, FIRST},
    {ET_BF16, 3, 80, 33, 0, MASK},
    {ET_F16, 4, 20, 70, 1, HEAD_MASK},
    {ET_BF16, 2, 64, 40, 0, SCORE},
    {ET_BF16, 16, 32, 50, 0, EXTRA | EMPTY},
    {ET_F32, 5, 7, 9, 0, FIRST | HEAD_MASK | SCORE | EXTRA},
    {ET_BF16, 10, 128, 100, 0, FIRST | MASK | SCORE | EXTRA},
    {ET_BF16, 3, 64, 30, 0, DEAD},
    {ET_BF16, 3, 64, 30, 0, DEAD | EXTRA},
    {ET_F32, 1, 1, 9, 0, FIRST | EMPTY},
    {ET_BF16, 2, 64, 40, 0, PART},
    {ET_BF16, 3, 80, 33, 1, PART | FIRST | MASK | EMPTY},
    {ET_F32, 5, 7, 9, 0, PART | HEAD_MASK | SCORE | EXTRA | EMPTY},
    {ET_BF16, 3, 64, 30, 0, PART | DEAD},
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

START_TEST(attention) {
    attend(&shapes[_i]);
}
END_TEST

START_TEST(rows_of_queries) {
    attend_rows(&row_shapes[_i]);
}
END_TEST

Suite *attend_suite(void) {
    Suite *s = suite_create("attend");
    TCase *t = tcase_create("attend");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, attention, 0, NSHAPES);
    if (kit_wave() == 64) tcase_add_loop_test(t, rows_of_queries, 0, NROWS);
    suite_add_tcase(s, t);
    return s;
}
