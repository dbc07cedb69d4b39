/* The reference interpreter against numbers worked out another way. */
#include "ir/expr/philox.h"
#include "ir/expr/tape.h"
#include "tests/unit/ir/build.h"
#include "tests/unit/ir/main.h"
#include <math.h>
#include <string.h>

static fixture *start(void) {
    fixture *f = fixture_create(7);
    et_sym_add(f->p, "N", 1, 64);
    f->syms[0] = 3;
    return f;
}

static void run_ok(fixture *f) {
    ck_assert_msg(et_diag_errors(f->diags) == 0, "%s", messages(f));
    ck_assert_msg(run_graph(f), "%s", f->err);
}

static et_value map1(fixture *f, et_value x, et_expr body, et_dtype dtype) {
    return node(f, "map", ARGS(x), ATTRS(attr_expr("body", body), attr_int("dtype", dtype)));
}

START_TEST(contract_rounds_to_the_narrower) {
    fixture *f = start();
    et_value a = INPUT(f, "a", ET_F32, 1, 2), b = INPUT(f, "b", ET_BF16, 2, 1);
    et_value c = INPUT(f, "c", ET_F32, 2, 1);
    et_value mixed = node(f, "contract", ARGS(a, b), NO_ATTRS);
    et_value full = node(f, "contract", ARGS(a, c), NO_ATTRS);
    et_value other = node(f, "contract", ARGS(b, a), NO_ATTRS);
    fill(f);
    set_floats(f, a, (float[]){1 + 0x1p-10f, 0});
    set_floats(f, b, (float[]){1, 1});
    set_floats(f, c, (float[]){1, 1});
    run_ok(f);
    ck_assert_float_eq(tensor(f, mixed)->f[0], 1);
    ck_assert_float_eq(tensor(f, full)->f[0], 1 + 0x1p-10f);
    ck_assert_float_eq(tensor(f, other)->f[0], 1);
    fixture_destroy(f);
}
END_TEST

/* Long sums: the error must not grow with their length. */
START_TEST(contract_is_accurate) {
    fixture *f = start();
    enum { K = 4099 };
    et_value a = INPUT(f, "a", ET_F32, 3, K), b = INPUT(f, "b", ET_F32, 2, K);
    et_value t = INPUT(f, "t", ET_F32, K, 2);
    et_value c = node(f, "contract", ARGS(a, b), ATTRS(attr_int("trans_b", 1)));
    et_value d = node(f, "contract", ARGS(a, t), NO_ATTRS);
    fill(f);
    for (int k = 0; k < K; k++)
        for (int n = 0; n < 2; n++)
            tensor(f, t)->f[k * 2 + n] = tensor(f, b)->f[n * K + k];
    run_ok(f);
    for (int m = 0; m < 3; m++)
        for (int n = 0; n < 2; n++) {
            long double want = 0;
            for (int k = 0; k < K; k++)
                want += (long double)tensor(f, a)->f[m * K + k] * tensor(f, b)->f[n * K + k];
            ck_assert_double_eq_tol(tensor(f, c)->f[m * 2 + n], (double)want, 1e-5);
            ck_assert_double_eq_tol(tensor(f, d)->f[m * 2 + n], (double)want, 1e-5);
        }
    fixture_destroy(f);
}
END_TEST

static double naive_attention(const float *q, const float *k, const float *v, int n, int size,
                              double scale, int d) {
    double top = 0, bottom = 0;
    for (int p = 0; p < n; p++) {
        double s = 0;
        for (int e = 0; e < size; e++)
            s += (double)q[e] * (double)k[p * size + e];
        top += exp(s * scale) * (double)v[p * size + d];
        bottom += exp(s * scale);
    }
    return top / bottom;
}

