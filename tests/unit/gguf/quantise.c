/* Blocks of GGUF's formats, as simply as they can be made: scales by the largest element, codes to
 * the nearest. What is written is a format by its definition, and shares nothing with the reader.
 */
#include "tests/unit/gguf/quantise.h"
#include "runtime/etrt_dtype.h"
#include <math.h>
#include <string.h>

static void put_half(unsigned char *to, float x) {
    uint32_t word = etrt_f32_to_f16(x);
    to[0] = (unsigned char)word;
    to[1] = (unsigned char)(word >> 8);
}

static float half(float x) {
    return etrt_f16_to_f32(etrt_f32_to_f16(x));
}

static float largest(const float *v, int n) {
    float most = 0;
    for (int i = 0; i < n; i++)
        most = fabsf(v[i]) > most ? fabsf(v[i]) : most;
    return most;
}

static void range(const float *v, int n, float *lo, float *hi) {
    *lo = *hi = v[0];
    for (int i = 0; i < n; i++) {
        *lo = v[i] < *lo ? v[i] : *lo;
        *hi = v[i] > *hi ? v[i] : *hi;
    }
}

/* (X - MIN) / D to the nearest integer from LO to HI. */
static int code(float x, float min, float d, int lo, int hi) {
    int q = d ? (int)lroundf((x - min) / d) : 0;
    return q < lo ? lo : q > hi ? hi : q;
}

/* Code Q of element I of 32 where nibbles lie at LOW, and its fifth bit where bits lie at HIGH. */
static void put_code(unsigned char *low, unsigned char *high, int i, int q) {
    low[i % 16] |= (unsigned char)((q & 15) << i / 16 * 4);
    if (high) high[i / 8] |= (unsigned char)((q >> 4 & 1) << i % 8);
}

static void q8_0(const float *v, unsigned char *b) {
    float d = half(largest(v, 32) / 127);
    put_half(b, d);
    for (int i = 0; i < 32; i++)
        b[2 + i] = (unsigned char)code(v[i], 0, d, -127, 127);
}

static void centred(const float *v, unsigned char *b, int middle, int skip) {
    float d = half(largest(v, 32) / (float)(middle - 1));
    put_half(b, d);
    for (int i = 0; i < 32; i++)
        put_code(b + 2 + skip, skip ? b + 2 : NULL, i,
                 code(v[i], 0, d, -middle, middle - 1) + middle);
}
static void q4_0(const float *v, unsigned char *b) {
    centred(v, b, 8, 0);
}
static void q5_0(const float *v, unsigned char *b) {
    centred(v, b, 16, 4);
}

static void ranged(const float *v, unsigned char *b, int most, int skip) {
    float lo, hi;
    range(v, 32, &lo, &hi);
    float d = half((hi - lo) / (float)most), m = half(lo);
    put_half(b, d);
    put_half(b + 2, m);
    for (int i = 0; i < 32; i++)
        put_code(b + 4 + skip, skip ? b + 4 : NULL, i, code(v[i], m, d, 0, most));
}
static void q4_1(const float *v, unsigned char *b) {
    ranged(v, b, 15, 0);
}
static void q5_1(const float *v, unsigned char *b) {
    ranged(v, b, 31, 4);
}

/* Eight groups with six bits of scale and of minimum each, in twelve bytes. */
static void put_six(unsigned char *s, int group, int scale, int min) {
    if (group < 4) {
        s[group] |= (unsigned char)scale;
        s[group + 4] |= (unsigned char)min;
        return;
    }
    s[group + 4] = (unsigned char)((scale & 15) | (min & 15) << 4);
    s[group - 4] |= (unsigned char)(scale >> 4 << 6);
    s[group] |= (unsigned char)(min >> 4 << 6);
}

static void grouped(const float *v, unsigned char *b, int most, unsigned char *fifth,
                    unsigned char *codes) {
    float lo[8], hi[8], wide = 0, deep = 0;
    for (int g = 0; g < 8; g++) {
        range(v + 32 * g, 32, &lo[g], &hi[g]);
        lo[g] = lo[g] > 0 ? 0 : lo[g];
        wide = hi[g] - lo[g] > wide ? hi[g] - lo[g] : wide;
        deep = -lo[g] > deep ? -lo[g] : deep;
    }
    float d = half(wide / (float)most / 63), m = half(deep / 63);
    put_half(b, d);
    put_half(b + 2, m);
    for (int g = 0; g < 8; g++) {
        int scale = code((hi[g] - lo[g]) / (float)most, 0, d, 0, 63);
        int min = code(-lo[g], 0, m, 0, 63);
        put_six(b + 4, g, scale, min);
        for (int i = 0; i < 32; i++) {
            int q = code(v[32 * g + i], -m * (float)min, d * (float)scale, 0, most);
            codes[g / 2 * 32 + i] |= (unsigned char)((q & 15) << g % 2 * 4);
            if (fifth) fifth[i] |= (unsigned char)(q >> 4 << g);
        }
    }
}
static void q4_k(const float *v, unsigned char *b) {
    grouped(v, b, 15, NULL, b + 16);
}
static void q5_k(const float *v, unsigned char *b) {
    grouped(v, b, 31, b + 16, b + 48);
}

