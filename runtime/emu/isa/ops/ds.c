/* ds.c - LDS instructions, and the lane exchanges that share their encoding. */
#include "runtime/emu/isa/ops/atomic.h"
#include "runtime/emu/isa/ops/vmem.h"

#define H(name) static const struct emu_op *name(struct emu_wave *w, const struct emu_op *o)

/* Host addresses of BYTES at each lane's address plus OFFSET; false after a fault when an active
 * lane is outside the workgroup's LDS or not a multiple of ALIGN. */
static bool lds_addresses(struct emu_wave *w, const struct emu_op *o, uint64_t *a, uint32_t offset,
                          uint32_t bytes, uint32_t align, uint64_t mask) {
    const uint32_t *v = w->v[o->s[0].reg];
    uint64_t base = (uint64_t)(uintptr_t)w->lds;
    struct emu_span s = w->lanes->address32(a, v, base + offset);
    if (mask != UINT64_MAX) s = isa_active_span(a, mask);
    if (s.hi - base + bytes <= w->lds_bytes && align == 1) return true;
    for (; mask; mask &= mask - 1) {
        int i = __builtin_ctzll(mask);
        uint64_t at = (uint32_t)(v[i] + offset); /* around 2^32, as LLVM counts on */
        a[i] = base + at;
        bool in = at + bytes <= w->lds_bytes;
        if (in && at % align == 0) continue;
        isa_fault(w, o, "LDS access of %u bytes at %llu: %s (the workgroup has %u bytes)", bytes,
                  (unsigned long long)at, in ? "not aligned" : "out of bounds", w->lds_bytes);
        w->fault->addr = at;
        w->fault->lane = (uint32_t)i;
        return false;
    }
    return true;
}

static void count_bytes(struct emu_wave *w, uint64_t exec, uint32_t bytes) {
    w->lds_bytes_moved += bytes * (unsigned)__builtin_popcountll(exec);
}

H(h_read) {
    uint64_t a[LANES] __attribute__((aligned(64))), exec = wave_exec(w);
    uint32_t bytes = isa_data_bytes(o->row_arg);
    if (!exec) return o + 1;
    if (!lds_addresses(w, o, a, (uint32_t)o->offset, bytes, 1, exec)) return NULL;
    isa_load(w->v[o->d], a, o->row_arg, exec);
    count_bytes(w, exec, bytes);
    return o + 1;
}

H(h_write) {
    uint64_t a[LANES] __attribute__((aligned(64))), exec = wave_exec(w);
    uint32_t bytes = isa_data_bytes(o->row_arg);
    if (!exec) return o + 1;
    if (!lds_addresses(w, o, a, (uint32_t)o->offset, bytes, 1, exec)) return NULL;
    isa_store(w->v[o->s[1].reg], a, o->row_arg, exec);
    count_bytes(w, exec, bytes);
    return o + 1;
}

/* Two elements at two offsets; row_arg2 is the unit of the offsets. Both are read before either
 * result is written, for a result may be the address. */
H(h_read2) {
    uint64_t a[2][LANES] __attribute__((aligned(64))), exec = wave_exec(w);
    uint32_t bytes = isa_data_bytes(o->row_arg), unit = bytes * o->row_arg2;
    uint32_t off0 = (uint32_t)o->offset & 255, off1 = (uint32_t)o->offset >> 8;
    int dwords = isa_data_dwords(o->row_arg);
    if (!exec) return o + 1;
    if (!lds_addresses(w, o, a[0], off0 * unit, bytes, 1, exec)) return NULL;
    if (!lds_addresses(w, o, a[1], off1 * unit, bytes, 1, exec)) return NULL;
    isa_load(w->v[o->d], a[0], o->row_arg, exec);
    isa_load(w->v[o->d + dwords], a[1], o->row_arg, exec);
    count_bytes(w, exec, 2 * bytes);
    return o + 1;
}

H(h_write2) {
    uint64_t a[2][LANES] __attribute__((aligned(64))), exec = wave_exec(w);
    uint32_t bytes = isa_data_bytes(o->row_arg), unit = bytes * o->row_arg2;
    uint32_t off0 = (uint32_t)o->offset & 255, off1 = (uint32_t)o->offset >> 8;
    if (!exec) return o + 1;
    if (!lds_addresses(w, o, a[0], off0 * unit, bytes, 1, exec)) return NULL;
    if (!lds_addresses(w, o, a[1], off1 * unit, bytes, 1, exec)) return NULL;
    isa_store(w->v[o->s[1].reg], a[0], o->row_arg, exec);
    isa_store(w->v[o->s[2].reg], a[1], o->row_arg, exec);
    count_bytes(w, exec, 2 * bytes);
    return o + 1;
}

