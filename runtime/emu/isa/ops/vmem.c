/* vmem.c - global, flat and scratch memory instructions, and cache control. */
#include "runtime/emu/isa/ops/vmem.h"

#include "runtime/emu/isa/ops/atomic.h"
#include "runtime/emu/isa/ops/coherence.h"
#include "runtime/emu/isa/ops/link.h"

#define H(name) static const struct emu_op *name(struct emu_wave *w, const struct emu_op *o)

/* ---- addresses ---- */

struct emu_span isa_active_span(const uint64_t *a, uint64_t mask) {
    struct emu_span s = {UINT64_MAX, 0};
    if (mask == UINT32_MAX) {
        for (int i = 0; i < 32; i++) {
            s.lo = a[i] < s.lo ? a[i] : s.lo;
            s.hi = a[i] > s.hi ? a[i] : s.hi;
        }
        return s;
    }
    for (; mask; mask &= mask - 1) {
        uint64_t x = a[__builtin_ctzll(mask)];
        s.lo = x < s.lo ? x : s.lo;
        s.hi = x > s.hi ? x : s.hi;
    }
    return s;
}

static struct emu_span global_addresses(struct emu_wave *w, const struct emu_op *o, uint64_t *a) {
    uint64_t imm = (uint64_t)(int64_t)o->offset;
    const uint32_t *v = w->v[o->s[0].reg];
    if (o->s[1].kind == SRC_NONE) return w->lanes->address64(a, v, v + LANES, imm);
    return w->lanes->address32(a, v, scalar64(w, &o->s[1]) + imm);
}

/* Each lane's scratch is a run of bytes of its own. Lanes outside it are taken out of FOUND. */
static void scratch_addresses(struct emu_wave *w, const struct emu_op *o, uint64_t *a,
                              uint64_t *found) {
    int64_t base = o->offset;
    if (o->s[1].kind != SRC_NONE) base += (int32_t)scalar32(w, &o->s[1]);
    uint32_t bytes = isa_data_bytes(o->row_arg);
    for (int i = 0; i < LANES; i++) {
        int64_t at = base + (o->s[0].kind == SRC_NONE ? 0 : (int32_t)w->v[o->s[0].reg][i]);
        bool in = at >= 0 && at + bytes <= w->scratch_bytes;
        a[i] = (uint64_t)(uintptr_t)w->scratch + (uint64_t)i * w->scratch_bytes + (uint64_t)at;
        if (!in) *found &= ~(UINT64_C(1) << i);
    }
}

/* Flat addresses in an aperture become host addresses; false with the lane that is outside. */
static bool flat_resolve(struct emu_wave *w, uint64_t *a, uint64_t mask, uint32_t bytes,
                         uint64_t *local, int *bad) {
    *local = 0;
    for (uint64_t m = mask; m; m &= m - 1) {
        int i = __builtin_ctzll(m);
        uint32_t top = (uint32_t)(a[i] >> 32);
        uint64_t at = (uint32_t)a[i];
        if (top != APERTURE_SHARED && top != APERTURE_PRIVATE) continue;
        *bad = i;
        if (at + bytes > (top == APERTURE_SHARED ? w->lds_bytes : w->scratch_bytes)) return false;
        uint8_t *base = top == APERTURE_SHARED ? w->lds : w->scratch + (size_t)i * w->scratch_bytes;
        a[i] = (uint64_t)(uintptr_t)(base + at);
        *local |= UINT64_C(1) << i;
    }
    return true;
}

/* Every lane of MASK may access BYTES at its address; else NULL is returned after a fault. */
static bool check(struct emu_wave *w, const struct emu_op *o, const uint64_t *a, uint64_t mask,
                  struct emu_span s, uint32_t bytes, bool write, const char *verb) {
    if (!mask || isa_memory_check(w, s.lo, s.hi - s.lo + bytes, write)) return true;
    for (; mask; mask &= mask - 1) {
        int i = __builtin_ctzll(mask);
        if (isa_memory_check(w, a[i], bytes, write)) continue;
        isa_fault_lane(w, o, i, a[i], bytes, verb);
        return false;
    }
    return true;
}

