/* ext.c - abs, neg, clamp, omod, op_sel, DPP, SDWA and denormal flushing. */
#include "runtime/emu/isa/ops/ext.h"

#include "runtime/emu/isa/ops/valu.h"

/* ---- decoding ---- */

static uint32_t bits(uint32_t word, int lo, int n) {
    return (word >> lo) & ((1u << n) - 1);
}

static bool is16(int type) {
    return type == T_u16 || type == T_i16 || type == T_f16 || type == T_u16p || type == T_i16p ||
           type == T_f16p;
}
static bool is_packed(int type) {
    return type == T_p16 || type == T_ph16 || type == T_p32;
}
static bool is_float(int type) {
    return type == T_f16 || type == T_f16p || type == T_f32 || type == T_f64 || type == T_ph16 ||
           type == T_p32;
}

static void set_sign(struct emu_ext *x, const struct emu_op *o, uint32_t abs, uint32_t neg) {
    for (int n = 0; n < 3; n++) {
        uint32_t sign = is16(o->s[n].type) ? 0x8000 : 0x80000000;
        x->and_mask[n] = abs >> n & 1 ? ~sign : UINT32_MAX;
        x->xor_mask[n] = neg >> n & 1 ? sign : 0;
    }
}

static bool bind_vop3(struct emu_ext *x, const struct emu_text *t, const struct emu_op *o,
                      bool has_sdst) {
    uint32_t w0 = t->word[0], w1 = t->word[1];
    set_sign(x, o, has_sdst ? 0 : bits(w0, 8, 3), bits(w1, 29, 3));
    x->op_sel = has_sdst ? 0 : (uint8_t)bits(w0, 11, 4);
    x->clamp = bits(w0, 15, 1);
    x->omod = (uint8_t)bits(w1, 27, 2);
    return true;
}

/* Halves of registers that the text names, beside those the encoding selects. */
static bool bind_halves(struct emu_ext *x, const struct emu_op *o) {
    if (x->encoding == ENC_VOP3P) return true;
    for (int n = 0; n < 3; n++) {
        if (o->s[n].high) x->op_sel |= (uint8_t)(1 << n);
        if (x->op_sel >> n & 1 && !is16(o->s[n].type)) return false;
    }
    if (o->d_high) x->op_sel |= 8;
    return !(x->op_sel & 8) || is16(o->d_type);
}

/* Packed f32 and constants: the half above a 32-bit constant is not defined here. */
static bool bind_vop3p(struct emu_ext *x, const struct emu_text *t, const struct emu_op *o) {
    uint32_t w0 = t->word[0], w1 = t->word[1];
    uint32_t neg_lo = bits(w1, 29, 3), neg_hi = bits(w0, 8, 3);
    x->op_sel = (uint8_t)bits(w0, 11, 3);
    x->op_sel_hi = (uint8_t)(bits(w1, 27, 2) | bits(w0, 14, 1) << 2);
    x->clamp = bits(w0, 15, 1);
    /* the move takes its high dword where op_sel, not op_sel_hi, says */
    if (!strcmp(t->name, "v_pk_mov_b32")) x->op_sel_hi = x->op_sel;
    for (int n = 0; n < 3; n++) {
        uint32_t lo = neg_lo >> n & 1, hi = neg_hi >> n & 1;
        x->and_mask[n] = UINT32_MAX;
        switch (o->s[n].type) {
        case T_ph16:
            x->xor_mask[n] = lo << 15 | hi << 31;
            break;
        case T_p32:
            x->xor_lo[n] = lo << 31;
            x->xor_mask[n] = hi << 31;
            if (o->s[n].kind == SRC_CONST && (o->s[n].imm || x->op_sel >> n & 1) &&
                (x->op_sel | x->op_sel_hi) >> n & 1)
                return false;
            break;
        case T_mix:
        case T_f16: /* a constant read as f16 by a mixed instruction */
            x->xor_mask[n] = lo << 31;
            if (hi) x->and_mask[n] = 0x7fffffff;
            break;
        default:
            if (lo || hi) return false;
        }
    }
    return true;
}

