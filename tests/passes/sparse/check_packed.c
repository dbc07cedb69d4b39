/* check_packed: matrices of odd shapes packed bit by bit as runtime/etrt_abi.h says; those that are
 * not 2:4 are not packed. */
#include "runtime/etrt/internal.h"
#include "runtime/etrt_abi.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t seed = 7;

static unsigned chosen(unsigned n) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 16) % n;
}

static void fill(uint16_t *matrix, int64_t rows, int64_t k) {
    for (int64_t i = 0; i < rows * k; i++)
        matrix[i] = chosen(2) ? 0x8000 : 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < k; c += 4)
            for (unsigned n = chosen(3); n; n--) {
                int64_t at = c + chosen(4);
                if (at < k) matrix[r * k + at] = (uint16_t)(1 + chosen(65535));
            }
}

/* What the packed matrix has at a row and column, sign of zeros aside; counts what is out of order.
 */
static uint16_t unpacked(const unsigned char *packed, int64_t wide, int64_t r, int64_t c,
                         int *bad) {
    const unsigned char *b = packed + (r / 16 * wide + c / 64) * 1152;
    int64_t lane = c % 64 / 16 * 16 + r % 16, four = c % 16 / 4;
    uint16_t value[2], index, got = 0;
    memcpy(value, b + lane * 16 + four * 4, sizeof value);
    memcpy(&index, b + 1024 + lane * 2, sizeof index);
    int first = index >> 4 * four & 3, second = index >> (4 * four + 2) & 3;
    *bad += first >= second;
    if (first == c % 4) got = value[0];
    if (second == c % 4) got = value[1];
    return got & 0x7fff ? got : 0;
}

static int check(int64_t rows, int64_t k) {
    int64_t high = (rows + 15) / 16, wide = (k + 63) / 64;
    struct etrt_packed d = {
        .matrices = 1, .rows = rows, .k = k, .block = (uint64_t)(high * wide) * 1152};
    uint16_t *matrix = malloc((size_t)(rows * k) * 2);
    unsigned char *packed = malloc(d.block);
    int bad = 0;
    if (!matrix || !packed) abort();
    fill(matrix, rows, k);
    memset(packed, 0xa5, d.block);
    if (!etrt_packed_make(&d, matrix, packed)) bad++;
    for (int64_t r = 0; r < high * 16; r++)
        for (int64_t c = 0; c < wide * 64; c++) {
            uint16_t want = r < rows && c < k ? matrix[r * k + c] : 0;
            bad += unpacked(packed, wide, r, c, &bad) != (want & 0x7fff ? want : 0);
        }
    if (k >= 3) { /* three of four, somewhere */
        int64_t c = chosen((unsigned)(k - 2)) / 4 * 4, r = chosen((unsigned)rows);
        for (int i = 0; i < 3; i++)
            matrix[r * k + c + i] = 0x3c00;
        bad += etrt_packed_make(&d, matrix, packed);
    }
    if (bad) fprintf(stderr, "%lld x %lld: %d wrong\n", (long long)rows, (long long)k, bad);
    free(matrix);
    free(packed);
    return bad;
}

int main(void) {
    static const int64_t shape[][2] = {{16, 64},   {1, 1},    {3, 8},  {17, 65},
                                       {250, 512}, {40, 130}, {33, 16}};
    int bad = 0;
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        bad += check(shape[i][0], shape[i][1]);
    return bad != 0;
}
