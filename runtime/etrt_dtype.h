/* etrt_dtype.h - the types elements of tensors are stored in: one row each, and on the host the
 * only conversions between them.
 *
 * Like etrt_abi.h it belongs to no program: the compiler, libetrt, the emulator and the tools all
 * include it, and link nothing for it. It stands here because the runtime may know nothing of the
 * compiler, while names and sizes of dtypes are part of what the two agree on. The compiler's view
 * of it is ir/base/dtype.h. */
#ifndef ETRT_DTYPE_H
#define ETRT_DTYPE_H

#include <stdint.h>
#include <string.h>

/* X(NAME, name, SAFETENSORS, BITS, IS_FLOAT): in .etg, .eti and manifests it is called `name`, in
 * safetensors files SAFETENSORS. A new type is a row, its NAME in the enum of etrt.h at the same
 * place, and below etrt_NAME_value and etrt_NAME_bits, which convert one element, held in the low
 * BITS of a word: every value fits a double, and what is stored is the nearest there is.
 *
 * Types of 8 bits and fewer are codes of weights, which kernels read and never write. Elements of
 * fewer than eight bits share a byte, the first in its low bits. Files have names for few of them:
 * where a file says U8 or I32 instead, each such element holds as many codes as fit, the first in
 * its lowest bits (etrt_dtype_fits). */
#define ETRT_DTYPES(X)                                                                             \
    X(F32, f32, "F32", 32, 1)                                                                      \
    X(F16, f16, "F16", 16, 1)                                                                      \
    X(BF16, bf16, "BF16", 16, 1)                                                                   \
    X(I32, i32, "I32", 32, 0)                                                                      \
    X(E4M3, e4m3, "F8_E4M3", 8, 1)                                                                 \
    X(E5M2, e5m2, "F8_E5M2", 8, 1)                                                                 \
    X(UE8M0, ue8m0, "F8_E8M0", 8, 1)                                                               \
    X(E2M1, e2m1, "F4", 4, 1)                                                                      \
    X(I8, i8, "I8", 8, 0)                                                                          \
    X(U8, u8, "U8", 8, 0)                                                                          \
    X(I4, i4, "I4", 4, 0)                                                                          \
    X(U4, u4, "U4", 4, 0)                                                                          \
    X(U2, u2, "U2", 2, 0)                                                                          \
    X(U1, u1, "U1", 1, 0)                                                                          \
    X(IQ4, iq4, "IQ4", 4, 0)

/* The conversions are written without branches: the emulator's loops over lanes vectorise them. */
#define ETRT_INLINE static inline __attribute__((always_inline, unused))

ETRT_INLINE float etrt_f32_of_word(uint32_t word) {
    float f;
    memcpy(&f, &word, sizeof f);
    return f;
}
ETRT_INLINE uint32_t etrt_word_of_f32(float f) {
    uint32_t word;
    memcpy(&word, &f, sizeof word);
    return word;
}

/* ---- f16: five bits of exponent with bias 15, ten of fraction; only the low 16 bits count ---- */

ETRT_INLINE float etrt_f16_to_f32(uint32_t half) {
    uint32_t magnitude = (half & 0x7fff) << 13, sign = (half & 0x8000) << 16;
    uint32_t word = etrt_word_of_f32(etrt_f32_of_word(magnitude) * 0x1p112f);
    word = magnitude >= 0x0f800000 ? magnitude | 0x7f800000 : word;
    return etrt_f32_of_word(word | sign);
}

/* To nearest even; from 65520 on it is infinity, and a NaN stays one that is quiet. */
ETRT_INLINE uint32_t etrt_f32_to_f16(float f) {
    uint32_t word = etrt_word_of_f32(f), sign = word >> 16 & 0x8000, m = word & 0x7fffffff;
    uint32_t normal = (m + 0xfff + (m >> 13 & 1) - 0x38000000) >> 13;
    uint32_t subnormal = etrt_word_of_f32(etrt_f32_of_word(m) + 0.5f) - 0x3f000000;
    uint32_t half = m < 0x38800000 ? subnormal : normal;
    half = m >= 0x47800000 ? 0x7c00 : half;
    half = m > 0x7f800000 ? 0x7e00 | (m >> 13 & 0x3ff) : half;
    return half | sign;
}

/* ---- bf16: the upper half of an f32 ---- */