/* The source lane of LANE under a DPP control, or -1. */
static int dpp_source(uint32_t ctrl, int lane) {
    int row = lane & ~15, in = lane & 15, n = (int)(ctrl & 15), from;
    if (ctrl < 0x100) return (lane & ~3) | (int)(ctrl >> 2 * (lane & 3) & 3);
    switch (ctrl >> 4) {
    case 0x10:
        return n && in + n < 16 ? lane + n : n ? -1 : -2;
    case 0x11:
        return n && in - n >= 0 ? lane - n : n ? -1 : -2;
    case 0x12:
        return n ? row | ((in - n) & 15) : -2;
    case 0x15:
        return row | n;
    case 0x16:
        return row | (in ^ n);
    default:
        break;
    }
    switch (ctrl) {
    case 0x130:
        return lane < 63 ? lane + 1 : -1;
    case 0x134:
        return (lane + 1) & 63;
    case 0x138:
        return lane - 1;
    case 0x13c:
        return (lane - 1) & 63;
    case 0x140:
        return row | (15 - in);
    case 0x141:
        return (lane & ~7) | (7 - (lane & 7));
    case 0x142:
        from = row - 1;
        return from;
    case 0x143:
        return lane >= 32 ? 31 : -1;
    default:
        return -2;
    }
}

/* Any of eight lanes for each of eight. */
static void bind_dpp8(struct emu_ext *x, uint32_t w) {
    x->bound_zero = true;
    x->valid = x->write = UINT64_MAX;
    for (int i = 0; i < LANES; i++)
        x->lane[i] = (uint8_t)((i & ~7) | (int)bits(w, 8 + 3 * (i & 7), 3));
}

enum { SRC_DPP8 = 0xe9, SRC_DPP8_INACTIVE = 0xea };

/* The control word follows the instruction, whose first source says which kind it is. */
static bool bind_dpp(struct emu_ext *x, const struct emu_text *t, const struct emu_op *o) {
    int at = t->gen >= GEN_11 && x->encoding != ENC_PLAIN ? 2 : 1;
    uint32_t w = t->word[at], bank = bits(w, 24, 4), row = bits(w, 28, 4);
    uint32_t src = t->word[at == 2] & 0x1ff;
    x->dpp = true;
    if (t->words <= at || o->s[0].kind != SRC_VGPR) return false;
    if (t->gen >= GEN_11 && (src == SRC_DPP8 || src == SRC_DPP8_INACTIVE)) {
        if (at == 1) set_sign(x, o, 0, 0);
        bind_dpp8(x, w);
        x->inactive = src == SRC_DPP8_INACTIVE;
        return true;
    }
    if (at == 1)
        set_sign(x, o, bits(w, 21, 1) | bits(w, 23, 1) << 1, bits(w, 20, 1) | bits(w, 22, 1) << 1);
    x->bound_zero = bits(w, 19, 1);
    x->inactive = t->gen >= GEN_11 && bits(w, 18, 1);
    for (int i = 0; i < LANES; i++) {
        int from = dpp_source(bits(w, 8, 9), i);
        if (from == -2) return false;
        x->lane[i] = (uint8_t)(from < 0 ? 0 : from);
        if (from >= 0) x->valid |= UINT64_C(1) << i;
        if (row >> (i / 16) & 1 && bank >> (i / 4 % 4) & 1) x->write |= UINT64_C(1) << i;
    }
    return true;
}

static bool bind_sdwa(struct emu_ext *x, const struct emu_text *t, const struct emu_op *o,
                      bool compare) {
    uint32_t w = t->word[1];
    set_sign(x, o, bits(w, 21, 1) | bits(w, 29, 1) << 1, bits(w, 20, 1) | bits(w, 28, 1) << 1);
    x->sel[0] = (uint8_t)bits(w, 16, 3);
    x->sel[1] = (uint8_t)bits(w, 24, 3);
    x->sext[0] = bits(w, 19, 1);
    x->sext[1] = bits(w, 27, 1);
    x->dst_sel = 6;
    if (!compare) {
        x->dst_sel = (uint8_t)bits(w, 8, 3);
        x->dst_unused = (uint8_t)bits(w, 11, 2);
        x->clamp = bits(w, 13, 1);
        x->omod = (uint8_t)bits(w, 14, 2);
    }
    for (int n = 0; n < 2; n++)
        if (o->s[n].kind && o->s[n].dwords != 1) return false;
    return x->sel[0] < 7 && x->sel[1] < 7 && x->dst_sel < 7 && x->dst_unused < 3 &&
           (compare || o->d_dwords == 1 || x->dst_sel == 6);
}

