/* flow_rdna.c - waits, messages, barriers and modes of gfx11 and gfx12. */
#include "runtime/emu/isa/ops/memory.h"

#define H(name) static const struct emu_op *name(struct emu_wave *w, const struct emu_op *o)

/* Everything completes in order here, so there is nothing to wait for. */
H(nop) {
    (void)w;
    return o + 1;
}
H(code_end) {
    return isa_fault(w, o, "execution ran past the end of a function");
}

/* ---- barriers in two parts ---- */

/* A wave stops where it waits, and goes on when every wave of the workgroup waits too. */
H(barrier_signal) {
    if (w->signalled) return isa_fault(w, o, "signals a barrier twice without waiting at it");
    w->signalled = true;
    return o + 1;
}
H(barrier_wait) {
    if (!w->signalled) return isa_fault(w, o, "waits at a barrier it did not signal");
    w->signalled = false;
    w->barriers++;
    return isa_stop(w, o + 1, EMU_BARRIER);
}

H(sleep_var) {
    w->sleeps++;
    w->slept += 64 * (scalar32(w, &o->s[0]) & 127);
    return isa_stop(w, o + 1, EMU_SLEEP);
}

/* ---- modes ---- */

H(set_mode) {
    uint32_t at = o->row_arg, mask = 15u << at;
    return isa_set_mode(w, o, (w->mode & ~mask) | (o->flags << at & mask)) ? o + 1 : NULL;
}

/* ---- messages that return something ---- */

enum { MSG_DOORBELL = 0x80, MSG_REALTIME = 0x83, MSG_SE_AID = 0x87 };

H(sendmsg_rtn) {
    uint64_t v = 0;
    switch (o->flags & 255) {
    case MSG_DOORBELL:
        break;
    case MSG_REALTIME:
        v = isa_realtime(w);
        break;
    case MSG_SE_AID:
        v = w->group->se;
        break;
    default:
        return isa_fault(w, o, "message 0x%x is not modelled", o->flags & 255);
    }
    if (o->row_arg == 2)
        put64(&w->s[o->sd], v);
    else
        w->s[o->sd] = (uint32_t)v;
    return o + 1;
}

/* ---- scalar loads below a dword ---- */

H(s_load_small) {
    uint64_t addr = scalar64(w, &o->s[0]) + (uint64_t)(int64_t)o->offset;
    if (o->nsrc > 1) addr += scalar32(w, &o->s[1]);
    uint32_t bytes = o->row_arg, x = 0;
    if (!isa_memory_check(w, addr, bytes, false))
        return isa_fault_lane(w, o, -1, addr, bytes, "scalar load");
    memcpy(&x, (const void *)(uintptr_t)addr, bytes);
    if (o->row_arg2) x = bytes == 1 ? (uint32_t)(int8_t)x : (uint32_t)(int16_t)x;
    w->s[o->sd] = x;
    w->bytes_read += bytes;
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
/* Only the barrier of the whole workgroup. */
static bool bind_barrier(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                         struct emu_op *o) {
    (void)d;
    o->fn = row->fn;
    return t->ntok == 1 && t->tok[0].kind == TOK_INT && (int16_t)t->tok[0].i == -1;
}
static bool bind_sendmsg_rtn(struct emu_decode *d, const struct emu_row *row,
                             const struct emu_text *t, struct emu_op *o) {
    (void)d;
    o->fn = row->fn;
    o->row_arg = row->arg;
    o->flags = t->word[0] & 255;
    return t->ntok == 2 && isa_bind_sdst(&t->tok[0], row->arg, &o->sd);
}
static bool bind_s_load_small(struct emu_decode *d, const struct emu_row *row,
                              const struct emu_text *t, struct emu_op *o) {
    o->fn = row->fn;
    o->row_arg = row->arg;
    o->row_arg2 = row->arg2;
    o->nsrc = 1;
    o->offset = (int32_t)(t->word[1] << 8) >> 8;
    if (t->ntok != 3 || t->words != 2 || !isa_bind_sdst(&t->tok[0], 1, &o->sd)) return false;
    if (t->tok[1].kind != TOK_SGPR || !isa_bind_src(d, &t->tok[1], T_u64, &o->s[0])) return false;
    if (t->tok[2].kind == TOK_INT) return true;
    o->nsrc = 2;
    return t->tok[2].kind == TOK_SGPR && isa_bind_src(d, &t->tok[2], T_u32, &o->s[1]);
}

#define IMM(name, fn, arg)                                                                         \
    {                                                                                              \
#name, bind_imm, fn, "", C_OTHER, arg, 0, NULL, {                                          \
            0                                                                                      \
        }                                                                                          \
    }
