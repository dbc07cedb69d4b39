/* philox.h - random numbers from a counter: Philox4x32-10 of Salmon, Moraes, Dror and Shaw,
 * "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), https://doi.org/10.1145/2063384.2063405.
 * Code generation has it a second time (codegen/emit/philox.c), from the constants here. */
#ifndef ET_PHILOX_H
#define ET_PHILOX_H

#include <stdint.h>

enum { ET_PHILOX_ROUNDS = 10 };
/* What the counter's words 0 and 2 are multiplied by in a round, and what is added to the key's
 * words 0 and 1 after it. */
#define ET_PHILOX_M0 0xD2511F53u
#define ET_PHILOX_M1 0xCD9E8D57u
#define ET_PHILOX_W0 0x9E3779B9u
#define ET_PHILOX_W1 0xBB67AE85u

void et_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* The operator `philox` of expressions: word 0 for the key (SEED, 0) and the counter (I, J, 0, 0),
 * of each the low 32 bits; as a number of 32 bits with a sign. */
int64_t et_philox_value(int64_t seed, int64_t i, int64_t j);

#endif
