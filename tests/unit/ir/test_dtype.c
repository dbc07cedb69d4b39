/* The table of dtypes: every f16 and bf16 there is, and many f32, against the C compiler's own
 * types and against what "nearest, ties to even" means. */
#include "ir/base/dtype.h"
#include "tests/unit/ir/main.h"
#include <math.h>

/* As ck_assert, which tells the runner of every assertion that it was reached: there are millions
 * here. */
#define HOLDS(condition) ((condition) ? (void)0 : ck_abort_msg("%s", #condition))

static uint32_t random_word(uint64_t *s) {
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*s >> 32);
}

/* Any f32, ties of f16 and bf16 and their neighbours more often than chance has it. */
static float random_float(uint64_t *s, int i) {
    uint32_t u = random_word(s), near = random_word(s) % 3 - 1;
    if (i % 4 == 1) u = (u & ~0x1fffu) + 0x1000 + near;
    if (i % 4 == 2) u = (u & ~0xffffu) + 0x8000 + near;
    if (i % 8 > 3) u = (u & 0x8fffffff) | 0x30000000; /* in or near the range of f16 */
    return etrt_f32_of_word(u);
}

START_TEST(names) {
    for (int i = 0; i < ET_DTYPE_COUNT; i++) {
        et_dtype d = (et_dtype)i, other = ET_DTYPE_COUNT;
        ck_assert(et_dtype_parse(et_dtype_name(d), &other) && other == d);
        ck_assert(et_dtype_parse_safetensors(et_dtype_safetensors(d), &other) && other == d);
        ck_assert_int_eq(et_dtype_size(d, 24), 3 * et_dtype_bits(d));
        ck_assert(!et_dtype_parse(et_dtype_safetensors(d), &other));
    }
    ck_assert_int_eq(et_dtype_bytes(ET_BF16), 2);
    ck_assert(et_dtype_is_float(ET_F16) && !et_dtype_is_float(ET_I32));
}
END_TEST

START_TEST(every_half) {
    for (uint32_t u = 0; u < 65536; u++) {
        uint16_t bits = (uint16_t)u;
        _Float16 h;
        memcpy(&h, &bits, sizeof h);
        float f = etrt_f16_to_f32(u), brain = etrt_bf16_to_f32(u);
        if (isnan((float)h)) {
            HOLDS(isnan(f) && isnan(etrt_f16_to_f32(etrt_f32_to_f16(f))));
        } else {
            HOLDS(etrt_word_of_f32(f) == etrt_word_of_f32((float)h));
            HOLDS(etrt_f32_to_f16(f) == u);
        }
        HOLDS(etrt_word_of_f32(brain) == u << 16);
        if (isnan(brain))
            HOLDS(isnan(etrt_bf16_to_f32(etrt_f32_to_bf16(brain))));
        else
            HOLDS(etrt_f32_to_bf16(brain) == u);
    }
}
END_TEST

/* The distance of V to its rounding is none smaller to the numbers beside it, and where it is equal
 * the rounding is even. Infinity stands for the power of two above the largest number. */
static void check_nearest(float v, uint32_t bits, float (*value)(uint32_t), double beyond) {
    double x = fabs((double)v), mine = fabs((double)value(bits));
    uint32_t magnitude = bits & 0x7fff;
    if (isinf(v)) HOLDS(isinf(mine));
    if (isinf(v)) return;
    if (isinf(mine)) mine = beyond;
    for (int step = -1; step <= 1; step += 2) {
        if (magnitude == 0 && step < 0) continue;
        double other = (double)value(magnitude + (uint32_t)step);
        if (isnan(other)) continue; /* beyond infinity */
        if (isinf(other)) other = beyond;
        if (!(fabs(mine - x) < fabs(other - x) ||
              (fabs(mine - x) == fabs(other - x) && magnitude % 2 == 0)))
            ck_abort_msg("%a became %a, %a is as near", (double)v, mine, other);
    }
    HOLDS((bits >> 15) == (signbit(v) != 0));
}

static float f16(uint32_t bits) {
    return etrt_f16_to_f32(bits);
}
static float bf16(uint32_t bits) {
    return etrt_bf16_to_f32(bits);
}

