/* lane_convert.h - conversions, classes and the division helpers of one lane. */
#ifndef ISA_LANE_CONVERT_H
#define ISA_LANE_CONVERT_H

#include "runtime/emu/isa/lanes/lane_math.h"

L int32_t f32_to_i32(float x) {
    float c = x < 2147483520.0f ? x : 2147483520.0f;
    c = c > -2147483648.0f ? c : -2147483648.0f;
    c = x != x ? 0.0f : c;
    return x >= 2147483648.0f ? INT32_MAX : (int32_t)c;
}
L uint32_t f32_to_u32(float x) {
    float c = x > 0.0f ? x : 0.0f;
    float high = c >= 2147483648.0f ? c - 2147483648.0f : c;
    high = high < 2147483520.0f ? high : 2147483520.0f;
    uint32_t r = (uint32_t)(int32_t)high + (c >= 2147483648.0f ? 0x80000000u : 0u);
    return c >= 4294967296.0f ? UINT32_MAX : r;
}
L int32_t f64_to_i32(double x) {
    double c = x < 2147483647.0 ? x : 2147483647.0;
    c = c > -2147483648.0 ? c : -2147483648.0;
    return (int32_t)(x != x ? 0.0 : c);
}
L uint32_t f64_to_u32(double x) {
    double c = x > 0.0 ? x : 0.0;
    c = c < 4294967295.0 ? c : 4294967295.0;
    return (uint32_t)(int64_t)c;
}
L int32_t norm_i16(float x) {
    float c = x > 1.0f ? 1.0f : x < -1.0f ? -1.0f : x != x ? 0.0f : x;
    return (int32_t)__builtin_rintf(c * 32767.0f);
}
L uint32_t norm_u16(float x) {
    float c = x > 1.0f ? 1.0f : x > 0.0f ? x : 0.0f;
    return (uint32_t)(int32_t)__builtin_rintf(c * 65535.0f);
}
L uint32_t pk_u8(float x, uint32_t where, uint32_t old) {
    float c = x > 255.0f ? 255.0f : x > 0.0f ? x : 0.0f;
    uint32_t b = (uint32_t)(int32_t)__builtin_rintf(c), sh = 8 * (where & 3);
    return (old & ~(255u << sh)) | (b << sh);
}
L uint64_t pair32(float lo, float hi) {
    return asu(lo) | (uint64_t)asu(hi) << 32;
}

/* gfx942 has the FNUZ forms: no infinity, no -0 (that code is the NaN), exponent bias one more. */
L float fp8_to_f32(uint32_t b) {
    uint32_t e = (b >> 3) & 15, m = b & 7;
    float f = e ? asf(((e + 119) << 23) | (m << 20)) : (float)m * 0x1p-10f;
    return b == 0x80 ? asf(0x7fc00000) : (b & 0x80) ? -f : f;
}
L float bf8_to_f32(uint32_t b) {
    uint32_t e = (b >> 2) & 31, m = b & 3;
    float f = e ? asf(((e + 111) << 23) | (m << 21)) : (float)m * 0x1p-17f;
    return b == 0x80 ? asf(0x7fc00000) : (b & 0x80) ? -f : f;
}
/* Round to nearest even into an FNUZ byte with MBITS of fraction; what does not fit is the NaN. */
L uint32_t to_fnuz(float f, int mbits, int bias) {
    uint32_t u = asu(f), s = (u >> 24) & 0x80, m = u & 0x7fffffff;
    int drop = 23 - mbits;
    uint32_t base = (uint32_t)(127 - bias) << 23;
    float unit = asf((uint32_t)(127 + 1 - bias - mbits) << 23);
    uint32_t denormal =
        (uint32_t)(int32_t)__builtin_rintf(m < base + (1u << 23) ? asf(m) / unit : 0.0f);
    uint32_t normal = (m - base + (1u << (drop - 1)) - 1 + ((m >> drop) & 1)) >> drop;
    uint32_t r = m < base + (1u << 23) ? denormal : normal;
    return m >= 0x7f800000 || r > 127 ? 0x80 : r == 0 ? 0 : r | s;
}
L uint32_t f32_to_fp8(float f) {
    return to_fnuz(f, 3, 8);
}
L uint32_t f32_to_bf8(float f) {
    return to_fnuz(f, 2, 16);
}