/* Operands of two-operand forms: compare-and-swap has what to compare with first. */
H(h_ds_atomic) {
    uint64_t a[LANES] __attribute__((aligned(64))), exec = wave_exec(w);
    bool wide = o->row_arg2;
    uint32_t bytes = wide ? 8 : 4;
    bool compare = o->row_arg == AT_CMPSWAP || o->row_arg == AT_CMPSWAP_F;
    const uint32_t *x = w->v[o->s[1].reg], *y = o->nsrc > 2 ? w->v[o->s[2].reg] : x;
    if (!exec) return o + 1;
    if (!lds_addresses(w, o, a, (uint32_t)o->offset, bytes, bytes, exec)) return NULL;
    for (uint64_t m = exec; m; m &= m - 1) {
        int i = __builtin_ctzll(m);
        uint64_t first = x[i] | (wide ? (uint64_t)x[i + LANES] << 32 : 0);
        uint64_t second = y[i] | (wide ? (uint64_t)y[i + LANES] << 32 : 0);
        uint64_t old = ((isa_atomic_fn)o->kernel)((void *)(uintptr_t)a[i], compare ? second : first,
                                                  compare ? first : second);
        if (!o->d_vgpr) continue;
        w->v[o->d][i] = (uint32_t)old;
        if (wide) w->v[o->d + 1][i] = (uint32_t)(old >> 32);
    }
    w->atomics += (unsigned)__builtin_popcountll(exec);
    count_bytes(w, exec, 2 * bytes);
    return o + 1;
}

/* ---- lane exchanges ---- */

static int swizzle_source(uint32_t offset, int lane) {
    int in = lane & 31, group = lane & 32;
    if (offset & 0x8000) return (lane & ~3) | (int)(offset >> 2 * (lane & 3) & 3);
    return group |
           (((in & (int)(offset & 31)) | (int)(offset >> 5 & 31)) ^ (int)(offset >> 10 & 31));
}

/* Lanes that are off give zero to those that read them. */
static void gather(struct emu_wave *w, const struct emu_op *o, const uint32_t *from,
                   const uint8_t *lane) {
    uint32_t t[LANES];
    uint64_t exec = wave_exec(w);
    for (int i = 0; i < LANES; i++)
        t[i] = exec >> lane[i] & 1 ? from[lane[i]] : 0;
    w->lanes->blend(w->v[o->d], t, exec, 1);
}

H(h_swizzle) {
    uint8_t lane[LANES];
    for (int i = 0; i < LANES; i++)
        lane[i] = (uint8_t)swizzle_source((uint32_t)o->offset, i);
    gather(w, o, w->v[o->s[0].reg], lane);
    return o + 1;
}

H(h_bpermute) {
    uint8_t lane[LANES];
    const uint32_t *a = w->v[o->s[0].reg];
    for (int i = 0; i < LANES; i++)
        lane[i] = (uint8_t)((a[i] + (uint32_t)o->offset) >> 2 & (w->program->wave_lanes - 1));
    gather(w, o, w->v[o->s[1].reg], lane);
    return o + 1;
}

/* Each lane sends; of two senders to one lane the higher wins, and who gets nothing gets zero. */
H(h_permute) {
    uint32_t t[LANES] = {0};
    const uint32_t *a = w->v[o->s[0].reg], *from = w->v[o->s[1].reg];
    uint64_t exec = wave_exec(w);
    for (uint64_t m = exec; m; m &= m - 1) {
        int i = __builtin_ctzll(m);
        t[(a[i] + (uint32_t)o->offset) >> 2 & (w->program->wave_lanes - 1)] = from[i];
    }
    w->lanes->blend(w->v[o->d], t, exec, 1);
    return o + 1;
}

/* ---- decoding ---- */

/* Operands by signature, no global data share, the offset from the encoding. */
static bool bind_ds(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                    struct emu_op *o) {
    int gds = t->gen >= GEN_11 ? 17 : 16;
    if (t->words != 2 || t->word[0] >> gds & 1) return false;
    o->offset = (int32_t)(t->word[0] & 0xffff);
    if (!isa_bind_sig(d, row, t, o)) return false;
    for (int n = 0; n < o->nsrc; n++)
        if (o->s[n].kind != SRC_VGPR) return false;
    if (row->fn == h_swizzle && (uint32_t)o->offset >= 0xc000) return false;
    if (row->fn != h_ds_atomic) return true;
    if (!strncmp(t->name, "ds_cmpstore", 11)) {
        /* the new value first, what to compare with after it */
        struct emu_src first = o->s[1];
        o->s[1] = o->s[2];
        o->s[2] = first;
    }
    o->kernel =
        (void (*)(void))(row->arg2 ? isa_atomic64 : isa_atomic32)((enum isa_atomic)row->arg);
    return o->kernel != NULL;
}

#define ROW(name, fn, sig, arg, arg2)                                                              \
    {                                                                                              \
#name, bind_ds, fn, sig, C_LDS, arg, arg2, NULL, {                                         \
            0                                                                                      \
        }                                                                                          \
    }
