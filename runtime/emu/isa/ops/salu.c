/* salu.c - scalar instructions: arithmetic, masks, compares. Branches and special registers are
 * in flow.c. */
#include "runtime/emu/isa/isa.h"

#define H(name) static const struct emu_op *name(struct emu_wave *w, const struct emu_op *o)
#define SCC w->s[S_SCC]
#define A32 uint32_t a = scalar32(w, &o->s[0])
#define B32 uint32_t b = scalar32(w, &o->s[1])
#define A64 uint64_t a = scalar64(w, &o->s[0])
#define B64 uint64_t b = scalar64(w, &o->s[1])
#define PUT32(r) w->s[o->sd] = (r)
#define PUT64(r) put64(&w->s[o->sd], (r))

/* Handlers by shape: read sources, compute r, write it, and EFFECT on SCC. */
#define OP_32_32(fn, value, effect)                                                                \
    H(fn) {                                                                                        \
        A32;                                                                                       \
        B32;                                                                                       \
        uint32_t r = value;                                                                        \
        effect;                                                                                    \
        PUT32(r);                                                                                  \
        return o + 1;                                                                              \
    }
#define OP_64_64(fn, value, effect)                                                                \
    H(fn) {                                                                                        \
        A64;                                                                                       \
        B64;                                                                                       \
        uint64_t r = value;                                                                        \
        effect;                                                                                    \
        PUT64(r);                                                                                  \
        return o + 1;                                                                              \
    }
#define OP_64_32(fn, value, effect)                                                                \
    H(fn) {                                                                                        \
        A64;                                                                                       \
        B32;                                                                                       \
        uint64_t r = value;                                                                        \
        effect;                                                                                    \
        PUT64(r);                                                                                  \
        return o + 1;                                                                              \
    }
#define OP_32(fn, value, effect)                                                                   \
    H(fn) {                                                                                        \
        A32;                                                                                       \
        uint32_t r = value;                                                                        \
        effect;                                                                                    \
        PUT32(r);                                                                                  \
        return o + 1;                                                                              \
    }
#define OP_64(fn, value, effect)                                                                   \
    H(fn) {                                                                                        \
        A64;                                                                                       \
        uint64_t r = value;                                                                        \
        effect;                                                                                    \
        PUT64(r);                                                                                  \
        return o + 1;                                                                              \
    }
#define OP_64_TO_32(fn, value, effect)                                                             \
    H(fn) {                                                                                        \
        A64;                                                                                       \
        uint32_t r = value;                                                                        \
        effect;                                                                                    \
        PUT32(r);                                                                                  \
        return o + 1;                                                                              \
    }
#define CMP32(fn, cond)                                                                            \
    H(fn) {                                                                                        \
        A32;                                                                                       \
        B32;                                                                                       \
        SCC = (cond) ? 1 : 0;                                                                      \
        return o + 1;                                                                              \
    }
#define CMPK(fn, cond)                                                                             \
    H(fn) {                                                                                        \
        uint32_t a = w->s[o->sd], b = o->flags;                                                    \
        SCC = (cond) ? 1 : 0;                                                                      \
        return o + 1;                                                                              \
    }
#define NONZERO SCC = r != 0
#define KEEP (void)0
#define I(x) (int32_t)(x)

