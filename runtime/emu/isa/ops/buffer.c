/* buffer.c - memory instructions through a buffer descriptor: what is outside the buffer reads
 * as zero and is not written.
 *
 * gfx90a reaches scratch this way: the descriptor that a kernel is given for it (emu_wave_init)
 * adds the lane's place by itself; offsets count in the lane's own bytes, and the scalar offset in
 * those of all 64 lanes. */
#include "runtime/emu/isa/ops/atomic.h"
#include "runtime/emu/isa/ops/coherence.h"
#include "runtime/emu/isa/ops/link.h"
#include "runtime/emu/isa/ops/vmem.h"

#define H(name) static const struct emu_op *name(struct emu_wave *w, const struct emu_op *o)

enum { BUF_OFFEN = 1 << 12, BUF_IDXEN = 1 << 13, BUF_LDS = 1 << 16 };

struct buffer {
    uint64_t base;
    uint32_t stride, records;
};

static bool descriptor(struct emu_wave *w, const struct emu_op *o, struct buffer *b) {
    const uint32_t *d = &w->s[o->s[1].reg];
    b->base = d[0] | (uint64_t)(d[1] & 0xffff) << 32;
    b->stride = d[1] >> 16 & 0x3fff;
    b->records = d[2];
    if (!(d[1] >> 31) && !(d[3] & BUFFER_ADD_LANE)) return true;
    isa_fault(w, o, "the buffer descriptor asks for swizzling or for the lane in the address");
    return false;
}

/* Addresses of the active lanes, and those of them inside the buffer. False after a fault. */
static bool addresses(struct emu_wave *w, const struct emu_op *o, uint64_t *a, uint64_t exec,
                      uint32_t bytes, bool write, uint64_t *inside) {
    struct buffer b;
    if (!descriptor(w, o, &b)) return false;
    uint32_t base = scalar32(w, &o->s[0]);
    const uint32_t *v = o->flags & (BUF_OFFEN | BUF_IDXEN) ? w->v[o->sd] : NULL;
    bool both = o->flags & BUF_OFFEN && o->flags & BUF_IDXEN;
    *inside = 0;
    for (uint64_t m = exec; m; m &= m - 1) {
        int i = __builtin_ctzll(m);
        uint64_t index = o->flags & BUF_IDXEN ? v[i] : 0;
        uint64_t off = (uint32_t)o->offset;
        if (o->flags & BUF_OFFEN) off += v[both ? LANES + i : i];
        bool in = b.stride ? index < b.records : off < b.records;
        a[i] = b.base + base + index * b.stride + off;
        if (!in) continue;
        if (!b.stride && off + bytes > b.records) {
            isa_fault(w, o, "%u bytes at %llu lie across the end of a buffer of %u", bytes,
                      (unsigned long long)off, b.records);
            w->fault->lane = (uint32_t)i;
            return false;
        }
        if (!isa_memory_check(w, a[i], bytes, write)) {
            isa_fault_lane(w, o, i, a[i], bytes, write ? "buffer store" : "buffer load");
            return false;
        }
        *inside |= UINT64_C(1) << i;
    }
    return true;
}

/* ---- scratch ---- */

static bool is_scratch(const struct emu_wave *w, const struct emu_op *o) {
    return w->scratch && w->s[o->s[1].reg + 3] == BUFFER_ADD_LANE;
}

static bool scratch_addresses(struct emu_wave *w, const struct emu_op *o, uint64_t *a,
                              uint64_t exec) {
    uint32_t scalar = scalar32(w, &o->s[0]), bytes = isa_data_bytes(o->row_arg);
    if (o->flags & (BUF_IDXEN | BUF_LDS) || scalar % LANES) {
        isa_fault(w, o, "scratch at scalar offset %u, by an index or into LDS is not modelled",
                  scalar);
        return false;
    }
    for (uint64_t m = exec; m; m &= m - 1) {
        int i = __builtin_ctzll(m);
        uint32_t at = scalar / LANES + (uint32_t)o->offset;
        if (o->flags & BUF_OFFEN) at += w->v[o->sd][i];
        a[i] = (uint64_t)(uintptr_t)w->scratch + (uint64_t)i * w->scratch_bytes + at;
        if ((uint64_t)at + bytes <= w->scratch_bytes) continue;
        isa_fault(w, o, "access of %u bytes at %u of the lane's scratch, which has %u", bytes, at,
                  w->scratch_bytes);
        w->fault->lane = (uint32_t)i;
        return false;
    }
    return true;
}

H(scratch_load) {
    uint64_t a[LANES] __attribute__((aligned(64))), exec = wave_exec(w);
    if (!scratch_addresses(w, o, a, exec)) return NULL;
    isa_load(w->v[o->d], a, o->row_arg, exec);
    w->bytes_read += isa_data_bytes(o->row_arg) * (unsigned)__builtin_popcountll(exec);
    return o + 1;
}
H(scratch_store) {
    uint64_t a[LANES] __attribute__((aligned(64))), exec = wave_exec(w);
    if (!scratch_addresses(w, o, a, exec)) return NULL;
    isa_store(w->v[o->s[2].reg], a, o->row_arg, exec);
    w->bytes_written += isa_data_bytes(o->row_arg) * (unsigned)__builtin_popcountll(exec);
    return o + 1;
}

