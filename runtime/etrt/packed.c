/* Weights packed where they are 2:4, for kernels that multiply by them so: etrt_abi.h says how they
 * lie. */
#include "runtime/etrt/internal.h"
#include "runtime/etrt_abi.h"

#include <string.h>

enum { OF = 4, KEPT = 2, QUARTERS = 4, IN_QUARTER = ETRT_PACKED_K / QUARTERS };

/* Which two of FOUR, as 2 bits each: those that are not zero, and before others the first that are.
 * -1 where there are more of them. */
static int choose(uint64_t four) {
    static const signed char two[1 << OF] = {4,  4,  4,  4,  8,  8,  9,  -1,
                                             12, 12, 13, -1, 14, -1, -1, -1};
    const uint64_t all = 0x7fff7fff7fff7fff, ones = 0x0001000100010001;
    uint64_t some = ((four & all) + all) >> 15 & ones; /* one for each that is not zero, */
    return two[some * 0x0001000200040008 >> 48 & 15];  /* and these next to each other */
}

/* A quarter of a row of a block. */
static bool pack_quarter(const uint16_t from[IN_QUARTER], uint16_t *values, uint16_t *out_index) {
    unsigned index = 0;
    for (int k = 0; k < IN_QUARTER; k += OF) {
        uint64_t four = from[k] | (uint64_t)from[k + 1] << 16 | (uint64_t)from[k + 2] << 32 |
                        (uint64_t)from[k + 3] << 48;
        int which = choose(four);
        if (which < 0) return false;
        *values++ = (uint16_t)(four >> 16 * (which & 3));
        *values++ = (uint16_t)(four >> 16 * (which >> 2));
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
            uint16_t values[EIGHT], index, some[IN_QUARTER] = {0};
            int64_t first = k + (int64_t)q * IN_QUARTER, at = (int64_t)q * ETRT_PACKED_ROWS + r;
            int64_t n = row + r < d->rows ? d->k - first : 0; /* that there are of it */
            const uint16_t *from = n > 0 ? matrix + (row + r) * d->k + first : some;
            if (n > 0 && n < IN_QUARTER) from = memcpy(some, from, (size_t)n * sizeof *some);
            if (!pack_quarter(from, values, &index)) return false;
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
