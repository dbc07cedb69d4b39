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
 * BITS of a word: every value fits a double, and what is stored is the nearest there is. */
#define ETRT_DTYPES(X)                                                                             \
    X(F32, f32, "F32", 32, 1)                                                                      \
    X(F16, f16, "F16", 16, 1)                                                                      \
    X(BF16, bf16, "BF16", 16, 1)                                                                   \
    X(I32, i32, "I32", 32, 0)

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

/* Numbers of the rows: those of the enum of etrt.h, and the compiler's. */
enum {
#define X(NAME, name, safetensors, bits, is_float) ETRT_ROW_##NAME,
    ETRT_DTYPES(X)
#undef X
        ETRT_ROWS
};

/* Element I of DATA, which is of the type of ROW; elements lie densely, in little-endian order. */
static inline double etrt_element(int row, const void *data, int64_t i) {
    uint32_t word = 0;
    switch (row) {
#define X(NAME, name, safetensors, bits, is_float)                                                 \
    case ETRT_ROW_##NAME: {                                                                        \
        _Static_assert(bits % 8 == 0, "parts of a byte are to be shifted here");                   \
        memcpy(&word, (const char *)data + i * (bits / 8), bits / 8);                              \
        return etrt_##name##_value(word);                                                          \
    }
        ETRT_DTYPES(X)
#undef X
    }
    return 0;
}

static inline void etrt_element_set(int row, void *data, int64_t i, double v) {
    uint32_t word;
    switch (row) {
#define X(NAME, name, safetensors, bits, is_float)                                                 \
    case ETRT_ROW_##NAME:                                                                          \
        word = etrt_##name##_bits(v);                                                              \
        memcpy((char *)data + i * (bits / 8), &word, bits / 8);                                    \
        return;
        ETRT_DTYPES(X)
#undef X
    }
}

#endif