/* ---- buffers ---- */

/* Lanes outside the buffer read from here. */
static const uint32_t zeros[4];

static void load(struct emu_wave *w, const struct emu_op *o, uint32_t *d, const uint64_t *a,
                 uint64_t exec, uint64_t inside) {
    if (w->link.n) isa_link_meet(w, a, inside);
    if (w->caches)
        isa_cached_load(w, o, d, a, exec, exec & ~inside);
    else
        isa_load(d, a, o->row_arg, exec);
}

H(h_load) {
    uint64_t a[LANES] __attribute__((aligned(64))), exec = wave_exec(w), inside;
    uint32_t bytes = isa_data_bytes(o->row_arg);
    if (is_scratch(w, o)) return scratch_load(w, o);
    if (!addresses(w, o, a, exec, bytes, false, &inside)) return NULL;
    for (uint64_t m = exec & ~inside; m; m &= m - 1)
        a[__builtin_ctzll(m)] = (uint64_t)(uintptr_t)zeros;
    w->bytes_read += bytes * (unsigned)__builtin_popcountll(inside);
    if (!(o->flags & BUF_LDS)) {
        load(w, o, w->v[o->d], a, exec, inside);
        return o + 1;
    }
    uint64_t to[LANES];
    uint32_t t[4 * LANES];
    uint32_t dwords = (uint32_t)isa_data_dwords(o->row_arg), each = 4 * dwords;
    uint32_t at = (w->s[S_M0] & 0xffff) + (uint32_t)o->offset;
    if (at + each * LANES > w->lds_bytes)
        return isa_fault(w, o, "LDS bytes %u to %u of a workgroup that has %u", at,
                         at + each * LANES, w->lds_bytes);
    load(w, o, t, a, exec, inside);
    for (int i = 0; i < LANES; i++)
        to[i] = (uint64_t)(uintptr_t)(w->lds + at + each * (uint32_t)i);
    isa_store(t, to, D_X1 + (int)dwords - 1, exec);
    return o + 1;
}

H(h_store) {
    uint64_t a[LANES] __attribute__((aligned(64))), inside;
    uint32_t bytes = isa_data_bytes(o->row_arg);
    if (is_scratch(w, o)) return scratch_store(w, o);
    if (!addresses(w, o, a, wave_exec(w), bytes, true, &inside)) return NULL;
    uint64_t now = inside;
    if (isa_link_modelled(w)) now = isa_link_store(w, o, w->v[o->s[2].reg], a, inside);
    if (w->caches)
        isa_cached_store(w, o, w->v[o->s[2].reg], a, now, 0);
    else
        isa_store(w->v[o->s[2].reg], a, o->row_arg, now);
    w->bytes_written += bytes * (unsigned)__builtin_popcountll(inside);
    return now != inside && isa_link_yields(w) ? isa_stop(w, o + 1, EMU_BUDGET) : o + 1;
}

H(h_atomic) {
    uint64_t a[LANES] __attribute__((aligned(64))), exec = wave_exec(w), inside;
    uint32_t bytes = o->row_arg2 ? 8 : 4;
    if (!addresses(w, o, a, exec, bytes, true, &inside)) return NULL;
    for (uint64_t m = inside; m; m &= m - 1)
        if (a[__builtin_ctzll(m)] % bytes)
            return isa_fault(w, o, "atomic of %u bytes at an address that is not aligned", bytes);
    if (w->link.n) isa_link_meet(w, a, inside);
    if (w->caches) emu_cache_atomic(w->caches, a, inside, bytes);
    isa_atomic_lanes(w, o, a, inside);
    if (o->d_vgpr)
        for (uint64_t m = exec & ~inside; m; m &= m - 1)
            for (uint32_t n = 0; n < bytes / 4; n++)
                w->v[o->d + n][__builtin_ctzll(m)] = 0;
    return o + 1;
}

/* ---- decoding ---- */

