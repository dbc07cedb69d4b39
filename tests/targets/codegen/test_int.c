/* Integers are computed in 32 bits where these are known to hold them, else in 64: what the LLVM IR
 * of small programs has of either, and that all of them compute what the interpreter does. */
#include "tests/targets/codegen/kit.h"
#include "tests/targets/codegen/suites.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { J = 64 };

struct parts {
    et_expr n, i, j; /* a dim to 2^31 - 1, a coordinate to 2^20, a variable to 64 */
    et_expr a, b;    /* elements of i32 */
};

/* Number CASE of the expressions that need 64 bits, or of those that do not. */
static et_expr wide(et_exprs *x, int i, const struct parts *p) {
    et_expr big = et_int(x, INT32_MAX), seven = et_int(x, 7);
    switch (i) {
    case 0: /* a product of what the launch decides */
        return et_op2(x, ET_X_MOD, et_add(x, et_mul(x, p->i, big), p->j), seven);
    case 1: /* a comparison of what may be one more than 32 bits hold */
        return et_select(x, et_op2(x, ET_X_LT, et_add(x, p->a, et_int(x, 1)), p->n), p->j, p->a);
    case 2: /* a quotient of a product of elements */
        return et_op2(x, ET_X_IDIV, et_mul(x, p->a, p->b), et_int(x, 1000003));
    case 3: /* -2^31 / -1 */
        return et_op2(x, ET_X_MIN, et_op2(x, ET_X_IDIV, p->a, p->b), seven);
    case 4:
        return et_op2(x, ET_X_MAX, et_mul(x, p->a, et_mul(x, p->b, p->a)), p->j);
    default:
        return et_op2(x, ET_X_IDIV, et_mul(x, p->n, et_int(x, (int64_t)1 << 30)),
                      et_int(x, ((int64_t)1 << 30) - 1));
    }
}

static et_expr narrow(et_exprs *x, int i, const struct parts *p) {
    et_expr thousand = et_int(x, 1000);
    switch (i) {
    case 0:
        return et_op2(x, ET_X_MOD, et_add(x, et_mul(x, p->i, thousand), p->j), et_int(x, 7));
    case 1: /* sums and products that are stored: their low bits are enough */
        return et_add(x, et_mul(x, p->a, p->b), et_mul(x, p->n, thousand));
    case 2:
        return et_select(x, et_op2(x, ET_X_LT, p->a, p->n), p->b, p->a);
    case 3:
        return et_op2(x, ET_X_MIN, et_op2(x, ET_X_MAX, p->a, p->b), p->n);
    case 4: /* an element, kept in 32 bits by the program */
        return et_op2(x, ET_X_IDIV, et_op1(x, ET_X_TO_I32, et_mul(x, p->a, p->b)), et_int(x, 3));
    default:
        return et_op2(x, ET_X_MOD, p->a, et_int(x, 37));
    }
}

enum { WIDE = 6, NARROW = 6 };

static bool mentions(const char *path, const char *const *words) {
    char *line = NULL;
    size_t room = 0;
    bool any = false;
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    while (getline(&line, &room, f) > 0)
        for (int i = 0; words[i]; i++)
            any |= strstr(line, words[i]) != NULL;
    free(line);
    fclose(f);
    return any;
}

/* Arithmetic of 64 bits that addresses, clocks and masks of lanes have no need of. */
static const char *const arithmetic[] = {" = mul i64",      " = mul nsw i64",  " = mul nuw nsw i64",
                                         " = udiv i64",     " = sdiv i64",     " = urem i64",
                                         " = srem i64",     "@llvm.smin.i64",  "@llvm.smax.i64",
                                         " = icmp slt i64", " = icmp sgt i64", NULL};

static void check(int i, bool is_wide) {
    kit k;
    kit_begin(&k, "integers");
    et_exprs *x = k.x;
    char text[4200];
    snprintf(text, sizeof text, "%s.ll", k.path);
    k.opt.emit_llvm = text;
    int64_t syms[] = {INT32_MAX};
    struct parts p = {.n = et_sym(x, kit_sym(&k, "N", 1, INT32_MAX))};
    et_expr dims[] = {kit_n(&k, 4), kit_n(&k, J)};
    int a = kit_tensor(&k, ET_TENSOR_INPUT, "a", ET_I32, 2, dims);
    int b = kit_tensor(&k, ET_TENSOR_INPUT, "b", ET_I32, 2, dims);
    et_func *f = kit_func(&k, "integer", 1);
    int j = kit_var(&k, "j", J);
    p.i = kit_coord(&k, f, 0);
    p.j = et_var(x, j);
    et_expr at[] = {p.i, p.j};
    p.a = kit_at(&k, a, 2, at);
    p.b = kit_at(&k, b, 2, at);
    int out = kit_tensor(&k, ET_TENSOR_OUTPUT, "out", ET_I32, 2, dims);
    kit_map(&k, f, 1, &j, is_wide ? wide(x, i, &p) : narrow(x, i, &p), ET_NO_EXPR,
            kit_place(ET_LOAD_TENSOR, out, 2, at));
    kit_grid(&k, f, dims, -1);
    k.tolerance = 0;
    k.any_integers = true;
    kit_check(&k, "cus=2:xcds=1", syms);
    bool found = mentions(text, arithmetic);
    unlink(text);
    ck_assert_msg(found == is_wide, "case %d is computed in %d bits", i, found ? 64 : 32);
    kit_end(&k);
}

START_TEST(in_64_bits) {
    check(_i, true);
}
END_TEST

START_TEST(in_32_bits) {
    check(_i, false);
}
END_TEST

Suite *int_suite(void) {
    Suite *s = suite_create("int");
    TCase *t = tcase_create("int");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, in_64_bits, 0, WIDE);
    tcase_add_loop_test(t, in_32_bits, 0, NARROW);
    suite_add_tcase(s, t);
    return s;
}
