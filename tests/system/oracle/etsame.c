/* etsame - do two safetensors files hold the same tensors, up to rounding?
 *
 *     etsame WANT.safetensors GOT.safetensors TOLERANCE
 *
 * For every tensor of WANT: ||got - want|| <= TOLERANCE * ||want||, and whole numbers equal. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double at(const struct etrt_st_tensor *t, int64_t i) {
    float f;
    int32_t n;
    memcpy(&f, (const char *)t->data + i * 4, sizeof f);
    memcpy(&n, (const char *)t->data + i * 4, sizeof n);
    return *t->dtype == 'F' ? (double)f : n;
}

static bool same(const struct etrt_st_tensor *want, const struct etrt_st_tensor *got,
                 double tolerance) {
    if (!got || strcmp(want->dtype, got->dtype) || want->rank != got->rank ||
        memcmp(want->shape, got->shape, (size_t)want->rank * sizeof *want->shape)) {
        fprintf(stderr, "etsame: %s: missing, or another type or shape\n", want->name);
        return false;
    }
    if (strcmp(want->dtype, "F32") && strcmp(want->dtype, "I32")) {
        fprintf(stderr, "etsame: %s: type %s\n", want->name, want->dtype);
        return false;
    }
    double error = 0, norm = 0;
    for (int64_t i = 0; i < (int64_t)(want->bytes / 4); i++) {
        double d = at(got, i) - at(want, i);
        error += d * d;
        norm += at(want, i) * at(want, i);
    }
    double limit = *want->dtype == 'I' ? 0 : tolerance;
    double relative = error > 0 || isnan(error) ? sqrt(error / norm) : 0;
    printf("%s: relative error %.3g (limit %g)\n", want->name, relative, limit);
    return relative <= limit; /* not for a NaN */
}

int main(int argc, char **argv) {
    char err[ETRT_ST_ERR];
    struct etrt_st *want, *got;
    if (argc != 4 || !etrt_st_open(argv[1], &want, err, sizeof err) ||
        !etrt_st_open(argv[2], &got, err, sizeof err)) {
        fprintf(stderr, "etsame: %s\n", argc == 4 ? err : "WANT GOT TOLERANCE");
        return 1;
    }
    bool ok = etrt_st_count(want) > 0;
    for (size_t i = 0; i < etrt_st_count(want); i++) {
        const struct etrt_st_tensor *t = etrt_st_at(want, i);
        ok &= same(t, etrt_st_find(got, t->name), atof(argv[3]));
    }
    etrt_st_close(want);
    etrt_st_close(got);
    return ok ? 0 : 1;
}