START_TEST(nearest) {
    uint64_t s = 5;
    for (int i = 0; i < 2000000; i++) {
        float v = random_float(&s, i);
        if (isnan(v)) {
            HOLDS(isnan(et_round_to(ET_F16, v)) && isnan(et_round_to(ET_BF16, v)));
            continue;
        }
        check_nearest(v, etrt_f32_to_f16(v), f16, 65536);
        check_nearest(v, etrt_f32_to_bf16(v), bf16, 0x1p128);
        uint16_t bits;
        _Float16 h = (_Float16)v;
        memcpy(&bits, &h, sizeof bits);
        HOLDS(etrt_f32_to_f16(v) == bits);
        HOLDS(etrt_word_of_f32(et_round_to(ET_F16, v)) == etrt_word_of_f32((float)h));
        HOLDS(etrt_word_of_f32(et_round_to(ET_F32, v)) == etrt_word_of_f32(v));
    }
    ck_assert_float_eq(et_round_to(ET_BF16, 1 + 0x1p-8f), 1);
    ck_assert_float_eq(et_round_to(ET_BF16, 1 + 3 * 0x1p-8f), 1 + 0x1p-6f);
    ck_assert_float_eq(et_round_to(ET_BF16, 3.4e38f), INFINITY);
    ck_assert_float_eq(et_round_to(ET_F16, 65519), 65504);
    ck_assert_float_eq(et_round_to(ET_F16, 65520), INFINITY);
}
END_TEST

/* Every NaN stays one, those whose fraction is in the low bits alone too. */
START_TEST(nans) {
    static const uint32_t nan[] = {0x7f800001, 0x7fffffff, 0xff800001, 0xffffffff, 0x7fc00000};
    for (size_t i = 0; i < sizeof nan / sizeof *nan; i++) {
        float v = etrt_f32_of_word(nan[i]);
        ck_assert(isnan(etrt_f16_to_f32(etrt_f32_to_f16(v))));
        ck_assert(isnan(etrt_bf16_to_f32(etrt_f32_to_bf16(v))));
        ck_assert_int_eq(etrt_to_i32((double)v), 0);
    }
}
END_TEST

/* What the codes of small floats are, by the definition of their formats. */
static double meaning(et_dtype d, int code) {
    static const struct {
        int exponent, fraction, bias,
            highest; /* highest exponent of a number; NaN and such above */
    } format[] = {[ET_E4M3] = {4, 3, 7, 15}, [ET_E5M2] = {5, 2, 15, 30}, [ET_E2M1] = {2, 1, 1, 3}};
    if (d == ET_UE8M0) return code == 255 ? NAN : ldexp(1, code - 127);
    int e = code >> format[d].fraction & ((1 << format[d].exponent) - 1);
    int f = code & ((1 << format[d].fraction) - 1);
    double sign = code >> (et_dtype_bits(d) - 1) ? -1 : 1;
    double part = ldexp(f, -format[d].fraction);
    if (d == ET_E4M3 && e == 15 && f == 7) return NAN;
    if (e > format[d].highest) return f ? NAN : sign * INFINITY;
    return sign * ldexp(e ? 1 + part : part, (e ? e : 1) - format[d].bias);
}

static const et_dtype small_floats[] = {ET_E4M3, ET_E5M2, ET_E2M1, ET_UE8M0};

START_TEST(codes) {
    for (size_t k = 0; k < sizeof small_floats / sizeof *small_floats; k++) {
        et_dtype d = small_floats[k];
        for (int code = 0; code < 1 << et_dtype_bits(d); code++) {
            unsigned char byte[4] = {(unsigned char)code}, back[4] = {0};
            double v = etrt_element((int)d, byte, 0), want = meaning(d, code);
            HOLDS(isnan(v) ? isnan(want) : v == want && !signbit(v) == !signbit(want));
            etrt_element_set((int)d, back, 0, v);
            HOLDS(isnan(v) ? isnan(etrt_element((int)d, back, 0)) : back[0] == byte[0]);
            HOLDS(isnan(v) || (double)et_round_to(ET_BF16, (float)v) == v);
        }
    }
}
END_TEST

/* Of all codes there is none nearer than the one that V became, and of two as near it is even. */
static void check_code(et_dtype d, double v) {
    unsigned char byte[4] = {0};
    etrt_element_set((int)d, byte, 0, v);
    double mine = meaning(d, byte[0]), away = fabs(mine - v);
    if (d == ET_E5M2 && fabs(v) >= 61440) { /* as far from the largest as infinity would be */
        HOLDS(isinf(mine));
        return;
    }
    for (int code = 0; code < 1 << et_dtype_bits(d); code++) {
        double other = fabs(meaning(d, code) - v);
        bool better = other < away || (other == away && byte[0] % 2 == 1 && code % 2 == 0);
        if (better && isfinite(other) && meaning(d, code) != mine)
            ck_abort_msg("%s: %a became %a, %a is nearer", et_dtype_name(d), v, mine,
                         meaning(d, code));
    }
}