static uint32_t bfe_u(uint64_t x, uint32_t o, uint32_t n, uint64_t *out) {
    *out = n >= 64 ? x >> o : (x >> o) & ((UINT64_C(1) << n) - 1);
    return (uint32_t)*out;
}
static int64_t bfe_i(int64_t x, uint32_t o, uint32_t n, uint32_t width) {
    if (!n) return 0;
    x = (int64_t)((uint64_t)x << (64 - width)) >> (64 - width);
    x >>= o;
    if (n + o >= width) return x;
    return (int64_t)((uint64_t)x << (64 - n)) >> (64 - n);
}
static uint32_t bfe32(uint32_t x, uint32_t f) {
    uint64_t r;
    return bfe_u(x, f & 31, f >> 16 & 127, &r);
}
static uint64_t bfe64(uint64_t x, uint32_t f) {
    uint64_t r;
    bfe_u(x, f & 63, f >> 16 & 127, &r);
    return r;
}
static bool overflow_add(uint32_t a, uint32_t b) {
    return ((~(a ^ b)) & (a ^ (a + b))) >> 31;
}
static bool overflow_sub(uint32_t a, uint32_t b) {
    return ((a ^ b) & (a ^ (a - b))) >> 31;
}
static uint64_t wqm(uint64_t x) {
    x |= x >> 1;
    x |= x >> 2;
    return (x & 0x1111111111111111) * 15;
}
static uint64_t quadmask(uint64_t x) {
    uint64_t r = 0;
    for (int i = 0; i < 16; i++)
        r |= (uint64_t)((x >> 4 * i & 15) != 0) << i;
    return r;
}
static uint64_t reverse(uint64_t x) {
    uint64_t r = 0;
    for (int i = 0; i < 64; i++)
        r |= (x >> i & 1) << (63 - i);
    return r;
}
static uint64_t replicate(uint32_t x) {
    uint64_t r = 0;
    for (int i = 0; i < 32; i++)
        r |= (uint64_t)(x >> i & 1) * 3 << 2 * i;
    return r;
}
static uint32_t lead32(uint32_t x) {
    return x ? (uint32_t)__builtin_clz(x) : UINT32_MAX;
}
static uint32_t lead64(uint64_t x) {
    return x ? (uint32_t)__builtin_clzll(x) : UINT32_MAX;
}
static uint32_t trail64(uint64_t x) {
    return x ? (uint32_t)__builtin_ctzll(x) : UINT32_MAX;
}

OP_32_32(add_u32, a + b, SCC = r < a)
OP_32_32(sub_u32, a - b, SCC = a < b)
OP_32_32(add_i32, a + b, SCC = overflow_add(a, b))
OP_32_32(sub_i32, a - b, SCC = overflow_sub(a, b))
OP_32_32(addc_u32, a + b + SCC, SCC = ((uint64_t)a + b + SCC) >> 32)
OP_32_32(subb_u32, a - b - SCC, SCC = (uint64_t)a < (uint64_t)b + SCC)
OP_32_32(min_i32, I(a) < I(b) ? a : b, SCC = I(a) < I(b))
OP_32_32(min_u32, a < b ? a : b, SCC = a < b)
OP_32_32(max_i32, I(a) > I(b) ? a : b, SCC = I(a) > I(b))
OP_32_32(max_u32, a > b ? a : b, SCC = a > b)
OP_32_32(cselect_b32, SCC ? a : b, KEEP)
OP_64_64(cselect_b64, SCC ? a : b, KEEP)
OP_32_32(and_b32, a &b, NONZERO)
OP_64_64(and_b64, a &b, NONZERO)
OP_32_32(or_b32, a | b, NONZERO)
OP_64_64(or_b64, a | b, NONZERO)
OP_32_32(xor_b32, a ^ b, NONZERO)
OP_64_64(xor_b64, a ^ b, NONZERO)
OP_32_32(andn2_b32, a & ~b, NONZERO)
OP_64_64(andn2_b64, a & ~b, NONZERO)
OP_32_32(orn2_b32, a | ~b, NONZERO)
OP_64_64(orn2_b64, a | ~b, NONZERO)
OP_32_32(nand_b32, ~(a &b), NONZERO)
OP_64_64(nand_b64, ~(a &b), NONZERO)
OP_32_32(nor_b32, ~(a | b), NONZERO)
OP_64_64(nor_b64, ~(a | b), NONZERO)
OP_32_32(xnor_b32, ~(a ^ b), NONZERO)
OP_64_64(xnor_b64, ~(a ^ b), NONZERO)
OP_32_32(lshl_b32, a << (b & 31), NONZERO)
OP_64_32(lshl_b64, a << (b & 63), NONZERO)
OP_32_32(lshr_b32, a >> (b & 31), NONZERO)
OP_64_32(lshr_b64, a >> (b & 63), NONZERO)
OP_32_32(ashr_i32, (uint32_t)(I(a) >> (b & 31)), NONZERO)
OP_64_32(ashr_i64, (uint64_t)((int64_t)a >> (b & 63)), NONZERO)
OP_32_32(bfm_b32, ((1u << (a & 31)) - 1) << (b & 31), KEEP)
OP_32_32(mul_i32, a *b, KEEP)
OP_32_32(mul_hi_u32, (uint32_t)(((uint64_t)a * b) >> 32), KEEP)
OP_32_32(mul_hi_i32, (uint32_t)(((int64_t)I(a) * I(b)) >> 32), KEEP)
OP_32_32(bfe_u32, bfe32(a, b), NONZERO)
OP_32_32(bfe_i32, (uint32_t)bfe_i(I(a), b & 31, b >> 16 & 127, 32), NONZERO)
OP_64_32(bfe_u64, bfe64(a, b), NONZERO)
OP_64_32(bfe_i64, (uint64_t)bfe_i((int64_t)a, b & 63, b >> 16 & 127, 64), NONZERO)
OP_32_32(absdiff_i32, I(a) < I(b) ? b - a : a - b, NONZERO)
OP_32_32(lshl1_add_u32, (a << 1) + b, SCC = (((uint64_t)a << 1) + b) >> 32 != 0)
OP_32_32(lshl2_add_u32, (a << 2) + b, SCC = (((uint64_t)a << 2) + b) >> 32 != 0)
OP_32_32(lshl3_add_u32, (a << 3) + b, SCC = (((uint64_t)a << 3) + b) >> 32 != 0)
OP_32_32(lshl4_add_u32, (a << 4) + b, SCC = (((uint64_t)a << 4) + b) >> 32 != 0)
OP_32_32(pack_ll, (a & 0xffff) | b << 16, KEEP)
OP_32_32(pack_lh, (a & 0xffff) | (b & 0xffff0000), KEEP)
OP_32_32(pack_hh, a >> 16 | (b & 0xffff0000), KEEP)
H(bfm_b64) {
    A32;
    B32;
    PUT64(((UINT64_C(1) << (a & 63)) - 1) << (b & 63));
    return o + 1;
}