/* s[0] scalar offset, s[1] descriptor, s[2] data; sd the address register. */
static bool bind_common(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                        int data, struct emu_op *o) {
    bool lds = t->word[0] & BUF_LDS, load = row->fn == h_load;
    int n = 0;
    o->fn = row->fn;
    o->row_arg = row->arg;
    o->row_arg2 = row->arg2;
    o->flags = t->word[0] & (BUF_OFFEN | BUF_IDXEN | BUF_LDS);
    o->offset = (int32_t)(t->word[0] & 0xfff);
    o->nsrc = 3;
    if (d->gen >= GEN_11) return false; /* another encoding */
    if (t->words != 2 || t->ntok != (lds ? 3 : 4) || (lds && !load)) return false;
    if (!lds) {
        uint16_t reg;
        if (!isa_bind_vreg(d, &t->tok[n++], data, &reg)) return false;
        o->s[2] = (struct emu_src){.kind = SRC_VGPR, .reg = reg, .dwords = (uint8_t)data};
        bool returns = load || (row->fn == h_atomic && t->word[0] >> 14 & 1);
        if (returns) {
            o->d = reg;
            o->d_vgpr = true;
            o->d_dwords = (uint8_t)data;
        }
    }
    int address = (o->flags & BUF_OFFEN ? 1 : 0) + (o->flags & BUF_IDXEN ? 1 : 0);
    const struct emu_tok *v = &t->tok[n++], *r = &t->tok[n++];
    if (address ? !isa_bind_vreg(d, v, address, &o->sd) : v->kind != TOK_OFF) return false;
    if (v->kind == TOK_AGPR) return false;
    if (r->kind != TOK_SGPR || r->count != 4) return false;
    o->s[1] = (struct emu_src){.kind = SRC_SGPR, .reg = r->reg, .dwords = 4};
    return isa_bind_scalar(d, &t->tok[n], T_u32, &o->s[0]);
}

static bool bind_access(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                        struct emu_op *o) {
    if (row->fn == h_load)
        isa_bind_load_level(d->p->isa, t, o);
    else
        isa_bind_store_level(d->p->isa, t, o);
    return bind_common(d, row, t, isa_data_dwords(row->arg), o);
}

static bool bind_atomic(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                        struct emu_op *o) {
    int dwords = (row->arg2 ? 2 : 1) * (row->arg == AT_CMPSWAP ? 2 : 1);
    o->kernel =
        (void (*)(void))(row->arg2 ? isa_atomic64 : isa_atomic32)((enum isa_atomic)row->arg);
    return o->kernel && bind_common(d, row, t, dwords, o);
}

#define LOAD(name, kind)                                                                           \
    {                                                                                              \
        "buffer_load_" #name, bind_access, h_load, "", C_VMEM, kind, 0, NULL, {                    \
            0                                                                                      \
        }                                                                                          \
    }
#define STORE(name, kind)                                                                          \
    {                                                                                              \
        "buffer_store_" #name, bind_access, h_store, "", C_VMEM, kind, 0, NULL, {                  \
            0                                                                                      \
        }                                                                                          \
    }
#define ATOMIC(name, op, wide)                                                                     \
    {                                                                                              \
        "buffer_atomic_" #name, bind_atomic, h_atomic, "", C_VMEM, op, wide, NULL, {               \
            0                                                                                      \
        }                                                                                          \
    }
#define ATOMIC2(name, op) ATOMIC(name, op, 0), ATOMIC(name##_x2, op, 1)
static const struct emu_row rows[] = {
    LOAD(ubyte, D_U8),
    LOAD(sbyte, D_I8),
    LOAD(ushort, D_U16),
    LOAD(sshort, D_I16),
    LOAD(ubyte_d16, D_U8_LO),
    LOAD(ubyte_d16_hi, D_U8_HI),
    LOAD(sbyte_d16, D_I8_LO),
    LOAD(sbyte_d16_hi, D_I8_HI),
    LOAD(short_d16, D_16_LO),
    LOAD(short_d16_hi, D_16_HI),
    LOAD(dword, D_X1),
    LOAD(dwordx2, D_X2),
    LOAD(dwordx3, D_X3),
    LOAD(dwordx4, D_X4),
    STORE(byte, D_U8),
    STORE(byte_d16_hi, D_U8_HI),
    STORE(short, D_U16),
    STORE(short_d16_hi, D_16_HI),
    STORE(dword, D_X1),
    STORE(dwordx2, D_X2),
    STORE(dwordx3, D_X3),
    STORE(dwordx4, D_X4),
    ATOMIC2(swap, AT_SWAP),
    ATOMIC2(cmpswap, AT_CMPSWAP),
    ATOMIC2(add, AT_ADD),
    ATOMIC2(sub, AT_SUB),
    ATOMIC2(smin, AT_SMIN),
    ATOMIC2(umin, AT_UMIN),
    ATOMIC2(smax, AT_SMAX),
    ATOMIC2(umax, AT_UMAX),
    ATOMIC2(and, AT_AND),
    ATOMIC2(or, AT_OR),
    ATOMIC2(xor, AT_XOR),
    ATOMIC2(inc, AT_INC),
    ATOMIC2(dec, AT_DEC),
    ATOMIC(add_f32, AT_ADD_F, 0),
    ATOMIC(pk_add_f16, AT_PK_ADD_F16, 0),
    ATOMIC(add_f64, AT_ADD_F, 1),
    ATOMIC(min_f64, AT_MIN_F, 1),
    ATOMIC(max_f64, AT_MAX_F, 1),
};

const struct emu_table *isa_buffer_table(void) {
    static const struct emu_table t = {rows, sizeof rows / sizeof *rows};
    return &t;
}