START_TEST(nearest_codes) {
    uint64_t s = 7;
    for (size_t k = 0; k < sizeof small_floats / sizeof *small_floats; k++) {
        et_dtype d = small_floats[k];
        for (int i = 0; i < 20000; i++)
            check_code(d, ((double)random_word(&s) / 0x1p31 - 1) * ldexp(1, i % 40 - 20));
        for (int code = 0; code < 1 << et_dtype_bits(d); code++) { /* halfway, and beside that */
            double a = meaning(d, code), b = meaning(d, code + 1), middle = (a + b) / 2;
            if (!isfinite(middle) || d == ET_UE8M0) continue;
            for (int step = -1; step <= 1; step++)
                check_code(d, middle * (1 + step * 0x1p-20));
        }
    }
    unsigned char byte[4] = {0};
    etrt_element_set(ET_E4M3, byte, 0, 1e9);
    ck_assert_int_eq(byte[0], 0x7e);
    etrt_element_set(ET_E2M1, byte, 1, -1e9);
    ck_assert_int_eq(byte[0], 0xfe);
    etrt_element_set(ET_UE8M0, byte, 0, -3);
    ck_assert_int_eq(byte[0], 0);
}
END_TEST

/* Two of four bits to a byte, the first in its low half; what does not fit is the nearest. */
START_TEST(halves_of_bytes) {
    unsigned char data[8] = {0x55, 0x55, 0x55};
    for (int i = 0; i < 4; i++)
        etrt_element_set(ET_I4, data, i, i * 5 - 8);
    ck_assert_int_eq(data[0], 0xd8);
    ck_assert_int_eq(data[1], 0x72);
    ck_assert_int_eq(data[2], 0x55);
    for (int i = 0; i < 4; i++) {
        ck_assert_double_eq(etrt_element(ET_I4, data, i), i * 5 - 8);
        ck_assert_double_eq(etrt_element(ET_U4, data, i), (i * 5 - 8) & 15);
    }
    etrt_element_set(ET_U4, data, 0, -3);
    etrt_element_set(ET_U4, data, 1, 99.9);
    ck_assert_int_eq(data[0], 0xf0);
    etrt_element_set(ET_I8, data, 0, -1000);
    etrt_element_set(ET_U8, data, 1, 254.9);
    ck_assert_double_eq(etrt_element(ET_I8, data, 0), -128);
    ck_assert_double_eq(etrt_element(ET_U8, data, 1), 254);
}
END_TEST

/* Four of two bits and eight of one, and sixteen integers that are no rule. */
START_TEST(smaller_parts) {
    unsigned char data[2] = {0xe4, 0xb1};
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq(etrt_element(ET_U2, data, i), i);
    for (int i = 0; i < 8; i++)
        ck_assert_double_eq(etrt_element(ET_U1, data, 8 + i), 0xb1 >> i & 1);
    etrt_element_set(ET_U2, data, 3, 1);
    etrt_element_set(ET_U1, data, 9, 7);
    ck_assert_int_eq(data[0], 0x64);
    ck_assert_int_eq(data[1], 0xb3);
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(etrt_iq4_bits(etrt_iq4_value((uint32_t)i) + 0.4), i);
    ck_assert_int_eq(etrt_iq4_bits(-1000), 0);
    ck_assert_int_eq(etrt_iq4_bits(1000), 15);
}
END_TEST

START_TEST(elements) {
    char data[64];
    for (int d = 0; d < ET_DTYPE_COUNT; d++) {
        static const int most[] = {1, 2, 4, 1, 2}, two[] = {1, 2, 3, 0, 2}, one[] = {1, 0, 1, 1, 0},
                         uneven[] = {1, 13, -22, 113, -127};
        const int *value = d == ET_U2 ? two : d == ET_U1 ? one : d == ET_IQ4 ? uneven : most;
        memset(data, 0x55, sizeof data);
        for (int i = 0; i < 5; i++)
            etrt_element_set(d, data, i, value[i]);
        for (int i = 0; i < 5; i++)
            ck_assert_double_eq(etrt_element(d, data, i), value[i]);
        ck_assert_int_eq(data[et_dtype_size((et_dtype)d, 5)], 0x55);
        if (et_dtype_is_code((et_dtype)d)) continue;
        for (int i = 0; i < 5; i++)
            etrt_element_set(d, data, i, i * 3 - 7);
        for (int i = 0; i < 5; i++)
            ck_assert_double_eq(etrt_element(d, data, i), i * 3 - 7);
    }
    etrt_element_set(ET_I32, data, 0, 16777217); /* no f32 */
    ck_assert_double_eq(etrt_element(ET_I32, data, 0), 16777217);
    etrt_element_set(ET_I32, data, 0, 1e300);
    ck_assert_double_eq(etrt_element(ET_I32, data, 0), INT32_MAX);
    etrt_element_set(ET_I32, data, 0, -1e300);
    ck_assert_double_eq(etrt_element(ET_I32, data, 0), INT32_MIN);
    etrt_element_set(ET_I32, data, 0, -2.9);
    ck_assert_double_eq(etrt_element(ET_I32, data, 0), -2);
}
END_TEST

TEST_MAIN("dtype", names, every_half, nearest, nans, codes, nearest_codes, halves_of_bytes,
          smaller_parts, elements)
