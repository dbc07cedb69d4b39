/* lane_math.h - one lane's arithmetic, for lanes.inc. Everything is static inline and
 * written without branches where it is hot, so that the loops around it vectorise. */
#ifndef ISA_LANE_MATH_H
#define ISA_LANE_MATH_H

#include "runtime/etrt_dtype.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define L static inline __attribute__((always_inline, unused))

L float asf(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}
L uint32_t asu(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
L double asd(uint64_t u) {
    double d;
    memcpy(&d, &u, 8);
    return d;
}
L uint64_t asq(double d) {
    uint64_t u;
    memcpy(&u, &d, 8);
    return u;
}

/* An invalid operation makes a positive NaN on the GPU and a negative one on x86. */
L uint32_t fix_nan32(uint32_t u) {
    return u == 0xffc00000u ? 0x7fc00000u : u;
}
L uint64_t fix_nan64(uint64_t u) {
    return u == 0xfff8000000000000u ? 0x7ff8000000000000u : u;
}

L uint32_t f32_to_bf16(float f) {
    return etrt_f32_to_bf16(asf(fix_nan32(asu(f))));
}

/* ---- f16 ---- */

L float h2f(uint32_t h) {
    return etrt_f16_to_f32(h);
}
L uint32_t f2h(float f) {
    return etrt_f32_to_f16(asf(fix_nan32(asu(f))));
}
L uint32_t f2h_rtz(float f) {
    uint32_t x = asu(f), s = (x >> 16) & 0x8000, m = x & 0x7fffffff;
    float small = asf(m < 0x38800000 ? m : 0);
    uint32_t r = m < 0x38800000 ? (uint32_t)(int32_t)(small * 0x1p24f) : (m - 0x38000000) >> 13;
    r = m >= 0x47800000 ? 0x7bff : r;
    r = m == 0x7f800000 ? 0x7c00 : r;
    r = m > 0x7f800000 ? 0x7e00 | ((m >> 13) & 0x3ff) : r;
    return r | s;
}
L float round16(float f) {
    return h2f(f2h(f));
}

/* x*y+z rounded to odd: rounding that to f16 is rounding once. The product of two f16 is exact. */
L float fma_odd(float x, float y, float z) {
    float p = x * y, s = p + z;
    float b = s - p, err = (p - (s - b)) + (z - b);
    uint32_t u = asu(s), e = asu(err);
    uint32_t nudged = (int32_t)(e ^ u) < 0 ? u - 1 : u + 1;
    uint32_t inexact = (uint32_t)(err != 0) & (uint32_t)(s != 0) & (uint32_t)(err == err) & ~u & 1;
    return asf(inexact ? nudged : u);
}
L float fma16(float x, float y, float z) {
    return fma_odd(x, y, z);
}

/* ---- integers ---- */

L int32_t imin(int32_t a, int32_t b) {
    return a < b ? a : b;
}
L int32_t imax(int32_t a, int32_t b) {
    return a > b ? a : b;
}
L uint32_t umin(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}
L uint32_t umax(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}
L uint32_t u24(uint32_t x) {
    return x & 0xffffff;
}
L int32_t i24(uint32_t x) {
    return (int32_t)(x << 8) >> 8;
}
L uint32_t absdiff(uint32_t a, uint32_t b) {
    return a > b ? a - b : b - a;
}
L int32_t sat_i32(int64_t x) {
    return (int32_t)(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x);
}
L int32_t sat_i16(int32_t x) {
    return imax(imin(x, 32767), -32768);
}
L uint32_t sat_u8(int32_t x) {
    return (uint32_t)imax(imin(x, 255), 0);
}

L uint32_t popcount(uint32_t x) {
    x -= (x >> 1) & 0x55555555;
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333);
    x = (x + (x >> 4)) & 0x0f0f0f0f;
    return (x * 0x01010101) >> 24;
}
L uint32_t bitrev(uint32_t x) {
    x = ((x >> 1) & 0x55555555) | ((x & 0x55555555) << 1);
    x = ((x >> 2) & 0x33333333) | ((x & 0x33333333) << 2);
    x = ((x >> 4) & 0x0f0f0f0f) | ((x & 0x0f0f0f0f) << 4);
    return __builtin_bswap32(x);
}
L uint32_t ffbh(uint32_t x) {
    return x ? (uint32_t)__builtin_clz(x) : UINT32_MAX;
}
L uint32_t ffbl(uint32_t x) {
    return x ? (uint32_t)__builtin_ctz(x) : UINT32_MAX;
}
L uint32_t bfe_u(uint32_t x, uint32_t o, uint32_t n) {
    return (x >> (o & 31)) & ((1u << (n & 31)) - 1);
}
L uint32_t bfe_i(uint32_t x, uint32_t o, uint32_t n) {
    o &= 31;
    n &= 31;
    uint32_t up = o + n < 32 ? 32 - o - n : 0;
    uint32_t down = o + n < 32 ? 32 - n : o;
    uint32_t r = (uint32_t)((int32_t)(x << (up & 31)) >> (down & 31));
    return n ? r : 0;
}
L uint32_t perm1(uint64_t bytes, uint32_t sel) {
    uint32_t byte = (uint32_t)(bytes >> (8 * (sel & 7))) & 255;
    uint32_t sign = (uint32_t)((int64_t)(bytes << (48 - 16 * (sel & 3))) >> 63) & 255;
    return sel > 12 ? 255 : sel == 12 ? 0 : sel > 7 ? sign : byte;
}
/* Bytes 7:4 of the pool are X. Selectors 8..11 are the signs of bytes 1, 3, 5, 7. */
L uint32_t perm(uint32_t x, uint32_t y, uint32_t z) {
    uint64_t b = ((uint64_t)x << 32) | y;
    return perm1(b, z & 255) | perm1(b, (z >> 8) & 255) << 8 | perm1(b, (z >> 16) & 255) << 16 |
           perm1(b, z >> 24) << 24;
}
L uint32_t byte_of(uint32_t x, int i) {
    return (x >> (8 * i)) & 255;
}
L uint32_t sad_u8(uint32_t x, uint32_t y) {
    uint32_t r = 0;
    for (int i = 0; i < 4; i++)
        r += absdiff(byte_of(x, i), byte_of(y, i));
    return r;
}
/* Bytes of Y that are zero are skipped. */
L uint32_t msad_u8(uint32_t x, uint32_t y) {
    uint32_t r = 0;
    for (int i = 0; i < 4; i++)
        r += byte_of(y, i) ? absdiff(byte_of(x, i), byte_of(y, i)) : 0;
    return r;
}
L uint32_t lerp_u8(uint32_t x, uint32_t y, uint32_t z) {
    uint32_t r = 0;
    for (int i = 0; i < 4; i++)
        r |= ((byte_of(x, i) + byte_of(y, i) + (byte_of(z, i) & 1)) >> 1) << (8 * i);
    return r;
}
L uint32_t dot4_i8(uint32_t x, uint32_t y) {
    int32_t r = 0;
    for (int i = 0; i < 4; i++)
        r += (int8_t)byte_of(x, i) * (int8_t)byte_of(y, i);
    return (uint32_t)r;
}
L uint32_t dot4_u8(uint32_t x, uint32_t y) {
    uint32_t r = 0;
    for (int i = 0; i < 4; i++)
        r += byte_of(x, i) * byte_of(y, i);
    return r;
}
L uint32_t dot8_i4(uint32_t x, uint32_t y) {
    int32_t r = 0;
    for (int i = 0; i < 8; i++)
        r += ((int32_t)(x << (28 - 4 * i)) >> 28) * ((int32_t)(y << (28 - 4 * i)) >> 28);
    return (uint32_t)r;
}
L uint32_t dot8_u4(uint32_t x, uint32_t y) {
    uint32_t r = 0;
    for (int i = 0; i < 8; i++)
        r += ((x >> (4 * i)) & 15) * ((y >> (4 * i)) & 15);
    return r;
}
L uint32_t dot2_i16(uint32_t x, uint32_t y) {
    return (uint32_t)((int16_t)x * (int16_t)y) +
           (uint32_t)((int16_t)(x >> 16) * (int16_t)(y >> 16));
}
/* Bit 64 of the sum of two signed 64-bit values. */
L bool mad_i64_carry(int32_t x, int32_t y, uint64_t z) {
    uint64_t p = (uint64_t)((int64_t)x * y), s = p + z;
    return (p >> 63) ^ (z >> 63) ^ (s < z);
}