static bool needed(const struct emu_ext *x, const struct emu_op *o) {
    if (x->dpp || x->encoding == ENC_SDWA || x->clamp || x->omod) return true;
    if (o->d_type == T_u16p || o->d_type == T_i16p || o->d_type == T_f16p) return true;
    for (int n = 0; n < o->nsrc; n++) {
        if (x->and_mask[n] != UINT32_MAX || x->xor_mask[n] || x->xor_lo[n]) return true;
        if (o->s[n].type == T_mix || (x->encoding == ENC_VOP3P && o->s[n].type == T_f16))
            return true;
        if (x->encoding != ENC_VOP3P && x->op_sel >> n & 1) return true;
        if (x->encoding == ENC_VOP3P && is_packed(o->s[n].type) &&
            (x->op_sel >> n & 1 || !(x->op_sel_hi >> n & 1)))
            return true;
    }
    return (x->op_sel & 8) != 0;
}

/* gfx12 selects the byte, or the half of two bytes, of an 8-bit float by op_sel, from its low bit
 * on the other way round. What follows is what SDWA does. */
static bool reads_bytes(const struct emu_text *t) {
    return t->gen == GEN_12 && t->encoding == ENC_VOP3 &&
           (!strncmp(t->name, "v_cvt_f32_fp8", 13) || !strncmp(t->name, "v_cvt_f32_bf8", 13) ||
            !strncmp(t->name, "v_cvt_pk_f32_fp8", 16) || !strncmp(t->name, "v_cvt_pk_f32_bf8", 16));
}
static bool bind_bytes(struct emu_ext *x, const struct emu_text *t) {
    uint32_t select = bits(t->word[0], 11, 2);
    if (t->dpp || bits(t->word[0], 8, 3) || bits(t->word[0], 13, 3) || t->word[1] >> 27)
        return false;
    x->encoding = ENC_SDWA;
    x->sel[0] = (uint8_t)(t->name[6] == 'p' ? 4 + (select & 1) : select >> 1 | (select & 1) << 1);
    x->sel[1] = x->dst_sel = 6;
    for (int n = 0; n < 3; n++)
        x->and_mask[n] = UINT32_MAX;
    return !(t->name[6] == 'p' && select & 2);
}

bool isa_bind_ext(struct emu_decode *d, const struct emu_text *t, struct emu_op *o) {
    struct emu_ext x = {.encoding = t->encoding};
    bool compare = !o->d_vgpr, has_sdst = o->d_vgpr && o->sd != UINT16_MAX, ok = true;
    switch (t->encoding) {
    case ENC_VOP3:
        ok = reads_bytes(t) ? bind_bytes(&x, t) : bind_vop3(&x, t, o, has_sdst);
        break;
    case ENC_VOP3P:
        ok = bind_vop3p(&x, t, o);
        break;
    case ENC_SDWA:
        ok = bind_sdwa(&x, t, o, compare);
        break;
    default:
        set_sign(&x, o, 0, 0);
    }
    if (t->dpp) ok = ok && bind_dpp(&x, t, o);
    ok = ok && bind_halves(&x, o);
    if (!strcmp(t->name, "v_fma_mixhi_f16")) x.op_sel |= 8;
    if (!ok) return false;
    if ((x.clamp || x.omod) && !is_float(o->d_type)) return false;
    if (!needed(&x, o)) return true;
    struct emu_ext *kept = isa_pool_alloc(d->pool, sizeof x);
    if (!kept)
        d->failed = true;
    else
        *kept = x;
    o->x = kept;
    return kept != NULL;
}

/* ---- sources ---- */

static const uint32_t *apply_dpp(struct emu_wave *w, const struct emu_op *o, const uint32_t *p,
                                 uint32_t *t, uint64_t *write) {
    const struct emu_ext *x = o->x;
    uint64_t exec = wave_exec(w), found = 0;
    if (x->inactive)
        found = w->full;
    else
        for (int i = 0; i < LANES; i++)
            found |= (exec >> x->lane[i] & 1) << i;
    found &= x->valid;
    for (int n = 0; n < o->s[0].dwords; n++)
        for (int i = 0; i < LANES; i++)
            t[n * LANES + i] = found >> i & 1 ? p[n * LANES + x->lane[i]] : 0;
    *write &= x->write;
    if (!x->bound_zero) *write &= found;
    return t;
}

static void apply_sdwa(uint32_t *t, const uint32_t *p, int sel, bool sext) {
    int lo = sel < 4 ? 8 * sel : sel < 6 ? 16 * (sel - 4) : 0;
    int up = 32 - (sel < 4 ? 8 : sel < 6 ? 16 : 32);
    for (int i = 0; i < LANES; i++) {
        uint32_t u = p[i] >> lo << up;
        t[i] = sext ? (uint32_t)((int32_t)u >> up) : u >> up;
    }
}