OP_32(mov_b32, a, KEEP)
OP_64(mov_b64, a, KEEP)
OP_32(not_b32, ~a, NONZERO)
OP_64(not_b64, ~a, NONZERO)
OP_32(brev_b32, (uint32_t)(reverse(a) >> 32), KEEP)
OP_64(brev_b64, reverse(a), KEEP)
OP_32(wqm_b32, (uint32_t)wqm(a), NONZERO)
OP_64(wqm_b64, wqm(a), NONZERO)
OP_32(quadmask_b32, (uint32_t)quadmask(a), NONZERO)
OP_64(quadmask_b64, quadmask(a), NONZERO)
OP_32(bcnt0_b32, 32 - (uint32_t)__builtin_popcount(a), NONZERO)
OP_64_TO_32(bcnt0_b64, 64 - (uint32_t)__builtin_popcountll(a), NONZERO)
OP_32(bcnt1_b32, (uint32_t)__builtin_popcount(a), NONZERO)
OP_64_TO_32(bcnt1_b64, (uint32_t)__builtin_popcountll(a), NONZERO)
OP_32(ff0_b32, trail64((uint64_t)~a), KEEP)
OP_64_TO_32(ff0_b64, trail64(~a), KEEP)
OP_32(ff1_b32, trail64(a), KEEP)
OP_64_TO_32(ff1_b64, trail64(a), KEEP)
OP_32(flbit_b32, lead32(a), KEEP)
OP_64_TO_32(flbit_b64, lead64(a), KEEP)
OP_32(flbit_i32, lead32(a ^ (uint32_t)(I(a) >> 31)), KEEP)
OP_64_TO_32(flbit_i64, lead64(a ^ (uint64_t)((int64_t)a >> 63)), KEEP)
OP_32(sext_i8, (uint32_t)(int8_t)a, KEEP)
OP_32(sext_i16, (uint32_t)(int16_t)a, KEEP)
OP_32(abs_i32, I(a) < 0 ? 0 - a : a, NONZERO)
OP_32(bitset0_b32, w->s[o->sd] & ~(1u << (a & 31)), KEEP)
OP_32(bitset1_b32, w->s[o->sd] | 1u << (a & 31), KEEP)
OP_32(cmov_b32, SCC ? a : w->s[o->sd], KEEP)
OP_64(cmov_b64, SCC ? a : get64(&w->s[o->sd]), KEEP)
H(bitset_b64) {
    A32;
    uint64_t bit = UINT64_C(1) << (a & 63), old = get64(&w->s[o->sd]);
    PUT64(o->row_arg ? old | bit : old & ~bit);
    return o + 1;
}
H(bitreplicate) {
    A32;
    PUT64(replicate(a));
    return o + 1;
}