#define READ(name, kind, sig) ROW(ds_read_##name, h_read, sig, kind, 0)
#define WRITE(name, kind, sig) ROW(ds_write_##name, h_write, sig, kind, 0)
#define ATOMIC(name, suffix, op)                                                                   \
    ROW(ds_##name##_##suffix##32, h_ds_atomic, "swsw", op, 0),                                     \
        ROW(ds_##name##_rtn_##suffix##32, h_ds_atomic, "dwswsw", op, 0),                           \
        ROW(ds_##name##_##suffix##64, h_ds_atomic, "swsq", op, 1),                                 \
        ROW(ds_##name##_rtn_##suffix##64, h_ds_atomic, "dqswsq", op, 1)
#define ATOMIC2(name, suffix, op)                                                                  \
    ROW(ds_##name##_##suffix##32, h_ds_atomic, "swswsw", op, 0),                                   \
        ROW(ds_##name##_rtn_##suffix##32, h_ds_atomic, "dwswswsw", op, 0),                         \
        ROW(ds_##name##_##suffix##64, h_ds_atomic, "swsqsq", op, 1),                               \
        ROW(ds_##name##_rtn_##suffix##64, h_ds_atomic, "dqswsqsq", op, 1)

static const struct emu_row rows[] = {
    READ(u8, D_U8, "dwsw"),
    READ(i8, D_I8, "dwsw"),
    READ(u16, D_U16, "dwsw"),
    READ(i16, D_I16, "dwsw"),
    READ(u8_d16, D_U8_LO, "dwsw"),
    READ(u8_d16_hi, D_U8_HI, "dwsw"),
    READ(i8_d16, D_I8_LO, "dwsw"),
    READ(i8_d16_hi, D_I8_HI, "dwsw"),
    READ(u16_d16, D_16_LO, "dwsw"),
    READ(u16_d16_hi, D_16_HI, "dwsw"),
    READ(b32, D_X1, "dwsw"),
    READ(b64, D_X2, "dqsw"),
    READ(b96, D_X3, "d3sw"),
    READ(b128, D_X4, "d4sw"),
    WRITE(b8, D_U8, "swsw"),
    WRITE(b16, D_U16, "swsw"),
    WRITE(b8_d16_hi, D_U8_HI, "swsw"),
    WRITE(b16_d16_hi, D_16_HI, "swsw"),
    WRITE(b32, D_X1, "swsw"),
    WRITE(b64, D_X2, "swsq"),
    WRITE(b96, D_X3, "sws3"),
    WRITE(b128, D_X4, "sws4"),
    ROW(ds_read2_b32, h_read2, "dqsw", D_X1, 1),
    ROW(ds_read2_b64, h_read2, "d4sw", D_X2, 1),
    ROW(ds_read2st64_b32, h_read2, "dqsw", D_X1, 64),
    ROW(ds_read2st64_b64, h_read2, "d4sw", D_X2, 64),
    ROW(ds_write2_b32, h_write2, "swswsw", D_X1, 1),
    ROW(ds_write2_b64, h_write2, "swsqsq", D_X2, 1),
    ROW(ds_write2st64_b32, h_write2, "swswsw", D_X1, 64),
    ROW(ds_write2st64_b64, h_write2, "swsqsq", D_X2, 64),
    ATOMIC(add, u, AT_ADD),
    ATOMIC(sub, u, AT_SUB),
    ATOMIC(rsub, u, AT_RSUB),
    ATOMIC(inc, u, AT_INC),
    ATOMIC(dec, u, AT_DEC),
    ATOMIC(min, i, AT_SMIN),
    ATOMIC(max, i, AT_SMAX),
    ATOMIC(min, u, AT_UMIN),
    ATOMIC(max, u, AT_UMAX),
    ATOMIC(and, b, AT_AND),
    ATOMIC(or, b, AT_OR),
    ATOMIC(xor, b, AT_XOR),
    ATOMIC(wrxchg, b, AT_SWAP),
    ATOMIC(add, f, AT_ADD_F),
    ATOMIC(min, f, AT_MIN_F),
    ATOMIC(max, f, AT_MAX_F),
    ATOMIC2(cmpst, b, AT_CMPSWAP),
    ATOMIC2(cmpst, f, AT_CMPSWAP_F),
    ATOMIC2(cmpstore, b, AT_CMPSWAP),
    ATOMIC2(cmpstore, f, AT_CMPSWAP_F),
    ATOMIC2(mskor, b, AT_MSKOR),
    ROW(ds_wrap_rtn_b32, h_ds_atomic, "dwswswsw", AT_WRAP, 0),
    ROW(ds_pk_add_f16, h_ds_atomic, "swsw", AT_PK_ADD_F16, 0),
    ROW(ds_pk_add_rtn_f16, h_ds_atomic, "dwswsw", AT_PK_ADD_F16, 0),
    ROW(ds_pk_add_bf16, h_ds_atomic, "swsw", AT_PK_ADD_BF16, 0),
    ROW(ds_pk_add_rtn_bf16, h_ds_atomic, "dwswsw", AT_PK_ADD_BF16, 0),
    ROW(ds_swizzle_b32, h_swizzle, "dwsw", 0, 0),
    ROW(ds_permute_b32, h_permute, "dwswsw", 0, 0),
    ROW(ds_bpermute_b32, h_bpermute, "dwswsw", 0, 0),
};

const struct emu_table *isa_ds_table(void) {
    static const struct emu_table t = {rows, sizeof rows / sizeof *rows};
    return &t;
}
