#include "ir/expr/philox.h"
#include <string.h>

void et_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c[4], k0 = key[0], k1 = key[1];
    memcpy(c, counter, sizeof c);
    for (int round = 0; round < ET_PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)ET_PHILOX_M0 * c[0], p1 = (uint64_t)ET_PHILOX_M1 * c[2];
        c[0] = (uint32_t)(p1 >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)p1;
        c[2] = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)p0;
        k0 += ET_PHILOX_W0;
        k1 += ET_PHILOX_W1;
    }
    memcpy(out, c, sizeof c);
}

int64_t et_philox_value(int64_t seed, int64_t i, int64_t j) {
    uint32_t counter[4] = {(uint32_t)i, (uint32_t)j}, key[2] = {(uint32_t)seed}, out[4];
    et_philox(counter, key, out);
    return (int32_t)out[0];
}
