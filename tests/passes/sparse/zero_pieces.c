/* zero_pieces FROM TO PERCENT SEED ROWS COLUMNS: the checkpoint FROM with PERCENT of the blocks of
 * ROWS by COLUMNS of its matrices made zero, chosen by SEED, for each tensor in the same order. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/etrt_dtype.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t seed;

static bool chosen(unsigned percent) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 16) % 100 < percent;
}

static void *zeroed(const struct etrt_st_tensor *t, unsigned percent, int64_t high, int64_t wide) {
    unsigned char *data = malloc(t->bytes + 1);
    if (!data) abort();
    memcpy(data, t->data, t->bytes);
    if (t->rank < 2) return data;
    int64_t rows = t->shape[t->rank - 2], k = t->shape[t->rank - 1], all = 1;
    for (int d = 0; d < t->rank; d++)
        all *= t->shape[d];
    size_t size = t->bytes / (size_t)all;
    for (int64_t m = 0; m < all; m += rows * k)
        for (int64_t r = 0; r < rows; r += high)
            for (int64_t c = 0; c < k; c += wide) {
                if (!chosen(percent)) continue;
                int64_t n = k - c < wide ? k - c : wide;
                for (int64_t i = r; i < rows && i < r + high; i++)
                    memset(data + (size_t)(m + i * k + c) * size, 0, (size_t)n * size);
            }
    return data;
}

int main(int argc, char **argv) {
    struct etrt_st *from;
    char err[ETRT_ST_ERR];
    if (argc < 7) return 2;
    if (!etrt_st_open(argv[1], &from, err, sizeof err)) {
        fprintf(stderr, "%s\n", err);
        return 1;
    }
    unsigned percent = (unsigned)strtoul(argv[3], NULL, 10);
    int64_t high = strtol(argv[5], NULL, 10), wide = strtol(argv[6], NULL, 10);
    if (high < 1 || wide < 1) return 2;
    size_t n = etrt_st_count(from);
    struct etrt_st_tensor *out = calloc(n + 1, sizeof *out);
    if (!out) abort();
    for (size_t i = 0; i < n; i++) {
        seed = (uint32_t)strtoul(argv[4], NULL, 10);
        out[i] = *etrt_st_at(from, i);
        out[i].data = zeroed(&out[i], percent, high, wide);
    }
    bool ok = etrt_st_write(argv[2], out, n, err, sizeof err);
    if (!ok) fprintf(stderr, "%s\n", err);
    for (size_t i = 0; i < n; i++)
        free((void *)out[i].data);
    free(out);
    etrt_st_close(from);
    return !ok;
}
