/* valu_cross.c - vector instructions that are no plain lane arithmetic: exchanges between rows of
 * 16 lanes, moves by M0, truth tables, dot products of either signedness. */
#include "runtime/emu/isa/ops/valu.h"

#include "runtime/emu/isa/ops/ext.h"

#define H(name) static const struct emu_op *name(struct emu_wave *w, const struct emu_op *o)

enum { PERM_INACTIVE = 1, PERM_BOUND_ZERO = 2 };

/* Four bits for each lane of a row say which lane of the row (or, row_arg, of its neighbour) it
 * reads. Flags: op_sel, whether lanes that are off are read; and else whether they give zero. */
H(h_permlane) {
    uint32_t t[LANES] = {0};
    const uint32_t *from = w->v[o->s[0].reg];
    uint64_t table = scalar32(w, &o->s[1]) | (uint64_t)scalar32(w, &o->s[2]) << 32;
    uint64_t exec = wave_exec(w), write = exec;
    for (int i = 0; i < LANES; i++) {
        int row = (i & ~15) ^ (o->row_arg ? 16 : 0);
        int lane = row | (int)(table >> 4 * (i & 15) & 15);
        if (exec >> lane & 1 || o->flags & PERM_INACTIVE)
            t[i] = from[lane];
        else if (!(o->flags & PERM_BOUND_ZERO))
            write &= ~(UINT64_C(1) << i);
    }
    w->lanes->blend(w->v[o->d], t, write, 1);
    return o + 1;
}

/* The odd groups of row_arg lanes of the first register change places with the even ones of the
 * second. */
H(h_row_swap) {
    uint32_t *a = w->v[o->d], *b = w->v[o->s[0].reg];
    int n = o->row_arg;
    if (wave_exec(w) != w->full) return isa_fault(w, o, "not modelled while lanes are off");
    for (int i = 0; i < LANES; i++) {
        if (i & n) continue;
        uint32_t t = a[i + n];
        a[i + n] = b[i];
        b[i] = t;
    }
    return o + 1;
}

/* A register M0 further on, as source or, row_arg, as destination. */
H(h_movrel) {
    LANE_TEMP(t);
    uint32_t m = w->s[S_M0], to = o->d + (o->row_arg ? m : 0);
    uint32_t from = o->s[0].reg + (o->row_arg ? 0 : m);
    bool vector = o->s[0].kind == SRC_VGPR;
    if (m >= MAX_VGPR || to >= w->nreg || (vector && from >= w->nreg))
        return isa_fault(w, o, "indexes past the last register");
    const uint32_t *s = vector ? w->v[from] : isa_source(w, &o->s[0], t);
    w->lanes->blend(w->v[to], s, wave_exec(w), 1);
    return o + 1;
}

H(h_swap16) {
    uint32_t *d = w->v[o->d], *s = w->v[o->s[0].reg];
    int dh = o->d_high ? 16 : 0, sh = o->s[0].high ? 16 : 0;
    for (uint64_t m = wave_exec(w); m; m &= m - 1) {
        int i = __builtin_ctzll(m);
        uint32_t x = d[i] >> dh & 0xffff, y = s[i] >> sh & 0xffff;
        d[i] = (d[i] & ~(0xffffu << dh)) | y << dh;
        s[i] = (s[i] & ~(0xffffu << sh)) | x << sh;
    }
    return o + 1;
}

/* ---- bits and bytes ---- */

/* Any function of three bits: bit 4a + 2b + c of the table. */
H(h_bitop3) {
    LANE_TEMP(t0);
    LANE_TEMP(t1);
    LANE_TEMP(t2);
    LANE_TEMP(t);
    const uint32_t *a = isa_source(w, &o->s[0], t0), *b = isa_source(w, &o->s[1], t1),
                   *c = isa_source(w, &o->s[2], t2);
    uint32_t m[8];
    for (int n = 0; n < 8; n++)
        m[n] = o->flags >> n & 1 ? UINT32_MAX : 0;
    for (int i = 0; i < LANES; i++) {
        uint32_t x = a[i], y = b[i], z = c[i];
        uint32_t y0 = (z & m[1]) | (~z & m[0]), y1 = (z & m[3]) | (~z & m[2]);
        uint32_t y2 = (z & m[5]) | (~z & m[4]), y3 = (z & m[7]) | (~z & m[6]);
        t[i] = (x & ((y & y3) | (~y & y2))) | (~x & ((y & y1) | (~y & y0)));
    }
    isa_ext_result(w, o, t, wave_exec(w));
    return o + 1;
}
/* The lower halves alone. */
H(h_bitop3_b16) {
    const uint32_t *d = w->v[o->d];
    uint32_t kept[LANES];
    for (int i = 0; i < LANES; i++)
        kept[i] = d[i] & 0xffff0000;
    h_bitop3(w, o);
    for (int i = 0; i < LANES; i++)
        w->v[o->d][i] = (w->v[o->d][i] & 0xffff) | kept[i];
    return o + 1;
}