static void q6_k(const float *v, unsigned char *b) {
    float d = half(largest(v, 256) / 31 / 127);
    put_half(b + 208, d);
    for (int g = 0; g < 16; g++)
        b[192 + g] = (unsigned char)code(largest(v + 16 * g, 16) / 31, 0, d, -128, 127);
    for (int i = 0; i < 256; i++) {
        int part = i / 128, quarter = i / 32 % 4, l = i % 32;
        float scale = d * (float)(signed char)b[192 + i / 16];
        int q = code(v[i], 0, scale, -32, 31) + 32;
        b[64 * part + 32 * (quarter % 2) + l] |= (unsigned char)((q & 15) << quarter / 2 * 4);
        b[128 + 32 * part + l] |= (unsigned char)(q >> 4 << 2 * quarter);
    }
}

/* The number of OF, ascending or not, that X / D is nearest to. */
static int nearest(float x, float d, const float of[16]) {
    int best = 0;
    for (int k = 1; k < 16; k++)
        if (fabsf(x - d * of[k]) < fabsf(x - d * of[best])) best = k;
    return best;
}

static const float uneven[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113};

static void iq4_nl(const float *v, unsigned char *b) {
    float d = half(largest(v, 32) / 113);
    put_half(b, d);
    for (int i = 0; i < 32; i++)
        put_code(b + 2, NULL, i, nearest(v[i], d, uneven));
}

static void iq4_xs(const float *v, unsigned char *b) {
    float d = half(largest(v, 256) / 113 / 31);
    put_half(b, d);
    for (int g = 0; g < 8; g++) {
        int scale = code(largest(v + 32 * g, 32) / 113, 0, d, -32, 31), kept = scale + 32;
        b[4 + g / 2] |= (unsigned char)((kept & 15) << g % 2 * 4);
        b[2 + g / 4] |= (unsigned char)(kept >> 4 << g % 4 * 2);
        for (int i = 0; i < 32; i++)
            put_code(b + 8 + 16 * g, NULL, i, nearest(v[32 * g + i], d * (float)scale, uneven));
    }
}

static const float small[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0, -0.5f, -1, -1.5f, -2, -3, -4, -6};

static void mxfp4(const float *v, unsigned char *b) {
    int e = 0;
    frexpf(largest(v, 32) / 6, &e);
    b[0] = (unsigned char)(e + 127);
    for (int i = 0; i < 32; i++)
        put_code(b + 1, NULL, i, nearest(v[i], ldexpf(1, e), small));
}

static void nvfp4(const float *v, unsigned char *b) {
    for (int g = 0; g < 4; g++) {
        b[g] = (unsigned char)etrt_e4m3_bits((double)largest(v + 16 * g, 16) / 6);
        float d = etrt_e4m3_to_f32(b[g]);
        for (int i = 0; i < 16; i++)
            b[4 + 8 * g + i % 8] |= (unsigned char)(nearest(v[16 * g + i], d, small) << i / 8 * 4);
    }
}

static const struct quantiser rows[] = {
    {"q4_0", 2, 32, 18, q4_0},        {"q4_1", 3, 32, 20, q4_1},    {"q5_0", 6, 32, 22, q5_0},
    {"q5_1", 7, 32, 24, q5_1},        {"q8_0", 8, 32, 34, q8_0},    {"q4_k", 12, 256, 144, q4_k},
    {"q5_k", 13, 256, 176, q5_k},     {"q6_k", 14, 256, 210, q6_k}, {"iq4_nl", 20, 32, 18, iq4_nl},
    {"iq4_xs", 23, 256, 136, iq4_xs}, {"mxfp4", 39, 32, 17, mxfp4}, {"nvfp4", 40, 64, 36, nvfp4},
};

const struct quantiser *quantiser_called(const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    return NULL;
}

void quantise(const struct quantiser *q, const float *from, size_t n, struct buffer *to) {
    for (size_t i = 0; i < n; i += (size_t)q->elements) {
        unsigned char block[256] = {0};
        q->block(from + i, block);
        put(to, block, (size_t)q->bytes);
    }
}