/* Two 16-bit halves at once. */
#define each16(x, y, f)                                                                            \
    ((f((x)&0xffff, (y)&0xffff) & 0xffff) | ((uint32_t)f((x) >> 16, (y) >> 16) << 16))
L uint32_t add16(uint32_t x, uint32_t y) {
    return x + y;
}
L uint32_t sub16(uint32_t x, uint32_t y) {
    return x - y;
}
L uint32_t mul16(uint32_t x, uint32_t y) {
    return x * y;
}
L uint32_t uadds16(uint32_t x, uint32_t y) {
    return umin(x + y, 0xffff);
}
L uint32_t usubs16(uint32_t x, uint32_t y) {
    return x < y ? 0 : x - y;
}
L uint32_t iadds16(uint32_t x, uint32_t y) {
    return (uint32_t)sat_i16((int16_t)x + (int16_t)y);
}
L uint32_t isubs16(uint32_t x, uint32_t y) {
    return (uint32_t)sat_i16((int16_t)x - (int16_t)y);
}
L uint32_t imin16(uint32_t x, uint32_t y) {
    return (uint32_t)imin((int16_t)x, (int16_t)y);
}
L uint32_t imax16(uint32_t x, uint32_t y) {
    return (uint32_t)imax((int16_t)x, (int16_t)y);
}
L uint32_t umin16(uint32_t x, uint32_t y) {
    return umin(x, y);
}
L uint32_t umax16(uint32_t x, uint32_t y) {
    return umax(x, y);
}
L uint32_t shl16(uint32_t x, uint32_t y) {
    return y << (x & 15);
}
L uint32_t shr16(uint32_t x, uint32_t y) {
    return y >> (x & 15);
}
L uint32_t sar16(uint32_t x, uint32_t y) {
    return (uint32_t)((int16_t)y >> (x & 15));
}