/* Checked host addresses for the active lanes of a global, flat or scratch instruction. */
static bool addresses(struct emu_wave *w, const struct emu_op *o, uint64_t *a, uint64_t mask,
                      uint32_t bytes, bool write, const char *verb) {
    if (o->flags == SEG_SCRATCH) {
        uint64_t found = mask;
        scratch_addresses(w, o, a, &found);
        if (found == mask) return true;
        int i = __builtin_ctzll(mask & ~found);
        uint64_t at = a[i] - (uint64_t)(uintptr_t)w->scratch - (uint64_t)i * w->scratch_bytes;
        isa_fault(w, o, "%s of %u bytes at %lld of the lane's scratch, which has %u", verb, bytes,
                  (long long)at, w->scratch_bytes);
        w->fault->lane = (uint32_t)i;
        return false;
    }
    struct emu_span s = global_addresses(w, o, a);
    if (o->flags == SEG_FLAT) {
        uint64_t local;
        int bad = 0;
        if (!flat_resolve(w, a, mask, bytes, &local, &bad)) {
            isa_fault(w, o, "%s of %u bytes at 0x%llx, outside LDS or scratch", verb, bytes,
                      (unsigned long long)a[bad]);
            w->fault->lane = (uint32_t)bad;
            return false;
        }
        mask &= ~local;
        if (local) s = isa_active_span(a, mask);
    }
    if (mask != UINT64_MAX) s = isa_active_span(a, mask);
    return check(w, o, a, mask, s, bytes, write, verb);
}

/* Lanes that no modelled cache serves. */
static uint64_t local_lanes(const struct emu_wave *w, const struct emu_op *o, const uint64_t *a,
                            uint64_t exec) {
    if (o->flags == SEG_GLOBAL) return 0;
    return o->flags == SEG_SCRATCH ? exec : isa_local_lanes(w, a, exec);
}

/* ---- loads and stores ---- */

H(h_load) {
    uint64_t a[LANES] __attribute__((aligned(64))), exec = wave_exec(w);
    uint32_t bytes = isa_data_bytes(o->row_arg);
    if (!exec) return o + 1;
    if (!addresses(w, o, a, exec, bytes, false, "load")) return NULL;
    if (w->link.n) isa_link_meet(w, a, exec);
    if (__builtin_expect(w->caches != NULL, 0))
        isa_cached_load(w, o, w->v[o->d], a, exec, local_lanes(w, o, a, exec));
    else
        isa_load(w->v[o->d], a, o->row_arg, exec);
    w->bytes_read += bytes * (unsigned)__builtin_popcountll(exec);
    return o + 1;
}

H(h_store) {
    uint64_t a[LANES] __attribute__((aligned(64))), exec = wave_exec(w);
    uint32_t bytes = isa_data_bytes(o->row_arg);
    if (!exec) return o + 1;
    if (!addresses(w, o, a, exec, bytes, true, "store")) return NULL;
    uint64_t now = exec;
    if (isa_link_modelled(w)) now = isa_link_store(w, o, w->v[o->s[2].reg], a, exec);
    if (__builtin_expect(w->caches != NULL, 0))
        isa_cached_store(w, o, w->v[o->s[2].reg], a, now, local_lanes(w, o, a, now));
    else
        isa_store(w->v[o->s[2].reg], a, o->row_arg, now);
    w->bytes_written += bytes * (unsigned)__builtin_popcountll(exec);
    return now != exec && isa_link_yields(w) ? isa_stop(w, o + 1, EMU_BUDGET) : o + 1;
}

/* Straight into LDS: M0 and the offset give the first lane's place, the others follow. */
H(h_load_lds) {
    uint64_t a[LANES] __attribute__((aligned(64))), to[LANES], exec = wave_exec(w);
    uint32_t bytes = isa_data_bytes(o->row_arg), t[4 * LANES];
    if (!exec) return o + 1;
    if (!addresses(w, o, a, exec, bytes, false, "load")) return NULL;
    int64_t base = (int64_t)(w->s[S_M0] & 0xffff) + o->offset;
    int dwords = isa_data_dwords(o->row_arg), each = 4 * dwords;
    if (base < 0 || base + each * LANES > w->lds_bytes)
        return isa_fault(w, o, "LDS bytes %lld to %lld of a workgroup that has %u", (long long)base,
                         (long long)base + each * LANES, w->lds_bytes);
    if (w->caches)
        isa_cached_load(w, o, t, a, exec, 0);
    else
        isa_load(t, a, o->row_arg, exec);
    for (int i = 0; i < LANES; i++)
        to[i] = (uint64_t)(uintptr_t)(w->lds + base + each * i);
    isa_store(t, to, D_X1 + dwords - 1, exec);
    w->bytes_read += bytes * (unsigned)__builtin_popcountll(exec);
    return o + 1;
}

