/* valu.c - vector ALU instructions: from operands to lane kernels, and those that look across
 * lanes. */
#include "runtime/emu/isa/ops/valu.h"

#include "runtime/emu/isa/lanes/lane_convert.h"
#include "runtime/emu/isa/ops/ext.h"

#define H(name) static const struct emu_op *name(struct emu_wave *w, const struct emu_op *o)

/* ---- lane kernels ---- */

H(h_lane_ext) {
    LANE_TEMP(t0);
    LANE_TEMP(t1);
    LANE_TEMP(t2);
    LANE_TEMP(t);
    uint64_t write = wave_exec(w);
    const uint32_t *a = isa_ext_source(w, o, 0, t0, &write);
    const uint32_t *b = o->nsrc > 1 ? isa_ext_source(w, o, 1, t1, &write) : NULL;
    const uint32_t *c = o->nsrc > 2 ? isa_ext_source(w, o, 2, t2, &write) : NULL;
    ((lane_fn)o->kernel)(t, a, b, c);
    isa_ext_result(w, o, t, write);
    return o + 1;
}

#define LANE_HANDLER(name, N)                                                                      \
    H(name) {                                                                                      \
        if (__builtin_expect(w->flush32, 0)) return h_lane_ext(w, o);                              \
        LANE_TEMP(t0);                                                                             \
        LANE_TEMP(t1);                                                                             \
        LANE_TEMP(t2);                                                                             \
        const uint32_t *a = isa_source(w, &o->s[0], t0);                                           \
        const uint32_t *b = N > 1 ? isa_source(w, &o->s[1], t1) : NULL;                            \
        const uint32_t *c = N > 2 ? isa_source(w, &o->s[2], t2) : NULL;                            \
        uint64_t exec = wave_exec(w);                                                              \
        if (__builtin_expect(exec == UINT64_MAX || exec == w->full, 1)) {                          \
            ((lane_fn)o->kernel)(w->v[o->d], a, b, c);                                             \
        } else if (exec) {                                                                         \
            LANE_TEMP(t);                                                                          \
            ((lane_fn)o->kernel)(t, a, b, c);                                                      \
            w->lanes->blend(w->v[o->d], t, exec, o->d_dwords);                                     \
        }                                                                                          \
        return o + 1;                                                                              \
    }
LANE_HANDLER(h_lane1, 1)
LANE_HANDLER(h_lane2, 2)
LANE_HANDLER(h_lane3, 3)

H(h_compare) {
    LANE_TEMP(t0);
    LANE_TEMP(t1);
    uint64_t write = wave_exec(w);
    const uint32_t *a, *b;
    if (o->x || w->flush32) {
        a = isa_ext_source(w, o, 0, t0, &write);
        b = isa_ext_source(w, o, 1, t1, &write);
    } else {
        a = isa_source(w, &o->s[0], t0);
        b = isa_source(w, &o->s[1], t1);
    }
    uint64_t r = ((lane_cmp_fn)o->kernel)(a, b) & write;
    put_mask(w, o->sd, r);
    if (o->row_arg) put64(&w->s[S_EXEC], r);
    return o + 1;
}

/* A value and a lane mask; the third source is a value or, for carry-in, a lane mask. */
H(h_carry) {
    LANE_TEMP(t0);
    LANE_TEMP(t1);
    LANE_TEMP(t2);
    LANE_TEMP(t);
    uint64_t exec = wave_exec(w), write = exec;
    const uint32_t *a = isa_ext_source(w, o, 0, t0, &write);
    const uint32_t *b = isa_ext_source(w, o, 1, t1, &write);
    const uint32_t *c = t2;
    if (o->nsrc > 2 && o->row_arg)
        w->lanes->expand(t2, scalar_mask(w, &o->s[2]));
    else if (o->nsrc > 2)
        c = isa_ext_source(w, o, 2, t2, &write);
    uint64_t r = ((lane_carry_fn)o->kernel)(t, a, b, c);
    isa_ext_result(w, o, t, write);
    put_mask(w, o->sd, r & write);
    return o + 1;
}

/* ---- masks and lanes ---- */