ETRT_INLINE float etrt_bf16_to_f32(uint32_t brain) {
    return etrt_f32_of_word(brain << 16);
}

/* As to f16: to nearest even, NaN stays NaN. */
ETRT_INLINE uint32_t etrt_f32_to_bf16(float f) {
    uint32_t word = etrt_word_of_f32(f);
    return f != f ? word >> 16 | 0x40 : (word + 0x7fff + (word >> 16 & 1)) >> 16;
}

/* ---- i32 ---- */

/* Truncates; saturates outside i32, NaN becomes 0. */
ETRT_INLINE int32_t etrt_to_i32(double v) {
    if (v != v) return 0;
    return v >= 2147483647.0 ? INT32_MAX : v <= -2147483648.0 ? INT32_MIN : (int32_t)v;
}

/* ---- floats of 8 and 4 bits ----
 *
 * Where the bits of a small float stand in an f32, sign at the sign and exponent at the low end of
 * the exponent, the f32 is the value but for a power of two, subnormal values included. */

/* e4m3: exponent with bias 7, no infinity, NaN where all bits but the sign are set. */
ETRT_INLINE float etrt_e4m3_to_f32(uint32_t code) {
    float f = etrt_f32_of_word((code & 0x80) << 24 | (code & 0x7f) << 20) * 0x1p120f;
    return (code & 0x7f) == 0x7f ? etrt_f32_of_word(0x7fc00000) : f;
}

/* e5m2: the upper half of an f16. */
ETRT_INLINE float etrt_e5m2_to_f32(uint32_t code) {
    return etrt_f16_to_f32(code << 8 & 0xff00);
}

/* e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6, and the same below zero. */
ETRT_INLINE float etrt_e2m1_to_f32(uint32_t code) {
    return etrt_f32_of_word((code & 8) << 28 | (code & 7) << 22) * 0x1p126f;
}

/* ue8m0: 2 to the power of the code less 127; 255 is NaN. */
ETRT_INLINE float etrt_ue8m0_to_f32(uint32_t code) {
    uint32_t word = (code & 255) == 255 ? 0x7fc00000 : (code & 255) << 23;
    return etrt_f32_of_word((code & 255) == 0 ? 0x00400000 : word);
}

/* F to the nearest, of two as near the even one, of the small float with FRACTION bits of fraction
 * and 2^LEAST for its least normal number. Beyond TOP, the code of the largest, it is TOP; NaN is
 * the code NAN_CODE. Without the sign. */
ETRT_INLINE uint32_t etrt_f32_to_small(float f, int fraction, int least, uint32_t top,
                                       uint32_t nan_code) {
    int drop = 23 - fraction;
    uint32_t m = etrt_word_of_f32(f) & 0x7fffffff, exponent = (uint32_t)(127 + least);
    uint32_t normal = (m + (1u << (drop - 1)) - 1 + (m >> drop & 1)) >> drop;
    uint32_t ulp = (exponent + (uint32_t)drop) << 23; /* of this float: that of the least normal */
    uint32_t subnormal = etrt_word_of_f32(etrt_f32_of_word(m) + etrt_f32_of_word(ulp)) - ulp;
    uint32_t code = m < exponent << 23 ? subnormal : normal - ((exponent - 1) << fraction);
    code = code > top ? top : code;
    return m > 0x7f800000 ? nan_code : code;
}

ETRT_INLINE uint32_t etrt_f32_to_ue8m0(float f) {
    uint32_t word = etrt_word_of_f32(f);
    uint32_t code = word < 0x00600000 || (int32_t)word < 0 ? 0 : (word + 0x00400000) >> 23;
    code = code > 254 ? 254 : code;
    return f != f ? 255 : code;
}

/* ---- small integers ---- */

/* V without its fraction, the nearest from LO to HI; NaN is 0. */
ETRT_INLINE uint32_t etrt_to_within(double v, int32_t lo, int32_t hi) {
    int32_t i = etrt_to_i32(v);
    return (uint32_t)(i < lo ? lo : i > hi ? hi : i);
}

/* ---- one element of any type ---- */