START_TEST(attention_reads_the_right_rows) {
    fixture *f = start();
    enum { TOKENS = 5, HEADS = 6, KV = 2, CTX = 7, D = 4, SLOTS = 3 };
    f->syms[0] = TOKENS;
    et_value q = INPUT(f, "q", ET_F32, -1, HEADS, D), k = STATE(f, "k", ET_BF16, SLOTS, KV, CTX, D);
    et_value v = STATE(f, "v", ET_BF16, SLOTS, KV, CTX, D), s = INPUT(f, "s", ET_I32, -1);
    et_value p = INPUT(f, "p", ET_I32, -1);
    et_value a = attention(f, q, k, v, s, p, 0.5);
    fill(f);
    set_ints(f, s, (int32_t[]){0, 2, 1, INT32_MAX, INT32_MIN});
    set_ints(f, p, (int32_t[]){0, 6, 3, INT32_MAX, -1});
    static const int slot[] = {0, 2, 1, 2, 0}, count[] = {1, 7, 4, 7, 0};
    run_ok(f);
    for (int i = 0; i < TOKENS; i++)
        for (int h = 0; h < HEADS; h++)
            for (int d = 0; d < D; d++) {
                int row = (slot[i] * KV + h / (HEADS / KV)) * CTX * D;
                double want = count[i] ? naive_attention(tensor(f, q)->f + (i * HEADS + h) * D,
                                                         tensor(f, k)->f + row,
                                                         tensor(f, v)->f + row, count[i], D, 0.5, d)
                                       : 0;
                ck_assert_double_eq_tol(tensor(f, a)->f[(i * HEADS + h) * D + d], want, 1e-6);
            }
    fixture_destroy(f);
}
END_TEST

/* S = d S, then S += k (v - S k): rows of three sequences, one that begins anew and one without a
 * state. */
START_TEST(scan_carries_states) {
    fixture *f = start();
    enum { ROWS = 7, H = 2, V = 3, K = 4, SLOTS = 3 };
    et_exprs *x = f->p;
    f->syms[0] = ROWS;
    et_value carried = STATE(f, "s", ET_F32, SLOTS, H, V, K), slots = INPUT(f, "slots", ET_I32, -1);
    et_value k = INPUT(f, "k", ET_F32, -1, H, K), v = INPUT(f, "v", ET_F32, -1, H, V);
    et_value d = INPUT(f, "d", ET_F32, -1, H);
    int64_t over[] = {et_graph_var(f->g, "i", et_sym(x, 0)), et_graph_var(f->g, "h", et_int(x, H)),
                      et_graph_var(f->g, "e", et_int(x, V)), et_graph_var(f->g, "j", et_int(x, K))};
    et_expr at[4];
    for (int n = 0; n < 4; n++)
        at[n] = et_var(x, (int)over[n]);
    et_expr slot = et_load(x, ET_LOAD_ARG, 1, ET_T_I32, 1, at), row = at[0];
    et_expr key = et_load(x, ET_LOAD_ARG, 2, ET_T_F32, 3, (et_expr[]){row, at[1], at[3]});
    et_expr value = et_load(x, ET_LOAD_ARG, 3, ET_T_F32, 3, (et_expr[]){row, at[1], at[2]});
    et_expr was = et_mul(x, et_load(x, ET_LOAD_ARG, 4, ET_T_F32, 2, (et_expr[]){row, at[1]}),
                         et_arg(x, ET_ARG_STATE, ET_T_F32));
    et_expr off = et_sub(x, value, et_arg(x, ET_ARG_SEEN, ET_T_F32));
    et_expr in = et_op2(x, ET_X_MIN, et_op2(x, ET_X_MAX, slot, et_int(x, 0)), et_int(x, SLOTS - 1));
    et_expr index[] = {in, at[1], at[2], at[3]};
    et_value y = node(f, "scan", ARGS(carried, slots, k, v, d),
                      ATTRS({.name = "over", .kind = ET_A_VARS, .n = 4, .ints = over},
                            attr_exprs("index", 4, index),
                            attr_expr("fresh", et_op2(x, ET_X_EQ, row, et_int(x, 4))),
                            attr_expr("keep", et_op2(x, ET_X_EQ, in, slot)),
                            attr_expr("look", et_mul(x, was, key)),
                            attr_expr("next", et_add(x, was, et_mul(x, key, off))),
                            attr_expr("out", et_mul(x, et_arg(x, ET_ARG_STATE, ET_T_F32), key))));
    ck_assert_msg(y.id, "%s", messages(f));
    fill(f);
    static const int32_t of[ROWS] = {0, 2, 0, 7, 0, 2, 0};
    set_ints(f, slots, of);
    double s[SLOTS + 1][H][V][K] = {{{{0}}}};
    for (int n = 0; n < SLOTS * H * V * K; n++)
        s[n / (H * V * K)][n / (V * K) % H][n / K % V][n % K] = (double)tensor(f, carried)->f[n];
    run_ok(f);
    for (int n = 0; n < ROWS * H * V; n++) {
        int i = n / (H * V), h = n / V % H, e = n % V;
        double *now = s[of[i] == 7 ? SLOTS : of[i]][h][e], seen = 0, out = 0;
        double by = (double)tensor(f, d)->f[i * H + h], *from = now;
        const float *kk = tensor(f, k)->f + (i * H + h) * K;
        for (int j = 0; j < K; j++) {
            from[j] = i == 4 || of[i] == 7 ? 0 : from[j] * by;
            seen += from[j] * (double)kk[j];
        }
        for (int j = 0; j < K; j++) {
            now[j] += (double)kk[j] * ((double)tensor(f, v)->f[n] - seen);
            out += now[j] * (double)kk[j];
        }
        ck_assert_double_eq_tol(tensor(f, y)->f[n], out, 1e-5 * fmax(1, fabs(out)));
    }
    for (int n = 0; n < SLOTS * H * V * K; n++) {
        double want = s[n / (H * V * K)][n / (V * K) % H][n / K % V][n % K];
        ck_assert_double_eq_tol(tensor(f, carried)->f[n], want, 1e-5 * fmax(1, fabs(want)));
    }
    fixture_destroy(f);
}
END_TEST

