/* mfma.h - what the lanes of each matrix instruction hold. */
#ifndef ISA_MFMA_H
#define ISA_MFMA_H

#include <stdbool.h>
#include <stdint.h>

enum mfma_type { M_F32, M_F16, M_BF16, M_F64, M_I8, M_FP8, M_BF8, M_OFP8, M_OBF8, M_XF32 };

/* D[b] = A[b] * B[b] + C[b] for BLOCKS independent M x N blocks with depth K.
 *
 * A: lane l holds row i = l % M of block (l / M) % blocks, and of the depth the PER_LANE
 * consecutive elements that start at PER_LANE * (l / (M * blocks)); element e is the e-th of its
 * size in the lane's registers. B: the same with columns in place of rows. C and D, 4 rows at a
 * time: with G = 64 / N lane groups, register v of lane l holds column l % N and, counting r = v /
 * 4 and g = l / N, row 4 * (r * G + g) + v % 4 of the blocks stacked on top of each other. (f64 has
 * one row where the others have four.) */
struct emu_mfma_row {
    const char *name;
    uint8_t m, n, k, blocks;
    uint8_t a, b; /* enum mfma_type */
};

/* D += A * B where A holds two of every four elements of a row, and an index register says by two
 * bits each, from the lowest, which: of DIM x DIM, depth K. A: as above, of half the depth; B, D:
 * as above.
 */
struct emu_smfmac_row {
    const char *name;
    uint8_t dim, k, type; /* enum mfma_type, of 16 bits */
};

/* Registers per lane. */
static inline int mfma_size(int type) {
    return type == M_F64                     ? 8
           : type == M_F32 || type == M_XF32 ? 4
           : type == M_F16 || type == M_BF16 ? 2
                                             : 1;
}
static inline int mfma_per_lane(const struct emu_mfma_row *r) {
    return r->m * r->k * r->blocks / 64;
}
static inline int mfma_ab_dwords(const struct emu_mfma_row *r, int type) {
    return (mfma_per_lane(r) * mfma_size(type) + 3) / 4;
}
static inline int mfma_cd_dwords(const struct emu_mfma_row *r) {
    return r->m * r->n * r->blocks / 64 * (r->a == M_F64 ? 2 : 1);
}

#endif