ETRT_INLINE double etrt_f32_value(uint32_t word) {
    return (double)etrt_f32_of_word(word);
}
ETRT_INLINE uint32_t etrt_f32_bits(double v) {
    return etrt_word_of_f32((float)v);
}
ETRT_INLINE double etrt_f16_value(uint32_t half) {
    return (double)etrt_f16_to_f32(half);
}
ETRT_INLINE uint32_t etrt_f16_bits(double v) {
    return etrt_f32_to_f16((float)v);
}
ETRT_INLINE double etrt_bf16_value(uint32_t brain) {
    return (double)etrt_bf16_to_f32(brain);
}
ETRT_INLINE uint32_t etrt_bf16_bits(double v) {
    return etrt_f32_to_bf16((float)v);
}
ETRT_INLINE double etrt_i32_value(uint32_t word) {
    return (double)(int32_t)word;
}
ETRT_INLINE uint32_t etrt_i32_bits(double v) {
    return (uint32_t)etrt_to_i32(v);
}

ETRT_INLINE double etrt_e4m3_value(uint32_t code) {
    return (double)etrt_e4m3_to_f32(code);
}
ETRT_INLINE uint32_t etrt_e4m3_bits(double v) {
    uint32_t sign = etrt_word_of_f32((float)v) >> 24 & 0x80;
    return sign | etrt_f32_to_small((float)v, 3, -6, 0x7e, 0x7f);
}
ETRT_INLINE double etrt_e5m2_value(uint32_t code) {
    return (double)etrt_e5m2_to_f32(code);
}
ETRT_INLINE uint32_t etrt_e5m2_bits(double v) {
    uint32_t sign = etrt_word_of_f32((float)v) >> 24 & 0x80;
    return sign | etrt_f32_to_small((float)v, 2, -14, 0x7c, 0x7e);
}
ETRT_INLINE double etrt_ue8m0_value(uint32_t code) {
    return (double)etrt_ue8m0_to_f32(code);
}
ETRT_INLINE uint32_t etrt_ue8m0_bits(double v) {
    return etrt_f32_to_ue8m0((float)v);
}
ETRT_INLINE double etrt_e2m1_value(uint32_t code) {
    return (double)etrt_e2m1_to_f32(code);
}
ETRT_INLINE uint32_t etrt_e2m1_bits(double v) {
    uint32_t sign = etrt_word_of_f32((float)v) >> 28 & 8;
    return sign | etrt_f32_to_small((float)v, 1, 0, 7, 7);
}
ETRT_INLINE double etrt_i8_value(uint32_t code) {
    return (double)(int8_t)code;
}
ETRT_INLINE uint32_t etrt_i8_bits(double v) {
    return etrt_to_within(v, -128, 127) & 0xff;
}
ETRT_INLINE double etrt_u8_value(uint32_t code) {
    return (double)(code & 0xff);
}
ETRT_INLINE uint32_t etrt_u8_bits(double v) {
    return etrt_to_within(v, 0, 255);
}
ETRT_INLINE double etrt_i4_value(uint32_t code) {
    return (double)((int32_t)(code << 28) >> 28);
}
ETRT_INLINE uint32_t etrt_i4_bits(double v) {
    return etrt_to_within(v, -8, 7) & 0xf;
}
ETRT_INLINE double etrt_u4_value(uint32_t code) {
    return (double)(code & 0xf);
}
ETRT_INLINE uint32_t etrt_u4_bits(double v) {
    return etrt_to_within(v, 0, 15);
}

ETRT_INLINE double etrt_u2_value(uint32_t code) {
    return (double)(code & 3);
}
ETRT_INLINE uint32_t etrt_u2_bits(double v) {
    return etrt_to_within(v, 0, 3);
}
ETRT_INLINE double etrt_u1_value(uint32_t code) {
    return (double)(code & 1);
}
ETRT_INLINE uint32_t etrt_u1_bits(double v) {
    return etrt_to_within(v, 0, 1);
}

/* iq4: sixteen integers that lie closer together near zero, those of GGUF's IQ4_NL: -127 -104 -83
 * -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113, a byte each. */
#define ETRT_IQ4_LOW 0xf6eaddcfbfad9881ull
#define ETRT_IQ4_HIGH 0x7159453526190d01ull
ETRT_INLINE double etrt_iq4_value(uint32_t code) {
    uint64_t table = code & 8 ? ETRT_IQ4_HIGH : ETRT_IQ4_LOW;
    return (double)(int8_t)(table >> (code & 7) * 8);
}
/* Of two as near, the lower one. */
ETRT_INLINE uint32_t etrt_iq4_bits(double v) {
    uint32_t code = 0;
    for (uint32_t i = 1; i < 16; i++)
        code += v > (etrt_iq4_value(i - 1) + etrt_iq4_value(i)) / 2;
    return code;
}

