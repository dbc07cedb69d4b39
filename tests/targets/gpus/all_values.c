/* all_values make COLUMNS INPUTS WEIGHTS: safetensors files of all 65,536 values of bf16 and f16 (b
 * and h), of f32 as many with all upper halves (f), the same in another order (b2, h2, f2), and
 * rows of all codes of e4m3 and e5m2 (c, d).
 *
 * all_values same WANT GOT: every tensor of WANT is in GOT with the same value, or is NaN in both;
 * where its name begins with "near", what is told apart by two steps of its type at most is the
 * same, infinity being one step beyond the largest number, where it begins with "zero", zeros of
 * both signs are. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = 65536, STEPS = 2 };

struct column {
    const char *name, *type;
    int bytes;
    uint32_t (*value)(int i);
};

/* The values are in an order that puts unlike ones next to each other. */
static uint32_t sixteen(int i) {
    return (uint32_t)i * 40503u % ALL;
}
static uint32_t sixteen_again(int i) {
    return (uint32_t)(i + 77) * 25173u % ALL;
}
/* Lower halves that are on, just beyond and just below where rounding to 16 bits goes the other
 * way, or any. */
static uint32_t lower(uint32_t n) {
    static const uint32_t some[] = {0, 0x8000, 0x7fff, 0x8001, 0x1000, 0x0fff, 0x1001, 0xffff};
    return n % 3 ? some[n / 3 % 8] : n * 2654435761u >> 16;
}
static uint32_t single(int i) {
    return sixteen(i) << 16 | lower(sixteen(i) * 31 + 7);
}
static uint32_t single_again(int i) {
    return sixteen_again(i) << 16 | lower(sixteen_again(i) * 17 + 3);
}
static uint32_t e4m3(int i) { /* which has no NaN here */
    uint32_t c = (uint32_t)i * 37 % 256;
    return (c & 0x7f) == 0x7f ? 0x7e : c;
}
static uint32_t e5m2(int i) {
    return (uint32_t)i * 59 % 256;
}

static const struct column inputs[] = {{"b", "BF16", 2, sixteen}, {"b2", "BF16", 2, sixteen_again},
                                       {"h", "F16", 2, sixteen},  {"h2", "F16", 2, sixteen_again},
                                       {"f", "F32", 4, single},   {"f2", "F32", 4, single_again}};
static const struct column weights[] = {{"c", "F8_E4M3", 1, e4m3}, {"d", "F8_E5M2", 1, e5m2}};

static bool make(const char *path, const struct column *col, int n, int rows, int columns) {
    struct etrt_st_tensor t[8] = {{0}};
    char err[ETRT_ST_ERR];
    for (int i = 0; i < n; i++) {
        size_t each = (size_t)col[i].bytes, count = (size_t)rows * (size_t)columns;
        char *data = calloc(count, each);
        if (!data) abort();
        for (size_t k = 0; k < count; k++) {
            uint32_t v = col[i].value((int)(k % ALL));
            memcpy(data + k * each, &v, each); /* the low bytes come first */
        }
        t[i] = (struct etrt_st_tensor){col[i].name,     col[i].type, 2,
                                       {rows, columns}, data,        count * each};
        if (rows == 1) t[i].rank = 1, t[i].shape[0] = columns;
    }
    bool ok = etrt_st_write(path, t, (size_t)n, err, sizeof err);
    if (!ok) printf("%s\n", err);
    for (int i = 0; i < n; i++)
        free((void *)(uintptr_t)t[i].data);
    return ok;
}

/* ---- comparing ---- */

static float number_at(const struct etrt_st_tensor *t, int64_t i) {
    uint32_t w = 0;
    size_t bytes = etrt_st_dtype_bytes(t->dtype);
    float v;
    memcpy(&w, (const char *)t->data + i * (int64_t)bytes, bytes);
    if (strcmp(t->dtype, "F16") == 0) {
        int e = w >> 10 & 31, m = w & 1023;
        v = e == 31 ? (m ? NAN : INFINITY) : (float)ldexp(e ? m + 1024 : m, e ? e - 25 : -24);
        return w & 0x8000 ? -v : v;
    }
    if (strcmp(t->dtype, "BF16") == 0) w <<= 16;
    memcpy(&v, &w, sizeof v);
    return v;
}

/* Infinity is a step beyond the largest number of T. */
static double as_number(double v, bool f16) {
    return isinf(v) ? copysign(ldexp(1, f16 ? 16 : 128), v) : v;
}

/* Is G as near to W as two steps of what T is rounded to? */
static bool is_near(const struct etrt_st_tensor *t, float w, float g) {
    bool f32 = strcmp(t->dtype, "F32") == 0, f16 = strcmp(t->dtype, "F16") == 0;
    bool e4m3 = strstr(t->name, "e4m3") != NULL;
    int fraction = e4m3  ? 3
                   : f16 ? 10
                   : f32 ? 23
                         : 7,
        lowest = e4m3  ? -9
                 : f16 ? -24
                 : f32 ? -149
                       : -133;
    double least = ldexp(1, lowest), step = ldexp(fabs(as_number(w, f16)), -fraction);
    return fabs(as_number(w, f16) - as_number(g, f16)) <= STEPS * (step > least ? step : least);
}

static bool same(const struct etrt_st_tensor *want, const struct etrt_st_tensor *got) {
    int told = 0;
    bool near = strncmp(want->name, "near", 4) == 0, zero = strncmp(want->name, "zero", 4) == 0;
    int64_t n = (int64_t)(want->bytes / etrt_st_dtype_bytes(want->dtype));
    if (!got || (int64_t)(got->bytes / etrt_st_dtype_bytes(got->dtype)) != n) {
        printf("%s: missing, or of another shape\n", want->name);
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        float w = number_at(want, i), g = number_at(got, i);
        if (memcmp(&w, &g, sizeof w) == 0 || (isnan(w) && isnan(g))) continue;
        if (zero && w == g) continue;
        if (near && is_near(got, w, g)) continue;
        if (told++ < 3) printf("%s[%lld]: %a, not %a\n", want->name, (long long)i, g, w);
    }
    if (told) printf("%s: %d values differ\n", want->name, told);
    return !told;
}

static bool compare(const char *a, const char *b) {
    char err[ETRT_ST_ERR];
    struct etrt_st *want = NULL, *got = NULL;
    bool ok = etrt_st_open(a, &want, err, sizeof err) && etrt_st_open(b, &got, err, sizeof err);
    if (!ok) printf("%s\n", err);
    size_t n = ok ? etrt_st_count(want) : 0;
    for (size_t i = 0; i < n; i++) {
        const struct etrt_st_tensor *t = etrt_st_at(want, i);
        ok &= same(t, etrt_st_find(got, t->name));
    }
    etrt_st_close(want);
    etrt_st_close(got);
    return ok && n > 0;
}

int main(int argc, char **argv) {
    int columns = argc == 5 ? atoi(argv[2]) : 0;
    if (argc == 5 && strcmp(argv[1], "make") == 0 && columns > 0)
        return !make(argv[3], inputs, 6, (ALL + columns - 1) / columns, columns) ||
               !make(argv[4], weights, 2, 1, columns);
    if (argc == 4 && strcmp(argv[1], "same") == 0) return !compare(argv[2], argv[3]);
    return 2;
}
