/* wmma.h - what the lanes of a wave of 32 hold of 16 x 16 matrices. */
#ifndef ISA_WMMA_H
#define ISA_WMMA_H

#include <stdbool.h>
#include <stdint.h>

enum wmma_type { W_F32, W_F16, W_BF16, W_FP8, W_BF8, W_I32, W_IU8, W_IU4 };

/* D = A * B + C with depth K.
 *
 * SPREAD (gfx12): lane l holds of row l % 16 of A, and of column l % 16 of B, the K / 2 consecutive
 * elements from (l / 16) * K / 2 on; register v of lane l holds row v + 8 * (l / 16) of column
 * l % 16 of C and D, 16-bit elements two to a register.
 * Else (gfx11): every lane holds all K elements, lanes 16 to 31 the same as lanes 0 to 15; register
 * v of lane l holds row 2 * v + l / 16, 16-bit elements one to a register. */
struct emu_wmma_row {
    const char *name;
    uint8_t k, a, b, d; /* enum wmma_type */
    bool spread;
};

/* What the encoding adds. */
struct emu_wmma_how {
    bool a_signed, b_signed, saturate; /* integers */
    bool high;                         /* 16-bit results in the upper half, with !SPREAD */
};

static inline int wmma_bits(int type) {
    return type == W_F32 || type == W_I32    ? 32
           : type == W_F16 || type == W_BF16 ? 16
           : type == W_IU4                   ? 4
                                             : 8;
}
static inline int wmma_per_lane(const struct emu_wmma_row *r) {
    return r->spread ? r->k / 2 : r->k;
}
static inline int wmma_ab_dwords(const struct emu_wmma_row *r, int type) {
    return wmma_per_lane(r) * wmma_bits(type) / 32;
}
static inline int wmma_cd_dwords(const struct emu_wmma_row *r) {
    return r->spread && wmma_bits(r->d) == 16 ? 4 : 8;
}

#endif
