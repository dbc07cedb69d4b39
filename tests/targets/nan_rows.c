/* nan_rows ROWS COLUMNS FILE: a safetensors file of an f32 matrix "a" whose rows have NaN, both
 * infinities, zeros of both signs and equal numbers in every place: before, after and among the
 * largest, in all places, in all but one. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t mixed(uint32_t n) {
    n ^= n >> 16;
    n *= 0x7feb352du;
    n ^= n >> 15;
    return n * 0x846ca68bu >> 8;
}

static float number(int row, int k, int columns) {
    uint32_t any = mixed((uint32_t)row * 65537u + (uint32_t)k);
    int at = (int)((uint32_t)row / 10 * 7919u % (uint32_t)columns);
    float v = (float)(any % 64) - 32;
    switch (row % 10) {
    case 0:
        return k == at ? NAN : v;
    case 1:
        return NAN;
    case 2:
        return -INFINITY;
    case 3:
        return any % 2 ? NAN : -INFINITY;
    case 4:
        return k == at ? INFINITY : any % 5 ? v : NAN;
    case 5:
        return k == at ? v : NAN;
    case 6:
        return k == at ? v : -INFINITY;
    case 7:
        return k < at ? NAN : 3;
    case 8:
        return any % 2 ? -0.0f : 0;
    default:
        return k == at ? 40 : k + 1 == at || k == at + 1 ? NAN : v;
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int rows = atoi(argv[1]), columns = atoi(argv[2]);
    float *data = malloc(sizeof(float) * (size_t)rows * (size_t)columns);
    if (!data) abort();
    for (int i = 0; i < rows * columns; i++)
        data[i] = number(i / columns, i % columns, columns);
    char err[ETRT_ST_ERR];
    struct etrt_st_tensor t = {
        "a", "F32", 2, {rows, columns}, data, sizeof(float) * (size_t)rows * (size_t)columns};
    bool ok = etrt_st_write(argv[3], &t, 1, err, sizeof err);
    if (!ok) printf("%s\n", err);
    free(data);
    return !ok;
}
