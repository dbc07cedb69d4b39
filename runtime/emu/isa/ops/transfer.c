/* transfer.c - moving data between registers and 64 checked host addresses. */
#include "runtime/emu/isa/ops/transfer.h"

#include <emmintrin.h>

typedef uint32_t __attribute__((may_alias, aligned(1))) u32u;
typedef uint16_t __attribute__((may_alias, aligned(1))) u16u;

#define AT(T, addr) (*(T *)(uintptr_t)(addr))
#define FOR_MASK(i, mask)                                                                          \
    for (uint64_t m_ = (mask); m_; m_ &= m_ - 1)                                                   \
        for (int i = __builtin_ctzll(m_), once_ = 1; once_; once_ = 0)

/* Lanes that are all on from the first to where a wave ends: 64 or 32, or 0 when some are off. */
static int whole(uint64_t mask) {
    return mask == UINT64_MAX ? 64 : mask == UINT32_MAX ? 32 : 0;
}

/* N lanes in order and next to each other, STEP bytes apart. */
static inline bool in_order(const uint64_t *a, uint32_t step, int n) {
    if (a[n - 1] - a[0] != (unsigned)(n - 1) * step) return false;
    uint64_t diff = 0;
    for (int i = 0; i < n; i++)
        diff |= a[i] ^ (a[0] + (uint64_t)i * step);
    return diff == 0;
}

/* Four lanes of four dwords, rows to columns. */
static inline void transpose(__m128i r[4]) {
    __m128i a = _mm_unpacklo_epi32(r[0], r[1]), b = _mm_unpackhi_epi32(r[0], r[1]);
    __m128i c = _mm_unpacklo_epi32(r[2], r[3]), d = _mm_unpackhi_epi32(r[2], r[3]);
    r[0] = _mm_unpacklo_epi64(a, c);
    r[1] = _mm_unpackhi_epi64(a, c);
    r[2] = _mm_unpacklo_epi64(b, d);
    r[3] = _mm_unpackhi_epi64(b, d);
}

/* Inlined with N constant. */
static inline __attribute__((always_inline)) void load_whole(uint32_t *d, const uint64_t *a,
                                                             int kind, int n) {
    if (kind == D_X1) {
        if (in_order(a, 4, n)) {
            memcpy(d, (const void *)(uintptr_t)a[0], (size_t)n * 4);
        } else {
            for (int i = 0; i < n; i++)
                d[i] = AT(const u32u, a[i]);
        }
        return;
    }
    for (int i = 0; i < n; i += 4) {
        __m128i r[4];
        if (kind == D_X2) {
            for (int k = 0; k < 4; k++)
                r[k] = _mm_loadl_epi64((const __m128i *)(uintptr_t)a[i + k]);
            transpose(r);
        } else {
            for (int k = 0; k < 4; k++)
                r[k] = _mm_loadu_si128((const __m128i *)(uintptr_t)a[i + k]);
            transpose(r);
            _mm_storeu_si128((__m128i *)(d + 2 * LANES + i), r[2]);
            _mm_storeu_si128((__m128i *)(d + 3 * LANES + i), r[3]);
        }
        _mm_storeu_si128((__m128i *)(d + i), r[0]);
        _mm_storeu_si128((__m128i *)(d + LANES + i), r[1]);
    }
}

void isa_load(uint32_t *d, const uint64_t *a, int kind, uint64_t mask) {
    int n_whole = whole(mask);
    if (n_whole && (kind == D_X1 || kind == D_X2 || kind == D_X4)) {
        if (n_whole == LANES)
            load_whole(d, a, kind, LANES);
        else
            load_whole(d, a, kind, LANES / 2);
        return;
    }
#define EACH(value) FOR_MASK(i, mask) d[i] = (value)
    switch (kind) {
    case D_U8:
        EACH(AT(const uint8_t, a[i]));
        break;
    case D_I8:
        EACH((uint32_t)AT(const int8_t, a[i]));
        break;
    case D_U16:
        EACH(AT(const u16u, a[i]));
        break;
    case D_I16:
        EACH((uint32_t)(int16_t)AT(const u16u, a[i]));
        break;
    case D_U8_LO:
        EACH((d[i] & 0xffff0000) | AT(const uint8_t, a[i]));
        break;
    case D_U8_HI:
        EACH((d[i] & 0xffff) | (uint32_t)AT(const uint8_t, a[i]) << 16);
        break;
    case D_I8_LO:
        EACH((d[i] & 0xffff0000) | (uint16_t)AT(const int8_t, a[i]));
        break;
    case D_I8_HI:
        EACH((d[i] & 0xffff) | (uint32_t)AT(const int8_t, a[i]) << 16);
        break;
    case D_16_LO:
        EACH((d[i] & 0xffff0000) | AT(const u16u, a[i]));
        break;
    case D_16_HI:
        EACH((d[i] & 0xffff) | (uint32_t)AT(const u16u, a[i]) << 16);
        break;
    default:
        FOR_MASK(i, mask) {
            for (int n = 0; n < isa_data_dwords(kind); n++)
                d[n * LANES + i] = AT(const u32u, a[i] + 4u * (unsigned)n);
        }
    }
#undef EACH
}

static inline __attribute__((always_inline)) void store_x4(const uint32_t *s, const uint64_t *a,
                                                           int n) {
    for (int i = 0; i < n; i += 4) {
        __m128i r[4];
        for (int k = 0; k < 4; k++)
            r[k] = _mm_loadu_si128((const __m128i *)(s + k * LANES + i));
        transpose(r);
        for (int k = 0; k < 4; k++)
            _mm_storeu_si128((__m128i *)(uintptr_t)a[i + k], r[k]);
    }
}

void isa_store(const uint32_t *s, const uint64_t *a, int kind, uint64_t mask) {
    int n_whole = whole(mask);
    if (n_whole && kind == D_X4) {
        if (n_whole == LANES)
            store_x4(s, a, LANES);
        else
            store_x4(s, a, LANES / 2);
        return;
    }
    if (n_whole && kind == D_X1 && in_order(a, 4, n_whole)) {
        memcpy((void *)(uintptr_t)a[0], s, (size_t)n_whole * 4);
        return;
    }
    switch (kind) {
    case D_U8:
        FOR_MASK(i, mask) AT(uint8_t, a[i]) = (uint8_t)s[i];
        break;
    case D_U8_HI:
        FOR_MASK(i, mask) AT(uint8_t, a[i]) = (uint8_t)(s[i] >> 16);
        break;
    case D_U16:
        FOR_MASK(i, mask) AT(u16u, a[i]) = (uint16_t)s[i];
        break;
    case D_16_HI:
        FOR_MASK(i, mask) AT(u16u, a[i]) = (uint16_t)(s[i] >> 16);
        break;
    case D_X1:
        FOR_MASK(i, mask) AT(u32u, a[i]) = s[i];
        break;
    default:
        FOR_MASK(i, mask) {
            for (int n = 0; n < isa_data_dwords(kind); n++)
                AT(u32u, a[i] + 4u * (unsigned)n) = s[n * LANES + i];
        }
    }
}
