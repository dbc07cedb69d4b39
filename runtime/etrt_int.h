/* etrt_int.h - what the operators of integers mean. Dimensions are computed by the compiler, and
 * again by the runtime from the manifest: both through these functions, so that they agree.
 *
 * An integer is a number from -INT64_MAX to INT64_MAX. An operation whose exact result is none of
 * them, or that divides by zero, has no value: the functions return false, and nothing ever wraps
 * around. Division rounds toward minus infinity, and a = a / b * b + a % b. */
#ifndef ETRT_INT_H
#define ETRT_INT_H

#include <stdbool.h>
#include <stdint.h>

static inline bool etrt_int_add(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_add_overflow(a, b, out) && *out != INT64_MIN;
}

static inline bool etrt_int_sub(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_sub_overflow(a, b, out) && *out != INT64_MIN;
}

static inline bool etrt_int_mul(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_mul_overflow(a, b, out) && *out != INT64_MIN;
}

static inline bool etrt_int_div(int64_t a, int64_t b, int64_t *out) {
    if (b == 0 || a == INT64_MIN) return false;
    *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return true;
}

static inline bool etrt_int_mod(int64_t a, int64_t b, int64_t *out) {
    if (b == 0 || a == INT64_MIN) return false;
    *out = a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    return true;
}

static inline int64_t etrt_int_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t etrt_int_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

#endif
