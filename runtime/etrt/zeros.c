/* Maps of what is zero in weights, for kernels that leave it out: etrt_abi.h says how they lie. */
#include "runtime/etrt/internal.h"

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

bool etrt_zeros_worth_it(const etrt_model *m) {
    const uint64_t part = 8;
    uint64_t all = 0, zero = 0;
    for (int i = 0; i < m->manifest.ntensors; i++) {
        const struct etrt_tensor *t = &m->manifest.tensors[i];
        if (!t->zeros.columns) continue;
        all += (uint64_t)t->max_bytes;
        zero += m->weight_zero[i];
    }
    return zero && zero >= all / part;
}