static void update(fixture *f, int nargs, const et_value *args, int rank, const int64_t *index,
                   const et_expr *scalar) {
    et_attr attrs[] = {attr_ints("index", rank, index), attr_exprs("scalar", rank, scalar)};
    ck_assert_msg(et_graph_node(f->g, f->block, et_op_find("update"), (et_loc){0}, nargs, args, 2,
                                attrs, NULL),
                  "%s", messages(f));
}

/* kc[1, slots, :, positions] = v, where some indices lie outside. */
START_TEST(update_scatters_and_drops) {
    fixture *f = start();
    enum { S = 3, H = 2, P = 4 };
    f->syms[0] = 5;
    et_value kc = STATE(f, "kc", ET_BF16, 2, S, H, P), v = INPUT(f, "v", ET_F32, -1, H);
    et_value slots = INPUT(f, "s", ET_I32, -1), positions = INPUT(f, "p", ET_I32, -1);
    int64_t index[] = {-2, 0, -1, 1};
    et_expr scalar[] = {et_int(f->p, 1), ET_NO_EXPR, ET_NO_EXPR, ET_NO_EXPR};
    update(f, ARGS(kc, v, slots, positions), 4, index, scalar);
    fill(f);
    static const int32_t s[] = {0, 2, INT32_MIN, 1, 1}, p[] = {3, 0, 1, INT32_MAX, -1};
    set_ints(f, slots, s);
    set_ints(f, positions, p);
    float want[2][S][H][P];
    memcpy(want, tensor(f, kc)->f, sizeof want);
    for (int i = 0; i < 2; i++)
        for (int h = 0; h < H; h++)
            want[1][s[i]][h][p[i]] = et_round_to(ET_BF16, tensor(f, v)->f[i * H + h]);
    run_ok(f);
    ck_assert_mem_eq(tensor(f, kc)->f, want, sizeof want);
    fixture_destroy(f);
}
END_TEST

