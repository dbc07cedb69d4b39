/* quantise - rows rounded to e4m3, and products of such rows with codes of weights, in as few lines
 * as that takes, and without anything of etcc's but the reader of files.
 *
 *     quantise inputs X.safetensors                  numbers that are hard to round, as `x`
 *     quantise codes X.safetensors OUT.safetensors   `y`, each of them as the nearest e4m3
 *     quantise weight ROWS COLUMNS OUT.safetensors   `all.weight` of all codes, with scales by row
 *     quantise product CHECKPOINT TENSOR X.safetensors Y.safetensors
 *
 * The last holds `y` to the product of `x`, quantised, with TENSOR.weight, of codes where that has
 * scales by channel, and of what codes mean, rounded to bf16 or not, as GPUs may have it, where it
 * has them by blocks of 128 x 128: it is wrong where y is off by more than 1e-5 of all of either.
 */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 3 * 65536 + 4 * 256, COLUMNS = 256 };

static double value[256]; /* of each code */

static void know_codes(void) {
    for (int code = 0; code < 256; code++) {
        int e = code >> 3 & 15, f = code & 7;
        double v = e ? ldexp(8 + f, e - 10) : ldexp(f, -9);
        value[code] = code & 128 ? -v : v;
    }
}

/* The nearest of all that e4m3 has, found by looking at each; the even one of two as near. */
static double nearest(double x) {
    double best = 0, off = INFINITY;
    if (isnan(x)) return x;
    for (int code = 0; code < 127; code++) {
        double d = fabs(fabs(x) - value[code]);
        if (isinf(x) ? code == 126 : d < off || (d == off && !(code & 1)))
            best = value[code], off = d;
    }
    return copysign(best, x);
}

/* Tensors point into their files, which stay open until the program ends. */
static struct etrt_st *opened[8];
static int opened_n;

static void close_all(void) {
    while (opened_n)
        etrt_st_close(opened[--opened_n]);
}

static const struct etrt_st_tensor *find(const char *path, const char *name, const char *suffix) {
    char err[ETRT_ST_ERR], full[512];
    const struct etrt_st_tensor *t = NULL;
    snprintf(full, sizeof full, "%s%s", name, suffix);
    if (opened_n < (int)(sizeof opened / sizeof *opened) &&
        etrt_st_open(path, &opened[opened_n], err, sizeof err))
        t = etrt_st_find(opened[opened_n++], full);
    if (!t && !strcmp(suffix, ".weight")) fprintf(stderr, "quantise: no %s in %s\n", full, path);
    return t;
}

static int write_rows(const char *path, const char *name, float *v) {
    char err[ETRT_ST_ERR];
    struct etrt_st_tensor t = {.name = name,
                               .dtype = "F32",
                               .rank = 2,
                               .shape = {INPUTS / COLUMNS, COLUMNS},
                               .data = v,
                               .bytes = INPUTS * sizeof *v};
    return etrt_st_write(path, &t, 1, err, sizeof err) ? 0 : 2;
}

static float numbers[INPUTS];

static float of_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Upper halves of all f32 but NaN, also with one bit more and one less below; what lies between
 * each two codes and beside that. */
static int inputs(const char *path) {
    int n = 0;
    for (uint32_t high = 0; high < 65536; high++)
        for (int by = -1; by <= 1; by++) {
            float f = of_bits((high << 16) + (uint32_t)by);
            numbers[n++] = isnan(f) ? 1 : f;
        }
    for (int code = 0; code < 256; code++) {
        float middle = (float)((value[code] + value[code + ((code & 127) < 126)]) / 2);
        numbers[n++] = middle;
        numbers[n++] = nextafterf(middle, 1000);
        numbers[n++] = nextafterf(middle, -1000);
        numbers[n++] = (float)value[code];
    }
    return write_rows(path, "x", numbers);
}

static int codes(const char *from, const char *to) {
    const struct etrt_st_tensor *x = find(from, "x", "");
    if (!x || x->bytes != sizeof numbers) return 2;
    for (int i = 0; i < INPUTS; i++)
        numbers[i] = (float)nearest((double)((const float *)x->data)[i]);
    return write_rows(to, "y", numbers);
}

/* All codes but those that are no number, minus zero among them, in no order. */
static int weight(int64_t rows, int64_t columns, const char *path) {
    char err[ETRT_ST_ERR];
    if (rows < 1 || rows > 1024 || columns < 1 || columns > 1 << 16) return 2;
    size_t n = (size_t)(rows * columns);
    uint8_t *codes = malloc(n);
    float *scales = malloc((size_t)rows * sizeof *scales);
    if (!codes || !scales) return 2;
    uint32_t word = 1;
    for (size_t i = 0; i < n; i++) {
        word = word * 1664525 + 1013904223;
        codes[i] = (uint8_t)(word >> 24);
        if ((codes[i] & 127) == 127) codes[i] = 0x80;
    }
    for (int64_t r = 0; r < rows; r++)
        scales[r] = (float)(r + 3) / 1000;
    struct etrt_st_tensor t[] = {{.name = "all.weight",
                                  .dtype = "F8_E4M3",
                                  .rank = 2,
                                  .shape = {rows, columns},
                                  .data = codes,
                                  .bytes = n},
                                 {.name = "all.weight_scale",
                                  .dtype = "F32",
                                  .rank = 2,
                                  .shape = {rows, 1},
                                  .data = scales,
                                  .bytes = (size_t)rows * sizeof *scales}};
    bool ok = etrt_st_write(path, t, 2, err, sizeof err);
    free(codes);
    free(scales);
    return ok ? 0 : 2;
}

