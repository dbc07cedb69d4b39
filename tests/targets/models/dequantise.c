/* dequantise - what the codes of a quantised weight mean, in as few lines as the formats allow, and
 * without anything of etcc's but the reader of files.
 *
 *     dequantise CHECKPOINT FORMAT TENSOR OUT.safetensors
 *
 * OUT gets `y`, f32, each number rounded to bf16. FORMAT is a row of `formats`: the name of a
 * golden checkpoint, or a layout that floats4.sh makes; TENSOR what stands before ".weight" in the
 * name of the weight. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct etrt_st *st;
static char base[256];

static const struct etrt_st_tensor *tensor(const char *suffix) {
    char name[512];
    snprintf(name, sizeof name, "%s%s", base, suffix);
    const struct etrt_st_tensor *t = etrt_st_find(st, name);
    if (!t) {
        fprintf(stderr, "dequantise: no tensor %s\n", name);
        exit(2);
    }
    return t;
}

/* Element I of a tensor of floats. */
static double real(const struct etrt_st_tensor *t, int64_t i) {
    float f;
    uint32_t word = 0;
    _Float16 h;
    if (!strcmp(t->dtype, "F16")) {
        memcpy(&h, (const char *)t->data + 2 * i, 2);
        return (double)h;
    }
    if (!strcmp(t->dtype, "F32"))
        memcpy(&word, (const char *)t->data + 4 * i, 4);
    else
        memcpy((char *)&word + 2, (const char *)t->data + 2 * i, 2);
    memcpy(&f, &word, 4);
    return (double)f;
}

/* Four bits of word I, the first the lowest. */
static int four(const struct etrt_st_tensor *t, int64_t i, int64_t at) {
    uint32_t word;
    memcpy(&word, (const char *)t->data + 4 * i, 4);
    return (int)(word >> 4 * at & 15);
}

static double e4m3(const struct etrt_st_tensor *t, int64_t i) {
    int code = ((const uint8_t *)t->data)[i], e = code >> 3 & 15, f = code & 7;
    double v = e ? ldexp(8 + f, e - 10) : ldexp(f, -9);
    return code & 128 ? -v : v;
}

/* ---- the formats: element (n, k) of a matrix of ROWS rows and COLUMNS columns ---- */

static int64_t experts = 1, rows, columns;

static double fp8_block(int64_t n, int64_t k) {
    const struct etrt_st_tensor *scale = tensor(".weight_scale_inv");
    return e4m3(tensor(".weight"), n * columns + k) *
           real(scale, n / 128 * scale->shape[1] + k / 128);
}

static double fp8_channel(int64_t n, int64_t k) {
    return e4m3(tensor(".weight"), n * columns + k) * real(tensor(".weight_scale"), n);
}

static double int4_packed(int64_t n, int64_t k) {
    int code = four(tensor(".weight_packed"), (n * columns + k) / 8, k % 8);
    return (code - 8) * real(tensor(".weight_scale"), n * (columns / 128) + k / 128);
}

static double gptq(int64_t n, int64_t k) {
    int code = four(tensor(".qweight"), k / 8 * rows + n, k % 8);
    int32_t group = ((const int32_t *)tensor(".g_idx")->data)[k];
    int zero = four(tensor(".qzeros"), group * (rows / 8) + n / 8, n % 8) + 1;
    return (code - zero) * real(tensor(".scales"), group * rows + n);
}

static double awq(int64_t n, int64_t k) {
    static const int place[] = {0, 4, 1, 5, 2, 6, 3, 7}; /* of columns 0 to 7 in a word */
    int code = four(tensor(".qweight"), (k * rows + n) / 8, place[n % 8]);
    int zero = four(tensor(".qzeros"), (k / 128 * rows + n) / 8, place[n % 8]);
    return (code - zero) * real(tensor(".scales"), k / 128 * rows + n);
}