H(h_cndmask) {
    LANE_TEMP(t0);
    LANE_TEMP(t1);
    LANE_TEMP(t);
    uint64_t write = wave_exec(w), mask = scalar_mask(w, &o->s[2]);
    const uint32_t *a, *b;
    if (o->x) {
        a = isa_ext_source(w, o, 0, t0, &write);
        b = isa_ext_source(w, o, 1, t1, &write);
    } else {
        a = isa_source(w, &o->s[0], t0);
        b = isa_source(w, &o->s[1], t1);
        if (write == UINT64_MAX || write == w->full) {
            w->lanes->select(w->v[o->d], a, b, mask);
            return o + 1;
        }
    }
    w->lanes->select(t, a, b, mask);
    isa_ext_result(w, o, t, write);
    return o + 1;
}

/* Where VCC says so, the quotient was scaled and is scaled back. */
H(h_div_fmas) {
    LANE_TEMP(t0);
    LANE_TEMP(t1);
    LANE_TEMP(t2);
    LANE_TEMP(t);
    uint64_t write = wave_exec(w), vcc = get64(&w->s[S_VCC]);
    const uint32_t *a = isa_ext_source(w, o, 0, t0, &write);
    const uint32_t *b = isa_ext_source(w, o, 1, t1, &write);
    const uint32_t *c = isa_ext_source(w, o, 2, t2, &write);
    for (int i = 0; i < LANES; i++) {
        bool back = vcc >> i & 1;
        if (o->d_dwords == 1) {
            float x, y, z, r;
            memcpy(&x, a + i, 4);
            memcpy(&y, b + i, 4);
            memcpy(&z, c + i, 4);
            r = div_fmas_f32(x, y, z, back);
            memcpy(t + i, &r, 4);
        } else {
            uint64_t u[3] = {a[i] | (uint64_t)a[i + LANES] << 32,
                             b[i] | (uint64_t)b[i + LANES] << 32,
                             c[i] | (uint64_t)c[i + LANES] << 32};
            double x[3], r;
            memcpy(x, u, sizeof x);
            r = div_fmas_f64(x[0], x[1], x[2], back);
            memcpy(u, &r, 8);
            t[i] = (uint32_t)u[0];
            t[i + LANES] = (uint32_t)(u[0] >> 32);
        }
    }
    isa_ext_result(w, o, t, write);
    return o + 1;
}

H(h_readfirstlane) {
    uint64_t exec = wave_exec(w);
    int lane = exec ? __builtin_ctzll(exec) : 0;
    const struct emu_src *s = &o->s[0];
    w->s[o->sd] = s->kind == SRC_VGPR ? w->v[s->reg][lane] : scalar32(w, s);
    return o + 1;
}

H(h_readlane) {
    w->s[o->sd] = w->v[o->s[0].reg][scalar32(w, &o->s[1]) & (w->program->wave_lanes - 1)];
    return o + 1;
}

H(h_writelane) {
    w->v[o->d][scalar32(w, &o->s[1]) & (w->program->wave_lanes - 1)] = scalar32(w, &o->s[0]);
    return o + 1;
}

/* Bits of the mask below each lane, in its low or high half. */
H(h_mbcnt) {
    LANE_TEMP(t0);
    LANE_TEMP(t1);
    LANE_TEMP(t);
    uint64_t write = wave_exec(w);
    const uint32_t *a = isa_ext_source(w, o, 0, t0, &write);
    const uint32_t *b = isa_ext_source(w, o, 1, t1, &write);
    for (int i = 0; i < LANES; i++) {
        uint64_t below = (UINT64_C(1) << i) - 1;
        uint32_t m = (uint32_t)(o->row_arg ? below >> 32 : below) & a[i];
        t[i] = (uint32_t)__builtin_popcount(m) + b[i];
    }
    isa_ext_result(w, o, t, write);
    return o + 1;
}

H(h_swap) {
    LANE_TEMP(t);
    uint32_t *d = w->v[o->d], *s = w->v[o->s[0].reg];
    memcpy(t, d, LANES * 4);
    w->lanes->blend(d, s, wave_exec(w), 1);
    w->lanes->blend(s, t, wave_exec(w), 1);
    return o + 1;
}

/* Indexed registers: the instructions up to s_set_gpr_idx_off run with their vector registers moved
 * by an index. Only plain lane instructions may stand there. */
