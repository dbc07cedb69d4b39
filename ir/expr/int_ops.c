#include "ir/expr/int_ops.h"

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

bool et_range_apply(et_xop op, et_range a, et_range b, et_range *out) {
    et_range same;
    switch (op) {
    case ET_X_NEG:
        *out = (et_range){-a.hi, -a.lo};
        return a.lo != ET_UNKNOWN;
    case ET_X_ABS:
        *out = (et_range){a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, etrt_int_max(-a.lo, a.hi)};
        return a.lo != ET_UNKNOWN;
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
        if (b.lo < 1 || a.lo == ET_UNKNOWN) return false;
        out->lo = etrt_int_min(et_int_value(op, a.lo, b.lo), et_int_value(op, a.lo, b.hi));
        out->hi = etrt_int_max(et_int_value(op, a.hi, b.lo), et_int_value(op, a.hi, b.hi));
        return true;
    case ET_X_MOD:
        if (b.lo < 1 || a.lo == ET_UNKNOWN) return false;
        *out = modulo(a, b);
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
