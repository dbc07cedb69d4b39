/* blocks.c - the formats that tensors of a GGUF file have, a row and a function each.
 *
 * A block holds some elements and the numbers that turn their codes into values. All arithmetic is
 * in f32 and in the order in which the format's authors wrote it, so that values are the same bit
 * for bit. Halves and words are little-endian. */
#include "frontend/gguf/gguf.h"
#include "runtime/etrt_dtype.h"
#include <string.h>

static uint32_t half_word(const unsigned char *p) {
    return p[0] | (uint32_t)p[1] << 8;
}

static float half(const unsigned char *p) {
    return etrt_f16_to_f32(half_word(p));
}

static uint32_t word(const unsigned char *p) {
    return half_word(p) | half_word(p + 2) << 16;
}

static void unpack_f32(const unsigned char *b, size_t count, float *to) {
    memcpy(to, b, count * sizeof *to);
}

static void unpack_f16(const unsigned char *b, size_t count, float *to) {
    for (size_t i = 0; i < count; i++)
        to[i] = half(b + 2 * i);
}

static void unpack_bf16(const unsigned char *b, size_t count, float *to) {
    for (size_t i = 0; i < count; i++)
        to[i] = etrt_bf16_to_f32(half_word(b + 2 * i));
}

/* ---- 32 elements: the first half of them in the low nibbles, the second in the high ones ---- */

/* d (f16), 32 codes of 8 bits with a sign */
static void unpack_q8_0(const unsigned char *b, size_t count, float *to) {
    for (; count--; b += 34, to += 32) {
        float d = half(b);
        for (int i = 0; i < 32; i++)
            to[i] = d * (float)(signed char)b[2 + i];
    }
}

/* d (f16), 16 bytes of codes, less 8 */
static void unpack_q4_0(const unsigned char *b, size_t count, float *to) {
    for (; count--; b += 18, to += 32) {
        float d = half(b);
        for (int i = 0; i < 16; i++) {
            to[i] = (float)((b[2 + i] & 15) - 8) * d;
            to[i + 16] = (float)((b[2 + i] >> 4) - 8) * d;
        }
    }
}

/* d, m (f16), 16 bytes of codes */
static void unpack_q4_1(const unsigned char *b, size_t count, float *to) {
    for (; count--; b += 20, to += 32) {
        float d = half(b), m = half(b + 2);
        for (int i = 0; i < 16; i++) {
            to[i] = (float)(b[4 + i] & 15) * d + m;
            to[i + 16] = (float)(b[4 + i] >> 4) * d + m;
        }
    }
}

/* Code I of 32: its low four bits at LOW, its fifth in HIGH. */
static int five_bits(const unsigned char *low, uint32_t high, int i) {
    int nibble = i < 16 ? low[i] & 15 : low[i - 16] >> 4;
    return nibble | (int)(high >> i & 1) << 4;
}

/* d (f16), 32 fifth bits, 16 bytes of codes, less 16 */
static void unpack_q5_0(const unsigned char *b, size_t count, float *to) {
    for (; count--; b += 22, to += 32)
        for (int i = 0; i < 32; i++)
            to[i] = (float)(five_bits(b + 6, word(b + 2), i) - 16) * half(b);
}

/* d, m (f16), 32 fifth bits, 16 bytes of codes */
static void unpack_q5_1(const unsigned char *b, size_t count, float *to) {
    for (; count--; b += 24, to += 32)
        for (int i = 0; i < 32; i++)
            to[i] = (float)five_bits(b + 8, word(b + 4), i) * half(b) + half(b + 2);
}

/* What a code of IQ4 stands for: integers that lie closer together near zero. */
static const signed char uneven[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113};

/* d (f16), 16 bytes of codes */
static void unpack_iq4_nl(const unsigned char *b, size_t count, float *to) {
    for (; count--; b += 18, to += 32) {
        float d = half(b);
        for (int i = 0; i < 16; i++) {
            to[i] = d * (float)uneven[b[2 + i] & 15];
            to[i + 16] = d * (float)uneven[b[2 + i] >> 4];
        }
    }
}

/* An exponent of 8 bits, bias 127, and 16 bytes of e2m1. 255 is NaN in the OCP's format; here it is
 * the exponent that it says, as ggml has it. Twice the values stand in the table, so that they are
 * integers, with half the scale. */
