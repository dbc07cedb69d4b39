/* flow.c - branches, waits, special registers and scalar memory. */
#include "runtime/emu/isa/ops/link.h"
#include "runtime/emu/isa/ops/memory.h"

#define H(name) static const struct emu_op *name(struct emu_wave *w, const struct emu_op *o)

static uint64_t address_of(const struct emu_wave *w, const struct emu_op *o) {
    return w->program->addr + o->at;
}

static const struct emu_op *jump(struct emu_wave *w, const struct emu_op *o, uint64_t to) {
    const struct emu_program *p = w->program;
    uint64_t off = to - p->addr;
    if (off >= p->bytes || off & 3 || p->index[off / 4] == UINT32_MAX)
        return isa_fault(w, o, "jump to 0x%llx, which is not an instruction of this code object",
                         (unsigned long long)to);
    return &p->ops[p->index[off / 4]];
}

/* ---- branches ---- */

#define BRANCH(fn, cond)                                                                           \
    H(fn) {                                                                                        \
        return (cond) ? o->target : o + 1;                                                         \
    }
BRANCH(branch, w != NULL)
BRANCH(branch_scc0, !w->s[S_SCC])
BRANCH(branch_scc1, w->s[S_SCC])
BRANCH(branch_vccz, !(get64(&w->s[S_VCC]) & w->full))
BRANCH(branch_vccnz, get64(&w->s[S_VCC]) & w->full)
BRANCH(branch_execz, !wave_exec(w))
BRANCH(branch_execnz, wave_exec(w))

/* Addresses of jumps are those after the instruction, which is always one dword. */
H(getpc) {
    put64(&w->s[o->sd], address_of(w, o) + 4);
    return o + 1;
}
H(setpc) {
    return jump(w, o, scalar64(w, &o->s[0]));
}
H(swappc) {
    uint64_t to = scalar64(w, &o->s[0]);
    put64(&w->s[o->sd], address_of(w, o) + 4);
    return jump(w, o, to);
}
H(call) {
    put64(&w->s[o->sd], address_of(w, o) + 4);
    return o->target;
}

/* ---- waits ---- */

H(nop) {
    (void)w;
    return o + 1;
}
/* A mark for a profiler that is not there; faults tell it. */
H(ttracedata) {
    w->trace[0] = w->trace[1];
    w->trace[1] = w->s[S_M0];
    if (++w->traces % 2 == 0 &&
        (w->traces == 2 || w->trace[0] != w->reached[0] || w->trace[1] != w->reached[1])) {
        w->reached[0] = w->trace[0];
        w->reached[1] = w->trace[1];
        w->unmarked = 0;
        w->group->progress = true;
    }
    return o + 1;
}
H(endpgm) {
    isa_link_settle(w);
    return isa_stop(w, o, EMU_ENDED);
}
H(barrier) {
    w->barriers++;
    return isa_stop(w, o + 1, EMU_BARRIER);
}
H(sleep) {
    w->sleeps++;
    w->slept += 64 * (o->flags & 127);
    return isa_stop(w, o + 1, EMU_SLEEP);
}
H(trap) {
    return isa_fault(w, o, "trap %u", o->flags & 0xff);
}
H(halt) {
    if (!(o->flags & 1)) return o + 1;
    return isa_fault(w, o, "the wave halted itself");
}

/* ---- special registers ---- */

enum {
    HW_MODE = 1,
    HW_HW_ID = 4, /* until gfx9 */
    HW_SH_MEM_BASES = 15,
    HW_XCC_ID = 20, /* gfx94x, gfx95x */
    HW_ID1 = 23,    /* from gfx10 on */
    HW_SHADER_CYCLES = 29,
    HW_SHADER_CYCLES_HI = 30, /* gfx12 */
};

static uint32_t hw_id(const struct emu_wave *w) {
    const struct emu_group *g = w->group;
    return (w->index / 4 & 15) | (w->index % 4) << 4 | (g->cu & 15) << 8 | (g->sh & 1) << 12 |
           (g->se & 7) << 13;
}
/* Two of the group's CUs make a workgroup processor, with four SIMDs. */
static uint32_t hw_id1(const struct emu_wave *w) {
    const struct emu_group *g = w->group;
    return (w->index / 4 & 31) | (w->index % 4) << 8 | (g->cu / 2 & 15) << 10 | (g->sh & 1) << 16 |
           (g->se & 7) << 18;
}

/* False for registers that are not modelled or that this GPU does not have. */
static bool hwreg(const struct emu_wave *w, uint32_t id, uint32_t *v) {
    enum isa_gen gen = w->program->gen;
    if (id == HW_MODE)
        *v = w->mode;
    else if (id == HW_SH_MEM_BASES)
        *v = APERTURE_PRIVATE >> 16 | (uint32_t)(APERTURE_SHARED >> 16) << 16;
    else if (id == HW_HW_ID && gen < GEN_11)
        *v = hw_id(w);
    else if (id == HW_XCC_ID && (gen == GEN_942 || gen == GEN_950))
        *v = w->group->xcc_id & 15;
    else if (id == HW_ID1 && gen >= GEN_11)
        *v = hw_id1(w);
    else if (id == HW_SHADER_CYCLES && gen >= GEN_11)
        *v = (uint32_t)isa_cycles(w) & (gen == GEN_11 ? 0xfffff : UINT32_MAX);
    else if (id == HW_SHADER_CYCLES_HI && gen == GEN_12)
        *v = (uint32_t)(isa_cycles(w) >> 32);
    else
        return false;
    return true;
}