/* ---- classes: bits as v_cmp_class names them ---- */

L uint32_t class_of(int sign, int zero, int denormal, int inf, int nan, int quiet) {
    uint32_t positive = zero ? 1 << 6 : denormal ? 1 << 7 : inf ? 1 << 9 : 1 << 8;
    uint32_t negative = zero ? 1 << 5 : denormal ? 1 << 4 : inf ? 1 << 2 : 1 << 3;
    return nan ? (quiet ? 2 : 1) : sign ? negative : positive;
}
L uint32_t class16(uint32_t u) {
    uint32_t m = u & 0x7fff;
    return class_of((u & 0x8000) != 0, m == 0, m<0x400, m == 0x7c00, m> 0x7c00, (m >> 9) & 1);
}
L uint32_t class32(uint32_t u) {
    uint32_t m = u & 0x7fffffff;
    return class_of(u >> 31, m == 0, m<0x800000, m == 0x7f800000, m> 0x7f800000, (m >> 22) & 1);
}
L uint32_t class64(uint64_t u) {
    uint64_t m = u & 0x7fffffffffffffff, inf = 0x7ff0000000000000;
    return class_of(u >> 63, m == 0, m<0x10000000000000, m == inf, m> inf, (m >> 51) & 1);
}

/* ---- division: the steps around Newton's, as the ISA documents define them ---- */

L int exponent32(float x) {
    return (asu(x) >> 23) & 255;
}
L int exponent64(double x) {
    return (int)((asq(x) >> 52) & 2047);
}
L int denormal32(float x) {
    return exponent32(x) == 0 && x != 0;
}
L int denormal64(double x) {
    return exponent64(x) == 0 && x != 0;
}

/* Which operand is scaled, and whether the quotient must be scaled back. */
enum { SCALE_NONE, SCALE_UP, SCALE_DOWN, SCALE_NAN };
struct div_plan {
    int den, num;
    bool vcc;
};
/* Where both the reciprocal and the quotient are denormal, the denominator is scaled down: scaling
 * it up, as it is often written down, would overflow, and the quotient must come out too large for
 * v_div_fmas to scale it back. */
#define DIV_PLAN(NAME, T, EXPONENT, DENORMAL, FAR, TINY)                                           \
    L struct div_plan NAME(T den, T num) {                                                         \
        struct div_plan p = {SCALE_NONE, SCALE_NONE, false};                                       \
        T inverse = (T)1 / den, quotient = num / den;                                              \
        if (num == 0 || den == 0) {                                                                \
            p.den = p.num = SCALE_NAN;                                                             \
        } else if (EXPONENT(num) - EXPONENT(den) >= FAR) {                                         \
            p.vcc = true;                                                                          \
            p.den = SCALE_UP;                                                                      \
        } else if (DENORMAL(den)) {                                                                \
            p.den = p.num = SCALE_UP;                                                              \
        } else if (DENORMAL(inverse) && DENORMAL(quotient)) {                                      \
            p.vcc = true;                                                                          \
            p.den = SCALE_DOWN;                                                                    \
        } else if (DENORMAL(inverse)) {                                                            \
            p.den = p.num = SCALE_DOWN;                                                            \
        } else if (DENORMAL(quotient)) {                                                           \
            p.vcc = true;                                                                          \
            p.num = SCALE_UP;                                                                      \
        } else if (EXPONENT(num) <= TINY) {                                                        \
            p.den = p.num = SCALE_UP;                                                              \
        }                                                                                          \
        return p;                                                                                  \
    }
DIV_PLAN(div_plan32, float, exponent32, denormal32, 96, 23)
DIV_PLAN(div_plan64, double, exponent64, denormal64, 768, 53)