/* ---- minimum and maximum: a NaN loses against a number, -0 is below +0 ---- */

L float fmin32(float x, float y) {
    float r = x < y ? x : y;
    r = x == y ? asf(asu(x) | asu(y)) : r;
    r = x != x ? y : r;
    float q = asf(asu(x) | 0x400000);
    return y != y ? (x != x ? q : x) : r;
}
L float fmax32(float x, float y) {
    float r = x > y ? x : y;
    r = x == y ? asf(asu(x) & asu(y)) : r;
    r = x != x ? y : r;
    float q = asf(asu(x) | 0x400000);
    return y != y ? (x != x ? q : x) : r;
}
L float fmed32(float x, float y, float z) {
    float med = fmax32(fmin32(x, y), fmin32(fmax32(x, y), z));
    float low = fmin32(fmin32(x, y), z);
    return x != x || y != y || z != z ? low : med;
}
L double fmin64(double x, double y) {
    double r = x < y ? x : y;
    r = x == y ? asd(asq(x) | asq(y)) : r;
    r = x != x ? y : r;
    double q = asd(asq(x) | 0x8000000000000);
    return y != y ? (x != x ? q : x) : r;
}
L double fmax64(double x, double y) {
    double r = x > y ? x : y;
    r = x == y ? asd(asq(x) & asq(y)) : r;
    r = x != x ? y : r;
    double q = asd(asq(x) | 0x8000000000000);
    return y != y ? (x != x ? q : x) : r;
}

/* ---- parts of a float ---- */

/* The fraction stays below one even where the subtraction would round up to it. */
L float fract32(float x) {
    float r = x - __builtin_floorf(x);
    return r >= 1.0f ? 0x1.fffffep-1f : r;
}
L float fract16(float x) {
    float r = x - __builtin_floorf(x);
    return r > 0x1.ffcp-1f ? 0x1.ffcp-1f : r;
}
L double fract64(double x) {
    double r = x - __builtin_floor(x);
    return r >= 1.0 ? 0x1.fffffffffffffp-1 : r;
}
L int32_t frexp_exp32(float x) {
    uint32_t m = asu(x) & 0x7fffffff;
    uint32_t n = asu(asf(m) * 0x1p32f);
    int32_t e = m < 0x800000 ? (int32_t)(n >> 23) - 32 : (int32_t)(m >> 23);
    return m == 0 || m >= 0x7f800000 ? 0 : e - 126;
}
L float frexp_mant32(float x) {
    uint32_t u = asu(x), m = u & 0x7fffffff;
    uint32_t n = m < 0x800000 ? asu(asf(m) * 0x1p32f) : m;
    uint32_t r = (n & 0x7fffff) | 0x3f000000 | (u & 0x80000000);
    return asf(m == 0 ? u : m >= 0x7f800000 ? (m > 0x7f800000 ? u | 0x400000 : u) : r);
}
L int32_t frexp_exp64(double x) {
    uint64_t m = asq(x) & 0x7fffffffffffffff;
    uint64_t n = asq(asd(m) * 0x1p64);
    int32_t e = m < 0x10000000000000 ? (int32_t)(n >> 52) - 64 : (int32_t)(m >> 52);
    return m == 0 || m >= 0x7ff0000000000000 ? 0 : e - 1022;
}
L double frexp_mant64(double x) {
    uint64_t u = asq(x), m = u & 0x7fffffffffffffff;
    uint64_t n = m < 0x10000000000000 ? asq(asd(m) * 0x1p64) : m;
    uint64_t r = (n & 0xfffffffffffff) | 0x3fe0000000000000 | (u & 0x8000000000000000);
    uint64_t special = m > 0x7ff0000000000000 ? u | 0x8000000000000 : u;
    return asd(m == 0 || m >= 0x7ff0000000000000 ? special : r);
}
L float ldexp32(float x, int32_t n) {
    n = imax(imin(n, 320), -320);
    return (float)((double)x * asd((uint64_t)(n + 1023) << 52));
}
L double ldexp64(double x, int32_t n) {
    return __builtin_ldexp(x, imax(imin(n, 5000), -5000));
}