static void apply_packed(uint32_t *t, const uint32_t *p, bool lo_high, bool hi_high) {
    for (int i = 0; i < LANES; i++) {
        uint32_t u = p[i], lo = lo_high ? u >> 16 : u & 0xffff, hi = hi_high ? u >> 16 : u & 0xffff;
        t[i] = lo | hi << 16;
    }
}

const uint32_t *isa_ext_source(struct emu_wave *w, const struct emu_op *o, int n, uint32_t *t,
                               uint64_t *write) {
    const struct emu_ext *x = o->x;
    const struct emu_src *s = &o->s[n];
    const struct emu_lane_table *l = w->lanes;
    const uint32_t *p = isa_source(w, s, t);
    if (!x) goto flush;
    if (x->dpp && n == 0) p = apply_dpp(w, o, p, t, write);
    if (x->encoding == ENC_SDWA && n < 2 && (x->sel[n] != 6 || x->sext[n])) {
        apply_sdwa(t, p, x->sel[n], x->sext[n]);
        p = t;
    }
    bool low = x->op_sel >> n & 1, high = x->op_sel_hi >> n & 1;
    if (x->encoding != ENC_VOP3P && low) {
        for (int i = 0; i < LANES; i++)
            t[i] = p[i] >> 16;
        p = t;
    } else if (x->encoding == ENC_VOP3P && s->type == T_p32) {
        uint32_t both[2 * LANES];
        l->bits(both, p + (low ? LANES : 0), x->and_mask[n], x->xor_lo[n]);
        l->bits(both + LANES, p + (high ? LANES : 0), x->and_mask[n], x->xor_mask[n]);
        memcpy(t, both, sizeof both);
        p = t;
        goto flush;
    } else if (x->encoding == ENC_VOP3P && (s->type == T_p16 || s->type == T_ph16)) {
        apply_packed(t, p, low, high);
        p = t;
    } else if (x->encoding == ENC_VOP3P && (s->type == T_mix || s->type == T_f16) && high) {
        l->half(t, p, low);
        p = t;
    }
    if (x->and_mask[n] != UINT32_MAX || x->xor_mask[n]) {
        int top = s->dwords - 1;
        if (top && p != t) memcpy(t, p, LANES * 4);
        l->bits(t + top * LANES, p + top * LANES, x->and_mask[n], x->xor_mask[n]);
        p = t;
    }
flush:
    if (w->flush32 && (s->type == T_f32 || (s->type == T_p32 && o->d_type == T_p32))) {
        for (int k = 0; k < s->dwords; k++)
            l->flush(t + k * LANES, p + k * LANES);
        p = t;
    }
    return p;
}

/* ---- the result ---- */

static void merge_sdwa(uint32_t *t, const uint32_t *old, const struct emu_ext *x) {
    int sel = x->dst_sel, lo = sel < 4 ? 8 * sel : 16 * (sel - 4);
    uint32_t ones = sel < 4 ? 0xff : 0xffff, mask = ones << lo;
    for (int i = 0; i < LANES; i++) {
        uint32_t u = (t[i] & ones) << lo;
        if (x->dst_unused == 1) {
            /* sign above, zero below */
            uint32_t sign = t[i] & (ones ^ (ones >> 1)) ? UINT32_MAX : 0;
            u |= sign << lo & ~mask;
        } else if (x->dst_unused == 2) {
            u |= old[i] & ~mask;
        }
        t[i] = u;
    }
}

void isa_ext_result(struct emu_wave *w, const struct emu_op *o, uint32_t *t, uint64_t write) {
    const struct emu_ext *x = o->x;
    const struct emu_lane_table *l = w->lanes;
    uint32_t *d = w->v[o->d];
    if (x && (x->clamp || x->omod)) l->finish(t, o->d_type, x->omod, x->clamp);
    if (w->flush32 && (o->d_type == T_f32 || o->d_type == T_p32))
        for (int k = 0; k < o->d_dwords; k++)
            l->flush(t + k * LANES, t + k * LANES);
    if (x && x->encoding == ENC_SDWA && x->dst_sel != 6) {
        merge_sdwa(t, d, x);
    } else if (x && x->op_sel & 8) {
        for (int i = 0; i < LANES; i++)
            t[i] = t[i] << 16 | (d[i] & 0xffff);
    } else if (o->d_type == T_u16p || o->d_type == T_i16p || o->d_type == T_f16p) {
        for (int i = 0; i < LANES; i++)
            t[i] = (t[i] & 0xffff) | (d[i] & 0xffff0000);
    }
    l->blend(d, t, write, o->d_dwords);
}