/* ---- atomics ---- */

void isa_atomic_lanes(struct emu_wave *w, const struct emu_op *o, const uint64_t *a,
                      uint64_t mask) {
    isa_atomic_fn fn = (isa_atomic_fn)o->kernel;
    const uint32_t *x = w->v[o->s[2].reg];
    bool wide = o->row_arg2, compare = o->row_arg == AT_CMPSWAP;
    /* compare-and-swap has the new value first, what to compare with after it */
    const uint32_t *c = compare ? x + (wide ? 2 : 1) * LANES : x;
    for (uint64_t m = mask; m; m &= m - 1) {
        int i = __builtin_ctzll(m);
        uint64_t value = x[i] | (wide ? (uint64_t)x[i + LANES] << 32 : 0);
        uint64_t expected = c[i] | (wide ? (uint64_t)c[i + LANES] << 32 : 0);
        uint64_t old = fn((void *)(uintptr_t)a[i], value, expected);
        if (!o->d_vgpr) continue;
        w->v[o->d][i] = (uint32_t)old;
        if (wide) w->v[o->d + 1][i] = (uint32_t)(old >> 32);
    }
    w->atomics += (unsigned)__builtin_popcountll(mask);
}

H(h_atomic) {
    uint64_t a[LANES] __attribute__((aligned(64))), exec = wave_exec(w);
    uint32_t bytes = o->row_arg2 ? 8 : 4;
    if (!exec) return o + 1;
    if (!addresses(w, o, a, exec, bytes, true, "atomic")) return NULL;
    for (uint64_t m = exec; m; m &= m - 1) {
        int i = __builtin_ctzll(m);
        if (a[i] % bytes == 0) continue;
        isa_fault(w, o, "atomic of %u bytes at 0x%llx, which is not aligned", bytes,
                  (unsigned long long)a[i]);
        w->fault->addr = a[i];
        w->fault->lane = (uint32_t)i;
        return NULL;
    }
    if (w->link.n) isa_link_meet(w, a, exec);
    if (w->caches) emu_cache_atomic(w->caches, a, exec & ~local_lanes(w, o, a, exec), bytes);
    isa_atomic_lanes(w, o, a, exec);
    w->bytes_read += bytes * (unsigned)__builtin_popcountll(exec);
    w->bytes_written += bytes * (unsigned)__builtin_popcountll(exec);
    return o + 1;
}

H(h_fence) {
    atomic_thread_fence(memory_order_seq_cst);
    if (w->link.n && w->caches && o->flags & FENCE_WRITE_BACK) isa_link_settle(w);
    if (w->caches) isa_cache_control(w, o);
    return o + 1;
}

/* ---- decoding ---- */

static bool bind_address(struct emu_decode *d, const struct emu_tok *v, const struct emu_tok *s,
                         struct emu_op *o) {
    uint16_t reg;
    bool scalar = s && s->kind == TOK_SGPR;
    o->nsrc = 3;
    if (scalar) {
        if (s->count != (o->flags == SEG_SCRATCH ? 1 : 2)) return false;
        if (!isa_bind_src(d, s, s->count == 2 ? T_u64 : T_u32, &o->s[1])) return false;
    } else if (s && s->kind != TOK_OFF) {
        return false;
    }
    if (v->kind == TOK_OFF) return o->flags == SEG_SCRATCH;
    int dwords = o->flags == SEG_SCRATCH || scalar ? 1 : 2;
    if (!isa_bind_vreg(d, v, dwords, &reg)) return false;
    o->s[0] = (struct emu_src){.kind = SRC_VGPR, .reg = reg, .dwords = (uint8_t)dwords};
    return true;
}

static bool bind_data(struct emu_decode *d, const struct emu_tok *t, int dwords, struct emu_op *o) {
    uint16_t reg;
    if (!isa_bind_vreg(d, t, dwords, &reg)) return false;
    o->s[2] = (struct emu_src){.kind = SRC_VGPR, .reg = reg, .dwords = (uint8_t)dwords};
    return true;
}

/* The encodings of gfx11 and gfx12; false for those of other lengths. */
static bool bind_segment11(const struct emu_text *t, struct emu_op *o) {
    o->flags = t->name[0] == 'f' ? SEG_FLAT : t->name[0] == 's' ? SEG_SCRATCH : SEG_GLOBAL;
    if (t->gen == GEN_12) {
        o->offset = (int32_t)t->word[2] >> 8;
        return t->words == 3;
    }
    o->offset = (int32_t)(t->word[0] << 19) >> 19;
    if (o->flags == SEG_FLAT) o->offset &= 0xfff;
    return t->words == 2;
}