/* EXEC as an operand and as a second result: the old one (saveexec) or the new one (wrexec). */
#define SAVEEXEC(fn, value, kept)                                                                  \
    H(fn) {                                                                                        \
        A64;                                                                                       \
        uint64_t e = wave_exec(w), r = value;                                                      \
        PUT64(kept);                                                                               \
        put64(&w->s[S_EXEC], r);                                                                   \
        NONZERO;                                                                                   \
        return o + 1;                                                                              \
    }
SAVEEXEC(and_saveexec, a &e, e)
SAVEEXEC(or_saveexec, a | e, e)
SAVEEXEC(xor_saveexec, a ^ e, e)
SAVEEXEC(andn2_saveexec, a & ~e, e)
SAVEEXEC(orn2_saveexec, a | ~e, e)
SAVEEXEC(nand_saveexec, ~(a &e), e)
SAVEEXEC(nor_saveexec, ~(a | e), e)
SAVEEXEC(xnor_saveexec, ~(a ^ e), e)
SAVEEXEC(andn1_saveexec, ~a &e, e)
SAVEEXEC(orn1_saveexec, ~a | e, e)
SAVEEXEC(andn1_wrexec, ~a &e, r)
SAVEEXEC(andn2_wrexec, a & ~e, r)

CMP32(cmp_eq, a == b)
CMP32(cmp_lg, a != b)
CMP32(cmp_gt_i32, I(a) > I(b))
CMP32(cmp_ge_i32, I(a) >= I(b))
CMP32(cmp_lt_i32, I(a) < I(b))
CMP32(cmp_le_i32, I(a) <= I(b))
CMP32(cmp_gt_u32, a > b)
CMP32(cmp_ge_u32, a >= b)
CMP32(cmp_lt_u32, a < b)
CMP32(cmp_le_u32, a <= b)
CMP32(bitcmp0_b32, !(a >> (b & 31) & 1))
CMP32(bitcmp1_b32, a >> (b & 31) & 1)
H(cmp_u64) {
    A64;
    B64;
    SCC = (a == b) == o->row_arg;
    return o + 1;
}
H(bitcmp_b64) {
    A64;
    B32;
    SCC = (a >> (b & 63) & 1) == o->row_arg;
    return o + 1;
}
CMPK(cmpk_eq, a == b)
CMPK(cmpk_lg, a != b)
CMPK(cmpk_gt_i32, I(a) > I(b))
CMPK(cmpk_ge_i32, I(a) >= I(b))
CMPK(cmpk_lt_i32, I(a) < I(b))
CMPK(cmpk_le_i32, I(a) <= I(b))
CMPK(cmpk_gt_u32, a > b)
CMPK(cmpk_ge_u32, a >= b)
CMPK(cmpk_lt_u32, a < b)
CMPK(cmpk_le_u32, a <= b)
H(movk) {
    PUT32(o->flags);
    return o + 1;
}
H(cmovk) {
    if (SCC) PUT32(o->flags);
    return o + 1;
}
H(addk) {
    uint32_t a = w->s[o->sd];
    SCC = overflow_add(a, o->flags);
    PUT32(a + o->flags);
    return o + 1;
}
H(mulk) {
    PUT32(w->s[o->sd] * o->flags);
    return o + 1;
}