/* st[1:3, 0:5:2] = m, and then st[0:2, :] = st[1:3, :] of what that left. */
START_TEST(update_of_a_part) {
    fixture *f = start();
    et_value st = STATE(f, "st", ET_I32, 3, 5), m = INPUT(f, "m", ET_I32, 2, 3);
    et_expr zero = et_int(f->p, 0), one = et_int(f->p, 1), two = et_int(f->p, 2);
    et_expr three = et_int(f->p, 3), five = et_int(f->p, 5);
    const et_op *op = et_op_find("update");
    et_attr part[] = {attr_ints("index", 2, ((int64_t[]){-3, -3})),
                      attr_exprs("scalar", 2, ((et_expr[]){one, zero})),
                      attr_exprs("size", 2, ((et_expr[]){two, three})),
                      attr_ints("step", 2, ((int64_t[]){1, 2}))};
    ck_assert(et_graph_node(f->g, f->block, op, (et_loc){0}, ARGS(st, m), 4, part, NULL));
    et_value moved = node(f, "slice", ARGS(st),
                          ATTRS(attr_exprs("start", 2, ((et_expr[]){one, zero})),
                                attr_exprs("size", 2, ((et_expr[]){two, five})),
                                attr_ints("drop", 2, (int64_t[]){0, 0})));
    et_attr rows[] = {attr_ints("index", 2, ((int64_t[]){-3, -1})),
                      attr_exprs("scalar", 2, ((et_expr[]){zero, zero})),
                      attr_exprs("size", 2, ((et_expr[]){two, ET_NO_EXPR}))};
    ck_assert(et_graph_node(f->g, f->block, op, (et_loc){0}, ARGS(st, moved), 3, rows, NULL));
    fill(f);
    set_ints(f, st, (int32_t[]){0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24});
    set_ints(f, m, (int32_t[]){-1, -2, -3, -4, -5, -6});
    run_ok(f);
    static const int32_t want[] = {-1, 11, -2, 13, -3, -4, 21, -5, 23, -6, -4, 21, -5, 23, -6};
    ck_assert_mem_eq(tensor(f, st)->i, want, sizeof want);
    fixture_destroy(f);
}
END_TEST

START_TEST(update_whole_and_scalar) {
    fixture *f = start();
    et_value st = STATE(f, "st", ET_I32, 2, 3), row = INPUT(f, "row", ET_I32, 3);
    et_value before =
        node(f, "reduce", ARGS(st), ATTRS(attr_int("kind", ET_RED_SUM), attr_int("axis", 1)));
    int loop = et_graph_loop(f->g, f->block, "l", -1, 0, 2, (et_loc){0});
    et_expr l = et_var(f->p, f->g->loops[loop].var), none = ET_NO_EXPR;
    f->block = et_graph_loop_body(f->g, loop);
    update(f, ARGS(st, row), 2, (int64_t[]){-2, -1}, (et_expr[]){l, none});
    f->block = &f->g->body;
    et_value one = INPUT(f, "one", ET_I32, 3);
    update(f, ARGS(st, one), 2, (int64_t[]){-2, -1}, (et_expr[]){et_int(f->p, 9), none});
    et_value after =
        node(f, "reduce", ARGS(st), ATTRS(attr_int("kind", ET_RED_SUM), attr_int("axis", 1)));
    fill(f);
    set_ints(f, st, (int32_t[]){1, 2, 3, 4, 5, INT32_MAX});
    set_ints(f, row, (int32_t[]){10, 20, 30});
    run_ok(f);
    ck_assert_int_eq(tensor(f, before)->i[0], 6);
    ck_assert_int_eq(tensor(f, before)->i[1], INT32_MIN + 8); /* wraps */
    ck_assert_int_eq(tensor(f, after)->i[0], 60);
    ck_assert_mem_eq(tensor(f, st)->i, ((int32_t[]){10, 20, 30, 10, 20, 30}), 24);
    fixture_destroy(f);
}
END_TEST

/* a, b = b, a + b: carries change all at once; also inside another loop, and over no second
 * iteration. */