H(getreg) {
    uint32_t id = o->flags & 63, from = o->flags >> 6 & 31, n = (o->flags >> 11 & 31) + 1, v;
    if (!hwreg(w, id, &v)) return isa_fault(w, o, "hardware register %u is not modelled", id);
    v >>= from;
    w->s[o->sd] = n < 32 ? v & ((1u << n) - 1) : v;
    return o + 1;
}

static const struct emu_op *setreg(struct emu_wave *w, const struct emu_op *o, uint32_t value) {
    uint32_t id = o->flags & 63, from = o->flags >> 6 & 31, n = (o->flags >> 11 & 31) + 1;
    uint32_t mask = (n < 32 ? (1u << n) - 1 : UINT32_MAX) << from;
    if (id != HW_MODE) return isa_fault(w, o, "hardware register %u cannot be written here", id);
    w->mode = (w->mode & ~mask) | (value << from & mask);
    return isa_set_mode(w, o, w->mode) ? o + 1 : NULL;
}
H(setreg_b32) {
    return setreg(w, o, w->s[o->sd]);
}
H(setreg_imm32) {
    return setreg(w, o, (uint32_t)o->s[0].imm);
}

H(memtime) {
    put64(&w->s[o->sd], o->row_arg ? isa_realtime(w) : isa_cycles(w));
    return o + 1;
}

/* ---- scalar loads ---- */

H(s_load) {
    uint64_t addr = scalar64(w, &o->s[0]) + (uint64_t)(int64_t)o->offset;
    if (o->nsrc > 1) addr += scalar32(w, &o->s[1]);
    addr &= ~UINT64_C(3);
    uint32_t bytes = 4u * o->count;
    if (!isa_memory_check(w, addr, bytes, false))
        return isa_fault_lane(w, o, -1, addr, bytes, "scalar load");
    if (__builtin_expect(w->caches != NULL, 0))
        emu_cache_scalar_load(w->caches, addr, bytes, &w->s[o->sd]);
    else
        memcpy(&w->s[o->sd], (const void *)(uintptr_t)addr, bytes);
    w->bytes_read += bytes;
    return o + 1;
}

H(dcache_inv) {
    if (w->caches) emu_cache_invalidate(w->caches, 1u << EMU_SCALAR);
    return o + 1;
}

/* From a buffer descriptor: base, stride, records, flags; out of bounds reads give zero. */
H(s_buffer_load) {
    const uint32_t *d = &w->s[o->s[0].reg];
    uint64_t base = (d[0] | (uint64_t)(d[1] & 0xffff) << 32);
    uint64_t off = (uint64_t)(int64_t)o->offset + (o->nsrc > 1 ? scalar32(w, &o->s[1]) : 0);
    uint64_t stride = d[1] >> 16 & 0x3fff, records = d[2],
             limit = stride ? stride * records : records;
    off &= ~UINT64_C(3);
    uint32_t out[16] = {0};
    for (unsigned i = 0; i < o->count; i++) {
        uint64_t at = off + 4 * i;
        if (at + 4 > limit) continue;
        if (!isa_memory_check(w, base + at, 4, false))
            return isa_fault_lane(w, o, -1, base + at, 4, "scalar load");
        if (w->caches)
            emu_cache_scalar_load(w->caches, base + at, 4, &out[i]);
        else
            memcpy(&out[i], (const void *)(uintptr_t)(base + at), 4);
    }
    memcpy(&w->s[o->sd], out, 4u * o->count);
    w->bytes_read += 4u * o->count;
    return o + 1;
}

/* ---- decoding ---- */

static bool bind_imm(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                     struct emu_op *o) {
    (void)d;
    o->fn = row->fn;
    o->row_arg = row->arg;
    o->flags = t->word[0] & 0xffff;
    return true;
}
static bool bind_imm_sig(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                         struct emu_op *o) {
    o->flags = t->word[0] & 0xffff;
    return isa_bind_sig(d, row, t, o);
}
/* hwreg(...), then a scalar register, which is read, or a 32-bit literal */
static bool bind_setreg(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                        struct emu_op *o) {
    (void)d;
    o->fn = row->fn;
    o->flags = t->word[0] & 0xffff;
    if (row->arg) {
        o->s[0].imm = t->word[1];
        return t->words == 2;
    }
    return t->ntok == 2 && isa_bind_sdst(&t->tok[1], 1, &o->sd);
}

