/* planes.c - blocks taken apart: what stays quantised becomes a tensor of codes and tensors of the
 * numbers that codes are multiplied by and increased by, which kernels read in whole words.
 *
 * A row for each format that stays, and a part of the same name in frontend/import/models/, which
 * says what the planes mean. Codes follow each other along a row, their four low bits in one plane,
 * those above in another. Six bits of a scale become eight, so that a block of 144 bytes takes 148;
 * all else takes what it took. */
#include "frontend/gguf/convert.h"
#include <string.h>

static uint32_t half_at(const unsigned char *p) {
    return p[0] | (uint32_t)p[1] << 8;
}

/* ---- 32 elements ---- */

/* A nibble of 32: the first half of them in the low ones of 16 bytes. */
static unsigned nibble(const unsigned char *p, unsigned i) {
    return i < 16 ? p[i] & 15u : p[i - 16] >> 4;
}

static unsigned bit(const unsigned char *p, unsigned i) {
    return p[i / 8] >> i % 8 & 1u;
}

static unsigned code_q8_0(const unsigned char *b, unsigned i) {
    return b[2 + i];
}
static unsigned code_behind_2(const unsigned char *b, unsigned i) {
    return nibble(b + 2, i);
}
static unsigned code_q4_1(const unsigned char *b, unsigned i) {
    return nibble(b + 4, i);
}
static unsigned code_q5_0(const unsigned char *b, unsigned i) {
    return nibble(b + 6, i) | bit(b + 2, i) << 4;
}
static unsigned code_q5_1(const unsigned char *b, unsigned i) {
    return nibble(b + 8, i) | bit(b + 4, i) << 4;
}
static unsigned code_mxfp4(const unsigned char *b, unsigned i) {
    return nibble(b + 1, i);
}

/* Halves one behind the other from the begin of the block on: the scale, the minimum. */
static uint32_t number_half(const unsigned char *b, int which, unsigned group) {
    (void)group;
    return half_at(b + (ptrdiff_t)2 * which);
}
static uint32_t number_exponent(const unsigned char *b, int which, unsigned group) {
    (void)which, (void)group;
    return b[0];
}

/* ---- 64 elements in four groups, whose scales have no sign; the one that stands for no number is
 * 0 ---- */

static unsigned code_nvfp4(const unsigned char *b, unsigned i) {
    unsigned char byte = b[4 + i / 16 * 8 + i % 8];
    return i % 16 < 8 ? byte & 15u : byte >> 4;
}
static uint32_t number_nvfp4(const unsigned char *b, int which, unsigned group) {
    (void)which;
    uint32_t scale = b[group] & 0x7f;
    return scale == 0x7f ? 0 : scale;
}

/* ---- 256 elements ---- */

/* 32 bytes hold nibbles of two groups of 32. */
static unsigned nibble_of_groups(const unsigned char *p, unsigned i) {
    unsigned char byte = p[i / 64 * 32 + i % 32];
    return i / 32 % 2 ? byte >> 4 : byte & 15u;
}
static unsigned code_q4_k(const unsigned char *b, unsigned i) {
    return nibble_of_groups(b + 16, i);
}
static unsigned code_q5_k(const unsigned char *b, unsigned i) {
    return nibble_of_groups(b + 48, i) | (b[16 + i % 32] >> i / 32 & 1u) << 4;
}
static unsigned code_iq4_xs(const unsigned char *b, unsigned i) {
    return nibble(b + 8 + (ptrdiff_t)(i / 32) * 16, i % 32);
}

/* 128 elements: four quarters of 32, whose low bits share 64 bytes and whose high ones 32. */
static unsigned code_q6_k(const unsigned char *b, unsigned i) {
    unsigned part = i / 128, quarter = i / 32 % 4, l = i % 32;
    unsigned char low = b[64 * part + 32 * (quarter % 2) + l];
    unsigned high = b[128 + 32 * part + l] >> 2 * quarter & 3u;
    return (quarter < 2 ? low & 15u : low >> 4) | high << 4;
}

/* Scales, or minima, of eight groups: six bits each in 12 bytes. */
static uint32_t six_bits(const unsigned char *s, bool minimum, unsigned group) {
    if (group < 4) return s[group + 4 * minimum] & 63u;
    uint32_t low = minimum ? s[group + 4] >> 4 : s[group + 4] & 15u;
    return low | (uint32_t)(s[group - 4 + 4 * minimum] >> 6) << 4;
}
static uint32_t number_k(const unsigned char *b, int which, unsigned group) {
    return which < 2 ? six_bits(b + 4, which == 1, group) : half_at(b + (ptrdiff_t)2 * (which - 2));
}
static uint32_t number_q6_k(const unsigned char *b, int which, unsigned group) {
    return which ? half_at(b + 208) : b[192 + group];
}
/* Six bits, less 32: the low four of two groups in a byte, the high two of eight in two bytes. */
static uint32_t number_iq4_xs(const unsigned char *b, int which, unsigned group) {
    if (which) return half_at(b);
    uint32_t low = b[4 + group / 2] >> group % 2 * 4 & 15u;
    uint32_t high = half_at(b + 2) >> 2 * group & 3u;
    return ((low | high << 4) - 32) & 0xff;
}

