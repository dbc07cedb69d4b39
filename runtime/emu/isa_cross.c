/* isa_cross.c - exchanges between lanes outside DPP and LDS: rows of 16 lanes by a table, and
 * gfx950's swaps of rows. */
#include "isa_lanes.h"

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

/* ---- decoding ---------------------------------------------------------------------------------
 */

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

static const struct emu_row rows[] = {
    {"v_permlane16_b32", bind_permlane, h_permlane, "dwswswsw", C_VALU, 0, 0, NULL, {0}},
    {"v_permlanex16_b32", bind_permlane, h_permlane, "dwswswsw", C_VALU, 1, 0, NULL, {0}},
    {"v_permlane16_swap_b32", bind_pair, h_row_swap, "dwsw", C_VALU, 16, 0, NULL, {0}},
    {"v_permlane32_swap_b32", bind_pair, h_row_swap, "dwsw", C_VALU, 32, 0, NULL, {0}},
    {"v_swap_b16", bind_pair, h_swap16, "disi", C_VALU, 0, 0, NULL, {0}},
};

const struct emu_table *isa_cross_table(void) {
    static const struct emu_table t = {rows, sizeof rows / sizeof *rows};
    return &t;
}
