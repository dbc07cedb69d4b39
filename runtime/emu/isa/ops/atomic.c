/* atomic.c - read-modify-write operations on one aligned dword or pair, by host atomics. */
#include "runtime/emu/isa/ops/atomic.h"

#include "runtime/emu/isa/lanes/lane_math.h"

#include <stdbool.h>
#include <stddef.h>

#define FN(name) static uint64_t name(void *p, uint64_t x, uint64_t cmp)
#define DIRECT(name, T, call)                                                                      \
    FN(name) {                                                                                     \
        (void)cmp;                                                                                 \
        return (T)call((T *)p, (T)x, __ATOMIC_SEQ_CST);                                            \
    }
/* Compute from the old value until no other write came between. */
#define LOOP(name, T, value)                                                                       \
    FN(name) {                                                                                     \
        (void)cmp;                                                                                 \
        T old = __atomic_load_n((T *)p, __ATOMIC_RELAXED), b = (T)x;                               \
        (void)b;                                                                                   \
        for (;;) {                                                                                 \
            T next = (T)(value);                                                                   \
            if (__atomic_compare_exchange_n((T *)p, &old, next, false, __ATOMIC_SEQ_CST,           \
                                            __ATOMIC_SEQ_CST))                                     \
                return old;                                                                        \
        }                                                                                          \
    }
#define SWAP_IF(name, T)                                                                           \
    FN(name) {                                                                                     \
        T expected = (T)cmp;                                                                       \
        __atomic_compare_exchange_n((T *)p, &expected, (T)x, false, __ATOMIC_SEQ_CST,              \
                                    __ATOMIC_SEQ_CST);                                             \
        return expected;                                                                           \
    }

#define BOTH(B, U, I)                                                                              \
    DIRECT(add_##B, U, __atomic_fetch_add)                                                         \
    DIRECT(sub_##B, U, __atomic_fetch_sub)                                                         \
    DIRECT(and_##B, U, __atomic_fetch_and)                                                         \
    DIRECT(or_##B, U, __atomic_fetch_or)                                                           \
    DIRECT(xor_##B, U, __atomic_fetch_xor)                                                         \
    DIRECT(swap_##B, U, __atomic_exchange_n)                                                       \
    LOOP(rsub_##B, U, b - old)                                                                     \
    LOOP(smin_##B, U, (I)b < (I)old ? b : old)                                                     \
    LOOP(umin_##B, U, b < old ? b : old)                                                           \
    LOOP(smax_##B, U, (I)b > (I)old ? b : old)                                                     \
    LOOP(umax_##B, U, b > old ? b : old)                                                           \
    LOOP(inc_##B, U, old >= b ? 0 : old + 1)                                                       \
    LOOP(dec_##B, U, old == 0 || old > b ? b : old - 1)                                            \
    LOOP(mskor_##B, U, (old & ~b) | (U)cmp)                                                        \
    SWAP_IF(cmpswap_##B, U)
BOTH(32, uint32_t, int32_t)
BOTH(64, uint64_t, int64_t)

static uint32_t pk_add_f16(uint32_t a, uint32_t b) {
    return f2h(h2f(a & 0xffff) + h2f(b & 0xffff)) | f2h(h2f(a >> 16) + h2f(b >> 16)) << 16;
}
static uint32_t pk_add_bf16(uint32_t a, uint32_t b) {
    return f32_to_bf16(asf(a << 16) + asf(b << 16)) |
           f32_to_bf16(asf(a & 0xffff0000) + asf(b & 0xffff0000)) << 16;
}

LOOP(fadd_32, uint32_t, fix_nan32(asu(asf(old) + asf(b))))
LOOP(fmin_32, uint32_t, asu(fmin32(asf(b), asf(old))))
LOOP(fmax_32, uint32_t, asu(fmax32(asf(b), asf(old))))
LOOP(fadd_64, uint64_t, fix_nan64(asq(asd(old) + asd(b))))
LOOP(fmin_64, uint64_t, asq(fmin64(asd(b), asd(old))))
LOOP(fmax_64, uint64_t, asq(fmax64(asd(b), asd(old))))
LOOP(padd_f16, uint32_t, pk_add_f16(old, b))
LOOP(padd_bf16, uint32_t, pk_add_bf16(old, b))
LOOP(cmpswap_f32, uint32_t, asf(old) == asf((uint32_t)cmp) ? b : old)
LOOP(cmpswap_f64, uint64_t, asd(old) == asd(cmp) ? b : old)
/* old >= b ? old - b : old + the second operand */
LOOP(wrap_32, uint32_t, old >= b ? old - b : old + (uint32_t)cmp)

#define ROW(NAME, name) [NAME] = name##_32
#define ROW64(NAME, name) [NAME] = name##_64
#define ALL(R)                                                                                     \
    R(AT_ADD, add), R(AT_SUB, sub), R(AT_RSUB, rsub), R(AT_SMIN, smin), R(AT_UMIN, umin),          \
        R(AT_SMAX, smax), R(AT_UMAX, umax), R(AT_AND, and), R(AT_OR, or), R(AT_XOR, xor),          \
        R(AT_INC, inc), R(AT_DEC, dec), R(AT_SWAP, swap), R(AT_CMPSWAP, cmpswap),                  \
        R(AT_ADD_F, fadd), R(AT_MIN_F, fmin), R(AT_MAX_F, fmax), R(AT_MSKOR, mskor)

isa_atomic_fn isa_atomic32(enum isa_atomic a) {
    static const isa_atomic_fn table[AT_COUNT] = {
        ALL(ROW),
        [AT_PK_ADD_F16] = padd_f16,
        [AT_PK_ADD_BF16] = padd_bf16,
        [AT_CMPSWAP_F] = cmpswap_f32,
        [AT_WRAP] = wrap_32,
    };
    return table[a];
}

isa_atomic_fn isa_atomic64(enum isa_atomic a) {
    static const isa_atomic_fn table[AT_COUNT] = {ALL(ROW64), [AT_CMPSWAP_F] = cmpswap_f64};
    return table[a];
}