/* Four bytes or eight nibbles, each side signed or not. */
static int64_t dot_iu(uint32_t x, uint32_t y, uint32_t z, int bits, uint32_t is_signed) {
    int64_t sum = is_signed ? (int32_t)z : (int64_t)z;
    for (int at = 0; at < 32; at += bits) {
        uint32_t a = x >> at << (32 - bits), b = y >> at << (32 - bits);
        int64_t u = is_signed & 1 ? (int32_t)a >> (32 - bits) : (int64_t)(a >> (32 - bits));
        int64_t v = is_signed & 2 ? (int32_t)b >> (32 - bits) : (int64_t)(b >> (32 - bits));
        sum += u * v;
    }
    return sum;
}
H(h_dot_iu) {
    LANE_TEMP(t0);
    LANE_TEMP(t1);
    LANE_TEMP(t2);
    LANE_TEMP(t);
    const uint32_t *a = isa_source(w, &o->s[0], t0), *b = isa_source(w, &o->s[1], t1),
                   *c = isa_source(w, &o->s[2], t2);
    for (int i = 0; i < LANES; i++)
        t[i] = (uint32_t)dot_iu(a[i], b[i], c[i], o->row_arg, o->flags);
    isa_ext_result(w, o, t, wave_exec(w));
    return o + 1;
}

/* ---- decoding ---- */

static bool bind_permlane(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                          struct emu_op *o) {
    o->flags = t->word[0] >> 11 & 3;
    return isa_bind_sig(d, row, t, o) && o->s[0].kind == SRC_VGPR && o->s[1].kind != SRC_VGPR &&
           o->s[2].kind != SRC_VGPR;
}
static bool bind_pair(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                      struct emu_op *o) {
    d->halves = row->fn == h_swap16;
    return isa_bind_sig(d, row, t, o) && o->s[0].kind == SRC_VGPR;
}

/* The table is spread over the places of abs, neg and omod. */
static bool bind_bitop3(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                        struct emu_op *o) {
    uint32_t w0 = t->word[0], w1 = t->word[1];
    o->flags = w1 >> 29 | (w0 >> 8 & 7) << 3 | (w1 >> 27 & 3) << 6;
    return !(w0 >> 11 & 31) && isa_bind_sig(d, row, t, o);
}
/* Saturation is not modelled. */
static bool bind_dot_iu(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                        struct emu_op *o) {
    o->flags = t->word[1] >> 29 & 3;
    bool plain = !(t->word[0] >> 8 & 0x3f) && !(t->word[0] >> 15 & 1) && !(t->word[1] >> 31);
    return plain && !t->dpp && isa_bind_sig(d, row, t, o);
}

static const struct emu_row rows[] = {
    {"v_bitop3_b32", bind_bitop3, h_bitop3, "dwswswsw", C_VALU, 0, 0, NULL, {0}},
    {"v_bitop3_b16", bind_bitop3, h_bitop3_b16, "dwsisisi", C_VALU, 0, 0, NULL, {0}},
    {"v_dot4_i32_iu8", bind_dot_iu, h_dot_iu, "dwswswsw", C_VALU, 8, 0, NULL, {0}},
    {"v_dot8_i32_iu4", bind_dot_iu, h_dot_iu, "dwswswsw", C_VALU, 4, 0, NULL, {0}},
    {"v_permlane16_b32", bind_permlane, h_permlane, "dwswswsw", C_VALU, 0, 0, NULL, {0}},
    {"v_permlanex16_b32", bind_permlane, h_permlane, "dwswswsw", C_VALU, 1, 0, NULL, {0}},
    {"v_permlane16_swap_b32", bind_pair, h_row_swap, "dwsw", C_VALU, 16, 0, NULL, {0}},
    {"v_permlane32_swap_b32", bind_pair, h_row_swap, "dwsw", C_VALU, 32, 0, NULL, {0}},
    {"v_movrels_b32", bind_pair, h_movrel, "dwsw", C_VALU, 0, 0, NULL, {0}},
    {"v_movreld_b32", isa_bind_sig, h_movrel, "dwsw", C_VALU, 1, 0, NULL, {0}},
    {"v_swap_b16", bind_pair, h_swap16, "disi", C_VALU, 0, 0, NULL, {0}},
};

const struct emu_table *isa_valu_more_table(void) {
    static const struct emu_table t = {rows, sizeof rows / sizeof *rows};
    return &t;
}
