#include "ir/expr/scalar.h"
#include "ir/base/diag.h"
#include <math.h>

static double et_rsqrt(double a) {
    return 1 / sqrt(a);
}

et_function *et_function_of(et_xop op) {
    static et_function *const of[ET_X_COUNT] = {
#define X(NAME, text, arity, traits)
#define F(NAME, text, traits, of) [ET_X_##NAME] = of,
#include "ir/expr/expr.def"
#undef X
    };
    return of[op];
}

float et_float_op(et_xop op, float a, float b) {
    switch (op) {
    case ET_X_NEG:
        return -a;
    case ET_X_ABS:
        return fabsf(a);
    case ET_X_TO_F32:
        return a;
    case ET_X_TO_F16:
        return et_round_to(ET_F16, a);
    case ET_X_TO_BF16:
        return et_round_to(ET_BF16, a);
    case ET_X_TO_E4M3:
        return et_round_to(ET_E4M3, a);
    case ET_X_ADD:
        return a + b;
    case ET_X_SUB:
        return a - b;
    case ET_X_MUL:
        return a * b;
    case ET_X_DIV:
        return a / b;
    case ET_X_MIN:
        return fminf(a, b);
    case ET_X_MAX:
        return fmaxf(a, b);
    case ET_X_POW:
        return (float)pow((double)a, (double)b);
    default:
        et_check(et_function_of(op) != NULL);
        return (float)et_function_of(op)((double)a);
    }
}

bool et_compare_op(et_xop op, float a, float b) {
    return op == ET_X_LT ? a < b : op == ET_X_LE ? a <= b : op == ET_X_EQ ? a == b : a != b;
}