/* ---- transcendentals, within one unit in the last place ---- */

/* The hardware gives zero where the result is denormal. */
L float exp2_32(float x) {
    float c = x > 130.0f ? 130.0f : x < -160.0f ? -160.0f : x != x ? 0.0f : x;
    double n = __builtin_rint((double)c), f = (c - n) * 0.69314718055994530942;
    double p = 1.0 / 362880;
    p = p * f + 1.0 / 40320;
    p = p * f + 1.0 / 5040;
    p = p * f + 1.0 / 720;
    p = p * f + 1.0 / 120;
    p = p * f + 1.0 / 24;
    p = p * f + 1.0 / 6;
    p = p * f + 0.5;
    p = p * f + 1.0;
    p = p * f + 1.0;
    float r = (float)(p * asd((uint64_t)((int64_t)(int32_t)n + 1023) << 52));
    r = r < 0x1p-126f ? 0.0f : r;
    return x != x ? x + x : r;
}
/* Denormal arguments count as zero. */
L float log2_32(float x) {
    uint32_t u = asu(x);
    int32_t e = (int32_t)((u - 0x3f3504f3) >> 23);
    e = (int32_t)((uint32_t)e << 23) >> 23;
    double m = asf(u - ((uint32_t)e << 23)), s = (m - 1.0) / (m + 1.0), q = s * s;
    double p = 1.0 / 15;
    p = p * q + 1.0 / 13;
    p = p * q + 1.0 / 11;
    p = p * q + 1.0 / 9;
    p = p * q + 1.0 / 7;
    p = p * q + 1.0 / 5;
    p = p * q + 1.0 / 3;
    p = p * q + 1.0;
    float r = (float)(e + p * s * 2.8853900817779268147);
    r = (u & 0x7fffffff) < 0x800000 ? -INFINITY : r;
    r = u > 0x80000000 && (u & 0x7fffffff) >= 0x800000 ? asf(0x7fc00000) : r;
    r = u == 0x7f800000 ? INFINITY : r;
    return x != x ? x + x : r;
}
/* sin(2 pi x) for x in [-1/4, 1/4] */
L double sin_quarter(double x) {
    double t = x * 6.28318530717958647692, q = t * t;
    double p = -1.0 / 1307674368000.0;
    p = p * q + 1.0 / 6227020800.0;
    p = p * q - 1.0 / 39916800;
    p = p * q + 1.0 / 362880;
    p = p * q - 1.0 / 5040;
    p = p * q + 1.0 / 120;
    p = p * q - 1.0 / 6;
    p = p * q + 1.0;
    return p * t;
}
L double fold_turn(double r) {
    return r > 0.25 ? 0.5 - r : r < -0.25 ? -0.5 - r : r;
}
L float sin_turns(float x) {
    double r = (double)x - __builtin_rint((double)x);
    float s = (float)sin_quarter(fold_turn(r));
    s = __builtin_fabsf(x) > 256.0f ? 0.0f : s;
    return x != x || __builtin_fabsf(x) == INFINITY ? asf(0x7fc00000) : s;
}
L float cos_turns(float x) {
    double r = (double)x - __builtin_rint((double)x);
    r = 0.25 - __builtin_fabs(r);
    float s = (float)sin_quarter(r);
    s = __builtin_fabsf(x) > 256.0f ? 1.0f : s;
    return x != x || __builtin_fabsf(x) == INFINITY ? asf(0x7fc00000) : s;
}

#endif
