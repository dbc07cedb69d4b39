/* atomic.h - read-modify-write operations on one aligned dword or pair, by host atomics. */
#ifndef ISA_ATOMIC_H
#define ISA_ATOMIC_H

#include <stdint.h>

/* Apply the operation to *P with X (and CMP, for compare-and-swap); returns the old value. 32-bit
 * operations use the low halves. Sequentially consistent. */
typedef uint64_t (*isa_atomic_fn)(void *p, uint64_t x, uint64_t cmp);

enum isa_atomic {
    AT_ADD,
    AT_SUB,
    AT_RSUB,
    AT_SMIN,
    AT_UMIN,
    AT_SMAX,
    AT_UMAX,
    AT_AND,
    AT_OR,
    AT_XOR,
    AT_INC,
    AT_DEC,
    AT_SWAP,
    AT_CMPSWAP,
    AT_ADD_F,
    AT_MIN_F,
    AT_MAX_F,
    AT_PK_ADD_F16,
    AT_PK_ADD_BF16,
    AT_CMPSWAP_F,
    AT_MSKOR,
    AT_WRAP,
    AT_COUNT
};

isa_atomic_fn isa_atomic32(enum isa_atomic);
isa_atomic_fn isa_atomic64(enum isa_atomic); /* NULL where there is none */

#endif
