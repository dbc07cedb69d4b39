#include "ir/expr/int_ops.h"

static int64_t wrap(uint64_t v) {
    return (int64_t)v;
}

int64_t et_int_total(et_xop op, int64_t a, int64_t b) {
    switch (op) {
    case ET_X_NEG:
        return wrap(0 - (uint64_t)a);
    case ET_X_ABS:
        return a < 0 ? wrap(0 - (uint64_t)a) : a;
    case ET_X_NOT:
        return a == 0;
    case ET_X_AND:
        return a != 0 && b != 0;
    case ET_X_OR:
        return a != 0 || b != 0;
    case ET_X_TO_I32:
        return et_int_low(a);
    case ET_X_ADD:
        return wrap((uint64_t)a + (uint64_t)b);
    case ET_X_SUB:
        return wrap((uint64_t)a - (uint64_t)b);
    case ET_X_MUL:
        return wrap((uint64_t)a * (uint64_t)b);
    case ET_X_IDIV:
        if (b == 0) return 0;
        if (b == -1) return wrap(0 - (uint64_t)a);
        return a / b - (a % b != 0 && (a < 0) != (b < 0));
    case ET_X_MOD:
        if (b == 0 || b == -1) return 0;
        return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
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
        return 0;
    }
}
static bool product(et_range a, et_range b, et_range *out) {
    int64_t v[] = {et_int_value(ET_X_MUL, a.lo, b.lo), et_int_value(ET_X_MUL, a.lo, b.hi),
                   et_int_value(ET_X_MUL, a.hi, b.lo), et_int_value(ET_X_MUL, a.hi, b.hi)};
    et_range r = {v[0], v[0]};
    for (int i = 0; i < 4; i++) {
        if (v[i] == ET_UNKNOWN) return false;
        r = et_range_join(r, (et_range){v[i], v[i]});
    }
    *out = r;
    return true;
}

/* Of a divisor that is positive. */
static et_range modulo(et_range a, et_range b) {
    int64_t first = et_int_value(ET_X_IDIV, a.lo, b.lo), last = et_int_value(ET_X_IDIV, a.hi, b.lo);
    if (b.lo == b.hi && first == last)
        return (et_range){et_int_value(ET_X_MOD, a.lo, b.lo), et_int_value(ET_X_MOD, a.hi, b.lo)};
    return (et_range){0, a.lo >= 0 && a.hi < b.hi - 1 ? a.hi : b.hi - 1};
}

static et_range truth(bool surely, bool never) {
    return (et_range){surely, !never};
}

static et_range equal(et_range a, et_range b) {
    bool one = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo;
    return truth(one, a.hi < b.lo || b.hi < a.lo);
}

static et_range negative(et_range a) {
    return (et_range){-a.hi, -a.lo};
}

/* By a divisor that is never zero: floor(a / b) = floor(-a / -b), a mod b = -(-a mod -b). */
static bool divide(et_xop op, et_range a, et_range b, et_range *out) {
    if (a.lo == ET_UNKNOWN || b.lo == ET_UNKNOWN || (b.lo < 1 && b.hi > -1)) return false;
    bool minus = b.hi < 0;
    if (minus) a = negative(a), b = negative(b);
    if (op == ET_X_MOD) {
        *out = modulo(a, b);
        if (minus) *out = negative(*out);
        return true;
    }
    out->lo = etrt_int_min(et_int_value(op, a.lo, b.lo), et_int_value(op, a.lo, b.hi));
    out->hi = etrt_int_max(et_int_value(op, a.hi, b.lo), et_int_value(op, a.hi, b.hi));
    return true;
}

bool et_range_apply(et_xop op, et_range a, et_range b, et_range *out) {
    et_range same;
    switch (op) {
    case ET_X_NEG:
        if (a.lo == ET_UNKNOWN) return false;
        *out = negative(a);
        return true;
    case ET_X_ABS:
        if (a.lo == ET_UNKNOWN) return false;
        *out = (et_range){a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, etrt_int_max(-a.lo, a.hi)};
        return true;
    case ET_X_NOT:
        *out = truth(a.lo == 0 && a.hi == 0, a.lo > 0 || a.hi < 0);
        return true;
    case ET_X_ADD:
        return etrt_int_add(a.lo, b.lo, &out->lo) && etrt_int_add(a.hi, b.hi, &out->hi);
    case ET_X_SUB:
        return etrt_int_sub(a.lo, b.hi, &out->lo) && etrt_int_sub(a.hi, b.lo, &out->hi);
    case ET_X_MUL:
        return product(a, b, out);
    case ET_X_IDIV:
    case ET_X_MOD:
        return divide(op, a, b, out);
    case ET_X_TO_I32:
        *out = a.lo >= INT32_MIN && a.hi <= INT32_MAX ? a : (et_range){INT32_MIN, INT32_MAX};
        return true;
    case ET_X_MIN:
        *out = (et_range){etrt_int_min(a.lo, b.lo), etrt_int_min(a.hi, b.hi)};
        return true;
    case ET_X_MAX:
        *out = (et_range){etrt_int_max(a.lo, b.lo), etrt_int_max(a.hi, b.hi)};
        return true;
    case ET_X_AND:
        *out = (et_range){a.lo & b.lo, a.hi & b.hi};
        return true;
    case ET_X_OR:
        *out = (et_range){a.lo | b.lo, a.hi | b.hi};
        return true;
    case ET_X_LT:
        *out = truth(a.hi < b.lo, a.lo >= b.hi);
        return true;
    case ET_X_LE:
        *out = truth(a.hi <= b.lo, a.lo > b.hi);
        return true;
    case ET_X_EQ:
        *out = equal(a, b);
        return true;
    case ET_X_NE:
        same = equal(a, b);
        *out = (et_range){!same.hi, !same.lo};
        return true;
    default:
        return false;
    }
}

et_range et_range_total(et_xop op, et_range a, et_range b) {
    et_range r;
    if (et_range_apply(op, a, b, &r)) return r;
    if (op == ET_X_MOD) /* of any dividend; by 0 it is 0 */
        return (et_range){b.lo < 0 ? b.lo + 1 : 0, b.hi > 0 ? b.hi - 1 : 0};
    if (op == ET_X_IDIV && a.lo != ET_UNKNOWN) { /* no further from 0 than the dividend */
        int64_t most = etrt_int_max(-a.lo, a.hi);
        return (et_range){a.lo >= 0 && b.lo >= 0 ? 0 : -most, a.hi <= 0 && b.lo >= 0 ? 0 : most};
    }
    return ET_ALL_INTS;
}