static bool bind_segment(const struct emu_text *t, struct emu_op *o) {
    if (t->gen >= GEN_11) return bind_segment11(t, o);
    o->flags = t->word[0] >> 14 & 3;
    o->offset = (int32_t)(t->word[0] << 19) >> 19;
    if (o->flags == SEG_FLAT) o->offset &= 0xfff;
    return t->words == 2;
}

static bool bind_access(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                        struct emu_op *o) {
    int dwords = isa_data_dwords(row->arg), n = 0;
    bool load = row->fn == h_load, lds = row->fn == h_load_lds;
    o->fn = row->fn;
    o->row_arg = row->arg;
    if (load || lds)
        isa_bind_load_level(d->p->isa, t, o);
    else
        isa_bind_store_level(d->p->isa, t, o);
    if (!bind_segment(t, o)) return false;
    int want = (lds ? 1 : 2) + (o->flags != SEG_FLAT);
    bool to_lds = t->gen < GEN_11 && t->word[0] >> 13 & 1;
    if (t->ntok != want || (to_lds && !lds && o->flags == SEG_GLOBAL)) return false;
    if (load && !isa_bind_vdst(d, &t->tok[n++], dwords, o)) return false;
    const struct emu_tok *addr = &t->tok[n++];
    if (!load && !lds && !bind_data(d, &t->tok[n++], dwords, o)) return false;
    return bind_address(d, addr, o->flags == SEG_FLAT ? NULL : &t->tok[n], o);
}

static bool bind_atomic(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                        struct emu_op *o) {
    int dwords = row->arg2 ? 2 : 1, n = 0;
    o->fn = row->fn;
    o->row_arg = row->arg;
    o->row_arg2 = row->arg2;
    o->kernel =
        (void (*)(void))(row->arg2 ? isa_atomic64 : isa_atomic32)((enum isa_atomic)row->arg);
    if (!o->kernel || !bind_segment(t, o)) return false;
    /* gfx9: glc or sc0 */
    bool returns = t->gen >= GEN_11 ? t->ntok > 2 + (o->flags != SEG_FLAT) : t->word[0] >> 16 & 1;
    if (t->ntok != 2 + returns + (o->flags != SEG_FLAT)) return false;
    if (returns && !isa_bind_vdst(d, &t->tok[n++], dwords, o)) return false;
    const struct emu_tok *addr = &t->tok[n++];
    if (!bind_data(d, &t->tok[n++], row->arg == AT_CMPSWAP ? 2 * dwords : dwords, o)) return false;
    return bind_address(d, addr, o->flags == SEG_FLAT ? NULL : &t->tok[n], o);
}

static bool bind_fence(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                       struct emu_op *o) {
    o->fn = row->fn;
    return isa_bind_cache_control(d->p->isa, t, o) && (t->ntok == 0 || t->tok[0].kind == TOK_OTHER);
}

#define ACCESS(seg, suffix, fn, kind)                                                              \
    {                                                                                              \
#seg "_" #suffix, bind_access, fn, "", C_VMEM, kind, 0, NULL, {                            \
            0                                                                                      \
        }                                                                                          \
    }
#define SEGMENT(seg)                                                                               \
    ACCESS(seg, load_ubyte, h_load, D_U8), ACCESS(seg, load_sbyte, h_load, D_I8),                  \
        ACCESS(seg, load_ushort, h_load, D_U16), ACCESS(seg, load_sshort, h_load, D_I16),          \
        ACCESS(seg, load_ubyte_d16, h_load, D_U8_LO),                                              \
        ACCESS(seg, load_ubyte_d16_hi, h_load, D_U8_HI),                                           \
        ACCESS(seg, load_sbyte_d16, h_load, D_I8_LO),                                              \
        ACCESS(seg, load_sbyte_d16_hi, h_load, D_I8_HI),                                           \
        ACCESS(seg, load_short_d16, h_load, D_16_LO),                                              \
        ACCESS(seg, load_short_d16_hi, h_load, D_16_HI), ACCESS(seg, load_dword, h_load, D_X1),    \
        ACCESS(seg, load_dwordx2, h_load, D_X2), ACCESS(seg, load_dwordx3, h_load, D_X3),          \
        ACCESS(seg, load_dwordx4, h_load, D_X4), ACCESS(seg, store_byte, h_store, D_U8),           \
        ACCESS(seg, store_byte_d16_hi, h_store, D_U8_HI),                                          \
        ACCESS(seg, store_short, h_store, D_U16),                                                  \
        ACCESS(seg, store_short_d16_hi, h_store, D_16_HI),                                         \
        ACCESS(seg, store_dword, h_store, D_X1), ACCESS(seg, store_dwordx2, h_store, D_X2),        \
        ACCESS(seg, store_dwordx3, h_store, D_X3), ACCESS(seg, store_dwordx4, h_store, D_X4)