/* Indirect scalar registers, by M0. */
H(movrel) {
    uint32_t m = w->s[S_M0], n = o->s[0].dwords;
    uint32_t from = o->s[0].reg + (o->row_arg ? 0 : m), to = o->sd + (o->row_arg ? m : 0u);
    bool constant = o->s[0].kind == SRC_CONST;
    if (m >= NSGPR || to + n > S_FLAT_SCRATCH || (!constant && from + n > S_FLAT_SCRATCH))
        return isa_fault(w, o, "indexes past the last scalar register");
    uint64_t x = constant ? o->s[0].imm : n == 2 ? get64(&w->s[from]) : w->s[from];
    if (n == 2)
        put64(&w->s[to], x);
    else
        w->s[to] = (uint32_t)x;
    return o + 1;
}

/* The 16-bit constant of the encoding, sign or zero extended. */
static bool bind_k(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                   struct emu_op *o) {
    uint32_t k = t->word[0] & 0xffff;
    o->flags = row->arg ? k : (uint32_t)(int16_t)k;
    return isa_bind_sig(d, row, t, o);
}

#define ROW(name, fn, sig, arg)                                                                    \
    {                                                                                              \
#name, isa_bind_sig, fn, sig, C_SALU, arg, 0, NULL, {                                      \
            0                                                                                      \
        }                                                                                          \
    }
#define ROWK(name, fn, arg)                                                                        \
    {                                                                                              \
#name, bind_k, fn, "Dw-w", C_SALU, arg, 0, NULL, {                                         \
            0                                                                                      \
        }                                                                                          \
    }
