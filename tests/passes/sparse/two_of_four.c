/* two_of_four FROM TO SEED DENSE: the checkpoint FROM with its matrices made 2:4, of every four
 * columns two zero, and of some more, chosen by SEED; those whose names have DENSE in them stay as
 * they are. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t seed;

static unsigned chosen(unsigned n) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 16) % n;
}

static void *pruned(const struct etrt_st_tensor *t, const char *dense) {
    uint16_t *data = malloc(t->bytes + 1);
    if (!data) abort();
    memcpy(data, t->data, t->bytes);
    if (t->rank < 2 || (*dense && strstr(t->name, dense))) return data;
    int64_t k = t->shape[t->rank - 1];
    for (size_t i = 0; i < t->bytes / 2; i++) {
        size_t column = i % (size_t)k, left = (size_t)k - column;
        if (column % 4) continue;
        unsigned keep = chosen(4), other = (keep + 1 + chosen(3)) % 4;
        for (unsigned e = 0; e < 4 && e < left; e++)
            if ((e != keep && e != other) || !chosen(8)) data[i + e] = chosen(2) ? 0x8000 : 0;
    }
    return data;
}

int main(int argc, char **argv) {
    struct etrt_st *from;
    char err[ETRT_ST_ERR];
    if (argc != 5) return 2;
    if (!etrt_st_open(argv[1], &from, err, sizeof err)) {
        fprintf(stderr, "%s\n", err);
        return 1;
    }
    size_t n = etrt_st_count(from);
    struct etrt_st_tensor *out = calloc(n + 1, sizeof *out);
    if (!out) abort();
    seed = (uint32_t)strtoul(argv[3], NULL, 10);
    for (size_t i = 0; i < n; i++) {
        out[i] = *etrt_st_at(from, i);
        out[i].data = pruned(&out[i], argv[4]);
    }
    bool ok = etrt_st_write(argv[2], out, n, err, sizeof err);
    if (!ok) fprintf(stderr, "%s\n", err);
    for (size_t i = 0; i < n; i++)
        free((void *)out[i].data);
    free(out);
    etrt_st_close(from);
    return !ok;
}
