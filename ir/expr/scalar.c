#include "ir/expr/scalar.h"
#include "ir/base/diag.h"
#include <math.h>

static double function(et_xop op, double a) {
    switch (op) {
    case ET_X_EXP:
        return exp(a);
    case ET_X_LOG:
        return log(a);
    case ET_X_SQRT:
        return sqrt(a);
    case ET_X_RSQRT:
        return 1 / sqrt(a);
    case ET_X_SIN:
        return sin(a);
    case ET_X_COS:
        return cos(a);
    case ET_X_TANH:
        return tanh(a);
    case ET_X_ERF:
        return erf(a);
    case ET_X_FLOOR:
        return floor(a);
    default:
        et_bug("operator %s", et_xop_text(op));
    }
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
        return (float)function(op, (double)a);
    }
}

bool et_compare_op(et_xop op, float a, float b) {
    return op == ET_X_LT ? a < b : op == ET_X_LE ? a <= b : op == ET_X_EQ ? a == b : a != b;
}