L float div_scale_f32(float x, float den, float num) {
    struct div_plan p = div_plan32(den, num);
    int how = asu(x) == asu(den) ? p.den : p.num;
    return how == SCALE_NAN    ? asf(0x7fc00000)
           : how == SCALE_UP   ? x * 0x1p64f
           : how == SCALE_DOWN ? x * 0x1p-64f
                               : x;
}
L bool div_scale_vcc_f32(float den, float num) {
    return div_plan32(den, num).vcc;
}
L double div_scale_f64(double x, double den, double num) {
    struct div_plan p = div_plan64(den, num);
    int how = asq(x) == asq(den) ? p.den : p.num;
    return how == SCALE_NAN    ? asd(0x7ff8000000000000)
           : how == SCALE_UP   ? x * 0x1p128
           : how == SCALE_DOWN ? x * 0x1p-128
                               : x;
}
L bool div_scale_vcc_f64(double den, double num) {
    return div_plan64(den, num).vcc;
}

/* fma(x, y, z), scaled back by a power of two with one rounding: where bits are lost
 * to a denormal, the sum is rounded to odd before.
 * In a division z is close to the sum, so that their difference is exact. */
L float div_fmas_f32(float x, float y, float z, bool back) {
    float s = __builtin_fmaf(x, y, z);
    float scale = exponent32(z) > 127 ? 0x1p64f : 0x1p-64f;
    if (!back) return s;
    if (!denormal32(s * scale)) return s * scale;
    float err = __builtin_fmaf(x, y, z - s);
    uint32_t u = asu(s);
    if (err != 0 && !(u & 1) && isfinite(s) && s != 0) u = (err < 0) == (s < 0) ? u + 1 : u - 1;
    return asf(u) * scale;
}
L double div_fmas_f64(double x, double y, double z, bool back) {
    double s = __builtin_fma(x, y, z);
    double scale = exponent64(z) > 1023 ? 0x1p128 : 0x1p-128;
    if (!back) return s;
    if (!denormal64(s * scale)) return s * scale;
    double err = __builtin_fma(x, y, z - s);
    uint64_t u = asq(s);
    if (err != 0 && !(u & 1) && isfinite(s) && s != 0) u = (err < 0) == (s < 0) ? u + 1 : u - 1;
    return asd(u) * scale;
}

/* From the least urgent rule to the most, so that it is all selections. */
#define DIV_FIXUP(NAME, T, U, BITS, AS, EXPONENT, QUIET, NAN_BITS, INF_BITS, FAR, TOP)             \
    L T NAME(T q, T den, T num) {                                                                  \
        U sign = (BITS(den) ^ BITS(num)) & ~(~(U)0 >> 1), a = BITS(den) & ~(U)0 >> 1;              \
        U n = BITS(num) & ~(U)0 >> 1, r = BITS(q) & ~(U)0 >> 1;                                    \
        r = EXPONENT(den) == TOP || q != q ? INF_BITS : r;                                         \
        r = EXPONENT(num) - EXPONENT(den) < FAR ? 0 : r;                                           \
        r = a == INF_BITS || n == 0 ? 0 : r;                                                       \
        r = a == 0 || n == INF_BITS ? INF_BITS : r;                                                \
        r |= sign;                                                                                 \
        r = (a == 0 && n == 0) || (a == INF_BITS && n == INF_BITS) ? NAN_BITS : r;                 \
        r = a > INF_BITS ? BITS(den) | QUIET : r;                                                  \
        r = n > INF_BITS ? BITS(num) | QUIET : r;                                                  \
        return AS(r);                                                                              \
    }
DIV_FIXUP(div_fixup_f32, float, uint32_t, asu, asf, exponent32, 0x400000u, 0xffc00000u, 0x7f800000u,
          -150, 255)
DIV_FIXUP(div_fixup_f64, double, uint64_t, asq, asd, exponent64, 0x8000000000000u,
          0xfff8000000000000u, 0x7ff0000000000000u, -1075, 2047)

#endif