/* How many elements of BITS, called OWN in safetensors files, one element called IN_FILE holds; 0
 * where such a file has none. */
static inline int etrt_dtype_held(int bits, const char *own, const char *in_file) {
    if (strcmp(in_file, own) == 0) return 1;
    if (bits > 8) return 0;
    return strcmp(in_file, "U8") == 0 ? 8 / bits : strcmp(in_file, "I32") == 0 ? 32 / bits : 0;
}

/* Is a tensor in a file, of shape HAVE, one of shape WANT, where its elements hold HELD each? Where
 * that is more than one, the last dimension is made of them and of all dimensions of the file's
 * that are left, or the last dimensions of them alone: [2, 3] of four each is [2, 3, 4], [2, 12]
 * and [2, 3, 2, 2]. */
static inline int etrt_dtype_fits(int held, int rank, const int64_t *want, int have_rank,
                                  const int64_t *have) {
    int same = held == 1 ? rank : rank - 1;
    int64_t n = held, each = 1;
    int whole = held > 1 && have_rank < rank;
    for (int d = 0; d < have_rank && whole; d++)
        whole = have[d] == want[d];
    for (int d = have_rank; d < rank && whole; d++)
        if (__builtin_mul_overflow(each, want[d], &each)) return 0;
    if (whole && each == held) return 1;
    if (same < 0 || have_rank < same || (held == 1 && have_rank != rank)) return 0;
    for (int d = 0; d < same; d++)
        if (have[d] != want[d]) return 0;
    for (int d = same; d < have_rank; d++)
        if (__builtin_mul_overflow(n, have[d], &n)) return 0;
    return held == 1 || n == want[same];
}

/* Numbers of the rows: those of the enum of etrt.h, and the compiler's. */
enum {
#define X(NAME, name, safetensors, bits, is_float) ETRT_ROW_##NAME,
    ETRT_DTYPES(X)
#undef X
        ETRT_ROWS
};

/* The BITS of element I of DATA, in the low bits of a word. */
ETRT_INLINE uint32_t etrt_element_word(const void *data, int64_t i, int bits) {
    uint32_t word = 0;
    if (bits < 8) return ((const uint8_t *)data)[i * bits / 8] >> i * bits % 8 & ((1u << bits) - 1);
    memcpy(&word, (const char *)data + i * (bits / 8), (size_t)bits / 8);
    return word;
}

ETRT_INLINE void etrt_element_word_set(void *data, int64_t i, int bits, uint32_t word) {
    if (bits < 8) {
        uint8_t *byte = (uint8_t *)data + i * bits / 8;
        uint32_t at = (uint32_t)(i * bits % 8), mask = ((1u << bits) - 1) << at;
        *byte = (uint8_t)((*byte & ~mask) | (word << at & mask));
    } else {
        memcpy((char *)data + i * (bits / 8), &word, (size_t)bits / 8);
    }
}

/* Element I of DATA, which is of the type of ROW; elements lie densely, in little-endian order. */
static inline double etrt_element(int row, const void *data, int64_t i) {
    switch (row) {
#define X(NAME, name, safetensors, bits, is_float)                                                 \
    case ETRT_ROW_##NAME:                                                                          \
        return etrt_##name##_value(etrt_element_word(data, i, bits));
        ETRT_DTYPES(X)
#undef X
    }
    return 0;
}

static inline void etrt_element_set(int row, void *data, int64_t i, double v) {
    switch (row) {
#define X(NAME, name, safetensors, bits, is_float)                                                 \
    case ETRT_ROW_##NAME:                                                                          \
        etrt_element_word_set(data, i, bits, etrt_##name##_bits(v));                               \
        return;
        ETRT_DTYPES(X)
#undef X
    }
}

/* "f32, f16, ", for messages: every name with a comma behind it. */
#define ETRT_DTYPE_NAMES ETRT_DTYPES(ETRT_DTYPE_NAME)
#define ETRT_DTYPE_NAME(NAME, name, safetensors, bits, is_float) #name ", "

#endif