static bool bind_s_load(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                        struct emu_op *o) {
    o->fn = row->fn;
    o->count = row->arg;
    if (t->ntok != 3 || t->words != 2 || !isa_bind_sdst(&t->tok[0], row->arg, &o->sd)) return false;
    if (t->tok[1].kind != TOK_SGPR || t->tok[1].count != (row->arg2 ? 4 : 2)) return false;
    o->s[0] = (struct emu_src){.kind = SRC_SGPR, .reg = t->tok[1].reg, .dwords = 2};
    o->nsrc = 1;
    int unused = t->gen == GEN_12 ? 8 : 11;
    if (t->gen >= GEN_11 || t->word[0] & 1 << 17)
        o->offset = (int32_t)(t->word[1] << unused) >> unused;
    if (t->tok[2].kind == TOK_SGPR) {
        o->nsrc = 2;
        return isa_bind_src(d, &t->tok[2], T_u32, &o->s[1]);
    }
    return t->tok[2].kind == TOK_INT;
}

#define IMM(name, fn, cls)                                                                         \
    {                                                                                              \
#name, bind_imm, fn, "", cls, 0, 0, NULL, {                                                \
            0                                                                                      \
        }                                                                                          \
    }
#define LOAD(name, n)                                                                              \
    {                                                                                              \
#name, bind_s_load, s_load, "", C_SMEM, n, 0, NULL, {                                      \
            0                                                                                      \
        }                                                                                          \
    }
#define BUFFER(name, n)                                                                            \
    {                                                                                              \
#name, bind_s_load, s_buffer_load, "", C_SMEM, n, 1, NULL, {                               \
            0                                                                                      \
        }                                                                                          \
    }
static const struct emu_row rows[] = {
    IMM(s_branch, branch, C_BRANCH),
    IMM(s_cbranch_scc0, branch_scc0, C_BRANCH),
    IMM(s_cbranch_scc1, branch_scc1, C_BRANCH),
    IMM(s_cbranch_vccz, branch_vccz, C_BRANCH),
    IMM(s_cbranch_vccnz, branch_vccnz, C_BRANCH),
    IMM(s_cbranch_execz, branch_execz, C_BRANCH),
    IMM(s_cbranch_execnz, branch_execnz, C_BRANCH),
    {"s_call_b64", bind_imm_sig, call, "Dq-w", C_BRANCH, 0, 0, NULL, {0}},
    {"s_getpc_b64", isa_bind_sig, getpc, "Dq", C_SALU, 0, 0, NULL, {0}},
    {"s_setpc_b64", isa_bind_sig, setpc, "sq", C_OTHER, 0, 0, NULL, {0}},
    {"s_swappc_b64", isa_bind_sig, swappc, "Dqsq", C_OTHER, 0, 0, NULL, {0}},
    IMM(s_nop, nop, C_OTHER),
    IMM(v_nop, nop, C_VALU),
    {"s_waitcnt", bind_imm, isa_wait, "", C_OTHER, ISA_WAIT_ALL, 0, NULL, {0}},
    IMM(s_setprio, nop, C_OTHER),
    IMM(s_sendmsg, nop, C_OTHER),
    IMM(s_icache_inv, nop, C_OTHER),
    IMM(s_incperflevel, nop, C_OTHER),
    IMM(s_decperflevel, nop, C_OTHER),
    IMM(s_ttracedata, ttracedata, C_OTHER),
    IMM(s_dcache_inv, dcache_inv, C_SMEM),
    IMM(s_dcache_wb, nop, C_SMEM),
    IMM(s_dcache_inv_vol, dcache_inv, C_SMEM),
    IMM(s_dcache_wb_vol, nop, C_SMEM),
    IMM(s_endpgm, endpgm, C_OTHER),
    IMM(s_barrier, barrier, C_OTHER),
    IMM(s_sleep, sleep, C_OTHER),
    IMM(s_trap, trap, C_OTHER),
    IMM(s_sethalt, halt, C_OTHER),
    {"s_getreg_b32", bind_imm_sig, getreg, "Dw-w", C_SALU, 0, 0, NULL, {0}},
    {"s_setreg_b32", bind_setreg, setreg_b32, "", C_SALU, 0, 0, NULL, {0}},
    {"s_setreg_imm32_b32", bind_setreg, setreg_imm32, "", C_SALU, 1, 0, NULL, {0}},
    {"s_memtime", isa_bind_sig, memtime, "Dq", C_SMEM, 0, 0, NULL, {0}},
    {"s_memrealtime", isa_bind_sig, memtime, "Dq", C_SMEM, 1, 0, NULL, {0}},
    LOAD(s_load_dword, 1),
    LOAD(s_load_dwordx2, 2),
    LOAD(s_load_b96, 3),
    LOAD(s_load_dwordx4, 4),
    LOAD(s_load_dwordx8, 8),
    LOAD(s_load_dwordx16, 16),
    BUFFER(s_buffer_load_dword, 1),
    BUFFER(s_buffer_load_dwordx2, 2),
    BUFFER(s_buffer_load_dwordx4, 4),
    BUFFER(s_buffer_load_dwordx8, 8),
    BUFFER(s_buffer_load_dwordx16, 16),
};

const struct emu_table *isa_flow_table(void) {
    static const struct emu_table t = {rows, sizeof rows / sizeof *rows};
    return &t;
}