START_TEST(carries_swap) {
    fixture *f = start();
    et_value a = INPUT(f, "a", ET_F32, 1), b = INPUT(f, "b", ET_F32, 1), ra, rb, oa, ob;
    int outer = et_graph_loop(f->g, f->block, "o", -1, 0, 3, (et_loc){0});
    et_value ca = et_graph_carry(f->g, outer, a), cb = et_graph_carry(f->g, outer, b);
    int inner = et_graph_loop(f->g, et_graph_loop_body(f->g, outer), "i", outer, 5, 9, (et_loc){0});
    et_value ia = et_graph_carry(f->g, inner, ca), ib = et_graph_carry(f->g, inner, cb);
    f->block = et_graph_loop_body(f->g, inner);
    et_value sum = map2(f, ET_X_ADD, ia, ib);
    ck_assert(et_graph_carry_close(f->g, inner, ia, ib, (et_loc){0}, &ra));
    ck_assert(et_graph_carry_close(f->g, inner, ib, sum, (et_loc){0}, &rb));
    ck_assert(et_graph_carry_close(f->g, outer, ca, ra, (et_loc){0}, &oa));
    ck_assert(et_graph_carry_close(f->g, outer, cb, rb, (et_loc){0}, &ob));
    f->block = &f->g->body;
    et_graph_output(f->g, oa, "fa");
    et_graph_output(f->g, ob, "fb");
    fill(f);
    set_floats(f, a, (float[]){0});
    set_floats(f, b, (float[]){1});
    run_ok(f);
    ck_assert_float_eq(tensor(f, f->g->outputs[0])->f[0], 144); /* twelve steps */
    ck_assert_float_eq(tensor(f, f->g->outputs[1])->f[0], 233);
    fixture_destroy(f);
}
END_TEST

START_TEST(integers_have_no_undefined_corner) {
    fixture *f = start();
    et_value x = INPUT(f, "x", ET_I32, 6);
    et_expr a = et_arg(f->p, 0, ET_T_I32), minus = et_int(f->p, -1);
    et_value neg = map1(f, x, et_op1(f->p, ET_X_NEG, a), ET_I32);
    et_value abs = map1(f, x, et_op1(f->p, ET_X_ABS, a), ET_I32);
    et_value quot = map1(f, x, et_op2(f->p, ET_X_IDIV, a, minus), ET_I32);
    et_value self = map1(f, x, et_op2(f->p, ET_X_MOD, et_int(f->p, 7), a), ET_I32);
    et_value square = map1(f, x, et_mul(f->p, a, a), ET_I32);
    et_expr big = et_mul(f->p, et_op1(f->p, ET_X_TO_F32, a), et_float(f->p, 1e30));
    et_value sat = map1(f, x, et_op1(f->p, ET_X_TO_I32, big), ET_I32);
    fill(f);
    set_ints(f, x, (int32_t[]){INT32_MIN, INT32_MAX, -1, 0, 65536, -3});
    run_ok(f);
    ck_assert_int_eq(tensor(f, neg)->i[0], INT32_MIN);
    ck_assert_int_eq(tensor(f, abs)->i[0], INT32_MIN);
    ck_assert_int_eq(tensor(f, quot)->i[0], INT32_MIN);
    ck_assert_int_eq(tensor(f, quot)->i[5], 3);
    ck_assert_int_eq(tensor(f, self)->i[3], 0);
    ck_assert_int_eq(tensor(f, self)->i[5], -2); /* floors */
    ck_assert_int_eq(tensor(f, square)->i[4], 0);
    ck_assert_int_eq(tensor(f, sat)->i[0], INT32_MIN);
    ck_assert_int_eq(tensor(f, sat)->i[1], INT32_MAX);
    ck_assert_int_eq(tensor(f, sat)->i[3], 0);
    fixture_destroy(f);
}
END_TEST

START_TEST(argmax_first_and_nan) {
    fixture *f = start();
    et_value x = INPUT(f, "x", ET_F32, 4, 4);
    et_value m = node(f, "reduce", ARGS(x), ATTRS(attr_int("kind", ET_RED_ARGMAX)));
    fill(f);
    set_floats(f, x,
               (float[]){1, 3, 3, 2, NAN, -5, NAN, -6, NAN, NAN, NAN, NAN, -INFINITY, -INFINITY,
                         INFINITY, 0});
    run_ok(f);
    ck_assert_mem_eq(tensor(f, m)->i, ((int32_t[]){1, 1, 0, 2}), 16);
    fixture_destroy(f);
}
END_TEST

