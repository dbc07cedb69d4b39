/* lane_formats.h - one lane's arithmetic in bf16 and 8-bit floats, and the roundings, minima and
 * multiplications that not every architecture has. */
#ifndef ISA_LANE_FORMATS_H
#define ISA_LANE_FORMATS_H

#include "runtime/emu/isa/lanes/lane_convert.h"

/* IEEE 754-2019 minimum and maximum: NaN wins, -0 is less than +0. */
L float minimum32(float x, float y) {
    float r = x < y || (x == y && asu(x) >> 31) ? x : y;
    return x != x || y != y ? asf(0x7fc00000) : r;
}
L float maximum32(float x, float y) {
    float r = x > y || (x == y && !(asu(x) >> 31)) ? x : y;
    return x != x || y != y ? asf(0x7fc00000) : r;
}
L double minimum64(double x, double y) {
    double r = x < y || (x == y && asq(x) >> 63) ? x : y;
    return x != x || y != y ? asd(0x7ff8000000000000) : r;
}
L double maximum64(double x, double y) {
    double r = x > y || (x == y && !(asq(x) >> 63)) ? x : y;
    return x != x || y != y ? asd(0x7ff8000000000000) : r;
}

L float bf16_lo(uint32_t x) {
    return asf(x << 16);
}
L float bf16_hi(uint32_t x) {
    return asf(x & 0xffff0000);
}
/* Low halves first, each step fused. */
L float dot2_bf16(uint32_t x, uint32_t y, float z) {
    return __builtin_fmaf(bf16_hi(x), bf16_hi(y), __builtin_fmaf(bf16_lo(x), bf16_lo(y), z));
}

/* gfx950 and gfx12 have the OCP forms of 8-bit floats: exponent bias 7 with one NaN of each sign
 * and no infinity, and bias 15 with both as in IEEE. */
L float ofp8_to_f32(uint32_t b) {
    uint32_t e = (b >> 3) & 15, m = b & 7;
    float f = e ? asf(((e + 120) << 23) | (m << 20)) : (float)m * 0x1p-9f;
    f = (b & 0x7f) == 0x7f ? asf(0x7fc00000) : f;
    return b & 0x80 ? -f : f;
}
L float obf8_to_f32(uint32_t b) {
    return h2f(b << 8);
}
/* Round to nearest even with MBITS of fraction; above LARGEST is OVERFLOW_CODE, NaN is 0x7f. */
L uint32_t to_ocp(float f, int mbits, int bias, uint32_t largest, uint32_t overflow_code) {
    uint32_t u = asu(f), s = (u >> 24) & 0x80, m = u & 0x7fffffff;
    int drop = 23 - mbits;
    uint32_t base = (uint32_t)(127 - bias) << 23;
    float unit = asf((uint32_t)(127 + 1 - bias - mbits) << 23);
    uint32_t denormal =
        (uint32_t)(int32_t)__builtin_rintf(m < base + (1u << 23) ? asf(m) / unit : 0.0f);
    uint32_t normal = (m - base + (1u << (drop - 1)) - 1 + ((m >> drop) & 1)) >> drop;
    uint32_t r = m < base + (1u << 23) ? denormal : normal;
    r = r > largest ? overflow_code : r;
    return (m > 0x7f800000 ? 0x7f : r) | s;
}
L uint32_t f32_to_ofp8(float f) {
    return to_ocp(f, 3, 7, 0x7e, 0x7f);
}
L uint32_t f32_to_obf8(float f) {
    return to_ocp(f, 2, 15, 0x7b, 0x7c);
}

/* Zero times anything is zero. */
L float mul_zero(float x, float y) {
    return x == 0 || y == 0 ? 0.0f : x * y;
}
L float fma_zero(float x, float y, float z) {
    return x == 0 || y == 0 ? z + 0.0f : __builtin_fmaf(x, y, z);
}

/* The separate multiplication and addition of gfx9 know no denormals. */
L float no_denormal(float x) {
    return asu(x) & 0x7f800000 ? x : asf(asu(x) & 0x80000000);
}
L float mad32(float x, float y, float z) {
    float p = no_denormal(no_denormal(x) * no_denormal(y));
    return no_denormal(p + no_denormal(z));
}

L uint32_t ashr_pk(int32_t x, int32_t y, uint32_t n, int32_t lo, int32_t hi) {
    int32_t a = imax(imin(x >> (n & 31), hi), lo), b = imax(imin(y >> (n & 31), hi), lo);
    return (uint32_t)(a & 255) | (uint32_t)(b & 255) << 8;
}

#endif