static const struct emu_row rows[] = {
    IMM(s_waitcnt_vscnt, isa_wait, ISA_WAIT_STORES),
    IMM(s_waitcnt_vmcnt, isa_wait, ISA_WAIT_LOADS),
    IMM(s_waitcnt_expcnt, nop, 0),
    IMM(s_waitcnt_lgkmcnt, nop, 0),
    IMM(s_waitcnt_depctr, nop, 0),
    IMM(s_wait_loadcnt, isa_wait, ISA_WAIT_LOADS),
    IMM(s_wait_storecnt, isa_wait, ISA_WAIT_STORES),
    IMM(s_wait_samplecnt, nop, 0),
    IMM(s_wait_bvhcnt, nop, 0),
    IMM(s_wait_expcnt, nop, 0),
    IMM(s_wait_dscnt, nop, 0),
    IMM(s_wait_kmcnt, nop, 0),
    IMM(s_wait_loadcnt_dscnt, isa_wait, ISA_WAIT_LOADS_LDS),
    IMM(s_wait_storecnt_dscnt, isa_wait, ISA_WAIT_STORES_LDS),
    IMM(s_wait_alu, nop, 0),
    IMM(s_wait_idle, isa_wait, ISA_WAIT_IDLE),
    IMM(s_wait_event, nop, 0),
    IMM(s_delay_alu, nop, 0),
    IMM(s_clause, nop, 0),
    IMM(s_set_inst_prefetch_distance, nop, 0),
    IMM(s_prefetch_inst, nop, 0),
    IMM(s_prefetch_inst_pc_rel, nop, 0),
    IMM(s_prefetch_data, nop, 0),
    IMM(s_prefetch_data_pc_rel, nop, 0),
    IMM(s_version, nop, 0),
    IMM(s_code_end, code_end, 0),
    IMM(s_round_mode, set_mode, 0),
    IMM(s_denorm_mode, set_mode, 4),
    IMM(s_sleep_var, sleep_var, 0),
    {"s_barrier_signal", bind_barrier, barrier_signal, "", C_OTHER, 0, 0, NULL, {0}},
    {"s_barrier_wait", bind_barrier, barrier_wait, "", C_OTHER, 0, 0, NULL, {0}},
    {"s_sendmsg_rtn_b32", bind_sendmsg_rtn, sendmsg_rtn, "", C_SALU, 1, 0, NULL, {0}},
    {"s_sendmsg_rtn_b64", bind_sendmsg_rtn, sendmsg_rtn, "", C_SALU, 2, 0, NULL, {0}},
    {"s_load_u8", bind_s_load_small, s_load_small, "", C_SMEM, 1, 0, NULL, {0}},
    {"s_load_i8", bind_s_load_small, s_load_small, "", C_SMEM, 1, 1, NULL, {0}},
    {"s_load_u16", bind_s_load_small, s_load_small, "", C_SMEM, 2, 0, NULL, {0}},
    {"s_load_i16", bind_s_load_small, s_load_small, "", C_SMEM, 2, 1, NULL, {0}},
};

const struct emu_table *isa_flow_more_table(void) {
    static const struct emu_table t = {rows, sizeof rows / sizeof *rows};
    return &t;
}