static const struct emu_op *gpr_idx_off(struct emu_wave *w, const struct emu_op *o) {
    (void)w;
    return o + 1;
}
static bool indexable(emu_handler fn) {
    return fn == h_lane1 || fn == h_lane2 || fn == h_lane3 || fn == h_lane_ext;
}
H(h_set_gpr_idx_on) {
    uint32_t index = scalar32(w, &o->s[0]) & 255, mode = o->flags & 15;
    w->s[S_M0] = (w->s[S_M0] & 0xffff0f00) | index | mode << 12;
    const struct emu_op *next = o + 1;
    for (; next->fn != gpr_idx_off; next++) {
        struct emu_op moved = *next;
        if (!indexable(moved.fn)) return isa_fault(w, next, "inside s_set_gpr_idx");
        for (int n = 0; n < moved.nsrc; n++)
            if (mode >> n & 1 && moved.s[n].kind == SRC_VGPR) moved.s[n].reg += index;
        if (mode & 8) moved.d = (uint16_t)(moved.d + index);
        for (int n = 0; n < moved.nsrc; n++)
            if (moved.s[n].kind == SRC_VGPR && moved.s[n].reg + moved.s[n].dwords > w->nreg)
                return isa_fault(w, next, "indexes past the last register");
        if (moved.d + moved.d_dwords > (int)w->nreg)
            return isa_fault(w, next, "indexes past the last register");
        moved.fn(w, &moved);
        w->count[C_VALU]++;
    }
    return next + 1;
}

/* ---- decoding ---- */

static const struct emu_lane_row *find_lane(const struct emu_lane_table *l, const char *name,
                                            bool sat) {
    for (size_t i = 0; i < l->n; i++)
        if ((l->rows[i].kind == LK_SAT) == sat && !strcmp(l->rows[i].name, name))
            return &l->rows[i];
    return NULL;
}

/* A constant that a mixed instruction reads as f16 has f16's meaning. */
static enum emu_type source_type(const struct emu_text *t, const struct emu_tok *tok, int type,
                                 int n) {
    uint32_t hi = (t->word[1] >> 27 & 3) | (t->word[0] >> 14 & 1) << 2;
    bool constant = tok->kind == TOK_INT || tok->kind == TOK_FLOAT;
    return type == T_mix && constant && hi >> n & 1 ? T_f16 : (enum emu_type)type;
}

/* Instruction sets with 16-bit registers leave the other half of a register alone. */
static uint8_t half_kept(uint8_t type) {
    return type == T_f16 ? T_f16p : type == T_u16 ? T_u16p : type == T_i16 ? T_i16p : type;
}

static bool bind_lane_operands(struct emu_decode *d, const struct emu_lane_row *r,
                               const struct emu_text *t, bool cmpx, struct emu_op *o) {
    const uint8_t types[3] = {r->ta, r->tb, r->tc};
    const struct emu_tok *tok = t->tok, *end = t->tok + t->ntok;
    bool carry_in = r->kind == LK_CARRY && r->tc == T_u32;
    o->sd = UINT16_MAX;
    o->d_type = d->gen >= GEN_11 ? half_kept(r->td) : r->td;
    if (r->kind != LK_CMP &&
        (tok == end || !isa_bind_vdst(d, tok++, isa_type_dwords((enum emu_type)r->td), o)))
        return false;
    if (r->kind == LK_CMP && cmpx && d->gen >= GEN_11)
        o->sd = S_EXEC;
    else if ((r->kind == LK_CMP || r->kind == LK_CARRY) &&
             (tok == end || !isa_bind_sdst(tok++, d->mask_dwords, &o->sd)))
        return false;
    for (int n = 0; n < 3 && types[n] != T_none; n++) {
        if (r->kind == LK_MAC && n == 2) break;
        enum emu_type mask = d->mask_dwords == 2 ? T_u64 : T_u32;
        if (tok == end) return false;
        enum emu_type type = source_type(t, tok, types[n], n);
        struct emu_src *s = &o->s[o->nsrc++];
        bool ok =
            carry_in && n == 2 ? isa_bind_scalar(d, tok, mask, s) : isa_bind_src(d, tok, type, s);
        if (!ok) return false;
        tok++;
    }
    if (r->kind == LK_MAC) {
        struct emu_src *s = &o->s[o->nsrc++];
        *s = (struct emu_src){
            .kind = SRC_VGPR, .type = r->tc, .reg = o->d, .dwords = o->d_dwords, .high = o->d_high};
    }
    o->row_arg = carry_in;
    return tok == end;
}