static void unpack_mxfp4(const unsigned char *b, size_t count, float *to) {
    static const signed char twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    for (; count--; b += 17, to += 32) {
        uint32_t e = b[0];
        float d = etrt_f32_of_word(e < 2 ? UINT32_C(0x200000) << e : (e - 1) << 23);
        for (int i = 0; i < 16; i++) {
            to[i] = (float)twice[b[1 + i] & 15] * d;
            to[i + 16] = (float)twice[b[1 + i] >> 4] * d;
        }
    }
}

/* 64 elements in four groups: a scale for each, e4m3 without a sign whose 127 counts as 0, and
 * eight bytes of e2m1, the first half of a group in the low nibbles. */
static void unpack_nvfp4(const unsigned char *b, size_t count, float *to) {
    for (; count--; b += 36)
        for (int g = 0; g < 4; g++, to += 16) {
            uint32_t scale = b[g] & 0x7f;
            float d = scale == 0x7f ? 0 : etrt_e4m3_to_f32(scale);
            for (int i = 0; i < 8; i++) {
                to[i] = etrt_e2m1_to_f32(b[4 + 8 * g + i] & 15) * d;
                to[i + 8] = etrt_e2m1_to_f32(b[4 + 8 * g + i] >> 4) * d;
            }
        }
}

/* ---- 256 elements: groups with scales of their own, which share one scale of those ---- */

/* Scale and minimum of group I of 8: six bits each, packed into 12 bytes. The first four pairs lie
 * in the low six bits of bytes 0 to 7, the others in nibbles and the top bits that are left. */
static void scale_and_min(const unsigned char *s, int i, int *scale, int *min) {
    if (i < 4) {
        *scale = s[i] & 63;
        *min = s[i + 4] & 63;
    } else {
        *scale = (s[i + 4] & 15) | s[i - 4] >> 6 << 4;
        *min = s[i + 4] >> 4 | s[i] >> 6 << 4;
    }
}

/* Eight groups of 32: d, dmin (f16), 12 bytes of scales, FIFTH bits or none, and 128 bytes of
 * nibbles, 32 bytes for each two groups. */
static void unpack_groups(const unsigned char *b, const unsigned char *fifth,
                          const unsigned char *codes, float *to) {
    float all = half(b), mins = half(b + 2);
    for (int g = 0; g < 8; g++) {
        int scale, min;
        scale_and_min(b + 4, g, &scale, &min);
        float d = all * (float)scale, m = mins * (float)min;
        for (int i = 0; i < 32; i++) {
            int code = codes[g / 2 * 32 + i] >> (g % 2 * 4) & 15;
            if (fifth) code |= (fifth[i] >> g & 1) << 4;
            to[g * 32 + i] = d * (float)code - m;
        }
    }
}

/* Where the codes of two bits of element I lie, in 64 bytes, and how far up. */
static int two_bits(const unsigned char *codes, int i) {
    return codes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
}

/* Sixteen groups of 16: 16 bytes with a scale in the low nibble and a minimum in the high one, 64
 * of codes, d, dmin (f16). */
static void unpack_q2_k(const unsigned char *b, size_t count, float *to) {
    for (; count--; b += 84, to += 256) {
        float all = half(b + 80), mins = half(b + 82);
        for (int i = 0; i < 256; i++) {
            float d = all * (float)(b[i / 16] & 15), m = mins * (float)(b[i / 16] >> 4);
            to[i] = d * (float)two_bits(b + 16, i) - m;
        }
    }
}

/* Sixteen groups of 16: 32 bytes with a third bit of each code, 0 where it is less 4, 64 with two,
 * 12 of scales of six bits less 32, d (f16). Of a scale four bits lie in a nibble of the first
 * eight bytes, two in the last four. */
static void unpack_q3_k(const unsigned char *b, size_t count, float *to) {
    for (; count--; b += 110, to += 256) {
        const unsigned char *s = b + 96;
        float all = half(b + 108);
        for (int i = 0; i < 256; i++) {
            int g = i / 16, low = s[g % 8] >> (g / 8 * 4) & 15,
                high = s[8 + g % 4] >> (g / 4 * 2) & 3;
            float d = all * (float)((low | high << 4) - 32);
            int third = b[i % 32] >> (i / 32) & 1;
            to[i] = d * (float)(two_bits(b + 32, i) - (third ? 0 : 4));
        }
    }
}

