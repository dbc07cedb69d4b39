/* Every scalar operator, conversions, and loads that only one arm of a choice may make. */
#include "ir/expr/scalar.h"
#include "tests/targets/codegen/kit.h"
#include "tests/targets/codegen/suites.h"
#include <math.h>

static const et_xop unary[] = {
#define X(NAME, text, arity, traits)
#define F(NAME, text, traits, of) ET_X_##NAME,
#include "ir/expr/expr.def"
#undef X
    ET_X_ABS, ET_X_NEG, ET_X_TO_F16, ET_X_TO_BF16};
enum { J = 48, UNARY = sizeof unary / sizeof *unary, CASES = UNARY + 15 };

/* Expression number I over a float A, its neighbour B and an integer C in 0 .. 7. */
static et_expr build(et_exprs *x, int i, et_expr a, et_expr b, et_expr c) {
    et_expr three = et_int(x, 3), five = et_int(x, 5), low = et_sub(x, c, five);
    et_expr positive = et_add(x, et_op1(x, ET_X_ABS, a), et_float(x, 0.01));
    if (i < UNARY) {
        et_function *of = et_function_of(unary[i]);
        et_expr any = et_mul(x, a, et_float(x, unary[i] == ET_X_FLOOR ? 9 : 3));
        return et_op1(x, unary[i], of && isnan(of(-1)) ? positive : any);
    }
    switch (i - UNARY) {
    case 0:
        return et_op2(x, ET_X_POW, positive, b);
    case 1:
        return et_op2(x, ET_X_DIV, a, positive);
    case 2: /* division rounds toward minus infinity, by a power of two and not */
        return et_op2(x, ET_X_IDIV, low, three);
    case 3:
        return et_op2(x, ET_X_MOD, low, three);
    case 4:
        return et_op2(x, ET_X_IDIV, low, et_int(x, 4));
    case 5:
        return et_op2(x, ET_X_MOD, low, et_int(x, 4));
    case 6:
        return et_op2(x, ET_X_IDIV, low, et_sub(x, et_int(x, -1), c));
    case 7:
        return et_op2(x, ET_X_MIN, et_op2(x, ET_X_MAX, low, et_int(x, -2)), et_int(x, 1));
    case 8:
        return et_select(x, et_op2(x, ET_X_LT, a, b), a, et_mul(x, b, et_float(x, 2)));
    case 9:
        return et_op1(x, ET_X_TO_I32, et_mul(x, a, et_float(x, 7)));
    case 10:
        return et_op1(x, ET_X_ABS, low);
    case 11: {
        et_expr p = et_op2(x, ET_X_AND, et_op2(x, ET_X_LE, c, five), et_op2(x, ET_X_NE, c, three));
        return et_select(x, et_op2(x, ET_X_OR, p, et_op1(x, ET_X_NOT, p)), et_select(x, p, a, b),
                         a);
    }
    case 12: /* of what the launch knows, data and numbers beyond 32 bits */
        return et_philox_x(x, et_mul(x, low, et_int(x, 1234567891011)), c, five);
    case 13:
        return et_op2(x, ET_X_MOD, et_philox_x(x, five, et_sub(x, low, five), low), et_int(x, 100));
    default:
        return et_sub(x, et_op1(x, ET_X_TO_F32, c), et_op2(x, ET_X_MAX, a, b));
    }
}

START_TEST(operators) {
    kit k;
    kit_begin(&k, "operators");
    et_exprs *x = k.x;
    int64_t n = 5;
    et_expr N = et_sym(x, kit_sym(&k, "N", 1, 9)), dims[] = {N, kit_n(&k, J)};
    int fa = kit_tensor(&k, ET_TENSOR_INPUT, "a", ET_F32, 2, dims);
    int ic = kit_tensor(&k, ET_TENSOR_INPUT, "c", ET_I32, 2, dims);
    et_func *f = kit_func(&k, "operator", 1);
    int j = kit_var(&k, "j", J);
    et_expr row = kit_coord(&k, f, 0), at[] = {row, et_var(x, j)};
    et_expr next = et_op2(x, ET_X_MOD, et_add(x, et_var(x, j), kit_n(&k, 1)), kit_n(&k, J));
    et_expr a = kit_at(&k, fa, 2, at), b = kit_at(&k, fa, 2, (et_expr[]){row, next});
    et_expr v = build(x, _i, a, b, kit_at(&k, ic, 2, at));
    bool whole = et_x(x, v)->type == ET_T_I32;
    int out = kit_tensor(&k, ET_TENSOR_OUTPUT, "out", whole ? ET_I32 : ET_F32, 2, dims);
    kit_map(&k, f, 1, &j, v, ET_NO_EXPR, kit_place(ET_LOAD_TENSOR, out, 2, at));
    kit_grid(&k, f, &N, -1);
    k.tolerance = whole ? 0 : 1e-6;
    kit_check(&k, "cus=2:xcds=1", &n);
    kit_end(&k);
}
END_TEST

/* out = concat(a, b[index]) along the last axis, where a and b end exactly where the choice says
 * and an index may point anywhere: the emulator faults on any load outside a tensor. */
static void choose(int wa, int wb, et_dtype t) {
    kit k;
    kit_begin(&k, "choose");
    et_exprs *x = k.x;
    int64_t n = 3;
    et_expr N = et_sym(x, kit_sym(&k, "N", 1, 9)), A = kit_n(&k, wa), B = kit_n(&k, wb);
    et_expr W = kit_n(&k, wa + wb);
    int a = kit_tensor(&k, ET_TENSOR_INPUT, "a", t, 2, (et_expr[]){N, A});
    int b = kit_tensor(&k, ET_TENSOR_INPUT, "b", t, 2, (et_expr[]){kit_n(&k, 6), B});
    int index = kit_tensor(&k, ET_TENSOR_INPUT, "index", ET_I32, 1, &N); /* 0 .. 7 */
    int out = kit_tensor(&k, ET_TENSOR_OUTPUT, "out", t, 2, (et_expr[]){N, W});
    et_func *f = kit_func(&k, "choose", 1);
    int j = kit_var(&k, "j", wa + wb);
    et_expr row = kit_coord(&k, f, 0), col = et_var(x, j);
    et_expr from = kit_at(&k, index, 1, &row);
    et_expr bi[] = {from, et_sub(x, col, A)};
    et_expr there = et_op2(x, ET_X_LT, from, kit_n(&k, 6));
    et_expr vb = et_select(x, there, kit_at(&k, b, 2, bi), et_float(x, -1));
    et_expr v =
        et_select(x, et_op2(x, ET_X_LT, col, A), kit_at(&k, a, 2, (et_expr[]){row, col}), vb);
    kit_map(&k, f, 1, &j, v, ET_NO_EXPR, kit_place(ET_LOAD_TENSOR, out, 2, (et_expr[]){row, col}));
    kit_grid(&k, f, &N, -1);
    k.tolerance = 0;
    kit_check(&k, "cus=1:xcds=1", &n);
    kit_end(&k);
}

START_TEST(choices) {
    static const int widths[][2] = {{1, 1}, {8, 8}, {64, 960}, {257, 30}};
    choose(widths[_i / 3][0], widths[_i / 3][1],
           (const et_dtype[]){ET_F32, ET_BF16, ET_F16}[_i % 3]);
}
END_TEST

Suite *expr_suite(void) {
    Suite *s = suite_create("expr");
    TCase *t = tcase_create("expr");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, operators, 0, CASES);
    tcase_add_loop_test(t, choices, 0, 12);
    suite_add_tcase(s, t);
    return s;
}