/* Element (n, k) of floats of four bits, two to a byte. */
static double e2m1(const struct etrt_st_tensor *t, int64_t n, int64_t k) {
    static const double value[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    int byte = ((const uint8_t *)t->data)[(n * columns + k) / 2];
    int code = k % 2 ? byte >> 4 : byte & 15;
    return code & 8 ? -value[code & 7] : value[code & 7];
}

static double exponents(const char *codes, const char *scales, int64_t n, int64_t k) {
    int exponent = ((const uint8_t *)tensor(scales)->data)[n * (columns / 32) + k / 32];
    return ldexp(e2m1(tensor(codes), n, k), exponent - 127);
}

static double mxfp4(int64_t n, int64_t k) { /* n counts the columns of all experts */
    return exponents("_blocks", "_scales", n, k);
}

static double mxfp4_packed(int64_t n, int64_t k) {
    return exponents(".weight_packed", ".weight_scale", n, k);
}

static double of_16(int64_t n, int64_t k) {
    return e4m3(tensor(".weight_scale"), n * (columns / 16) + k / 16);
}

/* Scales are computed as f32, and so are products with these. */
static double nvfp4_packed(int64_t n, int64_t k) {
    float scale = (float)of_16(n, k) / (float)real(tensor(".weight_global_scale"), 0);
    return (float)e2m1(tensor(".weight_packed"), n, k) * scale;
}

static double modelopt(int64_t n, int64_t k) {
    float scale = (float)of_16(n, k) * (float)real(tensor(".weight_scale_2"), 0);
    return (float)e2m1(tensor(".weight"), n, k) * scale;
}

static const struct {
    const char *name, *codes;
    double (*element)(int64_t n, int64_t k);
    int n_of, k_of,
        each; /* which dimensions of the codes are n and k, and codes per element of k's */
} formats[] = {
    {"fp8_block", ".weight", fp8_block, 0, 1, 1},
    {"fp8_channel", ".weight", fp8_channel, 0, 1, 1},
    {"int4_packed", ".weight_packed", int4_packed, 0, 1, 8},
    {"gptq", ".qweight", gptq, 1, 0, 8},
    {"awq", ".qweight", awq, 1, 0, 1},
    {"mxfp4", "_blocks", mxfp4, 1, 2, 32},
    {"mxfp4_packed", ".weight_packed", mxfp4_packed, 0, 1, 2},
    {"nvfp4_packed", ".weight_packed", nvfp4_packed, 0, 1, 2},
    {"modelopt", ".weight", modelopt, 0, 1, 2},
};

static float to_bf16(double v) {
    float f = (float)v;
    uint32_t word;
    memcpy(&word, &f, 4);
    word = (word + 0x7fff + (word >> 16 & 1)) & 0xffff0000;
    memcpy(&f, &word, 4);
    return f;
}

int main(int argc, char **argv) {
    char err[ETRT_ST_ERR];
    size_t i = 0;
    if (argc != 5 || !etrt_st_open(argv[1], &st, err, sizeof err)) return 2;
    while (i < sizeof formats / sizeof *formats && strcmp(formats[i].name, argv[2]) != 0)
        i++;
    if (i == sizeof formats / sizeof *formats) return 2;
    snprintf(base, sizeof base, "%s", argv[3]);
    const struct etrt_st_tensor *codes = tensor(formats[i].codes);
    bool stacked = codes->rank == 4; /* experts, and transposed */
    rows = codes->shape[formats[i].n_of] * (!strcmp(argv[2], "awq") ? 8 : 1);
    columns = codes->shape[formats[i].k_of] * formats[i].each;
    if (stacked) experts = codes->shape[0];
    float *out = malloc((size_t)(experts * rows * columns) * sizeof *out);
    if (!out) return 2;
    for (int64_t e = 0; e < experts; e++)
        for (int64_t n = 0; n < rows; n++)
            for (int64_t k = 0; k < columns; k++)
                out[stacked ? (e * columns + k) * rows + n : n * columns + k] =
                    to_bf16(formats[i].element(e * rows + n, k));
    struct etrt_st_tensor y = {.name = "y",
                               .dtype = "F32",
                               .rank = stacked ? 3 : 2,
                               .shape = {rows, columns},
                               .data = out,
                               .bytes = (size_t)(experts * rows * columns) * sizeof *out};
    if (stacked) y.shape[0] = experts, y.shape[1] = columns, y.shape[2] = rows;
    bool ok = etrt_st_write(argv[4], &y, 1, err, sizeof err);
    free(out);
    etrt_st_close(st);
    return ok ? 0 : 2;
}