#define BOTH(op) ROW(s_##op##_b32, op##_b32, "Dwswsw", 0), ROW(s_##op##_b64, op##_b64, "Dqsqsq", 0)
static const struct emu_row rows[] = {
    ROW(s_add_u32, add_u32, "Dwswsw", 0),
    ROW(s_sub_u32, sub_u32, "Dwswsw", 0),
    ROW(s_add_i32, add_i32, "Dwswsw", 0),
    ROW(s_sub_i32, sub_i32, "Dwswsw", 0),
    ROW(s_addc_u32, addc_u32, "Dwswsw", 0),
    ROW(s_subb_u32, subb_u32, "Dwswsw", 0),
    ROW(s_min_i32, min_i32, "Dwswsw", 0),
    ROW(s_min_u32, min_u32, "Dwswsw", 0),
    ROW(s_max_i32, max_i32, "Dwswsw", 0),
    ROW(s_max_u32, max_u32, "Dwswsw", 0),
    BOTH(cselect),
    BOTH(and),
    BOTH(or),
    BOTH(xor),
    BOTH(andn2),
    BOTH(orn2),
    BOTH(nand),
    BOTH(nor),
    BOTH(xnor),
    ROW(s_lshl_b32, lshl_b32, "Dwswsw", 0),
    ROW(s_lshl_b64, lshl_b64, "Dqsqsw", 0),
    ROW(s_lshr_b32, lshr_b32, "Dwswsw", 0),
    ROW(s_lshr_b64, lshr_b64, "Dqsqsw", 0),
    ROW(s_ashr_i32, ashr_i32, "Dwswsw", 0),
    ROW(s_ashr_i64, ashr_i64, "Dqsqsw", 0),
    ROW(s_bfm_b32, bfm_b32, "Dwswsw", 0),
    ROW(s_bfm_b64, bfm_b64, "Dqswsw", 0),
    ROW(s_mul_i32, mul_i32, "Dwswsw", 0),
    ROW(s_mul_hi_u32, mul_hi_u32, "Dwswsw", 0),
    ROW(s_mul_hi_i32, mul_hi_i32, "Dwswsw", 0),
    ROW(s_bfe_u32, bfe_u32, "Dwswsw", 0),
    ROW(s_bfe_i32, bfe_i32, "Dwswsw", 0),
    ROW(s_bfe_u64, bfe_u64, "Dqsqsw", 0),
    ROW(s_bfe_i64, bfe_i64, "Dqsqsw", 0),
    ROW(s_absdiff_i32, absdiff_i32, "Dwswsw", 0),
    ROW(s_lshl1_add_u32, lshl1_add_u32, "Dwswsw", 0),
    ROW(s_lshl2_add_u32, lshl2_add_u32, "Dwswsw", 0),
    ROW(s_lshl3_add_u32, lshl3_add_u32, "Dwswsw", 0),
    ROW(s_lshl4_add_u32, lshl4_add_u32, "Dwswsw", 0),
    ROW(s_pack_ll_b32_b16, pack_ll, "Dwswsw", 0),
    ROW(s_pack_lh_b32_b16, pack_lh, "Dwswsw", 0),
    ROW(s_pack_hh_b32_b16, pack_hh, "Dwswsw", 0),
    ROW(s_mov_b32, mov_b32, "Dwsw", 0),
    ROW(s_mov_b64, mov_b64, "Dqsq", 0),
    ROW(s_not_b32, not_b32, "Dwsw", 0),
    ROW(s_not_b64, not_b64, "Dqsq", 0),
    ROW(s_brev_b32, brev_b32, "Dwsw", 0),
    ROW(s_brev_b64, brev_b64, "Dqsq", 0),
    ROW(s_wqm_b32, wqm_b32, "Dwsw", 0),
    ROW(s_wqm_b64, wqm_b64, "Dqsq", 0),
    ROW(s_quadmask_b32, quadmask_b32, "Dwsw", 0),
    ROW(s_quadmask_b64, quadmask_b64, "Dqsq", 0),
    ROW(s_bcnt0_i32_b32, bcnt0_b32, "Dwsw", 0),
    ROW(s_bcnt0_i32_b64, bcnt0_b64, "Dwsq", 0),
    ROW(s_bcnt1_i32_b32, bcnt1_b32, "Dwsw", 0),
    ROW(s_bcnt1_i32_b64, bcnt1_b64, "Dwsq", 0),
    ROW(s_ff0_i32_b32, ff0_b32, "Dwsw", 0),
    ROW(s_ff0_i32_b64, ff0_b64, "Dwsq", 0),
    ROW(s_ff1_i32_b32, ff1_b32, "Dwsw", 0),
    ROW(s_ff1_i32_b64, ff1_b64, "Dwsq", 0),
    ROW(s_flbit_i32_b32, flbit_b32, "Dwsw", 0),
    ROW(s_flbit_i32_b64, flbit_b64, "Dwsq", 0),
    ROW(s_flbit_i32, flbit_i32, "Dwsw", 0),
    ROW(s_flbit_i32_i64, flbit_i64, "Dwsq", 0),
    ROW(s_sext_i32_i8, sext_i8, "Dwsw", 0),
    ROW(s_sext_i32_i16, sext_i16, "Dwsw", 0),
    ROW(s_abs_i32, abs_i32, "Dwsw", 0),
    ROW(s_bitset0_b32, bitset0_b32, "Dwsw", 0),
    ROW(s_bitset1_b32, bitset1_b32, "Dwsw", 0),
    ROW(s_bitset0_b64, bitset_b64, "Dqsw", 0),
    ROW(s_bitset1_b64, bitset_b64, "Dqsw", 1),
    ROW(s_cmov_b32, cmov_b32, "Dwsw", 0),
    ROW(s_cmov_b64, cmov_b64, "Dqsq", 0),
    ROW(s_bitreplicate_b64_b32, bitreplicate, "Dqsw", 0),
    ROW(s_movrels_b32, movrel, "Dwsw", 0),
    ROW(s_movrels_b64, movrel, "Dqsq", 0),
    ROW(s_movreld_b32, movrel, "Dwsw", 1),
    ROW(s_movreld_b64, movrel, "Dqsq", 1),
    ROW(s_and_saveexec_b64, and_saveexec, "Dqsq", 0),
    ROW(s_or_saveexec_b64, or_saveexec, "Dqsq", 0),
    ROW(s_xor_saveexec_b64, xor_saveexec, "Dqsq", 0),
    ROW(s_andn2_saveexec_b64, andn2_saveexec, "Dqsq", 0),
    ROW(s_orn2_saveexec_b64, orn2_saveexec, "Dqsq", 0),
    ROW(s_nand_saveexec_b64, nand_saveexec, "Dqsq", 0),
    ROW(s_nor_saveexec_b64, nor_saveexec, "Dqsq", 0),
    ROW(s_xnor_saveexec_b64, xnor_saveexec, "Dqsq", 0),
    ROW(s_andn1_saveexec_b64, andn1_saveexec, "Dqsq", 0),
    ROW(s_orn1_saveexec_b64, orn1_saveexec, "Dqsq", 0),
    ROW(s_andn1_wrexec_b64, andn1_wrexec, "Dqsq", 0),
    ROW(s_andn2_wrexec_b64, andn2_wrexec, "Dqsq", 0),
    ROW(s_cmp_eq_i32, cmp_eq, "swsw", 0),
    ROW(s_cmp_lg_i32, cmp_lg, "swsw", 0),
    ROW(s_cmp_gt_i32, cmp_gt_i32, "swsw", 0),
    ROW(s_cmp_ge_i32, cmp_ge_i32, "swsw", 0),
    ROW(s_cmp_lt_i32, cmp_lt_i32, "swsw", 0),
    ROW(s_cmp_le_i32, cmp_le_i32, "swsw", 0),
    ROW(s_cmp_eq_u32, cmp_eq, "swsw", 0),
    ROW(s_cmp_lg_u32, cmp_lg, "swsw", 0),
    ROW(s_cmp_gt_u32, cmp_gt_u32, "swsw", 0),
    ROW(s_cmp_ge_u32, cmp_ge_u32, "swsw", 0),
    ROW(s_cmp_lt_u32, cmp_lt_u32, "swsw", 0),
    ROW(s_cmp_le_u32, cmp_le_u32, "swsw", 0),
    ROW(s_cmp_eq_u64, cmp_u64, "sqsq", 1),
    ROW(s_cmp_lg_u64, cmp_u64, "sqsq", 0),
    ROW(s_bitcmp0_b32, bitcmp0_b32, "swsw", 0),
    ROW(s_bitcmp1_b32, bitcmp1_b32, "swsw", 0),
    ROW(s_bitcmp0_b64, bitcmp_b64, "sqsw", 0),
    ROW(s_bitcmp1_b64, bitcmp_b64, "sqsw", 1),
    ROWK(s_movk_i32, movk, 0),
    ROWK(s_cmovk_i32, cmovk, 0),
    ROWK(s_addk_i32, addk, 0),
    ROWK(s_mulk_i32, mulk, 0),
    ROWK(s_cmpk_eq_i32, cmpk_eq, 0),
    ROWK(s_cmpk_lg_i32, cmpk_lg, 0),
    ROWK(s_cmpk_gt_i32, cmpk_gt_i32, 0),
    ROWK(s_cmpk_ge_i32, cmpk_ge_i32, 0),
    ROWK(s_cmpk_lt_i32, cmpk_lt_i32, 0),
    ROWK(s_cmpk_le_i32, cmpk_le_i32, 0),
    ROWK(s_cmpk_eq_u32, cmpk_eq, 1),
    ROWK(s_cmpk_lg_u32, cmpk_lg, 1),
    ROWK(s_cmpk_gt_u32, cmpk_gt_u32, 1),
    ROWK(s_cmpk_ge_u32, cmpk_ge_u32, 1),
    ROWK(s_cmpk_lt_u32, cmpk_lt_u32, 1),
    ROWK(s_cmpk_le_u32, cmpk_le_u32, 1),
};

const struct emu_table *isa_salu_table(void) {
    static const struct emu_table t = {rows, sizeof rows / sizeof *rows};
    return &t;
}