/* The first of equal ones first; NaN is as if it were minus infinity. */
START_TEST(places_of_the_largest) {
    fixture *f = start();
    et_value x = INPUT(f, "x", ET_F32, 3, 4);
    et_value m =
        node(f, "reduce", ARGS(x),
             ATTRS(attr_int("kind", ET_RED_TOP), attr_int("keep", 1), attr_int("count", 3)));
    fill(f);
    set_floats(f, x, (float[]){1, 3, 3, 2, NAN, -5, -INFINITY, -6, NAN, NAN, 7, NAN});
    run_ok(f);
    ck_assert_mem_eq(tensor(f, m)->i, ((int32_t[]){1, 2, 3, 1, 3, 0, 2, 0, 1}), 36);
    fixture_destroy(f);
}
END_TEST

START_TEST(gather_clamps) {
    fixture *f = start();
    f->syms[0] = 4;
    et_value t = INPUT(f, "t", ET_I32, 3), i = INPUT(f, "i", ET_I32, -1);
    et_value y = node(f, "gather", ARGS(t, i), NO_ATTRS);
    fill(f);
    set_ints(f, t, (int32_t[]){7, 8, 9});
    set_ints(f, i, (int32_t[]){INT32_MIN, 1, 3, INT32_MAX});
    run_ok(f);
    ck_assert_mem_eq(tensor(f, y)->i, ((int32_t[]){7, 8, 9, 9}), 16);
    fixture_destroy(f);
}
END_TEST

START_TEST(layernorm_does_not_cancel) {
    fixture *f = start();
    et_value x = INPUT(f, "x", ET_F32, 1, 4), g = INPUT(f, "g", ET_F32, 4);
    et_value y = node(f, "layernorm", ARGS(x, g, g), ATTRS(attr_float("eps", 0)));
    fill(f);
    set_floats(f, x, (float[]){100001, 100002, 100003, 100004});
    set_floats(f, g, (float[]){1, 1, 1, 1});
    run_ok(f);
    ck_assert_double_eq_tol(tensor(f, y)->f[0], 1 - 1.5 / sqrt(1.25), 1e-6);
    fixture_destroy(f);
}
END_TEST

START_TEST(what_the_caller_owes) {
    fixture *f = start();
    et_value x = INPUT(f, "x", ET_F32, -1);
    et_graph_output(f->g, x, "y");
    fill(f);
    et_tensor_data *t = tensor(f, x);
    f->tensors[x.id] = NULL;
    ck_assert(!run_graph(f));
    ck_assert_str_eq(f->err, "x is not given");
    f->tensors[x.id] = t;
    t->dim[0] = 4;
    ck_assert(!run_graph(f));
    ck_assert_str_eq(f->err, "x has another type or shape than the graph says");
    t->dim[0] = 3;
    ck_assert(run_graph(f));
    ck_assert_mem_eq(tensor(f, f->g->outputs[0])->f, t->f, 3 * sizeof(float));
    f->syms[0] = 65;
    ck_assert(!run_graph(f));
    ck_assert_str_eq(f->err, "N is 65, outside 1..64");
    fixture_destroy(f);
}
END_TEST

static double value_of(const et_exprs *p, et_expr e, const double *args, const int64_t *syms,
                       const int64_t *vars) {
    et_tape *t = et_tape_create(p, e);
    ck_assert_ptr_nonnull(t);
    et_scalar v = et_tape_run(t, args, syms, vars);
    et_tape_destroy(t);
    return et_x(p, e)->type == ET_T_F32 ? (double)v.f : (double)v.i;
}

/* The vectors that the authors of Philox publish with it (kat_vectors of Random123), and the
 * operator.
 */
