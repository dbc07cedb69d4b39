/* Weights packed where they are 2:4, for kernels that multiply by them so: etrt_abi.h says how they
 * lie. */
#include "runtime/etrt/internal.h"
#include "runtime/etrt_abi.h"

#include <string.h>

enum { OF = 4, KEPT = 2, QUARTERS = 4, IN_QUARTER = ETRT_PACKED_K / QUARTERS };

/* Which two of FOUR, as 2 bits each: those that are not zero, and before others the first that are.
 * -1 where there are more of them. */
static int choose(const uint16_t four[OF]) {
    int which = 0, kept = 0, left = KEPT;
    for (int i = 0; i < OF; i++)
        left -= (four[i] & 0x7fff) != 0;
    if (left < 0) return -1;
    for (int i = 0; i < OF && kept < KEPT; i++) {
        bool some = (four[i] & 0x7fff) != 0;
        if (!some && left-- <= 0) continue;
        which |= i << 2 * kept++;
    }
    return which;
}

/* A quarter of a row of a block: N elements, fewer than there is room for at the end of the row. */
static bool pack_quarter(const uint16_t *from, int64_t n, uint16_t *values, uint16_t *out_index) {
    unsigned index = 0;
    for (int64_t k = 0; k < IN_QUARTER; k += OF) {
        uint16_t four[OF] = {0};
        int64_t there = n - k < OF ? n - k : OF;
        if (there > 0) memcpy(four, from + k, (size_t)there * sizeof *from);
        int which = choose(four);
        if (which < 0) return false;
        *values++ = four[which & 3];
        *values++ = four[which >> 2];
        index |= (unsigned)which << k;
    }
    *out_index = (uint16_t)index;
    return true;
}

static bool pack_block(const struct etrt_packed *d, const uint16_t *matrix, int64_t row, int64_t k,
                       unsigned char *out) {
    enum { EIGHT = IN_QUARTER / OF * KEPT };
    for (int q = 0; q < QUARTERS; q++)
        for (int r = 0; r < ETRT_PACKED_ROWS; r++) {
            uint16_t values[EIGHT], index;
            int64_t first = k + (int64_t)q * IN_QUARTER, at = (int64_t)q * ETRT_PACKED_ROWS + r;
            int64_t n = row + r < d->rows ? d->k - first : 0;
            if (!pack_quarter(n > 0 ? matrix + (row + r) * d->k + first : NULL, n, values, &index))
                return false;
            memcpy(out + at * (int64_t)sizeof values, values, sizeof values);
            memcpy(out + QUARTERS * ETRT_PACKED_ROWS * sizeof values + (size_t)at * sizeof index,
                   &index, sizeof index);
        }
    return true;
}

bool etrt_packed_make(const struct etrt_packed *d, const void *matrix, void *out) {
    unsigned char *to = out;
    for (int64_t row = 0; row < d->rows; row += ETRT_PACKED_ROWS)
        for (int64_t k = 0; k < d->k; k += ETRT_PACKED_K, to += ETRT_PACKED_BYTES)
            if (!pack_block(d, matrix, row, k, to)) return false;
    return true;
}