/* Eight groups of 32: d (f16), a word with two upper bits of each scale, four bytes with the four
 * lower ones, 128 bytes of codes. */
static void unpack_iq4_xs(const unsigned char *b, size_t count, float *to) {
    for (; count--; b += 136, to += 256)
        for (int g = 0; g < 8; g++) {
            uint32_t high = half_word(b + 2) >> (2 * g) & 3, low = b[4 + g / 2] >> (g % 2 * 4) & 15;
            float d = half(b) * (float)((int)(low | high << 4) - 32);
            for (int i = 0; i < 16; i++) {
                to[g * 32 + i] = d * (float)uneven[b[8 + g * 16 + i] & 15];
                to[g * 32 + i + 16] = d * (float)uneven[b[8 + g * 16 + i] >> 4];
            }
        }
}

static void unpack_q4_k(const unsigned char *b, size_t count, float *to) {
    for (; count--; b += 144, to += 256)
        unpack_groups(b, NULL, b + 16, to);
}

static void unpack_q5_k(const unsigned char *b, size_t count, float *to) {
    for (; count--; b += 176, to += 256)
        unpack_groups(b, b + 16, b + 48, to);
}

/* Sixteen groups of 16: 128 bytes of low nibbles, 64 of upper pairs of bits, 16 scales of 8 bits
 * with a sign, d (f16). Each half of the block has 64 bytes of the first and 32 of the second. */
static void unpack_q6_k(const unsigned char *b, size_t count, float *to) {
    for (; count--; b += 210, to += 256) {
        float d = half(b + 208);
        for (int i = 0; i < 256; i++) {
            int part = i / 128, quarter = i % 128 / 32, l = i % 32;
            int low = b[part * 64 + quarter % 2 * 32 + l] >> (quarter / 2 * 4) & 15;
            int high = b[128 + part * 32 + l] >> (quarter * 2) & 3;
            int scale = (signed char)b[192 + i / 16];
            to[i] = d * (float)scale * (float)((low | high << 4) - 32);
        }
    }
}

static const struct gguf_format formats[] = {
    {0, "F32", 1, 4, unpack_f32},          {1, "F16", 1, 2, unpack_f16},
    {2, "Q4_0", 32, 18, unpack_q4_0},      {3, "Q4_1", 32, 20, unpack_q4_1},
    {6, "Q5_0", 32, 22, unpack_q5_0},      {7, "Q5_1", 32, 24, unpack_q5_1},
    {8, "Q8_0", 32, 34, unpack_q8_0},      {10, "Q2_K", 256, 84, unpack_q2_k},
    {11, "Q3_K", 256, 110, unpack_q3_k},   {12, "Q4_K", 256, 144, unpack_q4_k},
    {13, "Q5_K", 256, 176, unpack_q5_k},   {14, "Q6_K", 256, 210, unpack_q6_k},
    {20, "IQ4_NL", 32, 18, unpack_iq4_nl}, {23, "IQ4_XS", 256, 136, unpack_iq4_xs},
    {30, "BF16", 1, 2, unpack_bf16},       {39, "MXFP4", 32, 17, unpack_mxfp4},
    {40, "NVFP4", 64, 36, unpack_nvfp4},
};

const struct gguf_format *gguf_format_at(int i) {
    return i < (int)(sizeof formats / sizeof *formats) ? &formats[i] : NULL;
}

const struct gguf_format *gguf_format(uint32_t type) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].type == type) return &formats[i];
    return NULL;
}

/* Those that there are no rows for, so that messages can name them. */
static const char *const others[] = {
    [9] = "Q8_1",     [15] = "Q8_K",  [16] = "IQ2_XXS", [17] = "IQ2_XS",
    [18] = "IQ3_XXS", [19] = "IQ1_S", [21] = "IQ3_S",   [22] = "IQ2_S",
    [24] = "I8",      [25] = "I16",   [26] = "I32",     [27] = "I64",
    [28] = "F64",     [29] = "IQ1_M", [34] = "TQ1_0",   [35] = "TQ2_0",
};

const char *gguf_format_name(uint32_t type) {
    static char text[40];
    const struct gguf_format *f = gguf_format(type);
    const char *name = f ? f->name : type < sizeof others / sizeof *others ? others[type] : NULL;
    snprintf(text, sizeof text, "type %u%s%s%s", type, name ? " (" : "", name ? name : "",
             name ? ")" : "");
    return text;
}