#define ATOMIC(seg, name, op, wide)                                                                \
    {                                                                                              \
#seg "_atomic_" #name, bind_atomic, h_atomic, "", C_VMEM, op, wide, NULL, {                \
            0                                                                                      \
        }                                                                                          \
    }
#define ATOMIC2(seg, name, op) ATOMIC(seg, name, op, 0), ATOMIC(seg, name##_x2, op, 1)
#define ATOMICS(seg)                                                                               \
    ATOMIC2(seg, swap, AT_SWAP), ATOMIC2(seg, cmpswap, AT_CMPSWAP), ATOMIC2(seg, add, AT_ADD),     \
        ATOMIC2(seg, sub, AT_SUB), ATOMIC2(seg, smin, AT_SMIN), ATOMIC2(seg, umin, AT_UMIN),       \
        ATOMIC2(seg, smax, AT_SMAX), ATOMIC2(seg, umax, AT_UMAX), ATOMIC2(seg, and, AT_AND),       \
        ATOMIC2(seg, or, AT_OR), ATOMIC2(seg, xor, AT_XOR), ATOMIC2(seg, inc, AT_INC),             \
        ATOMIC2(seg, dec, AT_DEC), ATOMIC(seg, add_f32, AT_ADD_F, 0),                              \
        ATOMIC(seg, min_f32, AT_MIN_F, 0), ATOMIC(seg, max_f32, AT_MAX_F, 0),                      \
        ATOMIC(seg, pk_add_f16, AT_PK_ADD_F16, 0), ATOMIC(seg, pk_add_bf16, AT_PK_ADD_BF16, 0),    \
        ATOMIC(seg, add_f64, AT_ADD_F, 1), ATOMIC(seg, min_f64, AT_MIN_F, 1),                      \
        ATOMIC(seg, max_f64, AT_MAX_F, 1)

static const struct emu_row rows[] = {
    SEGMENT(global),
    SEGMENT(flat),
    SEGMENT(scratch),
    ATOMICS(global),
    ATOMICS(flat),
    ACCESS(global, load_lds_dword, h_load_lds, D_X1),
    ACCESS(global, load_lds_dwordx3, h_load_lds, D_X3),
    ACCESS(global, load_lds_dwordx4, h_load_lds, D_X4),
    ACCESS(global, load_lds_ubyte, h_load_lds, D_U8),
    ACCESS(global, load_lds_sbyte, h_load_lds, D_I8),
    ACCESS(global, load_lds_ushort, h_load_lds, D_U16),
    ACCESS(global, load_lds_sshort, h_load_lds, D_I16),
    {"buffer_wbl2", bind_fence, h_fence, "", C_VMEM, 0, 0, NULL, {0}},
    {"buffer_inv", bind_fence, h_fence, "", C_VMEM, 0, 0, NULL, {0}},
    {"buffer_invl2", bind_fence, h_fence, "", C_VMEM, 0, 0, NULL, {0}},
    {"buffer_wbinvl1", bind_fence, h_fence, "", C_VMEM, 0, 0, NULL, {0}},
    {"buffer_wbinvl1_vol", bind_fence, h_fence, "", C_VMEM, 0, 0, NULL, {0}},
    {"buffer_gl0_inv", bind_fence, h_fence, "", C_VMEM, 0, 0, NULL, {0}},
    {"buffer_gl1_inv", bind_fence, h_fence, "", C_VMEM, 0, 0, NULL, {0}},
    {"global_inv", bind_fence, h_fence, "", C_VMEM, 0, 0, NULL, {0}},
    {"global_wb", bind_fence, h_fence, "", C_VMEM, 0, 0, NULL, {0}},
    {"global_wbinv", bind_fence, h_fence, "", C_VMEM, 0, 0, NULL, {0}},
};

const struct emu_table *isa_vmem_table(void) {
    static const struct emu_table t = {rows, sizeof rows / sizeof *rows};
    return &t;
}