/* ---- the table ---- */

#define CODES(bits)                                                                                \
    { "codes", "U8", bits, 1, 0 }
#define HIGH(bits)                                                                                 \
    { "high", "U8", bits, 1, 4 }
#define SCALES(type, bits, group)                                                                  \
    { "scales", type, bits, group, 0 }
#define MINIMA(type, bits, group)                                                                  \
    { "minima", type, bits, group, 0 }
#define SCALE                                                                                      \
    { "scale", "F16", 16, 256, 0 }
#define MINIMUM                                                                                    \
    { "minimum", "F16", 16, 256, 0 }

static const struct gguf_planes rows[] = {
    {2, "q4_0", code_behind_2, number_half, {CODES(4), SCALES("F16", 16, 32)}},
    {3, "q4_1", code_q4_1, number_half, {CODES(4), SCALES("F16", 16, 32), MINIMA("F16", 16, 32)}},
    {6, "q5_0", code_q5_0, number_half, {CODES(4), HIGH(1), SCALES("F16", 16, 32)}},
    {7,
     "q5_1",
     code_q5_1,
     number_half,
     {CODES(4), HIGH(1), SCALES("F16", 16, 32), MINIMA("F16", 16, 32)}},
    {8, "q8_0", code_q8_0, number_half, {{"codes", "I8", 8, 1, 0}, SCALES("F16", 16, 32)}},
    {12,
     "q4_k",
     code_q4_k,
     number_k,
     {CODES(4), SCALES("U8", 8, 32), MINIMA("U8", 8, 32), SCALE, MINIMUM}},
    {13,
     "q5_k",
     code_q5_k,
     number_k,
     {CODES(4), HIGH(1), SCALES("U8", 8, 32), MINIMA("U8", 8, 32), SCALE, MINIMUM}},
    {14, "q6_k", code_q6_k, number_q6_k, {CODES(4), HIGH(2), SCALES("I8", 8, 16), SCALE}},
    {20, "iq4_nl", code_behind_2, number_half, {CODES(4), SCALES("F16", 16, 32)}},
    {23, "iq4_xs", code_iq4_xs, number_iq4_xs, {CODES(4), SCALES("I8", 8, 32), SCALE}},
    {39, "mxfp4", code_mxfp4, number_exponent, {CODES(4), SCALES("U8", 8, 32)}},
    {40, "nvfp4", code_nvfp4, number_nvfp4, {CODES(4), SCALES("F8_E4M3", 8, 16)}},
};

const struct gguf_planes *gguf_planes(uint32_t type) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type) return &rows[i];
    return NULL;
}

size_t gguf_plane_bytes(const struct gguf_plane *p, size_t elements) {
    return elements / p->group * p->bits / 8;
}

int64_t gguf_plane_columns(const struct gguf_plane *p, int64_t columns) {
    int64_t n = columns / p->group;
    return p->bits < 8 ? n * p->bits / 8 : n;
}

static void put(unsigned char *to, uint32_t i, uint32_t bits, uint32_t word) {
    if (bits < 8)
        to[i * bits / 8] |= (unsigned char)((word & ((1u << bits) - 1)) << i * bits % 8);
    else
        for (uint32_t k = 0; k < bits / 8; k++)
            to[i * bits / 8 + k] = (unsigned char)(word >> 8 * k);
}

/* Which of the numbers of a block, behind the planes of codes. */
static int number_of(const struct gguf_planes *f, int plane) {
    int n = 0;
    for (int k = 0; k < plane; k++)
        n += f->plane[k].group > 1;
    return n;
}

void gguf_plane_take(const struct gguf_planes *f, int plane, const unsigned char *blocks,
                     size_t count, unsigned char *to) {
    const struct gguf_format *of = gguf_format(f->type);
    const struct gguf_plane *p = &f->plane[plane];
    size_t each = gguf_plane_bytes(p, of->elements);
    int which = number_of(f, plane);
    memset(to, 0, count * each);
    for (size_t n = 0; n < count; n++, blocks += of->bytes, to += each)
        for (uint32_t i = 0; i < of->elements / p->group; i++)
            put(to, i, p->bits,
                p->group > 1 ? f->number(blocks, which, i) : f->code(blocks, i) >> p->shift);
}
