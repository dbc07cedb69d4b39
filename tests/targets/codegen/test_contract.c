/* CONTRACT steps: shapes that divide nothing, every operand type, staged and direct b, waves over
 * k, symbolic k, several accumulators. */
#include "codegen/targets/targets.h"
#include "tests/targets/codegen/kit.h"
#include "tests/targets/codegen/suites.h"
#include <stdlib.h>
#include <string.h>

struct shape {
    et_dtype t;
    int n, N, K; /* rows of a, rows of b, inner */
    int tm, tn, wn, kc;
    int nacc;
    bool transposed; /* b is [K, N]: staged */
    bool symbolic_k;
    int stages; /* of a ring, or 0: kc is in parts of 64 bytes, and wn waves lie over n, the rest
                   over m */
    bool wide;  /* a is of f32, and more than a load */
    int band;   /* rows of sums that are there at a time, times wm; 0: all */
};

static int local(kit *k, et_func *f, const char *name, et_dtype t, int rank, const int *dim,
                 int pitch) {
    return et_local_add(k->p, f, name, t, rank, dim, pitch);
}

/* As many rows per tile as leave room for the sums of all waves. */
static int rows_that_fit(const kit *k, const struct shape *c) {
    int bytes = et_dtype_bytes(c->t), wk = kit_waves(k) / c->wn, tm = c->tm;
    while (tm > 16 && c->nacc * wk * tm * (c->tn + 4) * 4 +
                              (tm + (c->transposed ? c->tn : 0)) * (c->kc * bytes + 16) >
                          63 << 10)
        tm -= 16;
    return tm;
}

/* MEET: chunks lie where the sums are. GROUP: the GPU's waves could multiply together, which those
 * of an emulated one cannot: a ring has too few chunks for that here. Returns the bytes of its
 * code. */
static int64_t product(const struct shape *wanted, bool meet, bool group, const char *device) {
    static const et_warpgroup_shape none;
    kit k;
    kit_begin(&k, "product");
    et_target target = *k.opt.target;
    if (group) target.warpgroup = &none, k.opt.target = &target;
    struct shape fitting = *wanted, *c = &fitting;
    while (c->stages && c->tm % (16 * kit_waves(&k) / c->wn))
        c->wn *= 2;
    if (!c->stages) c->tm = rows_that_fit(&k, c);
    et_exprs *x = k.x;
    int64_t syms[2] = {c->n, c->K};
    et_expr rows = et_sym(x, kit_sym(&k, "M", 1, 80)), zero = kit_n(&k, 0);
    int over = kit_waves(&k) / c->wn;
    et_expr K = c->symbolic_k ? et_sym(x, kit_sym(&k, "K", 1, 512)) : kit_n(&k, c->K);
    et_expr N = kit_n(&k, c->N);
    int pad = c->symbolic_k ? 512 : c->K, wk = c->stages ? 1 : over;
    et_expr da[] = {rows, kit_n(&k, pad)}, db[] = {N, kit_n(&k, pad)}, dt[] = {kit_n(&k, pad), N};
    et_expr dout[] = {kit_n(&k, c->nacc), rows, N};
    int a = kit_tensor(&k, ET_TENSOR_INPUT, "a", c->wide ? ET_F32 : c->t, 2, da), b[4];
    static const char *const names[] = {"b0", "b1", "b2", "b3"};
    for (int i = 0; i < c->nacc; i++)
        b[i] = kit_tensor(&k, ET_TENSOR_INPUT, names[i], c->t, 2, c->transposed ? dt : db);
    int out = kit_tensor(&k, ET_TENSOR_OUTPUT, "out", ET_F32, 3, dout);

    et_func *f = kit_func(&k, "product", 2);
    et_step *s = kit_step(&k, f, ET_STEP_CONTRACT);
    s->mvar = kit_var(&k, "m", c->tm), s->nvar = kit_var(&k, "n", c->tn);
    s->kvar = et_var_add(x, "k", K);
    s->tm = c->tm, s->tn = c->tn, s->operand = c->t;
    et_expr m0 = et_mul(x, kit_coord(&k, f, 0), kit_n(&k, c->tm));
    et_expr n0 = et_mul(x, kit_coord(&k, f, 1), kit_n(&k, c->tn));
    s->mlive = et_op2(x, ET_X_MIN, kit_n(&k, c->tm), et_sub(x, rows, m0));
    s->nlive = et_op2(x, ET_X_MIN, kit_n(&k, c->tn), et_sub(x, N, n0));
    s->kextent = K;
    et_expr kv = et_var(x, s->kvar), nv = et_add(x, n0, et_var(x, s->nvar));
    s->a = kit_at(&k, a, 2, (et_expr[]){et_add(x, m0, et_var(x, s->mvar)), kv});
    if (c->wide) s->a = et_mul(x, s->a, et_float(x, 0.5));
    s->nacc = c->nacc;
    int bytes = et_dtype_bytes(c->t), columns = c->nacc * c->tn;
    s->wn = c->wn, s->wk = wk;
    int kc = c->stages ? 64 / bytes * c->kc : c->kc;
    s->wm = c->stages ? over : 1;
    int sums_at = f->lds_bytes;
    for (int i = 0; i < c->nacc; i++) {
        et_expr at[] = {nv, kv}, ta[] = {kv, nv};
        s->b[i] = kit_at(&k, b[i], 2, c->transposed ? ta : at);
        s->acc[i] = local(&k, f, "acc", ET_F32, 3, (int[]){wk, c->tm, c->tn}, c->tn + 4);
        et_local *l = &f->locals[s->acc[i]];
        l->rows = c->band * s->wm;
        f->lds_bytes = l->offset + et_local_bytes(l);
    }
    int sums_end = f->lds_bytes;
    if (meet) f->lds_bytes = sums_at;
    if (c->stages) {
        s->stage_a = local(&k, f, "a", c->t, 3, (int[]){c->stages, c->tm, kc}, kc);
        s->stage_b = local(&k, f, "b", c->t, 3, (int[]){c->stages, columns, kc}, kc);
    } else {
        s->stage_a = local(&k, f, "a", c->t, 2, (int[]){c->tm, c->kc}, c->kc + 16 / bytes);
    }
    if (c->transposed)
        s->stage_b = local(&k, f, "b", c->t, 2, (int[]){c->tn, c->kc}, c->kc + 16 / bytes);
    if (f->lds_bytes < sums_end) f->lds_bytes = sums_end;
    const et_step *con = s;
    int acc[4];
    for (int i = 0; i < c->nacc; i++)
        acc[i] = con->acc[i];
    int vars[] = {kit_var(&k, "i", c->tm), kit_var(&k, "j", c->tn)};
    for (int i = 0; i < c->nacc; i++) {
        et_expr i0 = et_var(x, vars[0]), j0 = et_var(x, vars[1]);
        et_expr r = et_add(x, m0, i0), col = et_add(x, n0, j0);
        et_expr at[] = {zero, i0, j0}, to[] = {kit_n(&k, i), r, col};
        et_expr in = et_op2(x, ET_X_AND, et_op2(x, ET_X_LT, r, rows), et_op2(x, ET_X_LT, col, N));
        kit_map(&k, f, 2, vars, kit_local_at(&k, f, acc[i], 3, at), in,
                kit_place(ET_LOAD_TENSOR, out, 3, to));
    }
    et_expr extent[] = {et_ceil_div(x, rows, kit_n(&k, c->tm)),
                        et_ceil_div(x, N, kit_n(&k, c->tn))};
    kit_grid(&k, f, extent, -1);
    k.tolerance = 2e-5;
    kit_check(&k, device, syms);
    ck_assert_int_eq(k.info.scratch_bytes, 0);
    kit_end(&k);
    return k.info.text_bytes;
}

