/* int_ops.h - what the integer operators of expressions do, once: to values known before a launch,
 * to what tensors hold, and to ranges of either; README.md has it in whole. Simplification folds
 * with the same functions. The meaning of arithmetic itself is in runtime/etrt_int.h, which the
 * runtime shares.
 *
 * Where an operation has no value (a divisor of zero, a result that 64 bits do not hold) the answer
 * is ET_UNKNOWN, and so is what is computed from it; but a false side of AND, a true one of OR and
 * the side of SELECT that is not chosen decide without the other. An expression and what it was
 * simplified to have the same value wherever both have one: a simplified form may do without an
 * operation that has none, or overflow on the way where the other does not. */
#ifndef ET_INT_OPS_H
#define ET_INT_OPS_H

#include "ir/expr/expr.h"
#include "runtime/etrt_int.h"

/* What an element of type i32 holds of an integer: its low 32 bits. */
static inline int64_t et_int_low(int64_t v) {
    return (int32_t)(uint32_t)(uint64_t)v;
}

/* The value of OP at A and B, of which an operator of one operand takes A alone. Predicates are 0
 * or 1; any other number but 0 is taken for 1. */
static inline int64_t et_int_value(et_xop op, int64_t a, int64_t b) {
    int64_t v;
    if (op == ET_X_AND || op == ET_X_OR) {
        bool decides = op == ET_X_OR;
        if ((a != ET_UNKNOWN && (a != 0) == decides) || (b != ET_UNKNOWN && (b != 0) == decides))
            return decides;
        return a == ET_UNKNOWN || b == ET_UNKNOWN ? ET_UNKNOWN : !decides;
    }
    if (a == ET_UNKNOWN) return ET_UNKNOWN;
    if (op == ET_X_NEG) return -a;
    if (op == ET_X_ABS) return a < 0 ? -a : a;
    if (op == ET_X_NOT) return a == 0;
    if (op == ET_X_TO_I32) return et_int_low(a);
    if (b == ET_UNKNOWN) return ET_UNKNOWN;
    switch (op) {
    case ET_X_ADD:
        return etrt_int_add(a, b, &v) ? v : ET_UNKNOWN;
    case ET_X_SUB:
        return etrt_int_sub(a, b, &v) ? v : ET_UNKNOWN;
    case ET_X_MUL:
        return etrt_int_mul(a, b, &v) ? v : ET_UNKNOWN;
    case ET_X_IDIV:
        return etrt_int_div(a, b, &v) ? v : ET_UNKNOWN;
    case ET_X_MOD:
        return etrt_int_mod(a, b, &v) ? v : ET_UNKNOWN;
    case ET_X_MIN:
        return etrt_int_min(a, b);
    case ET_X_MAX:
        return etrt_int_max(a, b);
    case ET_X_LT:
        return a < b;
    case ET_X_LE:
        return a <= b;
    case ET_X_EQ:
        return a == b;
    case ET_X_NE:
        return a != b;
    default:
        return ET_UNKNOWN;
    }
}

/* What a device computes, where operands may come from tensors, and the interpreters with it: every
 * operation has a value. It is that of et_int_value where that has one; a division by zero is 0,
 * and so is its remainder; what 64 bits do not hold wraps around. */
int64_t et_int_total(et_xop op, int64_t a, int64_t b);

/* Every integer from lo to hi; none where hi < lo. */
typedef struct {
    int64_t lo, hi;
} et_range;

static inline et_range et_range_join(et_range a, et_range b) {
    return (et_range){etrt_int_min(a.lo, b.lo), etrt_int_max(a.hi, b.hi)};
}

/* The least range that holds what OP gives for any operands from A and B, neither of them empty, as
 * far as the ends of both tell. False when some of it has no value. */
bool et_range_apply(et_xop op, et_range a, et_range b, et_range *out);

/* The same of et_int_total: all of 64 bits where it may wrap around. */
et_range et_range_total(et_xop op, et_range a, et_range b);
#define ET_ALL_INTS ((et_range){INT64_MIN, INT64_MAX})

#endif
