/* Sparse weights: maps of what is zero, for kernels that leave it out, and matrices that are 2:4,
 * packed. etrt_abi.h says how both lie. */
#include "runtime/etrt/relay/relay.h"
#include "runtime/etrt_abi.h"

#include <string.h>

/* What of every byte is something: the sign of a zero is not. */
static unsigned char something(enum etrt_dtype t, size_t byte) {
    bool top;
    switch (t) {
    case ETRT_F32:
        top = byte % 4 == 3;
        break;
    case ETRT_BF16:
    case ETRT_F16:
        top = byte % 2;
        break;
    case ETRT_E4M3:
    case ETRT_E5M2:
        top = true;
        break;
    case ETRT_E2M1:
        return 0x77;
    default:
        top = false;
    }
    return top ? 0x7f : 0xff;
}

/* Is there anything in ROWS of BYTES, PITCH from one to the next? Stops where something is. */
static bool any(const unsigned char *at, uint64_t pitch, int64_t rows, uint64_t bytes,
                const unsigned char mask[8]) {
    uint64_t keep, word;
    memcpy(&keep, mask, 8);
    for (int64_t r = 0; r < rows; r++, at += pitch) {
        uint64_t i = 0;
        for (; i + 8 <= bytes; i += 8) {
            memcpy(&word, at + i, 8);
            if (word & keep) return true;
        }
        for (; i < bytes; i++)
            if (at[i] & mask[i % 8]) return true;
    }
    return false;
}

uint64_t etrt_zeros_find(const struct etrt_tensor *t, const void *data, int64_t matrices,
                         uint64_t *out) {
    const struct etrt_zeros *z = &t->zeros;
    uint64_t bits = etrt_dtype_bits(t->dtype);
    uint64_t pitch = (uint64_t)z->k * bits / 8, piece = (uint64_t)z->columns * bits / 8;
    const unsigned char *at = data;
    uint64_t zero = 0;
    unsigned char mask[8];
    for (size_t i = 0; i < sizeof mask; i++)
        mask[i] = something(t->dtype, i);
    for (int64_t m = 0; m < matrices; m++, at += pitch * (uint64_t)z->rows)
        for (int64_t row = 0; row < z->rows; row += ETRT_ZERO_ROWS) {
            int64_t rows = z->rows - row < ETRT_ZERO_ROWS ? z->rows - row : ETRT_ZERO_ROWS;
            const unsigned char *first = at + pitch * (uint64_t)row;
            uint64_t word = 0;
            for (uint64_t k = 0, bit = 0; k < pitch; k += piece, bit++) {
                uint64_t bytes = pitch - k < piece ? pitch - k : piece;
                bool is = any(first + k, pitch, rows, bytes, mask);
                word |= (uint64_t)is << bit;
                if (!is) zero += (uint64_t)rows * bytes;
            }
            *out++ = word;
        }
    return zero;
}

/* ---- 2:4 ---- */

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