static double scale_of(const struct etrt_st_tensor *t, int64_t i) {
    if (!strcmp(t->dtype, "F32")) return (double)((const float *)t->data)[i];
    return (double)of_bits((uint32_t)((const uint16_t *)t->data)[i] << 16);
}

static double to_bf16(double v) {
    float f = (float)v;
    uint32_t word;
    memcpy(&word, &f, sizeof word);
    return (double)of_bits((word + 0x7fff + (word >> 16 & 1)) & 0xffff0000);
}

/* What a product reads of a row: groups of GROUP columns, each with its scale. */
static void quantise(const float *x, int64_t columns, int64_t group, double *out) {
    for (int64_t from = 0; from < columns; from += group) {
        double most = 0;
        for (int64_t k = from; k < from + group; k++)
            most = fmax(most, fabs((double)x[k]));
        float s = (float)fmax(most, 1e-10) / 448.0F;
        for (int64_t k = from; k < from + group; k++) {
            double a = nearest((double)(x[k] / s)) * (double)s;
            out[k] = group == columns ? a : to_bf16(a);
        }
    }
}

/* One element of the product. */
static double sum_of(const double *row, const uint8_t *w, const struct etrt_st_tensor *scales,
                     int64_t at, int64_t columns, int64_t group, bool rounded) {
    double all = 0;
    for (int64_t g = 0; g < columns / group; g++) {
        double sum = 0, t = scale_of(scales, at + g);
        for (int64_t k = g * group; k < (g + 1) * group; k++)
            sum += row[k] * (rounded ? to_bf16(value[w[k]] * t) : value[w[k]] * t);
        all += sum;
    }
    return all;
}

/* How far Y is off, of all of it. */
static double distance(const struct etrt_st_tensor *w, const struct etrt_st_tensor *s,
                       const double *x, const struct etrt_st_tensor *y, bool blocks, bool rounded) {
    int64_t rows = w->shape[0], columns = w->shape[1];
    double off = 0, all = 0;
    for (int64_t i = 0; i < y->shape[0]; i++)
        for (int64_t n = 0; n < rows; n++) {
            double want = sum_of(x + i * columns, (const uint8_t *)w->data + n * columns, s,
                                 blocks ? n / 128 * (columns / 128) : n, columns,
                                 blocks ? 128 : columns, blocks && rounded);
            double d = want - (double)((const float *)y->data)[i * rows + n];
            off += d * d;
            all += want * want;
        }
    return sqrt(off / all);
}

static int product(const char *checkpoint, const char *tensor, const char *in, const char *out) {
    const struct etrt_st_tensor *w = find(checkpoint, tensor, ".weight"), *x = find(in, "x", ""),
                                *y = find(out, "y", ""),
                                *s = find(checkpoint, tensor, ".weight_scale_inv");
    bool blocks = s != NULL;
    if (!blocks) s = find(checkpoint, tensor, ".weight_scale");
    if (!w || !s || !x || !y) return 2;
    int64_t rows = w->shape[0], columns = w->shape[1], m = x->shape[0];
    if (x->shape[1] != columns || y->shape[0] != m || y->shape[1] != rows) return 2;
    double *row = malloc((size_t)(m * columns) * sizeof *row);
    if (!row) return 2;
    for (int64_t i = 0; i < m; i++)
        quantise((const float *)x->data + i * columns, columns, blocks ? 128 : columns,
                 row + i * columns);
    double off = fmin(distance(w, s, row, y, blocks, true), distance(w, s, row, y, blocks, false));
    free(row);
    printf("quantise: off by %.2g\n", off);
    return off <= 1e-5 ? 0 : 1;
}

int main(int argc, char **argv) {
    atexit(close_all);
    know_codes();
    if (argc == 3 && !strcmp(argv[1], "inputs")) return inputs(argv[2]);
    if (argc == 4 && !strcmp(argv[1], "codes")) return codes(argv[2], argv[3]);
    if (argc == 5 && !strcmp(argv[1], "weight"))
        return weight(atoll(argv[2]), atoll(argv[3]), argv[4]);
    if (argc == 6 && !strcmp(argv[1], "product"))
        return product(argv[2], argv[3], argv[4], argv[5]);
    return 2;
}