bool isa_bind_lane(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                   struct emu_op *o) {
    (void)row;
    d->halves = true;
    static const emu_handler plain[] = {h_lane1, h_lane2, h_lane3};
    char name[sizeof t->name];
    memcpy(name, t->name, sizeof name);
    bool cmpx = !strncmp(name, "v_cmpx_", 7);
    if (cmpx) memmove(name + 5, name + 6, strlen(name + 6) + 1);
    const struct emu_lane_row *r = find_lane(d->lanes, name, false);
    bool sdwa = t->encoding == ENC_SDWA && r && r->kind != LK_CMP;
    uint32_t clamp = sdwa                                                  ? 0x2000
                     : t->encoding == ENC_VOP3 || t->encoding == ENC_VOP3P ? 0x8000
                                                                           : 0;
    struct emu_text copy = *t;
    uint32_t *word = &copy.word[sdwa];
    const struct emu_lane_row *sat = *word & clamp ? find_lane(d->lanes, name, true) : NULL;
    if (sat) {
        r = sat;
        *word &= ~clamp;
    }
    if (!r || !bind_lane_operands(d, r, t, cmpx, o) || !isa_bind_ext(d, &copy, o)) return false;
    o->cls = C_VALU;
    o->kernel = r->fn;
    if (r->kind == LK_CMP) {
        o->fn = h_compare;
        o->row_arg = cmpx;
    } else if (r->kind == LK_CARRY) {
        o->fn = h_carry;
    } else {
        o->fn = o->x ? h_lane_ext : plain[o->nsrc - 1];
    }
    return true;
}

static bool bind_ext_sig(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                         struct emu_op *o) {
    o->sd = UINT16_MAX;
    d->halves = true;
    if (!isa_bind_sig(d, row, t, o)) return false;
    if (d->gen >= GEN_11) o->d_type = half_kept(o->d_type);
    return isa_bind_ext(d, t, o);
}

static bool bind_writelane(struct emu_decode *d, const struct emu_row *row,
                           const struct emu_text *t, struct emu_op *o) {
    return isa_bind_sig(d, row, t, o) && o->s[0].kind != SRC_VGPR && o->s[1].kind != SRC_VGPR;
}
static bool bind_readlane(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                          struct emu_op *o) {
    return isa_bind_sig(d, row, t, o) && o->s[0].kind == SRC_VGPR && o->s[1].kind != SRC_VGPR;
}
static bool bind_swap(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                      struct emu_op *o) {
    return isa_bind_sig(d, row, t, o) && o->s[0].kind == SRC_VGPR;
}
/* The operands to index are in the encoding: bits 15:8 of the scalar compare form's second source.
 */
static bool bind_gpr_idx(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                         struct emu_op *o) {
    o->fn = row->fn;
    o->flags = t->word[0] >> 8 & 255;
    o->nsrc = 1;
    return t->ntok >= 1 && isa_bind_scalar(d, &t->tok[0], T_u32, &o->s[0]);
}

static const struct emu_row rows[] = {
    {"v_cndmask_b32", bind_ext_sig, h_cndmask, "dwswswsm", C_VALU, 0, 0, NULL, {0}},
    {"v_cndmask_b16", bind_ext_sig, h_cndmask, "disisism", C_VALU, 0, 0, NULL, {0}},
    {"v_div_fmas_f32", bind_ext_sig, h_div_fmas, "dfsfsfsf", C_VALU, 0, 0, NULL, {0}},
    {"v_div_fmas_f64", bind_ext_sig, h_div_fmas, "dgsgsgsg", C_VALU, 0, 0, NULL, {0}},
    {"v_readfirstlane_b32", isa_bind_sig, h_readfirstlane, "Dwsw", C_VALU, 0, 0, NULL, {0}},
    {"v_readlane_b32", bind_readlane, h_readlane, "Dwswsw", C_VALU, 0, 0, NULL, {0}},
    {"v_writelane_b32", bind_writelane, h_writelane, "dwswsw", C_VALU, 0, 0, NULL, {0}},
    {"v_mbcnt_lo_u32_b32", bind_ext_sig, h_mbcnt, "dwswsw", C_VALU, 0, 0, NULL, {0}},
    {"v_mbcnt_hi_u32_b32", bind_ext_sig, h_mbcnt, "dwswsw", C_VALU, 1, 0, NULL, {0}},
    {"v_swap_b32", bind_swap, h_swap, "dwsw", C_VALU, 0, 0, NULL, {0}},
    {"s_set_gpr_idx_on", bind_gpr_idx, h_set_gpr_idx_on, "", C_SALU, 0, 0, NULL, {0}},
    {"s_set_gpr_idx_off", isa_bind_sig, gpr_idx_off, "", C_SALU, 0, 0, NULL, {0}},
};

const struct emu_table *isa_valu_table(void) {
    static const struct emu_table t = {rows, sizeof rows / sizeof *rows};
    return &t;
}
