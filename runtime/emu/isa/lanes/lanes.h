/* lanes.h - the arithmetic of vector instructions on plain arrays of 64 lanes.
 *
 * lanes.inc is compiled once per host instruction set; isa_lanes() picks the best one the host
 * has. Kernels know nothing of EXEC, operands or waves. 64-bit values are two arrays, low dwords
 * first. A result may be the same array as a source, never a shifted one. */
#ifndef ISA_LANES_H
#define ISA_LANES_H

#include "runtime/emu/isa/isa.h"

typedef void (*lane_fn)(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c);
typedef uint64_t (*lane_cmp_fn)(const uint32_t *a, const uint32_t *b);
typedef uint64_t (*lane_carry_fn)(uint32_t *d, const uint32_t *a, const uint32_t *b,
                                  const uint32_t *c);

enum lane_kind { LK_1, LK_2, LK_3, LK_MAC, LK_SAT, LK_CMP, LK_CARRY };

struct emu_lane_row {
    const char *name;
    uint8_t kind, td, ta, tb, tc;
    void (*fn)(void);
};

/* What the lanes of a matrix instruction hold, in runtime/emu/isa/ops/mfma.c. */
struct emu_mfma_row;
struct emu_smfmac_row;
struct emu_wmma_row; /* runtime/emu/isa/lanes/wmma.h */
struct emu_wmma_how;

/* Where 64 addresses lie. */
struct emu_span {
    uint64_t lo, hi; /* smallest and largest */
};

struct emu_lane_table {
    const struct emu_lane_row *rows;
    size_t n;
    /* d = mask bit ? s : d, for DWORDS arrays */
    void (*blend)(uint32_t *d, const uint32_t *s, uint64_t mask, int dwords);
    /* d = mask bit ? b : a */
    void (*select)(uint32_t *d, const uint32_t *a, const uint32_t *b, uint64_t mask);
    void (*expand)(uint32_t *d, uint64_t mask); /* 0 or 1 per lane */
    void (*broadcast)(uint32_t *d, uint32_t value);
    void (*bits)(uint32_t *d, const uint32_t *s, uint32_t and_mask, uint32_t xor_mask);
    /* result modifiers: omod 0..3 (1, 2, 4, 1/2), then clamp to [0, 1]; TYPE f16, f32 or f64 */
    void (*finish)(uint32_t *d, int type, int omod, bool clamp);
    /* the low or high half of each lane, as f16, to f32 */
    void (*half)(uint32_t *d, const uint32_t *s, bool high);
    /* denormals become zeros */
    void (*flush)(uint32_t *d, const uint32_t *s);
    /* a[i] = base + zext(offset[i]), and where they lie */
    struct emu_span (*address32)(uint64_t *a, const uint32_t *offset, uint64_t base);
    /* a[i] = (lo[i], hi[i]) + base */
    struct emu_span (*address64)(uint64_t *a, const uint32_t *lo, const uint32_t *hi,
                                 uint64_t base);
    /* true when offset[i] == offset[0] + i * STEP */
    bool (*contiguous)(const uint32_t *offset, uint32_t step);
    /* C_STRIDE is 64, or 0 when C is one array for every register */
    void (*mfma)(const struct emu_mfma_row *, uint32_t *d, const uint32_t *a, const uint32_t *b,
                 const uint32_t *c, int c_stride);
    /* The bits that count of INDEX's lanes begin at SHIFT. */
    void (*smfmac)(const struct emu_smfmac_row *, uint32_t *d, const uint32_t *a, const uint32_t *b,
                   const uint32_t *index, int shift);
    /* CONSTANT: C is one array of 64 for every register */
    void (*wmma)(const struct emu_wmma_row *, uint32_t *d, const uint32_t *a, const uint32_t *b,
                 const uint32_t *c, bool constant, const struct emu_wmma_how *);
};

const struct emu_lane_table *isa_lanes(void);
extern const struct emu_lane_table isa_lanes_avx512, isa_lanes_avx2, isa_lanes_base;

#endif