static const struct shape shapes[] = {
    {ET_BF16, 1, 64, 256, 16, 64, 4, 256, 1, false, false, 0, false, 0},
    {ET_BF16, 16, 64, 256, 16, 64, 4, 64, 1, false, false, 0, false, 0},
    {ET_BF16, 17, 100, 768, 16, 64, 4, 256, 1, false, false, 0, false, 0},
    {ET_BF16, 37, 64, 1024, 48, 32, 1, 256, 1, false, false, 0, false, 0},
    {ET_BF16, 64, 96, 264, 64, 32, 2, 128, 2, false, false, 0, false, 0},
    {ET_BF16, 5, 33, 40, 16, 16, 1, 128, 3, false, false, 0, false, 0},
    {ET_BF16, 70, 128, 2048, 64, 64, 4, 256, 1, false, false, 0, false, 0},
    {ET_BF16, 7, 65, 129, 16, 64, 4, 64, 1, true, false, 0, false, 0},
    {ET_BF16, 33, 31, 7, 48, 32, 2, 64, 2, true, false, 0, false, 0},
    {ET_BF16, 9, 48, 200, 16, 16, 1, 256, 1, false, true, 0, false, 0},
    {ET_BF16, 9, 48, 129, 16, 48, 1, 256, 1, false, true, 0, false, 0},
    {ET_BF16, 1, 32, 4096, 16, 16, 1, 256, 1, false, false, 0, false, 0},
    {ET_BF16, 2, 16, 3000, 64, 16, 1, 256, 1, false, false, 0, false, 0},
    {ET_BF16, 3, 100, 2056, 32, 64, 4, 128, 2, false, false, 0, false, 0},
    {ET_BF16, 7, 16, 5000, 16, 16, 1, 256, 1, false, false, 0, false, 0},
    {ET_BF16, 3, 24, 500, 16, 16, 1, 128, 1, false, true, 0, false, 0},
    {ET_F32, 4, 20, 1000, 16, 16, 1, 64, 1, false, false, 0, false, 0},
    {ET_F16, 20, 80, 96, 32, 64, 4, 96, 1, false, false, 0, false, 0},
    {ET_F16, 20, 80, 100, 32, 64, 4, 64, 1, true, false, 0, false, 0},
    {ET_F32, 3, 64, 256, 16, 64, 4, 64, 1, false, false, 0, false, 0},
    {ET_F32, 35, 50, 52, 16, 32, 2, 64, 2, false, false, 0, false, 0},
    {ET_F32, 13, 17, 31, 16, 32, 1, 64, 1, true, false, 0, false, 0},
    {ET_F32, 13, 17, 1, 16, 32, 1, 64, 1, true, false, 0, false, 0},
    {ET_F32, 13, 17, 300, 16, 32, 1, 128, 1, true, true, 0, false, 0},
    {ET_BF16, 64, 64, 256, 64, 64, 2, 1, 1, false, false, 2, false, 0},
    {ET_BF16, 80, 200, 2056, 64, 64, 4, 2, 1, false, false, 2, false, 0},
    {ET_BF16, 77, 65, 32, 128, 32, 1, 1, 1, false, false, 3, false, 0},
    {ET_BF16, 1, 33, 1000, 128, 64, 1, 1, 1, false, false, 2, false, 0},
    {ET_BF16, 70, 64, 8, 64, 32, 1, 2, 2, false, false, 2, false, 0},
    {ET_BF16, 35, 100, 136, 128, 16, 1, 1, 3, false, false, 2, false, 0},
    {ET_BF16, 50, 70, 129, 64, 32, 2, 2, 1, false, true, 3, false, 0},
    {ET_BF16, 80, 64, 512, 64, 64, 2, 1, 1, false, true, 2, true, 0},
    {ET_BF16, 66, 96, 44, 64, 32, 1, 1, 2, false, false, 2, true, 0},
    {ET_BF16, 80, 128, 640, 64, 64, 2, 2, 1, false, false, 2, false, 0},
    {ET_BF16, 70, 100, 352, 128, 64, 2, 1, 1, false, false, 2, false, 0},
    {ET_BF16, 40, 48, 384, 64, 32, 1, 4, 1, false, false, 2, false, 0},
    {ET_BF16, 80, 100, 640, 128, 64, 2, 1, 1, false, false, 2, false, 16},
    {ET_BF16, 80, 128, 96, 128, 32, 1, 1, 2, false, false, 2, false, 16},
    {ET_BF16, 33, 100, 72, 128, 32, 1, 2, 1, false, true, 2, true, 16},
    {ET_F16, 40, 80, 100, 64, 64, 4, 2, 1, false, false, 2, false, 32},
    {ET_F16, 40, 80, 100, 64, 64, 4, 2, 1, false, false, 2, false, 0},
    {ET_F32, 70, 50, 52, 64, 32, 2, 4, 1, false, false, 2, false, 0},
    {ET_F32, 13, 65, 300, 128, 32, 1, 1, 1, false, true, 2, false, 0},
    /* columns of all products one behind the other */
    {ET_BF16, 7, 65, 256, 16, 24, 1, 256, 2, false, false, 0, false, 0},
    {ET_BF16, 20, 100, 520, 32, 48, 2, 128, 2, false, false, 0, false, 0},
    {ET_BF16, 3, 96, 512, 16, 24, 2, 256, 4, false, true, 0, false, 0},
    {ET_F16, 16, 40, 136, 16, 8, 1, 128, 2, false, false, 0, false, 0},
    {ET_F32, 5, 50, 64, 16, 24, 1, 64, 2, false, false, 0, false, 0},
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

/* Without $ETCC_LONG, each shape in one of two tests on a GPU of the first kind, half of them on
 * others. */
static bool left_out(int shape, int test) {
    bool first = strcmp(kit_target(), "gfx942") == 0;
    return !getenv("ETCC_LONG") && (shape + test) % (first ? 2 : 4) != 0;
}

START_TEST(products) {
    if (left_out(_i, 0)) return;
    product(&shapes[_i], false, false, "cus=4:xcds=1");
}
END_TEST

START_TEST(products_where_chunks_were) {
    if (left_out(_i, 1)) return;
    if (!shapes[_i].band) product(&shapes[_i], true, false, "cus=4:xcds=1");
}
END_TEST

/* Where waves could multiply together, tiles that are full have code of their own after the
 * product: one of two, all, none; of columns, too. */
START_TEST(tiles_that_are_full) {
    static const int rows[] = {80, 64, 33}, columns[] = {128, 100};
    struct shape s = {ET_BF16, 0, 0, 96, 64, 64, 2, 1, 1, false, false, 2, false, 0};
    s.n = rows[_i / 2];
    s.N = columns[_i % 2];
    int64_t one = product(&s, true, false, "cus=4:xcds=1");
    ck_assert_int_gt(product(&s, true, true, "cus=4:xcds=1"), one);
}
END_TEST

Suite *contract_suite(void) {
    Suite *s = suite_create("contract");
    TCase *t = tcase_create("contract");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, products, 0, NSHAPES);
    tcase_add_loop_test(t, products_where_chunks_were, 0, NSHAPES);
    tcase_add_loop_test(t, tiles_that_are_full, 0, 6);
    suite_add_tcase(s, t);
    return s;
}