START_TEST(random_numbers) {
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } known[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                 {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                  {0xffffffff, 0xffffffff},
                  {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                 {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                  {0xa4093822, 0x299f31d0},
                  {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
    for (int i = 0; i < 3; i++) {
        uint32_t got[4];
        et_philox(known[i].counter, known[i].key, got);
        ck_assert_mem_eq(got, known[i].want, sizeof got);
    }
    fixture *f = start();
    et_exprs *p = f->p;
    int64_t high = (int64_t)5 << 32, lo, hi;
    et_expr zero = et_int(p, 0), a = et_arg(p, 0, ET_T_I32);
    et_expr e = et_philox_x(p, et_add(p, a, et_int(p, high)), zero, zero);
    double args[] = {0, 7};
    ck_assert_double_eq(value_of(p, e, args, NULL, NULL),
                        (int32_t)0x6627e8d5); /* low 32 bits count */
    uint32_t got[4];
    et_philox((uint32_t[]){7, (uint32_t)-3, 0, 0}, (uint32_t[]){12, 0}, got);
    e = et_philox_x(p, et_int(p, 12), et_arg(p, 1, ET_T_I32), et_int(p, -3));
    ck_assert_double_eq(value_of(p, e, args, NULL, NULL), (int32_t)got[0]);
    e = et_philox_x(p, et_int(p, 12), et_int(p, 7), et_int(p, -3));
    ck_assert_int_eq(et_eval(p, e, NULL, NULL), (int32_t)got[0]);
    ck_assert(!et_bounds(p, e, &lo, &hi)); /* no size is made of it */
    fixture_destroy(f);
}
END_TEST

/* Each function of expr.def against the host's, one argument and two. */
START_TEST(scalar_functions) {
    fixture *f = start();
    et_exprs *p = f->p;
    et_expr a = et_arg(p, 0, ET_T_F32), b = et_arg(p, 1, ET_T_F32);
    static const struct {
        et_xop op;
        double (*of)(double);
    } one[] = {{ET_X_EXP, exp}, {ET_X_LOG, log},   {ET_X_SQRT, sqrt}, {ET_X_SIN, sin},
               {ET_X_COS, cos}, {ET_X_TANH, tanh}, {ET_X_ERF, erf},   {ET_X_FLOOR, floor}};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        for (double v = 0.125; v < 20; v += 1.375)
            ck_assert_double_eq(value_of(p, et_op1(p, one[i].op, a), &v, NULL, NULL),
                                (double)(float)one[i].of(v));
    double v[] = {2, 10}, w[] = {-1.5, NAN};
    ck_assert_double_eq(value_of(p, et_op2(p, ET_X_POW, a, b), v, NULL, NULL), 1024);
    ck_assert_double_eq(value_of(p, et_op1(p, ET_X_RSQRT, et_mul(p, a, a)), v, NULL, NULL), 0.5);
    ck_assert_double_eq(value_of(p, et_op2(p, ET_X_MAX, a, b), w, NULL, NULL), -1.5);
    ck_assert_double_eq(value_of(p, et_op1(p, ET_X_TO_I32, a), w, NULL, NULL), -1);
    et_expr pick_b = et_select(p, et_op2(p, ET_X_LT, a, b), a, et_float(p, 4));
    ck_assert_double_eq(value_of(p, pick_b, v, NULL, NULL), 2);
    ck_assert_double_eq(value_of(p, pick_b, w, NULL, NULL), 4);
    int64_t syms[] = {12}, vars[] = {5};
    et_expr i = et_var(p, et_var_add(p, "i", et_sym(p, 0)));
    et_expr e = et_add(p, et_mul(p, i, et_sym(p, 0)), et_int(p, 1));
    ck_assert_double_eq(value_of(p, e, NULL, syms, vars), 61);
    fixture_destroy(f);
}
END_TEST

TEST_MAIN("interp", contract_rounds_to_the_narrower, contract_is_accurate,
          attention_reads_the_right_rows, scan_carries_states, update_scatters_and_drops,
          update_whole_and_scalar, update_of_a_part, random_numbers, carries_swap,
          integers_have_no_undefined_corner, argmax_first_and_nan, places_of_the_largest,
          gather_clamps, layernorm_does_not_cancel, what_the_caller_owes, scalar_functions)
