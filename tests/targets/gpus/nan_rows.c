/* nan_rows ROWS COLUMNS FILE [NAME [WEIGHTS]]: a safetensors file of an f32 matrix, "a" or NAME,
 * whose rows have NaN, both infinities, zeros of both signs and equal numbers in every place:
 * before, after and among the largest, in all places, in all but one. WEIGHTS: a file of the
 * identity, "eye", in bf16. */
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
    if (argc < 4 || argc > 6) return 2;
    int rows = atoi(argv[1]), columns = atoi(argv[2]);
    float *data = malloc(sizeof(float) * (size_t)rows * (size_t)columns);
    size_t square = (size_t)columns * (size_t)columns;
    uint16_t *eye = calloc(square, sizeof *eye);
    if (!data || !eye) abort();
    for (int i = 0; i < rows * columns; i++)
        data[i] = number(i / columns, i % columns, columns);
    for (int i = 0; i < columns; i++)
        eye[i * columns + i] = 0x3f80;
    char err[ETRT_ST_ERR];
    struct etrt_st_tensor t = {
        argc > 4 ? argv[4] : "a", "F32", 2,
        {rows, columns},          data,  sizeof(float) * (size_t)rows * (size_t)columns};
    struct etrt_st_tensor w = {"eye", "BF16", 2, {columns, columns}, eye, square * sizeof *eye};
    bool ok = etrt_st_write(argv[3], &t, 1, err, sizeof err) &&
              (argc < 6 || etrt_st_write(argv[5], &w, 1, err, sizeof err));
    if (!ok) printf("%s\n", err);
    free(data);
    free(eye);
    return !ok;
}
